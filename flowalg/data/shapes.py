"""Shapes: the schemas of elements, derived from Python types; every engine derives its own schema from them.

An element is a scalar (``bool``, 64-bit ``int``, ``float``, ``str``, ``bytes``, timezone-aware ``datetime``,
``date``, ``timedelta``, ``Decimal``, an ``Enum``), an optional, list, set or tuple of such, a record: a frozen class of
attrs (``KV`` is one), dataclasses, pydantic or msgspec, or a ``NamedTuple``; or a value of a sum such as ``Model |
Count``. ``shape_of`` returns the shape of a type; its errors name the unsupported field.
"""

from __future__ import annotations

import re
import types
from collections.abc import Hashable, Iterable, Mapping
from datetime import date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from functools import cached_property
from itertools import combinations
from typing import (
    Annotated,
    Final,
    Literal,
    NewType,
    TypeAlias,
    TypeVar,
    Union,
    assert_never,
    cast,
    get_args,
    get_origin,
    get_type_hints,
    overload,
)

from attrs import Factory, frozen
from returns.maybe import Maybe, Some
from returns.result import Failure, Result, Success

from flowalg.data.class_marks import Tag, tag_of_class
from flowalg.data.errors import RecordTypeError, format_value
from flowalg.data.kv import KV
from flowalg.data.record_classes import CONTAINED, CONTAINERS, record_class

A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
D = TypeVar("D")


@frozen
class Scalar:
    """A primitive type; ``python`` is the class of its values."""

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
    """A member of an ``Enum``, serialized by name."""

    cls: type[Enum]

    def __str__(self) -> str:
        return self.cls.__name__


@frozen
class Nullable:
    """A value that may be missing, which is null in columns."""

    of: Shape


@frozen
class OptionalOf(Nullable):
    """A value or ``None``."""

    def __str__(self) -> str:
        return f"{self.of} | None"


@frozen
class MaybeOf(Nullable):
    """``Some(value)`` or ``Nothing``, of ``returns``. The value is neither ``None`` nor another ``Maybe``."""

    def __str__(self) -> str:
        return f"Maybe[{self.of}]"


@frozen
class ListOf:
    """A list whose items have the same shape."""

    of: Shape

    def __str__(self) -> str:
        return f"list[{self.of}]"


@frozen
class SetOf:
    """A set of hashable values of the same shape: a ``set`` if it is ``mutable``, else a ``frozenset``."""

    of: Shape
    mutable: bool = False

    def make(self, items: Iterable[object]) -> set[object] | frozenset[object]:
        """Returns a set of the items."""
        return set(items) if self.mutable else frozenset(items)

    def __str__(self) -> str:
        return f"{'set' if self.mutable else 'frozenset'}[{self.of}]"


@frozen
class MapOf:
    """A mapping, the value of the side input ``as_map``. Records cannot contain mappings."""

    key: Shape
    value: Shape

    def __str__(self) -> str:
        return f"Mapping[{self.key}, {self.value}]"

    @property
    def item(self) -> RecordOf:
        """The shape of an entry."""
        return kv_of(self.key, self.value)


@frozen
class TupleOf:
    """A tuple of fixed length."""

    items: tuple[Shape, ...]

    def __str__(self) -> str:
        return f"tuple[{', '.join(map(str, self.items))}]"


@frozen
class Field:
    """A field of a record, and the attribute that has it."""

    name: str
    shape: Shape
    attribute: str = Factory(lambda self: self.name, takes_self=True)


@frozen
class RecordOf:
    """A record class or a container of ``returns``, with its fields in the order of its constructor."""

    cls: type
    fields: tuple[Field, ...]

    def field(self, name: str) -> Field | None:
        """Returns the field with this name, or ``None``."""
        return next((field for field in self.fields if field.name == name), None)

    def __str__(self) -> str:
        if self.cls is KV or self.cls in CONTAINERS:
            return f"{self.cls.__name__}[{', '.join(str(field.shape) for field in self.fields)}]"
        return self.cls.__name__


