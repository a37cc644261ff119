"""Element values at run time: what they must be, and the one form in which every interpreter sees them.

Integers are 64-bit, datetimes are aware and in UTC, and a float field holds a float even if it was given an
integer (SEMANTICS section 2: one meaning, whatever computes it).
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum
from typing import Final, assert_never

import attrs

from flowalg.data.errors import ElementError, ValueRangeError, format_value
from flowalg.data.shapes import (
    DAY,
    DECIMAL,
    DECIMAL_PRECISION,
    DECIMAL_SCALE,
    FLOAT,
    INTEGER,
    TIMESTAMP,
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

MIN_INTEGER: Final = -(2**63)
MAX_INTEGER: Final = 2**63 - 1


def check_integer(value: int, where: str) -> int:
    """The integer itself; raises ``ValueRangeError`` when it needs more than 64 bits."""
    if MIN_INTEGER <= value <= MAX_INTEGER:
        return value
    raise ValueRangeError(
        f"{where} is {value}, which overflows 64 bits: integers must lie in [-2**63, 2**63)"
    )


def conform(value: object, shape: Shape, where: str) -> object:
    """The value in its one form, if it is of the shape; raises ``ElementError`` naming the field otherwise."""
    match shape:
        case Scalar():
            return _scalar(value, shape, where)
        case OptionalOf(of=inner):
            return None if value is None else conform(value, inner, where)
        case EnumOf(cls=cls):
            if isinstance(value, cls):
                return value
        case ListOf(of=inner):
            if isinstance(value, list):
                return [conform(item, inner, f"{where}[{i}]") for i, item in enumerate(value)]
        case SetOf(of=inner, mutable=mutable):
            if isinstance(value, set if mutable else frozenset):
                return shape.made(conform(item, inner, f"{where}{{…}}") for item in value)
        case MapOf(key=key, value=inner):
            if isinstance(value, Mapping):
                return {
                    conform(one, key, f"{where}.keys()"): conform(item, inner, f"{where}[{one!r}]")
                    for one, item in value.items()
                }
        case TupleOf(items=items):
            if isinstance(value, tuple) and len(value) == len(items):
                return tuple(
                    conform(item, inner, f"{where}[{i}]")
                    for i, (item, inner) in enumerate(zip(value, items, strict=True))
                )
        case RecordOf(cls=cls, fields=fields):
            if type(value) is cls:
                changed = {}
                for one in fields:
                    old = getattr(value, one.name)
                    new = conform(old, one.shape, f"{where}.{one.name}")
                    if new is not old:
                        changed[one.name] = new
                return rebuild(value, changed)
        case _:
            assert_never(shape)
    raise ElementError(f"{where} must be a {shape}; got {format_value(value)}")


def _scalar(value: object, shape: Scalar, where: str) -> object:
    if shape == FLOAT and type(value) is int:
        return float(value)
    if type(value) is not shape.python and not (
        isinstance(value, shape.python) and shape not in (INTEGER, FLOAT, DAY)
    ):
        raise ElementError(f"{where} must be a {shape}; got {format_value(value)}")
    if isinstance(value, int) and shape == INTEGER:
        return check_integer(value, where)
    if isinstance(value, datetime) and shape == TIMESTAMP:
        return _aware(value, where)
    if isinstance(value, Decimal) and shape == DECIMAL:
        return _decimal(value, where)
    return value


def _decimal(value: Decimal, where: str) -> Decimal:
    exponent = value.as_tuple().exponent
    if (
        not isinstance(exponent, int)
        or -exponent > DECIMAL_SCALE
        or abs(value) >= Decimal(10) ** (DECIMAL_PRECISION - DECIMAL_SCALE)
    ):
        raise ValueRangeError(
            f"{where} is {format_value(value)}; a Decimal holds at most "
            f"{DECIMAL_PRECISION - DECIMAL_SCALE} digits before and {DECIMAL_SCALE} after the point"
        )
    return value


def _aware(value: datetime, where: str) -> datetime:
    if value.tzinfo is UTC:
        return value
    if value.utcoffset() is None:
        raise ElementError(
            f"{where} is {format_value(value)}, which is naive and so names no point in time; "
            "it must be a timezone-aware datetime"
        )
    return value.astimezone(UTC)


def canonical(value: object, where: str) -> object:
    """A value whose shape is not known, in its one form: integers checked, datetimes aware and in UTC."""
    kind: type = type(value)
    if kind is int:
        return check_integer(value, where) if isinstance(value, int) else value
    if kind in _PLAIN or isinstance(value, Enum):
        return value
    if isinstance(value, datetime):
        return _aware(value, where)
    if isinstance(value, tuple) and kind is tuple:
        return tuple(canonical(item, f"{where}[{i}]") for i, item in enumerate(value))
    if isinstance(value, list):
        return [canonical(item, f"{where}[{i}]") for i, item in enumerate(value)]
    if kind is set or kind is frozenset:
        assert isinstance(value, set | frozenset)
        return kind(canonical(item, f"{where}{{…}}") for item in value)
    if attrs.has(kind):
        changed = {}
        for attribute in attrs.fields(kind):
            old = getattr(value, attribute.name)
            new = canonical(old, f"{where}.{attribute.name}")
            if new is not old:
                changed[attribute.name] = new
        return rebuild(value, changed)
    return value


def holds_float(value: object) -> bool:
    """Whether a value is a float, or a tuple, list, set or record that has one inside."""
    if isinstance(value, float):
        return True
    if isinstance(value, tuple | list | set | frozenset):
        return any(holds_float(item) for item in value)
    kind: type = type(value)
    return attrs.has(kind) and any(holds_float(getattr(value, one.name)) for one in attrs.fields(kind))


_PLAIN: Final = (str, float, bool, type(None), bytes, date)


def rebuild(value: object, changed: dict[str, object]) -> object:
    """The record with some of its fields replaced; the record itself when there are none."""
    kind: type = type(value)
    if not changed or not attrs.has(kind):
        return value
    given = {
        one.alias or one.name: changed.get(one.name, getattr(value, one.name)) for one in attrs.fields(kind)
    }
    return kind(**given)


def order_key(value: object) -> tuple[object, ...]:
    """A key by which values of one shape sort: the order of panes of one instant and window.

    ``None`` sorts before everything and NaN after; records, tuples and lists by their parts in order, sets by
    theirs in this order, and enums by name.
    """
    if value is None:
        return (0,)
    if isinstance(value, float) and value != value:
        return (2,)
    if isinstance(value, set | frozenset):
        return (1, tuple(sorted(order_key(item) for item in value)))
    if isinstance(value, Mapping):
        return (1, tuple(sorted((order_key(key), order_key(item)) for key, item in value.items())))
    if isinstance(value, Enum):
        return (1, value.name)
    if isinstance(value, tuple | list):
        return (1, tuple(order_key(item) for item in value))
    kind: type = type(value)
    if attrs.has(kind):
        return (1, tuple(order_key(getattr(value, one.name)) for one in attrs.fields(kind)))
    return (1, value)


__all__ = [
    "MAX_INTEGER",
    "MIN_INTEGER",
    "canonical",
    "check_integer",
    "conform",
    "holds_float",
    "order_key",
    "rebuild",
]
