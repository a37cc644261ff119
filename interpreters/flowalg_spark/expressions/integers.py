"""Integer arithmetic in 64 bits, where an overflow gives null, and in 38 decimal digits, which do not overflow."""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F

from flowalg.lifting.tree.expressions import Apply
from flowalg.lifting.tree.failures import ZERO_DIVISION, can_fail_itself
from flowalg.lifting.tree.intervals import STORED, interval
from flowalg.lifting.tree.primitives import Op
from flowalg_spark.expressions.errors import fail_where

EXACT: Final = "decimal(38,0)"
ARITHMETIC: Final = (Op.ADD, Op.SUBTRACT, Op.MULTIPLY, Op.NEGATE, Op.FLOOR_DIVIDE, Op.MODULO)
"""The operations that are compiled both ways."""


def long_literal(value: int) -> Column:
    """Returns a 64-bit literal; null if the value does not fit."""
    return F.expr(f"CAST({f'{value:d}' if value in STORED else 'NULL'} AS BIGINT)")


def truncating_quotient(a: Column, b: Column) -> Column:
    """Returns the quotient of columns of one type, rounded towards zero, as a 64-bit integer."""
    return F.call_function("div", a, b)


def compute_in_64_bits(node: Apply, *args: Column) -> Column:
    """Compiles an operation in 64 bits; null where it overflows."""
    wide = not interval(node).within(STORED)
    match node.op, args:
        case Op.ADD, (a, b):
            return F.try_add(a, b) if wide else a + b
        case Op.SUBTRACT, (a, b):
            return F.try_subtract(a, b) if wide else a - b
        case Op.MULTIPLY, (a, b):
            return F.try_multiply(a, b) if wide else a * b
        case Op.NEGATE, (a,):
            return F.try_subtract(long_literal(0), a)
        case Op.FLOOR_DIVIDE, (a, b):
            return _check_divisor(node, b, _floor_divide(node, a, b))
        case Op.MODULO, (a, b):
            return _check_divisor(node, b, _modulo(node, a, b))
        case _:
            raise AssertionError(f"{node.op} is not integer arithmetic")


def compute_in_38_digits(node: Apply, *args: Column) -> Column:
    """Compiles an operation in 38 decimal digits. Lifting has checked that they do not overflow."""
    match node.op, args:
        case Op.ADD, (a, b):
            result = a + b
        case Op.SUBTRACT, (a, b):
            result = a - b
        case Op.MULTIPLY, (a, b):
            result = a * b
        case Op.NEGATE, (a,):
            result = -a
        case Op.FLOOR_DIVIDE, (a, b):
            result = _check_divisor(node, b, (a - _modulo(node, a, b)).cast(EXACT) / b)
        case Op.MODULO, (a, b):
            result = _check_divisor(node, b, _modulo(node, a, b))
        case _:
            raise AssertionError(f"{node.op} is not integer arithmetic")
    return result.cast(EXACT)


def _check_divisor(node: Apply, divisor: Column, value: Column) -> Column:
    return fail_where(divisor == F.lit(0), node, ZERO_DIVISION, value) if can_fail_itself(node) else value


def _floor_divide(node: Apply, a: Column, b: Column) -> Column:
    """Compiles ``//``: Spark rounds towards zero, Python down. The least integer divided by -1 overflows."""
    dividend, divisor = map(interval, node.args)
    if dividend.low >= 0 and divisor.low > 0:
        return truncating_quotient(a, b)
    remainder = a % b
    down = remainder < 0 if divisor.low > 0 else (remainder != 0) & ((remainder < 0) != (b < 0))
    rounded = truncating_quotient(a, b) - F.when(down, long_literal(1)).otherwise(long_literal(0))
    return (
        F.when(b == -1, F.try_subtract(long_literal(0), a)).otherwise(rounded) if -1 in divisor else rounded
    )


def _modulo(node: Apply, a: Column, b: Column) -> Column:
    """Compiles ``%``: Spark's remainder has the sign of the dividend, Python's that of the divisor."""
    dividend, divisor = map(interval, node.args)
    if divisor.low > 0:
        return a % b if dividend.low >= 0 else F.pmod(a, b)
    remainder = a % b
    signs_differ = (remainder != 0) & ((remainder < 0) != (b < 0))
    return F.when(signs_differ, remainder + b).otherwise(remainder)