@frozen
class SumOf:
    """A value of one of several shapes, such as ``Model | Count``.

    The tag of a member is the name of its field: that of its class. In columns, each member is a part that is null for
    values of the other members. The members are in the reverse of the order of their values, so that values are ordered
    as these columns are, nulls first.
    """

    members: tuple[Field, ...]

    def __str__(self) -> str:
        match [member.shape for member in self.members]:
            case [RecordOf(cls=cls, fields=(value,)), RecordOf(fields=(error,))] if cls is Success:
                return f"Result[{value.shape}, {error.shape}]"
            case members:
                return " | ".join(map(str, reversed(members)))

    @cached_property
    def _positions(self) -> dict[type, int]:
        return {class_of(member.shape): number for number, member in enumerate(self.members)}

    def position(self, value: object) -> int | None:
        """Returns the position of the member that a value is of; ``None`` if it is of no member."""
        exact = self._positions.get(type(value))
        if exact is not None:
            return exact
        for number, member in enumerate(self.members):
            shape = member.shape
            if isinstance(value, class_of(shape)) and not isinstance(shape, RecordOf):
                return number
            if type(value) is int and shape in (FLOAT, DECIMAL):
                return number
        return None

    def member_of_json(self, document: object) -> Field | None:
        """Returns the member that a JSON document is of, by its tag or its kind; ``None`` if there is none."""
        match document:
            case dict():
                tags = ((member, tag_of(member.shape)) for member in self.members)
                return next((member for member, tag in tags if document.get(tag.field) == tag.name), None)
            case list():
                kinds = _ARRAY
            case str():
                kinds = _TEXT
            case _:
                kinds = _NUMBER
        return next((member for member in self.members if _kinds(member.shape) & kinds), None)

    @property
    def tag_fields(self) -> tuple[str, ...]:
        """The fields of JSON objects that have the tags of records, each once."""
        records = (member.shape for member in reversed(self.members) if isinstance(member.shape, RecordOf))
        return tuple(dict.fromkeys(tag_of(shape).field for shape in records))

    @property
    def has_objects(self) -> bool:
        """Whether all values are objects in JSON."""
        return all(isinstance(member.shape, RecordOf) for member in self.members)

    def instances_of(self, cls: type) -> tuple[int, ...]:
        """Returns the positions of the members whose values are all instances of a class; others have none."""
        return tuple(
            number for number, member in enumerate(self.members) if issubclass(class_of(member.shape), cls)
        )


Composite: TypeAlias = RecordOf | TupleOf | SumOf
"""The shape of a value with parts, each of which has columns of its own."""

Shape: TypeAlias = (
    Scalar | EnumOf | OptionalOf | MaybeOf | ListOf | SetOf | MapOf | TupleOf | RecordOf | SumOf
)
"""The shape of an element value."""


_POSSIBLE: Final = (
    "bool, int, float, str, bytes, datetime, date, timedelta, Decimal, an Enum, a record class (a frozen one of attrs, "
    "dataclasses, pydantic or msgspec, or a NamedTuple), KV[K, V], list[T], frozenset[T], set[T], tuple[T1, T2], "
    "Maybe[T], Result[T, E], or a union of them, also with None"
)

_REMEDY: Final = "; define a record class: use @dataclass(frozen=True) on a class with annotated fields"

_REMEDY_OF_EXCEPTIONS: Final = "; try_map makes a record of an exception, and .alt(str) a text"


ElementType: TypeAlias = Annotated[object, "the type of elements"]
"""A type that ``shape_of`` accepts. It need not be a class: ``list[int]`` and ``int | None`` are element types."""


def kv_of(key: Shape, value: Shape) -> RecordOf:
    """Returns the shape of ``KV`` pairs."""
    return RecordOf(KV, (Field("key", key), Field("value", value)))


def container_of(cls: type, value: Shape) -> RecordOf:
    """Returns the shape of ``Success`` or ``Failure`` of a value."""
    return RecordOf(cls, (Field("value", value, CONTAINED),))


def result_of(value: Shape, error: Shape) -> Shape:
    """Returns the shape of ``Result[value, error]``."""
    return sum_of((container_of(Success, value), container_of(Failure, error)))


