"""Where evaluating an expression can fail, in Python and in an engine that stores integers in 64 bits."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from flowalg.data.shapes import DURATION, INTEGER
from flowalg.lifting.tree.expressions import (
    Apply,
    Choice,
    Constant,
    Each,
    Expr,
    Match,
    Opaque,
    children,
    first_opaque,
    walk,
)
from flowalg.lifting.tree.intervals import DAYS, DURATIONS, INSTANTS, STORED, Interval, interval
from flowalg.lifting.tree.primitives import Op

OVERFLOW: Final = "the result overflows 64 bits: integers must lie in [-2**63, 2**63)"
DURATION_OVERFLOW: Final = (
    "the result overflows 64 bits: the microseconds of a timedelta must lie in [-2**63, 2**63)"
)
ZERO_DIVISION: Final = "ZeroDivisionError: integer division or modulo by zero"
NAN_AS_INTEGER: Final = "ValueError: cannot convert float NaN to integer"
TOO_LONG: Final = "OverflowError: days must have magnitude <= 999999999"
INFINITY_AS_INTEGER: Final = "OverflowError: cannot convert float infinity to integer"
"""The messages of failures in an engine: those of Python, and of integers and durations that an engine cannot store."""

_RANGES: Final[Mapping[Op, Interval]] = {Op.INSTANT: INSTANTS, Op.DAY: DAYS, Op.DURATION: DURATIONS}
_DIVISIONS: Final = (Op.FLOOR_DIVIDE, Op.MODULO, Op.DIVIDE)
_FLOAT_DIVISIONS: Final = (Op.FLOAT_DIVIDE, Op.FLOAT_FLOOR_DIVIDE, Op.FLOAT_MODULO)
_PARTIAL: Final = (
    Op.SQUARE_ROOT,
    Op.TRUNCATE,
    Op.FLOOR,
    Op.CEILING,
    Op.ROUND_HALF_EVEN,
    Op.CHARACTER,
    Op.ITEM,
    Op.REQUIRE,
)


def can_fail_itself(expr: Expr) -> bool:
    """Returns whether this node itself may raise in Python, given its arguments; an opaque node may do anything."""
    if not isinstance(expr, Apply):
        return isinstance(expr, Opaque) and not isinstance(expr, Match)
    if expr.op in _DIVISIONS:
        return 0 in interval(expr.args[1])
    if expr.op in _FLOAT_DIVISIONS:
        divisor = expr.args[1]
        return not (isinstance(divisor, Constant) and divisor.value)
    if expr.op is Op.GROUP:
        return bool(expr.text(3))
    if expr.op in _RANGES:
        return not interval(expr.args[0]).within(_RANGES[expr.op])
    return expr.op in _PARTIAL


@lru_cache(maxsize=4096)
def can_fail(expr: Expr) -> bool:
    """Returns whether evaluating the expression may raise in Python."""
    return can_fail_itself(expr) or any(can_fail(child) for child in children(expr))


def is_wide(expr: Expr) -> bool:
    """Returns whether the expression is a number that may exceed 64 bits."""
    return expr.shape in (INTEGER, DURATION) and not interval(expr).within(STORED)


def has_wide(expr: Expr) -> bool:
    """Returns whether some part of the expression may exceed 64 bits, so that storing it early would not be exact."""
    return any(is_wide(node) for node in walk(expr))


def can_raise_in_engine(expr: Expr) -> bool:
    """Returns whether evaluating the expression may raise in an engine: as in Python, or where 64 bits do not
    suffice.
    """
    return can_fail(expr) or has_wide(expr)


def is_column(expr: Expr) -> bool:
    """Returns whether an engine can compute the expression by itself, as an argument of a function that runs in Python.

    An expression that may raise is left to Python, since its 64 bits need not be the limit of the function's result.
    """
    return expr.shape is not None and first_opaque(expr) is None and not can_raise_in_engine(expr)


def always_evaluated(expr: Expr) -> frozenset[Expr]:
    """Returns the parts of an expression that are evaluated on every path."""
    if isinstance(expr, Choice):
        sides = always_evaluated(expr.then) & always_evaluated(expr.otherwise)
        return always_evaluated(expr.condition) | sides | {expr}
    parts = (expr.of,) if isinstance(expr, Each) else children(expr)
    return frozenset({expr}).union(*map(always_evaluated, parts))
