"""Members of enums: which enums behave as plain ones, and what their names and values are."""

from __future__ import annotations

import inspect
from enum import Enum, Flag
from typing import Final

_MISSING: Final = object()
_PLAIN_EQUALITY: Final = (object.__eq__, str.__eq__)


def is_plain(cls: type[Enum]) -> bool:
    """Whether each value of the class is one of its members: flags also have combinations."""
    return not issubclass(cls, Flag)


def compares_by_identity(cls: type[Enum]) -> bool:
    """Whether two members are equal only if they are one."""
    return is_plain(cls) and cls.__eq__ in _PLAIN_EQUALITY


def is_always_true(cls: type[Enum]) -> bool:
    """Whether every member counts as true."""
    return not any(name in vars(one) for one in cls.__mro__ for name in ("__bool__", "__len__"))


def has_own(cls: type[Enum], name: str) -> bool:
    """Whether the class defines ``name`` or ``value`` in place of what every enum has."""
    return inspect.getattr_static(cls, name, _MISSING) is not inspect.getattr_static(Enum, name)


__all__ = ["compares_by_identity", "has_own", "is_always_true", "is_plain"]
