"""Values as JSON text in one form, and back: for what has no columns of its own.

Records are objects, tuples, lists and sets are arrays (a set in its one order), mappings are arrays of objects with
``key`` and ``value``. Timestamps and days are ISO 8601, durations whole microseconds, decimals text, bytes base64. A
float that is no number is the text ``NaN``, ``Infinity`` or ``-Infinity``, since JSON has none of them.
"""

from __future__ import annotations

import json
import math
from base64 import b64decode, b64encode
from collections.abc import Mapping
from datetime import date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from typing import Final, TypeAlias, assert_never, cast

from flowalg.data.kv import KV
from flowalg.data.shapes import (
    BINARY,
    DAY,
    DECIMAL,
    DURATION,
    FLOAT,
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
from flowalg_spark.encoding.records import build_records
from flowalg_spark.encoding.values import sort_values

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
"""What JSON text says."""

_MICROSECOND: Final = timedelta(microseconds=1)


def encode_json(value: object, shape: Shape) -> str:
    """A value of a shape as JSON text: equal values give equal texts."""
    return dump_json(json_value(value, shape))


def dump_json(said: Json) -> str:
    """JSON as text, in one form."""
    return json.dumps(said, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def decode_json(text: str, shape: Shape) -> object:
    """The value of a shape that JSON text says."""
    return _value(json.loads(text), shape)


def json_value(value: object, shape: Shape) -> Json:
    """A value of a shape as JSON."""
    match shape:
        case Scalar():
            return _scalar(value)
        case OptionalOf(of=inner):
            return None if value is None else json_value(value, inner)
        case EnumOf():
            return cast("Enum", value).name
        case ListOf(of=inner):
            return [json_value(item, inner) for item in cast("list[object]", value)]
        case SetOf(of=inner):
            return [json_value(item, inner) for item in sort_values(cast("frozenset[object]", value))]
        case MapOf(item=pair):
            given = cast("Mapping[object, object]", value)
            return [json_value(KV(key, given[key]), pair) for key in sort_values(given)]
        case TupleOf(items=items):
            parts = zip(cast("tuple[object, ...]", value), items, strict=True)
            return [json_value(part, one) for part, one in parts]
        case RecordOf(fields=fields):
            return {one.name: json_value(getattr(value, one.name), one.shape) for one in fields}
    assert_never(shape)


def _scalar(value: object) -> Json:
    match value:
        case float() if not math.isfinite(value):
            return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        case bytes():
            return b64encode(value).decode()
        case datetime() | date():
            return value.isoformat()
        case timedelta():
            return value // _MICROSECOND
        case Decimal():
            return format(strip_zeros(value), "f")
        case bool() | int() | float() | str():
            return value
        case _:
            raise AssertionError(f"{value!r} is no scalar")


def strip_zeros(value: Decimal) -> Decimal:
    """A decimal without trailing zeros, of which the way that it came may have left some."""
    text = format(value, "f")
    return Decimal(text.rstrip("0").rstrip(".") if "." in text else text)


def _value(said: Json, shape: Shape) -> object:
    match shape:
        case Scalar():
            return _scalar_in(said, shape)
        case OptionalOf(of=inner):
            return None if said is None else _value(said, inner)
        case EnumOf(cls=cls):
            return cls[cast("str", said)]
        case ListOf(of=inner):
            return [_value(item, inner) for item in cast("list[Json]", said)]
        case SetOf(of=inner):
            return shape.make(_value(item, inner) for item in cast("list[Json]", said))
        case MapOf(item=pair):
            pairs = [cast("KV[object, object]", _value(item, pair)) for item in cast("list[Json]", said)]
            return {one.key: one.value for one in pairs}
        case TupleOf(items=items):
            return tuple(_value(item, one) for item, one in zip(cast("list[Json]", said), items, strict=True))
        case RecordOf(cls=cls, fields=fields):
            parts = cast("dict[str, Json]", said)
            return build_records(cls, [[_value(parts[one.name], one.shape)] for one in fields])[0]
    assert_never(shape)


def _scalar_in(said: Json, shape: Scalar) -> object:
    text = str(said)
    if shape == FLOAT:
        return float(text)
    if shape == BINARY:
        return b64decode(text)
    if shape == TIMESTAMP:
        return datetime.fromisoformat(text)
    if shape == DAY:
        return date.fromisoformat(text)
    if shape == DURATION:
        return int(text) * _MICROSECOND
    return Decimal(text) if shape == DECIMAL else said


__all__ = ["Json", "decode_json", "dump_json", "encode_json", "json_value", "strip_zeros"]
