"""Spark batch: one instant, so every window has one pane, on time: plain relational algebra (section 11).

``compile`` gives the DataFrame that one would have written by hand; nothing runs until it is used.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Final, TypeVar, assert_never

from attrs import evolve
from flowalg_shard.support import require_pane_time, require_windows
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from flowalg.assignment import FixedWindows, GlobalWindows, WindowFn
from flowalg.errors import UnsupportedError
from flowalg.inputs import AnySource, inputs_by_name
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
from flowalg.panes import Change, Pane, Timing
from flowalg.pcollection import PCollection
from flowalg.shapes import RecordOf
from flowalg.time import MAX_TIME, MIN_TIME, processing_time
from flowalg_spark.aggregates import native
from flowalg_spark.binding import bound_source, require_frame
from flowalg_spark.capabilities import BATCH
from flowalg_spark.flow import Flow, through_steps
from flowalg_spark.frames import PaneFrame, collect, drop_type, pane_frame, visible
from flowalg_spark.grouping import grouping_columns
from flowalg_spark.layout import layout_of, leaves, named
from flowalg_spark.meta import (
    CHANGE,
    END,
    EVENT_TIME,
    INDEX,
    IS_FIRST,
    IS_LAST,
    META_TYPES,
    PANE_META,
    PANE_TIME,
    START,
    TIMING,
    WATERMARK,
    pane_meta,
)

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
        case ElementWise(input=inner, steps=steps):
            return through_steps(_lower(inner, frames, time), steps)
        case CombinePerKey(input=inner):
            return _grouped(node, _lower(inner, frames, time), time)
        case Flatten():
            raise UnsupportedError(
                "flatten, co_group_by_key and joins run in the reference interpreter only so far"
            )
        case WithSide():
            raise UnsupportedError("side inputs run in the reference interpreter only so far")
    assert_never(node)


def _grouped(node: CombinePerKey, flow: Flow, time: Column) -> Flow:
    """One row per key and window, with what its only pane says of itself."""
    columns = grouping_columns(flow, node)
    stage = columns.stage
    require_windows(stage.strategy.windows, stage.label)
    require_pane_time(stage.strategy, stage.label)
    keys = [named(key) for key in stage.keys]
    if columns.fresh:
        windows, end = _fresh_windows(stage.strategy.windows)
    else:
        windows, end = [named(START), named(END)], named(END)
    frame = columns.flow.frame
    if columns.fresh and not windows:
        # Nothing else reads the event times then, and a bad one must not pass because nobody looked.
        frame = frame.filter(named(EVENT_TIME).isNotNull())
    grouped = frame.groupBy(*keys, *windows).agg(*(native(one, stage.label) for one in stage.aggregates))
    start = named(START) if windows else F.lit(MIN_TIME)
    meta: dict[str, Column] = {
        EVENT_TIME: end - F.lit(1),
        START: start,
        END: end,
        CHANGE: F.lit(Change.VALUE.value),
        TIMING: F.lit(Timing.ON_TIME.value),
        INDEX: F.lit(0),
        IS_FIRST: F.lit(True),
        IS_LAST: F.lit(True),
        PANE_TIME: time,
        WATERMARK: F.lit(MAX_TIME),
    }
    names = [leaf.at for leaf in leaves(layout_of(columns.pair))]
    values = [named(old).alias(new) for old, new in zip(columns.result_columns, names, strict=True)]
    others = [meta[name].cast(META_TYPES[name]).alias(name) for name in PANE_META]
    return evolve(columns.flow, frame=grouped.select(*values, *others), shape=columns.pair, meta=pane_meta())


def _fresh_windows(windows: WindowFn) -> tuple[list[Column], Column]:
    """The grouping columns of a window assignment, and the window's end in terms of them."""
    match windows:
        case GlobalWindows():
            return [], F.lit(MAX_TIME)
        case FixedWindows():
            size, offset = (
                F.lit(windows.size_micros).cast("bigint"),
                F.lit(windows.offset_micros).cast("bigint"),
            )
            point = named(EVENT_TIME)
            start = point - F.pmod(point - offset, size)
            return [_clamped(start).alias(START)], _fixed_end(windows)
        case _:
            raise UnsupportedError(f"{windows} have no columns")


def _clamped(point: Column) -> Column:
    return F.greatest(F.least(point, F.lit(MAX_TIME)), F.lit(MIN_TIME))


def _fixed_end(windows: FixedWindows) -> Column:
    """The end of a fixed window from its start, also where the start was cut off at the beginning of time."""
    size = F.lit(windows.size_micros).cast("bigint")
    first = windows.assign(MIN_TIME, None)[0]
    cut = F.when(named(START) == F.lit(MIN_TIME), F.lit(first.end))
    return cut.otherwise(_clamped(named(START) + size))


__all__ = ["CAPABILITIES", "compile", "run"]
