"""The shapes of element values: one derivation from Python types, from which every engine makes its schema.

An element is a scalar (``bool``, 64-bit ``int``, ``float``, ``str``, ``bytes``, timezone-aware ``datetime``,
``date``, ``timedelta``, ``Decimal``, an ``Enum``), an optional, list, set or tuple of such, or a record: a frozen
attrs class (``KV`` is one). ``shape_of`` derives the shape of a type, and says which field cannot be mapped.
"""

from __future__ import annotations

import types
from collections.abc import Hashable, Iterable, Mapping
from datetime import date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from typing import Annotated, Final, TypeAlias, Union, assert_never, get_args, get_origin, get_type_hints

import attrs
from attrs import frozen

from flowalg.data.errors import RecordTypeError, format_value
from flowalg.data.kv import KV


@frozen
class Scalar:
    """A shape without parts; ``python`` is the class of its values."""

    python: type
    name: str

    def __str__(self) -> str:
        return self.name


BOOLEAN: Final = Scalar(bool, "bool")
INTEGER: Final = Scalar(int, "int")
FLOAT: Final = Scalar(float, "float")
TEXT: Final = Scalar(str, "str")
BINARY: Final = Scalar(bytes, "bytes")
TIMESTAMP: Final = Scalar(datetime, "datetime")
DAY: Final = Scalar(date, "date")
DURATION: Final = Scalar(timedelta, "timedelta")
DECIMAL: Final = Scalar(Decimal, "Decimal")

DECIMAL_PRECISION: Final = 38
DECIMAL_SCALE: Final = 18

_SCALARS: Final[Mapping[object, Scalar]] = {
    shape.python: shape
    for shape in (BOOLEAN, INTEGER, FLOAT, TEXT, BINARY, TIMESTAMP, DAY, DURATION, DECIMAL)
}


@frozen
class EnumOf:
    """A member of an ``Enum``, which travels by its name."""

    cls: type[Enum]

    def __str__(self) -> str:
        return self.cls.__name__


@frozen
class OptionalOf:
    """A value or ``None``."""

    of: Shape

    def __str__(self) -> str:
        return f"{self.of} | None"


@frozen
class ListOf:
    """A list of values of one shape."""

    of: Shape

    def __str__(self) -> str:
        return f"list[{self.of}]"


@frozen
class SetOf:
    """A set of values of one shape, which can be hashed: a ``set`` if it is ``mutable``, else a ``frozenset``."""

    of: Shape
    mutable: bool = False

    def made(self, items: Iterable[object]) -> set[object] | frozenset[object]:
        """A set of these items."""
        return set(items) if self.mutable else frozenset(items)

    def __str__(self) -> str:
        return f"{'set' if self.mutable else 'frozenset'}[{self.of}]"


@frozen
class MapOf:
    """A mapping, as the side input ``as_map`` gives. No record has one as a field."""

    key: Shape
    value: Shape

    def __str__(self) -> str:
        return f"Mapping[{self.key}, {self.value}]"

    @property
    def item(self) -> RecordOf:
        """The shape of a key with its value."""
        return kv_of(self.key, self.value)


@frozen
class TupleOf:
    """A tuple of fixed length."""

    items: tuple[Shape, ...]

    def __str__(self) -> str:
        return f"tuple[{', '.join(map(str, self.items))}]"


@frozen
class Field:
    """A field of a record."""

    name: str
    shape: Shape


@frozen
class RecordOf:
    """A frozen attrs class with its fields in order of construction."""

    cls: type
    fields: tuple[Field, ...]

    def field(self, name: str) -> Field | None:
        """The field of that name, or ``None``."""
        return next((one for one in self.fields if one.name == name), None)

    def __str__(self) -> str:
        if self.cls is KV:
            return f"KV[{', '.join(str(one.shape) for one in self.fields)}]"
        return self.cls.__name__


Shape: TypeAlias = Scalar | EnumOf | OptionalOf | ListOf | SetOf | MapOf | TupleOf | RecordOf
"""What an element value can be made of."""

_POSSIBLE: Final = (
    "bool, int, float, str, bytes, datetime, date, timedelta, Decimal, an Enum, a frozen attrs class, "
    "KV[K, V], list[T], frozenset[T], set[T], tuple[T1, T2], or any of them | None"
)


ElementType: TypeAlias = Annotated[object, "the type of elements"]
"""A type that ``shape_of`` takes, which may be no class: ``list[int]``, ``int | None``."""


def kv_of(key: Shape, value: Shape) -> RecordOf:
    """The shape of ``KV`` pairs."""
    return RecordOf(KV, (Field("key", key), Field("value", value)))


def optional(shape: Shape) -> OptionalOf:
    """The shape of a value or ``None``."""
    return shape if isinstance(shape, OptionalOf) else OptionalOf(shape)


def shape_of(python_type: object, *, where: str | None = None) -> Shape:
    """The shape of a Python type.

    ``where`` names the place in messages; it defaults to the type's own name. Raises ``RecordTypeError`` for a
    type that has no shape, naming the class and the field.
    """
    if not isinstance(python_type, Hashable):
        raise _no_type(python_type, where)
    return _shape(python_type, where or _name(python_type), {}, ())


def _no_type(value: object, where: str | None) -> RecordTypeError:
    named = (
        format_value(value)
        if where is None or where == str(value)
        else f"{where} is {format_value(value)}, which"
    )
    return RecordTypeError(f"{named} is no type; it must be {_POSSIBLE}")


