"""Which attributes of a class are plain stored values, and which do not exist."""

from __future__ import annotations

import inspect
import types
from collections import namedtuple
from typing import Final

from returns.result import safe

_MISSING: Final = object()
_ItemOfNamedTuple: Final = type(vars(namedtuple("_", "item"))["item"])


def is_plain_attribute(cls: type, name: str) -> bool:
    """Returns whether reading the attribute runs no code of the class."""
    if not reads_plainly(cls):
        return False
    attribute = inspect.getattr_static(cls, name, _MISSING)
    if attribute is _MISSING or isinstance(attribute, types.MemberDescriptorType | _ItemOfNamedTuple):
        return True
    # A dataclass has the default of a field under its name; the value of an object comes first.
    fields = vars(cls).get("__dataclass_fields__", {})
    return name in fields and cls.__dictoffset__ != 0 and not hasattr(type(attribute), "__get__")


def reads_plainly(cls: type) -> bool:
    """Returns whether attributes of a class are looked up as Python does it, and not by code of the class."""
    return inspect.getattr_static(cls, "__getattribute__") in (
        object.__getattribute__,
        tuple.__getattribute__,
    )


def lacks_attribute(cls: type, name: str) -> bool:
    """Returns whether no instance of exactly this class can have the attribute, so that reading it raises."""
    return (
        cls.__dictoffset__ == 0
        and reads_plainly(cls)
        and inspect.getattr_static(cls, "__getattr__", _MISSING) is _MISSING
        and inspect.getattr_static(cls, name, _MISSING) is _MISSING
    )


_SAFE: Final = safe(str).__code__


def is_safe(f: object) -> bool:
    """Returns whether ``@safe`` of ``returns`` decorates a function; its annotations are then those of another one."""
    return getattr(f, "__code__", None) is _SAFE
