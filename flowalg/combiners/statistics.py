"""Statistical combiners that can also take values back."""

from __future__ import annotations

from fractions import Fraction

from attrs import frozen

from flowalg.combiners.core import Group
from flowalg.data.errors import ElementError, format_value


@frozen
class Moments:
    """The accumulator of ``Variance``: how many values, their sum, and the sum of their squares, exactly."""

    count: int = 0
    total: Fraction = Fraction(0)
    squares: Fraction = Fraction(0)


@frozen
class Variance(Group[float, Moments, float]):
    """The population variance, a float: the mean of the squared distances from the mean.

    Computed from exact sums, so that it does not depend on the order of the values and a value can be taken back
    without a trace. NaN and infinities are refused.
    """

    def zero(self) -> Moments:  # noqa: D102
        return Moments()

    def add(self, accumulator: Moments, value: float) -> Moments:  # noqa: D102
        return self.merge(accumulator, _moments(value, 1))

    def subtract(self, accumulator: Moments, value: float) -> Moments:  # noqa: D102
        return self.merge(accumulator, _moments(value, -1))

    def merge(self, one: Moments, other: Moments) -> Moments:  # noqa: D102
        return Moments(one.count + other.count, one.total + other.total, one.squares + other.squares)

    def extract(self, accumulator: Moments) -> float:  # noqa: D102
        mean = accumulator.total / accumulator.count
        return float(accumulator.squares / accumulator.count - mean * mean)


def _moments(value: object, weight: int) -> Moments:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ElementError(f"Variance was given {format_value(value)}; it takes int and float values")
    try:
        exact = Fraction(value)
    except (ValueError, OverflowError) as infinite:
        raise ElementError(
            f"Variance was given {format_value(value)}, which is no finite number"
        ) from infinite
    return Moments(weight, weight * exact, weight * exact * exact)


__all__ = ["Moments", "Variance"]
