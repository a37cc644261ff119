"""The types of the columns that carry the clocks of a stream; Spark would convert others, in the session's zone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from flowalg_columns.checks.streams import CLOCK_COLUMNS, FLAG, TEXT, TIME, WINDOW
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame
from pyspark.sql import types as T

from flowalg.data.errors import SchemaMismatchError

STREAM_COLUMNS: Final[Mapping[str, str]] = {**CLOCK_COLUMNS, "corrupt_record": TEXT}
"""The arguments of ``StreamInput`` that are columns, and what each must be."""


def _is_time(kind: T.DataType) -> bool:
    return isinstance(kind, T.TimestampType)


def _is_flag(kind: T.DataType) -> bool:
    return isinstance(kind, T.BooleanType | T.NullType)


def _is_text(kind: T.DataType) -> bool:
    return isinstance(kind, T.AtomicType | T.NullType)


def _is_window(kind: T.DataType) -> bool:
    fields = {part.name: part.dataType for part in kind.fields} if isinstance(kind, T.StructType) else {}
    return all(_is_time(fields.get(name, T.NullType())) for name in ("start", "end"))


_FITS: Final[Mapping[str, Callable[[T.DataType], bool]]] = {
    TIME: _is_time,
    FLAG: _is_flag,
    TEXT: _is_text,
    WINDOW: _is_window,
}
"""Which types of this engine are what a column must be."""


def require_column_types(source: str, frame: DataFrame, columns: Mapping[str, Column | None]) -> None:
    """Raises ``SchemaMismatchError`` if a column that an input names is missing, or has another type.

    ``columns`` are the arguments of the ``StreamInput`` of the source.
    """
    for argument, column in columns.items():
        if column is None:
            continue
        valid = STREAM_COLUMNS[argument]
        named = f"source {source!r}: StreamInput.{argument} must be {valid}"
        try:
            kind = frame.select(column).schema.fields[0].dataType
        except PySparkException as error:
            names = ", ".join(frame.columns)
            raise SchemaMismatchError(
                f"{named}, of its rows with the columns {names}; got {column}: {error.getCondition()}"
            ) from error
        if not _FITS[valid](kind):
            raise SchemaMismatchError(f"{named}; got {column} of type {kind.simpleString()}")
