"""Spark batch: one instant, so every window has one pane, on time: plain relational algebra (section 11).

``compile`` gives the DataFrame that one would have written by hand; nothing runs until it is used.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Final, TypeVar, assert_never

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from flowalg.functions import Call
from flowalg.inputs import AnySource, inputs_by_name
from flowalg.joining import Pairs
from flowalg.nodes import (
    CombinePerKey,
    ElementWise,
    Flatten,
    Node,
    SourceNode,
    WindowInto,
    WithSide,
    last_grouping,
    shape_after,
)
from flowalg.panes import Pane
from flowalg.pcollection import PCollection
from flowalg.shapes import RecordOf
from flowalg.steps import FlatMap
from flowalg.tagging import Separate
from flowalg.time import processing_time
from flowalg_spark.binding import bound_source, require_frame
from flowalg_spark.capabilities import BATCH
from flowalg_spark.element_wise import through_steps
from flowalg_spark.flow import Flow, union
from flowalg_spark.frames import PaneFrame, collect, drop_type, pane_frame, visible
from flowalg_spark.relational.groups import grouped
from flowalg_spark.relational.joins import beside, co_grouped, joined

A = TypeVar("A")

CAPABILITIES: Final = BATCH
"""What this interpreter lacks, as data."""


def compile(
    pipeline: PCollection[A], inputs: Mapping[AnySource, DataFrame], *, time: datetime | None = None
) -> PaneFrame[A]:
    """The panes of a pipeline over bounded frames, as a DataFrame.

    ``time`` is the processing time that the panes carry; it defaults to when the query runs. Raises
    ``UnboundSourceError``, ``SchemaMismatchError``, and ``UnsupportedError`` for what batch cannot do.
    """
    last_grouping(pipeline.node)
    frames = inputs_by_name(pipeline.node, inputs, "frame")
    clock = F.current_timestamp() if time is None else None
    micros = (
        F.unix_micros(clock) if clock is not None else F.lit(0 if time is None else processing_time(time))
    )
    flow = _lower(pipeline.node, {name: require_frame(name, one) for name, one in frames.items()}, micros)
    return pane_frame(pipeline, flow, lambda: _without_drops(flow, drop_type(_last_pair(pipeline.node))))


def run(
    pipeline: PCollection[A], inputs: Mapping[AnySource, DataFrame], *, time: datetime | None = None
) -> tuple[Pane[A], ...]:
    """The panes of a pipeline over bounded frames as typed values, in order: for results that fit in memory."""
    return collect(pipeline, compile(pipeline, inputs, time=time))


def _without_drops(flow: Flow, drops: T.StructType) -> DataFrame:
    """The panes with an empty ``drop``: a batch drops nothing, since its watermark moves once, at its end."""
    return flow.frame.select(*visible(flow), F.lit(None).cast(drops).alias("drop"))


def _last_pair(node: Node) -> RecordOf:
    """The shape of what the last grouping gives; raises ``UnsupportedError`` when there is none."""
    shape = shape_after(last_grouping(node))
    assert isinstance(shape, RecordOf)
    return shape


def _lower(node: Node, frames: Mapping[str, DataFrame], time: Column) -> Flow:
    match node:
        case SourceNode(name=name):
            return bound_source(node, frames[name], None)
        case WindowInto(input=inner):
            return _lower(inner, frames, time)
        case ElementWise(
            input=CombinePerKey(input=Flatten(inputs=inputs)) as grouping,
            steps=(FlatMap(function=Call(f=Pairs(outer=outer))), *steps),
        ):
            flows = tuple(_untagged(inner, frames, time) for inner in inputs)
            return through_steps(joined(grouping, flows, time, outer=outer), tuple(steps))
        case ElementWise(input=inner, steps=steps):
            return through_steps(_lower(inner, frames, time), steps)
        case CombinePerKey(input=Flatten(inputs=inputs), combiner=Separate()):
            return co_grouped(node, tuple(_untagged(inner, frames, time) for inner in inputs), time)
        case CombinePerKey(input=inner):
            return grouped(node, _lower(inner, frames, time), time)
        case Flatten(inputs=inputs):
            return union(tuple(_lower(inner, frames, time) for inner in inputs))
        case WithSide(input=inner, side=side):
            return beside(node, _lower(inner, frames, time), _lower(side, frames, time))
    assert_never(node)


def _untagged(node: Node, frames: Mapping[str, DataFrame], time: Column) -> Flow:
    """An input of a co-group, before its values were tagged."""
    assert isinstance(node, ElementWise), "the inputs of a co-group are tagged"
    return through_steps(_lower(node.input, frames, time), node.steps[:-1])


__all__ = ["CAPABILITIES", "compile", "run"]
