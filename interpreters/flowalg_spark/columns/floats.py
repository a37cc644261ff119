"""Floats: Spark's NaN is equal to itself and above everything, and its integers divide through rounded floats."""

from __future__ import annotations

import math
from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F

from flowalg.lifting.expressions import Apply, Constant, Expr
from flowalg.lifting.failures import fails
from flowalg.lifting.intervals import Interval, interval
from flowalg.lifting.primitives import Op
from flowalg_spark.columns.errors import unless
from flowalg_spark.columns.integers import EXACT, quotient

_AS_FLOATS: Final = 2**53
"""Integers up to here are floats exactly."""
_BITS: Final = 62
"""Of a shift, and of the quotient that is rounded to a float's 53."""


def _may_be_nan(expr: Expr) -> bool:
    return not (isinstance(expr, Constant) and isinstance(expr.value, float) and not math.isnan(expr.value))


def equal(node: Apply, a: Column, b: Column) -> Column:
    """Python's ``==`` of floats."""
    same = a == b
    return same & ~F.isnan(a) if all(map(_may_be_nan, node.args)) else same


def less(node: Apply, a: Column, b: Column) -> Column:
    """Python's ``<`` of floats."""
    below = a < b
    return below & ~F.isnan(b) if _may_be_nan(node.args[1]) else below


def less_equal(node: Apply, a: Column, b: Column) -> Column:
    """Python's ``<=`` of floats."""
    below = a <= b
    return below & ~F.isnan(b) if _may_be_nan(node.args[1]) else below


def divided(node: Apply, a: Column, b: Column) -> Column:
    """``/`` of floats."""
    return _checked(node, b, a / b, "float division by zero")


def modulo(node: Apply, a: Column, b: Column) -> Column:
    """``%`` of floats: the remainder with the sign of the divisor, even where it is zero."""
    return _checked(node, b, _modulo(a, b), "float modulo by zero")


def floor_divided(node: Apply, a: Column, b: Column) -> Column:
    """``//`` of floats, by the steps that Python takes."""
    remainder = a % b
    other_side = (remainder != 0) & ((remainder < 0) != (b < 0))
    whole = (a - remainder) / b
    whole = F.when(other_side, whole - F.lit(1.0)).otherwise(whole)
    low = _floor(whole)
    nearest = F.when(whole - low > 0.5, low + F.lit(1.0)).otherwise(low)
    minus = F.startswith((a / b).cast("string"), F.lit("-"))  # tells -0.0 from 0.0, which are equal
    zero = F.when(minus, F.lit(-0.0)).otherwise(F.lit(0.0))
    return _checked(node, b, F.when(whole == 0, zero).otherwise(nearest), "float floor division by zero")


def _modulo(a: Column, b: Column) -> Column:
    remainder = a % b
    other_side = (remainder != 0) & ((remainder < 0) != (b < 0))
    zero = F.when(b < 0, F.lit(-0.0)).otherwise(F.lit(0.0))
    return F.when(other_side, remainder + b).when(remainder == 0, zero).otherwise(remainder)


def _floor(a: Column) -> Column:
    """The greatest whole number up to a float, as a float."""
    near = F.rint(a)
    return F.when(near > a, near - F.lit(1.0)).otherwise(near)


def _checked(node: Apply, divisor: Column, value: Column, message: str) -> Column:
    return unless(divisor == 0, node, f"ZeroDivisionError: {message}", value) if fails(node) else value


def square_root(node: Apply, a: Column) -> Column:
    """``math.sqrt``."""
    return unless(a < 0, node, "ValueError: math domain error", F.sqrt(a))


def whole(node: Apply, a: Column) -> Column:
    """A float as a 64-bit integer, rounded as the operation says; a failure if there is none."""
    match node.op:
        case Op.FLOOR:
            rounded = _floor(a)
        case Op.CEILING:
            rounded = -_floor(-a)
        case Op.ROUND_HALF_EVEN:
            rounded = F.rint(a)
        case _:
            rounded = a
    limit = F.lit(2.0**63)
    outside = F.isnan(a) | (rounded >= limit) | (rounded < -limit)
    message = "the float is NaN, or has no integer in [-2**63, 2**63)"
    return unless(outside, node, message, rounded.cast("bigint"))


def is_infinite(_: Apply, a: Column) -> Column:
    """``math.isinf``."""
    return (a == F.lit(math.inf)) | (a == F.lit(-math.inf))


def true_quotient(node: Apply, a: Column, b: Column) -> Column:
    """The float nearest to the quotient of two integers, as Python's ``/`` has it.

    Up to 2**53 integers are floats, and one division rounds once. Beyond that, floats would round three times; then
    the quotient is computed to 62 bits, whose last one says whether there is a remainder, and these are rounded.
    """
    small = _is_small(node.args[0], a) & _is_small(node.args[1], b)
    value = a.cast("double") / b.cast("double")
    if not all(interval(one).within(Interval(-_AS_FLOATS, _AS_FLOATS)) for one in node.args):
        value = F.when(small, value).otherwise(_long_division(a.cast(EXACT), b.cast(EXACT)))
    by_zero = "ZeroDivisionError: division by zero"
    return unless(b == 0, node, by_zero, value) if fails(node) else value


def _is_small(expr: Expr, column: Column) -> Column:
    if interval(expr).within(Interval(-_AS_FLOATS, _AS_FLOATS)):
        return F.lit(True)
    return (column >= -_AS_FLOATS) & (column <= _AS_FLOATS)


def _long_division(a: Column, b: Column) -> Column:
    top, bottom = F.abs(a), F.abs(b)
    shift = F.lit(_BITS) + _bit_length(bottom) - _bit_length(top)
    up, down = _power_of_two(F.greatest(shift, F.lit(0))), _power_of_two(F.greatest(-shift, F.lit(0)))
    numerator, denominator = (top * up).cast(EXACT), (bottom * down).cast(EXACT)
    bits = quotient(numerator, denominator)
    is_exact = (bits.cast(EXACT) * denominator).cast(EXACT) == numerator
    rounded = F.when(is_exact, bits).otherwise(bits.bitwiseOR(F.lit(1).cast("bigint"))).cast("double")
    magnitude = rounded / up.cast("double") * down.cast("double")
    return F.when((a < 0) != (b < 0), -magnitude).otherwise(magnitude)


def _bit_length(a: Column) -> Column:
    """The number of bits of a decimal below 2**125."""
    high = quotient(a, F.lit(2**_BITS).cast(EXACT))
    return F.when(high > 0, F.length(F.bin(high)) + _BITS).otherwise(F.length(F.bin(a.try_cast("bigint"))))


def _power_of_two(exponent: Column) -> Column:
    """Two to the power of a number up to 125, as a decimal."""
    one = F.lit(1).cast("bigint")
    result = F.lit(1).cast(EXACT)
    for part in range(3):
        rest = F.least(F.greatest(exponent - part * _BITS, F.lit(0)), F.lit(_BITS))
        result = (result * F.call_function("shiftleft", one, rest).cast(EXACT)).cast(EXACT)
    return result


__all__ = [
    "divided",
    "equal",
    "floor_divided",
    "is_infinite",
    "less",
    "less_equal",
    "modulo",
    "square_root",
    "true_quotient",
    "whole",
]
