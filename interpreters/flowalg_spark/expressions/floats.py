"""Operations on floats with Python's results.

In Spark, NaN equals itself and is the greatest float, and integers are divided as rounded floats.
"""

from __future__ import annotations

import math
from typing import Final

from flowalg.lifting.tree.expressions import Apply, Constant, Expr
from flowalg.lifting.tree.failures import INFINITY_AS_INTEGER, NAN_AS_INTEGER, OVERFLOW, can_fail_itself
from flowalg.lifting.tree.halves import SPLITTER, halves
from flowalg.lifting.tree.intervals import Interval, interval
from flowalg.lifting.tree.primitives import Op
from flowalg_spark.encoding import sql
from flowalg_spark.encoding.sql import Sql
from flowalg_spark.expressions.errors import fail_where
from flowalg_spark.expressions.integers import EXACT

_EXACT_FLOATS: Final = 2**53
"""Integers up to this absolute value are exact as floats."""
_QUOTIENT_BITS: Final = 60
"""The number of bits of a quotient before it is rounded to the 53 of a float."""


def _may_be_nan(expr: Expr) -> bool:
    return not (isinstance(expr, Constant) and isinstance(expr.value, float) and not math.isnan(expr.value))


def canonical(of: Sql) -> Sql:
    """Returns floats without negative zeros, by -0.0 + 0.0 = 0.0."""
    return of + 0.0


def equal(node: Apply, a: Sql, b: Sql) -> Sql:
    """Compiles ``==`` of floats."""
    same = a == b
    return same & ~sql.isnan(a) if all(map(_may_be_nan, node.args)) else same


def less(node: Apply, a: Sql, b: Sql) -> Sql:
    """Compiles ``<`` of floats."""
    below = a < b
    return below & ~sql.isnan(b) if _may_be_nan(node.args[1]) else below


def less_equal(node: Apply, a: Sql, b: Sql) -> Sql:
    """Compiles ``<=`` of floats."""
    below = a <= b
    return below & ~sql.isnan(b) if _may_be_nan(node.args[1]) else below


def divide(node: Apply, a: Sql, b: Sql) -> Sql:
    """Compiles ``/`` of floats."""
    return _check_divisor(node, b, a / b, "float division by zero")


def modulo(node: Apply, a: Sql, b: Sql) -> Sql:
    """Compiles ``%`` of floats: the remainder has the sign of the divisor, also if it is zero."""
    return _check_divisor(node, b, _modulo(a, b), "float modulo by zero")


def floor_divide(node: Apply, a: Sql, b: Sql) -> Sql:
    """Compiles ``//`` of floats with the algorithm of CPython."""
    remainder = a % b
    signs_differ = (remainder != 0) & ((remainder < 0) != (b < 0))
    whole = (a - remainder) / b
    whole = sql.when(signs_differ, whole - 1.0).otherwise(whole)
    low = _floor(whole)
    nearest = sql.when(whole - low > 0.5, low + 1.0).otherwise(low)
    minus = sql.startswith((a / b).cast("string"), "-")  # as text, since -0.0 equals 0.0
    zero = sql.when(minus, -0.0).otherwise(0.0)
    return _check_divisor(
        node, b, sql.when(whole == 0, zero).otherwise(nearest), "float floor division by zero"
    )


def _modulo(a: Sql, b: Sql) -> Sql:
    remainder = a % b
    signs_differ = (remainder != 0) & ((remainder < 0) != (b < 0))
    zero = sql.when(b < 0, -0.0).otherwise(0.0)
    return sql.when(signs_differ, remainder + b).when(remainder == 0, zero).otherwise(remainder)


def _floor(a: Sql) -> Sql:
    """Returns the floor of a float, as a float."""
    near = sql.rint(a)
    return sql.when(near > a, near - 1.0).otherwise(near)


def _check_divisor(node: Apply, divisor: Sql, value: Sql, message: str) -> Sql:
    return (
        fail_where(divisor == 0, node, f"ZeroDivisionError: {message}", value)
        if can_fail_itself(node)
        else value
    )


def square_root(node: Apply, a: Sql) -> Sql:
    """Compiles ``math.sqrt``."""
    return fail_where(a < 0, node, "ValueError: math domain error", sql.sqrt(a))


def to_integer(node: Apply, a: Sql) -> Sql:
    """Rounds a float to a 64-bit integer; fails the query if the result is not one."""
    match node.op:
        case Op.FLOOR:
            rounded = _floor(a)
        case Op.CEILING:
            rounded = -_floor(-a)
        case Op.ROUND_HALF_EVEN:
            rounded = sql.rint(a)
        case _:
            rounded = a
    limit = 2.0**63
    outside = (rounded >= limit) | (rounded < -limit)
    whole = fail_where(outside, node, OVERFLOW, rounded.cast("bigint"))
    finite = fail_where(is_infinite(node, a), node, INFINITY_AS_INTEGER, whole)
    return fail_where(sql.isnan(a), node, NAN_AS_INTEGER, finite)


