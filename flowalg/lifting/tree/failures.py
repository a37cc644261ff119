"""Where evaluating an expression can fail, in Python and in an engine that stores integers in 64 bits."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from flowalg.data.shapes import DURATION, INTEGER
from flowalg.lifting.tree.expressions import Apply, Choice, Constant, Expr, Opaque, children, walk
from flowalg.lifting.tree.intervals import DAYS, DURATIONS, INSTANTS, STORED, Interval, interval
from flowalg.lifting.tree.primitives import Op

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
)


def fails(expr: Expr) -> bool:
    """Whether Python may raise at this very node, given its arguments; what is opaque may do anything."""
    if not isinstance(expr, Apply):
        return isinstance(expr, Opaque)
    if expr.op in _DIVISIONS:
        return 0 in interval(expr.args[1])
    if expr.op in _FLOAT_DIVISIONS:
        divisor = expr.args[1]
        return not (isinstance(divisor, Constant) and divisor.value)
    if expr.op in _RANGES:
        return not interval(expr.args[0]).within(_RANGES[expr.op])
    return expr.op in _PARTIAL


@lru_cache(maxsize=4096)
def can_fail(expr: Expr) -> bool:
    """Whether Python may raise in evaluating the expression."""
    return fails(expr) or any(can_fail(child) for child in children(expr))


def is_wide(expr: Expr) -> bool:
    """Whether the expression is a number that 64 bits may not hold."""
    return expr.shape in (INTEGER, DURATION) and not interval(expr).within(STORED)


def has_wide(expr: Expr) -> bool:
    """Whether something in the expression may need more than 64 bits, so that storing it early is not exact."""
    return any(is_wide(node) for node in walk(expr))


def can_raise(expr: Expr) -> bool:
    """Whether an engine may raise in evaluating the expression: where Python does, and where 64 bits are too few."""
    return can_fail(expr) or has_wide(expr)


def surely_evaluated(expr: Expr) -> frozenset[Expr]:
    """What is evaluated inside an expression whichever way its choices go."""
    if isinstance(expr, Choice):
        sides = surely_evaluated(expr.then) & surely_evaluated(expr.otherwise)
        return surely_evaluated(expr.condition) | sides | {expr}
    return frozenset({expr}).union(*map(surely_evaluated, children(expr)))


__all__ = ["can_fail", "can_raise", "fails", "has_wide", "is_wide", "surely_evaluated"]
