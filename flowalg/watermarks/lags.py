"""The lags of recent records, which expire with processing time: a histogram, or only their moments.

Lags are rounded up, so a delay that is derived from them is rather too long than too short. The size of the histogram
is bounded for all event times: about 26,000 lags for each of nine slices of time.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import cached_property, reduce
from itertools import accumulate
from math import ceil
from typing import Final, TypeVar

from attrs import field, frozen

from flowalg.data.time import EventTime, Micros, ProcessingTime
from flowalg.watermarks.distributions import LagDistribution
from flowalg.watermarks.mappings import merge_mappings

M = TypeVar("M")

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


def absorb_recent(
    slices: Mapping[int, M], arrived: M, now: ProcessingTime, recent: Micros, merge: Callable[[M, M], M]
) -> dict[int, M]:
    """Adds a summary of an instant to those of recent slices of processing time, and removes expired slices.

    A slice is an eighth of the recent period, aligned to the epoch. A slice expires as a whole, when all of it is older
    than the period, so the slices cover the period and at most one slice more. The period ends at the last instant with
    records: of a silent source, the last slices are kept.
    """
    current = now // -(-recent // SLICES)
    kept = {number: summary for number, summary in slices.items() if number >= current - SLICES}
    return merge_mappings(kept, {current: arrived}, merge)


@frozen
class RecentLags:
    """The numbers of recent records by lag, or by another duration, for each slice of processing time."""

    slices: Mapping[int, Mapping[Micros, int]] = field(factory=dict)

    def absorb(self, lags: Mapping[Micros, int], now: ProcessingTime, recent: Micros) -> RecentLags:
        """Adds the lags of an instant and removes expired slices."""
        if not lags:
            return self
        return RecentLags(absorb_recent(self.slices, lags, now, recent, _add_counts))

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


def _add_counts(first: Mapping[Micros, int], second: Mapping[Micros, int]) -> Mapping[Micros, int]:
    return merge_mappings(first, second, int.__add__)


@frozen
class LagMoments:
    """The number of some lags, their sum and the sum of their squares, all exact. Law: a commutative monoid."""

    count: int = 0
    total: int = 0
    squares: int = 0

    @classmethod
    def of(cls, lags: Mapping[Micros, int]) -> LagMoments:
        """Returns the moments of lags that are counted by lag."""
        items = lags.items()
        return cls(
            sum(lags.values()), sum(n * lag for lag, n in items), sum(n * lag * lag for lag, n in items)
        )

    def merge(self, other: LagMoments) -> LagMoments:
        """Returns the moments of the lags of both."""
        return LagMoments(self.count + other.count, self.total + other.total, self.squares + other.squares)


@frozen
class RecentMoments:
    """The moments of the lags of recent records, for each slice of processing time: 27 numbers at most."""

    slices: Mapping[int, LagMoments] = field(factory=dict)

    def absorb(self, lags: Mapping[Micros, int], now: ProcessingTime, recent: Micros) -> RecentMoments:
        """Adds the lags of an instant and removes expired slices."""
        if not lags:
            return self
        return RecentMoments(absorb_recent(self.slices, LagMoments.of(lags), now, recent, LagMoments.merge))

    def quantile(self, q: float, distribution: LagDistribution, resolution: Micros) -> Micros | None:
        """Returns the ``q`` quantile of the distribution that has the mean and the variance of the recent lags.

        It is rounded up to a multiple of the resolution; ``None`` without records.
        """
        moments = reduce(LagMoments.merge, self.slices.values(), LagMoments())
        n, total = moments.count, moments.total
        if not n:
            return None
        lag = distribution.quantile(total / n, (n * moments.squares - total * total) / (n * n), q)
        return ceil(lag / resolution) * resolution
