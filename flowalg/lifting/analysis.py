"""The analysis of a chain of element-wise steps: the shape after each step, and whether the step is lifted."""

from __future__ import annotations

from typing import Final, Protocol, assert_never, runtime_checkable

from attrs import frozen

from flowalg.data.errors import ElementError
from flowalg.data.kv import KV
from flowalg.data.shapes import (
    BOOLEAN,
    TIMESTAMP,
    ListOf,
    RecordOf,
    Scalar,
    Shape,
    TupleOf,
    kv_of,
    optional,
)
from flowalg.data.time import MAX_TIME, MIN_TIME
from flowalg.elementwise.functions import Call, Function, OnValue, Spread, WithKey, user_call
from flowalg.elementwise.steps import Filter, FlatMap, Map, Step, WithTimestamps
from flowalg.lifting.lift import lift
from flowalg.lifting.normal_form import normal_form
from flowalg.lifting.operations.records import make_list
from flowalg.lifting.syntax import annotated_items
from flowalg.lifting.tree.expressions import (
    Build,
    Each,
    Expr,
    Opaque,
    Param,
    Part,
    children,
    first_opaque,
    items_of,
    qualify_locations,
)
from flowalg.lifting.tree.failures import can_raise_in_engine
from flowalg.lifting.tree.intervals import Interval, interval

_EVENT_TIMES: Final = Interval(MIN_TIME, MAX_TIME - 1)


@frozen
class StepAnalysis:
    """One step: the expression that its function computes from an element, and the shapes before and after.

    A shape is ``None`` if only running the function would determine it.
    """

    step: Step
    before: Shape | None
    expression: Expr
    after: Shape | None

    @property
    def opaque(self) -> Opaque | None:
        """Why the step runs in Python, or ``None`` if it is lifted."""
        parts: tuple[Expr, ...] = (self.expression,)
        if isinstance(self.step, FlatMap) and isinstance(self.expression, Each):
            parts = children(self.expression)
        return next((opaque for part in parts if (opaque := first_opaque(part)) is not None), None)

    @property
    def may_leave_time(self) -> bool:
        """Whether the step may give an event time that no window contains, which is an error."""
        return isinstance(self.step, WithTimestamps) and may_leave_time(self.expression)

    @property
    def can_raise(self) -> bool:
        """Whether a lifted step may raise in an engine, by its expression or by the check of its event times."""
        return can_raise_in_engine(self.expression) or self.may_leave_time


def may_leave_time(expression: Expr) -> bool:
    """Returns whether an expression may give an event time that no window contains."""
    return not interval(expression).within(_EVENT_TIMES)


def analyse(steps: tuple[Step, ...], before: Shape | None) -> tuple[StepAnalysis, ...]:
    """Analyses each step of a chain, starting from the shape ``before`` the first step."""
    analyses = []
    for step in steps:
        analysis = _analyse_step(step, before)
        analyses.append(analysis)
        before = analysis.after
    return tuple(analyses)


def _analyse_step(step: Step, before: Shape | None) -> StepAnalysis:
    element: Expr = Opaque(None, "the type of its input is unknown", "") if before is None else Param(before)
    expression = qualify_locations(step.name, analyse_function(step.function, element))
    match step:
        case Map():
            expression = normal_form(expression)
            after = expression.shape
        case WithTimestamps():
            after = before
            if expression.shape not in (None, TIMESTAMP):
                raise _wrong_result(step, "a datetime", expression)
        case Filter():
            after = before
            if expression.shape not in (None, BOOLEAN, optional(BOOLEAN)):
                raise _wrong_result(step, "a bool", expression)
            if expression.shape != BOOLEAN and first_opaque(expression) is None:
                expression = Opaque(expression.shape, f"it returns {expression.shape}, not bool", step.label)
        case FlatMap():
            if isinstance(expression.shape, Scalar):
                raise _wrong_result(step, "an iterable of elements", expression)
            expression = normal_form(_as_list(expression, step))
            after = expression.shape.of if isinstance(expression.shape, ListOf) else _items_said(step, before)
        case _:
            assert_never(step)
    return StepAnalysis(step, before, expression, after)


def _wrong_result(step: Step, valid: str, expression: Expr) -> ElementError:
    return ElementError(f"the result of {step.label} must be {valid}; its type is {expression.shape}")


def _as_list(expression: Expr, step: FlatMap) -> Expr:
    """Converts the result of a ``flat_map`` to a list; it may be written as a tuple, but only lists are lifted."""
    if isinstance(expression, Build) and isinstance(expression.shape, TupleOf):
        expression = make_list(expression.parts, step.label)
    if isinstance(expression.shape, ListOf) or first_opaque(expression) is not None:
        return expression
    return Opaque(expression.shape, f"it returns {expression.shape}, not a list", step.label)


@runtime_checkable
class ShapedItems(Protocol):
    """A function of this library that knows the shape of the items it returns."""

    def shape_of_items(self, element: Shape) -> Shape | None:
        """Returns the shape of an item, for elements of the given shape."""
        ...


def _items_said(step: FlatMap, before: Shape | None) -> Shape | None:
    f = user_call(step.function).f
    if isinstance(f, ShapedItems):
        return f.shape_of_items(before) if before is not None else None
    return annotated_items(f)


@runtime_checkable
class KnownExpression(Protocol):
    """A function of this library that knows what it computes."""

    def expression_of(self, element: Expr) -> Expr | None:
        """Returns the expression that it computes from an element; ``None`` if only Python computes it."""
        ...


def analyse_function(function: Function, element: Expr) -> Expr:
    """Returns the expression that a user function computes from an element."""
    match function:
        case Call(f=f):
            expression = f.expression_of(element) if isinstance(f, KnownExpression) else None
            return lift(function, (element,)) if expression is None else expression
        case Spread(call=call):
            return lift(call, _items(element))
        case WithKey(call=call):
            return _pair(lift(call, (element,)), element)
        case OnValue(function=inner):
            key, value = key_and_value(element)
            return _pair(key, analyse_function(inner, value))
    assert_never(function)


def _items(element: Expr) -> tuple[Expr, ...]:
    shape = element.shape
    if isinstance(element, Build):
        return element.parts
    if isinstance(shape, TupleOf):
        return items_of(element)
    return (element,)


def key_and_value(element: Expr) -> tuple[Expr, Expr]:
    """Returns the key and the value of a pair, opaque if the element is none."""
    shape = element.shape
    if isinstance(element, Build) and shape is not None and is_keyed(shape):
        return element.parts[0], element.parts[1]
    if isinstance(shape, RecordOf) and shape.cls is KV:
        key, value = (Part(element, i, field.name, field.shape) for i, field in enumerate(shape.fields))
        return key, value
    unknown = element if isinstance(element, Opaque) else Opaque(None, "its element is not a KV", "")
    return unknown, unknown


def _pair(key: Expr, value: Expr) -> Expr:
    if key.shape is not None and value.shape is not None:
        return Build(kv_of(key.shape, value.shape), (key, value))
    missing = first_opaque(key) if key.shape is None else first_opaque(value)
    if missing is None:
        return Opaque(None, "the type of a part is unknown", "")
    return Opaque(None, missing.reason, missing.location)


def is_keyed(shape: Shape) -> bool:
    """Returns whether the shape is that of ``KV`` pairs."""
    return isinstance(shape, RecordOf) and shape.cls is KV
