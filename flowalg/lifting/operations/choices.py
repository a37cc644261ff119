"""Choices and truth: what ``if``, ``and``, ``or`` and ``not`` make of values that are no booleans."""

from __future__ import annotations

import ast

from flowalg.data.shapes import (
    BOOLEAN,
    DAY,
    DURATION,
    FLOAT,
    INTEGER,
    TEXT,
    TIMESTAMP,
    EnumOf,
    ListOf,
    OptionalOf,
    RecordOf,
    Shape,
    TupleOf,
    optional,
)
from flowalg.lifting.operations.comparisons import compared, is_none, present
from flowalg.lifting.operations.conversions import micros_of_duration, number
from flowalg.lifting.python.enums import is_always_true
from flowalg.lifting.tree.expressions import (
    FALSE,
    TRUE,
    Apply,
    As,
    Choice,
    Constant,
    Expr,
    Opaque,
)
from flowalg.lifting.tree.failures import can_fail
from flowalg.lifting.tree.primitives import Op


def choose(condition: Expr, then: Expr, otherwise: Expr, place: str) -> Expr:
    """``then if condition else otherwise``, where the condition is a boolean."""
    if isinstance(condition, Constant):
        return then if condition.value else otherwise
    shape = common_shape(then, otherwise)
    if shape is None:
        for side in (then, otherwise):
            if isinstance(side, Opaque) and side.shape is None:
                return side
        return Opaque(None, f"a choice between {then.shape} and {otherwise.shape}", place)
    return Choice(condition, widened(then, shape), widened(otherwise, shape), shape)


def common_shape(one: Expr, other: Expr) -> Shape | None:
    """The shape of a value that is one of two; ``None`` where they have none in common."""
    if one.shape == other.shape:
        return one.shape
    for value, another in ((one, other), (other, one)):
        if isinstance(value, Constant) and value.value is None and another.shape is not None:
            return optional(another.shape)
        if isinstance(value.shape, OptionalOf) and value.shape.of == another.shape:
            return value.shape
    return None


def widened(expr: Expr, shape: Shape) -> Expr:
    """The expression with a shape that its own is part of."""
    if expr.shape == shape:
        return expr
    if isinstance(expr, Constant) and expr.value is None:
        return Constant(None, shape)
    return As(expr, shape)


def accepts(shape: Shape, expr: Expr) -> bool:
    """Whether an expression can stand where a value of the shape is wanted."""
    if isinstance(shape, OptionalOf) and isinstance(expr, Constant) and expr.value is None:
        return True
    return expr.shape == shape or (isinstance(shape, OptionalOf) and expr.shape == shape.of)


def truth(of: Expr, place: str) -> Expr:
    """``bool(of)``."""
    match of.shape:
        case None:
            return FALSE if isinstance(of, Constant) else _refused(of, place)
        case shape if shape == BOOLEAN:
            return of
        case shape if shape == INTEGER:
            return compared(ast.NotEq(), of, number(0), place)
        case shape if shape == FLOAT:
            return compared(ast.NotEq(), of, Constant(0.0, FLOAT), place)
        case shape if shape == TEXT:
            return compared(ast.NotEq(), of, Constant("", TEXT), place)
        case shape if shape == DURATION:
            return compared(ast.NotEq(), micros_of_duration(of, place), number(0), place)
        case OptionalOf():
            return _of_optional(of, place)
        case ListOf():
            size = Apply(Op.SIZE, (of,), INTEGER, place)
            return compared(ast.NotEq(), size, number(0), place)
        case _:
            return TRUE if _is_always_true(of.shape) and not can_fail(of) else _refused(of, place)


def _of_optional(of: Expr, place: str) -> Expr:
    missing = is_none(of, place)
    value = truth(present(of, place), place)
    if isinstance(missing, Opaque):
        return missing
    return value if isinstance(value, Opaque) else Choice(missing, FALSE, value, BOOLEAN)


def _is_always_true(shape: Shape | None) -> bool:
    match shape:
        case TupleOf():
            return True
        case EnumOf(cls=enum):
            return is_always_true(enum)
        case RecordOf(cls=cls):
            return not hasattr(cls, "__bool__") and not hasattr(cls, "__len__")
        case _:
            return shape in (TIMESTAMP, DAY)


def _refused(of: Expr, place: str) -> Opaque:
    if isinstance(of, Opaque):
        return Opaque(BOOLEAN, of.reason, of.place)
    return Opaque(BOOLEAN, f"the truth of a {of.shape}", place)


__all__ = ["accepts", "choose", "common_shape", "truth", "widened"]
