"""Statistical combiners that are groups."""

from __future__ import annotations

from fractions import Fraction

from attrs import frozen

from flowalg.combiners.core import Group
from flowalg.data.errors import ElementError, format_value


@frozen
class Moments:
    """The accumulator of ``Variance``: the count, the exact sum, and the exact sum of squares."""

    count: int = 0
    total: Fraction = Fraction(0)
    squares: Fraction = Fraction(0)


@frozen
class Variance(Group[float, Moments, float]):
    """The population variance, a float: the mean of the squared deviations from the mean.

    It is computed from exact sums, so it does not depend on the order of the values, and a value can be subtracted
    without residue. NaN and infinities are rejected.
    """

    def zero(self) -> Moments:  # noqa: D102
        return Moments()

    def add(self, accumulator: Moments, value: float) -> Moments:  # noqa: D102
        return self.merge(accumulator, _moments(value, 1))

    def subtract(self, accumulator: Moments, value: float) -> Moments:  # noqa: D102
        return self.merge(accumulator, _moments(value, -1))

    def merge(self, left: Moments, right: Moments) -> Moments:  # noqa: D102
        return Moments(left.count + right.count, left.total + right.total, left.squares + right.squares)

    def extract(self, accumulator: Moments) -> float:  # noqa: D102
        mean = accumulator.total / accumulator.count
        return float(accumulator.squares / accumulator.count - mean * mean)


def _moments(value: object, weight: int) -> Moments:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ElementError(f"the input of Variance must be an int or a float; got {format_value(value)}")
    try:
        exact = Fraction(value)
    except (ValueError, OverflowError) as infinite:
        raise ElementError(f"the input of Variance must be finite; got {format_value(value)}") from infinite
    return Moments(weight, weight * exact, weight * exact * exact)


__all__ = ["Moments", "Variance"]
