"""Values as bytes in the state: JSON that says the type of each value, and whose reading runs no code of its own.

A plain value of JSON is itself; any other is an array of its tag and its parts. A record has the name of its class, and
its fields by name. The class must have been imported by the program: reading imports nothing, and calls no
constructor but that of a struct of msgspec.
Write access to a checkpoint can therefore change values, but not run code.

A class of other objects is stored as what its ``@stored`` functions make of it.
"""

from __future__ import annotations

import json
import sys
from base64 import b64decode, b64encode
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from types import MappingProxyType
from typing import Any, Final, TypeAlias, TypeVar
from zoneinfo import ZoneInfo

from returns.maybe import Nothing

from flowalg.data.class_marks import class_named, codec_of_class
from flowalg.data.errors import CheckpointError, ElementError, describe_raised
from flowalg.data.record_classes import attributes_of, restore
from flowalg.data.time import EPOCH, MICROSECOND, EventTime, ProcessingTime

A = TypeVar("A")

Document: TypeAlias = "bool | int | float | str | list[Document] | dict[str, Document] | None"
"""A parsed JSON document."""

_Parts: TypeAlias = list[Any]
"""The parts of a value, whose types follow from its tag."""


_ENCODE: Final = json.JSONEncoder(separators=(",", ":")).encode
_DECODE: Final = json.JSONDecoder().raw_decode


NOT_DATA: Final = (TypeError, ValueError, RecursionError)
"""The errors of ``store`` for a value that is not data."""


class StoredValueError(CheckpointError):
    """A stored value is of a class that the program has not, or has changed since."""


def store(value: object) -> bytes:
    """Returns a value as bytes; raises one of ``NOT_DATA`` for a value that is not data."""
    if type(value) is int:
        return b"%d" % value
    return _ENCODE(value if type(value) in _PLAIN else document_of(value)).encode()


def store_value(label: str, what: str, value: object) -> bytes:
    """Returns a value of a stage as bytes; raises ``ElementError`` if it is not data."""
    try:
        return store(value)
    except NOT_DATA as error:
        raise ElementError(unstorable_message(f"{label}: {what}", error)) from error


def unstorable_message(what: str, error: Exception) -> str:
    """Returns the message for a value that ``store`` has rejected with an error."""
    return (
        f"{what} cannot be stored: {describe_raised(error)}; state is data: numbers, texts, bytes, times, tuples, "
        "lists, sets, dicts, enums, and records of them"
    )


def read(stored: bytes, kind: type[A]) -> A:
    """Returns the value of bytes that ``store`` has made, which is of a class.

    Raises ``StoredValueError`` for a class that the program has not imported, or one that has no such fields now, and
    ``ValueError`` for a value of another class.
    """
    value = value_of(parse(stored))
    if not isinstance(value, kind):
        raise ValueError(f"it is {type(value).__name__} instead of {kind.__name__}")
    return value


def parse(stored: bytes) -> Document:
    """Returns the document of bytes that ``store`` has made."""
    document: Document = _DECODE(stored.decode())[0]
    return document


def print_document(document: Document) -> bytes:
    """Returns a document as ``store`` has it."""
    return _ENCODE(document).encode()


def document_of(value: object) -> Document:
    """Returns the document of a value; raises one of ``NOT_DATA`` for a value that is not data."""
    kind: type = type(value)
    write = _WRITERS.get(kind)
    return _write_other(kind, value) if write is None else write(value)


def _float(value: float) -> Document:
    return value if value - value == 0 else ["f", str(value)]


def _tagged(tag: str) -> Callable[[Any], Document]:
    return lambda items: [tag, *[item if type(item) in _PLAIN else document_of(item) for item in items]]


def _set(tag: str) -> Callable[[Any], Document]:
    return lambda items: [tag, *sorted(map(document_of, items), key=_ENCODE)]


def _mapping(tag: str) -> Callable[[Any], Document]:
    return lambda items: [tag, *(document_of(part) for item in items.items() for part in item)]


