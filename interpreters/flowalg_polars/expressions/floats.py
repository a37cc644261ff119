"""Operations on floats with Python's results.

In Polars, NaN equals itself and is the greatest float, and the remainder is not exact. If an operand has one value in
all rows, Polars divides by its reciprocal, and adds and subtracts zeros without regard to their signs.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Final

import numpy as np
import polars as pl

from flowalg.lifting.tree.expressions import Apply, Constant, Expr
from flowalg.lifting.tree.failures import INFINITY_AS_INTEGER, NAN_AS_INTEGER, OVERFLOW, can_fail_itself
from flowalg.lifting.tree.halves import SPLITTER, halves
from flowalg.lifting.tree.intervals import Interval, interval
from flowalg.lifting.tree.primitives import Op
from flowalg_polars.expressions.failures import Failures, fail_where

FLOAT: Final = pl.Float64()
_EXACT_FLOATS: Final = Interval(-(2**53), 2**53)
"""Integers that floats represent exactly."""


def _may_be_nan(expr: Expr) -> bool:
    return not (isinstance(expr, Constant) and isinstance(expr.value, float) and not math.isnan(expr.value))


def equal(node: Apply, a: pl.Expr, b: pl.Expr) -> pl.Expr:
    """Compiles ``==`` of floats."""
    same = a == b
    return same & ~a.is_nan() if all(map(_may_be_nan, node.args)) else same


def less(node: Apply, a: pl.Expr, b: pl.Expr) -> pl.Expr:
    """Compiles ``<`` of floats."""
    below = a < b
    return below & ~b.is_nan() if _may_be_nan(node.args[1]) else below


def less_equal(node: Apply, a: pl.Expr, b: pl.Expr) -> pl.Expr:
    """Compiles ``<=`` of floats."""
    below = a <= b
    return below & ~b.is_nan() if _may_be_nan(node.args[1]) else below


def add(node: Apply, a: pl.Expr, b: pl.Expr) -> pl.Expr:
    """Compiles ``+`` of floats."""
    return a + b if any(map(_is_nonzero, node.args)) else _by_rows(operator.add, a, b)


def subtract(node: Apply, a: pl.Expr, b: pl.Expr) -> pl.Expr:
    """Compiles ``-`` of floats."""
    return a - b if any(map(_is_nonzero, node.args)) else _by_rows(operator.sub, a, b)


def divide(node: Apply, a: pl.Expr, b: pl.Expr) -> tuple[pl.Expr, Failures]:
    """Compiles ``/`` of floats."""
    return _quotient(node, a, b), check_divisor(node, b, "float division by zero")


def _quotient(node: Apply, a: pl.Expr, b: pl.Expr) -> pl.Expr:
    """Divides floats, rounded once."""
    return a / b if _has_exact_reciprocal(node.args[1]) else _by_rows(operator.truediv, a, b)


def _by_rows(operation: Callable[[pl.Expr, pl.Expr], pl.Expr], a: pl.Expr, b: pl.Expr) -> pl.Expr:
    """Computes an operation of columns with a value for each row, as those of a struct are.

    Making a struct copies nothing, except a value that is the same in all rows. Each operand occurs once, so nested
    operations do not multiply the plan.
    """
    result = operation(pl.field("a"), pl.field("b")).alias("result")
    return pl.struct(a.alias("a"), b.alias("b")).struct.with_fields(result).struct.field("result")


def _is_nonzero(expr: Expr) -> bool:
    """Returns whether an expression is a constant that is not zero."""
    return isinstance(expr, Constant) and bool(expr.value)


def _has_exact_reciprocal(expr: Expr) -> bool:
    """Returns whether an expression is a power of two whose reciprocal is a float too."""
    if not isinstance(expr, Constant) or not isinstance(expr.value, int | float):
        return False
    mantissa, exponent = math.frexp(expr.value)
    return abs(mantissa) == 0.5 and abs(exponent) < 1000


def modulo(node: Apply, a: pl.Expr, b: pl.Expr) -> tuple[pl.Expr, Failures]:
    """Compiles ``%`` of floats."""
    return _in_numpy(np.remainder, a, b), check_divisor(node, b, "float modulo by zero")


def floor_divide(node: Apply, a: pl.Expr, b: pl.Expr) -> tuple[pl.Expr, Failures]:
    """Compiles ``//`` of floats."""
    return _in_numpy(np.floor_divide, a, b), check_divisor(node, b, "float floor division by zero")


