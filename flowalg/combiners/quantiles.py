"""Approximate quantiles as a group: the result does not depend on the order of the values.

Most quantile sketches are randomized or depend on the order of arrival. Batch, streaming and the reference interpreter
must agree on every pane, so neither is possible here. ``docs/design.md`` explains the choice of the sketch.
"""

from __future__ import annotations

import math
import sys
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable
from decimal import Decimal
from fractions import Fraction
from functools import cache
from typing import Final, TypeAlias, TypeVar

from attrs import field, frozen

from flowalg.combiners.core import Aggregate, Group, Over
from flowalg.data.errors import ArgumentError, ElementError, ValueRangeError, format_value
from flowalg.data.values import canonical_decimal, check_integer
from flowalg.elementwise.functions import Call

A = TypeVar("A")

Buckets: TypeAlias = tuple[tuple[int, int], ...]
"""The accumulator of quantiles: pairs of bucket number and count, in order; no count is zero."""

_LEAST_ERROR: Final = 1e-6
_LOWEST_EXPONENT: Final = sys.float_info.min_exp


class _Bucketed(Group[float | Decimal, Buckets, A]):
    """Counts values in buckets that are so narrow that one number represents all values of a bucket."""

    __slots__ = ()

    relative_error: float

    def zero(self) -> Buckets:
        return ()

    def add(self, accumulator: Buckets, value: float | Decimal) -> Buckets:
        return _add_count(accumulator, self._bucket(value), 1)

    def subtract(self, accumulator: Buckets, value: float | Decimal) -> Buckets:
        return _add_count(accumulator, self._bucket(value), -1)

    def merge(self, left: Buckets, right: Buckets) -> Buckets:
        counts = Counter(dict(left))
        counts.update(dict(right))
        return tuple(sorted((bucket, count) for bucket, count in counts.items() if count))

    def at(self, accumulator: Buckets, quantiles: tuple[float, ...]) -> list[float]:
        """Returns the values at the quantiles. Buckets with a negative count, from early retractions, do not count."""
        held = [(bucket, count) for bucket, count in accumulator if count > 0]
        total = sum(count for _, count in held)
        if not total:
            raise ValueRangeError(f"{type(self).__name__} of no values is undefined")
        buckets = (_bucket_at(held, rank_of(quantile, total)) for quantile in quantiles)
        return [middle_of(bucket, self.relative_error) for bucket in buckets]

    def _bucket(self, value: object) -> int:
        """Returns the bucket of a value: 0 for zero, positive for positive values, and mirrored for negative ones."""
        name = type(self).__name__
        if isinstance(value, Decimal):
            value = float(canonical_decimal(value, f"the input of {name}"))
        if isinstance(value, bool) or not isinstance(value, int | float):
            valid = "an int, a float or a Decimal"
            raise ElementError(f"the input of {name} must be {valid}; got {format_value(value)}")
        if isinstance(value, int):
            check_integer(value, f"the input of {name}")
        if not math.isfinite(value):
            raise ElementError(f"the input of {name} must be finite; got {format_value(value)}")
        if abs(value) < sys.float_info.min:
            return 0
        mantissa, exponent = math.frexp(abs(value))
        parts = buckets_in_octave(self.relative_error)
        bucket = (exponent - _LOWEST_EXPONENT) * parts + int((2 * mantissa - 1) * parts) + 1
        return bucket if value > 0 else -bucket


def middle_of(bucket: int, relative_error: float) -> float:
    """Returns the number with the same relative distance from both bounds: twice their product over their sum."""
    if bucket == 0:
        return 0.0
    parts = buckets_in_octave(relative_error)
    exponent, part = divmod(abs(bucket) - 1, parts)
    low, high = (0.5 + step / (2 * parts) for step in (part, part + 1))
    middle = math.ldexp(2 * low * high / (low + high), exponent + _LOWEST_EXPONENT)
    return middle if bucket > 0 else -middle


@cache
def buckets_in_octave(relative_error: float) -> int:
    """Returns the number of buckets for each power of two: itself a power of two, so that all bounds are exact."""
    needed = (1 / Fraction(relative_error) - 1) / 2
    return 1 << max(0, math.ceil(needed) - 1).bit_length()


