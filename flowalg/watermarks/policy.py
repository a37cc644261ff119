"""The state machine of a watermark policy; a subclass only computes a candidate for the watermark."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from datetime import timedelta
from typing import final

from attrs import evolve, field, frozen

from flowalg.data.errors import ArgumentError
from flowalg.data.time import MAX_TIME, MIN_TIME, EventTime, Micros, ProcessingTime
from flowalg.watermarks.clock import SourceClock
from flowalg.watermarks.lags import lag_of
from flowalg.watermarks.options import QUANTILES, are_quantiles, duration_validator, predicate_validator
from flowalg.watermarks.summaries import ClockSummary, Observation, PartitionClock, later
from flowalg.windows.window import clamp


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
      but the slowest ``1 - q`` of the recent records would have been in time for such a watermark: it is the
      processing time minus the q-quantile of the recent lags, never behind the watermark, and never moves back
      (MillWheel, section 7.2).
    - ``recent``: the period over which lags count; ``resolution``: the multiple to which they are rounded up (see
      ``RecentLags``).

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
    recent: timedelta = field(
        default=timedelta(hours=1), kw_only=True, validator=duration_validator(allow_zero=False)
    )
    resolution: timedelta = field(
        default=timedelta(seconds=1), kw_only=True, validator=duration_validator(allow_zero=False)
    )

    @abstractmethod
    def candidate(self, clock: SourceClock) -> int | None:
        """Returns a watermark in microseconds of event time, or ``None`` to leave it unchanged.

        ``clock`` includes the instant, but has the watermarks before it. The watermark never moves back and stays
        within the bounds of time, whatever this method returns.
        """

    @property
    def keeps_lags(self) -> bool:
        """Whether summaries must contain lags."""
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
        source_watermark: EventTime | None = None,
        ended: bool = False,
    ) -> ClockSummary:
        """Summarizes records. Law: the summary of all equals the merged summaries of any parts."""
        ahead, resolution, keeps_lags = self.max_ahead_micros, self.resolution_micros, self.keeps_lags
        partitions: dict[str, PartitionClock] = {}
        lags: dict[Micros, int] = {}
        latest: ProcessingTime | None = None
        for observation in observations:
            event, arrival = observation.event_time, observation.processing_time
            latest = later(latest, arrival)
            if ahead is not None and event - arrival > ahead:
                continue
            clock = PartitionClock(event, arrival)
            before = partitions.get(observation.partition)
            partitions[observation.partition] = clock if before is None else before.merge(clock)
            if keeps_lags:
                lag = lag_of(event, arrival, resolution)
                lags[lag] = lags.get(lag, 0) + 1
        return ClockSummary(partitions, latest, source_watermark, ended, lags)

    @final
    def start(self) -> SourceClock:
        """Returns the state before the first instant."""
        return SourceClock(percentiles=dict.fromkeys(self.percentiles, MIN_TIME))

    @final
    def advance(
        self, clock: SourceClock, summary: ClockSummary, processing_time: ProcessingTime
    ) -> SourceClock:
        """Returns the state after an instant. A source that has ended stays ended."""
        observed = clock.observe(summary, processing_time, self.recent_micros)
        ended = summary.ended or clock.watermark == MAX_TIME
        candidate = MAX_TIME if ended else self.candidate(observed)
        if candidate is not None and not isinstance(candidate, int):
            valid = "an int, the microseconds since the epoch, or None"
            raise ArgumentError(f"the candidate of {type(self).__name__}", candidate, valid)
        watermark = clock.watermark if candidate is None else max(clock.watermark, clamp(candidate))
        percentiles = {}
        for q in self.percentiles:
            lag = observed.lags.quantile(q)
            percentile = MIN_TIME if lag is None else clamp(observed.processing_time - lag)
            percentiles[q] = max(watermark, clock.percentiles.get(q, MIN_TIME), percentile)
        return evolve(observed, watermark=watermark, percentiles=percentiles)

    def __str__(self) -> str:
        options = [
            "" if self.idle_after is None else f", ignoring partitions that are idle for {self.idle_after}",
            "" if self.max_ahead is None else f", ignoring event times more than {self.max_ahead} ahead",
            f", with percentiles {', '.join(map(str, self.percentiles))}" if self.percentiles else "",
        ]
        return self.description + "".join(options)


__all__ = ["WatermarkPolicy"]
