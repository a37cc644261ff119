"""Watermark policies and clocks: expressions and the types that both checkers infer; checked, never run."""

# pyright: strict

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from datetime import datetime, timedelta
from typing import assert_type

from flowalg import (
    BoundedOutOfOrderness,
    ClockSummary,
    ClockView,
    CustomPolicy,
    EventTime,
    FittedLag,
    IngressTime,
    LagDistribution,
    LagQuantile,
    MonotonicTimestamps,
    Observation,
    Perfect,
    ProcessingTime,
    ProcessingTimeLag,
    Publication,
    SourceClock,
    Timeout,
    WatermarkPolicy,
)
from flowalg.data.time import Micros
from flowalg.watermarks import (
    EventTimeCounts,
    PartitionClock,
    PublishedWatermarks,
    ReachedTimes,
    RecentLags,
    RecentMoments,
)

SECOND = timedelta(seconds=1)


def constructors() -> None:
    """The constructors of policies; all take the same options."""
    assert_type(Perfect(), Perfect)
    assert_type(Perfect(partitions={"east", "west"}), Perfect)
    assert_type(MonotonicTimestamps(idle_after=SECOND), MonotonicTimestamps)
    assert_type(BoundedOutOfOrderness(SECOND, idle_after=SECOND, max_ahead=SECOND), BoundedOutOfOrderness)
    assert_type(Timeout(SECOND, percentiles=(0.9, 0.99)), Timeout)
    assert_type(ProcessingTimeLag(SECOND, lag_percentiles=(0.9,)), ProcessingTimeLag)
    assert_type(FittedLag(0.99), FittedLag)
    assert_type(FittedLag(0.99, LagDistribution.LOG_NORMAL), FittedLag)
    assert_type(LagQuantile(0.99, recent=SECOND, resolution=SECOND), LagQuantile)
    assert_type(IngressTime(), IngressTime)
    assert_type(CustomPolicy("mine", lambda view: view.reached), CustomPolicy)
    assert_type(CustomPolicy("mine", lambda view: view.processing_time - SECOND), CustomPolicy)


def every_policy(
    policy: WatermarkPolicy,
    clock: SourceClock,
    observation: Observation,
    event: EventTime,
    now: ProcessingTime,
) -> None:
    """The methods of every policy."""
    assert_type(policy.start(), SourceClock)
    assert_type(policy.summarize([observation]), ClockSummary)
    assert_type(policy.summarize((), source_watermark=event, ended=True), ClockSummary)
    assert_type(policy.summarize((), publications=[Publication("east", event, now)]), ClockSummary)
    assert_type(policy.awaited_partitions(clock), frozenset[str])
    assert_type(policy.idle_at(clock), ProcessingTime | None)
    assert_type(policy.is_idle(clock), bool)
    assert_type(policy.partitions, Set[str])
    assert_type(policy.advance(clock, policy.summarize([]), now), SourceClock)
    assert_type(policy.candidate(clock), int | None)
    assert_type(policy.by_clock, bool)
    assert_type(policy.follows_clock, bool)
    assert_type(policy.keeps_lags, bool)
    assert_type(policy.keeps_moments, bool)
    assert_type(policy.observes_lags, bool)
    assert_type(policy.observes_event_times, bool)
    assert_type(policy.reached_delay, Micros | None)
    assert_type(policy.description, str)
    assert_type(policy.idle_after, timedelta | None)
    assert_type(policy.idle_micros, Micros | None)
    assert_type(policy.max_ahead, timedelta | None)
    assert_type(policy.max_ahead_micros, Micros | None)
    assert_type(policy.percentiles, tuple[float, ...])
    assert_type(policy.lag_percentiles, tuple[float, ...])
    assert_type(policy.recent, timedelta)
    assert_type(policy.recent_micros, Micros)
    assert_type(policy.resolution, timedelta)
    assert_type(policy.resolution_micros, Micros)


def perfect(policy: Perfect, clock: SourceClock) -> None:
    """``Perfect``."""
    assert_type(policy.by_clock, bool)
    assert_type(policy.candidate(clock), EventTime | None)
    assert_type(policy.description, str)


def monotone(policy: MonotonicTimestamps, clock: SourceClock) -> None:
    """``MonotonicTimestamps``."""
    assert_type(policy.by_clock, bool)
    assert_type(policy.candidate(clock), EventTime | None)
    assert_type(policy.description, str)


def bounded(policy: BoundedOutOfOrderness, clock: SourceClock) -> None:
    """``BoundedOutOfOrderness``."""
    assert_type(policy.by_clock, bool)
    assert_type(policy.delay, timedelta)
    assert_type(policy.delay_micros, Micros)
    assert_type(policy.candidate(clock), int | None)
    assert_type(policy.description, str)


