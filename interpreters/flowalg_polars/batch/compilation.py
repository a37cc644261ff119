"""Polars batch: a bounded pipeline as relational algebra over lazy frames (SEMANTICS section 11).

A batch is one instant, so every window emits one pane, on time. ``compile`` returns a lazy frame.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from os import PathLike, fspath
from pathlib import Path
from typing import Final, TypeAlias, TypeVar, assert_never, cast, overload

import polars as pl
from attrs import frozen

from flowalg.data.errors import ArgumentError
from flowalg.data.time import processing_time
from flowalg.pipeline.graph import Fold
from flowalg.pipeline.joins import JoinKind
from flowalg.pipeline.nodes import (
    CoGroupByKey,
    CombinePerKey,
    ElementWise,
    Flatten,
    Hole,
    Node,
    SourceNode,
    WindowInto,
    WithMetadata,
    WithSide,
)
from flowalg.pipeline.pcollection import PCollection
from flowalg.pipeline.structure import branches_of, last_grouping
from flowalg.runs.inputs import AnySource, inputs_by_name
from flowalg.runs.panes import Pane
from flowalg_polars.batch.fan_out import fan_out
from flowalg_polars.batch.flow import Flow, union
from flowalg_polars.batch.groups import lower_grouping
from flowalg_polars.batch.joins import lower_co_group, lower_join
from flowalg_polars.batch.side_inputs import lower_side_input
from flowalg_polars.capabilities import BATCH
from flowalg_polars.frames.pane_frame import PaneFrame, collect, pane_frame
from flowalg_polars.lowering.binding import bind_source, scan_parquet
from flowalg_polars.lowering.metadata import compile_metadata
from flowalg_polars.lowering.programs import compile_steps

A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")

BatchInput: TypeAlias = pl.LazyFrame | pl.DataFrame | str | PathLike[str]
"""The data of a source: a frame, or the path of Parquet files (a file, a folder, or a pattern)."""

CAPABILITIES: Final = BATCH
"""The capabilities of this interpreter."""


def compile(
    pipeline: PCollection[A], inputs: Mapping[AnySource, BatchInput], *, time: datetime | None = None
) -> PaneFrame[A]:
    """Returns the panes of a pipeline over bounded frames, as a lazy frame.

    ``time`` is the processing time of the panes; it defaults to the time of the call. Raises ``UnboundSourceError``,
    ``SchemaMismatchError``, and ``UnsupportedError`` for features that batch lacks.

    Example::

        panes = batch.compile(totals, {scores: "scores.parquet"})
        panes.final_values().sink_parquet("totals.parquet")
    """
    (frame,) = compile_all([pipeline], inputs, time=time)
    return frame


@overload
def compile_all(
    pipelines: tuple[PCollection[A], PCollection[B]],
    inputs: Mapping[AnySource, BatchInput],
    *,
    time: datetime | None = None,
) -> tuple[PaneFrame[A], PaneFrame[B]]: ...
@overload
def compile_all(
    pipelines: tuple[PCollection[A], PCollection[B], PCollection[C]],
    inputs: Mapping[AnySource, BatchInput],
    *,
    time: datetime | None = None,
) -> tuple[PaneFrame[A], PaneFrame[B], PaneFrame[C]]: ...
@overload
def compile_all(
    pipelines: Sequence[PCollection[A]],
    inputs: Mapping[AnySource, BatchInput],
    *,
    time: datetime | None = None,
) -> tuple[PaneFrame[A], ...]: ...
def compile_all(
    pipelines: Sequence[PCollection[object]],
    inputs: Mapping[AnySource, BatchInput],
    *,
    time: datetime | None = None,
) -> tuple[PaneFrame[object], ...]:
    """Returns the panes of several pipelines over the same inputs, as one lazy frame for each pipeline.

    ``inputs`` has the data of each source of any of the pipelines. ``pl.collect_all`` of the frames computes a
    collection that they share once.
    """
    if not isinstance(pipelines, Sequence) or not pipelines:
        raise ArgumentError("pipelines", pipelines, "one or more PCollections, in a tuple or list")
    for number, pipeline in enumerate(pipelines, start=1):
        if not isinstance(pipeline, PCollection):
            raise ArgumentError(f"pipeline {number}", pipeline, "a PCollection")
        last_grouping(pipeline.node)
    first, *others = (pipeline.node for pipeline in pipelines)
    data = inputs_by_name(first, inputs, "frame", *others)
    frames = {name: lazy_frame(name, value) for name, value in data.items()}
    now = processing_time(datetime.now(UTC) if time is None else time)
    flow = Fold(_Lowering(frames, pl.lit(now, pl.Int64())))
    flows = [flow(pipeline.node) for pipeline in pipelines]
    return tuple(pane_frame(each.frame, each.shape, each.notes) for each in flows)


def lazy_frame(source: str, data: object) -> pl.LazyFrame:
    """Returns the data of a source as a lazy frame; raises ``ArgumentError`` for anything else."""
    match data:
        case pl.LazyFrame():
            return data
        case pl.DataFrame():
            return data.lazy()
        case str() | PathLike():
            path = Path(fspath(cast("str | PathLike[str]", data)))
            return scan_parquet(source, path / "**/*.parquet" if path.is_dir() else path)
        case _:
            raise ArgumentError(
                f"the input of source {source!r}",
                data,
                "a Polars LazyFrame or DataFrame, or a path of Parquet files",
            )


def run(
    pipeline: PCollection[A], inputs: Mapping[AnySource, BatchInput], *, time: datetime | None = None
) -> tuple[Pane[A], ...]:
    """Returns the panes of a pipeline over bounded frames as values, in order. They must fit in memory."""
    return collect(pipeline, compile(pipeline, inputs, time=time))


_MOST_PATHS: Final = 16
"""The most paths to a flatten that is a union. The plan of Polars is a tree: it repeats a collection for each path."""


def count_paths(root: Node) -> int:
    """Returns the number of paths from sources to a node."""

    def count(node: Node, paths: Fold[Node, int]) -> int:
        return sum(map(paths, node.inputs)) or 1

    return Fold(count)(root)


@frozen
class _Lowering:
    """Lowers the nodes of pipelines to flows. A node with several readers is lowered once."""

    frames: Mapping[str, pl.LazyFrame]
    time: pl.Expr

    def __call__(self, node: Node, flow: Fold[Node, Flow]) -> Flow:
        """Returns the flow of a node, from those of its inputs."""
        match node:
            case SourceNode(name=name):
                frame = self.frames[name]
                program = bind_source(node, dict(frame.collect_schema()))
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
                branches = branches_of(node)
                if branches is not None and count_paths(node) > _MOST_PATHS:
                    return fan_out(flow(branches[0]), branches[1])
                return union(tuple(map(flow, inputs)))
            case WithSide(input=inner, side=side):
                return lower_side_input(node, flow(inner), flow(side), ())
        assert_never(node)

    def chain(self, node: ElementWise, flow: Fold[Node, Flow]) -> Flow:
        """Returns the flow of a chain of steps; some inputs are best lowered together with the steps after them."""
        match node:
            case ElementWise(
                input=CoGroupByKey(inputs=inputs, join=JoinKind() as kind) as grouping, steps=(_, *after)
            ):
                # The first step emits the pairs one by one, which a join does by itself.
                pairs = lower_join(grouping, kind, tuple(map(flow, inputs)), self.time)
                return pairs.after(compile_steps(after, pairs.shape, pairs.meta))
            case ElementWise(input=WithSide(input=inner, side=side) as reading, steps=steps):
                return lower_side_input(reading, flow(inner), flow(side), steps)
            case ElementWise(input=inner, steps=steps):
                before = flow(inner)
                return before.after(compile_steps(steps, before.shape, before.meta))


__all__ = ["CAPABILITIES", "BatchInput", "compile", "compile_all", "lazy_frame", "run"]
