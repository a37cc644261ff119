"""Hashes of values that are the same in every process, on every machine: of canonical bytes, never ``hash()``.

Values that are equal have equal bytes, and others differ: ``1``, ``1.0``, ``True`` and ``Decimal(1)`` are one value,
as they are in a set, and so are ``-0.0`` and ``0.0``, and one instant in two time zones.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from hashlib import blake2b
from typing import Final

import attrs

from flowalg.data.errors import ElementError, format_value

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_POSSIBLE: Final = (
    "None, bool, int, float, Decimal, str, bytes, timezone-aware datetime, date, timedelta, an Enum, "
    "and tuples, lists, frozensets and frozen attrs records of them"
)


def hash64(value: object, where: str) -> int:
    """64 bits of a value's BLAKE2b hash, as a signed integer.

    Raises ``ElementError`` on values that have no canonical bytes, NaN among them; ``where`` names the place.
    """
    digest = blake2b(canonical_bytes(value, where), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


def canonical_bytes(value: object, where: str) -> bytes:
    """The bytes that a value and its equals have, and nothing else; raises ``ElementError`` as ``hash64`` does."""
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
                raise ElementError(
                    f"{where} was given {format_value(value)}, which is naive and so names no point in time"
                )
            return b"t%d" % ((value - _EPOCH) // _MICROSECOND)
        case date():
            return b"d%d" % value.toordinal()
        case timedelta():
            return b"u%d" % (value // _MICROSECOND)
        case Enum():
            return _parts(b"e", (type(value).__qualname__, value.name), where)
        case tuple():
            return _parts(b"(", value, where)
        case list():
            return _parts(b"[", value, where)
        case frozenset():
            return _joined(b"{", sorted(canonical_bytes(item, where) for item in value))
        case _ if _is_record(value):
            return _record(value, where)
        case _:
            raise ElementError(f"{where} was given {format_value(value)}; it takes {_POSSIBLE}")


def _number(value: float | Decimal, where: str) -> bytes:
    try:
        numerator, denominator = value.as_integer_ratio()
    except OverflowError:
        return b"n+" if value > 0 else b"n-"
    except ValueError as undefined:
        raise ElementError(f"{where} was given {format_value(value)}, which equals nothing") from undefined
    return b"n%x/%x" % (numerator, denominator)


def _is_record(value: object) -> bool:
    kind: type = type(value)
    return attrs.has(kind) and bool(attrs.inspect(kind).is_frozen)


def _record(value: object, where: str) -> bytes:
    """By the name of the class without its module, which is another one in the script that is run."""
    kind: type = type(value)
    fields = (getattr(value, one.name) for one in attrs.fields(kind) if one.eq)
    return _parts(b"r", (kind.__qualname__, *fields), where)


def _parts(tag: bytes, items: Iterable[object], where: str) -> bytes:
    return _joined(tag, (canonical_bytes(item, where) for item in items))


def _joined(tag: bytes, parts: Iterable[bytes]) -> bytes:
    """Each part with its length, so that no two lists of parts run together."""
    return tag + b"".join(b"%d:%b" % (len(part), part) for part in parts)


__all__ = ["canonical_bytes", "hash64"]