def _time(value: datetime) -> Document:
    zone = value.tzinfo
    if zone is UTC:
        return ["t", (value - EPOCH) // MICROSECOND]
    if zone is None or isinstance(zone, timezone):
        return ["ti", value.isoformat()]
    if isinstance(zone, ZoneInfo) and zone.key is not None:
        return ["tz", value.replace(tzinfo=None).isoformat(), value.fold, zone.key]
    raise TypeError(f"a time zone of type {type(zone).__name__} is not data")


_PLAIN: Final = frozenset({type(None), bool, int, str})
"""The types of values that are themselves in JSON."""

_WRITERS: Final[Mapping[type, Callable[[Any], Document]]] = {
    **dict.fromkeys(_PLAIN, lambda value: value),
    float: _float,
    tuple: _tagged("("),
    list: _tagged("["),
    deque: _tagged("deque"),
    set: _set("{"),
    frozenset: _set("frozen"),
    dict: _mapping("d"),
    MappingProxyType: _mapping("d"),
    Counter: _mapping("Counter"),
    OrderedDict: _mapping("OrderedDict"),
    bytes: lambda value: ["b", b64encode(value).decode()],
    datetime: _time,
    date: lambda value: ["day", value.isoformat()],
    timedelta: lambda value: ["u", value // MICROSECOND],
    Decimal: lambda value: ["n", str(value)],
    Fraction: lambda value: ["q", value.numerator, value.denominator],
    EventTime: lambda value: ["E", int(value)],
    ProcessingTime: lambda value: ["P", int(value)],
    type(Nothing): lambda value: ["0"],
}


def _write_other(kind: type, value: object) -> Document:
    codec = codec_of_class(kind)
    if codec is not None:
        return ["c", _name(kind), document_of(codec.encode(value))]
    if isinstance(value, Enum):
        return ["e", _name(kind), value.name]
    if isinstance(value, tuple) and hasattr(kind, "_fields"):
        return ["nt", _name(kind), dict(zip(kind._fields, map(document_of, value), strict=True))]
    if kind.__module__ == "numpy":
        return _numbers(kind, value)
    fields = attributes_of(kind)
    if fields is None:
        raise TypeError(
            f"an object of the class {kind.__qualname__} is not data: use a record class, or @stored(...) on it"
        )
    return ["r", _name(kind), {field: document_of(getattr(value, field)) for field in fields}]


def _numbers(kind: type, value: Any) -> Document:  # noqa: ANN401  # of NumPy, which need not be installed
    """Returns the document of a scalar or an array of NumPy."""
    dtype = getattr(value, "dtype", None)
    if dtype is None or dtype.hasobject:
        raise TypeError(f"an object of the class {kind.__qualname__} is not data: use an array of numbers")
    return ["np", dtype.str, *value.shape, b64encode(value.tobytes()).decode()]


def name_of(kind: type) -> str:
    """Returns the name of a class, under which a program finds it."""
    return f"{kind.__module__}:{kind.__qualname__}"


def _name(kind: type) -> str:
    name = name_of(kind)
    if class_named(name) is not kind:
        raise TypeError(
            f"its class, {kind.__qualname__}, cannot be found again; it must be defined at the top level of a module"
        )
    return name


def _class(name: object) -> type:
    found = class_named(str(name))
    if found is None:
        raise StoredValueError(
            f"the checkpoint has a value of the class {name}, which cannot be found; start the query with the program "
            "that wrote it, or with a new checkpoint"
        )
    return found


def value_of(document: object) -> object:
    """Returns the value of a document; raises as ``read`` does."""
    return _READERS[document[0]](document[1:]) if isinstance(document, list) else document


def _values(make: Callable[[Iterable[Any]], object]) -> Callable[[_Parts], object]:
    return lambda parts: make([value_of(part) if type(part) is list else part for part in parts])


def _pairs(make: Callable[[Iterable[Any]], object]) -> Callable[[_Parts], object]:
    def read_pairs(parts: _Parts) -> object:
        values = [value_of(part) for part in parts]
        return make(zip(values[::2], values[1::2], strict=True))

    return read_pairs


def _counter(pairs: Iterable[Any]) -> Counter[Any]:
    return Counter(dict(pairs))


def _read_enum(parts: _Parts) -> object:
    kind, name = _class(parts[0]), parts[1]
    member = kind.__members__.get(name) if issubclass(kind, Enum) else None
    if member is None:
        raise StoredValueError(
            f"the checkpoint has {name} of {kind.__qualname__}, which has no such member now"
        )
    return member


def _read_numbers(parts: _Parts) -> object:
    """Returns a scalar or an array of NumPy."""
    kind, *shape, packed = parts
    numbers = sys.modules["numpy"].frombuffer(b64decode(packed), kind)
    return numbers.reshape(shape).copy() if shape else numbers[0]


def _read_coded(parts: _Parts) -> object:
    kind = _class(parts[0])
    codec = codec_of_class(kind)
    if codec is None:
        raise StoredValueError(
            f"the checkpoint has a value of {kind.__qualname__}, which has no @stored(...) now"
        )
    return codec.decode(value_of(parts[1]))


def _read_record(parts: _Parts) -> object:
    """Returns a record without its constructor, whose converters may run code."""
    kind, document = _class(parts[0]), parts[1]
    names = attributes_of(kind)
    if names is None:
        raise StoredValueError(
            f"the checkpoint has a record of {kind.__qualname__}, which is not a record class now"
        )
    return restore(kind, {name: value_of(_field(document, kind, name)) for name in names})


def _field(document: Any, kind: type, name: str) -> object:  # noqa: ANN401
    if name not in document:
        raise StoredValueError(f"a record in the checkpoint has no {kind.__qualname__}.{name}")
    return document[name]


_READERS: Final[Mapping[str, Callable[[_Parts], object]]] = {
    "f": lambda parts: float(parts[0]),
    "(": _values(tuple),
    "[": _values(list),
    "deque": _values(deque),
    "{": _values(set),
    "frozen": _values(frozenset),
    "d": _pairs(dict),
    "Counter": _pairs(_counter),
    "OrderedDict": _pairs(OrderedDict),
    "b": lambda parts: b64decode(parts[0]),
    "t": lambda parts: EPOCH + timedelta(microseconds=parts[0]),
    "ti": lambda parts: datetime.fromisoformat(parts[0]),
    "tz": lambda parts: datetime.fromisoformat(parts[0]).replace(fold=parts[1], tzinfo=ZoneInfo(parts[2])),
    "day": lambda parts: date.fromisoformat(parts[0]),
    "u": lambda parts: timedelta(microseconds=parts[0]),
    "n": lambda parts: Decimal(parts[0]),
    "q": lambda parts: Fraction(*parts),
    "E": lambda parts: EventTime(parts[0]),
    "P": lambda parts: ProcessingTime(parts[0]),
    "0": lambda parts: Nothing,
    "e": _read_enum,
    "np": _read_numbers,
    "nt": _read_record,
    "r": _read_record,
    "c": _read_coded,
}