def maybe_of(value: Shape, where: str) -> MaybeOf:
    """Returns the shape of ``Maybe[value]``; raises ``RecordTypeError`` for a value that may be missing itself."""
    if isinstance(value, Nullable):
        raise RecordTypeError(
            f"{where}: Maybe[{value}] is not an element type, since a value of a Maybe must not be missing itself; "
            f"use Maybe[{value.of}]"
        )
    return MaybeOf(value)


def optional(shape: Shape) -> OptionalOf:
    """Returns the shape that also admits ``None``."""
    return shape if isinstance(shape, OptionalOf) else OptionalOf(shape)


def required(shape: Shape) -> Shape:
    """Returns the shape without ``None``."""
    return shape.of if isinstance(shape, OptionalOf) else shape


def present(shape: Shape) -> Shape:
    """Returns the shape of the values in columns that are not null."""
    return shape.of if isinstance(shape, Nullable) else shape


def sum_of(members: Iterable[Shape]) -> Shape:
    """Returns the shape of a value that has one of some shapes; it is optional if one of them is.

    Those of one generic class are one member, whose parts have the sums of their parts: ``KV[str, A] | KV[str, B]`` is
    ``KV[str, A | B]``. Raises ``RecordTypeError`` if Python or JSON could not distinguish two members.
    """
    distinct: dict[type, Shape] = {}
    nullable = False
    for member in members:
        nullable |= isinstance(member, OptionalOf)
        for shape in _members_of(required(member)):
            cls = class_of(shape)
            distinct[cls] = _both(distinct[cls], shape) if cls in distinct else shape
    first, *others = distinct.values()
    for one, other in combinations(distinct.values(), 2):
        both = ", ".join(sorted(_kinds(one) & _kinds(other)))
        if both:
            same_tag = isinstance(one, RecordOf) and _TUPLE.isdisjoint(_kinds(one) & _kinds(other))
            remedy = _REMEDY_OF_RECORDS if same_tag else _REMEDY_OF_OTHERS
            raise _no_sum(one, other, f"both are {both}; {remedy}")
    if Maybe in distinct and (others or nullable):
        added = next((str(shape) for cls, shape in distinct.items() if cls is not Maybe), "None")
        raise RecordTypeError(
            f"{distinct[Maybe]} | {added} is not an element type, since its values may be missing already; "
            f"use {distinct[Maybe]}, or a record class with a field of it"
        )
    if others:
        _require_tags(distinct.values())
    named = (Field(tag_of(shape).name, shape) for shape in distinct.values())
    whole = SumOf(tuple(sorted(named, key=_rank, reverse=True))) if others else first
    return optional(whole) if nullable else whole


def _members_of(shape: Shape) -> tuple[Shape, ...]:
    return tuple(member.shape for member in shape.members) if isinstance(shape, SumOf) else (shape,)


def _both(one: Shape, other: Shape) -> Shape:
    """Returns the shape of values of two shapes whose class is the same."""
    if one == other:
        return one
    match one, other:
        case RecordOf(cls=cls, fields=fields), RecordOf(fields=others) if len(fields) == len(others):
            parts = zip(fields, others, strict=True)
            return RecordOf(
                cls, tuple(Field(a.name, sum_of((a.shape, b.shape)), a.attribute) for a, b in parts)
            )
        case TupleOf(items=items), TupleOf(items=others) if len(items) == len(others):
            return TupleOf(tuple(sum_of(both) for both in zip(items, others, strict=True)))
        case (ListOf(of=a), ListOf(of=b)):
            return ListOf(sum_of((a, b)))
        case (MaybeOf(of=a), MaybeOf(of=b)):
            return MaybeOf(sum_of((a, b)))
        case (SetOf(of=a, mutable=mutable), SetOf(of=b)):
            return SetOf(sum_of((a, b)), mutable)
        case _:
            raise _no_sum(one, other, f"both are of {class_of(one).__name__}; {_REMEDY_OF_OTHERS}")


def _no_sum(one: Shape, other: Shape, why: str) -> RecordTypeError:
    return RecordTypeError(
        f"{one} | {other} is not an element type: its members cannot be distinguished, since {why}"
    )


