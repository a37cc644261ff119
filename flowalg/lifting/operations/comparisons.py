"""Comparisons, reduced to ``EQUAL``, ``LESS`` and ``LESS_EQUAL``; opaque where engines order values unlike Python."""

from __future__ import annotations

import ast
import math
from decimal import Decimal
from typing import Final

from returns.maybe import Nothing

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
    MaybeOf,
    OptionalOf,
)
from flowalg.lifting.operations.conversions import (
    int_constant,
    is_number,
    micros_of_duration,
    to_float,
    to_int,
)
from flowalg.lifting.python.enums import compares_by_identity
from flowalg.lifting.tree.expressions import (
    FALSE,
    TRUE,
    Apply,
    As,
    Choice,
    Constant,
    Expr,
    Match,
    Opaque,
    negation,
)
from flowalg.lifting.tree.failures import can_fail, has_wide
from flowalg.lifting.tree.intervals import EXACT, Interval, interval
from flowalg.lifting.tree.primitives import Op

_ORDERED: Final = (BOOLEAN, TEXT, DAY, TIMESTAMP, DECIMAL, BINARY)
_DECIMAL_LIMIT: Final[int] = 10 ** (DECIMAL_PRECISION - DECIMAL_SCALE)
_AS_FLOATS: Final = Interval(-(2**53), 2**53)
"""Integers that floats represent exactly."""


def compare(operator: ast.cmpop, left: Expr, right: Expr, location: str) -> Expr:
    """Lifts ``left operator right`` for the six comparisons by value."""
    match operator:
        case ast.Eq():
            return _lift_equal(left, right, location)
        case ast.NotEq():
            return _negate(_lift_equal(left, right, location), location)
        case ast.Lt():
            return _order(Op.LESS, left, right, location)
        case ast.LtE():
            return _order(Op.LESS_EQUAL, left, right, location)
        case ast.Gt():
            return _order(Op.LESS, right, left, location)
        case ast.GtE():
            return _order(Op.LESS_EQUAL, right, left, location)
        case _:
            return Opaque(BOOLEAN, f"the comparison `{type(operator).__name__}`", location)


def _negate(test: Expr, location: str) -> Expr:
    return test if isinstance(test, Opaque) else negation(test, location)


def is_none(of: Expr, location: str) -> Expr:
    """Lifts ``of is None``."""
    if isinstance(of, Constant) and of.value is None:
        return TRUE
    if isinstance(of, Match):
        return negation(of.found, location)
    if of.shape is None:
        return Opaque(BOOLEAN, "`is None` of a value that only Python can compute", location)
    if isinstance(of.shape, OptionalOf):
        if has_wide(of):
            return Opaque(BOOLEAN, "`is None` of an integer that may exceed 64 bits", location)
        return FALSE if isinstance(of, As) else Apply(Op.IS_NONE, (of,), BOOLEAN, location)
    if can_fail(of):
        return Opaque(BOOLEAN, "`is None` of a value that is never None but may fail", location)
    return FALSE


def is_nothing(of: Expr, location: str) -> Expr:
    """Lifts ``of is Nothing``, which is also ``of == Nothing``."""
    match of:
        case Constant(value=value, shape=None):
            return TRUE if value is Nothing else FALSE
        case As(of=inner, shape=MaybeOf()) if isinstance(inner.shape, OptionalOf):
            return is_none(inner, location)
        case _ if of.shape is None or can_fail(of):
            return Opaque(BOOLEAN, "a comparison with Nothing of what may fail", location)
        case _ if not isinstance(of.shape, MaybeOf) or isinstance(of, As):
            return FALSE
        case _ if has_wide(of):
            return Opaque(BOOLEAN, "a test of an integer that may exceed 64 bits", location)
        case _:
            return Apply(Op.IS_NONE, (of,), BOOLEAN, location)


def unwrap_optional(of: Expr, location: str) -> Expr:
    """Unwraps an optional that is known not to be ``None``: the result has the shape of its value."""
    if not isinstance(of.shape, OptionalOf):
        return of
    if isinstance(of, As):
        return of.of
    if has_wide(of):
        return Opaque(of.shape.of, "an optional integer that may exceed 64 bits", location)
    return As(of, of.shape.of)


def _lift_equal(left: Expr, right: Expr, location: str) -> Expr:
    """Lifts ``left == right``; a value never equals ``None``, and ``None`` equals ``None``."""
    for operand, other in ((left, right), (right, left)):
        if isinstance(other, Constant) and other.value is Nothing:
            return is_nothing(operand, location)
    if left.shape is None and right.shape is None:
        return Opaque(BOOLEAN, "a comparison of values that only Python can compute", location)
    for operand, other in ((left, right), (right, left)):
        if isinstance(other, Constant) and other.value is None:
            return _equal_to_none(operand, location)
    for operand, other in ((left, right), (right, left)):
        if isinstance(operand.shape, OptionalOf):
            missing = is_none(operand, location)
            value = _lift_equal(unwrap_optional(operand, location), other, location)
            if isinstance(value, Opaque):
                return value
            if can_fail(other):
                return Opaque(BOOLEAN, f"{left.shape} == {right.shape}, where one side may fail", location)
            return Choice(missing, is_none(other, location), value, BOOLEAN)
    return _same_shape_equal(left, right, location)


