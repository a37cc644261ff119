"""The state of a watermark policy: the progress of a source and its partitions."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import evolve, field, frozen

from flowalg.data.errors import ElementError
from flowalg.data.time import MAX_TIME, MIN_TIME, EventTime, Micros, ProcessingTime
from flowalg.watermarks.lags import RecentLags, RecentMoments
from flowalg.watermarks.mappings import later, merge_mappings
from flowalg.watermarks.reached import ReachedTimes
from flowalg.watermarks.summaries import ClockSummary, PartitionClock, PublishedWatermarks


@frozen
class SourceClock:
    """The state of a watermark policy: the watermark, the percentile watermarks, and the data they are derived from.

    A partition is registered with its first record and is never removed. ``disorder`` counts recent records by how far
    they were behind the event time that the source had reached before their instant. ``lags``, ``moments``,
    ``disorder`` and ``reached_times`` are kept only for policies that use them. ``published``
    has what the source has published for its partitions, and ``started`` is the processing time of the first instant.
    """

    watermark: EventTime = MIN_TIME
    processing_time: ProcessingTime = field(default=ProcessingTime(MIN_TIME))
    partitions: Mapping[str, PartitionClock] = field(factory=dict)
    source_watermark: EventTime | None = None
    lags: RecentLags = field(factory=RecentLags)
    percentiles: Mapping[float, EventTime] = field(factory=dict)
    moments: RecentMoments = field(factory=RecentMoments)
    disorder: RecentLags = field(factory=RecentLags)
    reached_times: Mapping[str, ReachedTimes] = field(factory=dict)
    started: ProcessingTime | None = None
    published: Mapping[str, PublishedWatermarks] = field(factory=dict)

    def observe(self, summary: ClockSummary, processing_time: ProcessingTime) -> SourceClock:
        """Returns the clock after an instant; its watermarks, and what it has learned, are still those before it.

        Raises ``ElementError`` if a published watermark goes back before the source has ended.
        """
        for name, published in summary.published.items():
            before = self.published.get(name)
            if before is not None and published.least < before.greatest and self.watermark < MAX_TIME:
                partition = f"partition {name!r}" if name else "it"
                raise ElementError(
                    f"{partition} published the watermark {published.least} after {before.greatest}; a published "
                    "watermark must not go back"
                )
        return evolve(
            self,
            processing_time=max(self.processing_time, processing_time),
            partitions=merge_mappings(self.partitions, summary.partitions, PartitionClock.merge),
            source_watermark=later(self.source_watermark, summary.source_watermark),
            reached_times=merge_mappings(self.reached_times, summary.reached, ReachedTimes.merge),
            started=processing_time if self.started is None else self.started,
            published=merge_mappings(self.published, summary.published, PublishedWatermarks.merge),
        )

    @property
    def last_active(self) -> Mapping[str, ProcessingTime]:
        """The partitions that have had a record or published a watermark, with the last time that they did."""
        return merge_mappings(
            {name: clock.latest_processing for name, clock in self.partitions.items()},
            {name: published.latest_processing for name, published in self.published.items()},
            max,
        )

    def idle_partitions(self, after: Micros | None) -> frozenset[str]:
        """Returns the partitions without a record or a publication for at least ``after``.

        None if ``after`` is ``None``.
        """
        if after is None:
            return frozenset()
        return frozenset(
            name for name, time in self.last_active.items() if self.processing_time - time >= after
        )

    def idle_at(self, after: Micros | None) -> ProcessingTime | None:
        """Returns when the source becomes idle if nothing more comes from it; ``None`` if it does not.

        That is ``after`` beyond the last record or publication of any partition, or beyond the first instant.
        """
        if after is None or self.started is None or self.watermark == MAX_TIME:
            return None
        return ProcessingTime(max([self.started, *self.last_active.values()]) + after)

    def reached(self, idle_after: Micros | None) -> EventTime | None:
        """Returns the least of the greatest event times of the active partitions; ``None`` before the first record.

        If all partitions are idle, it is the greatest of them, as if they had become idle one after another.
        """
        return self._least_active(
            {name: clock.latest_event for name, clock in self.partitions.items()}, idle_after
        )

    def reached_in_time(self, idle_after: Micros | None) -> EventTime | None:
        """Returns the same of the event times that were reached at least the delay of ``reached_times`` ago.

        ``None`` while an active partition had not reached any by then.
        """
        return self._least_active(
            {name: times.by(self.processing_time) for name, times in self.reached_times.items()}, idle_after
        )

    def own_watermark(self, idle_after: Micros | None) -> EventTime | None:
        """Returns the watermark that the source itself knows; ``None`` if it knows none.

        That is the least that its partitions have published, or ``source_watermark`` if none has published any.
        """
        if not self.published:
            return self.source_watermark
        return self._least_active(
            {name: published.greatest for name, published in self.published.items()}, idle_after
        )

    def _least_active(
        self, progress: Mapping[str, EventTime | None], idle_after: Micros | None
    ) -> EventTime | None:
        idle = self.idle_partitions(idle_after)
        active = [point for name, point in progress.items() if name not in idle]
        points = [point for point in active or progress.values() if point is not None]
        if len(points) < len(active):
            return None
        return (min if active else max)(points, default=None)

    def reached_by_partition(self, idle_after: Micros | None) -> dict[str, EventTime]:
        """Returns the greatest event time of each partition that is not idle."""
        idle = self.idle_partitions(idle_after)
        return {name: clock.latest_event for name, clock in self.partitions.items() if name not in idle}
