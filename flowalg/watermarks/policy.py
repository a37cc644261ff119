"""What every watermark policy does, so that a policy of its own has one thing to say: where the watermark could be."""

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
from flowalg.watermarks.options import QUANTILES, are_quantiles, duration, satisfying
from flowalg.watermarks.summaries import ClockSummary, Observation, PartitionClock, later
from flowalg.windows.window import clamp


@frozen
class WatermarkPolicy(ABC):
    """How the watermark of a source is generated: a value, and a pure state machine (SEMANTICS section 9).

    ``start`` is the state before the first instant, and ``advance`` gives the one after an instant from what
    ``report`` says of its records. A policy of its own is a frozen subclass with one pure method, ``candidate``.
    Laws, which ``flowalg_laws.check_watermark_policy`` checks: whatever the candidates are, watermarks never move back,
    those of a source that has ended are ``MAX_TIME``, and reports may be made in parts.

    Every policy takes these options, by keyword:

    - ``idle_after``: a partition whose last record is at least that long ago no longer holds the watermark back.
      It holds again when it has data again; what the watermark has passed in the meantime it has passed.
      Policies that look at no partition have no use for it.
    - ``max_ahead``: a record whose event time is further ahead of its own processing time than this tells the clocks
      nothing but the processing time, so that one bad clock cannot make everything else late.
    - ``percentiles``: the q of each percentile watermark that is wanted, for ``AtWatermark(percentile=q)``. It is where
      all but the slowest ``1 - q`` of the recent records would have been in time: the processing time less the
      q-quantile of the recent lags, never behind the watermark, and never moving back (MillWheel, section 7.2).
    - ``recent``: over what period lags count, and ``resolution``: to what multiple they are rounded up
      (see ``RecentLags``).

    Raises ``ArgumentError`` for options that are out of range.
    """

    idle_after: timedelta | None = field(
        default=None, kw_only=True, validator=duration(allow_zero=False, optional=True)
    )
    max_ahead: timedelta | None = field(
        default=None, kw_only=True, validator=duration(allow_zero=True, optional=True)
    )
    percentiles: tuple[float, ...] = field(
        default=(), kw_only=True, validator=satisfying(are_quantiles, QUANTILES)
    )
    recent: timedelta = field(default=timedelta(hours=1), kw_only=True, validator=duration(allow_zero=False))
    resolution: timedelta = field(
        default=timedelta(seconds=1), kw_only=True, validator=duration(allow_zero=False)
    )

    @abstractmethod
    def candidate(self, clock: SourceClock) -> int | None:
        """Where the watermark could be now, in microseconds of event time; ``None`` if there is nothing to say.

        ``clock`` has seen the instant already; its watermarks are those before it. The watermark never moves back, and
        stays inside the bounds of time, whatever this gives.
        """

    @property
    def keeps_lags(self) -> bool:
        """Whether reports must hold lags."""
        return bool(self.percentiles)

    @property
    def meaning(self) -> str:
        """Where the watermark is, in words; ``str`` of a policy adds its options."""
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
    def report(
        self, observations: Iterable[Observation], *, known: EventTime | None = None, ended: bool = False
    ) -> ClockSummary:
        """What some records say about the clocks. Law: the report of all equals the merged reports of any parts."""
        ahead, resolution, keeps_lags = self.max_ahead_micros, self.resolution_micros, self.keeps_lags
        partitions: dict[str, PartitionClock] = {}
        lags: dict[Micros, int] = {}
        latest: ProcessingTime | None = None
        for observation in observations:
            event, seen = observation.event_time, observation.processing_time
            latest = later(latest, seen)
            if ahead is not None and event - seen > ahead:
                continue
            clock = PartitionClock(event, seen)
            before = partitions.get(observation.partition)
            partitions[observation.partition] = clock if before is None else before.merge(clock)
            if keeps_lags:
                lag = lag_of(event, seen, resolution)
                lags[lag] = lags.get(lag, 0) + 1
        return ClockSummary(partitions, latest, known, ended, lags)

    @final
    def start(self) -> SourceClock:
        """The state before the first instant."""
        return SourceClock(percentiles=dict.fromkeys(self.percentiles, MIN_TIME))

    @final
    def advance(
        self, clock: SourceClock, report: ClockSummary, processing_time: ProcessingTime
    ) -> SourceClock:
        """The state after an instant at a processing time. Once the source has ended it has for good."""
        seen = clock.observe(report, processing_time, self.recent_micros)
        ended = report.ended or clock.watermark == MAX_TIME
        candidate = MAX_TIME if ended else self.candidate(seen)
        if candidate is not None and not isinstance(candidate, int):
            valid = "an int, the microseconds since the epoch, or None"
            raise ArgumentError(f"the candidate of {type(self).__name__}", candidate, valid)
        watermark = clock.watermark if candidate is None else max(clock.watermark, clamp(candidate))
        percentiles = {}
        for q in self.percentiles:
            lag = seen.lags.quantile(q)
            outrun = MIN_TIME if lag is None else clamp(seen.processing_time - lag)
            percentiles[q] = max(watermark, clock.percentiles.get(q, MIN_TIME), outrun)
        return evolve(seen, watermark=watermark, percentiles=percentiles)

    def __str__(self) -> str:
        options = [
            "" if self.idle_after is None else f", without partitions that are idle for {self.idle_after}",
            "" if self.max_ahead is None else f", without event times more than {self.max_ahead} ahead",
            f", with percentiles {', '.join(map(str, self.percentiles))}" if self.percentiles else "",
        ]
        return self.meaning + "".join(options)


__all__ = ["WatermarkPolicy"]
