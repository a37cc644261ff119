"""Conditionals and truth values: ``if``, ``and``, ``or`` and ``not`` of values that need not be booleans."""

from __future__ import annotations

import ast

from attrs import evolve
from returns.maybe import Nothing

from flowalg.data import shapes
from flowalg.lifting.operations.comparisons import compare, is_none, is_nothing, unwrap_optional
from flowalg.lifting.operations.conversions import int_constant, micros_of_duration
from flowalg.lifting.operations.sums import common_sum, inject
from flowalg.lifting.python.enums import is_always_true
from flowalg.lifting.tree.expressions import (
    FALSE,
    TRUE,
    Apply,
    Choice,
    Constant,
    Expr,
    Match,
    Opaque,
    negation,
)
from flowalg.lifting.tree.failures import can_fail
from flowalg.lifting.tree.primitives import Op


def choose(condition: Expr, then: Expr, otherwise: Expr, location: str) -> Expr:
    """Lifts ``then if condition else otherwise``, where the condition is a boolean."""
    if isinstance(condition, Constant):
        return then if condition.value else otherwise
    shape = common_shape(then, otherwise)
    if shape is None:
        for side in (then, otherwise):
            if isinstance(side, Opaque) and side.shape is None:
                return side
        return Opaque(
            None, f"a conditional with results of type {then.shape} and {otherwise.shape}", location
        )
    chosen, other = inject(then, shape), inject(otherwise, shape)
    if chosen is None or other is None:
        return Opaque(
            shape, f"a conditional with results of type {then.shape} and {otherwise.shape}", location
        )
    return Choice(condition, chosen, other, shape)


def common_shape(first: Expr, second: Expr) -> shapes.Shape | None:
    """Returns the shape that both values have: an optional or a sum, if need be; ``None`` if there is none."""
    if first.shape == second.shape:
        return first.shape
    for value, another in ((first, second), (second, first)):
        if isinstance(value, Constant) and another.shape is not None:
            if value.value is None:
                return common_sum(shapes.optional(another.shape))
            if value.value is Nothing and isinstance(another.shape, shapes.MaybeOf):
                return another.shape
    if first.shape is None or second.shape is None:
        return None
    return common_sum(first.shape, second.shape)


def widen(expr: Expr, shape: shapes.Shape) -> Expr:
    """Returns the expression with a shape that includes its own, such as the optional of it."""
    injected = inject(expr, shape)
    assert injected is not None, "its values are of the shape"
    return injected


def is_assignable(shape: shapes.Shape, expr: Expr) -> bool:
    """Returns whether an expression can be assigned where a value of the shape is expected."""
    if isinstance(expr, Opaque):
        return expr.shape == shape
    return inject(expr, shape) is not None


def as_declared(result: Expr, shape: shapes.Shape, location: str, how: str = "declared") -> Expr:
    """Returns the result of a function with the shape that it is declared to have; opaque if it has another one."""
    if isinstance(result, Opaque):
        return evolve(result, shape=shape)
    reason = f"a result of type {result.shape}, {how} as {shape}"
    return inject(result, shape) or Opaque(shape, reason, location)


def to_bool(of: Expr, location: str) -> Expr:
    """Lifts ``bool(of)``."""
    match of.shape:
        case None if isinstance(of, Match):
            return of.found
        case None:
            return FALSE if isinstance(of, Constant) else _no_truth_value(of, location)
        case shape if shape == shapes.BOOLEAN:
            return of
        case shape if shape == shapes.INTEGER:
            return compare(ast.NotEq(), of, int_constant(0), location)
        case shape if shape == shapes.FLOAT:
            return compare(ast.NotEq(), of, Constant(0.0, shapes.FLOAT), location)
        case shape if shape == shapes.TEXT:
            return compare(ast.NotEq(), of, Constant("", shapes.TEXT), location)
        case shape if shape == shapes.DURATION:
            return compare(ast.NotEq(), micros_of_duration(of, location), int_constant(0), location)
        case shapes.OptionalOf():
            return _optional_to_bool(of, location)
        case shapes.MaybeOf():
            missing = is_nothing(of, location)
            return missing if isinstance(missing, Opaque) else negation(missing, location)
        case shapes.ListOf():
            size = Apply(Op.SIZE, (of,), shapes.INTEGER, location)
            return compare(ast.NotEq(), size, int_constant(0), location)
        case _:
            return TRUE if _is_always_true(of.shape) and not can_fail(of) else _no_truth_value(of, location)


def _optional_to_bool(of: Expr, location: str) -> Expr:
    missing = is_none(of, location)
    value = to_bool(unwrap_optional(of, location), location)
    if isinstance(missing, Opaque):
        return missing
    return value if isinstance(value, Opaque) else Choice(missing, FALSE, value, shapes.BOOLEAN)


def _is_always_true(shape: shapes.Shape | None) -> bool:
    match shape:
        case shapes.TupleOf():
            return True
        case shapes.EnumOf(cls=enum):
            return is_always_true(enum)
        case shapes.RecordOf(cls=cls):
            return not hasattr(cls, "__bool__") and not hasattr(cls, "__len__")
        case _:
            return shape in (shapes.TIMESTAMP, shapes.DAY)


def _no_truth_value(of: Expr, location: str) -> Opaque:
    if isinstance(of, Opaque):
        return Opaque(shapes.BOOLEAN, of.reason, of.location)
    return Opaque(shapes.BOOLEAN, f"the truth value of {of.shape}", location)
