"""Spark batch: a bounded pipeline as relational algebra over DataFrames (SEMANTICS section 11).

A batch is one instant, so every window emits one pane, on time. ``compile`` returns a lazy DataFrame.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Final, TypeVar, assert_never, overload

from attrs import frozen
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from flowalg.data.errors import ArgumentError, UnsupportedError
from flowalg.data.shapes import RecordOf
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
from flowalg_spark.batch.filter_pushdown import push_down_filters
from flowalg_spark.batch.groups import lower_grouping
from flowalg_spark.batch.joins import lower_co_group, lower_join, lower_side_input
from flowalg_spark.capabilities import BATCH
from flowalg_spark.expressions.integers import long_literal
from flowalg_spark.frames.pane_frame import PaneFrame, collect, collect_all, drop_type, pane_frame, user_frame
from flowalg_spark.lowering.binding import bind_source, require_bounded
from flowalg_spark.lowering.element_wise import apply_steps
from flowalg_spark.lowering.fan_out import fan_out
from flowalg_spark.lowering.flow import Flow, union
from flowalg_spark.lowering.metadata import pair_with_metadata
from flowalg_spark.lowering.py4j_cache import reduce_calls

A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")

CAPABILITIES: Final = BATCH
"""The capabilities of this interpreter."""


def compile(
    pipeline: PCollection[A], inputs: Mapping[AnySource, DataFrame], *, time: datetime | None = None
) -> PaneFrame[A]:
    """Returns the panes of a pipeline over bounded frames, as a DataFrame.

    ``time`` is the processing time of the panes; it defaults to the time at which the query runs. Raises
    ``UnboundSourceError``, ``SchemaMismatchError``, and ``UnsupportedError`` for features that batch lacks.

    Example::

        panes = batch.compile(totals, {scores: spark.read.parquet("scores")})
        panes.final_values().write.parquet("totals")
    """
    (frame,) = compile_all([pipeline], inputs, time=time)
    return frame


@overload
def compile_all(
    pipelines: tuple[PCollection[A], PCollection[B]],
    inputs: Mapping[AnySource, DataFrame],
    *,
    time: datetime | None = None,
) -> tuple[PaneFrame[A], PaneFrame[B]]: ...
@overload
def compile_all(
    pipelines: tuple[PCollection[A], PCollection[B], PCollection[C]],
    inputs: Mapping[AnySource, DataFrame],
    *,
    time: datetime | None = None,
) -> tuple[PaneFrame[A], PaneFrame[B], PaneFrame[C]]: ...
@overload
def compile_all(
    pipelines: Sequence[PCollection[A]],
    inputs: Mapping[AnySource, DataFrame],
    *,
    time: datetime | None = None,
) -> tuple[PaneFrame[A], ...]: ...
def compile_all(
    pipelines: Sequence[PCollection[object]],
    inputs: Mapping[AnySource, DataFrame],
    *,
    time: datetime | None = None,
) -> tuple[PaneFrame[object], ...]:
    """Returns the panes of several pipelines over the same frames, as one DataFrame for each pipeline.

    ``inputs`` has the frame of each source of any of the pipelines. A collection that pipelines share is computed once
    in a query over several of the DataFrames. Each action of Spark is a separate query: to write several outputs of an
    expensive input, ``cache`` that input.

    Example::

        by_team, by_hour = batch.compile_all((by_team, by_hour), {scores: spark.read.parquet("scores")})
    """
    if not isinstance(pipelines, Sequence) or not pipelines:
        raise ArgumentError("pipelines", pipelines, "one or more PCollections, in a tuple or list")
    for number, pipeline in enumerate(pipelines, start=1):
        if not isinstance(pipeline, PCollection):
            raise ArgumentError(f"pipeline {number}", pipeline, "a PCollection")
        last_grouping(pipeline.node)
    first, *others = (pipeline.node for pipeline in pipelines)
    frames = inputs_by_name(first, inputs, "frame", *others)
    clock = F.unix_micros(F.current_timestamp()) if time is None else long_literal(processing_time(time))
    lowering = _Lowering({name: require_bounded(name, frame) for name, frame in frames.items()}, clock)
    flow = Fold(lowering)
    with reduce_calls():
        return tuple(_compile_flow(pipeline, flow(pipeline.node)) for pipeline in pipelines)


def _compile_flow(pipeline: PCollection[A], flow: Flow) -> PaneFrame[A]:
    """Returns the panes of a pipeline from its flow."""
    return pane_frame(pipeline, flow, partial(_with_empty_drops, flow, pipeline.node))


def run(
    pipeline: PCollection[A], inputs: Mapping[AnySource, DataFrame], *, time: datetime | None = None
) -> tuple[Pane[A], ...]:
    """Returns the panes of a pipeline over bounded frames as values, in order. They must fit in the driver's memory."""
    return collect(pipeline, compile(pipeline, inputs, time=time))


