"""A histogram of the lags of recent records, which expire with processing time.

Lags are rounded up, so a delay that is derived from the histogram is rather too long than too short. The size of the
histogram is bounded for all event times: about 26,000 lags for each of nine slices of time.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from math import ceil
from typing import Final

from attrs import field, frozen

from flowalg.data.time import EventTime, Micros, ProcessingTime
from flowalg.watermarks.summaries import merge_mappings

SLICES: Final = 8
"""The number of slices of the recent period, which expire one at a time."""

_FINE_BITS: Final = 10


def lag_of(event: EventTime, arrival: ProcessingTime, resolution: Micros) -> Micros:
    """Returns processing time minus event time, rounded up; zero for a record ahead of its processing time.

    The result is a multiple of the resolution. Beyond 1,024 multiples it is rounded up further, by less than 1/512 of
    its value, which bounds the number of distinct lags.
    """
    units = -(-max(arrival - event, 0) // resolution)
    coarse = max(units.bit_length() - _FINE_BITS, 0)
    return (-(-units >> coarse) << coarse) * resolution


@frozen
class RecentLags:
    """The numbers of recent records by lag, for each slice of processing time.

    A slice is an eighth of the recent period, aligned to the epoch. A slice expires as a whole, when all of it is older
    than the period, so the histogram covers the period and at most one slice more. The period ends at the last instant
    with records: a silent source keeps its last known lags.
    """

    slices: Mapping[int, Mapping[Micros, int]] = field(factory=dict)

    def absorb(self, lags: Mapping[Micros, int], now: ProcessingTime, recent: Micros) -> RecentLags:
        """Adds the lags of an instant and removes expired slices."""
        if not lags:
            return self
        current = now // -(-recent // SLICES)
        kept = {number: counts for number, counts in self.slices.items() if number >= current - SLICES}
        return RecentLags({**kept, current: merge_mappings(kept.get(current, {}), lags, int.__add__)})

    def quantile(self, q: float) -> Micros | None:
        """Returns the least lag that at least a fraction ``q`` of the recent records do not exceed; ``None`` without
        records.

        ``q`` has its exact decimal value: 0.07 of 100 records are 7.
        """
        lags, passed = self._ranked
        return lags[bisect_left(passed, ceil(Fraction(str(q)) * passed[-1]))] if lags else None

    @cached_property
    def _ranked(self) -> tuple[list[Micros], list[int]]:
        """The recent lags in order, and for each the number of records that do not exceed it."""
        counts: Counter[Micros] = Counter()
        for slice_ in self.slices.values():
            counts.update(slice_)
        lags = sorted(counts)
        return lags, list(accumulate(counts[lag] for lag in lags))


__all__ = ["SLICES", "RecentLags", "lag_of"]
