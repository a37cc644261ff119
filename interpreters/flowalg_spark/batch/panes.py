"""The metadata of a window's only pane: a batch's panes are all first, on time and last."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import evolve
from flowalg_columns.layout import layout_of, leaf_columns
from flowalg_columns.names import PANE_TIME, SPAN, WATERMARK
from flowalg_shard.tables.columns import CHANGE, END, EVENT_TIME, INDEX, IS_FIRST, IS_LAST, START, TIMING
from pyspark.sql import DataFrame

from flowalg.data.metadata import Timing
from flowalg.data.shapes import RecordOf
from flowalg.data.time import MAX_TIME
from flowalg.runs.panes import Change
from flowalg.windows.strategy import TimestampCombiner, WindowingStrategy
from flowalg_spark.batch.windows import WindowedFlow
from flowalg_spark.encoding import sql
from flowalg_spark.encoding.columns import col
from flowalg_spark.encoding.meta import META_TYPES, pane_meta_types
from flowalg_spark.encoding.sql import Sql
from flowalg_spark.lowering.flow import Flow, Selection


def bound_aggregates(
    windowed: WindowedFlow, strategy: WindowingStrategy, earliest: Sql, latest: Sql
) -> list[Sql]:
    """Returns the aggregates of event times for the window's end and its pane's event time, where they need any."""
    ends = [] if windowed.end_of is None else [windowed.end_of(latest).alias(END)]
    match strategy.timestamp_combiner:
        case TimestampCombiner.END_OF_WINDOW:
            return ends
        case TimestampCombiner.EARLIEST:
            return [*ends, earliest.alias(EVENT_TIME)]
        case TimestampCombiner.LATEST:
            return [*ends, latest.alias(EVENT_TIME)]


def pane_flow(
    flow: Flow,
    rows: DataFrame,
    pair: RecordOf,
    columns: tuple[str, ...],
    windowed: WindowedFlow,
    strategy: WindowingStrategy,
    time: Sql,
    *,
    has_span: bool = False,
) -> Flow:
    """Returns the flow of a batch's panes: first, on time and last, each with its window and event time.

    With ``has_span`` the rows have a ``SPAN``, which then travels along.
    """
    end = col(END) if windowed.end is None else windowed.end
    at_end = strategy.timestamp_combiner is TimestampCombiner.END_OF_WINDOW
    names = leaf_columns(layout_of(pair))
    selected = {new: col(old) for old, new in zip(columns, names, strict=True)}
    meta = pane_columns(windowed.start, end, end - 1 if at_end else col(EVENT_TIME), time)
    selected |= meta
    meta_types = pane_meta_types()
    if has_span:
        selected[SPAN] = col(SPAN)
        meta_types[SPAN] = META_TYPES[SPAN]
    return evolve(flow, frame=Selection(rows, selected), shape=pair, meta=meta_types)


def pane_columns(start: Sql, end: Sql, event_time: Sql, time: Sql) -> Mapping[str, Sql]:
    """Returns the metadata of a window's only pane, in the types and the order of ``PANE_META``.

    Points in time are 64-bit integers.
    """
    return {
        EVENT_TIME: event_time,
        START: start,
        END: end,
        CHANGE: sql.lit(Change.VALUE.value),
        TIMING: sql.lit(Timing.ON_TIME.value),
        INDEX: sql.long(0),
        IS_FIRST: sql.lit(True),
        IS_LAST: sql.lit(True),
        PANE_TIME: time,
        WATERMARK: sql.long(MAX_TIME),
    }
