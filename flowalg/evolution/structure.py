"""The structure of a type as data: the name and the type of each field, nested. State is described by it.

A structure has the names of classes, and not the classes, so that it can be stored and outlives them.
"""

from __future__ import annotations

from enum import Enum
from functools import lru_cache
from typing import Final, assert_never, get_type_hints

from attrs import frozen

from flowalg.data.class_marks import codec_of_class
from flowalg.data.errors import RecordTypeError
from flowalg.data.kv import KV
from flowalg.data.record_classes import attributes_of
from flowalg.data.shapes import (
    EnumOf,
    Field,
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

ENUM: Final = "enum"
OPTIONAL: Final = "optional"
MAYBE: Final = "Maybe"
LIST: Final = "list"
MAP: Final = "Mapping"
TUPLE: Final = "tuple"
RECORD: Final = "record"
SUM: Final = "sum"
STORED: Final = "stored"
UNKNOWN: Final = "unknown"
"""The kinds of structures besides scalars and sets, which have the name of their type."""


@frozen
class Structure:
    """The structure of a type: its kind, its parts by name, and the name of its class, if it has one.

    The parts of an enumeration are its members, with their values as kinds.
    """

    kind: str
    parts: tuple[tuple[str, Structure], ...] = ()
    name: str = ""

    @property
    def of(self) -> Structure:
        """The only part: that of an item, or of a value that may be missing."""
        ((_, part),) = self.parts
        return part

    def __str__(self) -> str:
        match self.kind:
            case "enum":
                members = (f"{name}={part}" if part.kind else name for name, part in self.parts)
                return f"{self.name}({', '.join(members)})"
            case "optional":
                return f"{self.of} | None"
            case "sum":
                return " | ".join(f"{name}: {part}" for name, part in reversed(self.parts))
            case "record" if self.name == KV.__name__:
                return f"{self.name}[{', '.join(str(part) for _, part in self.parts)}]"
            case "record":
                fields = (name if part == UNKNOWN_TYPE else f"{name}: {part}" for name, part in self.parts)
                return f"{self.name}({', '.join(fields)})"
            case "stored":
                return self.name
            case kind:
                inner = ", ".join(str(part) for _, part in self.parts)
                return f"{kind}[{inner}]" if inner else kind


UNKNOWN_TYPE: Final = Structure(UNKNOWN)


def structure_of(shape: Shape) -> Structure:
    """Returns the structure of a shape. Two types with one structure have the same values in state.

    Example:

    >>> from flowalg.data.shapes import shape_of
    >>> print(structure_of(shape_of(KV[str, list[KV[str, int | None]]])))
    KV[str, list[KV[str, int | None]]]
    """
    match shape:
        case Scalar(name=name):
            return Structure(name)
        case EnumOf(cls=cls):
            return _structure_of_enum(cls)
        case OptionalOf(of=inner):
            return Structure(OPTIONAL, _only(inner))
        case MaybeOf(of=inner):
            return Structure(MAYBE, _only(inner))
        case ListOf(of=inner):
            return Structure(LIST, _only(inner))
        case SetOf(of=inner, mutable=mutable):
            return Structure("set" if mutable else "frozenset", _only(inner))
        case MapOf(key=key, value=value):
            return Structure(MAP, (("key", structure_of(key)), ("value", structure_of(value))))
        case TupleOf(items=items):
            parts = ((f"_{number}", structure_of(item)) for number, item in enumerate(items, start=1))
            return Structure(TUPLE, tuple(parts))
        case RecordOf(cls=cls, fields=fields):
            return Structure(RECORD, _named(fields), cls.__name__)
        case SumOf(members=members):
            return Structure(SUM, _named(members))
    assert_never(shape)


def _only(shape: Shape) -> tuple[tuple[str, Structure], ...]:
    return (("", structure_of(shape)),)


def _named(fields: tuple[Field, ...]) -> tuple[tuple[str, Structure], ...]:
    return tuple((field.name, structure_of(field.shape)) for field in fields)


def _structure_of_enum(cls: type[Enum]) -> Structure:
    members = sorted(cls, key=lambda member: member.name)
    return Structure(
        ENUM, tuple((member.name, Structure(_shown(member.value))) for member in members), cls.__name__
    )


def _shown(value: object) -> str:
    """Returns the value of a member of an enumeration, if it is the same in each run."""
    return repr(value) if isinstance(value, int | float | str) else ""


@lru_cache(maxsize=1_000)
def structure_of_class(cls: type) -> Structure:
    """Returns the structure of a class whose values the state has as they are, as far as its types are known."""
    if codec_of_class(cls) is not None:
        return Structure(STORED, name=cls.__name__)
    if issubclass(cls, Enum):
        return _structure_of_enum(cls)
    try:
        return structure_of(shape_of(cls))
    except RecordTypeError:
        fields = (
            (name, UNKNOWN_TYPE if shape is None else structure_of(shape)) for name, shape in fields_of(cls)
        )
        return Structure(RECORD, tuple(fields), cls.__name__)


def fields_of(cls: type) -> tuple[tuple[str, Shape | None], ...]:
    """Returns the fields of a record, also of a mutable one, with their known types."""
    names = attributes_of(cls) or ()
    try:
        hints = get_type_hints(cls)
    except Exception:  # of an annotation, which Python evaluates
        hints = {}
    return tuple((name, _known(hints.get(name))) for name in names)


def _known(hint: object) -> Shape | None:
    try:
        return shape_of(hint)
    except RecordTypeError:
        return None


def outline(value: object) -> str:
    """Returns the types of a value and of its items as text, without the fields of records.

    State that has such values knows the structures of their classes.
    """
    kind: type = type(value)
    if isinstance(value, tuple) and not hasattr(kind, "_fields"):
        return f"tuple[{', '.join(map(outline, value))}]"
    if fields_of(kind) or codec_of_class(kind) is not None:
        return "an object"
    return kind.__name__
