"""The metadata of a window's only pane: a batch's panes are all first, on time and last."""

from __future__ import annotations

import polars as pl
from flowalg_columns.layout import layout_of, leaf_columns
from flowalg_columns.names import PANE_META, PANE_TIME, WATERMARK
from flowalg_columns.notes import LiftingNote
from flowalg_shard.tables.columns import CHANGE, END, EVENT_TIME, INDEX, IS_FIRST, IS_LAST, START, TIMING

from flowalg.data.metadata import Timing
from flowalg.data.shapes import RecordOf
from flowalg.data.time import MAX_TIME
from flowalg.runs.panes import Change
from flowalg.windows.strategy import TimestampCombiner, WindowingStrategy
from flowalg_polars.batch.flow import Flow
from flowalg_polars.batch.windows import WindowedFlow

EARLIEST = "__earliest_time"
LATEST = "__latest_time"


def time_aggregates(
    windowed: WindowedFlow, strategy: WindowingStrategy, earliest: pl.Expr, latest: pl.Expr
) -> list[pl.Expr]:
    """Returns the aggregates of event times that the bounds of windows and the event times of panes need.

    A group without window columns reads its event times too, so that they are checked.
    """
    carried = strategy.timestamp_combiner
    aggregates = []
    if windowed.island or not windowed.by or carried is TimestampCombiner.LATEST:
        aggregates.append(latest.alias(LATEST))
    if windowed.island or carried is TimestampCombiner.EARLIEST:
        aggregates.append(earliest.alias(EARLIEST))
    return aggregates


def pane_flow(
    notes: tuple[LiftingNote, ...],
    rows: pl.LazyFrame,
    pair: RecordOf,
    columns: tuple[pl.Expr, ...],
    windowed: WindowedFlow,
    strategy: WindowingStrategy,
    time: pl.Expr,
) -> Flow:
    """Returns the panes of a batch, from the rows of groups and the columns of their keys and results."""
    start = pl.col(EARLIEST) if windowed.island else windowed.start
    end = windowed.end if windowed.end_of is None else windowed.end_of(pl.col(LATEST))
    assert end is not None, "a window has an end"
    match strategy.timestamp_combiner:
        case TimestampCombiner.END_OF_WINDOW:
            event_time = end - 1
        case TimestampCombiner.EARLIEST:
            event_time = pl.col(EARLIEST)
        case TimestampCombiner.LATEST:
            event_time = pl.col(LATEST)
    names = leaf_columns(layout_of(pair))
    element = [column.alias(name) for name, column in zip(names, columns, strict=True)]
    return Flow(rows.select(*element, *pane_columns(start, end, event_time, time)), pair, PANE_META, notes)


def pane_columns(start: pl.Expr, end: pl.Expr, event_time: pl.Expr, time: pl.Expr) -> list[pl.Expr]:
    """Returns the metadata of a window's only pane, in the order of ``PANE_META``."""
    columns = {
        EVENT_TIME: event_time,
        START: start,
        END: end,
        CHANGE: pl.lit(Change.VALUE.value),
        TIMING: pl.lit(Timing.ON_TIME.value),
        INDEX: pl.lit(0, pl.Int64()),
        IS_FIRST: pl.lit(True),
        IS_LAST: pl.lit(True),
        PANE_TIME: time,
        WATERMARK: pl.lit(MAX_TIME, pl.Int64()),
    }
    return [columns[name].alias(name) for name in PANE_META]
