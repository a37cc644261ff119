"""Which attributes of a class are plain stored values, and which do not exist."""

from __future__ import annotations

import inspect
import types
from typing import Final

from returns.result import safe

_MISSING: Final = object()


def is_plain_attribute(cls: type, name: str) -> bool:
    """Returns whether reading the attribute runs no code of the class."""
    if inspect.getattr_static(cls, "__getattribute__") is not object.__getattribute__:
        return False
    attribute = inspect.getattr_static(cls, name, _MISSING)
    return attribute is _MISSING or isinstance(attribute, types.MemberDescriptorType)


def lacks_attribute(cls: type, name: str) -> bool:
    """Returns whether no instance of exactly this class can have the attribute, so that reading it raises."""
    return (
        cls.__dictoffset__ == 0
        and inspect.getattr_static(cls, "__getattribute__") is object.__getattribute__
        and inspect.getattr_static(cls, "__getattr__", _MISSING) is _MISSING
        and inspect.getattr_static(cls, name, _MISSING) is _MISSING
    )


_SAFE: Final = safe(str).__code__


def is_safe(f: object) -> bool:
    """Returns whether ``@safe`` of ``returns`` decorates a function; its annotations are then those of another one."""
    return getattr(f, "__code__", None) is _SAFE
