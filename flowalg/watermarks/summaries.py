"""Summaries of the observations of an instant, which parts of the input make independently and which merge."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import field, frozen

from flowalg.data.time import EventTime, Micros, ProcessingTime
from flowalg.watermarks.mappings import later, merge_mappings
from flowalg.watermarks.reached import ReachedTimes
from flowalg.watermarks.timestamps import EventTimeCounts


@frozen
class Observation:
    """The data of a record that clocks observe: its partition, its event time and its processing time.

    ``published`` is the watermark of its partition that a record may carry.
    """

    partition: str
    event_time: EventTime
    processing_time: ProcessingTime
    published: EventTime | None = None


@frozen
class Publication:
    """A watermark that a source publishes for a partition: no record of the partition before it is still to come."""

    partition: str
    watermark: EventTime
    processing_time: ProcessingTime


@frozen
class PublishedWatermarks:
    """The least and the greatest watermark that a partition published, and the greatest processing time of any.

    Law: ``merge`` is associative, commutative and idempotent.
    """

    least: EventTime
    greatest: EventTime
    latest_processing: ProcessingTime

    def merge(self, other: PublishedWatermarks) -> PublishedWatermarks:
        """Returns the watermarks that are published in either."""
        return PublishedWatermarks(
            min(self.least, other.least),
            max(self.greatest, other.greatest),
            max(self.latest_processing, other.latest_processing),
        )


@frozen
class PartitionClock:
    """The progress of a partition: the greatest event time and the greatest processing time of its records."""

    latest_event: EventTime
    latest_processing: ProcessingTime

    def merge(self, other: PartitionClock) -> PartitionClock:
        """Returns the clock of the records of both."""
        return PartitionClock(
            max(self.latest_event, other.latest_event), max(self.latest_processing, other.latest_processing)
        )


@frozen
class ClockSummary:
    """A summary of the observations of a source in an instant.

    Law: a commutative monoid under ``merge``, with unit ``ClockSummary()``.

    ``partitions`` has the partitions with a record whose event time counts (see ``WatermarkPolicy.max_ahead``).
    ``lags`` counts those records by lag in microseconds, ``event_times`` by event time, and ``reached`` has the event
    times that each partition had reached over time: each if the policy uses it. ``published`` has the watermarks that
    the source published for its partitions. ``latest_processing`` is the greatest
    processing time of all records. ``source_watermark`` is the watermark that the source reports: no record before it
    is still to come. ``ended`` says that the source has no more records. Both concern the whole source, so ``merge``
    takes the later of two source watermarks.
    """

    partitions: Mapping[str, PartitionClock] = field(factory=dict)
    latest_processing: ProcessingTime | None = None
    source_watermark: EventTime | None = None
    ended: bool = False
    lags: Mapping[Micros, int] = field(factory=dict)
    event_times: EventTimeCounts = field(factory=EventTimeCounts)
    reached: Mapping[str, ReachedTimes] = field(factory=dict)
    published: Mapping[str, PublishedWatermarks] = field(factory=dict)

    @property
    def latest_event(self) -> EventTime | None:
        """The greatest event time that counts, over all partitions."""
        return max((partition.latest_event for partition in self.partitions.values()), default=None)

    def merge(self, other: ClockSummary) -> ClockSummary:
        """Returns the summary of the records of both."""
        return ClockSummary(
            merge_mappings(self.partitions, other.partitions, PartitionClock.merge),
            later(self.latest_processing, other.latest_processing),
            later(self.source_watermark, other.source_watermark),
            self.ended or other.ended,
            merge_mappings(self.lags, other.lags, int.__add__),
            self.event_times.merge(other.event_times),
            merge_mappings(self.reached, other.reached, ReachedTimes.merge),
            merge_mappings(self.published, other.published, PublishedWatermarks.merge),
        )