def _equal_to_none(of: Expr, location: str) -> Expr:
    inner = of.shape.of if isinstance(of.shape, OptionalOf) else of.shape
    if has_plain_equality(inner):
        return is_none(of, location)
    return Opaque(BOOLEAN, f"{of.shape} == None", location)


def has_plain_equality(shape: object) -> bool:
    """Returns whether engines and Python agree on the equality of values of the shape, which never equal ``None``."""
    if isinstance(shape, EnumOf):
        return compares_by_identity(shape.cls)
    return shape in (*_ORDERED, INTEGER, FLOAT, DURATION)


def _same_shape_equal(left: Expr, right: Expr, location: str) -> Expr:
    if left.shape == right.shape and isinstance(left.shape, EnumOf):
        if compares_by_identity(left.shape.cls):
            return Apply(Op.EQUAL, (left, right), BOOLEAN, location)
        return Opaque(BOOLEAN, f"`==` of {left.shape}, which defines its own equality", location)
    return _order(Op.EQUAL, left, right, location)


def _order(op: Op, left: Expr, right: Expr, location: str) -> Expr:
    """Lifts a comparison of two values of the same shape, or of two numbers."""
    if left.shape == right.shape and left.shape in _ORDERED:
        return Apply(op, (left, right), BOOLEAN, location)
    if left.shape == right.shape == DURATION:
        return _order(op, micros_of_duration(left, location), micros_of_duration(right, location), location)
    if is_number(left) and is_number(right):
        return _compare_numbers(op, to_int(left), to_int(right), location)
    decimals = _decimals(left, right)
    if decimals is not None:
        return Apply(op, decimals, BOOLEAN, location)
    symbol = {Op.EQUAL: "==", Op.LESS: "<"}.get(op, "<=")
    return Opaque(BOOLEAN, f"{left.shape} {symbol} {right.shape}", location)


_ON_FLOATS: Final = {
    Op.EQUAL: Op.FLOAT_EQUAL,
    Op.LESS: Op.FLOAT_LESS,
    Op.LESS_EQUAL: Op.FLOAT_LESS_EQUAL,
}


def _compare_numbers(op: Op, left: Expr, right: Expr, location: str) -> Expr:
    if left.shape == right.shape == INTEGER:
        if interval(left).within(EXACT) and interval(right).within(EXACT):
            return Apply(op, (left, right), BOOLEAN, location)
        return Opaque(BOOLEAN, "a comparison of an integer that may have more than 38 digits", location)
    if left.shape == right.shape or all(
        operand.shape == FLOAT or interval(operand).within(_AS_FLOATS) for operand in (left, right)
    ):
        return Apply(_ON_FLOATS[op], (to_float(left, location), to_float(right, location)), BOOLEAN, location)
    if interval(left).within(EXACT) and interval(right).within(EXACT):
        match left, right:
            case _, Constant(value=float() as limit) if math.isfinite(limit):
                return _compare_with_float(op, left, limit, location)
            case Constant(value=float() as limit), _ if math.isfinite(limit):
                return _compare_float_with(op, limit, right, location)
            case _:
                pass
    return Opaque(BOOLEAN, "a comparison of a float with an integer that may exceed 2**53", location)


def _clamp_to_exact(limit: int) -> Constant:
    return int_constant(max(EXACT.low, min(EXACT.high, limit)))


def _compare_with_float(op: Op, left: Expr, limit: float, location: str) -> Expr:
    """Compares an integer with a float exactly, as Python does, by rounding the float to the right integer."""
    whole = math.floor(limit)
    match op:
        case Op.LESS:
            return Apply(Op.LESS_EQUAL, (left, _clamp_to_exact(math.ceil(limit) - 1)), BOOLEAN, location)
        case Op.LESS_EQUAL:
            return Apply(Op.LESS_EQUAL, (left, _clamp_to_exact(whole)), BOOLEAN, location)
        case _:
            return _equal_to_float(left, whole, limit, location)


def _compare_float_with(op: Op, limit: float, right: Expr, location: str) -> Expr:
    whole = math.ceil(limit)
    match op:
        case Op.LESS:
            return Apply(Op.LESS_EQUAL, (_clamp_to_exact(math.floor(limit) + 1), right), BOOLEAN, location)
        case Op.LESS_EQUAL:
            return Apply(Op.LESS_EQUAL, (_clamp_to_exact(whole), right), BOOLEAN, location)
        case _:
            return _equal_to_float(right, whole, limit, location)


def _equal_to_float(of: Expr, whole: int, limit: float, location: str) -> Expr:
    if whole == limit and whole in interval(of):
        return Apply(Op.EQUAL, (of, int_constant(whole)), BOOLEAN, location)
    return Opaque(BOOLEAN, "a comparison that is never true", location) if can_fail(of) else FALSE


def _decimals(left: Expr, right: Expr) -> tuple[Expr, Expr] | None:
    """Converts a decimal and an integer constant to two decimals; returns ``None`` for other operands."""
    first, second = _as_decimal(left), _as_decimal(right)
    return (first, second) if first is not None and second is not None else None


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
