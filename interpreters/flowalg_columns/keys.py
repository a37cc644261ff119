"""Keys of groupings as columns, and keys of signals as JSON text in the rows of a stream."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from enum import Enum

import attrs
import polars as pl
from attrs import frozen
from flowalg_shard.clocks.signals import KeyText

from flowalg.data.errors import ElementError, ValueRangeError
from flowalg.data.json_text import Json, dump_json, encode_scalar
from flowalg.data.shapes import Shape
from flowalg.data.values import conform
from flowalg_columns.json_text import decode_json
from flowalg_columns.layout import layout_of, leaf_columns
from flowalg_columns.values import read_arrays, sort_values, write_arrays


@frozen
class KeyColumns:
    """Converts keys of a shape to columns and back; a value of another shape has no columns."""

    shape: Shape

    def decode(self, row: pl.DataFrame) -> object:
        """Returns the key in the columns of a row."""
        layout = layout_of(self.shape)
        columns = zip(leaf_columns(layout), row.to_arrow().columns, strict=True)
        return next(iter(read_arrays(layout, dict(columns))), None)

    def encode(self, key: object) -> Sequence[pl.Series] | None:
        """Returns the columns of a key, of ``KeyText`` too."""
        try:
            value = decode_json(key.text, self.shape) if isinstance(key, KeyText) else key
            if conform(value, self.shape, "key") != value:
                return None
            arrays = write_arrays(layout_of(self.shape), [value], "the key of a signal")
        except (ElementError, ValueRangeError, ValueError, LookupError, TypeError, AssertionError):
            return None
        return [pl.Series(array) for array in arrays]


def encode_key(key: object) -> str:
    """Encodes a key as canonical JSON text, as ``encode_json`` does for its shape."""
    return dump_json(_json(key))


def _json(key: object) -> Json:
    kind: type = type(key)
    match key:
        case None:
            return None
        case Enum():
            return key.name
        case tuple() | list():
            return [_json(part) for part in key]
        case AbstractSet():
            return [_json(part) for part in sort_values(frozenset(key))]
        case _ if attrs.has(kind):
            return {field.name: _json(getattr(key, field.name)) for field in attrs.fields(kind)}
        case _:
            return encode_scalar(key)


__all__ = ["KeyColumns", "encode_key"]
