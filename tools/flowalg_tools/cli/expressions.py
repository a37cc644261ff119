"""Parses triggers, policies and durations: ``AtCount(2).repeat()``, ``BoundedOutOfOrderness(5 * minute)``.

An expression has the value that Python gives it. It may use the public names of flowalg, ``timedelta`` and the
durations ``second``, ``minute``, ``hour`` and ``day``, but no other function and no private attribute.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from datetime import timedelta
from typing import Final

import flowalg
from flowalg import FOREVER, AllowedLateness, ArgumentError, OnceTrigger, Trigger, WatermarkPolicy
from flowalg_tools.cli.names import is_qualified_name, load_value

_DURATIONS: Final = {
    "second": timedelta(seconds=1),
    "minute": timedelta(minutes=1),
    "hour": timedelta(hours=1),
    "day": timedelta(days=1),
}
_NAMES: Final[Mapping[str, object]] = {
    **{name: getattr(flowalg, name) for name in flowalg.__all__},
    **_DURATIONS,
    "timedelta": timedelta,
}
_EXPRESSION: Final = "an expression over flowalg's public names"


def parse_trigger(text: str, argument: str) -> Trigger:
    """A trigger, as an expression or the attribute of a module."""
    value = _value(text, argument)
    if isinstance(value, Trigger):
        return value
    raise ArgumentError(argument, value, "a trigger, such as 'AtPeriod(minute).repeat()'")


def parse_policy(text: str, argument: str) -> WatermarkPolicy:
    """A watermark policy, as an expression or the attribute of a module."""
    value = _value(text, argument)
    if isinstance(value, WatermarkPolicy):
        return value
    raise ArgumentError(argument, value, "a watermark policy, such as 'BoundedOutOfOrderness(5 * minute)'")


def parse_duration(text: str, argument: str) -> timedelta:
    """A duration, such as ``5 * minute``."""
    return _duration(_value(text, argument), argument)


def parse_lateness(text: str, argument: str) -> AllowedLateness:
    """A duration, or ``FOREVER``."""
    value = _value(text, argument)
    return FOREVER if value is FOREVER else _duration(value, argument)


def _duration(value: object, argument: str) -> timedelta:
    if isinstance(value, timedelta):
        return value
    raise ArgumentError(argument, value, "a duration, such as '5 * minute'")


def _value(text: str, argument: str) -> object:
    if is_qualified_name(text):
        return load_value(text, argument)
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except SyntaxError as error:
        raise ArgumentError(argument, text, _EXPRESSION, why=error.msg) from error
    return _Evaluator(text, argument).evaluate(tree.body)


class _Evaluator:
    """Evaluates an expression; raises ``ArgumentError`` for syntax and names that are not allowed."""

    def __init__(self, text: str, argument: str) -> None:
        self.text, self.argument = text, argument

    def evaluate(self, node: ast.expr) -> object:
        match node:
            case ast.Constant(value=value):
                return value
            case ast.Name(id=name) if name in _NAMES:
                return _NAMES[name]
            case ast.Name(id=name):
                raise self.error(f"{name} is not a name of flowalg")
            case ast.Attribute(value=value, attr=name) if not name.startswith("_"):
                owner = self.evaluate(value)
                if not hasattr(owner, name):
                    raise self.error(f"{ast.unparse(value)} has no attribute {name}")
                return getattr(owner, name)
            case ast.Call(func=function, args=args, keywords=keywords):
                return self.call(function, args, keywords)
            case ast.BinOp(left=left, op=op, right=right):
                return self.combine(op, self.evaluate(left), self.evaluate(right))
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
                return -value
            case ast.Tuple(elts=items):
                return tuple(map(self.evaluate, items))
            case ast.List(elts=items):
                return list(map(self.evaluate, items))
            case _:
                raise self.error(f"{ast.unparse(node)} is not allowed here")

    def call(self, function: ast.expr, args: list[ast.expr], keywords: list[ast.keyword]) -> object:
        called = self.evaluate(function)
        if not callable(called):
            raise self.error(f"{ast.unparse(function)} cannot be called")
        named = {keyword.arg: self.evaluate(keyword.value) for keyword in keywords if keyword.arg is not None}
        if len(named) < len(keywords):
            raise self.error("** is not allowed here")
        try:
            return called(*map(self.evaluate, args), **named)
        except TypeError as error:
            if isinstance(error, flowalg.FlowalgError):
                raise
            raise self.error(str(error)) from error

    def combine(self, op: ast.operator, left: object, right: object) -> object:
        match op, left, right:
            case ast.Mult(), timedelta(), int() | float():
                return left * right
            case ast.Mult(), int() | float(), timedelta():
                return left * right
            case ast.Add(), timedelta(), timedelta():
                return left + right
            case ast.Sub(), timedelta(), timedelta():
                return left - right
            case ast.BitAnd(), _, _ if isinstance(left, OnceTrigger) and isinstance(right, OnceTrigger):
                return left & right
            case ast.BitOr(), _, _ if isinstance(left, OnceTrigger) and isinstance(right, OnceTrigger):
                return left | right
            case _:
                raise self.error(f"{type(op).__name__} is not defined for {left!r} and {right!r}")

    def error(self, why: str) -> ArgumentError:
        return ArgumentError(self.argument, self.text, _EXPRESSION, why=why)


__all__ = ["parse_duration", "parse_lateness", "parse_policy", "parse_trigger"]
