"""Records of a class from the columns of their fields."""

from __future__ import annotations

import gc
import inspect
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from types import MemberDescriptorType

import attrs

from flowalg.lifting.operations.records import has_plain_constructor


def build_records(cls: type, columns: list[list[object]]) -> list[object]:
    """The records whose fields lie in columns, in the order of the class's attributes.

    Where construction does nothing but store each field in its slot, this is done for a whole column at a time, which
    takes a fifth of the time. Python would look for garbage among them after every few hundred, and find none.
    """
    attributes = attrs.fields(cls)
    slots = _slots(cls)
    if slots is not None and columns:
        with _collector_paused():
            records: list[object] = [object.__new__(cls) for _ in columns[0]]
        for slot, column in zip(slots, columns, strict=True):
            deque(map(slot.__set__, records, column), maxlen=0)
        return records
    if all(one.init and not one.kw_only for one in attributes):
        return list(map(cls, *columns))
    names = [one.alias or one.name for one in attributes]
    return [cls(**dict(zip(names, row, strict=True))) for row in zip(*columns, strict=True)]


@contextmanager
def _collector_paused() -> Iterator[None]:
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@lru_cache(maxsize=256)
def _slots(cls: type) -> tuple[MemberDescriptorType, ...] | None:
    """The slots of a class's fields, if its instances have nothing else, and nothing else happens when one is made."""
    names = [one.name for one in attrs.fields(cls)]
    own = {slot for base in cls.__mro__ for slot in vars(base).get("__slots__", ())}
    if not has_plain_constructor(cls) or own - {"__weakref__"} != set(names) or cls.__dictoffset__:
        return None
    found = [inspect.getattr_static(cls, name) for name in names]
    slots = tuple(one for one in found if isinstance(one, MemberDescriptorType))
    return slots if len(slots) == len(names) else None


__all__ = ["build_records"]
