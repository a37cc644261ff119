"""The three things that an element-wise transform can do: ``map``, ``filter`` and ``flat_map`` (ParDo, DM 2.1)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias, assert_never

from attrs import frozen

from flowalg.errors import ElementError, describe
from flowalg.functions import Function, apply, place_of, user_call


@frozen
class Map:
    """One element for each. ``name`` is the method that the user called."""

    function: Function
    name: str = "map"

    @property
    def label(self) -> str:
        """The transform as messages name it."""
        return _label(self.name, self.function)


@frozen
class Filter:
    """The elements of which the function says ``True``."""

    function: Function
    name: str = "filter"

    @property
    def label(self) -> str:
        """The transform as messages name it."""
        return _label(self.name, self.function)


@frozen
class FlatMap:
    """Any number of elements for each."""

    function: Function
    name: str = "flat_map"

    @property
    def label(self) -> str:
        """The transform as messages name it."""
        return _label(self.name, self.function)


Step: TypeAlias = Map | Filter | FlatMap


def step_values(step: Step, element: object) -> Iterable[object]:
    """What one step makes of a value.

    Raises ``UserFunctionError`` when the user's function does, and ``ElementError`` when it gives a filter
    anything but a ``bool``, or a ``flat_map`` anything but an iterable.
    """
    result = apply(step.function, element, step.label)
    where = f"the result of {step.label}"
    match step:
        case Map():
            return (result,)
        case Filter():
            if not isinstance(result, bool):
                raise ElementError(f"{where} is {describe(result)}; it must be a bool")
            return (element,) if result else ()
        case FlatMap():
            if isinstance(result, str) or not isinstance(result, Iterable):
                raise ElementError(f"{where} is {describe(result)}; it must be an iterable of elements")
            return result
    assert_never(step)


def _label(name: str, function: Function) -> str:
    return f"{name}({place_of(user_call(function).f)})"


__all__ = ["Filter", "FlatMap", "Map", "Step", "step_values"]
