"""Canonical JSON text of values, for keys and values that have no typed columns.

Records are objects; tuples, lists and sets are arrays (sets are sorted); mappings are arrays of objects with ``key``
and ``value``. Timestamps and days are ISO 8601, durations whole microseconds, decimals text, bytes base64. NaN and the
infinities, which JSON lacks, are the texts ``NaN``, ``Infinity`` and ``-Infinity``.
"""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Mapping
from datetime import date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from typing import Final, assert_never, cast

from flowalg.data import shapes
from flowalg.data.json_text import Json, dump_json, encode_scalar
from flowalg.data.kv import KV
from flowalg_columns.records import build_records
from flowalg_columns.values import sort_values

_MICROSECOND: Final = timedelta(microseconds=1)


def encode_json(value: object, shape: shapes.Shape) -> str:
    """Encodes a value as canonical JSON text: equal values have equal texts."""
    return dump_json(json_value(value, shape))


def decode_json(text: str, shape: shapes.Shape) -> object:
    """Decodes JSON text to a value of a shape."""
    return _decode(json.loads(text), shape)


def json_value(value: object, shape: shapes.Shape) -> Json:
    """Converts a value of a shape to a JSON document."""
    match shape:
        case shapes.Scalar():
            return encode_scalar(value)
        case shapes.OptionalOf(of=inner):
            return None if value is None else json_value(value, inner)
        case shapes.EnumOf():
            return cast("Enum", value).name
        case shapes.ListOf(of=inner):
            return [json_value(item, inner) for item in cast("list[object]", value)]
        case shapes.SetOf(of=inner):
            return [json_value(item, inner) for item in sort_values(cast("frozenset[object]", value))]
        case shapes.MapOf(item=pair):
            mapping = cast("Mapping[object, object]", value)
            return [json_value(KV(key, mapping[key]), pair) for key in sort_values(mapping)]
        case shapes.TupleOf(items=items):
            parts = zip(cast("tuple[object, ...]", value), items, strict=True)
            return [json_value(part, part_shape) for part, part_shape in parts]
        case shapes.RecordOf(fields=fields):
            return {field.name: json_value(getattr(value, field.name), field.shape) for field in fields}
    assert_never(shape)


def _decode(document: Json, shape: shapes.Shape) -> object:
    match shape:
        case shapes.Scalar():
            return _decode_scalar(document, shape)
        case shapes.OptionalOf(of=inner):
            return None if document is None else _decode(document, inner)
        case shapes.EnumOf(cls=cls):
            return cls[cast("str", document)]
        case shapes.ListOf(of=inner):
            return [_decode(item, inner) for item in cast("list[Json]", document)]
        case shapes.SetOf(of=inner):
            return shape.make(_decode(item, inner) for item in cast("list[Json]", document))
        case shapes.MapOf(item=pair):
            pairs = [cast("KV[object, object]", _decode(item, pair)) for item in cast("list[Json]", document)]
            return {entry.key: entry.value for entry in pairs}
        case shapes.TupleOf(items=items):
            return tuple(
                _decode(item, item_shape)
                for item, item_shape in zip(cast("list[Json]", document), items, strict=True)
            )
        case shapes.RecordOf(cls=cls, fields=fields):
            parts = cast("dict[str, Json]", document)
            return build_records(cls, [[_decode(parts[field.name], field.shape)] for field in fields])[0]
    assert_never(shape)


def _decode_scalar(document: Json, shape: shapes.Scalar) -> object:
    text = str(document)
    if shape == shapes.FLOAT:
        return float(text)
    if shape == shapes.BINARY:
        return b64decode(text)
    if shape == shapes.TIMESTAMP:
        return datetime.fromisoformat(text)
    if shape == shapes.DAY:
        return date.fromisoformat(text)
    if shape == shapes.DURATION:
        return int(text) * _MICROSECOND
    return Decimal(text) if shape == shapes.DECIMAL else document
