"""Spark batch: one instant, so every window has one pane, on time: plain relational algebra (section 11).

``compile`` gives the DataFrame that one would have written by hand; nothing runs until it is used.
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
from flowalg.elementwise.functions import Call
from flowalg.elementwise.steps import FlatMap
from flowalg.pipeline.graph import Fold
from flowalg.pipeline.joins import Pairs
from flowalg.pipeline.nodes import (
    CoGroupByKey,
    CombinePerKey,
    ElementWise,
    Flatten,
    Hole,
    Node,
    SourceNode,
    WindowInto,
    WithSide,
)
from flowalg.pipeline.pcollection import PCollection
from flowalg.pipeline.structure import last_grouping
from flowalg.runs.inputs import AnySource, inputs_by_name
from flowalg.runs.panes import Pane
from flowalg_spark.batch.groups import grouped
from flowalg_spark.batch.joins import beside, co_grouped, joined
from flowalg_spark.batch.scanning import scanned
from flowalg_spark.capabilities import BATCH
from flowalg_spark.expressions.integers import long
from flowalg_spark.frames.pane_frame import PaneFrame, collect, collect_all, drop_type, pane_frame, visible
from flowalg_spark.lowering.binding import bound_source, require_frame
from flowalg_spark.lowering.element_wise import through_steps
from flowalg_spark.lowering.flow import Flow, union
from flowalg_spark.lowering.py4j_cache import few_calls

A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")

CAPABILITIES: Final = BATCH
"""What this interpreter lacks, as data."""


def compile(
    pipeline: PCollection[A], inputs: Mapping[AnySource, DataFrame], *, time: datetime | None = None
) -> PaneFrame[A]:
    """The panes of a pipeline over bounded frames, as a DataFrame.

    ``time`` is the processing time that the panes carry; it defaults to when the query runs. Raises
    ``UnboundSourceError``, ``SchemaMismatchError``, and ``UnsupportedError`` for what batch cannot do.
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
    """The panes of several pipelines over the same frames, as a DataFrame each: the outputs of one computation.

    ``inputs`` has what any of them reads. Collections that they share are the same columns of the same frames, so that
    one query over several outputs shuffles them once. Each action is a query of its own, as ever in Spark: to write
    several outputs of an expensive input, ``cache`` that input.
    """
    if not isinstance(pipelines, Sequence) or not pipelines:
        raise ArgumentError("pipelines", pipelines, "one or more PCollections, in a tuple or list")
    for number, pipeline in enumerate(pipelines, start=1):
        if not isinstance(pipeline, PCollection):
            raise ArgumentError(f"pipeline {number}", pipeline, "a PCollection")
        last_grouping(pipeline.node)
    first, *others = (pipeline.node for pipeline in pipelines)
    frames = inputs_by_name(first, inputs, "frame", *others)
    clock = F.unix_micros(F.current_timestamp()) if time is None else long(processing_time(time))
    lowering = _Lowering({name: require_frame(name, frame) for name, frame in frames.items()}, clock)
    flow = Fold(lowering)
    with few_calls():
        return tuple(_compiled(pipeline, flow(pipeline.node)) for pipeline in pipelines)


def _compiled(pipeline: PCollection[A], flow: Flow) -> PaneFrame[A]:
    return pane_frame(pipeline, flow, partial(_without_drops, flow, pipeline.node))


def run(
    pipeline: PCollection[A], inputs: Mapping[AnySource, DataFrame], *, time: datetime | None = None
) -> tuple[Pane[A], ...]:
    """The panes of a pipeline over bounded frames as typed values, in order: for results that fit in memory."""
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
    """The panes of several pipelines, each as ``run`` gives them, by one query: what they share is computed once."""
    return collect_all(pipelines, compile_all(pipelines, inputs, time=time))


def _without_drops(flow: Flow, node: Node, *, metrics: bool) -> DataFrame:
    """The panes with an empty ``drop``: a batch drops nothing, since its watermark moves once, at its end."""
    if metrics:
        raise UnsupportedError("with_metrics: a batch is one instant, and has nothing to tell of it")
    drops = drop_type(_last_pair(node))
    return visible(flow, F.lit(None).cast(drops).alias("drop"))


def _last_pair(node: Node) -> RecordOf:
    """The shape of what the last grouping gives; raises ``UnsupportedError`` when there is none."""
    shape = last_grouping(node).shape
    assert isinstance(shape, RecordOf)
    return shape


@frozen
class _Lowering:
    """Lowers the nodes of pipelines to flows; a node that several others read has one flow, and so one frame."""

    frames: Mapping[str, DataFrame]
    time: Column

    def __call__(self, node: Node, flow: Fold[Node, Flow]) -> Flow:
        """Returns the flow of a node, from those of its inputs."""
        match node:
            case SourceNode(name=name):
                return bound_source(node, self.frames[name], None)
            case Hole():
                raise node.refused()
            case WindowInto(input=inner):
                return flow(inner)
            case ElementWise():
                return self.chain(node.unsplit, flow)
            case CombinePerKey(input=inner):
                return grouped(node, flow(inner), self.time)
            case CoGroupByKey(inputs=inputs):
                return co_grouped(node, tuple(map(flow, inputs)), self.time)
            case Flatten(inputs=inputs):
                return union(tuple(map(flow, inputs)))
            case WithSide(input=inner, side=side):
                return beside(node, flow(inner), flow(side), ())
        assert_never(node)

    def chain(self, node: ElementWise, flow: Fold[Node, Flow]) -> Flow:
        """Returns the flow after a chain of steps; some inputs are best lowered together with the steps after them."""
        match node:
            case ElementWise(
                input=CoGroupByKey(inputs=inputs) as grouping,
                steps=(FlatMap(function=Call(f=Pairs(outer=outer))), *after),
            ):
                pairs = joined(grouping, tuple(map(flow, inputs)), self.time, outer=outer)
                return through_steps(pairs, tuple(after))
            case ElementWise(input=WithSide(input=inner, side=side) as reading, steps=steps):
                return beside(reading, flow(inner), flow(side), steps)
            case ElementWise(input=SourceNode(name=name) as source, steps=steps):
                frame = scanned(source, self.frames[name], steps)
                return through_steps(bound_source(source, frame, None), steps)
            case ElementWise(input=inner, steps=steps):
                return through_steps(flow(inner), steps)


__all__ = ["CAPABILITIES", "compile", "compile_all", "run", "run_all"]
