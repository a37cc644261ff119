"""Which attributes of a class are nothing but what was stored in them."""

from __future__ import annotations

import inspect
import types
from typing import Final

_MISSING: Final = object()


def plain_attribute(cls: type, name: str) -> bool:
    """Whether reading the attribute runs no code of the class's own."""
    if inspect.getattr_static(cls, "__getattribute__") is not object.__getattribute__:
        return False
    found = inspect.getattr_static(cls, name, _MISSING)
    return found is _MISSING or isinstance(found, types.MemberDescriptorType)


__all__ = ["plain_attribute"]
