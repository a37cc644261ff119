"""Comparisons, as the three orders that engines need; opaque where an engine's order is not Python's."""

from __future__ import annotations

import ast
import math
from decimal import Decimal
from typing import Final

from flowalg.data.shapes import (
    BINARY,
    BOOLEAN,
    DAY,
    DECIMAL,
    DECIMAL_PRECISION,
    DECIMAL_SCALE,
    DURATION,
    FLOAT,
    INTEGER,
    TEXT,
    TIMESTAMP,
    EnumOf,
    OptionalOf,
)
from flowalg.lifting.operations.conversions import floating, integer, is_number, micros_of_duration, number
from flowalg.lifting.python.enums import compares_by_identity
from flowalg.lifting.tree.expressions import (
    FALSE,
    TRUE,
    Apply,
    As,
    Choice,
    Constant,
    Expr,
    Opaque,
    negation,
)
from flowalg.lifting.tree.failures import can_fail, has_wide
from flowalg.lifting.tree.intervals import EXACT, Interval, interval
from flowalg.lifting.tree.primitives import Op

_ORDERED: Final = (BOOLEAN, TEXT, DAY, TIMESTAMP, DECIMAL, BINARY)
_DECIMAL_LIMIT: Final[int] = 10 ** (DECIMAL_PRECISION - DECIMAL_SCALE)
_AS_FLOATS: Final = Interval(-(2**53), 2**53)
"""Integers that floats hold exactly."""


def compared(operator: ast.cmpop, left: Expr, right: Expr, place: str) -> Expr:
    """``left operator right``, for the six comparisons by value."""
    match operator:
        case ast.Eq():
            return _equal(left, right, place)
        case ast.NotEq():
            return _negated(_equal(left, right, place), place)
        case ast.Lt():
            return _ordered(Op.LESS, left, right, place)
        case ast.LtE():
            return _ordered(Op.LESS_EQUAL, left, right, place)
        case ast.Gt():
            return _ordered(Op.LESS, right, left, place)
        case ast.GtE():
            return _ordered(Op.LESS_EQUAL, right, left, place)
        case _:
            return Opaque(BOOLEAN, f"`{type(operator).__name__}`", place)


def _negated(test: Expr, place: str) -> Expr:
    return test if isinstance(test, Opaque) else negation(test, place)


def is_none(of: Expr, place: str) -> Expr:
    """``of is None``."""
    if isinstance(of, Constant) and of.value is None:
        return TRUE
    if of.shape is None:
        return Opaque(BOOLEAN, "`is None` of what only Python can compute", place)
    if isinstance(of.shape, OptionalOf):
        if has_wide(of):
            return Opaque(BOOLEAN, "`is None` of an integer that may exceed 64 bits", place)
        return FALSE if isinstance(of, As) else Apply(Op.IS_NONE, (of,), BOOLEAN, place)
    if can_fail(of):
        return Opaque(BOOLEAN, "`is None` of what may fail and is never None", place)
    return FALSE


def present(of: Expr, place: str) -> Expr:
    """An optional that has been shown not to be ``None``, with the shape of its value."""
    if not isinstance(of.shape, OptionalOf):
        return of
    if isinstance(of, As):
        return of.of
    if has_wide(of):
        return Opaque(of.shape.of, "an optional integer that may exceed 64 bits", place)
    return As(of, of.shape.of)


def _equal(left: Expr, right: Expr, place: str) -> Expr:
    """``left == right``; a value is not equal to ``None``, which is equal to itself."""
    if left.shape is None and right.shape is None:
        return Opaque(BOOLEAN, "a comparison of what only Python can compute", place)
    for one, other in ((left, right), (right, left)):
        if isinstance(other, Constant) and other.value is None:
            return _none_equal(one, place)
    for one, other in ((left, right), (right, left)):
        if isinstance(one.shape, OptionalOf):
            missing = is_none(one, place)
            value = _equal(present(one, place), other, place)
            if isinstance(value, Opaque):
                return value
            if can_fail(other):
                return Opaque(BOOLEAN, f"{left.shape} == {right.shape}, where one side may fail", place)
            return Choice(missing, is_none(other, place), value, BOOLEAN)
    return _same(left, right, place)


def _none_equal(of: Expr, place: str) -> Expr:
    inner = of.shape.of if isinstance(of.shape, OptionalOf) else of.shape
    if has_plain_equality(inner):
        return is_none(of, place)
    return Opaque(BOOLEAN, f"{of.shape} == None", place)


def has_plain_equality(shape: object) -> bool:
    """Whether values of the shape are equal when an engine says so, and never to ``None``."""
    if isinstance(shape, EnumOf):
        return compares_by_identity(shape.cls)
    return shape in (*_ORDERED, INTEGER, FLOAT, DURATION)


