"""Canonical JSON text of values, for keys and values that have no typed columns: that of ``flowalg.data.json_text``."""

from __future__ import annotations

import json
from base64 import b64decode
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Final, assert_never, cast

from returns.maybe import Nothing, Some

from flowalg.data import shapes
from flowalg.data.json_text import Json, dump_json, json_value
from flowalg.data.kv import KV
from flowalg_columns.records import build_records

_MICROSECOND: Final = timedelta(microseconds=1)


def encode_json(value: object, shape: shapes.Shape) -> str:
    """Encodes a value as canonical JSON text: equal values have equal texts."""
    return dump_json(json_value(value, shape))


def decode_json(text: str, shape: shapes.Shape) -> object:
    """Decodes JSON text to a value of a shape."""
    return _decode(json.loads(text), shape)


def _decode(document: Json, shape: shapes.Shape) -> object:
    match shape:
        case shapes.Scalar():
            return _decode_scalar(document, shape)
        case shapes.OptionalOf(of=inner):
            return None if document is None else _decode(document, inner)
        case shapes.MaybeOf(of=inner):
            return Nothing if document is None else Some(_decode(document, inner))
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
        case shapes.SumOf():
            member = shape.member_of_json(document)
            assert member is not None, "the JSON of a member"
            return _decode(document, member.shape)
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
