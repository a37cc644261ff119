"""User functions as values: how a function is applied to an element, and the error when it raises.

The element-wise transforms need four forms: a call, a call with the items of a tuple as arguments, ``key_by`` (pairs
an element with a computed key) and ``map_values`` (maps the value and keeps the key).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TypeAlias, assert_never

from attrs import frozen

from flowalg.data.errors import (
    ArgumentError,
    FlowalgError,
    KeyedCollectionError,
    UserFunctionError,
    describe_function,
    describe_raised,
    format_value,
    renamed,
)
from flowalg.data.kv import KV
from flowalg.data.shapes import ElementType, Shape, shape_of


@frozen
class Call:
    """``f(x)``. ``result`` is the result type if the user has declared it."""

    f: Callable[..., object]
    result: ElementType = None

    def __attrs_post_init__(self) -> None:
        if not callable(self.f):
            raise ArgumentError("the function", self.f, "callable, such as lambda s: s.points")
        _ = self.declared_shape  # raises if the result type is not an element type

    @cached_property
    def declared_shape(self) -> Shape | None:
        """The shape of the declared result type, if there is one."""
        if self.result is None:
            return None
        return shape_of(self.result, where=f"the result of {describe_function(self.f)}")


@frozen
class Spread:
    """``f(*x)`` for a tuple ``x``."""

    call: Call


@frozen
class WithKey:
    """``KV(f(x), x)``: the function of ``key_by``."""

    call: Call


@frozen
class OnValue:
    """``KV(x.key, f(x.value))``: the function of ``map_values``."""

    function: Call | Spread


Function: TypeAlias = Call | Spread | WithKey | OnValue


def user_call(function: Function) -> Call:
    """Returns the call of the user function inside a form."""
    match function:
        case Call():
            return function
        case Spread(call=call) | WithKey(call=call):
            return call
        case OnValue(function=inner):
            return user_call(inner)
    assert_never(function)


def apply(function: Function, element: object, transform: str) -> object:
    """Returns the result of the function for an element; raises as ``apply_all`` does."""
    return apply_all(function, (element,), transform)[0]


def apply_all(function: Function, elements: Sequence[object], transform: str) -> list[object]:
    """Returns the result of the function for each element.

    Raises ``UserFunctionError`` if the user function raises; the message names the transform, the function with its
    file and line, and the element. An error of flowalg that it raises keeps its class.
    """
    match function:
        case Call(f=f):
            return _call_each(f, elements, transform)
        case Spread(call=Call(f=f)):
            return _call_each(one_by_one(function), elements, transform, f)
        case WithKey(call=Call(f=f)):
            return list(map(KV, _call_each(f, elements, transform), elements))
        case OnValue(function=inner):
            pairs = [require_keyed(element, transform) for element in elements]
            values = apply_all(inner, [pair.value for pair in pairs], transform)
            return [KV(pair.key, value) for pair, value in zip(pairs, values, strict=True)]
    assert_never(function)


def one_by_one(function: Function) -> Callable[[object], object]:
    """Returns the function of one element, which raises what the user function raises."""
    match function:
        case Call(f=f):
            return f
        case Spread(call=Call(f=f)):
            return lambda x: f(*x) if isinstance(x, tuple) else f(x)
        case WithKey(call=Call(f=f)):
            return lambda x: KV(f(x), x)
        case OnValue(function=inner):
            of_value = one_by_one(inner)
            return lambda pair: KV(pair.key, of_value(pair.value))  # type: ignore[attr-defined]  # it raises for others
    assert_never(function)


def error_of(function: Function, element: object, transform: str, cause: Exception) -> FlowalgError:
    """Returns the error that ``apply`` raises for an element if calling the function raises ``cause``."""
    match function:
        case Call(f=f) | Spread(call=Call(f=f)) | WithKey(call=Call(f=f)):
            return user_function_error(transform, f, element, cause)
        case OnValue(function=inner):
            return error_of(inner, require_keyed(element, transform).value, transform, cause)
    assert_never(function)


def _call_each(
    f: Callable[..., object],
    elements: Sequence[object],
    transform: str,
    named: Callable[..., object] | None = None,
) -> list[object]:
    """Calls ``f`` for each element; ``named`` is the function that the error names, if not ``f``."""
    results: list[object] = []
    try:
        for element in elements:
            results.append(f(element))
    except Exception as cause:
        raise user_function_error(transform, named or f, elements[len(results)], cause) from cause
    return results


def require_keyed(element: object, transform: str) -> KV[object, object]:
    """Returns the element, which must be a ``KV`` pair; raises ``KeyedCollectionError`` if it is not."""
    if isinstance(element, KV):
        return element
    raise KeyedCollectionError(
        f"{transform} needs elements that are KV(key, value) pairs; got {format_value(element)}; call key_by(...) first"
    )


def user_function_error(
    transform: str, f: Callable[..., object], element: object, cause: BaseException
) -> FlowalgError:
    """Returns the error to raise when a user function has raised ``cause`` for ``element``.

    An error of flowalg keeps its class. One that names the transform is raised as it is. So is a ``MemoryError``, which
    is not caused by the element: it fails the query, and does not become a dead letter.
    """
    raised = describe_raised(cause)
    if isinstance(cause, MemoryError) or (isinstance(cause, FlowalgError) and transform in raised):
        raise cause
    message = f"{transform}: {describe_function(f)} raised {raised}; its argument was {format_value(element)}"
    return renamed(cause, message) if isinstance(cause, FlowalgError) else UserFunctionError(message)
