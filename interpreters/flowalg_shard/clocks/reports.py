"""What the rows of one input partition say of the clocks: the reports of a policy over columns, and those of stages.

Law: ``source_report`` is what ``WatermarkPolicy.report`` gives for the same observations.
"""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from typing import assert_never

import polars as pl

from flowalg.data.time import EventTime, Micros, ProcessingTime
from flowalg.watermarks import ClockSummary, PartitionClock, WatermarkPolicy
from flowalg.watermarks.lags import lag_of
from flowalg_shard.clocks.exchange import (
    FromSource,
    FromStage,
    Origin,
    Report,
    SourceReport,
    StageReport,
    merged,
)
from flowalg_shard.tables.columns import (
    ENDED,
    EVENT_TIME,
    ORIGIN,
    PARTITION,
    PROCESSING_TIME,
    REPORT,
    SIGHTED,
    SIGNAL,
)


def reports_of(origins: Sequence[Origin], rows: pl.DataFrame) -> dict[int, Report]:
    """What some rows say, by the number of their origin; ``ORIGIN`` is there if there are several."""
    if rows.is_empty():
        return {}
    if len(origins) == 1:
        parts = {0: rows}
    else:
        parts = {int(number): part for (number,), part in rows.partition_by(ORIGIN, as_dict=True).items()}
    found = {number: _report(origins[number], part) for number, part in parts.items()}
    return {number: report for number, report in found.items() if report is not None}


def _report(origin: Origin, rows: pl.DataFrame) -> Report | None:
    match origin:
        case FromSource(policy=policy):
            return source_report(policy, rows)
        case FromStage():
            return stage_report(rows)
    assert_never(origin)


def stage_report(rows: pl.DataFrame) -> StageReport | None:
    """What the shards say whose rows these are; ``None`` if there is a report of none of them."""
    told = [pickle.loads(one) for one in rows[REPORT].drop_nulls().to_list()]  # of our own making
    together = merged([{0: one} for one in told]).get(0)
    assert together is None or isinstance(together, StageReport)
    return together


def source_report(policy: WatermarkPolicy, rows: pl.DataFrame) -> SourceReport:
    """What rows of a source say, those that a filter has dropped and those that are no elements included.

    A row counts as a record if it has an event time: ``SIGHTED`` if there is that column, else ``EVENT_TIME``.
    """
    sighted = pl.col(SIGHTED if SIGHTED in rows.columns else EVENT_TIME)
    by = [PARTITION] if PARTITION in rows.columns else []
    signals = rows[SIGNAL].drop_nulls().unique().to_list() if SIGNAL in rows.columns else []
    latest = rows[PROCESSING_TIME].max()
    assert latest is None or isinstance(latest, int)
    seen = rows.select(*by, sighted.alias("event"), pl.col(PROCESSING_TIME).alias("seen"))
    seen = seen.filter(pl.col("event").is_not_null())
    elements = seen.height
    ahead = policy.max_ahead_micros
    if ahead is not None:
        seen = seen.filter(pl.col("event") - pl.col("seen") <= ahead)
    most = [pl.col("event").max(), pl.col("seen").max()]
    furthest = seen.group_by(by).agg(most) if by else seen.select(pl.lit("").alias(PARTITION), *most)
    partitions = {
        name: PartitionClock(EventTime(event), ProcessingTime(time))
        for name, event, time in furthest.iter_rows()
        if event is not None
    }
    lags = _lags(seen, policy.resolution_micros) if policy.keeps_lags else {}
    clock = ClockSummary(
        partitions,
        None if latest is None else ProcessingTime(latest),
        ended=ENDED in rows.columns and bool(rows[ENDED].any()),
        lags=lags,
    )
    return SourceReport(clock, frozenset(signals), elements)


def _lags(seen: pl.DataFrame, resolution: Micros) -> dict[Micros, int]:
    """How many records have which lag. Lags become whole multiples of the resolution before they are counted."""
    lag = (pl.col("seen") - pl.col("event")).clip(lower_bound=0)
    whole = -(-lag).floordiv(resolution) * resolution
    found: dict[Micros, int] = {}
    for exact, count in seen.group_by(whole.alias("lag")).agg(pl.len()).iter_rows():
        rounded = lag_of(EventTime(0), ProcessingTime(exact), resolution)
        found[rounded] = found.get(rounded, 0) + count
    return found


__all__ = ["reports_of", "source_report", "stage_report"]
