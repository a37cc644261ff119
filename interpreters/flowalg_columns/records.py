"""Construction of records from columns of their fields."""

from __future__ import annotations

import inspect
from collections import deque
from functools import lru_cache
from types import MemberDescriptorType

import attrs

from flowalg.data.collector import pause_collector
from flowalg.data.record_classes import CONTAINERS
from flowalg.lifting.operations.records import has_plain_constructor


def build_records(cls: type, columns: list[list[object]]) -> list[object]:
    """Builds records from columns, one for each attribute of the class, in order.

    If construction only stores each field in its slot, the slots are written a column at a time, which takes a fifth
    of the time. The garbage collector is paused, since it would repeatedly scan the new records.
    """
    if cls in CONTAINERS:
        return list(map(cls, *columns))
    attributes = attrs.fields(cls)
    slots = _slots(cls)
    if slots is not None and columns:
        with pause_collector():
            records: list[object] = [object.__new__(cls) for _ in columns[0]]
        for slot, column in zip(slots, columns, strict=True):
            deque(map(slot.__set__, records, column), maxlen=0)
        return records
    if all(attribute.init and not attribute.kw_only for attribute in attributes):
        return list(map(cls, *columns))
    names = [attribute.alias or attribute.name for attribute in attributes]
    return [cls(**dict(zip(names, row, strict=True))) for row in zip(*columns, strict=True)]


@lru_cache(maxsize=256)
def _slots(cls: type) -> tuple[MemberDescriptorType, ...] | None:
    """Returns the slots of a class's fields, if instances have no other state and construction only stores fields."""
    names = [attribute.name for attribute in attrs.fields(cls)]
    slot_names = {slot for base in cls.__mro__ for slot in vars(base).get("__slots__", ())}
    if not has_plain_constructor(cls) or slot_names - {"__weakref__"} != set(names) or cls.__dictoffset__:
        return None
    members = [inspect.getattr_static(cls, name) for name in names]
    slots = tuple(member for member in members if isinstance(member, MemberDescriptorType))
    return slots if len(slots) == len(names) else None
