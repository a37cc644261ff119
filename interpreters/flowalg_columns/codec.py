"""Values of a shape as columns of a table, and back."""

from __future__ import annotations

from collections.abc import Sized
from datetime import UTC, datetime, timedelta
from operator import attrgetter
from typing import Final, cast

import polars as pl
from attrs import frozen

from flowalg.data import shapes
from flowalg.data.time import EPOCH
from flowalg.data.values import MAX_INTEGER, MIN_INTEGER
from flowalg_columns.layout import Layout, Leaf, layout_of, leaf_columns, leaves, parts_of
from flowalg_columns.values import build_values, read_arrays, write_arrays

_LISTED: Final = (shapes.BOOLEAN, shapes.INTEGER, shapes.FLOAT, shapes.TEXT, shapes.BINARY, shapes.DAY)
"""The shapes whose Python values Polars returns quickly."""

_EXACT: Final = (
    shapes.BOOLEAN,
    shapes.INTEGER,
    shapes.FLOAT,
    shapes.TEXT,
    shapes.BINARY,
    shapes.TIMESTAMP,
    shapes.DAY,
    shapes.DURATION,
)
"""The shapes that a value of their Python type has in columns without a change."""


@frozen
class Codec:
    """Converts values to the columns of a layout, and back."""

    layout: Layout

    @classmethod
    def of(cls, shape: shapes.Shape, name: str) -> Codec:
        """Returns the codec of a shape; the names of columns begin with ``name``."""
        return cls(layout_of(shape, name))

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return leaf_columns(self.layout)

    @property
    def order(self) -> tuple[pl.Expr, ...] | None:
        """Columns that order rows as their values are ordered (``sort_key``); ``None`` if there are none."""
        parts = leaves(self.layout)
        if not all(_is_ordered(leaf.shape) for leaf in parts):
            return None
        return tuple(pl.col(leaf.column) for leaf in parts)

    @property
    def nested(self) -> pl.Expr:
        """The values as one column, with structs for values with parts."""
        return _nest(self.layout)

    def read(self, table: pl.DataFrame) -> list[object]:
        """Returns the values in a table."""
        return _read(table, self.layout)

    def write(self, values: list[object], where: str) -> list[pl.Series]:
        """Returns the columns of values; an ``ElementError`` begins with ``where``."""
        arrays = write_arrays(self.layout, values, where)
        return [pl.Series(name, array) for name, array in zip(self.columns, arrays, strict=True)]

    def is_exact(self, values: list[object]) -> bool:
        """Returns whether all values surely equal those that are read from their columns, in type too."""
        return _is_exact(values, self.layout)


def _is_ordered(shape: shapes.Shape) -> bool:
    match shape:
        case shapes.OptionalOf(of=inner) | shapes.MaybeOf(of=inner):
            return _is_ordered(inner)
        case _:
            return isinstance(shape, shapes.Scalar | shapes.EnumOf)


def _nest(layout: Layout) -> pl.Expr:
    if isinstance(layout, Leaf):
        return pl.col(layout.column)
    names = (name for name, _ in parts_of(layout.shape))
    return pl.struct(_nest(part).alias(name) for name, part in zip(names, layout.parts, strict=True))


def _read(table: pl.DataFrame, layout: Layout) -> list[object]:
    match layout:
        case Leaf(shape=shape, column=name):
            return _read_leaf(table[name], shape)
        case _:
            parts = [_read(table, part) for part in layout.parts]
            if parts:
                return build_values(layout.shape, parts)
            empty = layout.shape.cls() if isinstance(layout.shape, shapes.RecordOf) else ()
            return [empty] * table.height


def _read_leaf(series: pl.Series, shape: shapes.Shape) -> list[object]:
    if shape in _LISTED:
        return series.to_list()
    if shape == shapes.TIMESTAMP and not series.null_count():
        micros = series.dt.epoch("us").to_numpy().astype("timedelta64[us]")
        return list(map(EPOCH.__add__, cast("list[timedelta]", micros.tolist())))
    return read_arrays(Leaf(shape, "value"), {"value": series.to_arrow()})


def _is_exact(values: list[object], layout: Layout) -> bool:
    match layout:
        case Leaf(shape=shape):
            return shape in _EXACT and isinstance(shape, shapes.Scalar) and _are_plain(values, shape)
        case _:
            shape = layout.shape
            if isinstance(shape, shapes.SumOf):
                return False
            if isinstance(shape, shapes.TupleOf):
                rows = cast("list[tuple[object, ...]]", values)
                if not set(map(type, rows)) <= {tuple} or not set(map(len, cast("list[Sized]", rows))) <= {
                    len(shape.items)
                }:
                    return False
                columns = [[row[number] for row in rows] for number in range(len(shape.items))]
            else:
                if not set(map(type, values)) <= {shape.cls}:
                    return False
                columns = [list(map(attrgetter(field.attribute), values)) for field in shape.fields]
            return all(map(_is_exact, columns, layout.parts))


def _are_plain(values: list[object], shape: shapes.Scalar) -> bool:
    if not set(map(type, values)) <= {shape.python}:
        return False
    if shape == shapes.INTEGER:
        integers = cast("list[int]", values)
        return not integers or (min(integers) >= MIN_INTEGER and max(integers) <= MAX_INTEGER)
    if shape == shapes.FLOAT:
        return 0.0 not in values  # which may be -0.0
    if shape == shapes.TEXT:
        return _are_encodable(cast("list[str]", values))
    return shape != shapes.TIMESTAMP or all(value.tzinfo is UTC for value in cast("list[datetime]", values))


def _are_encodable(texts: list[str]) -> bool:
    """Returns whether no text has a lone surrogate."""
    try:
        "".join(texts).encode()
    except UnicodeEncodeError:
        return False
    return True
