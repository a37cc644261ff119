"""The state of a watermark policy: the progress of a source and its partitions."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import evolve, field, frozen

from flowalg.data.time import MIN_TIME, EventTime, Micros, ProcessingTime
from flowalg.watermarks.lags import RecentLags
from flowalg.watermarks.summaries import ClockSummary, PartitionClock, later, merge_mappings


@frozen
class SourceClock:
    """The state of a watermark policy: the watermark, the percentile watermarks, and the data they are derived from.

    A partition is registered with its first record and is never removed.
    """

    watermark: EventTime = MIN_TIME
    processing_time: ProcessingTime = field(default=ProcessingTime(MIN_TIME))
    partitions: Mapping[str, PartitionClock] = field(factory=dict)
    source_watermark: EventTime | None = None
    lags: RecentLags = field(factory=RecentLags)
    percentiles: Mapping[float, EventTime] = field(factory=dict)

    def observe(self, summary: ClockSummary, processing_time: ProcessingTime, recent: Micros) -> SourceClock:
        """Returns the clock after an instant; its watermarks are still those before it."""
        now = max(self.processing_time, processing_time)
        return evolve(
            self,
            processing_time=now,
            partitions=merge_mappings(self.partitions, summary.partitions, PartitionClock.merge),
            source_watermark=later(self.source_watermark, summary.source_watermark),
            lags=self.lags.absorb(summary.lags, now, recent),
        )

    def idle_partitions(self, after: Micros | None) -> frozenset[str]:
        """Returns the partitions without a record for at least ``after``; none if ``after`` is ``None``."""
        if after is None:
            return frozenset()
        now = self.processing_time
        return frozenset(
            name for name, clock in self.partitions.items() if now - clock.latest_processing >= after
        )

    def reached(self, idle_after: Micros | None) -> EventTime | None:
        """Returns the least of the greatest event times of the active partitions; ``None`` before the first record.

        If all partitions are idle, it is the greatest of them, as if they had become idle one after another.
        """
        if not self.partitions:
            return None
        active = self.reached_by_partition(idle_after)
        if active:
            return min(active.values())
        return max(clock.latest_event for clock in self.partitions.values())

    def reached_by_partition(self, idle_after: Micros | None) -> dict[str, EventTime]:
        """Returns the greatest event time of each partition that is not idle."""
        idle = self.idle_partitions(idle_after)
        return {name: clock.latest_event for name, clock in self.partitions.items() if name not in idle}


__all__ = ["SourceClock"]
