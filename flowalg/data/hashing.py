"""Hashes that are the same in every process and on every machine: hashes of canonical bytes, not ``hash()``.

Two values have the same canonical bytes exactly if they are equal. ``1``, ``1.0``, ``True`` and ``Decimal(1)`` are
equal, as they are in a set; so are ``-0.0`` and ``0.0``, and the same instant in two time zones.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from hashlib import blake2b
from typing import Final

from returns.maybe import Nothing

from flowalg.data.errors import ElementError, format_value
from flowalg.data.record_classes import CONTAINERS, attributes_of, record_class

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_POSSIBLE: Final = (
    "None, bool, int, float, Decimal, str, bytes, timezone-aware datetime, date, timedelta, an Enum, "
    "and tuples, lists, frozensets and frozen records of them"
)


def hash64(value: object, where: str) -> int:
    """Returns 64 bits of the BLAKE2b hash of a value, as a signed integer.

    Raises ``ElementError`` for a value without canonical bytes, such as NaN. ``where`` names the value in messages.
    """
    digest = blake2b(canonical_bytes(value, where), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


def canonical_bytes(value: object, where: str) -> bytes:
    """Returns the bytes that identify a value up to equality; raises ``ElementError`` as ``hash64`` does."""
    match value:
        case int() | float() | Decimal():
            return _number(value, where)
        case str():
            return b"s" + value.encode("utf-8", "surrogatepass")
        case bytes():
            return b"b" + value
        case None:
            return b"-"
        case datetime():
            if value.utcoffset() is None:
                raise ElementError(f"{where} must be a timezone-aware datetime; got {format_value(value)}")
            return b"t%d" % ((value - _EPOCH) // _MICROSECOND)
        case _ if value is Nothing:
            return b"0"
        case date():
            return b"d%d" % value.toordinal()
        case timedelta():
            return b"u%d" % (value // _MICROSECOND)
        case Enum():
            return _join_values(b"e", (type(value).__qualname__, value.name), where)
        case tuple():
            return _join_values(b"(", value, where)
        case list():
            return _join_values(b"[", value, where)
        case frozenset():
            return _join(b"{", sorted(canonical_bytes(item, where) for item in value))
        case _ if _is_record(value):
            return _record(value, where)
        case _:
            raise ElementError(f"{where} must be {_POSSIBLE}; got {format_value(value)}")


def _number(value: float | Decimal, where: str) -> bytes:
    try:
        numerator, denominator = value.as_integer_ratio()
    except OverflowError:
        return b"n+" if value > 0 else b"n-"
    except ValueError as undefined:
        raise ElementError(
            f"{where} must equal itself, which NaN does not; got {format_value(value)}"
        ) from undefined
    return b"n%x/%x" % (numerator, denominator)


def _is_record(value: object) -> bool:
    kind: type = type(value)
    record = record_class(kind)
    return kind in CONTAINERS or (record is not None and record.frozen)


def _record(value: object, where: str) -> bytes:
    """Uses the class name without its module, because a class of the main script has another module elsewhere."""
    kind: type = type(value)
    record = record_class(kind)
    names = (
        attributes_of(kind) or ()
        if record is None
        else (attribute.name for attribute in record.attributes if attribute.compared)
    )
    fields = (getattr(value, name) for name in names)
    return _join_values(b"r", (kind.__qualname__, *fields), where)


def _join_values(tag: bytes, items: Iterable[object], where: str) -> bytes:
    return _join(tag, (canonical_bytes(item, where) for item in items))


def _join(tag: bytes, parts: Iterable[bytes]) -> bytes:
    """Prefixes each part with its length, which keeps the concatenation unambiguous."""
    return tag + b"".join(b"%d:%b" % (len(part), part) for part in parts)
