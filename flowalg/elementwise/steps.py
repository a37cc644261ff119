"""The three things that an element-wise transform can do: ``map``, ``filter`` and ``flat_map`` (ParDo, DM 2.1)."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from functools import cached_property
from typing import TypeAlias, assert_never

from attrs import frozen

from flowalg.data.errors import ElementError, format_value
from flowalg.data.time import EventTime, event_time
from flowalg.elementwise.functions import Function, apply, place_of, user_call


@frozen
class _Labelled:
    """What every step has: the user's function, and the method that was called with it."""

    function: Function
    name: str

    @cached_property
    def label(self) -> str:
        """The transform as messages name it; kept, because it is looked at for each element."""
        return f"{self.name}({place_of(user_call(self.function).f)})"


@frozen
class Map(_Labelled):
    """One element for each."""

    name: str = "map"


@frozen
class Filter(_Labelled):
    """The elements of which the function says ``True``."""

    name: str = "filter"


@frozen
class FlatMap(_Labelled):
    """Any number of elements for each."""

    name: str = "flat_map"


@frozen
class WithTimestamps(_Labelled):
    """The same elements, with event times that the function gives."""

    name: str = "with_timestamps"


Step: TypeAlias = Map | Filter | FlatMap | WithTimestamps


def step_values(step: Step, element: object) -> Iterable[object]:
    """What one step makes of a value.

    Raises ``UserFunctionError`` when the user's function does, and ``ElementError`` when it gives a filter
    anything but a ``bool``, or a ``flat_map`` anything but an iterable.
    """
    result = apply(step.function, element, step.label)
    match step:
        case Map():
            return (result,)
        case Filter():
            return (element,) if truth(step, result) else ()
        case FlatMap():
            return items(step, result)
        case WithTimestamps():
            return (element,)
    assert_never(step)


def truth(step: Filter, result: object) -> bool:
    """What a filter's function gave, if that is a bool."""
    if isinstance(result, bool):
        return result
    raise ElementError(f"the result of {step.label} must be a bool; got {format_value(result)}")


def items(step: FlatMap, result: object) -> Iterable[object]:
    """What a ``flat_map``'s function gave, if that has items."""
    if isinstance(result, str) or not isinstance(result, Iterable):
        raise ElementError(
            f"the result of {step.label} must be an iterable of elements; got {format_value(result)}"
        )
    return result


def event_time_after(step: WithTimestamps, element: object) -> EventTime:
    """The event time that a ``with_timestamps`` gives an element."""
    return point(step, apply(step.function, element, step.label))


def point(step: WithTimestamps, result: object) -> EventTime:
    """What a ``with_timestamps``' function gave, if that is a point in time."""
    where = f"the result of {step.label}"
    if not isinstance(result, datetime):
        raise ElementError(f"{where} must be a timezone-aware datetime; got {format_value(result)}")
    return event_time(result, argument=where)


__all__ = [
    "Filter",
    "FlatMap",
    "Map",
    "Step",
    "WithTimestamps",
    "event_time_after",
    "items",
    "point",
    "step_values",
    "truth",
]
