"""Polars batch: a bounded pipeline as relational algebra over lazy frames (SEMANTICS section 11).

A batch is one instant, so every window emits one pane, on time. ``compile`` returns a lazy frame.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, MutableMapping, Sequence
from datetime import UTC, datetime
from functools import partial
from glob import glob
from itertools import chain
from os import PathLike
from pathlib import Path
from typing import Final, TypeAlias, TypeVar, Unpack, assert_never, cast, overload

import polars as pl
from attrs import field, frozen
from flowalg_columns.batch_interpreter import BatchOptions
from flowalg_columns.checks.plans import check_outputs, reporting_all_parts
from flowalg_columns.layout import fields_in
from flowalg_columns.notes import report_functions
from flowalg_columns.text.listing import nested_files, require_file
from flowalg_shard.tables.columns import PROCESSING_TIME
from returns.result import Result

from flowalg.data.errors import ElementError, UnsupportedError, is_url, path_text, require_flag
from flowalg.data.time import processing_time
from flowalg.pipeline.graph import Fold
from flowalg.pipeline.nodes import SourceNode
from flowalg.pipeline.outputs import ONLY_OUTPUT
from flowalg.pipeline.pcollection import PCollection
from flowalg.plan import nodes as planned
from flowalg.plan.nodes import PlanNode
from flowalg.plan.plan import Plan, plan_batch
from flowalg.runs.inputs import AnySource, inputs_by_name
from flowalg.runs.run import Outputs, Run, run_of
from flowalg_polars.batch.computations import lower_computation
from flowalg_polars.batch.dead_letters import DeadLetters, bad_records_in, dead_letter_frame
from flowalg_polars.batch.fan_out import fan_out
from flowalg_polars.batch.flow import Flow, union
from flowalg_polars.batch.groups import lower_grouping
from flowalg_polars.batch.joins import explode_lists, lower_co_group, lower_join
from flowalg_polars.batch.side_inputs import lower_side_input
from flowalg_polars.capabilities import BATCH, REQUIREMENTS
from flowalg_polars.columns import polars_type
from flowalg_polars.errors import raise_causes
from flowalg_polars.frames.foreign import FRAME, ArrowStream, polars_frame
from flowalg_polars.frames.pane_frame import PaneFrame, flat_rows, output_in, pane_frame
from flowalg_polars.lowering.binding import bind_source, record_frame, scan_parquet
from flowalg_polars.lowering.metadata import compile_metadata
from flowalg_polars.lowering.programs import compile_steps

A = TypeVar("A")

BatchInput: TypeAlias = pl.LazyFrame | ArrowStream | Sequence[object] | str | PathLike[str]
"""The data of a source: a frame of Polars, pandas, PyArrow, DuckDB or any library that shares it by Arrow, records, or
the path of Parquet files (a file, a folder, or a pattern)."""

CAPABILITIES: Final = BATCH
"""The capabilities of this interpreter."""


@overload
def compile(
    outputs: PCollection[A],
    inputs: Mapping[AnySource, BatchInput],
    **options: Unpack[BatchOptions],
) -> PaneFrame[A]: ...
@overload
def compile(
    outputs: Mapping[str, PCollection[A]],
    inputs: Mapping[AnySource, BatchInput],
    **options: Unpack[BatchOptions],
) -> dict[str, PaneFrame[A]]: ...
def compile(
    outputs: PCollection[A] | Mapping[str, PCollection[A]],
    inputs: Mapping[AnySource, BatchInput],
    **options: Unpack[BatchOptions],
) -> PaneFrame[A] | dict[str, PaneFrame[A]]:
    """Returns the output of a pipeline over bounded frames, as a lazy frame: panes, or elements if it groups nothing.

    Several named outputs are a lazy frame each, over the data of each source of any of them. ``pl.collect_all`` of the
    frames computes a collection that they share once.

    ``time`` is the processing time of the output; it defaults to the time of the call. Raises ``UnboundSourceError``,
    ``SchemaMismatchError``, and ``UnsupportedError`` for features that batch lacks.

    Functions that are not lifted run in Python, and are named in the log ``flowalg.lifting``; with ``require_lifted``
    they raise ``UnsupportedError``.

    A bad record fails the query: one that has a null or an impossible event time, or makes a user function raise. With
    ``dead_letters`` it is a row of ``dead_letters()`` of the frame instead, and of each frame if there are several.
    ``pl.collect_all`` of both frames computes the elements once.

    Example::

        panes = batch.compile(totals, {scores: "scores.parquet"})
        panes.final_values().sink_parquet("totals.parquet")

        frames = batch.compile({"by team": by_team, "clean": clean}, {scores: "scores.parquet"})
        by_team_frame, clean_frame = pl.collect_all(frames.values())
    """
    named = {ONLY_OUTPUT: outputs} if isinstance(outputs, PCollection) else outputs
    frames = _compile(named, inputs, {}, **options)
    return frames[ONLY_OUTPUT] if isinstance(outputs, PCollection) else frames


def check(
    outputs: PCollection[object] | Mapping[str, PCollection[object]], *, dead_letters: bool = False
) -> Result[Plan, UnsupportedError]:
    """Returns the plan of a pipeline or of named outputs, or the error with all ``parts`` that a batch cannot run.

    It is what ``compile`` raises, without data. ``dead_letters`` is that of ``compile``.

    Example::

        batch.check(totals).alt(lambda error: error.parts)
    """
    plan = partial(plan_batch, dead_letters=dead_letters, most_paths=_MOST_PATHS)
    return check_outputs(outputs, plan, REQUIREMENTS)


def _compile(
    outputs: Mapping[str, PCollection[A]],
    inputs: Mapping[AnySource, BatchInput],
    unfired: MutableMapping[int, int],
    *,
    time: datetime | None = None,
    dead_letters: bool = False,
    require_lifted: bool = False,
) -> dict[str, PaneFrame[A]]:
    """Returns named outputs as frames; when they are computed, ``unfired`` has the unfired timers of computations."""
    require_flag("dead_letters", dead_letters)
    require_flag("require_lifted", require_lifted)
    plan = plan_batch(outputs, dead_letters=dead_letters, most_paths=_MOST_PATHS)
    data = inputs_by_name(inputs, "frame", *plan.roots)
    frames = {name: lazy_frame(read.source, data[name]) for name, read in plan.sources.items()}
    now = pl.lit(processing_time(datetime.now(UTC) if time is None else time), pl.Int64())
    letters = DeadLetters() if dead_letters else None
    flow = Fold(_Lowering(frames, now, plan.readers, letters, unfired))
    with reporting_all_parts(plan, REQUIREMENTS):
        flows = {name: flow(node) for name, node in plan.outputs.items()}
    report_functions(
        chain.from_iterable(flow.notes for flow in flows.values()), require_lifted=require_lifted
    )
    kept_apart = None if letters is None else dead_letter_frame(letters.frames, now)
    return {
        name: cast("PaneFrame[A]", _output_frame(flows[name], now, kept_apart, panes=plan.emits_panes(name)))
        for name in outputs
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
    for file in files:
        require_file(source.name, file)
    files = [file for file in files if os.path.getsize(file)]
    if not files:
        return _no_rows(source)
    partitioned = any("=" in part for file in files for part in Path(file).relative_to(folder).parts[:-1])
    return scan_parquet(source.name, files, partitioned=partitioned)


def _scan_files(source: SourceNode, pattern: Path) -> pl.LazyFrame:
    """Returns the Parquet files of a pattern, or the file that it names; files without a byte have no records."""
    files = [str(pattern)] if os.path.isfile(pattern) else glob(str(pattern), recursive=True)
    for file in files:
        require_file(source.name, file)
    if files and not any(map(os.path.getsize, files)):
        return _no_rows(source)
    return scan_parquet(source.name, pattern)


def _no_rows(source: SourceNode) -> pl.LazyFrame:
    return pl.LazyFrame(schema={name: polars_type(part) for name, part in fields_in(source.shape)})


def lazy_frame(source: SourceNode, data: object) -> pl.LazyFrame:
    """Returns the data of a source as a lazy frame; raises ``ArgumentError`` for anything else."""
    place = f"the input of source {source.name!r}"
    match data:
        case pl.LazyFrame():
            return data
        case str() | PathLike():
            text = path_text(place, data)
            if is_url(text):
                return scan_parquet(source.name, text)
            path = Path(text)
            return _scan_folder(source, path) if os.path.isdir(path) else _scan_files(source, path)
        case list() | tuple():
            return record_frame(source, list(data)).lazy()
        case _:
            return polars_frame(place, data, f"{FRAME}, a list of records, or a path of Parquet files").lazy()


@overload
def run(
    outputs: PCollection[A],
    inputs: Mapping[AnySource, BatchInput],
    **options: Unpack[BatchOptions],
) -> Run[A]: ...
@overload
def run(
    outputs: Mapping[str, PCollection[object]],
    inputs: Mapping[AnySource, BatchInput],
    **options: Unpack[BatchOptions],
) -> Outputs: ...
def run(
    outputs: PCollection[object] | Mapping[str, PCollection[object]],
    inputs: Mapping[AnySource, BatchInput],
    **options: Unpack[BatchOptions],
) -> Run[object] | Outputs:
    """Returns the output of a pipeline over bounded frames as values, in order. It must fit in memory.

    Several named outputs are those of one query: what they share is computed once. With ``dead_letters``, bad records
    are in ``bad_records`` of the run instead of failing it.
    """
    if isinstance(outputs, PCollection):
        return run_of(run({ONLY_OUTPUT: outputs}, inputs, **options), outputs)
    dead_letters, unfired = options.get("dead_letters", False), dict[int, int]()
    frames = _compile(outputs, inputs, unfired, **options)
    queries = [flat_rows(outputs[name], frame) for name, frame in frames.items()]
    if dead_letters:
        queries.append(next(iter(frames.values())).dead_letters())
    with raise_causes():
        tables = pl.collect_all(queries, engine="streaming")
    bad = bad_records_in(tables.pop()) if dead_letters else ()
    by_name = {name: output_in(outputs[name], table) for name, table in zip(frames, tables, strict=True)}
    return Outputs(by_name, (), outputs, bad_records=bad, unfired_timers=sum(unfired.values()))


_MOST_PATHS: Final = 16
"""The most paths to a flatten that is a union. The plan of Polars is a tree: it repeats a collection for each path."""


@frozen
class _Lowering:
    """Lowers the nodes of a plan to flows. A node with several readers is lowered once.

    ``readers`` counts those of each node. Bad records are added to ``letters``; without it they fail the query.
    """

    frames: Mapping[str, pl.LazyFrame]
    time: pl.Expr
    readers: Mapping[PlanNode, int]
    letters: DeadLetters | None = None
    unfired: MutableMapping[int, int] = field(factory=dict)

    def __call__(self, node: PlanNode, flow: Fold[PlanNode, Flow]) -> Flow:
        """Returns the flow of a node, from those of its inputs."""
        match node:
            case planned.Read(source=source):
                frame = self.frames[source.name]
                bound = bind_source(source, dict(frame.collect_schema()), self.time)
                if self.letters is not None:
                    return self.letters.bind_source(source, bound, frame)
                return Flow(bound.apply(frame), bound.shape, bound.meta, bound.notes)
            case planned.Apply(input=inner, steps=steps):
                before = flow(inner)
                program = compile_steps(steps, before.shape, before.meta)
                if self.letters is None:
                    return before.after(program)
                return self.letters.apply(before, program, alone=self.readers[inner] == 1)
            case planned.PairWithMetadata(input=inner, metadata=metadata):
                before = flow(inner)
                return before.after(compile_metadata(metadata, before.shape, before.meta))
            case planned.Combine(input=inner, transform=transform):
                return lower_grouping(transform, flow(inner), self.time)
            case planned.CoGroup(inputs=inputs, transform=transform):
                return lower_co_group(transform, tuple(map(flow, inputs)), self.time)
            case planned.JoinByKey(inputs=inputs, transform=transform, kind=kind):
                return lower_join(transform, kind, tuple(map(flow, inputs)), self.time)
            case planned.ExplodeLists(input=inner, transform=transform, kind=kind):
                return explode_lists(transform, kind, flow(inner))
            case planned.Union(inputs=inputs):
                return union(tuple(map(flow, inputs)))
            case planned.FanOut(input=inner, chains=chains):
                return fan_out(flow(inner), chains)
            case planned.ReadSide(input=inner, side=side, transform=transform, steps=steps):
                return lower_side_input(transform, flow(inner), flow(side), steps)
            case planned.Compute(input=inner, transform=transform, sources=sources):
                read = list(map(flow, sources))
                return lower_computation(transform, flow(inner), read, self.time, self.letters, self.unfired)
        assert_never(node)
