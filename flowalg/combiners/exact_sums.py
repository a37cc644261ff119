"""Exact sums of numbers: a value that is added and then retracted leaves no residue.

The sum of floats by ``+`` depends on their order, and cancellation loses digits: 1e17 + 1.0 - 1e17 is 0.0 or 1.0. A
finite float is a whole multiple of the least float above zero, 2**-1074, so a sum of floats is one integer. Infinities
and NaN are counted apart. A decimal is a whole multiple of 10**-18, so a sum of decimals is one integer too, whatever
the decimal context of the thread.
"""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Final, TypeAlias

from attrs import frozen

from flowalg.data.errors import ElementError
from flowalg.data.shapes import DECIMAL_SCALE
from flowalg.data.values import EXACT_DECIMALS, canonical_decimal

_UNIT_BITS: Final = 1074
_DECIMAL_UNITS: Final[int] = 10**DECIMAL_SCALE

Number: TypeAlias = int | float | Decimal
"""What is added."""


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
        """Returns the sum, rounded once; infinite if it is beyond the largest float."""
        if self.nans > 0 or (self.infinities > 0 and self.negative_infinities > 0):
            return math.nan
        if self.infinities > 0 or self.negative_infinities > 0:
            return math.inf if self.infinities > 0 else -math.inf
        try:
            return self.units / (1 << _UNIT_BITS)
        except OverflowError:
            return math.inf if self.units > 0 else -math.inf


@frozen
class DecimalSum:
    """The exact sum of decimals and integers: ``units`` multiples of 10**-18.

    ``count`` is the number of decimals less the retracted ones; without decimals a sum is an integer.
    """

    count: int
    units: int

    def over(self, count: int, where: str) -> Decimal:
        """Returns the sum divided by a positive number, rounded half-even to 18 places.

        Raises ``ValueRangeError``, which begins with ``where``, if that has more than 20 digits before the point.
        """
        whole, rest = divmod(self.units, count)
        whole += 2 * rest > count or (2 * rest == count and whole % 2)
        return canonical_decimal(Decimal((whole < 0, _digits(abs(whole)), -DECIMAL_SCALE)), where)


def _digits(number: int) -> tuple[int, ...]:
    return tuple(map(int, str(number)))


ExactSum: TypeAlias = int | FloatSum | DecimalSum
"""An exact sum: of integers an integer, of which none or some are floats or decimals otherwise."""


def exact(value: Number, weight: int = 1) -> ExactSum:
    """Returns a value as an exact sum; with weight -1 its inverse. Raises ``ValueRangeError`` for a large decimal."""
    if isinstance(value, int):
        return weight * value
    if isinstance(value, Decimal):
        scaled = canonical_decimal(value, "a number").scaleb(DECIMAL_SCALE, EXACT_DECIMALS)
        return DecimalSum(weight, weight * int(scaled))
    if math.isnan(value):
        return FloatSum(weight, nans=weight)
    if math.isinf(value):
        return (
            FloatSum(weight, infinities=weight) if value > 0 else FloatSum(weight, negative_infinities=weight)
        )
    numerator, denominator = value.as_integer_ratio()
    return FloatSum(weight, weight * (numerator << _UNIT_BITS + 1 - denominator.bit_length()))


def add_exactly(left: ExactSum, right: ExactSum) -> ExactSum:
    """Returns the exact sum of two sums; raises ``ElementError`` for a float and a decimal, which Python cannot add."""
    match left, right:
        case int(), int():
            return left + right
        case ((DecimalSum() | int()), (DecimalSum() | int())):
            one, other = _with_decimals(left), _with_decimals(right)
            return _add_decimals(one, other)
        case ((FloatSum() | int()), (FloatSum() | int())):
            return _add_floats(_with_floats(left), _with_floats(right))
        case _:
            raise ElementError("a float and a Decimal cannot be added")


def _add_decimals(left: DecimalSum, right: DecimalSum) -> int | DecimalSum:
    count, units = left.count + right.count, left.units + right.units
    whole, rest = divmod(units, _DECIMAL_UNITS)
    return DecimalSum(count, units) if count or rest else whole


def _add_floats(left: FloatSum, right: FloatSum) -> int | FloatSum:
    total = FloatSum(
        left.count + right.count,
        left.units + right.units,
        left.nans + right.nans,
        left.infinities + right.infinities,
        left.negative_infinities + right.negative_infinities,
    )
    whole, rest = divmod(total.units, 1 << _UNIT_BITS)
    return whole if total == FloatSum(0, total.units) and not rest else total


def _with_floats(value: int | FloatSum) -> FloatSum:
    return FloatSum(0, value << _UNIT_BITS) if isinstance(value, int) else value


def _with_decimals(value: int | DecimalSum) -> DecimalSum:
    return DecimalSum(0, value * _DECIMAL_UNITS) if isinstance(value, int) else value
