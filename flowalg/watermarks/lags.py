"""How far records lag behind: a histogram of the recent ones, which forgets as processing time goes on.

Lags are rounded up, so that a delay that is read from the histogram waits a little too long rather than too short.
Its memory is bounded, whatever the event times: by some 26,000 lags for each of nine slices of time.
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
from flowalg.watermarks.summaries import merged

SLICES: Final = 8
"""In how many steps the recent period rolls on."""

_FINE_BITS: Final = 10


def lag_of(event: EventTime, seen: ProcessingTime, resolution: Micros) -> Micros:
    """Processing time less event time, rounded up; zero for a record that is ahead of its processing time.

    It is a whole multiple of the resolution. Beyond 1,024 of them it is rounded up further, by less than one part in
    512, so that there are few different lags.
    """
    units = -(-max(seen - event, 0) // resolution)
    coarse = max(units.bit_length() - _FINE_BITS, 0)
    return (-(-units >> coarse) << coarse) * resolution


@frozen
class RecentLags:
    """How many of the recent records had which lag, by slice of processing time.

    A slice is an eighth of the recent period, aligned to the epoch. Slices go as a whole, once all of them is past the
    period, so that it is covered always, and up to one slice more. It is counted back from the last instant
    that had records: a source that is silent keeps its last known lags.
    """

    slices: Mapping[int, Mapping[Micros, int]] = field(factory=dict)

    def absorb(self, lags: Mapping[Micros, int], now: ProcessingTime, recent: Micros) -> RecentLags:
        """The lags with those of an instant, and without what is no longer recent then."""
        if not lags:
            return self
        current = now // -(-recent // SLICES)
        kept = {number: counts for number, counts in self.slices.items() if number >= current - SLICES}
        return RecentLags({**kept, current: merged(kept.get(current, {}), lags, int.__add__)})

    def quantile(self, q: float) -> Micros | None:
        """The least lag that at least ``q`` of the recent records do not exceed; ``None`` if there are none.

        ``q`` is the decimal number that it prints as, so that 0.07 of 100 records are 7.
        """
        lags, passed = self._ranked
        return lags[bisect_left(passed, ceil(Fraction(str(q)) * passed[-1]))] if lags else None

    @cached_property
    def _ranked(self) -> tuple[list[Micros], list[int]]:
        """The recent lags in order, and how many records do not exceed each."""
        counts: Counter[Micros] = Counter()
        for slice_ in self.slices.values():
            counts.update(slice_)
        lags = sorted(counts)
        return lags, list(accumulate(counts[lag] for lag in lags))


__all__ = ["SLICES", "RecentLags", "lag_of"]