@overload
def run_all(
    pipelines: tuple[PCollection[A], PCollection[B]],
    inputs: Mapping[AnySource, DataFrame],
    *,
    time: datetime | None = None,
) -> tuple[tuple[Pane[A], ...], tuple[Pane[B], ...]]: ...
@overload
def run_all(
    pipelines: tuple[PCollection[A], PCollection[B], PCollection[C]],
    inputs: Mapping[AnySource, DataFrame],
    *,
    time: datetime | None = None,
) -> tuple[tuple[Pane[A], ...], tuple[Pane[B], ...], tuple[Pane[C], ...]]: ...
@overload
def run_all(
    pipelines: Sequence[PCollection[A]],
    inputs: Mapping[AnySource, DataFrame],
    *,
    time: datetime | None = None,
) -> tuple[tuple[Pane[A], ...], ...]: ...
def run_all(
    pipelines: Sequence[PCollection[object]],
    inputs: Mapping[AnySource, DataFrame],
    *,
    time: datetime | None = None,
) -> tuple[tuple[Pane[object], ...], ...]:
    """Returns the panes of several pipelines, as ``run`` does, by one query: shared collections are computed once."""
    return collect_all(pipelines, compile_all(pipelines, inputs, time=time))


def _with_empty_drops(flow: Flow, node: Node, *, metrics: bool) -> DataFrame:
    """Returns the panes with a null ``drop``: a batch drops nothing, since its watermark advances once, at its end."""
    if metrics:
        raise UnsupportedError(
            "with_metrics: batch has no metrics; they are for streaming.compile(..., metrics=True)"
        )
    drops = drop_type(_last_pair(node))
    return user_frame(flow, F.lit(None).cast(drops).alias("drop"))


def _last_pair(node: Node) -> RecordOf:
    """Returns the shape of the last grouping's pairs; raises ``UnsupportedError`` if the pipeline has no grouping."""
    shape = last_grouping(node).shape
    assert isinstance(shape, RecordOf)
    return shape


@frozen
class _Lowering:
    """Lowers the nodes of pipelines to flows. A node with several readers is lowered once."""

    frames: Mapping[str, DataFrame]
    time: Column

    def __call__(self, node: Node, flow: Fold[Node, Flow]) -> Flow:
        """Returns the flow of a node, from those of its inputs."""
        match node:
            case SourceNode(name=name):
                return bind_source(node, self.frames[name], None)
            case Hole():
                raise node.refused()
            case WindowInto(input=inner):
                return flow(inner)
            case ElementWise():
                return self.chain(node.unsplit, flow)
            case WithMetadata(input=inner, metadata=metadata):
                return pair_with_metadata(flow(inner), metadata)
            case CombinePerKey(input=inner):
                return lower_grouping(node, flow(inner), self.time)
            case CoGroupByKey(inputs=inputs):
                return lower_co_group(node, tuple(map(flow, inputs)), self.time)
            case Flatten(inputs=inputs):
                return self.branches(node, flow) or union(tuple(map(flow, inputs)))
            case WithSide(input=inner, side=side):
                return lower_side_input(node, flow(inner), flow(side), ())
        assert_never(node)

    def branches(self, node: Flatten, flow: Fold[Node, Flow]) -> Flow | None:
        """Returns the flow of a flatten whose inputs are branches of one collection, if one pass can compute them."""
        found = branches_of(node)
        return fan_out(flow(found[0]), found[1]) if found else None

    def chain(self, node: ElementWise, flow: Fold[Node, Flow]) -> Flow:
        """Returns the flow after a chain of steps; some inputs are best lowered together with the steps after them."""
        match node:
            case ElementWise(
                input=CoGroupByKey(inputs=inputs, join=JoinKind() as kind) as grouping, steps=(_, *after)
            ):
                # The first step emits the pairs one by one, which a join does by itself.
                pairs = lower_join(grouping, kind, tuple(map(flow, inputs)), self.time)
                return apply_steps(pairs, tuple(after))
            case ElementWise(input=WithSide(input=inner, side=side) as reading, steps=steps):
                return lower_side_input(reading, flow(inner), flow(side), steps)
            case ElementWise(input=SourceNode(name=name) as source, steps=steps):
                frame = push_down_filters(source, self.frames[name], steps)
                return apply_steps(bind_source(source, frame, None), steps)
            case ElementWise(input=inner, steps=steps):
                return apply_steps(flow(inner), steps)


__all__ = ["CAPABILITIES", "compile", "compile_all", "run", "run_all"]
