"""Parses triggers, policies and durations: ``AtCount(2).repeat()``, ``BoundedOutOfOrderness(5 * minute)``.

The language is a grammar of its own, and every case of it is listed here: literals, the names and the methods of the
tables below, and operators on numbers, durations and triggers. There are no attributes, and no value of the language
is a function, a class or a module, so an expression cannot reach anything that the tables do not name. An expression
has the value that Python gives it.
"""

from __future__ import annotations

import ast
import operator
import warnings
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Final, get_args

from flowalg import FOREVER, BoundedOutOfOrderness, FlowalgError, MonotonicTimestamps, Perfect
from flowalg.errors import ArgumentError
from flowalg.triggers import RepeatUntil, Trigger
from flowalg.triggers.syntax import DataDrivenTrigger
from flowalg.watermarks import (
    FittedLag,
    IngressTime,
    LagDistribution,
    LagQuantile,
    ProcessingTimeLag,
    Timeout,
    WatermarkPolicy,
)
from flowalg.windows import AllowedLateness
from flowalg_tools.cli.names import is_qualified_name, load_value

_CONSTANTS: Final[Mapping[str, object]] = {
    "second": timedelta(seconds=1),
    "minute": timedelta(minutes=1),
    "hour": timedelta(hours=1),
    "day": timedelta(days=1),
    "FOREVER": FOREVER,
    **{f"LagDistribution.{name}": member for name, member in LagDistribution.__members__.items()},
}
_CONSTRUCTORS: Final[Mapping[str, Callable[..., object]]] = {
    constructor.__name__: constructor
    for constructor in (
        *(cls for cls in get_args(Trigger) if cls not in get_args(DataDrivenTrigger)),
        RepeatUntil,
        *(BoundedOutOfOrderness, FittedLag, IngressTime, LagQuantile, MonotonicTimestamps, Perfect),
        *(ProcessingTimeLag, Timeout, timedelta),
    )
}
_METHODS: Final = frozenset({"repeat", "until", "with_early_firings", "with_late_firings"})
"""The methods of triggers."""
_NUMBER: Final = (int, float, timedelta)
_ON_NUMBERS: Final[Mapping[type[ast.operator], Callable[..., object]]] = {
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Add: operator.add,
    ast.Sub: operator.sub,
}
"""The operators on numbers and durations."""
_ON_TRIGGERS: Final[Mapping[type[ast.operator], Callable[..., object]]] = {
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.RShift: operator.rshift,
}
_LENGTH: Final = 1000
"""The characters of an expression, which bound the depth of its syntax and the size of its numbers."""
_EXPRESSION: Final = "an expression over flowalg's triggers, policies and durations"


def parse_trigger(text: str, argument: str) -> Trigger:
    """Returns a trigger, as an expression or the attribute of a module."""
    value = evaluate(text, argument)
    if isinstance(value, Trigger):
        return value
    raise ArgumentError(argument, value, "a trigger, such as 'AtPeriod(minute).repeat()'")


def parse_policy(text: str, argument: str) -> WatermarkPolicy:
    """Returns a watermark policy, as an expression or the attribute of a module."""
    value = evaluate(text, argument)
    if isinstance(value, WatermarkPolicy):
        return value
    raise ArgumentError(argument, value, "a watermark policy, such as 'BoundedOutOfOrderness(5 * minute)'")


def parse_duration(text: str, argument: str) -> timedelta:
    """Returns a duration, such as ``5 * minute``."""
    return _duration(evaluate(text, argument), argument)


def parse_lateness(text: str, argument: str) -> AllowedLateness:
    """Returns a duration, or ``FOREVER``."""
    value = evaluate(text, argument)
    return FOREVER if value is FOREVER else _duration(value, argument)


def _duration(value: object, argument: str) -> timedelta:
    if isinstance(value, timedelta):
        return value
    raise ArgumentError(argument, value, "a duration, such as '5 * minute'")


