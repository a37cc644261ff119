"""The types of the columns that carry the clocks of a stream; Spark would convert others, in the session's zone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame
from pyspark.sql import types as T

from flowalg.data.errors import SchemaMismatchError

_TIME: Final = "a timestamp with a time zone"
_FLAG: Final = "a column of booleans"
_TEXT: Final = "a column of texts"
_WINDOW: Final = "a struct of the timestamps start and end"


def _is_time(kind: T.DataType) -> bool:
    return isinstance(kind, T.TimestampType)


def _is_flag(kind: T.DataType) -> bool:
    return isinstance(kind, T.BooleanType | T.NullType)


def _is_text(kind: T.DataType) -> bool:
    return isinstance(kind, T.AtomicType | T.NullType)


def _is_window(kind: T.DataType) -> bool:
    fields = {part.name: part.dataType for part in kind.fields} if isinstance(kind, T.StructType) else {}
    return all(_is_time(fields.get(name, T.NullType())) for name in ("start", "end"))


_TYPES: Final[Mapping[str, tuple[str, Callable[[T.DataType], bool]]]] = {
    "processing_time": (_TIME, _is_time),
    "source_watermark": (_TIME, _is_time),
    "end_of_input": (_FLAG, _is_flag),
    "tick": (_FLAG, _is_flag),
    "partition": (_TEXT, _is_text),
    "signal": (_TEXT, _is_text),
    "signal_key": (_TEXT, _is_text),
    "signal_window": (_WINDOW, _is_window),
    "corrupt_record": (_TEXT, _is_text),
}
"""What the column of each argument must be, as on the local engine."""


def require_column_types(source: str, frame: DataFrame, columns: Mapping[str, Column | None]) -> None:
    """Raises ``SchemaMismatchError`` if a column that an input names is missing, or has another type.

    ``columns`` are the arguments of the ``StreamInput`` of the source.
    """
    for argument, column in columns.items():
        if column is None:
            continue
        valid, fits = _TYPES[argument]
        named = f"source {source!r}: StreamInput.{argument} must be {valid}"
        try:
            kind = frame.select(column).schema.fields[0].dataType
        except PySparkException as error:
            names = ", ".join(frame.columns)
            raise SchemaMismatchError(
                f"{named}, of its rows with the columns {names}; got {column}: {error.getCondition()}"
            ) from error
        if not fits(kind):
            raise SchemaMismatchError(f"{named}; got {column} of type {kind.simpleString()}")
