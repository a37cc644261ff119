"""Element-wise steps: ``map``, ``filter``, ``flat_map``, ``split`` and ``with_timestamps`` (ParDo, DM 2.1)."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from functools import cached_property
from types import FunctionType
from typing import Final, TypeAlias, assert_never

from attrs import field, frozen

from flowalg.data.closed import is_of_library
from flowalg.data.errors import ArgumentError, ElementError, describe_function, format_value
from flowalg.data.time import MAX_TIME, EventTime, event_time
from flowalg.elementwise.functions import Function, apply, user_call, user_function_error

Scope: TypeAlias = tuple[str, ...]
"""The names of the transforms that a step or node was built inside of, the outermost first. They change no meaning."""

WRITTEN: Final = {"written": True}
"""The metadata of a field that documents hold although it takes no part in equality."""


@frozen
class _Step:
    """What every step has: the user's function, the method that was called with it, and the transforms around it."""

    function: Function
    name: str
    scope: Scope = field(default=(), eq=False, repr=False, kw_only=True, metadata=WRITTEN)

    @cached_property
    def label(self) -> str:
        """The transform as messages name it, with the function of a user; kept, since it is read for each element."""
        function = user_call(self.function).f
        is_own = isinstance(function, FunctionType) and is_of_library(function)
        label = self.name if is_own else f"{self.name}({describe_function(function)})"
        return "/".join((*self.scope, label))


@frozen
class Map(_Step):
    """Emits the result of the function for each element."""

    name: str = "map"


@frozen
class Filter(_Step):
    """Emits the elements for which the function returns ``True``."""

    name: str = "filter"


@frozen
class FlatMap(_Step):
    """Emits each item of the iterable that the function returns."""

    name: str = "flat_map"


@frozen
class WithTimestamps(_Step):
    """The same elements, with event times that the function gives."""

    name: str = "with_timestamps"


Step: TypeAlias = Map | Filter | FlatMap | WithTimestamps


def apply_step(step: Step, element: object) -> Iterable[object]:
    """Returns the elements that a step emits for an element.

    Raises ``UserFunctionError`` if the user function raises, also while its result is iterated, and ``ElementError``
    if the function of a ``filter`` does not return a ``bool`` or that of a ``flat_map`` does not return an iterable.
    """
    result = apply(step.function, element, step.label)
    match step:
        case Map():
            return (result,)
        case Filter():
            return (element,) if require_bool(step, result) else ()
        case FlatMap():
            return items_of(step, element, result)
        case WithTimestamps():
            return (element,)
    assert_never(step)


def require_bool(step: Filter, result: object) -> bool:
    """Returns the result of a filter's function, which must be a bool; raises ``ElementError`` if it is not."""
    if isinstance(result, bool):
        return result
    raise ElementError(f"the result of {step.label} must be a bool; got {format_value(result)}")


def items_of(step: FlatMap, element: object, result: object) -> list[object]:
    """Returns the elements that a ``flat_map`` emits for an element, from the result of its function.

    Raises ``ElementError`` unless the result is an iterable but not a str, and ``UserFunctionError`` if it is a
    generator that raises.
    """
    if isinstance(result, str) or not isinstance(result, Iterable):
        raise ElementError(
            f"the result of {step.label} must be an iterable of elements; got {format_value(result)}"
        )
    try:
        return list(result)
    except Exception as cause:
        raise user_function_error(step.label, user_call(step.function).f, element, cause) from cause


def assign_timestamp(step: WithTimestamps, element: object) -> EventTime:
    """Returns the event time that a ``with_timestamps`` step assigns to an element."""
    return require_event_time(step, apply(step.function, element, step.label))


def require_event_time(step: WithTimestamps, result: object) -> EventTime:
    """Returns the event time of a result, which must be a timezone-aware datetime; raises ``ElementError``."""
    where = f"the result of {step.label}"
    if not isinstance(result, datetime):
        raise ElementError(f"{where} must be a timezone-aware datetime; got {format_value(result)}")
    time = event_time(result, argument=where)
    if time == MAX_TIME:
        raise ArgumentError(where, result, "before MAX_TIME, since no window contains it")
    return time