def timeout(policy: Timeout, clock: SourceClock) -> None:
    """``Timeout``."""
    assert_type(policy.delay, timedelta)
    assert_type(policy.reached_delay, Micros)
    assert_type(policy.candidate(clock), EventTime | None)
    assert_type(policy.description, str)


def processing_time_lag(policy: ProcessingTimeLag, clock: SourceClock) -> None:
    """``ProcessingTimeLag``."""
    assert_type(policy.delay, timedelta)
    assert_type(policy.candidate(clock), int)
    assert_type(policy.description, str)


def fitted(policy: FittedLag, clock: SourceClock) -> None:
    """``FittedLag``."""
    assert_type(policy.q, float)
    assert_type(policy.distribution, LagDistribution)
    assert_type(policy.keeps_moments, bool)
    assert_type(policy.candidate(clock), int | None)
    assert_type(policy.description, str)


def quantile(policy: LagQuantile, clock: SourceClock) -> None:
    """``LagQuantile``."""
    assert_type(policy.q, float)
    assert_type(policy.keeps_lags, bool)
    assert_type(policy.candidate(clock), int | None)
    assert_type(policy.description, str)


def publications(publication: Publication) -> None:
    """A watermark that a source publishes."""
    assert_type(publication.partition, str)
    assert_type(publication.watermark, EventTime)
    assert_type(publication.processing_time, ProcessingTime)


def distributions(distribution: LagDistribution) -> None:
    """``LagDistribution``."""
    assert_type(distribution.quantile(1.0, 2.0, 0.5), float)


def ingress(policy: IngressTime, clock: SourceClock) -> None:
    """``IngressTime``."""
    assert_type(policy.candidate(clock), int)
    assert_type(policy.description, str)


def user_defined(policy: CustomPolicy, clock: SourceClock) -> None:
    """``CustomPolicy``."""
    assert_type(policy.name, str)
    assert_type(policy.watermark_of, Callable[[ClockView], datetime | None])
    assert_type(policy.keeps_lags, bool)
    assert_type(policy.candidate(clock), EventTime | None)
    assert_type(policy.view(clock), ClockView)
    assert_type(policy.description, str)


def views(view: ClockView) -> None:
    """The view of the clock that a user-defined function receives."""
    assert_type(view.processing_time, datetime)
    assert_type(view.watermark, datetime)
    assert_type(view.reached, datetime | None)
    assert_type(view.source_watermark, datetime | None)
    assert_type(view.partitions, Mapping[str, datetime])
    assert_type(view.idle, frozenset[str])
    assert_type(view.lag(0.9), timedelta | None)


def clocks(clock: SourceClock, report: ClockSummary, now: ProcessingTime) -> None:
    """The state of a policy."""
    assert_type(clock.watermark, EventTime)
    assert_type(clock.processing_time, ProcessingTime)
    assert_type(clock.partitions, Mapping[str, PartitionClock])
    assert_type(clock.source_watermark, EventTime | None)
    assert_type(clock.lags, RecentLags)
    assert_type(clock.percentiles, Mapping[float, EventTime])
    assert_type(clock.moments, RecentMoments)
    assert_type(clock.disorder, RecentLags)
    assert_type(clock.reached_times, Mapping[str, ReachedTimes])
    assert_type(clock.observe(report, now), SourceClock)
    assert_type(clock.reached_in_time(None), EventTime | None)
    assert_type(clock.idle_partitions(60), frozenset[str])
    assert_type(clock.started, ProcessingTime | None)
    assert_type(clock.idle_at(60), ProcessingTime | None)
    assert_type(clock.last_active, Mapping[str, ProcessingTime])
    assert_type(clock.known(None), EventTime | None)
    assert_type(clock.published, Mapping[str, PublishedWatermarks])
    assert_type(clock.reached(None), EventTime | None)
    assert_type(clock.reached_by_partition(None), dict[str, EventTime])


def reports(report: ClockSummary, observation: Observation, event: EventTime, now: ProcessingTime) -> None:
    """The summary of an instant."""
    assert_type(ClockSummary(), ClockSummary)
    assert_type(report.partitions, Mapping[str, PartitionClock])
    assert_type(report.latest_processing, ProcessingTime | None)
    assert_type(report.latest_event, EventTime | None)
    assert_type(report.source_watermark, EventTime | None)
    assert_type(report.ended, bool)
    assert_type(report.lags, Mapping[Micros, int])
    assert_type(report.event_times, EventTimeCounts)
    assert_type(report.reached, Mapping[str, ReachedTimes])
    assert_type(report.merge(report), ClockSummary)
    assert_type(Observation("east", event, now), Observation)
    assert_type(report.published, Mapping[str, PublishedWatermarks])
    assert_type(Observation("east", event, now, event), Observation)
    assert_type(observation.published, EventTime | None)
    assert_type(observation.partition, str)
    assert_type(observation.event_time, EventTime)
    assert_type(observation.processing_time, ProcessingTime)