def _same(left: Expr, right: Expr, place: str) -> Expr:
    if left.shape == right.shape and isinstance(left.shape, EnumOf):
        if compares_by_identity(left.shape.cls):
            return Apply(Op.EQUAL, (left, right), BOOLEAN, place)
        return Opaque(BOOLEAN, f"`==` of {left.shape}, which has an equality of its own", place)
    return _ordered(Op.EQUAL, left, right, place)


def _ordered(op: Op, left: Expr, right: Expr, place: str) -> Expr:
    """One of the three orders, on values of one shape or on two numbers."""
    if left.shape == right.shape and left.shape in _ORDERED:
        return Apply(op, (left, right), BOOLEAN, place)
    if left.shape == right.shape == DURATION:
        return _ordered(op, micros_of_duration(left, place), micros_of_duration(right, place), place)
    if is_number(left) and is_number(right):
        return _numbers(op, integer(left), integer(right), place)
    decimals = _decimals(left, right)
    if decimals is not None:
        return Apply(op, decimals, BOOLEAN, place)
    symbol = {Op.EQUAL: "==", Op.LESS: "<"}.get(op, "<=")
    return Opaque(BOOLEAN, f"{left.shape} {symbol} {right.shape}", place)


_ON_FLOATS: Final = {
    Op.EQUAL: Op.FLOAT_EQUAL,
    Op.LESS: Op.FLOAT_LESS,
    Op.LESS_EQUAL: Op.FLOAT_LESS_EQUAL,
}


def _numbers(op: Op, left: Expr, right: Expr, place: str) -> Expr:
    if left.shape == right.shape == INTEGER:
        if interval(left).within(EXACT) and interval(right).within(EXACT):
            return Apply(op, (left, right), BOOLEAN, place)
        return Opaque(BOOLEAN, "a comparison of an integer that may have more than 38 digits", place)
    if left.shape == right.shape or all(
        one.shape == FLOAT or interval(one).within(_AS_FLOATS) for one in (left, right)
    ):
        return Apply(_ON_FLOATS[op], (floating(left, place), floating(right, place)), BOOLEAN, place)
    if interval(left).within(EXACT) and interval(right).within(EXACT):
        match left, right:
            case _, Constant(value=float() as limit) if math.isfinite(limit):
                return _below(op, left, limit, place)
            case Constant(value=float() as limit), _ if math.isfinite(limit):
                return _above(op, limit, right, place)
            case _:
                pass
    return Opaque(BOOLEAN, "a comparison of a float with an integer that may exceed 2**53", place)


def _clamped(limit: int) -> Constant:
    return number(max(EXACT.low, min(EXACT.high, limit)))


def _below(op: Op, left: Expr, limit: float, place: str) -> Expr:
    """An integer against a float: Python compares the numbers themselves, so the float is rounded the right way."""
    whole = math.floor(limit)
    match op:
        case Op.LESS:
            return Apply(Op.LESS_EQUAL, (left, _clamped(math.ceil(limit) - 1)), BOOLEAN, place)
        case Op.LESS_EQUAL:
            return Apply(Op.LESS_EQUAL, (left, _clamped(whole)), BOOLEAN, place)
        case _:
            return _equal_to(left, whole, limit, place)


def _above(op: Op, limit: float, right: Expr, place: str) -> Expr:
    whole = math.ceil(limit)
    match op:
        case Op.LESS:
            return Apply(Op.LESS_EQUAL, (_clamped(math.floor(limit) + 1), right), BOOLEAN, place)
        case Op.LESS_EQUAL:
            return Apply(Op.LESS_EQUAL, (_clamped(whole), right), BOOLEAN, place)
        case _:
            return _equal_to(right, whole, limit, place)


def _equal_to(of: Expr, whole: int, limit: float, place: str) -> Expr:
    if whole == limit and whole in interval(of):
        return Apply(Op.EQUAL, (of, number(whole)), BOOLEAN, place)
    return Opaque(BOOLEAN, "a comparison that is never true", place) if can_fail(of) else FALSE


def _decimals(left: Expr, right: Expr) -> tuple[Expr, Expr] | None:
    """A decimal and an integer constant, as two decimals."""
    one, other = _as_decimal(left), _as_decimal(right)
    return (one, other) if one is not None and other is not None else None


def _as_decimal(of: Expr) -> Expr | None:
    if of.shape == DECIMAL:
        return of
    match of:
        case Constant(value=int() as value, shape=shape) if shape == INTEGER and _fits(value):
            return Constant(Decimal(value), DECIMAL)
        case _:
            return None


def _fits(value: int) -> bool:
    return abs(value) < _DECIMAL_LIMIT


__all__ = ["compared", "has_plain_equality", "is_none", "present"]
