"""What is known of a source's progress after an instant, and what follows from it for partitions that are idle."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import evolve, field, frozen

from flowalg.data.time import MIN_TIME, EventTime, Micros, ProcessingTime
from flowalg.watermarks.lags import RecentLags
from flowalg.watermarks.summaries import ClockSummary, PartitionClock, later, merged


@frozen
class SourceClock:
    """The state of a watermark policy: the watermark, the percentile watermarks, and what they are made from.

    A partition is known from its first record on, and stays known.
    """

    watermark: EventTime = MIN_TIME
    processing_time: ProcessingTime = field(default=ProcessingTime(MIN_TIME))
    partitions: Mapping[str, PartitionClock] = field(factory=dict)
    known: EventTime | None = None
    lags: RecentLags = field(factory=RecentLags)
    percentiles: Mapping[float, EventTime] = field(factory=dict)

    def observe(self, report: ClockSummary, processing_time: ProcessingTime, recent: Micros) -> SourceClock:
        """The clock once an instant has been seen, with the watermarks as they were before it."""
        now = max(self.processing_time, processing_time)
        return evolve(
            self,
            processing_time=now,
            partitions=merged(self.partitions, report.partitions, PartitionClock.merge),
            known=later(self.known, report.known),
            lags=self.lags.absorb(report.lags, now, recent),
        )

    def idle(self, after: Micros | None) -> frozenset[str]:
        """The partitions whose last record is at least that long ago; none if ``after`` is ``None``."""
        if after is None:
            return frozenset()
        now = self.processing_time
        return frozenset(
            name for name, clock in self.partitions.items() if now - clock.latest_processing >= after
        )

    def reached(self, idle_after: Micros | None) -> EventTime | None:
        """The event time that all partitions have reached which are not idle; ``None`` before the first record.

        When all are idle it is what the most advanced one has reached, as if they had gone idle one after
        another.
        """
        if not self.partitions:
            return None
        active = self.reached_by_partition(idle_after)
        if active:
            return min(active.values())
        return max(clock.latest_event for clock in self.partitions.values())

    def reached_by_partition(self, idle_after: Micros | None) -> dict[str, EventTime]:
        """The greatest event time of each partition that is not idle."""
        idle = self.idle(idle_after)
        return {name: clock.latest_event for name, clock in self.partitions.items() if name not in idle}


__all__ = ["SourceClock"]
