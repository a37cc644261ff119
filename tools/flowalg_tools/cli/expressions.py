"""Triggers, policies and durations as one writes them: ``AtCount(2).repeat()``, ``BoundedOutOfOrderness(5 * minute)``.

An expression is what Python would make of it, with the public names of flowalg, ``timedelta`` and the durations
``second``, ``minute``, ``hour`` and ``day``, and nothing else: no functions, no attributes that are private.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from datetime import timedelta
from typing import Final

import flowalg
from flowalg import FOREVER, AllowedLateness, ArgumentError, OnceTrigger, Trigger, WatermarkPolicy
from flowalg_tools.cli.names import is_name, value_named

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


def trigger_of(text: str, argument: str) -> Trigger:
    """A trigger, by an expression or as the attribute of a module."""
    found = _value(text, argument)
    if isinstance(found, Trigger):
        return found
    raise ArgumentError(argument, found, "a trigger, such as 'AtPeriod(minute).repeat()'")


def policy_of(text: str, argument: str) -> WatermarkPolicy:
    """A watermark policy, by an expression or as the attribute of a module."""
    found = _value(text, argument)
    if isinstance(found, WatermarkPolicy):
        return found
    raise ArgumentError(argument, found, "a watermark policy, such as 'BoundedOutOfOrderness(5 * minute)'")


def duration_of(text: str, argument: str) -> timedelta:
    """A duration, such as ``5 * minute``."""
    return _duration(_value(text, argument), argument)


def lateness_of(text: str, argument: str) -> AllowedLateness:
    """A duration, or ``FOREVER``."""
    found = _value(text, argument)
    return FOREVER if found is FOREVER else _duration(found, argument)


def _duration(found: object, argument: str) -> timedelta:
    if isinstance(found, timedelta):
        return found
    raise ArgumentError(argument, found, "a duration, such as '5 * minute'")


def _value(text: str, argument: str) -> object:
    if is_name(text):
        return value_named(text, argument)
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except SyntaxError as error:
        raise ArgumentError(argument, text, "an expression in flowalg's names", why=error.msg) from error
    return _Reading(text, argument).of(tree.body)


class _Reading:
    """Evaluates an expression, and refuses what is none."""

    def __init__(self, text: str, argument: str) -> None:
        self.text, self.argument = text, argument

    def of(self, node: ast.expr) -> object:
        match node:
            case ast.Constant(value=value):
                return value
            case ast.Name(id=name) if name in _NAMES:
                return _NAMES[name]
            case ast.Name(id=name):
                raise self.refused(f"{name} is no name of flowalg")
            case ast.Attribute(value=value, attr=name) if not name.startswith("_"):
                whole = self.of(value)
                if not hasattr(whole, name):
                    raise self.refused(f"{ast.unparse(value)} has no {name}")
                return getattr(whole, name)
            case ast.Call(func=function, args=args, keywords=keywords):
                return self.called(function, args, keywords)
            case ast.BinOp(left=left, op=op, right=right):
                return self.combined(op, self.of(left), self.of(right))
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
                return -value
            case ast.Tuple(elts=items):
                return tuple(map(self.of, items))
            case ast.List(elts=items):
                return list(map(self.of, items))
            case _:
                raise self.refused(f"{ast.unparse(node)} is not possible here")

    def called(self, function: ast.expr, args: list[ast.expr], keywords: list[ast.keyword]) -> object:
        called = self.of(function)
        if not callable(called):
            raise self.refused(f"{ast.unparse(function)} cannot be called")
        named = {one.arg: self.of(one.value) for one in keywords if one.arg is not None}
        if len(named) < len(keywords):
            raise self.refused("** is not possible here")
        try:
            return called(*map(self.of, args), **named)
        except TypeError as error:
            if isinstance(error, flowalg.FlowalgError):
                raise
            raise self.refused(str(error)) from error

    def combined(self, op: ast.operator, left: object, right: object) -> object:
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
                raise self.refused(f"{type(op).__name__} is not possible of {left!r} and {right!r}")

    def refused(self, why: str) -> ArgumentError:
        return ArgumentError(self.argument, self.text, "an expression in flowalg's names", why=why)


__all__ = ["duration_of", "lateness_of", "policy_of", "trigger_of"]
