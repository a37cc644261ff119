"""Which attributes of a class are plain stored values."""

from __future__ import annotations

import inspect
import types
from typing import Final

_MISSING: Final = object()


def is_plain_attribute(cls: type, name: str) -> bool:
    """Whether reading the attribute runs no code of the class."""
    if inspect.getattr_static(cls, "__getattribute__") is not object.__getattribute__:
        return False
    found = inspect.getattr_static(cls, name, _MISSING)
    return found is _MISSING or isinstance(found, types.MemberDescriptorType)


__all__ = ["is_plain_attribute"]
