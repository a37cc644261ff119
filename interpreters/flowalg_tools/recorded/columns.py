"""The columns of a source's records, checked as their construction would check them."""

from __future__ import annotations

from typing import Final

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
from flowalg_columns.layout import fields_in
from flowalg_columns.tables import read_column
from flowalg_columns.values import AnyColumn

from flowalg.data import shapes
from flowalg.data.errors import FlowalgError
from flowalg.data.record_classes import record_class
from flowalg.data.time import MAX_TIME, MIN_TIME
from flowalg.pipeline.source import Source
from flowalg_tools.recorded.unsuited import UnsuitedDataError

_SCALARS: Final = (
    shapes.BINARY,
    shapes.BOOLEAN,
    shapes.DECIMAL,
    shapes.DURATION,
    shapes.FLOAT,
    shapes.INTEGER,
    shapes.TEXT,
    shapes.TIMESTAMP,
)
"""The shapes whose values are valid if their Arrow column is, and times are in range. So are those of an enum."""


def record_columns(source: Source[object], table: pa.Table) -> pa.Table:
    """Returns the columns of a source's records, without others.

    Raises ``UnsuitedDataError`` if constructing the records might fail, or compute something.
    """
    shape = require_shape(source)
    record = record_class(shape.cls) if isinstance(shape, shapes.RecordOf) else None
    if record is not None and not record.plain:
        raise UnsuitedDataError
    fields = fields_in(shape)
    if not fields:
        raise UnsuitedDataError
    try:
        columns = {name: read_column(source, name, field, table) for name, field in fields}
    except FlowalgError as error:
        raise UnsuitedDataError from error
    for name, field in fields:
        _require_valid(field, columns[name])
    return pa.Table.from_arrays(list(columns.values()), names=list(columns))


def require_shape(source: Source[object]) -> shapes.Shape:
    """Returns the shape of a source's records."""
    assert source.shape is not None, "the record class of a source is known"
    return source.shape


def _require_valid(shape: shapes.Shape, column: AnyColumn) -> None:
    value = shape.of if isinstance(shape, shapes.Nullable) else shape
    if isinstance(value, shapes.ListOf) and isinstance(value.of, shapes.Scalar):
        items = pc.list_flatten(column)
        if items.null_count:
            raise UnsuitedDataError
        _require_valid(value.of, items)
    elif value not in _SCALARS and not isinstance(value, shapes.EnumOf):
        raise UnsuitedDataError
    elif value == shapes.TIMESTAMP:
        require_in_range(column)


def require_in_range(column: AnyColumn) -> None:
    """Raises ``UnsuitedDataError`` unless all times of a column are inside the bounds of time."""
    micros = pl.Series(column.cast(pa.int64())).drop_nulls()
    if not micros.is_between(MIN_TIME, MAX_TIME).all():
        raise UnsuitedDataError


def processing_times(table: pa.Table, column: str) -> pl.Series:
    """Returns a column of processing times as microseconds since the epoch.

    Raises ``UnsuitedDataError`` unless it is a column of timestamps with a time zone, in whole microseconds and in
    range, without nulls.
    """
    if column not in table.column_names:
        raise UnsuitedDataError
    times = table.column(column)
    if not pa.types.is_timestamp(times.type) or times.type.tz is None or times.null_count:
        raise UnsuitedDataError
    try:
        micros = times.cast(pa.timestamp("us", tz="UTC"))
    except pa.ArrowException as error:
        raise UnsuitedDataError from error
    require_in_range(micros)
    return pl.Series(micros.cast(pa.int64()))