def round_digits(node: Apply, a: Sql, _: Sql) -> Sql:
    """Compiles ``round`` to digits: multiplied by a power of ten, rounded, and divided.

    The product is a float and its exact error, which decides where the float is in the middle of two integers. It has
    no fraction from 2**53 on; then the rounded decimal is so near that its float is the first one.
    """
    scale = 10.0 ** node.integer(1)
    size = sql.abs(a)
    rounded = nearest_to_product(size, scale) / scale * sql.signum(a)
    return sql.when((size * scale < 2.0**53) & (a != 0.0), rounded).otherwise(a)


def nearest_to_product(a: Sql, factor: float) -> Sql:
    """Returns the integer nearest to a product, as a float; the even one of two."""
    product = a * factor
    whole = sql.rint(product)
    in_middle = sql.abs(product - whole) == 0.5
    return sql.when(in_middle, sql.let(a, lambda floats: _nearest_of_two(floats, factor))).otherwise(whole)


def _nearest_of_two(a: Sql, factor: float) -> Sql:
    """Returns the integer nearest to a product whose float is in the middle of two."""
    product = a * factor
    whole = sql.rint(product)
    beyond = product - whole
    is_farther = beyond * _error_of_product(a, factor, product) > 0.0
    return sql.when(is_farther, whole + beyond * 2.0).otherwise(whole)


def _error_of_product(a: Sql, factor: float, product: Sql) -> Sql:
    """Returns the exact difference of a product of floats and its float, by the halves of both."""
    shifted = a * SPLITTER
    upper = shifted - (shifted - a)
    lower = a - upper
    upper_factor, lower_factor = halves(factor)
    error = upper * upper_factor - product + upper * lower_factor + lower * upper_factor
    return error + lower * lower_factor


def is_infinite(_: Apply, a: Sql) -> Sql:
    """Compiles ``math.isinf``."""
    return (a == math.inf) | (a == -math.inf)


def divide_integers(node: Apply, a: Sql, b: Sql) -> Sql:
    """Compiles ``/`` of integers: the float nearest to the quotient.

    Integers up to 2**53 are exact as floats, so a division of floats rounds once. Larger integers would be rounded too.
    """
    small = _is_small(node.args[0], a) & _is_small(node.args[1], b)
    value = a.cast("double") / b.cast("double")
    if not all(interval(arg).within(Interval(-_EXACT_FLOATS, _EXACT_FLOATS)) for arg in node.args):
        value = sql.when(small, value).otherwise(_long_division(a.cast(EXACT), b.cast(EXACT)))
    by_zero = "ZeroDivisionError: division by zero"
    return fail_where(b == 0, node, by_zero, value) if can_fail_itself(node) else value


def _is_small(expr: Expr, column: Sql) -> Sql:
    if interval(expr).within(Interval(-_EXACT_FLOATS, _EXACT_FLOATS)):
        return sql.lit(True)
    return (column >= -_EXACT_FLOATS) & (column <= _EXACT_FLOATS)


def _long_division(a: Sql, b: Sql) -> Sql:
    """Divides integers with a single rounding.

    The quotient is scaled by a power of two to at least 60 bits, and a sticky bit is appended if there is a remainder.
    The cast to a float rounds once; dividing by the power of two is exact.
    """
    top, bottom = sql.abs(a), sql.abs(b)
    nearly = top.cast("double") / bottom.cast("double")
    shift = sql.greatest(sql.lit(_QUOTIENT_BITS) - sql.floor(sql.log2(nearly)).cast("int"), 0)
    half = sql.shiftright(shift, 1)
    numerator = ((top * _power_of_two(half)).cast(EXACT) * _power_of_two(shift - half)).cast(EXACT)
    remainder = numerator % bottom
    bits = ((numerator - remainder).cast(EXACT) / bottom).cast(EXACT) * sql.lit(2).cast(EXACT)
    rounded = (bits.cast(EXACT) + sql.when(remainder == 0, 0).otherwise(1)).cast("double")
    magnitude = rounded / sql.pow(2.0, (shift + 1).cast("double"))
    return sql.when((a < 0) != (b < 0), -magnitude).otherwise(magnitude)


def _power_of_two(exponent: Sql) -> Sql:
    """Returns two to the power of an exponent up to 62, as a decimal."""
    return sql.shiftleft(sql.long(1), exponent).cast(EXACT)