def _name(python_type: object) -> str:
    return python_type.__name__ if isinstance(python_type, type) else str(python_type)


def _shape(
    python_type: object, where: str, variables: Mapping[object, Shape], enclosing: tuple[object, ...]
) -> Shape:
    if python_type in variables:
        return variables[python_type]
    if python_type in _SCALARS:
        return _SCALARS[python_type]
    origin = get_origin(python_type)
    args = get_args(python_type)
    if origin in (Union, types.UnionType):
        inner = [arg for arg in args if arg is not types.NoneType]
        if len(inner) == 1 and len(args) == 2:
            return OptionalOf(_shape(inner[0], where, variables, enclosing))
    elif origin is list:
        return ListOf(_shape(args[0], f"{where}[…]", variables, enclosing))
    elif origin is frozenset or origin is set:
        return _set(origin is set, _shape(args[0], f"{where}{{…}}", variables, enclosing), where)
    elif origin is tuple and Ellipsis not in args and args:
        items = (_shape(arg, f"{where}[{i}]", variables, enclosing) for i, arg in enumerate(args))
        return TupleOf(tuple(items))
    elif isinstance(origin, type) and attrs.has(origin):
        parameters: tuple[object, ...] = getattr(origin, "__parameters__", ())
        given = {
            parameter: _shape(arg, f"{where}[{parameter}]", variables, enclosing)
            for parameter, arg in zip(parameters, args, strict=True)
        }
        return _record(origin, where, given, enclosing)
    elif isinstance(python_type, type):
        if issubclass(python_type, Enum):
            return EnumOf(python_type)
        if attrs.has(python_type):
            return _record(python_type, where, {}, enclosing)
    if not isinstance(python_type, type) and origin is None:
        raise _no_type(python_type, where)
    raise RecordTypeError(
        f"{where} has type {_name(python_type)}, which is not an element type; it must be {_POSSIBLE}"
    )


def _set(mutable: bool, of: Shape, where: str) -> SetOf:
    if hashable(of):
        return SetOf(of, mutable)
    raise RecordTypeError(
        f"{where} is a set of {of}, which cannot be hashed; a set can hold frozenset and tuple"
    )


def _record(
    cls: type, where: str, variables: Mapping[object, Shape], enclosing: tuple[object, ...]
) -> RecordOf:
    if cls in enclosing:
        raise RecordTypeError(f"{where}: {cls.__name__} contains itself, so it has no finite schema")
    if not attrs.inspect(cls).is_frozen:
        raise RecordTypeError(
            f"{where}: {cls.__name__} is mutable; a record class must be frozen: decorate it with attrs.frozen"
        )
    try:
        hints = get_type_hints(cls)
    except NameError as unresolved:
        raise RecordTypeError(
            f"{where}: the annotations of {cls.__name__} cannot be resolved ({unresolved}); define it, and the "
            "types that it names, at the top level of a module"
        ) from unresolved
    fields = []
    for attribute in attrs.fields(cls):
        place = f"{cls.__name__}.{attribute.name}"
        if not attribute.init:
            raise RecordTypeError(f"{place} has init=False, so a record cannot be rebuilt from its fields")
        hint = hints.get(attribute.name)
        if hint is None:
            raise RecordTypeError(f"{place} has no type annotation; it must be {_POSSIBLE}")
        fields.append(Field(attribute.name, _shape(hint, place, variables, (*enclosing, cls))))
    if not fields:
        raise RecordTypeError(f"{where}: {cls.__name__} has no fields")
    return RecordOf(cls, tuple(fields))


def contains_float(shape: Shape) -> bool:
    """Whether values of the shape hold a float somewhere, so that they cannot be compared exactly as keys."""
    match shape:
        case Scalar():
            return shape == FLOAT
        case EnumOf():
            return False
        case OptionalOf(of=inner) | ListOf(of=inner) | SetOf(of=inner):
            return contains_float(inner)
        case MapOf(key=key, value=value):
            return contains_float(key) or contains_float(value)
        case TupleOf(items=items):
            return any(contains_float(item) for item in items)
        case RecordOf(fields=fields):
            return any(contains_float(one.shape) for one in fields)
    assert_never(shape)


def hashable(shape: Shape) -> bool:
    """Whether values of the shape can be hashed, so that a set can hold them."""
    match shape:
        case Scalar() | EnumOf():
            return True
        case OptionalOf(of=inner):
            return hashable(inner)
        case SetOf(of=inner, mutable=mutable):
            return not mutable and hashable(inner)
        case ListOf() | MapOf():
            return False
        case TupleOf(items=items):
            return all(hashable(item) for item in items)
        case RecordOf(fields=fields):
            return all(hashable(one.shape) for one in fields)
    assert_never(shape)


__all__ = [
    "BINARY",
    "BOOLEAN",
    "DAY",
    "DECIMAL",
    "DURATION",
    "FLOAT",
    "INTEGER",
    "TEXT",
    "TIMESTAMP",
    "ElementType",
    "EnumOf",
    "Field",
    "ListOf",
    "MapOf",
    "OptionalOf",
    "RecordOf",
    "Scalar",
    "SetOf",
    "Shape",
    "TupleOf",
    "contains_float",
    "hashable",
    "kv_of",
    "optional",
    "shape_of",
]
