"""What an instant says about a source's clocks: summaries that parts of the input make apart, and that merge."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from attrs import field, frozen

from flowalg.data.time import EventTime, Micros, ProcessingTime

K = TypeVar("K")
V = TypeVar("V")


@frozen
class Observation:
    """One record as the clocks see it: the partition of the source that it came from, and both of its times."""

    partition: str
    event_time: EventTime
    processing_time: ProcessingTime


@frozen
class PartitionClock:
    """How far one partition of a source has come: the greatest event and the greatest processing time there."""

    latest_event: EventTime
    latest_processing: ProcessingTime

    def merge(self, other: PartitionClock) -> PartitionClock:
        """The clock of the records of both."""
        return PartitionClock(
            max(self.latest_event, other.latest_event), max(self.latest_processing, other.latest_processing)
        )


@frozen
class ClockSummary:
    """What an instant says about the clocks of a source.

    Law: a commutative monoid under ``merge``, with unit ``ClockSummary()``.

    ``partitions`` has the partitions with a record whose event time counts (``WatermarkPolicy.max_ahead``), and
    ``lags`` how many of those records had which lag, in microseconds, if the policy asks. ``latest_processing``
    is the greatest processing time of all records. ``known`` is what the source itself says: no event before it is
    still to come. ``ended`` says that it will send nothing more. Both are about the whole source, so that of two
    that are known the later one holds.
    """

    partitions: Mapping[str, PartitionClock] = field(factory=dict)
    latest_processing: ProcessingTime | None = None
    known: EventTime | None = None
    ended: bool = False
    lags: Mapping[Micros, int] = field(factory=dict)

    @property
    def latest_event(self) -> EventTime | None:
        """The greatest event time that counts, in any partition."""
        return max((partition.latest_event for partition in self.partitions.values()), default=None)

    def merge(self, other: ClockSummary) -> ClockSummary:
        """The report of the records of both."""
        return ClockSummary(
            merged(self.partitions, other.partitions, PartitionClock.merge),
            later(self.latest_processing, other.latest_processing),
            later(self.known, other.known),
            self.ended or other.ended,
            merged(self.lags, other.lags, int.__add__),
        )


Point = TypeVar("Point", EventTime, ProcessingTime)


def later(one: Point | None, other: Point | None) -> Point | None:
    """The later of two points, where there are any."""
    if one is None or other is None:
        return other if one is None else one
    return max(one, other)


def merged(one: Mapping[K, V], other: Mapping[K, V], merge: Callable[[V, V], V]) -> dict[K, V]:
    """The union of two mappings, with ``merge`` where both have a value."""
    both = dict(one)
    for key, value in other.items():
        both[key] = merge(both[key], value) if key in both else value
    return both


__all__ = ["ClockSummary", "Observation", "PartitionClock", "later", "merged"]
