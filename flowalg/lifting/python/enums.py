"""Enums: which ones behave like plain enums in comparisons, truth values and attributes."""

from __future__ import annotations

import inspect
from enum import Enum, Flag
from typing import Final

_MISSING: Final = object()
_PLAIN_EQUALITY: Final = (object.__eq__, str.__eq__)


def is_plain(cls: type[Enum]) -> bool:
    """Returns whether every value of the class is a member; flags also have combinations."""
    return not issubclass(cls, Flag)


def compares_by_identity(cls: type[Enum]) -> bool:
    """Returns whether two members are equal only if they are identical."""
    return is_plain(cls) and cls.__eq__ in _PLAIN_EQUALITY


def is_always_true(cls: type[Enum]) -> bool:
    """Returns whether every member is true in a boolean context."""
    return not any(name in vars(base) for base in cls.__mro__ for name in ("__bool__", "__len__"))


def overrides(cls: type[Enum], name: str) -> bool:
    """Returns whether the class replaces the ``name`` or ``value`` that every enum has."""
    return inspect.getattr_static(cls, name, _MISSING) is not inspect.getattr_static(Enum, name)
