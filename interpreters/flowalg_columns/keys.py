"""Keys of groupings as columns."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl
from attrs import frozen

from flowalg.data.errors import ElementError, ValueRangeError
from flowalg.data.shapes import Shape
from flowalg.data.values import conform
from flowalg.runs.signals import KeyText
from flowalg_columns.json_text import decode_json
from flowalg_columns.layout import layout_of, leaf_columns
from flowalg_columns.values import read_arrays, write_arrays


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
