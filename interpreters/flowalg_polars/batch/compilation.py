"""Polars batch: a bounded pipeline as relational algebra over lazy frames (SEMANTICS section 11).

A batch is one instant, so every window emits one pane, on time. ``compile`` returns a lazy frame.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, MutableMapping
from datetime import UTC, datetime
from glob import glob
from os import PathLike
from pathlib import Path
from typing import Final, TypeAlias, TypeVar, assert_never, cast

import polars as pl
from attrs import field, frozen
from flowalg_columns.layout import fields_in
from flowalg_columns.text.listing import nested_files
from flowalg_shard.tables.columns import PROCESSING_TIME

from flowalg.data.errors import ArgumentError, ElementError, is_url, path_text, require_flag
from flowalg.data.time import processing_time
from flowalg.elementwise.steps import Step
from flowalg.pipeline.admission import admit
from flowalg.pipeline.graph import Fold
from flowalg.pipeline.joins import JoinKind
from flowalg.pipeline.nodes import (
    CoGroupByKey,
    CombinePerKey,
    ElementWise,
    Flatten,
    Hole,
    Node,
    Process,
    SourceNode,
    WindowInto,
    WithMetadata,
    WithSide,
)
from flowalg.pipeline.outputs import emits_panes, require_outputs
from flowalg.pipeline.pair_times import timed_join
from flowalg.pipeline.pcollection import PCollection
from flowalg.pipeline.structure import branches_of, sources_of
from flowalg.runs.inputs import AnySource, inputs_by_name
from flowalg.runs.run import Outputs, Run, run_of
from flowalg_polars.batch.computations import lower_computation
from flowalg_polars.batch.dead_letters import DeadLetters, bad_records_in, dead_letter_frame
from flowalg_polars.batch.fan_out import fan_out
from flowalg_polars.batch.flow import Flow, union
from flowalg_polars.batch.groups import lower_grouping
from flowalg_polars.batch.joins import lower_co_group, lower_join
from flowalg_polars.batch.side_inputs import lower_side_input
from flowalg_polars.capabilities import BATCH
from flowalg_polars.columns import polars_type
from flowalg_polars.errors import raise_causes
from flowalg_polars.frames.pane_frame import PaneFrame, flat_rows, output_in, pane_frame
from flowalg_polars.lowering.binding import bind_source, scan_parquet
from flowalg_polars.lowering.metadata import compile_metadata
from flowalg_polars.lowering.programs import compile_steps

A = TypeVar("A")

BatchInput: TypeAlias = pl.LazyFrame | pl.DataFrame | str | PathLike[str]
"""The data of a source: a frame, or the path of Parquet files (a file, a folder, or a pattern)."""

CAPABILITIES: Final = BATCH
"""The capabilities of this interpreter."""


def compile(
    pipeline: PCollection[A],
    inputs: Mapping[AnySource, BatchInput],
    *,
    time: datetime | None = None,
    dead_letters: bool = False,
) -> PaneFrame[A]:
    """Returns the output of a pipeline over bounded frames, as a lazy frame: panes, or elements if it groups nothing.

    ``time`` is the processing time of the output; it defaults to the time of the call. Raises ``UnboundSourceError``,
    ``SchemaMismatchError``, and ``UnsupportedError`` for features that batch lacks.

    A bad record fails the query: one that has a null or an impossible event time, or makes a user function raise. With
    ``dead_letters`` it is a row of ``dead_letters()`` of the frame instead. ``pl.collect_all`` of both frames computes
    the elements once.

    Example::

        panes = batch.compile(totals, {scores: "scores.parquet"})
        panes.final_values().sink_parquet("totals.parquet")
    """
    (frame,) = compile_all({"output": pipeline}, inputs, time=time, dead_letters=dead_letters).values()
    return frame


def compile_all(
    outputs: Mapping[str, PCollection[A]],
    inputs: Mapping[AnySource, BatchInput],
    *,
    time: datetime | None = None,
    dead_letters: bool = False,
) -> dict[str, PaneFrame[A]]:
    """Returns several named outputs over the same inputs, as one lazy frame for each.

    ``inputs`` has the data of each source of any of the outputs. ``pl.collect_all`` of the frames computes a collection
    that they share once. With ``dead_letters``, ``dead_letters()`` of each frame has the bad records of all outputs.

    Example::

        frames = batch.compile_all({"by team": by_team, "clean": clean}, {scores: "scores.parquet"})
        by_team_frame, clean_frame = pl.collect_all(frames.values())
    """
    return _compile_all(outputs, inputs, {}, time=time, dead_letters=dead_letters)


def _compile_all(
    outputs: Mapping[str, PCollection[A]],
    inputs: Mapping[AnySource, BatchInput],
    unfired: MutableMapping[int, int],
    *,
    time: datetime | None,
    dead_letters: bool,
) -> dict[str, PaneFrame[A]]:
    """Returns ``compile_all``; when it is computed, ``unfired`` has the unfired timers of each computation."""
    require_flag("dead_letters", dead_letters)
    known = require_outputs(outputs)
    data = inputs_by_name(inputs, "frame", *(each.node for each in known.values()))
    sources = sources_of(*(each.node for each in known.values()))
    frames = {source.name: lazy_frame(source, data[source.name]) for source in sources}
    now = pl.lit(processing_time(datetime.now(UTC) if time is None else time), pl.Int64())
    letters = DeadLetters() if dead_letters else None
    pipelines = admit(known) if dead_letters else known
    flow = Fold(_Lowering(frames, now, letters, unfired))
    flows = {name: flow(pipeline.node) for name, pipeline in pipelines.items()}
    kept_apart = None if letters is None else dead_letter_frame(letters.frames, now)
    return {
        name: cast(
            "PaneFrame[A]", _output_frame(flows[name], now, kept_apart, panes=emits_panes(pipeline.node))
        )
        for name, pipeline in known.items()
    }


def _output_frame(
    flow: Flow, now: pl.Expr, dead_letters: pl.LazyFrame | None, *, panes: bool
) -> PaneFrame[object]:
    frame = flow.frame if panes else flow.frame.with_columns(now.alias(PROCESSING_TIME))
    return pane_frame(frame, flow.shape, flow.notes, dead_letters, panes=panes)


def _scan_folder(source: SourceNode, folder: Path) -> pl.LazyFrame:
    """Returns the Parquet files of a folder; those in folders ``NAME=VALUE`` have this column."""
    files = nested_files(str(folder), ".parquet")
    if not files:
        valid = "have files that end in .parquet; got none that is not hidden or temporary"
        raise ElementError(f"source {source.name!r}: the folder {folder} must {valid}")
    files = [file for file in files if os.path.getsize(file)]
    if not files:
        return _no_rows(source)
    partitioned = any("=" in part for file in files for part in Path(file).relative_to(folder).parts[:-1])
    return scan_parquet(source.name, files, partitioned=partitioned)


def _scan_files(source: SourceNode, pattern: Path) -> pl.LazyFrame:
    """Returns the Parquet files of a pattern, or the file that it names; files without a byte have no records."""
    files = [str(pattern)] if os.path.isfile(pattern) else glob(str(pattern), recursive=True)
    if files and not any(map(os.path.getsize, files)):
        return _no_rows(source)
    return scan_parquet(source.name, pattern)


def _no_rows(source: SourceNode) -> pl.LazyFrame:
    return pl.LazyFrame(schema={name: polars_type(part) for name, part in fields_in(source.shape)})


def lazy_frame(source: SourceNode, data: object) -> pl.LazyFrame:
    """Returns the data of a source as a lazy frame; raises ``ArgumentError`` for anything else."""
    match data:
        case pl.LazyFrame():
            return data
        case pl.DataFrame():
            return data.lazy()
        case str() | PathLike():
            text = path_text(f"the input of source {source.name!r}", data)
            if is_url(text):
                return scan_parquet(source.name, text)
            path = Path(text)
            return _scan_folder(source, path) if os.path.isdir(path) else _scan_files(source, path)
        case _:
            raise ArgumentError(
                f"the input of source {source.name!r}",
                data,
                "a Polars LazyFrame or DataFrame, or a path of Parquet files",
            )


def run(
    pipeline: PCollection[A],
    inputs: Mapping[AnySource, BatchInput],
    *,
    time: datetime | None = None,
    dead_letters: bool = False,
) -> Run[A]:
    """Returns the output of a pipeline over bounded frames as values, in order. It must fit in memory.

    With ``dead_letters``, bad records are in ``bad_records`` of the run instead of failing it.
    """
    return run_of(run_all({"output": pipeline}, inputs, time=time, dead_letters=dead_letters), pipeline)


def run_all(
    outputs: Mapping[str, PCollection[object]],
    inputs: Mapping[AnySource, BatchInput],
    *,
    time: datetime | None = None,
    dead_letters: bool = False,
) -> Outputs:
    """Returns several named outputs as values, as ``run`` does, by one query: what they share is computed once."""
    unfired: dict[int, int] = {}
    frames = _compile_all(outputs, inputs, unfired, time=time, dead_letters=dead_letters)
    queries = [flat_rows(outputs[name], frame) for name, frame in frames.items()]
    if dead_letters:
        queries.append(next(iter(frames.values())).dead_letters())
    with raise_causes():
        tables = pl.collect_all(queries, engine="streaming")
    bad = bad_records_in(tables.pop()) if dead_letters else ()
    found = {name: output_in(outputs[name], table) for name, table in zip(frames, tables, strict=True)}
    return Outputs(found, (), outputs, bad_records=bad, unfired_timers=sum(unfired.values()))


_MOST_PATHS: Final = 16
"""The most paths to a flatten that is a union. The plan of Polars is a tree: it repeats a collection for each path."""


def count_paths(root: Node) -> int:
    """Returns the number of paths from sources to a node."""

    def count(node: Node, paths: Fold[Node, int]) -> int:
        return sum(map(paths, node.inputs)) or 1

    return Fold(count)(root)


@frozen
class _Lowering:
    """Lowers the nodes of pipelines to flows. A node with several readers is lowered once.

    Bad records are added to ``letters``; without it they fail the query.
    """

    frames: Mapping[str, pl.LazyFrame]
    time: pl.Expr
    letters: DeadLetters | None = None
    unfired: MutableMapping[int, int] = field(factory=dict)

    def __call__(self, node: Node, flow: Fold[Node, Flow]) -> Flow:
        """Returns the flow of a node, from those of its inputs."""
        match node:
            case SourceNode(name=name):
                frame = self.frames[name]
                program = bind_source(node, dict(frame.collect_schema()), self.time)
                if self.letters is not None:
                    return self.letters.bind_source(node, program, frame)
                return Flow(program.apply(frame), program.shape, program.meta, program.notes)
            case Hole():
                raise node.refused()
            case WindowInto(input=inner):
                return flow(inner)
            case ElementWise():
                return self.chain(node.unsplit, flow)
            case WithMetadata(input=inner, metadata=metadata):
                before = flow(inner)
                return before.after(compile_metadata(metadata, before.shape, before.meta))
            case CombinePerKey(input=inner):
                return lower_grouping(node, flow(inner), self.time)
            case CoGroupByKey(inputs=inputs):
                return lower_co_group(node, tuple(map(flow, inputs)), self.time)
            case Flatten(inputs=inputs):
                branches = branches_of(node) if self.letters is None else None
                if branches is not None and count_paths(node) > _MOST_PATHS:
                    return fan_out(flow(branches[0]), branches[1])
                return union(tuple(map(flow, inputs)))
            case WithSide(input=inner, side=side):
                return lower_side_input(node, flow(inner), flow(side), ())
            case Process(input=inner):
                sources = [flow(source) for source in sources_of(inner)]
                return lower_computation(node, flow(inner), sources, self.time, self.letters, self.unfired)
        assert_never(node)

    def chain(self, node: ElementWise, flow: Fold[Node, Flow]) -> Flow:
        """Returns the flow of a chain of steps; some inputs are best lowered together with the steps after them."""
        match node:
            case ElementWise(input=CoGroupByKey(inputs=inputs, apart=True)):
                lists, steps = timed_join(node)
                return self.after(lower_co_group(lists, tuple(map(flow, inputs)), self.time), steps)
            case ElementWise(
                input=CoGroupByKey(inputs=inputs, join=JoinKind() as kind) as grouping, steps=(_, *after)
            ):
                # The first step emits the pairs one by one, which a join does by itself.
                pairs = lower_join(grouping, kind, tuple(map(flow, inputs)), self.time)
                return self.after(pairs, tuple(after))
            case ElementWise(input=WithSide(input=inner, side=side) as reading, steps=steps) if (
                self.letters is None
            ):
                return lower_side_input(reading, flow(inner), flow(side), steps)
            case ElementWise(input=inner, steps=steps):
                return self.after(flow(inner), steps)

    def after(self, flow: Flow, steps: tuple[Step, ...]) -> Flow:
        """Returns a flow after steps; with dead letters, without the elements on which one of them fails."""
        program = compile_steps(steps, flow.shape, flow.meta)
        return flow.after(program) if self.letters is None else self.letters.apply(flow, program)
