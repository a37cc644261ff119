"""The three things that an element-wise transform can do: ``map``, ``filter`` and ``flat_map`` (ParDo, DM 2.1)."""

from __future__ import annotations

from typing import TypeAlias

from attrs import frozen

from flowalg.functions import Function, place_of, user_call


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


def _label(name: str, function: Function) -> str:
    return f"{name}({place_of(user_call(function).f)})"


__all__ = ["Filter", "FlatMap", "Map", "Step"]