_REMEDY_OF_RECORDS: Final = "use classes with different names, or @tagged(name) on one of them"
_REMEDY_OF_OTHERS: Final = "use a record class with a field of one of them"


def _require_tags(members: Iterable[Shape]) -> None:
    """Raises ``RecordTypeError`` for a record with a field that has the name of its tag's."""
    for shape in members:
        field = tag_of(shape).field
        if isinstance(shape, RecordOf) and shape.field(field) is not None:
            raise RecordTypeError(
                f"{shape} has a field {field}, which has its tag in JSON; choose another one with "
                f"@tagged({tag_of(shape).name!r}, field=...)"
            )


def _rank(member: Field) -> tuple[str, str]:
    """Returns what orders values of different members (``flowalg.data.values.sort_key``)."""
    match member.shape:
        case Scalar() as scalar if scalar in (BOOLEAN, INTEGER, FLOAT, DECIMAL):
            return "number", member.name
        case ListOf() | TupleOf():
            return "sequence", member.name
        case SetOf():
            return "set", member.name
        case EnumOf(cls=cls):
            return cls.__name__, member.name
        case _:
            return member.name, member.name


def tag_of(shape: Shape) -> Tag:
    """Returns the tag of a shape as a member of a sum."""
    return tag_of_class(class_of(shape))


@overload
def one_of(first: type[A], second: type[B], /) -> type[A | B]: ...
@overload
def one_of(first: type[A], second: type[B], third: type[C], /) -> type[A | B | C]: ...
@overload
def one_of(first: type[A], second: type[B], third: type[C], fourth: type[D], /) -> type[A | B | C | D]: ...
@overload
def one_of(*classes: type[A]) -> type[A]: ...
def one_of(*classes: type[object]) -> type[object]:
    """Returns the type ``A | B`` of several classes, as type checkers accept it where a class is expected.

    Example:

    >>> print(Source("events", one_of(Score, str), event_time=lambda event: noon(0)).shape)
    Score | str
    """
    _ = shape_of(whole := Union[classes])  # noqa: UP007  # raises for other than element types
    return cast("type[object]", whole)


def class_of(shape: Shape) -> type:
    """Returns the class of the values of a shape; ``object`` for one whose values have several."""
    match shape:
        case Scalar(python=cls) | EnumOf(cls=cls) | RecordOf(cls=cls):
            return cls
        case ListOf():
            return list
        case SetOf(mutable=mutable):
            return set if mutable else frozenset
        case TupleOf():
            return tuple
        case MapOf():
            return Mapping
        case MaybeOf():
            return Maybe
        case OptionalOf() | SumOf():
            return object
    assert_never(shape)


def _kinds(shape: Shape) -> frozenset[str]:
    """Returns what values of a shape are in JSON and in comparisons; values of two shapes that share none differ."""
    match shape:
        case RecordOf(cls=cls):
            tag = frozenset({f"objects with the tag {tag_of(shape).name.lower()}"})
            return tag | _TUPLE if issubclass(cls, tuple) else tag
        case TupleOf():
            return _ARRAY | _TUPLE
        case ListOf() | SetOf():
            return _ARRAY
        case EnumOf(cls=cls):
            return _TEXT | _NUMBER if issubclass(cls, int | float) else _TEXT
        case Scalar():
            is_number = shape in (BOOLEAN, INTEGER, FLOAT, DECIMAL, DURATION)
            is_text = shape in (TEXT, BINARY, TIMESTAMP, DAY, FLOAT, DECIMAL)  # NaN and decimals are texts
            return (_NUMBER if is_number else frozenset()) | (_TEXT if is_text else frozenset())
        case OptionalOf() | MaybeOf() | MapOf() | SumOf():
            return frozenset({"values of any kind"})
    assert_never(shape)


_NUMBER: Final = frozenset({"numbers"})
_TEXT: Final = frozenset({"texts"})
_ARRAY: Final = frozenset({"arrays"})
_TUPLE: Final = frozenset({"tuples, which may be equal"})