def round_digits(node: Apply, a: pl.Expr, _: pl.Expr) -> pl.Expr:
    """Compiles ``round`` to digits: multiplied by a power of ten, rounded, and divided.

    The product is a float and its exact error, which decides where the float is in the middle of two integers. It has
    no fraction from 2**53 on; then the rounded decimal is so near that its float is the first one.
    """
    scale = 10.0 ** node.integer(1)
    upper_scale, lower_scale = halves(scale)

    def compute(columns: Sequence[pl.Series]) -> pl.Series:
        floats = columns[0].to_numpy()
        size = np.abs(floats)
        with np.errstate(all="ignore"):
            product = size * scale
            shifted = size * SPLITTER
            upper = shifted - (shifted - size)
            lower = size - upper
            error = upper * upper_scale - product + upper * lower_scale + lower * upper_scale
            error += lower * lower_scale
            whole = np.rint(product)
            beyond = product - whole
            is_farther = (np.abs(beyond) == 0.5) & (beyond * error > 0)
            rounded = np.copysign(np.where(is_farther, whole + beyond * 2, whole) / scale, floats)
        return pl.Series(np.where(product < _EXACT_FLOATS.high, rounded, floats), dtype=FLOAT)

    return pl.map_batches([a], compute, return_dtype=FLOAT, is_elementwise=True)


def fixed_point(node: Apply, a: pl.Expr, _: pl.Expr) -> pl.Expr:
    """Compiles the decimal of a float with a constant number of digits after its point."""
    write = f"{{:.{node.integer(1)}f}}".format

    def compute(columns: Sequence[pl.Series]) -> pl.Series:
        numbers: Iterable[float | None] = columns[0].to_list()
        return pl.Series([None if number is None else write(number) for number in numbers], dtype=pl.String())

    return pl.map_batches([a], compute, return_dtype=pl.String(), is_elementwise=True)


def _in_numpy(operation: np.ufunc, a: pl.Expr, b: pl.Expr) -> pl.Expr:
    """Computes an operation in NumPy, which has the algorithm of CPython for it. A null counts as NaN."""

    def compute(columns: Sequence[pl.Series]) -> pl.Series:
        with np.errstate(all="ignore"):
            return pl.Series(operation(*(column.to_numpy() for column in columns)), dtype=FLOAT)

    return pl.map_batches([a, b], compute, return_dtype=FLOAT, is_elementwise=True)


def check_divisor(node: Apply, divisor: pl.Expr, message: str) -> Failures:
    """Returns the failure of a division by zero."""
    return (
        fail_where(divisor == 0, node.location, f"ZeroDivisionError: {message}")
        if can_fail_itself(node)
        else ()
    )


def _broadcast(a: pl.Series, b: pl.Series) -> tuple[pl.Series, pl.Series]:
    """Returns columns of the same length, of which one may have been a constant."""
    if len(a) == len(b):
        return a, b
    return (a.new_from_index(0, len(b)), b) if len(a) == 1 else (a, b.new_from_index(0, len(a)))


def square_root(node: Apply, a: pl.Expr) -> tuple[pl.Expr, Failures]:
    """Compiles ``math.sqrt``."""
    return a.sqrt(), fail_where(a < 0, node.location, "ValueError: math domain error")


def to_integer(node: Apply, a: pl.Expr) -> tuple[pl.Expr, Failures]:
    """Rounds a float to a 64-bit integer."""
    match node.op:
        case Op.FLOOR:
            rounded = a.floor()
        case Op.CEILING:
            rounded = a.ceil()
        case Op.ROUND_HALF_EVEN:
            rounded = a.round(0, mode="half_to_even")
        case _:
            rounded = a
    whole = rounded.cast(pl.Int64(), strict=False)
    not_a_number = fail_where(a.is_nan(), node.location, NAN_AS_INTEGER)
    infinite = fail_where(a.is_infinite(), node.location, INFINITY_AS_INTEGER)
    return whole, (*not_a_number, *infinite, *fail_where(whole.is_null(), node.location, OVERFLOW))


def divide_integers(node: Apply, a: pl.Expr, b: pl.Expr) -> tuple[pl.Expr, Failures]:
    """Compiles ``/`` of integers: the float nearest to the quotient.

    Integers up to 2**53 are exact as floats, so a division of floats rounds once. Python divides rows with larger ones.
    """
    by_zero = (
        fail_where(b == 0, node.location, "ZeroDivisionError: division by zero")
        if can_fail_itself(node)
        else ()
    )
    if all(interval(arg).within(_EXACT_FLOATS) for arg in node.args):
        return _quotient(node, a.cast(FLOAT), b.cast(FLOAT)), by_zero
    return pl.map_batches([a, b], _divide_integers, return_dtype=FLOAT, is_elementwise=True), by_zero


def _divide_integers(columns: Sequence[pl.Series]) -> pl.Series:
    a, b = _broadcast(*columns)
    quotients = a.cast(FLOAT) / b.cast(FLOAT)
    large = (~_is_exact(a) | ~_is_exact(b)).arg_true()
    if large.is_empty():
        return quotients
    rows: Iterable[tuple[int | None, int | None]] = zip(a[large].to_list(), b[large].to_list(), strict=True)
    return quotients.scatter(large, [None if x is None or not y else x / y for x, y in rows])


def _is_exact(column: pl.Series) -> pl.Series:
    return column.is_between(_EXACT_FLOATS.low, _EXACT_FLOATS.high)
