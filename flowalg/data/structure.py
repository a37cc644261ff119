"""The structure of a type as text: the name and the type of each field, nested. State is described by it."""

from __future__ import annotations

from enum import Enum
from typing import assert_never

from flowalg.data.errors import RecordTypeError
from flowalg.data.kv import KV
from flowalg.data.record_classes import attributes_of
from flowalg.data.shapes import (
    EnumOf,
    ListOf,
    MapOf,
    MaybeOf,
    OptionalOf,
    RecordOf,
    Scalar,
    SetOf,
    Shape,
    SumOf,
    TupleOf,
    shape_of,
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
        case MaybeOf(of=inner):
            return f"Maybe[{structure(inner)}]"
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
        case SumOf(members=members):
            return " | ".join(f"{member.name}: {structure(member.shape)}" for member in reversed(members))
    assert_never(shape)


def structure_of_value(value: object) -> str:
    """Returns the structure of a value whose type is not declared, as far as the value shows it."""
    kind: type = type(value)
    if isinstance(value, tuple):
        return f"{kind.__name__}[{', '.join(map(structure_of_value, value))}]"
    names = attributes_of(kind)
    if names is None:
        return kind.__name__
    try:
        return structure(shape_of(kind))
    except RecordTypeError:
        return f"{kind.__name__}({', '.join(f'{name}: {_field(value, name)}' for name in names)})"


def _field(value: object, name: str) -> str:
    return structure_of_value(getattr(value, name))


def _member(member: Enum) -> str:
    value = member.value
    return f"{member.name}={value!r}" if isinstance(value, int | float | str) else member.name
