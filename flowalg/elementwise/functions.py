"""The user's functions as values: what is applied to an element, and what is said when that fails.

Four forms are enough for the whole element-wise family: a plain call, a call that spreads a tuple over its
arguments, ``key_by`` (pair the element with a key computed from it) and ``map_values`` (leave the key alone).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TypeAlias, assert_never

from attrs import frozen

from flowalg.data.errors import (
    ArgumentError,
    FlowalgError,
    KeyedCollectionError,
    UserFunctionError,
    format_value,
)
from flowalg.data.kv import KV
from flowalg.data.shapes import ElementType


@frozen
class Call:
    """``f(x)``. ``result`` is the type of what it returns, where the user has said it."""

    f: Callable[..., object]
    result: ElementType = None

    def __attrs_post_init__(self) -> None:
        if not callable(self.f):
            raise ArgumentError("the function", self.f, "callable, such as lambda s: s.points")


@frozen
class Spread:
    """``f(*x)``, for a tuple ``x``."""

    call: Call


@frozen
class WithKey:
    """``KV(f(x), x)``: what ``key_by`` does."""

    call: Call


@frozen
class OnValue:
    """``KV(x.key, f(x.value))``: what ``map_values`` does."""

    function: Call | Spread


Function: TypeAlias = Call | Spread | WithKey | OnValue


def user_call(function: Function) -> Call:
    """The user's own function inside a form."""
    match function:
        case Call():
            return function
        case Spread(call=call) | WithKey(call=call):
            return call
        case OnValue(function=inner):
            return user_call(inner)
    assert_never(function)


def place_of(f: Callable[..., object]) -> str:
    """A function's name with its file and line, as messages give it.

    A callable of the project's own that ``stands_for`` a function of the user's goes by that.
    """
    f = getattr(f, "stands_for", f)
    code = getattr(f, "__code__", None)
    name = getattr(f, "__qualname__", None) or repr(f)
    if code is None:
        return f"{getattr(f, '__module__', '?')}.{name}"
    return f"{name.rpartition('.')[2]} at {_short(code.co_filename)}:{code.co_firstlineno}"


def _short(filename: str) -> str:
    relative = os.path.relpath(filename) if os.path.isabs(filename) else filename
    return filename if relative.startswith("..") else relative


def apply(function: Function, element: object, transform: str) -> object:
    """The function's value at an element; raises as ``applied`` does."""
    return applied(function, (element,), transform)[0]


def applied(function: Function, elements: Sequence[object], transform: str) -> list[object]:
    """The function's value at each of some elements.

    What the user's function raises is raised again as ``UserFunctionError``, which names the transform, the
    function with its file and line, and the record.
    """
    match function:
        case Call(f=f):
            return _each(f, elements, transform)
        case Spread(call=Call(f=f)):
            return _each(lambda one: f(*one) if isinstance(one, tuple) else f(one), elements, transform, f)
        case WithKey(call=Call(f=f)):
            return list(map(KV, _each(f, elements, transform), elements))
        case OnValue(function=inner):
            pairs = [keyed(element, transform) for element in elements]
            values = applied(inner, [pair.value for pair in pairs], transform)
            return [KV(pair.key, value) for pair, value in zip(pairs, values, strict=True)]
    assert_never(function)


def _each(
    f: Callable[..., object],
    elements: Sequence[object],
    transform: str,
    named: Callable[..., object] | None = None,
) -> list[object]:
    """What ``f`` gives for each; ``named`` is the function to name when one of them fails."""
    results: list[object] = []
    try:
        for element in elements:
            results.append(f(element))
    except FlowalgError:
        raise
    except Exception as cause:
        raise failure(transform, named or f, elements[len(results)], cause) from cause
    return results


def keyed(element: object, transform: str) -> KV[object, object]:
    """The element as a pair; raises ``KeyedCollectionError`` when it is none."""
    if isinstance(element, KV):
        return element
    raise KeyedCollectionError(
        f"{transform} needs elements that are KV(key, value) pairs, and got {format_value(element)}; "
        "call key_by(...) first"
    )


def failure(
    transform: str, f: Callable[..., object], element: object, cause: BaseException
) -> UserFunctionError:
    """What to raise when a user's function has raised ``cause`` on ``element``."""
    return UserFunctionError(
        f"{transform}: {place_of(f)} raised {type(cause).__name__}: {cause}, on the record {format_value(element)}"
    )


__all__ = [
    "Call",
    "Function",
    "OnValue",
    "Spread",
    "WithKey",
    "applied",
    "apply",
    "failure",
    "keyed",
    "place_of",
    "user_call",
]
