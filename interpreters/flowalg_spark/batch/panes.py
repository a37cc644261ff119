"""What the only pane of a window says of itself: a batch's panes are all first, on time and last."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import evolve
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from flowalg.data.shapes import RecordOf
from flowalg.data.time import MAX_TIME
from flowalg.runs.panes import Change, Timing
from flowalg.windows.strategy import TimestampCombiner, WindowingStrategy
from flowalg_spark.batch.windows import Placed
from flowalg_spark.encoding.layout import layout_of, named, places
from flowalg_spark.encoding.meta import (
    CHANGE,
    END,
    EVENT_TIME,
    INDEX,
    IS_FIRST,
    IS_LAST,
    META_TYPES,
    PANE_TIME,
    SPAN,
    START,
    TIMING,
    WATERMARK,
    pane_meta,
)
from flowalg_spark.expressions.integers import long
from flowalg_spark.lowering.flow import Flow, Selection


def bounds(in_windows: Placed, strategy: WindowingStrategy, earliest: Column, latest: Column) -> list[Column]:
    """The aggregates of event times that a window's end or its pane's event time is made of."""
    found = [] if in_windows.end_of is None else [in_windows.end_of(latest).alias(END)]
    match strategy.timestamp_combiner:
        case TimestampCombiner.END_OF_WINDOW:
            return found
        case TimestampCombiner.EARLIEST:
            return [*found, earliest.alias(EVENT_TIME)]
        case TimestampCombiner.LATEST:
            return [*found, latest.alias(EVENT_TIME)]


def panes(
    flow: Flow,
    rows: DataFrame,
    pair: RecordOf,
    columns: tuple[str, ...],
    in_windows: Placed,
    strategy: WindowingStrategy,
    time: Column,
    *,
    spanned: bool = False,
) -> Flow:
    """The flow of a batch's panes: first, on time and last, each with its window and event time.

    With ``spanned`` the rows have a ``SPAN``, which then travels along.
    """
    end = named(END) if in_windows.end is None else in_windows.end
    at_end = strategy.timestamp_combiner is TimestampCombiner.END_OF_WINDOW
    names = places(layout_of(pair))
    found = {new: named(old) for old, new in zip(columns, names, strict=True)}
    meta = pane_columns(in_windows.start, end, end - F.lit(1) if at_end else named(EVENT_TIME), time)
    found |= meta
    kinds = pane_meta()
    if spanned:
        found[SPAN] = named(SPAN)
        kinds[SPAN] = META_TYPES[SPAN]
    return evolve(flow, frame=Selection(rows, found), shape=pair, meta=kinds)


def pane_columns(start: Column, end: Column, event_time: Column, time: Column) -> Mapping[str, Column]:
    """What the only pane of a window says of itself, in the types and the order of ``PANE_META``.

    The points in time that are given are 64-bit integers.
    """
    return {
        EVENT_TIME: event_time,
        START: start,
        END: end,
        CHANGE: F.lit(Change.VALUE.value),
        TIMING: F.lit(Timing.ON_TIME.value),
        INDEX: long(0),
        IS_FIRST: F.lit(True),
        IS_LAST: F.lit(True),
        PANE_TIME: time,
        WATERMARK: long(MAX_TIME),
    }


__all__ = ["bounds", "pane_columns", "panes"]
