"""Integer arithmetic in 64 bits, where an overflow gives null, and in 38 decimal digits, which do not overflow."""

from __future__ import annotations

from typing import Final

from flowalg.lifting.tree.expressions import Apply
from flowalg.lifting.tree.failures import ZERO_DIVISION, can_fail_itself
from flowalg.lifting.tree.intervals import STORED, interval
from flowalg.lifting.tree.primitives import Op
from flowalg_spark.encoding import sql
from flowalg_spark.encoding.sql import Sql
from flowalg_spark.expressions.errors import fail_where

EXACT: Final = "decimal(38,0)"
ARITHMETIC: Final = (Op.ADD, Op.SUBTRACT, Op.MULTIPLY, Op.NEGATE, Op.FLOOR_DIVIDE, Op.MODULO)
"""The operations that are compiled both ways."""


def compute_in_64_bits(node: Apply, *args: Sql) -> Sql:
    """Compiles an operation in 64 bits; null where it overflows."""
    wide = not interval(node).within(STORED)
    match node.op, args:
        case Op.ADD, (a, b):
            return sql.try_add(a, b) if wide else a + b
        case Op.SUBTRACT, (a, b):
            return sql.try_subtract(a, b) if wide else a - b
        case Op.MULTIPLY, (a, b):
            return sql.try_multiply(a, b) if wide else a * b
        case Op.NEGATE, (a,):
            return sql.try_subtract(sql.long(0), a)
        case Op.FLOOR_DIVIDE, (a, b):
            return _check_divisor(node, b, _floor_divide(node, a, b))
        case Op.MODULO, (a, b):
            return _check_divisor(node, b, _modulo(node, a, b))
        case _:
            raise AssertionError(f"{node.op} is not integer arithmetic")


def compute_in_38_digits(node: Apply, *args: Sql) -> Sql:
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


def _check_divisor(node: Apply, divisor: Sql, value: Sql) -> Sql:
    return fail_where(divisor == 0, node, ZERO_DIVISION, value) if can_fail_itself(node) else value


def _floor_divide(node: Apply, a: Sql, b: Sql) -> Sql:
    """Compiles ``//``: Spark rounds towards zero, Python down. The least integer divided by -1 overflows."""
    dividend, divisor = map(interval, node.args)
    if dividend.low >= 0 and divisor.low > 0:
        return a.div(b)
    remainder = a % b
    down = remainder < 0 if divisor.low > 0 else (remainder != 0) & ((remainder < 0) != (b < 0))
    rounded = a.div(b) - sql.when(down, sql.long(1)).otherwise(sql.long(0))
    return (
        sql.when(b == -1, sql.try_subtract(sql.long(0), a)).otherwise(rounded) if -1 in divisor else rounded
    )


def _modulo(node: Apply, a: Sql, b: Sql) -> Sql:
    """Compiles ``%``: Spark's remainder has the sign of the dividend, Python's that of the divisor."""
    dividend, divisor = map(interval, node.args)
    if divisor.low > 0:
        return a % b if dividend.low >= 0 else sql.pmod(a, b)
    remainder = a % b
    signs_differ = (remainder != 0) & ((remainder < 0) != (b < 0))
    return sql.when(signs_differ, remainder + b).otherwise(remainder)
