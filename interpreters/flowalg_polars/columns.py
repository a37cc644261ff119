"""Elements as Polars columns: the types of shapes, and trees of expressions by the layout of ``flowalg_columns``."""

from __future__ import annotations

from typing import Final, TypeAlias

import polars as pl
from flowalg_columns.arrow_types import ColumnTypes
from flowalg_columns.layout import Expressions, Tree

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


EXPRESSIONS: Final = Expressions[pl.Expr](
    pl.col,
    lambda parts: pl.struct(parts),
    lambda column, name: column.struct.field(name),
    lambda micros: micros.cast(pl.Datetime("us")).dt.replace_time_zone("UTC"),
    lambda time: time.to_physical(),
)
"""The expressions of Polars."""

columns_of: Final = EXPRESSIONS.columns_of
unnest: Final = EXPRESSIONS.unnest
nest: Final = EXPRESSIONS.nest
