"""Values as JSON text, for people and for tables of dropped records: equal values have equal texts.

Records and pairs are objects; tuples, lists and sets are arrays (sets are sorted); mappings are arrays of objects with
``key`` and ``value``. ``Nothing`` is null, and ``Some(value)`` the value. Timestamps and days are ISO 8601, durations
whole microseconds, decimals text, bytes base64. NaN and the infinities, which JSON lacks, are the texts ``NaN``,
``Infinity`` and ``-Infinity``. A record that is a value of a sum has its tag (``flowalg.data.tagged``).
"""

from __future__ import annotations

import json
import math
from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from functools import lru_cache
from types import NoneType
from typing import Any, Final, TypeAlias

from returns.maybe import Maybe

from flowalg.data import shapes
from flowalg.data.errors import ElementError
from flowalg.data.kv import KV
from flowalg.data.record_classes import CONTAINED, attributes_of
from flowalg.data.shapes import optional
from flowalg.data.values import sort_key

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
"""A parsed JSON document."""

_MICROSECOND: Final = timedelta(microseconds=1)
_AS_THEY_ARE: Final = (str, int, bool, NoneType)
"""The types of values that are their documents. Subclasses, as of an enum, may have others."""
_ENCODER: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def render_json(value: object, shape: shapes.Shape | None = None) -> str:
    """Formats a value as JSON, whatever its type; a value of a type that elements cannot have is its ``repr``.

    Values of sums have tags if the shape is known. A lone surrogate, which UTF-8 cannot encode, is escaped.
    """
    return escape_surrogates(dump_json(_document(value) if shape is None else json_value(value, shape)))


def json_value(value: object, shape: shapes.Shape) -> Json:
    """Converts a value to a JSON document; a part that is not of its shape is converted without it."""
    match shape:
        case shapes.OptionalOf(of=inner) if value is not None:
            return json_value(value, inner)
        case shapes.MaybeOf(of=inner) if isinstance(value, Maybe):
            return json_value(value.value_or(None), optional(inner))
        case shapes.ListOf(of=inner) if isinstance(value, list):
            return [json_value(item, inner) for item in value]
        case shapes.SetOf(of=inner) if isinstance(value, set | frozenset):
            return [json_value(item, inner) for item in _sorted(value)]
        case shapes.MapOf(item=pair) if isinstance(value, Mapping):
            return [json_value(KV(key, value[key]), pair) for key in _sorted(value)]
        case shapes.TupleOf(items=items) if isinstance(value, tuple) and len(value) == len(items):
            return [json_value(part, inner) for part, inner in zip(value, items, strict=True)]
        case shapes.RecordOf(cls=cls, fields=fields) if isinstance(value, cls):
            return {
                field.name: json_value(getattr(value, field.attribute, None), field.shape) for field in fields
            }
        case shapes.SumOf(members=members) if (position := shape.position(value)) is not None:
            member = members[position].shape
            document, tag = json_value(value, member), shapes.tag_of(member)
            return {tag.field: tag.name, **document} if isinstance(document, dict) else document
        case shapes.SumOf(members=members) if isinstance(value, Mapping):
            # The members of a value that is invalid, since not exactly one of them is set.
            return {part.name: json_value(value.get(part.name), optional(part.shape)) for part in members}
        case _:
            return _document(value)


def escape_surrogates(text: str) -> str:
    """Returns a text with escapes in place of lone surrogates, which UTF-8 cannot encode."""
    return text if text.isascii() else text.encode(errors="backslashreplace").decode()


def dump_json(document: Json) -> str:
    """Formats a JSON document as canonical text."""
    return _ENCODER.encode(document)


def encode_scalar(value: object) -> Json:
    """Returns the JSON document of a scalar; ``repr`` of any other value."""
    match value:
        case float() if not math.isfinite(value):
            return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        case bytes():
            return b64encode(value).decode()
        case datetime() | date():
            return value.isoformat()
        case timedelta():
            return value // _MICROSECOND
        case Decimal() if value.is_finite():
            return format(strip_zeros(value), "f")
        case None | bool() | int() | float() | str():
            return value
        case _:
            return repr(value)


def strip_zeros(value: Decimal) -> Decimal:
    """Removes the trailing zeros of a decimal, so equal decimals have equal texts."""
    text = format(value, "f")
    return Decimal(text.rstrip("0").rstrip(".") if "." in text else text)


def _document(value: object) -> Json:
    kind: type = type(value)
    return _documents_of(kind)(value)


@lru_cache(maxsize=1_000)
def _documents_of(kind: type) -> Callable[[Any], Json]:
    """Returns the function from a value of a class to its document."""
    names = attributes_of(kind)
    if kind in _AS_THEY_ARE:
        return _as_it_is
    if issubclass(kind, Enum):
        return lambda value: str(value.name)
    if names is None and issubclass(kind, tuple | list):
        return lambda value: list(map(_document, value))
    if issubclass(kind, set | frozenset):
        return lambda value: list(map(_document, _sorted(value)))
    if issubclass(kind, Mapping):
        return lambda value: [
            {"key": _document(key), "value": _document(value[key])} for key in _sorted(value)
        ]
    if issubclass(kind, Maybe):
        return lambda value: _document(value.value_or(None))
    if names is not None:
        keys = {name: "value" if name == CONTAINED else name for name in names}
        return lambda value: {key: _document(getattr(value, name, None)) for name, key in keys.items()}
    return encode_scalar


def _as_it_is(value: Json) -> Json:
    return value


def _sorted(values: Iterable[object]) -> list[object]:
    try:
        return sorted(values, key=sort_key)
    except (ElementError, TypeError):  # values without an order, which no element of a known type has
        return sorted(values, key=repr)
