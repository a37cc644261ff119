"""The state machine of a watermark policy; a subclass only computes a candidate for the watermark."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Set
from datetime import timedelta
from typing import final

from attrs import evolve, field, frozen

from flowalg.data.errors import ArgumentError
from flowalg.data.time import MAX_TIME, MIN_TIME, EventTime, Micros, ProcessingTime
from flowalg.watermarks.clock import SourceClock
from flowalg.watermarks.lags import lag_of
from flowalg.watermarks.mappings import later
from flowalg.watermarks.options import (
    NAMES,
    QUANTILES,
    are_names,
    are_quantiles,
    duration_validator,
    predicate_validator,
)
from flowalg.watermarks.reached import ReachedTimes
from flowalg.watermarks.summaries import (
    ClockSummary,
    Observation,
    PartitionClock,
    Publication,
    PublishedWatermarks,
)
from flowalg.watermarks.timestamps import EventTimeCounts
from flowalg.windows.window import clamp


def _frozen_set(names: Set[str]) -> Set[str]:
    # Other values are rejected by the validator.
    return frozenset(names) if isinstance(names, Set) else names


def _require_distinct(policy: WatermarkPolicy, _: object, lag_percentiles: tuple[float, ...]) -> None:
    if set(lag_percentiles) & set(policy.percentiles):
        valid = f"quantiles that are not in percentiles, which has {policy.percentiles}"
        raise ArgumentError(f"{type(policy).__name__}.lag_percentiles", lag_percentiles, valid)


@frozen
class WatermarkPolicy(ABC):
    """Generates the watermark of a source: a value and a pure state machine (SEMANTICS section 9).

    ``start`` returns the state before the first instant. ``summarize`` summarizes the records of an instant, and
    ``advance`` returns the state after it. A user-defined policy is a frozen subclass with one pure method,
    ``candidate``. ``flowalg_laws.check_watermark_policy`` checks these laws: for any candidates, watermarks never
    move back; a source that has ended has the watermark ``MAX_TIME``; and the summary of records equals the merged
    summaries of their parts.

    All policies have these keyword options:

    - ``idle_after``: a partition without records for this long no longer holds back the watermark. It holds it back
      again when it has records again; the watermark does not return. Policies that do not depend on partitions ignore
      it.
    - ``max_ahead``: a record whose event time is further ahead of its processing time than this does not affect the
      clocks, except for the processing time. So a single wrong timestamp cannot make all other records late.
    - ``percentiles``: the quantiles ``q`` of the percentile watermarks that ``AtWatermark(percentile=q)`` uses. All
      but the slowest ``1 - q`` of the recent records would have been in time for such a watermark: it is the event time
      that all partitions have reached, minus the q-quantile of how far recent records were behind it, rounded up: in a
      source in order it may be one ``resolution`` behind. It stands still when the source does, is never behind the
      watermark, and never moves back (MillWheel, section 7.2).
    - ``lag_percentiles``: the same by the clock: the processing time minus the q-quantile of the recent lags. They
      advance while the source is silent. No quantile may be in both.
    - ``recent``: the period over which records count for quantiles; ``resolution``: the multiple to which durations are
      rounded up (see ``RecentLags``).

    - ``partitions``: the names of partitions from which a record or a published watermark must have come before there
      is any watermark. ``why_not`` names those that have sent nothing. Further partitions may appear.

    Raises ``ArgumentError`` for options out of range.
    """

    idle_after: timedelta | None = field(
        default=None, kw_only=True, validator=duration_validator(allow_zero=False, optional=True)
    )
    max_ahead: timedelta | None = field(
        default=None, kw_only=True, validator=duration_validator(allow_zero=True, optional=True)
    )
    percentiles: tuple[float, ...] = field(
        default=(), kw_only=True, validator=predicate_validator(are_quantiles, QUANTILES)
    )
    lag_percentiles: tuple[float, ...] = field(
        default=(),
        kw_only=True,
        validator=[predicate_validator(are_quantiles, QUANTILES), _require_distinct],
    )
    recent: timedelta = field(
        default=timedelta(hours=1), kw_only=True, validator=duration_validator(allow_zero=False)
    )
    resolution: timedelta = field(
        default=timedelta(seconds=1), kw_only=True, validator=duration_validator(allow_zero=False)
    )

    partitions: Set[str] = field(
        default=frozenset(),
        kw_only=True,
        converter=_frozen_set,
        validator=predicate_validator(are_names, NAMES),
    )

    @abstractmethod
    def candidate(self, clock: SourceClock) -> int | None:
        """Returns a watermark in microseconds of event time, or ``None`` to leave it unchanged.

        ``clock`` includes the instant, but has the watermarks before it. The watermark never moves back and stays
        within the bounds of time, whatever this method returns.
        """

    @property
    def by_clock(self) -> bool:
        """Whether ``candidate`` depends on the processing time of the instant; unless a policy says otherwise."""
        return True

    @property
    def follows_clock(self) -> bool:
        """Whether the watermark may advance in instants without records, or a partition or the source become idle."""
        return self.by_clock or self.idle_after is not None or bool(self.lag_percentiles)

    @property
    def keeps_lags(self) -> bool:
        """Whether the clock keeps a histogram of recent lags."""
        return bool(self.lag_percentiles)

    @property
    def keeps_moments(self) -> bool:
        """Whether the clock keeps the moments of recent lags."""
        return False

    @property
    def reached_delay(self) -> Micros | None:
        """The delay for which the clock keeps the event times that were reached; ``None`` if it does not."""
        return None

    @property
    def observes_lags(self) -> bool:
        """Whether summaries must contain lags."""
        return self.keeps_lags or self.keeps_moments

    @property
    def observes_event_times(self) -> bool:
        """Whether summaries must contain the event times of all records."""
        return bool(self.percentiles)

    @property
    def description(self) -> str:
        """Describes the watermark without the options, which ``str`` adds."""
        return type(self).__name__

    @property
    def idle_micros(self) -> Micros | None:
        """``idle_after`` in microseconds."""
        return None if self.idle_after is None else self.idle_after // timedelta(microseconds=1)

    @property
    def max_ahead_micros(self) -> Micros | None:
        """``max_ahead`` in microseconds."""
        return None if self.max_ahead is None else self.max_ahead // timedelta(microseconds=1)

    @property
    def recent_micros(self) -> Micros:
        """``recent`` in microseconds."""
        return self.recent // timedelta(microseconds=1)

    @property
    def resolution_micros(self) -> Micros:
        """``resolution`` in microseconds."""
        return self.resolution // timedelta(microseconds=1)

    @final
    def summarize(
        self,
        observations: Iterable[Observation],
        *,
        publications: Iterable[Publication] = (),
        source_watermark: EventTime | None = None,
        ended: bool = False,
    ) -> ClockSummary:
        """Summarizes records and published watermarks.

        Law: the summary of all equals the merged summaries of any parts.
        """
        ahead, resolution, delay = self.max_ahead_micros, self.resolution_micros, self.reached_delay
        partitions: dict[str, PartitionClock] = {}
        lags: dict[Micros, int] = {}
        units: dict[int, int] = {}
        reached: dict[str, ReachedTimes] = {}
        published: dict[str, PublishedWatermarks] = {}
        latest: ProcessingTime | None = None

        def publish(partition: str, watermark: EventTime, time: ProcessingTime) -> None:
            one = PublishedWatermarks(watermark, watermark, time)
            published[partition] = published[partition].merge(one) if partition in published else one

        for publication in publications:
            latest = later(latest, publication.processing_time)
            publish(publication.partition, publication.watermark, publication.processing_time)
        for observation in observations:
            event, arrival = observation.event_time, observation.processing_time
            latest = later(latest, arrival)
            if observation.published is not None:
                publish(observation.partition, observation.published, arrival)
            if ahead is not None and event - arrival > ahead:
                continue
            name, clock = observation.partition, PartitionClock(event, arrival)
            partitions[name] = partitions[name].merge(clock) if name in partitions else clock
            if self.observes_lags:
                lag = lag_of(event, arrival, resolution)
                lags[lag] = lags.get(lag, 0) + 1
            if self.observes_event_times:
                units[event // resolution] = units.get(event // resolution, 0) + 1
            if delay is not None:
                times = ReachedTimes.of(event, arrival, delay)
                reached[name] = reached[name].merge(times) if name in reached else times
        event_times = EventTimeCounts.of_units(units)
        return ClockSummary(
            partitions, latest, source_watermark, ended, lags, event_times, reached, published
        )

    @final
    def start(self) -> SourceClock:
        """Returns the state before the first instant."""
        return SourceClock(percentiles=dict.fromkeys((*self.percentiles, *self.lag_percentiles), MIN_TIME))

    @final
    def advance(
        self, clock: SourceClock, summary: ClockSummary, processing_time: ProcessingTime
    ) -> SourceClock:
        """Returns the state after an instant. A source that has ended stays ended."""
        observed = self._learn(clock, clock.observe(summary, processing_time), summary)
        ended = summary.ended or clock.watermark == MAX_TIME
        believed = not self.awaited_partitions(observed)
        candidate = MAX_TIME if ended else self.candidate(observed) if believed else None
        if candidate is not None and not isinstance(candidate, int):
            valid = "an int, the microseconds since the epoch, or None"
            raise ArgumentError(f"the candidate of {type(self).__name__}", candidate, valid)
        watermark = clock.watermark if candidate is None else max(clock.watermark, clamp(candidate))
        percentiles = {
            q: max(watermark, clock.percentiles.get(q, MIN_TIME), percentile)
            for q, percentile in self._percentile_candidates(observed)
        }
        return evolve(observed, watermark=watermark, percentiles=percentiles)

    def awaited_partitions(self, clock: SourceClock) -> frozenset[str]:
        """Returns the declared partitions that have sent neither a record nor a watermark."""
        return frozenset(self.partitions) - clock.last_active.keys() if self.partitions else frozenset()

    def idle_at(self, clock: SourceClock) -> ProcessingTime | None:
        """Returns when the source becomes idle if nothing more comes from it; ``None`` if it does not.

        While a declared partition is awaited, the source is not idle.
        """
        return None if self.awaited_partitions(clock) else clock.idle_at(self.idle_micros)

    def is_idle(self, clock: SourceClock) -> bool:
        """Returns whether other sources do not wait for this one."""
        time = self.idle_at(clock)
        return time is not None and time <= clock.processing_time

    def _learn(self, before: SourceClock, observed: SourceClock, summary: ClockSummary) -> SourceClock:
        """Returns the clock with the durations that this policy derives its watermarks from."""
        now, recent, resolution = observed.processing_time, self.recent_micros, self.resolution_micros
        if self.keeps_lags:
            observed = evolve(observed, lags=observed.lags.absorb(summary.lags, now, recent))
        if self.keeps_moments:
            observed = evolve(observed, moments=observed.moments.absorb(summary.lags, now, recent))
        if self.observes_event_times:
            # Records of one instant are observed together, so none of them is late because of another.
            reached = before.reached(self.idle_micros)
            behind: dict[Micros, int] = {}
            for event, count in summary.event_times.rounded(resolution):
                by = 0 if reached is None else lag_of(event, ProcessingTime(reached), resolution)
                behind[by] = behind.get(by, 0) + count
            observed = evolve(observed, disorder=observed.disorder.absorb(behind, now, recent))
        return observed

    def _percentile_candidates(self, clock: SourceClock) -> Iterator[tuple[float, EventTime]]:
        for quantiles, since, durations in (
            (self.percentiles, clock.reached(self.idle_micros), clock.disorder),
            (self.lag_percentiles, clock.processing_time, clock.lags),
        ):
            for q in quantiles:
                duration = durations.quantile(q)
                if since is None or duration is None or self.awaited_partitions(clock):
                    yield q, MIN_TIME
                else:
                    yield q, clamp(since - duration)

    def __str__(self) -> str:
        options = [
            "" if self.idle_after is None else f", ignoring partitions that are idle for {self.idle_after}",
            "" if self.max_ahead is None else f", ignoring event times more than {self.max_ahead} ahead",
            f", with percentiles {', '.join(map(str, self.percentiles))}" if self.percentiles else "",
            f", with percentiles {', '.join(map(str, self.lag_percentiles))} of the lags"
            if self.lag_percentiles
            else "",
            f", once the partitions {', '.join(sorted(self.partitions))} have sent something"
            if self.partitions
            else "",
        ]
        return self.description + "".join(options)
