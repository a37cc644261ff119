"""Exact sums of floats: a value that is added and then retracted leaves no residue.

The sum of floats by ``+`` depends on their order, and cancellation loses digits: 1e17 + 1.0 - 1e17 is 0.0 or 1.0. A
finite float is a whole multiple of the least float above zero, 2**-1074, so a sum of floats is one integer. Infinities
and NaN are counted apart.
"""

from __future__ import annotations

import math
from typing import Final, TypeAlias

from attrs import frozen

_UNIT_BITS: Final = 1074


@frozen
class FloatSum:
    """The exact sum of floats and integers: ``units`` multiples of 2**-1074, and the numbers of values not finite.

    ``count`` is the number of floats less the retracted ones; without floats a sum is an integer.
    """

    count: int = 0
    units: int = 0
    nans: int = 0
    infinities: int = 0
    negative_infinities: int = 0

    def __float__(self) -> float:
        """The sum, rounded once; infinite if it is beyond the largest float."""
        if self.nans > 0 or (self.infinities > 0 and self.negative_infinities > 0):
            return math.nan
        if self.infinities > 0 or self.negative_infinities > 0:
            return math.inf if self.infinities > 0 else -math.inf
        try:
            return self.units / (1 << _UNIT_BITS)
        except OverflowError:
            return math.inf if self.units > 0 else -math.inf


ExactSum: TypeAlias = int | FloatSum
"""An exact sum: of integers an integer, of which none or some are floats otherwise."""


def exact(value: float, weight: int = 1) -> ExactSum:
    """Returns a value as an exact sum; with weight -1 its inverse."""
    if isinstance(value, int):
        return weight * value
    if math.isnan(value):
        return FloatSum(weight, nans=weight)
    if math.isinf(value):
        return (
            FloatSum(weight, infinities=weight) if value > 0 else FloatSum(weight, negative_infinities=weight)
        )
    numerator, denominator = value.as_integer_ratio()
    return FloatSum(weight, weight * (numerator << _UNIT_BITS + 1 - denominator.bit_length()))


def add_exactly(left: ExactSum, right: ExactSum) -> ExactSum:
    """Returns the exact sum of two sums."""
    if isinstance(left, int) and isinstance(right, int):
        return left + right
    one, other = _with_floats(left), _with_floats(right)
    total = FloatSum(
        one.count + other.count,
        one.units + other.units,
        one.nans + other.nans,
        one.infinities + other.infinities,
        one.negative_infinities + other.negative_infinities,
    )
    whole, rest = divmod(total.units, 1 << _UNIT_BITS)
    return whole if total == FloatSum(0, total.units) and not rest else total


def _with_floats(value: ExactSum) -> FloatSum:
    return FloatSum(0, value << _UNIT_BITS) if isinstance(value, int) else value


__all__ = ["ExactSum", "FloatSum", "add_exactly", "exact"]
