"""The structure of a type as text: the name and the type of each field, nested. State is described by it."""

from __future__ import annotations

from enum import Enum
from typing import assert_never

from flowalg.data.kv import KV
from flowalg.data.shapes import (
    EnumOf,
    ListOf,
    MapOf,
    OptionalOf,
    RecordOf,
    Scalar,
    SetOf,
    Shape,
    TupleOf,
)


def structure(shape: Shape) -> str:
    """Returns the structure of a shape. Two types with one structure have the same values in state.

    Example:

    >>> from flowalg.data.shapes import shape_of
    >>> structure(shape_of(KV[str, list[KV[str, int | None]]]))
    'KV[str, list[KV[str, int | None]]]'
    """
    match shape:
        case Scalar():
            return str(shape)
        case EnumOf(cls=cls):
            return f"{cls.__name__}({', '.join(sorted(map(_member, cls)))})"
        case OptionalOf(of=inner):
            return f"{structure(inner)} | None"
        case ListOf(of=inner):
            return f"list[{structure(inner)}]"
        case SetOf(of=inner, mutable=mutable):
            return f"{'set' if mutable else 'frozenset'}[{structure(inner)}]"
        case MapOf(key=key, value=value):
            return f"Mapping[{structure(key)}, {structure(value)}]"
        case TupleOf(items=items):
            return f"tuple[{', '.join(map(structure, items))}]"
        case RecordOf(cls=cls, fields=fields) if cls is KV:
            return f"KV[{', '.join(structure(field.shape) for field in fields)}]"
        case RecordOf(cls=cls, fields=fields):
            return (
                f"{cls.__name__}({', '.join(f'{field.name}: {structure(field.shape)}' for field in fields)})"
            )
    assert_never(shape)


def _member(member: Enum) -> str:
    value = member.value
    return f"{member.name}={value!r}" if isinstance(value, int | float | str) else member.name


__all__ = ["structure"]
