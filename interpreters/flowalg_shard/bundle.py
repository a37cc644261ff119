"""What one input partition of a batch says: its elements pre-combined per key and window, and its clock report."""

from __future__ import annotations

import polars as pl

from flowalg.assignment import FixedWindows, GlobalWindows, WindowFn
from flowalg.errors import UnsupportedError
from flowalg.time import MAX_TIME, MIN_TIME, EventTime, ProcessingTime
from flowalg.watermarks import ClockReport, PartitionClock
from flowalg_shard.aggregates import check_ordered, combine, lifted
from flowalg_shard.stage import END, ENDED, EVENT_TIME, KEEP, PROCESSING_TIME, SHARD, START, Stage

COUNT = "__count"


def report_of(rows: pl.DataFrame) -> ClockReport:
    """The clock report of rows as they come from the source, those that a filter has dropped included."""
    latest = rows.select(
        pl.col(EVENT_TIME).max(), pl.col(PROCESSING_TIME).max(), pl.col(ENDED).any().alias(ENDED)
    ).row(0)
    return clock_report(latest[0], latest[1], ended=bool(latest[2]))


def clock_report(latest_event: int | None, latest_processing: int | None, *, ended: bool) -> ClockReport:
    """The report of a source of one partition, in which every event time counts."""
    seen = None if latest_processing is None else ProcessingTime(latest_processing)
    if latest_event is None:
        return ClockReport(latest_processing=seen, ended=ended)
    clock = PartitionClock(EventTime(latest_event), ProcessingTime(MIN_TIME) if seen is None else seen)
    return ClockReport({"": clock}, seen, ended=ended)


def precombine(stage: Stage, rows: pl.DataFrame) -> pl.DataFrame:
    """One row per shard, key and window: the accumulators of the rows' elements, and how many they are.

    ``rows`` has the stage's key and argument columns, the shard, the event time, and ``KEEP``. Law: what is
    pre-combined per partition and merged later equals what is combined at once.
    """
    elements = rows.filter(pl.col(KEEP))
    if elements.is_empty():
        return pl.DataFrame()
    check_ordered(elements, stage.aggregates, stage.label)
    assigned = elements.select(
        SHARD,
        *stage.keys,
        *window_bounds(stage.strategy.windows),
        *(one for column in stage.aggregates for one in lifted(column)),
    )
    group = [SHARD, *stage.keys, START, END]
    return combine(assigned, group, stage.aggregates, [pl.len().cast(pl.Int64).alias(COUNT)], stage.label)


def window_bounds(windows: WindowFn) -> list[pl.Expr]:
    """The window of each event time, as two columns."""
    match windows:
        case GlobalWindows():
            return [pl.lit(MIN_TIME, pl.Int64).alias(START), pl.lit(MAX_TIME, pl.Int64).alias(END)]
        case FixedWindows():
            size, offset = windows.size_micros, windows.offset_micros
            point = pl.col(EVENT_TIME)
            start = point - (point - offset).mod(size)
            return [
                start.clip(MIN_TIME, MAX_TIME).alias(START),
                (start + size).clip(MIN_TIME, MAX_TIME).alias(END),
            ]
        case _:
            raise UnsupportedError(f"{windows} have no columns")


__all__ = ["COUNT", "clock_report", "precombine", "report_of", "window_bounds"]
