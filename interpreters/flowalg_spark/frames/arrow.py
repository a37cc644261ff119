"""Records and panes as Arrow tables, without a session: for files that the reference interpreter reads and writes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, TypeVar, cast

import pyarrow as pa

from flowalg.data.errors import ArgumentError, RecordTypeError, SchemaMismatchError
from flowalg.data.shapes import OptionalOf, RecordOf, Shape
from flowalg.data.values import conform
from flowalg.pipeline.pcollection import PCollection
from flowalg.pipeline.source import Source
from flowalg.runs.panes import Pane
from flowalg_spark.encoding.schema import arrow_type, fields_in
from flowalg_spark.encoding.values import AnyColumn, decode, encode

A = TypeVar("A")

_POINT: Final = pa.timestamp("us", tz="UTC")
_SAID: Final[dict[str, pa.DataType]] = {
    "timing": pa.string(),
    "index": pa.int64(),
    "is_first": pa.bool_(),
    "is_last": pa.bool_(),
    "processing_time": _POINT,
    "watermark": _POINT,
}
_OWN: Final[dict[str, pa.DataType]] = {
    "window": pa.struct([("start", _POINT), ("end", _POINT)]),
    "event_time": _POINT,
    "change": pa.string(),
    "pane": pa.struct(list(_SAID.items())),
}
_PANE_FIELDS: Final = [pa.field(name, kind) for name, kind in _OWN.items()]


def arrow_schema_of(source: Source[object]) -> pa.Schema:
    """The Arrow schema of a source's records; a source of scalars has the one column ``value``."""
    return pa.schema([pa.field(name, arrow_type(shape)) for name, shape in fields_in(_shape_of(source))])


def records_in(source: Source[A], table: pa.Table) -> list[A]:
    """The records of a source that lie in a table's columns, in the table's order; other columns are left alone.

    Raises ``SchemaMismatchError`` for a column that is missing, has a type that cannot be read without loss, or has a
    null that its field does not allow.
    """
    shape = _shape_of(source)
    columns = [_values(source.name, name, one, table) for name, one in fields_in(shape)]
    if not isinstance(shape, RecordOf):
        return cast("list[A]", columns[0])
    names = [one.name for one in shape.fields]
    rows = (dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True))
    return [cast("A", conform(shape.cls(**row), shape, source.name)) for row in rows]


def record_table(source: Source[A], records: Iterable[A]) -> pa.Table:
    """Records of a source as a table with the columns that its records have: the inverse of ``records_in``.

    Raises ``ElementError`` for a record that is not one of the source's.
    """
    return pa.Table.from_pylist(list(record_rows(source, records)), schema=arrow_schema_of(source))


def record_rows(source: Source[A], records: Iterable[A]) -> Iterator[dict[str, object]]:
    """The rows of ``record_table``."""
    shape, where = _shape_of(source), f"an element of source {source.name!r}"
    for record in records:
        yield _element(conform(record, shape, where), shape)


def pane_table(pipeline: PCollection[A], panes: Iterable[Pane[A]]) -> pa.Table:
    """Panes as a table with the columns that the Spark interpreters give them.

    Raises ``RecordTypeError`` where the type of the pipeline's elements is not known before it runs.
    """
    shape = pipeline.shape
    if shape is None:
        raise RecordTypeError("the element type of the pipeline is not known, so its panes have no columns")
    fields = [pa.field(name, arrow_type(one)) for name, one in fields_in(shape)]
    schema = pa.schema([*fields, *_PANE_FIELDS])
    return pa.Table.from_pylist([{**_element(one.element, shape), **_row(one)} for one in panes], schema)


def _element(element: object, shape: Shape) -> dict[str, object]:
    """The columns of an element: one for each field of a record, else the one column ``value``."""
    encoded = encode(element, shape)
    return cast("dict[str, object]", encoded) if isinstance(shape, RecordOf) else {"value": encoded}


def _row(pane: Pane[object]) -> dict[str, object]:
    """What a pane says of itself."""
    return {
        "window": {"start": pane.window.start.datetime, "end": pane.window.end.datetime},
        "event_time": pane.event_time.datetime,
        "change": pane.change.value,
        "pane": {
            "timing": pane.timing.value,
            "index": pane.index,
            "is_first": pane.is_first,
            "is_last": pane.is_last,
            "processing_time": pane.processing_time.datetime,
            "watermark": pane.watermark.datetime,
        },
    }


def _shape_of(source: object) -> Shape:
    if not isinstance(source, Source) or source.shape is None:
        raise ArgumentError("source", source, "a Source")
    return source.shape


def _values(source: str, name: str, shape: Shape, table: pa.Table) -> list[object]:
    wanted = arrow_type(shape)
    if name not in table.column_names:
        columns = ", ".join(table.column_names) or "none"
        raise SchemaMismatchError(
            f"source {source!r}: the table lacks {name}, which must be a {wanted} (its columns: {columns})"
        )
    column: AnyColumn = table.column(name)
    if pa.types.is_timestamp(column.type) and column.type.tz is None and pa.types.is_timestamp(wanted):
        raise SchemaMismatchError(
            f"source {source!r}: {name} is a timestamp without a time zone, which names no point in time"
        )
    try:
        read: AnyColumn = column.cast(wanted)
    except pa.ArrowException as error:
        raise SchemaMismatchError(
            f"source {source!r}: {name} is a {column.type}; it must be a {wanted} for the Python type {shape} ({error})"
        ) from error
    if read.null_count and not isinstance(shape, OptionalOf):
        raise SchemaMismatchError(
            f"source {source!r}: a row has null in {name}, which must be of type {shape}; "
            f"make it {shape} | None to allow it"
        )
    values: list[object] = list(read.to_pylist())
    return [decode(value, shape) for value in values]


__all__ = ["arrow_schema_of", "pane_table", "record_rows", "record_table", "records_in"]
