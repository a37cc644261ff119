"""What one input partition of a batch says: its elements pre-combined per key and window, and its clock report."""

from __future__ import annotations

import polars as pl

from flowalg.assignment import Sessions
from flowalg.time import MIN_TIME, EventTime, ProcessingTime
from flowalg.watermarks import ClockReport, PartitionClock
from flowalg_shard.columns import (
    COUNT,
    ENDED,
    EVENT_TIME,
    KEEP,
    NEW,
    POINT,
    PROCESSING_TIME,
    SHARD,
    WEIGHT,
)
from flowalg_shard.contents import contents_of
from flowalg_shard.seen import COUNT as SEEN_COUNT
from flowalg_shard.seen import SINCE
from flowalg_shard.stage import Stage
from flowalg_shard.windows import placed


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
    """One row per shard, key and window: the contents of the rows' elements, what triggers see, and how many they are.

    ``rows`` has the stage's key columns, the shard, the event time and ``KEEP``; the argument columns of its
    aggregates, or ``VALUE`` with pickled values for a combiner of objects, and then ``ARRIVAL`` where the order of the
    rows is not that of arrival. Where retractions come it has ``WEIGHT``, for each leaf of the trigger that looks at
    values ``NEW`` and its name (``seen_in``), and ``START`` and ``END`` where elements bring their windows. Law:
    what is pre-combined per partition and merged later equals what is combined at once.
    """
    elements = rows.filter(pl.col(KEEP))
    if elements.is_empty():
        return pl.DataFrame()
    contents, fields = contents_of(stage), stage.automaton.fields.of_elements
    place = [SHARD, *stage.place]
    if stage.fresh and not stage.by_row:
        elements = placed(stage.strategy.windows, elements)
    given = pl.col(WEIGHT) > 0 if stage.retractions else pl.lit(True)
    seen = [pl.col(NEW + name) for name, _ in fields.data]
    if fields.counts:
        seen.append(given.cast(pl.Int64()).alias(NEW + SEEN_COUNT))
    if points_matter(stage):
        seen.append(pl.col(EVENT_TIME).alias(POINT))
        place.append(POINT)
    assigned = elements.select(*(name for name in place if name != POINT), *contents.lifted(elements), *seen)
    if assigned.is_empty():
        return pl.DataFrame()
    counted = [pl.len().cast(pl.Int64()).alias(COUNT), *summary_of_group(stage)]
    return contents.precombined(assigned, place, counted)


def points_matter(stage: Stage) -> bool:
    """Whether a bundle must tell apart the event times of one window: where what is closed is told by them.

    A session starts with its element.
    """
    return stage.merging is not None and not isinstance(stage.merging, Sessions)


def summary_of_group(stage: Stage) -> list[pl.Expr]:
    """What triggers see of all rows of a group; since when is the same for all that comes in an instant."""
    fields = stage.automaton.fields.of_elements
    return [expr for expr in fields.summed(NEW) if expr.meta.output_name() != NEW + SINCE]


__all__ = ["clock_report", "points_matter", "precombine", "report_of", "summary_of_group"]
