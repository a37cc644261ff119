"""The three things that an element-wise transform can do: ``map``, ``filter`` and ``flat_map`` (ParDo, DM 2.1)."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from functools import cached_property
from typing import TypeAlias, assert_never

from attrs import frozen

from flowalg.errors import ElementError, describe
from flowalg.functions import Function, apply, place_of, user_call
from flowalg.time import EventTime, event_time


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
class Restamp(_Labelled):
    """The same elements, with event times that the function gives."""

    name: str = "with_timestamps"


Step: TypeAlias = Map | Filter | FlatMap | Restamp


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
        case Restamp():
            return (element,)
    assert_never(step)


def truth(step: Filter, result: object) -> bool:
    """What a filter's function gave, if that is a bool."""
    if isinstance(result, bool):
        return result
    raise ElementError(f"the result of {step.label} is {describe(result)}; it must be a bool")


def items(step: FlatMap, result: object) -> Iterable[object]:
    """What a ``flat_map``'s function gave, if that has items."""
    if isinstance(result, str) or not isinstance(result, Iterable):
        raise ElementError(
            f"the result of {step.label} is {describe(result)}; it must be an iterable of elements"
        )
    return result


def restamped(step: Restamp, element: object) -> EventTime:
    """The event time that a ``with_timestamps`` gives an element."""
    return point(step, apply(step.function, element, step.label))


def point(step: Restamp, result: object) -> EventTime:
    """What a ``with_timestamps``' function gave, if that is a point in time."""
    where = f"the result of {step.label}"
    if not isinstance(result, datetime):
        raise ElementError(f"{where} is {describe(result)}; it must be a timezone-aware datetime")
    return event_time(result, argument=where)


__all__ = [
    "Filter",
    "FlatMap",
    "Map",
    "Restamp",
    "Step",
    "items",
    "point",
    "restamped",
    "step_values",
    "truth",
]
