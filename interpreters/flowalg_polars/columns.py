"""Elements as Polars columns: the types of shapes, and trees of expressions by the layout of ``flowalg_columns``."""

from __future__ import annotations

from typing import Final, TypeAlias

import polars as pl
from flowalg_columns.arrow_types import ColumnTypes
from flowalg_columns.layout import Branch, Layout, Leaf, Tree, layout_of, leaf_columns, parts_of

from flowalg.data.shapes import (
    BINARY,
    BOOLEAN,
    DAY,
    DECIMAL,
    DECIMAL_PRECISION,
    DECIMAL_SCALE,
    DURATION,
    FLOAT,
    INTEGER,
    TEXT,
    TIMESTAMP,
    RecordOf,
    Shape,
    TupleOf,
)

Columns: TypeAlias = Tree[pl.Expr]
"""A tree of column expressions."""

polars_type: Final[ColumnTypes[pl.DataType]] = ColumnTypes(
    {
        BOOLEAN: pl.Boolean(),
        INTEGER: pl.Int64(),
        FLOAT: pl.Float64(),
        TEXT: pl.String(),
        BINARY: pl.Binary(),
        TIMESTAMP: pl.Datetime("us", "UTC"),
        DAY: pl.Date(),
        DURATION: pl.Duration("us"),
        DECIMAL: pl.Decimal(DECIMAL_PRECISION, DECIMAL_SCALE),
    },
    pl.List,
    lambda parts: pl.Struct([pl.Field(name, part) for name, part in parts]),
)
"""Returns the Polars type of a shape."""


def type_of(kind: object) -> pl.DataType:
    """Returns a Polars type, which may be given by its class."""
    return kind() if isinstance(kind, type) else kind  # type: ignore[return-value]  # a Polars type or its class


def columns_of(layout: Layout) -> Columns:
    """Returns the columns of a layout, by name."""
    match layout:
        case Leaf(shape=shape, column=name):
            return Leaf(shape, pl.col(name))
        case Branch(shape=shape, parts=parts):
            return Branch(shape, tuple(map(columns_of, parts)))


def unnest(column: pl.Expr, shape: Shape) -> Columns:
    """Converts one column, with structs for records and tuples, to a tree."""
    if isinstance(shape, RecordOf | TupleOf):
        return Branch(shape, tuple(unnest(column.struct.field(name), part) for name, part in parts_of(shape)))
    return Leaf(shape, column)


def nest(columns: Columns) -> pl.Expr:
    """Converts a tree to one column, with structs for its branches."""
    match columns:
        case Leaf(column=column):
            return column
        case Branch(shape=shape, parts=parts):
            names = (name for name, _ in parts_of(shape))
            return pl.struct(nest(part).alias(name) for name, part in zip(names, parts, strict=True))


def flatten_columns(columns: Columns, shape: Shape) -> list[pl.Expr]:
    """Returns the columns of a tree, named by the layout of its shape."""
    names = leaf_columns(layout_of(shape))
    return [column.alias(name) for name, column in zip(names, leaf_columns(columns), strict=True)]