def _add_count(counts: Buckets, bucket: int, weight: int) -> Buckets:
    place = bisect_left(counts, (bucket, -sys.maxsize))
    if place == len(counts) or counts[place][0] != bucket:
        return (*counts[:place], (bucket, weight), *counts[place:])
    count = counts[place][1] + weight
    changed = ((bucket, count),) if count else ()
    return (*counts[:place], *changed, *counts[place + 1 :])


def rank_of(quantile: float, total: int) -> int:
    """Returns the rank from 0. It is exact in decimal: ``0.29`` of 101 values has rank 29, despite binary rounding."""
    return math.floor(Fraction(repr(quantile)) * (total - 1))


def _bucket_at(held: list[tuple[int, int]], rank: int) -> int:
    for bucket, count in held:
        rank -= count
        if rank < 0:
            return bucket
    raise AssertionError("the rank is below the number of values")


_QUANTILE: Final = "a number from 0 to 1, such as 0.95"


def _quantile(value: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise ArgumentError("the quantile", value, _QUANTILE)
    return float(value)


def _quantiles(values: Iterable[float]) -> tuple[float, ...]:
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise ArgumentError("Quantiles.qs", values, "an iterable of numbers from 0 to 1, such as (0.5, 0.95)")
    quantiles = tuple(map(_quantile, values))
    if not quantiles:
        raise ArgumentError("Quantiles.qs", quantiles, "one or more numbers from 0 to 1, such as (0.5, 0.95)")
    return quantiles


def _relative_error(value: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not _LEAST_ERROR <= value < 1:
        raise ArgumentError("relative_error", value, f"a number from {_LEAST_ERROR} to below 1, such as 0.01")
    return float(value)


@frozen
class Quantile(_Bucketed[float]):
    """The value at one quantile, within a relative error; ``Quantile(0.5)`` is the median.

    The ``q``-quantile of ``n`` values is the value of rank ``floor(q * (n - 1))``, counted from 0 at the least value:
    0 is the minimum and 1 the maximum. If this value is ``x``, the result lies within ``relative_error * abs(x)`` of
    ``x``, for all inputs of any size, up to the rounding of floats. Values closer to zero than 2.3e-308 count as
    zero. Decimals are rounded to floats first. NaN, infinities and ``bool`` are rejected.

    The sketch is *DDSketch* (Masson, Rim, Lee, VLDB 2019), unbounded, with buckets of equal width within each power
    of two. Bucket counts are exact, so the result does not depend on the order of the values, and a value can be
    subtracted without residue. The size grows with the range of the values: up to 64 buckets for each power of two at
    0.01.

    Example:

    >>> results(points.combine_per_key(Quantile(0.5)))
    [KV(key='blue', value=7.0311111111111115), KV(key='red', value=3.0155440414507773)]
    """

    q: float = field(converter=_quantile)
    relative_error: float = field(default=0.01, kw_only=True, converter=_relative_error)

    def extract(self, accumulator: Buckets) -> float:  # noqa: D102
        return self.at(accumulator, (self.q,))[0]

    @staticmethod
    def of(
        f: Callable[[A], float | Decimal], q: float, *, relative_error: float = 0.01
    ) -> Aggregate[A, float]:
        """Returns a combiner for the quantile of ``f`` over the values."""
        return Over(Call(f), Quantile(q, relative_error=relative_error))  # type: ignore[arg-type]  # as in Mean.of


@frozen
class Quantiles(_Bucketed[list[float]]):
    """The values at several quantiles, in the given order: ``Quantiles((0.5, 0.95))``.

    Each is the value of ``Quantile``; the values are counted only once.
    """

    qs: tuple[float, ...] = field(converter=_quantiles)
    relative_error: float = field(default=0.01, kw_only=True, converter=_relative_error)

    def extract(self, accumulator: Buckets) -> list[float]:  # noqa: D102
        return self.at(accumulator, self.qs)

    @staticmethod
    def of(
        f: Callable[[A], float | Decimal], qs: Iterable[float], *, relative_error: float = 0.01
    ) -> Aggregate[A, list[float]]:
        """Returns a combiner for the quantiles of ``f`` over the values."""
        return Over(Call(f), Quantiles(qs, relative_error=relative_error))  # type: ignore[arg-type]  # as in Mean.of
