"""Clock reports from the rows of one input partition: of a source by its watermark policy, of a stage by its shards.

Law: ``source_report`` equals ``WatermarkPolicy.report`` of the same observations.
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
    Report,
    SourceReport,
    StageReport,
    Upstream,
    merge_reports,
)
from flowalg_shard.tables.columns import (
    ENDED,
    EVENT_TIME,
    OBSERVED_TIME,
    PARTITION,
    PROCESSING_TIME,
    REPORT,
    SIGNAL,
    UPSTREAM,
)


def reports_of(upstreams: Sequence[Upstream], rows: pl.DataFrame) -> dict[int, Report]:
    """The reports of some rows, by the number of the upstream; rows of several upstreams have ``UPSTREAM``."""
    if rows.is_empty():
        return {}
    if len(upstreams) == 1:
        parts = {0: rows}
    else:
        parts = {int(number): part for (number,), part in rows.partition_by(UPSTREAM, as_dict=True).items()}
    reports = {number: _report(upstreams[number], part) for number, part in parts.items()}
    return {number: report for number, report in reports.items() if report is not None}


def _report(upstream: Upstream, rows: pl.DataFrame) -> Report | None:
    match upstream:
        case FromSource(policy=policy):
            return source_report(policy, rows)
        case FromStage():
            return stage_report(rows)
    assert_never(upstream)


def stage_report(rows: pl.DataFrame) -> StageReport | None:
    """The reports in rows of a stage as one; ``None`` if there is none."""
    reports = [
        pickle.loads(packed) for packed in rows[REPORT].drop_nulls().to_list()
    ]  # trusted: written by a stage
    merged = merge_reports([{0: report} for report in reports]).get(0)
    assert merged is None or isinstance(merged, StageReport)
    return merged


def source_report(policy: WatermarkPolicy, rows: pl.DataFrame) -> SourceReport:
    """The report of rows of a source, including those that a filter has dropped and those that are not elements.

    A row is a record if it has an event time: ``OBSERVED_TIME`` if there is that column, else ``EVENT_TIME``.
    """
    event_time = pl.col(OBSERVED_TIME if OBSERVED_TIME in rows.columns else EVENT_TIME)
    by = [PARTITION] if PARTITION in rows.columns else []
    signals = rows[SIGNAL].drop_nulls().unique().to_list() if SIGNAL in rows.columns else []
    latest = rows[PROCESSING_TIME].max()
    assert latest is None or isinstance(latest, int)
    records = rows.select(*by, event_time.alias("event"), pl.col(PROCESSING_TIME).alias("processing"))
    records = records.filter(pl.col("event").is_not_null())
    elements = records.height
    ahead = policy.max_ahead_micros
    if ahead is not None:
        records = records.filter(pl.col("event") - pl.col("processing") <= ahead)
    most = [pl.col("event").max(), pl.col("processing").max()]
    furthest = records.group_by(by).agg(most) if by else records.select(pl.lit("").alias(PARTITION), *most)
    partitions = {
        name: PartitionClock(EventTime(event), ProcessingTime(time))
        for name, event, time in furthest.iter_rows()
        if event is not None
    }
    lags = _lags(records, policy.resolution_micros) if policy.keeps_lags else {}
    clock = ClockSummary(
        partitions,
        None if latest is None else ProcessingTime(latest),
        ended=ENDED in rows.columns and bool(rows[ENDED].any()),
        lags=lags,
    )
    return SourceReport(clock, frozenset(signals), elements)


def _lags(records: pl.DataFrame, resolution: Micros) -> dict[Micros, int]:
    """The number of records by lag. Lags are rounded up to multiples of the resolution before they are counted."""
    lag = (pl.col("processing") - pl.col("event")).clip(lower_bound=0)
    whole = -(-lag).floordiv(resolution) * resolution
    lags: dict[Micros, int] = {}
    for exact, count in records.group_by(whole.alias("lag")).agg(pl.len()).iter_rows():
        rounded = lag_of(EventTime(0), ProcessingTime(exact), resolution)
        lags[rounded] = lags.get(rounded, 0) + count
    return lags


__all__ = ["reports_of", "source_report", "stage_report"]
