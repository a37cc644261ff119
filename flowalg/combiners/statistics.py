"""Statistical combiners that are groups."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

from attrs import frozen

from flowalg.combiners.core import Group
from flowalg.data.errors import ElementError, format_value


@frozen
class Moments:
    """The accumulator of ``Variance``: the count, the exact sum and sum of squares, and the number not finite."""

    count: int = 0
    total: Fraction = Fraction(0)
    squares: Fraction = Fraction(0)
    not_finite: int = 0


@frozen
class Variance(Group[float | Decimal, Moments, float]):
    """The population variance, a float, also of Decimals: the mean of the squared deviations from the mean.

    It is computed from exact sums, so it does not depend on the order of the values, and a value can be subtracted
    without residue. It is NaN if a value is NaN or infinite, and infinite beyond the largest float.
    """

    def zero(self) -> Moments:  # noqa: D102
        return Moments()

    def add(self, accumulator: Moments, value: float | Decimal) -> Moments:  # noqa: D102
        return self.merge(accumulator, _moments(value, 1))

    def subtract(self, accumulator: Moments, value: float | Decimal) -> Moments:  # noqa: D102
        return self.merge(accumulator, _moments(value, -1))

    def merge(self, left: Moments, right: Moments) -> Moments:  # noqa: D102
        return Moments(
            left.count + right.count,
            left.total + right.total,
            left.squares + right.squares,
            left.not_finite + right.not_finite,
        )

    def extract(self, accumulator: Moments) -> float:  # noqa: D102
        if accumulator.not_finite > 0:
            return math.nan
        mean = accumulator.total / accumulator.count
        try:
            return float(accumulator.squares / accumulator.count - mean * mean)
        except OverflowError:
            return math.inf


def _moments(value: object, weight: int) -> Moments:
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        raise ElementError(
            f"the input of Variance must be an int, a float or a Decimal; got {format_value(value)}"
        )
    if not isinstance(value, int) and not math.isfinite(value):
        return Moments(weight, not_finite=weight)
    number = Fraction(value)
    return Moments(weight, weight * number, weight * number * number)