def evaluate(text: str, argument: str) -> object:
    """Returns the value of an expression, or of the attribute of a module."""
    if is_qualified_name(text):
        return load_value(text, argument)
    evaluator = _Evaluator(text, argument)
    if len(text) > _LENGTH:
        raise evaluator.error(f"it has {len(text)} characters, and at most {_LENGTH} are allowed")
    try:
        return evaluator.evaluate(evaluator.parse())
    except RecursionError as error:
        raise evaluator.error("it is nested too deeply") from error


class _Evaluator:
    """Evaluates an expression; raises ``ArgumentError`` for all syntax and names but those of this class."""

    def __init__(self, text: str, argument: str) -> None:
        self.text, self.argument = text, argument

    def parse(self) -> ast.expr:
        """Returns the syntax of the text."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return ast.parse(self.text.strip(), mode="eval").body
        except SyntaxError as error:
            raise self.error(error.msg) from error
        except (
            ValueError,
            MemoryError,
        ) as error:  # null bytes and surrogates, parentheses that are nested deeply
            raise self.error(str(error) or "it is nested too deeply") from error

    def evaluate(self, node: ast.expr) -> object:
        """Returns the value of an expression."""
        match node:
            case ast.Constant(value=bool() | int() | float() | str() | None as value):
                return value
            case ast.Name() | ast.Attribute() if (name := ast.unparse(node)) in _CONSTANTS:
                return _CONSTANTS[name]
            case ast.Call(func=ast.Name(id=name), args=args, keywords=keywords) if name in _CONSTRUCTORS:
                return self.call(_CONSTRUCTORS[name], args, keywords)
            case ast.Call(func=ast.Attribute(value=owner, attr=name), args=args, keywords=keywords):
                return self.call(self.method(owner, name), args, keywords)
            case ast.BinOp(left=left, op=op, right=right):
                return self.combine(op, self.evaluate(left), self.evaluate(right))
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return self.combine(ast.Mult(), -1, self.evaluate(operand))
            case ast.Tuple(elts=items) | ast.List(elts=items):
                return tuple(map(self.evaluate, items))
            case ast.Set(elts=items):
                return self.apply(frozenset, list(map(self.evaluate, items)))
            case ast.Name(id=name) | ast.Call(func=ast.Name(id=name)):
                raise self.error(f"{name} is not one of its names")
            case _:
                raise self.error(f"{ast.unparse(node)} is not allowed here")

    def method(self, owner: ast.expr, name: str) -> Callable[..., object]:
        """Returns a method of a trigger."""
        trigger = self.evaluate(owner) if name in _METHODS else None
        if not isinstance(trigger, Trigger) or not hasattr(trigger, name):
            raise self.error(f"{ast.unparse(owner)} has no method {name}")
        bound: Callable[..., object] = getattr(trigger, name)
        return bound

    def call(
        self, called: Callable[..., object], args: list[ast.expr], keywords: list[ast.keyword]
    ) -> object:
        """Returns the result of a constructor or method."""
        named = {keyword.arg: self.evaluate(keyword.value) for keyword in keywords if keyword.arg is not None}
        if len(named) < len(keywords):
            raise self.error("** is not allowed here")
        return self.apply(called, *map(self.evaluate, args), **named)

    def combine(self, op: ast.operator, left: object, right: object) -> object:
        """Returns the result of an operator."""
        numbers = isinstance(left, _NUMBER) and isinstance(right, _NUMBER)
        triggers = isinstance(left, Trigger) and isinstance(right, Trigger)
        operators = _ON_NUMBERS if numbers else _ON_TRIGGERS if triggers else {}
        if type(op) not in operators:
            raise self.error(f"{type(op).__name__} is not defined for {left!r} and {right!r}")
        return self.apply(operators[type(op)], left, right)

    def apply(self, function: Callable[..., object], *args: object, **named: object) -> object:
        """Calls a function of the tables, whose exceptions are errors of the expression."""
        try:
            return function(*args, **named)
        except FlowalgError:
            raise
        except (TypeError, ValueError, ArithmeticError) as error:
            raise self.error(str(error)) from error

    def error(self, why: str) -> ArgumentError:
        """Returns an error of the expression."""
        return ArgumentError(self.argument, self.text, _EXPRESSION, why=why)
