"""Clock reports from the rows of one input partition: of a source by its watermark policy, of a stage by its shards.

Law: ``source_report`` equals ``WatermarkPolicy.report`` of the same observations.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence, Set
from typing import Final, assert_never

import polars as pl

from flowalg.data.errors import ElementError
from flowalg.data.record_messages import arrival_message
from flowalg.data.time import MAX_TIME, MIN_TIME, EventTime, Micros, ProcessingTime
from flowalg.runs.signals import AnySignal
from flowalg.watermarks import ClockSummary, Publication, WatermarkPolicy
from flowalg.watermarks.lags import lag_of
from flowalg.watermarks.mappings import later, merge_mappings
from flowalg.watermarks.reached import ReachedTimes, step_width
from flowalg.watermarks.summaries import PartitionClock, PublishedWatermarks
from flowalg.watermarks.timestamps import EventTimeCounts
from flowalg_shard.clocks.exchange import (
    FromSource,
    FromStage,
    Report,
    SourceReport,
    StageReport,
    UntimedReport,
    Upstream,
    merge_reports,
)
from flowalg_shard.clocks.signals import signal_of
from flowalg_shard.tables.columns import (
    ENDED,
    EVENT_TIME,
    OBSERVED_TIME,
    PARTITION,
    PROCESSING_TIME,
    PUBLISHED,
    REPORT,
    SIGNAL,
    SIGNAL_END,
    SIGNAL_KEY,
    SIGNAL_START,
    UPSTREAM,
)


def reports_of(upstreams: Sequence[Upstream], rows: pl.DataFrame) -> dict[int, Report | UntimedReport]:
    """Returns the reports of some rows, by the number of the upstream; rows of several upstreams have ``UPSTREAM``.

    The reports of sources are untimed if the rows have no ``PROCESSING_TIME``.
    """
    if rows.is_empty():
        return {}
    if len(upstreams) == 1:
        parts = {0: rows}
    else:
        parts = {int(number): part for (number,), part in rows.partition_by(UPSTREAM, as_dict=True).items()}
    reports = {number: _report(upstreams[number], part) for number, part in parts.items()}
    return {number: report for number, report in reports.items() if report is not None}


def _report(upstream: Upstream, rows: pl.DataFrame) -> Report | UntimedReport | None:
    match upstream:
        case FromSource(policy=policy, name=name) if PROCESSING_TIME in rows.columns:
            return source_report(policy, rows, name)
        case FromSource():
            return untimed_report(rows)
        case FromStage():
            return stage_report(rows)
    assert_never(upstream)


def stage_report(rows: pl.DataFrame) -> StageReport | None:
    """Returns the reports in rows of a stage as one; ``None`` if there is none."""
    reports = [
        pickle.loads(packed) for packed in rows[REPORT].drop_nulls().to_list()
    ]  # trusted: written by a stage
    merged = merge_reports([{0: report} for report in reports]).get(0)
    assert merged is None or isinstance(merged, StageReport)
    return merged


def source_report(policy: WatermarkPolicy, rows: pl.DataFrame, source: str = "") -> SourceReport:
    """Returns the report of rows of a source, including those that a filter has dropped and those that are not
    elements.

    A row is a record if it has an event time: ``OBSERVED_TIME`` if there is that column, else ``EVENT_TIME``. Raises
    ``ElementError`` if all records of a partition have no processing time, or a published watermark has none, and for
    one that is out of range.
    """
    event_time = _record_time(rows)
    is_record = pl.col(event_time).is_not_null()
    columns = frozenset(rows.columns)
    seen = observation(policy, rows.lazy().filter(is_record), event_time, columns=columns).collect()
    require_times(source, seen)
    latest = rows[PROCESSING_TIME].max()
    _require_in_range(source, rows[PROCESSING_TIME])
    assert latest is None or isinstance(latest, int)
    publications = _publications(source, rows.filter(~is_record)) if PUBLISHED in columns else ()
    control = policy.summarize((), publications=publications, ended=_has_ended(rows))
    control = control.merge(ClockSummary({}, None if latest is None else ProcessingTime(latest)))
    report = observed_report(policy, seen)
    return SourceReport(report.clock.merge(control), _signals(rows), report.elements, report.horizon)


def require_times(source: str, seen: pl.DataFrame) -> None:
    """Raises ``ElementError`` if what was observed of some partition of a source has no valid processing time."""
    times = seen[LATEST_PROCESSING].filter(seen[OBSERVED_COUNT] > 0)
    if times.null_count():
        raise _no_time(source, "all elements of a partition in a micro-batch")
    _require_in_range(source, times)


def _no_time(source: str, where: str) -> ElementError:
    return ElementError(
        f"source {source!r}: StreamInput.processing_time must not be null in {where}; got null"
    )


def _require_in_range(source: str, times: pl.Series) -> None:
    for time in (times.min(), times.max()):
        if isinstance(time, int) and not MIN_TIME <= time <= MAX_TIME:
            raise ElementError(f"{arrival_message(source)}{time}")


def untimed_report(rows: pl.DataFrame) -> UntimedReport:
    """Returns the report of rows of a source that are all at the time of their micro-batch.

    Law: at that time it equals ``source_report``, unless ``FromSource.observes_times``.
    """
    event_time = _record_time(rows)
    partition = pl.col(PARTITION) if PARTITION in rows.columns else pl.lit("").alias(PARTITION)
    latest = rows.lazy().group_by(partition).agg(pl.col(event_time).max()).drop_nulls(event_time).collect()
    latest_events = {name: EventTime(event) for name, event in latest.iter_rows()}
    return UntimedReport(latest_events, _has_ended(rows), _signals(rows), rows[event_time].count())


def _record_time(rows: pl.DataFrame) -> str:
    return OBSERVED_TIME if OBSERVED_TIME in rows.columns else EVENT_TIME


def _has_ended(rows: pl.DataFrame) -> bool:
    return ENDED in rows.columns and bool(rows[ENDED].any())


def _signals(rows: pl.DataFrame) -> frozenset[AnySignal]:
    if SIGNAL not in rows.columns:
        return frozenset()
    columns = [
        name if name in rows.columns else pl.lit(None).alias(name)
        for name in (SIGNAL, SIGNAL_KEY, SIGNAL_START, SIGNAL_END)
    ]
    signals = rows.filter(pl.col(SIGNAL).is_not_null()).select(columns).unique()
    return frozenset(signal_of(*row) for row in signals.iter_rows())


def _publications(source: str, rows: pl.DataFrame) -> Iterator[Publication]:
    """The watermarks on rows that are not records."""
    names = [PARTITION] if PARTITION in rows.columns else []
    for watermark, time, *partition in (
        rows.filter(pl.col(PUBLISHED).is_not_null()).select(PUBLISHED, PROCESSING_TIME, *names).iter_rows()
    ):
        if time is None:
            raise _no_time(source, "a row with a published watermark")
        yield Publication(partition[0] if names else "", EventTime(watermark), ProcessingTime(time))


_TOO_FAR: Final = "too_far"
_LAG: Final = "lag"
_STEP: Final = "step"
_UNIT: Final = "unit"
_EVENT: Final = "event"
LATEST_PROCESSING: Final = "processing"
OBSERVED_COUNT: Final = "count"
_LEAST_PUBLISHED: Final = "least_published"
_TIME_PUBLISHED: Final = "time_published"


def observation(
    policy: WatermarkPolicy, records: pl.LazyFrame, event_time: str = EVENT_TIME, *, columns: Set[str]
) -> pl.LazyFrame:
    """Returns a query for what a policy observes of records: a few rows, which ``observed_report`` reads.

    ``columns`` are the names of their columns: ``PARTITION`` and ``PUBLISHED`` are read if they are there.
    """
    event, processing = pl.col(event_time), pl.col(PROCESSING_TIME)
    group = [pl.col(PARTITION)] if PARTITION in columns else []
    if policy.max_ahead_micros is not None:
        group.append((event - processing > policy.max_ahead_micros).alias(_TOO_FAR))
    if policy.observes_lags:
        lag = (processing - event).clip(lower_bound=0)
        group.append(_rounded_up(lag, policy.resolution_micros).alias(_LAG))
    if policy.observes_event_times:
        group.append(event.floordiv(policy.resolution_micros).alias(_UNIT))
    if policy.reached_delay is not None:
        group.append(_rounded_up(processing, step_width(policy.reached_delay)).alias(_STEP))
    greatest = [
        event.max().alias(_EVENT),
        processing.max().alias(LATEST_PROCESSING),
        pl.len().cast(pl.Int64()).alias(OBSERVED_COUNT),
    ]
    if PUBLISHED in columns:
        published = pl.col(PUBLISHED)
        greatest += [
            published.min().alias(_LEAST_PUBLISHED),
            published.max().alias(PUBLISHED),
            processing.filter(published.is_not_null()).max().alias(_TIME_PUBLISHED),
        ]
    return records.group_by(group).agg(greatest) if group else records.select(greatest)


def _rounded_up(duration: pl.Expr, width: Micros) -> pl.Expr:
    return -(-duration).floordiv(width) * width


def observed_report(policy: WatermarkPolicy, seen: pl.DataFrame) -> SourceReport:
    """Returns the report of the records of an ``observation``."""
    partitions: dict[str, PartitionClock] = {}
    lags: dict[Micros, int] = {}
    units: dict[int, int] = {}
    reached: dict[str, ReachedTimes] = {}
    published: dict[str, PublishedWatermarks] = {}
    latest: ProcessingTime | None = None
    elements, horizon = 0, MIN_TIME
    for row in seen.iter_rows(named=True):
        if not row[OBSERVED_COUNT]:
            continue
        elements += row[OBSERVED_COUNT]
        horizon = max(horizon, EventTime(row[_EVENT] + 1))
        clock = PartitionClock(EventTime(row[_EVENT]), ProcessingTime(row[LATEST_PROCESSING]))
        latest = later(latest, clock.latest_processing)
        name = row.get(PARTITION, "")
        if row.get(PUBLISHED) is not None:
            watermarks = PublishedWatermarks(
                EventTime(row[_LEAST_PUBLISHED]),
                EventTime(row[PUBLISHED]),
                ProcessingTime(row[_TIME_PUBLISHED]),
            )
            published = merge_mappings(published, {name: watermarks}, PublishedWatermarks.merge)
        if row.get(_TOO_FAR):
            continue
        partitions[name] = partitions[name].merge(clock) if name in partitions else clock
        if policy.observes_lags:
            lag = lag_of(EventTime(0), ProcessingTime(row[_LAG]), policy.resolution_micros)
            lags[lag] = lags.get(lag, 0) + row[OBSERVED_COUNT]
        if policy.observes_event_times:
            units[row[_UNIT]] = units.get(row[_UNIT], 0) + row[OBSERVED_COUNT]
        if (delay := policy.reached_delay) is not None:
            step = (ProcessingTime(row[_STEP]), clock.latest_event)
            times = ReachedTimes(delay, clock.latest_processing, (step,))
            reached = merge_mappings(reached, {name: times}, ReachedTimes.merge)
    event_times = EventTimeCounts.of_units(units)
    summary = ClockSummary(
        partitions, latest, lags=lags, event_times=event_times, reached=reached, published=published
    )
    return SourceReport(summary, frozenset(), elements, horizon)