def shape_of(python_type: object, *, where: str | None = None) -> Shape:
    """Returns the shape of a Python type. That of a ``Literal`` is the one of its values, which are not compared.

    ``where`` names the type in messages; its default is the name of the type. Raises ``RecordTypeError`` for a type
    that cannot be an element type, naming the class and the field.
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
    return RecordTypeError(f"{named} is not a type; it must be {_POSSIBLE}")


def _name(python_type: object) -> str:
    if isinstance(python_type, type):
        return python_type.__name__
    return re.sub(r"\breturns\.(maybe|result)\.", "", str(python_type))


def _shape(
    python_type: object, where: str, variables: Mapping[object, Shape], enclosing: tuple[object, ...]
) -> Shape:
    if python_type in variables:
        return variables[python_type]
    if python_type in _SCALARS:
        return _SCALARS[python_type]
    if isinstance(python_type, NewType):
        return _shape(python_type.__supertype__, where, variables, enclosing)
    origin = get_origin(python_type)
    args = get_args(python_type)
    if origin is Annotated:
        return _shape(args[0], where, variables, enclosing)
    if origin is Literal:
        return _literal(args, where)
    if origin in (Union, types.UnionType):
        inner = [_shape(arg, where, variables, enclosing) for arg in args if arg is not types.NoneType]
        if inner:
            whole = sum_of(inner)
            return sum_of((optional(whole),)) if len(inner) < len(args) else whole
    elif origin is list and len(args) == 1:
        return ListOf(_shape(args[0], f"{where}[…]", variables, enclosing))
    elif origin in (frozenset, set) and len(args) == 1:
        return _set(origin is set, _shape(args[0], f"{where}{{…}}", variables, enclosing), where)
    elif origin is tuple and Ellipsis not in args and args:
        items = (_shape(arg, f"{where}[{i}]", variables, enclosing) for i, arg in enumerate(args))
        return TupleOf(tuple(items))
    elif origin in (Maybe, Some):
        return maybe_of(_shape(args[0], f"{where}[…]", variables, enclosing), where)
    elif origin is Result:
        value, error = (_shape(arg, f"{where}[{i}]", variables, enclosing) for i, arg in enumerate(args))
        return result_of(value, error)
    elif origin in (Success, Failure):
        return container_of(origin, _shape(args[0], f"{where}[…]", variables, enclosing))
    elif isinstance(origin, type) and _is_record(origin):
        parameters: tuple[object, ...] = getattr(origin, "__parameters__", ())
        argument_shapes = {
            parameter: _shape(arg, f"{where}[{parameter}]", variables, enclosing)
            for parameter, arg in zip(parameters, args, strict=True)
        }
        return _record(origin, where, argument_shapes, enclosing)
    elif isinstance(python_type, type):
        if issubclass(python_type, Enum):
            if not python_type.__members__:
                raise RecordTypeError(
                    f"{_with_type(where, python_type)} is an Enum without members; use a class that defines some"
                )
            return EnumOf(python_type)
        if _is_record(python_type):
            return _record(python_type, where, {}, enclosing)
    if not isinstance(python_type, type) and origin is None:
        raise _no_type(python_type, where)
    raise RecordTypeError(
        f"{_with_type(where, python_type)} is not an element type; it must be {_POSSIBLE}{_remedy(python_type)}"
    )


def _remedy(python_type: object) -> str:
    """Returns what to write instead of a type that is not an element type."""
    if get_origin(python_type) is dict or python_type is dict:
        return _REMEDY
    if not isinstance(python_type, type) or get_origin(python_type) is not None:
        return ""
    if issubclass(python_type, BaseException):
        return _REMEDY_OF_EXCEPTIONS
    if python_type.__module__ == "numpy":
        named = (_PLAIN_OF_NUMPY.get(base.__name__) for base in python_type.__mro__)
        plain = next(filter(None, named), None)
        return "" if plain is None else f"; use {plain}, and .item() of a value"
    return _REMEDY if python_type.__module__ != "builtins" else ""


_PLAIN_OF_NUMPY: Final = {
    "floating": "float",
    "integer": "int",
    "str_": "str",
    "bytes_": "bytes",
    "bool": "bool",
    "bool_": "bool",
}
"""The classes of Python with the values of classes of NumPy and of their subclasses."""


def _literal(values: tuple[object, ...], where: str) -> Shape:
    """Returns the shape of the type that the values of a ``Literal`` have."""
    found = {type(value) for value in values if value is not None}
    if len(found) != 1:
        names = ", ".join(sorted(cls.__name__ for cls in found)) or "None"
        raise RecordTypeError(f"{where}: the values of a Literal must have one type; got {names}")
    shape = shape_of(found.pop(), where=where)
    return optional(shape) if None in values else shape


def _is_record(cls: type) -> bool:
    return record_class(cls) is not None


def _with_type(where: str, python_type: object) -> str:
    """Returns a place and its type; a type may be its own place."""
    name = _name(python_type)
    return name if where == name else f"{where} has type {name}, which"


def _set(mutable: bool, of: Shape, where: str) -> SetOf:
    if is_hashable(of):
        return SetOf(of, mutable)
    raise RecordTypeError(
        f"{where} is a set of {of}, which is not hashable; use frozenset and tuple inside a set"
    )


def _record(
    cls: type, where: str, variables: Mapping[object, Shape], enclosing: tuple[object, ...]
) -> RecordOf:
    if cls in enclosing:
        raise RecordTypeError(f"{where}: {cls.__name__} is recursive; a record class must not contain itself")
    place = where if where == cls.__name__ else f"{where}: {cls.__name__}"
    record = record_class(cls)
    assert record is not None, "a record class"
    if record.fault is not None:
        raise RecordTypeError(f"{place} {record.fault}")
    try:
        hints = get_type_hints(cls)
    except NameError as unresolved:
        raise RecordTypeError(
            f"{where}: the annotations of {cls.__name__} cannot be resolved ({unresolved}); define the class and "
            "the types in its annotations at the top level of a module"
        ) from unresolved
    fields = []
    for attribute in record.attributes:
        place = f"{cls.__name__}.{attribute.name}"
        if attribute.argument is None:
            raise RecordTypeError(
                f"{place} has init=False; every field must be an argument of the constructor"
            )
        hint = hints.get(attribute.name)
        if hint is None:
            raise RecordTypeError(f"{place} has no type annotation; it must be {_POSSIBLE}")
        fields.append(Field(attribute.name, _shape(hint, place, variables, (*enclosing, cls))))
    if not fields:
        raise RecordTypeError(f"{where}: {cls.__name__} has no fields; a record class needs at least one")
    return RecordOf(cls, tuple(fields))


def inner_shapes(shape: Shape) -> tuple[Shape, ...]:
    """Returns the shapes that a shape is made of: of its items, of a mapping's keys and values, or of its fields."""
    match shape:
        case Scalar() | EnumOf():
            return ()
        case OptionalOf(of=inner) | MaybeOf(of=inner) | ListOf(of=inner) | SetOf(of=inner):
            return (inner,)
        case MapOf(key=key, value=value):
            return (key, value)
        case TupleOf(items=items):
            return items
        case RecordOf(fields=fields) | SumOf(members=fields):
            return tuple(field.shape for field in fields)
    assert_never(shape)


def contains_float(shape: Shape) -> bool:
    """Returns whether values of the shape contain floats, which makes them unfit to be keys: floats do not compare
    exactly.
    """
    return shape == FLOAT or any(map(contains_float, inner_shapes(shape)))


def contains_sum(shape: Shape) -> bool:
    """Returns whether values of the shape contain values of a sum."""
    return isinstance(shape, SumOf) or any(map(contains_sum, inner_shapes(shape)))


def fits_decimals(precision: int | None, scale: int) -> bool:
    """Returns whether all decimals of a stored type fit ``Decimal``; ``scale`` of its digits are after the point."""
    whole = DECIMAL_PRECISION - DECIMAL_SCALE
    return precision is not None and 0 <= scale <= DECIMAL_SCALE and precision - scale <= whole


def is_hashable(shape: Shape) -> bool:
    """Returns whether values of the shape are hashable, which items of a set must be."""
    if isinstance(shape, ListOf | MapOf) or (isinstance(shape, SetOf) and shape.mutable):
        return False
    return all(map(is_hashable, inner_shapes(shape)))
