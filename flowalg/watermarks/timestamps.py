"""A histogram of event times, exact near the greatest and coarser before it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, TypeAlias

from attrs import field, frozen

from flowalg.data.time import EventTime, Micros
from flowalg.watermarks.mappings import merge_mappings

_FINE: Final = 512
"""The number of blocks before the greatest event time that have the finest level."""

Block: TypeAlias = tuple[int, int]
"""A level and a number: the block of 2**level units that starts at number * 2**level."""


@frozen
class EventTimeCounts:
    """The number of records by event time, in units of the resolution.

    Event times are rounded *down*: to the resolution near the greatest of them, and by at most one part in 255 of their
    distance from it further back. That bounds the number of blocks, about 260 for each doubling of the distance.

    Law: a commutative monoid under ``merge``. The level of a block depends only on its distance from the greatest event
    time, and blocks of a level nest in those of the next, so parts can be merged in any order.
    """

    greatest: int = 0
    counts: Mapping[Block, int] = field(factory=dict)

    @classmethod
    def of_units(cls, units: Mapping[int, int]) -> EventTimeCounts:
        """Returns the histogram of records that are counted by their event time in units of the resolution."""
        if not units:
            return cls()
        greatest = max(units)
        return cls(greatest, _coarsened({(0, unit): count for unit, count in units.items()}, greatest))

    def merge(self, other: EventTimeCounts) -> EventTimeCounts:
        """Returns the histogram of the records of both."""
        if not self.counts or not other.counts:
            return self if self.counts else other
        greatest = max(self.greatest, other.greatest)
        parts = [_coarsened(part.counts, greatest) for part in (self, other)]
        return EventTimeCounts(greatest, merge_mappings(parts[0], parts[1], int.__add__))

    def rounded(self, resolution: Micros) -> Iterator[tuple[EventTime, int]]:
        """Yields each event time, rounded down, with the number of its records."""
        for (level, number), count in self.counts.items():
            yield EventTime((number << level) * resolution), count


def _coarsened(counts: Mapping[Block, int], greatest: int) -> dict[Block, int]:
    coarse: dict[Block, int] = {}
    for (level, number), count in counts.items():
        while (greatest >> level) - number >= _FINE:
            level, number = level + 1, number >> 1
        coarse[level, number] = coarse.get((level, number), 0) + count
    return coarse
