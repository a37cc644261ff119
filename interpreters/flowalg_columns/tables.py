"""Records and panes as Arrow tables, without a Spark session; the command line reads and writes them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Final, TypeVar, cast

import pyarrow as pa
import pyarrow.compute as pc

from flowalg.data.errors import ArgumentError, ElementError, RecordTypeError, SchemaMismatchError
from flowalg.data.record_messages import member_message, null_message, years_message
from flowalg.data.shapes import DAY, TIMESTAMP, EnumOf, Nullable, RecordOf, Shape, present
from flowalg.data.time import FIRST_DAY, FIRST_MICROSECOND, LAST_DAY, LAST_MICROSECOND
from flowalg.data.values import conform
from flowalg.pipeline.outputs import emits_panes
from flowalg.pipeline.pcollection import PCollection
from flowalg.pipeline.source import Source, source_node
from flowalg.runs.bad_records import BadRecord, require_record
from flowalg.runs.elements import good_records
from flowalg.runs.inputs import AnySource, inputs_by_name
from flowalg.runs.output import Output
from flowalg.runs.panes import Pane
from flowalg.runs.timeline import Timeline, as_batch
from flowalg_columns.arrow_types import arrow_type
from flowalg_columns.layout import fields_in
from flowalg_columns.output_elements import ELEMENT_COLUMNS
from flowalg_columns.units import DurationRangeError, in_whole_microseconds
from flowalg_columns.values import AnyColumn, decode, encode, encoded_table

A = TypeVar("A")
F = TypeVar("F")

_TIMESTAMP: Final = pa.timestamp("us", tz="UTC")
_PANE_TYPES: Final[dict[str, pa.DataType]] = {
    "timing": pa.string(),
    "index": pa.int64(),
    "is_first": pa.bool_(),
    "is_last": pa.bool_(),
    "processing_time": _TIMESTAMP,
    "watermark": _TIMESTAMP,
}
_COLUMN_TYPES: Final[dict[str, pa.DataType]] = {
    "window": pa.struct([("start", _TIMESTAMP), ("end", _TIMESTAMP)]),
    "event_time": _TIMESTAMP,
    "change": pa.string(),
    "pane": pa.struct(list(_PANE_TYPES.items())),
}
_PANE_FIELDS: Final = [pa.field(name, kind) for name, kind in _COLUMN_TYPES.items()]


def arrow_schema_of(source: Source[object]) -> pa.Schema:
    """Returns the Arrow schema of a source's records; a source of scalars has the single column ``value``."""
    return pa.schema([pa.field(name, arrow_type(shape)) for name, shape in fields_in(_shape_of(source))])


def records_in(source: Source[A], table: pa.Table) -> list[A]:
    """Reads the records of a source from a table, in its order; other columns are ignored.

    Raises ``SchemaMismatchError`` for a missing column, a type that cannot be read without loss, and a null in a field
    that is not optional, and ``ElementError`` for a name that an enum lacks.
    """
    shape = _shape_of(source)
    columns = []
    for name, field in fields_in(shape):
        try:
            columns.append(_decoded(read_column(source, name, field, table), field))
        except OverflowError as error:  # of a time inside of a value
            raise ElementError(
                f"source {source.name!r}: {name} must be {field}, with times in the years 1 to 9999 of UTC: {error}"
            ) from error
    if not isinstance(shape, RecordOf):
        return cast("list[A]", columns[0])
    names = [field.name for field in shape.fields]
    rows = (dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True))
    return [cast("A", conform(shape.cls(**row), shape, source.name)) for row in rows]


def record_table(source: Source[A], records: Iterable[A]) -> pa.Table:
    """Writes the records of a source to a table: the inverse of ``records_in``.

    Raises ``ElementError`` for a record that does not match the source.
    """
    return encoded_table(list(record_rows(source, records)), arrow_schema_of(source))


def record_rows(source: Source[A], records: Iterable[A]) -> Iterator[dict[str, object]]:
    """Yields the rows of ``record_table``."""
    shape = _shape_of(source)
    for record in records:
        yield _element_row(require_record(source_node(source), record), shape)


def bounded_frames(
    inputs: Mapping[AnySource, Timeline[object] | F],
    pipelines: Iterable[PCollection[object]],
    frame_of: Callable[[pa.Table], F],
    *,
    dead_letters: bool,
) -> tuple[dict[AnySource, F], datetime | None, tuple[BadRecord, ...]]:
    """Returns the bounded frame of each source, and the last processing time of the timelines, if there are any.

    ``frame_of`` makes a frame from the records of a timeline. With ``dead_letters`` the bad ones, which columns cannot
    hold, are returned too. Raises ``UnboundSourceError`` and what ``record_table`` raises.
    """
    inputs_by_name(inputs, "timeline or frame", *(pipeline.node for pipeline in pipelines))
    batches = as_batch({source: data for source, data in inputs.items() if isinstance(data, Timeline)})
    times = [instant.processing_time for batch in batches.values() for instant in batch]
    frames: dict[AnySource, F] = {}
    bad: list[BadRecord] = []
    for source, data in inputs.items():
        if isinstance(data, Timeline):
            records = good_records(
                source_node(source), batches[source].elements, bad if dead_letters else None
            )
            frames[source] = frame_of(record_table(source, records))
        else:
            frames[source] = data
    return frames, times[0].datetime if times else None, tuple(bad)


def pane_table(pipeline: PCollection[A], panes: Iterable[Pane[A]]) -> pa.Table:
    """Writes panes to a table with the columns of a ``PaneFrame``.

    Raises ``RecordTypeError`` if the type of the pipeline's elements is unknown before a run.
    """
    shape = _known_shape(pipeline)
    rows = [{**_element_row(pane.element, shape), **_pane_row(pane)} for pane in panes]
    return encoded_table(rows, _schema(shape, _PANE_FIELDS))


def output_table(pipeline: PCollection[A], output: Output[A]) -> pa.Table:
    """Writes the panes of an output to a table as ``pane_table``, or its elements if the pipeline groups nothing."""
    if emits_panes(pipeline.node):
        return pane_table(pipeline, output.panes)
    shape = _known_shape(pipeline)
    rows = [
        {
            **_element_row(emitted.element, shape),
            "event_time": emitted.event_time.datetime,
            "processing_time": emitted.processing_time.datetime,
        }
        for emitted in output.elements
    ]
    times = [pa.field(name, _TIMESTAMP) for name in ELEMENT_COLUMNS]
    return encoded_table(rows, _schema(shape, times))


def _known_shape(pipeline: PCollection[object]) -> Shape:
    if pipeline.shape is None:
        raise RecordTypeError(
            "the element type of the pipeline must be known to write its output; annotate the last function"
        )
    return pipeline.shape


def _schema(shape: Shape, others: Iterable[pa.Field[pa.DataType]]) -> pa.Schema:
    return pa.schema([*(pa.field(name, arrow_type(field)) for name, field in fields_in(shape)), *others])


def _element_row(element: object, shape: Shape) -> dict[str, object]:
    """Returns the cells of an element: one for each field of a record, otherwise ``value``."""
    encoded = encode(element, shape)
    return cast("dict[str, object]", encoded) if isinstance(shape, RecordOf) else {"value": encoded}


def _pane_row(pane: Pane[object]) -> dict[str, object]:
    """Returns the cells of a pane, without those of its element."""
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


def read_column(source: Source[object], name: str, shape: Shape, table: pa.Table) -> AnyColumn:
    """Returns the column of a source's field, in the Arrow type of its shape.

    Raises ``SchemaMismatchError`` and ``ElementError`` as ``records_in`` does.
    """
    wanted = arrow_type(shape)
    expected = f"source {source.name!r}: {name} must be {shape} ({wanted} in Arrow)"
    if name not in table.column_names:
        columns = ", ".join(table.column_names) or "none"
        raise SchemaMismatchError(f"{expected}; got no such column (the columns are {columns})")
    column: AnyColumn = table.column(name)
    if pa.types.is_timestamp(column.type) and column.type.tz is None and pa.types.is_timestamp(wanted):
        raise SchemaMismatchError(f"{expected}; got {column.type}, which has no time zone")
    try:
        whole = in_whole_microseconds(table.column(name).combine_chunks())
        converted: AnyColumn = pa.chunked_array([whole], whole.type).cast(wanted)
    except (pa.ArrowException, DurationRangeError) as error:
        raise SchemaMismatchError(f"{expected}; got {column.type}: {error}") from error
    if converted.null_count and not isinstance(shape, Nullable):
        row = pc.index(pc.is_null(converted), True).as_py() + 1
        raise SchemaMismatchError(null_message(source.name, name, shape, row))
    members = present(shape)
    if members in (TIMESTAMP, DAY):
        _require_years(source, name, members, converted)
    if isinstance(members, EnumOf):
        _require_members(source, name, members, converted)
    return converted


def _require_years(source: Source[object], name: str, shape: Shape, column: AnyColumn) -> None:
    """Raises ``ElementError`` for the first time or day in a column that Python has no value for."""
    is_day = shape == DAY
    first, last = (FIRST_DAY, LAST_DAY) if is_day else (FIRST_MICROSECOND, LAST_MICROSECOND)
    numbers = column.cast(pa.int32() if is_day else pa.int64())
    outside = pc.or_(pc.less(numbers, pa.scalar(first)), pc.greater(numbers, pa.scalar(last)))
    if (row := pc.index(outside, True).as_py()) >= 0:
        raise ElementError(
            f"{years_message(source.name, name, shape)}{numbers[row].as_py()} in row {row + 1}"
        )


def _require_members(source: Source[object], name: str, shape: EnumOf, column: AnyColumn) -> None:
    """Raises ``ElementError`` for the first name in a column that is not the name of a member."""
    is_member = pc.is_in(column, pa.array([*shape.cls.__members__, None], pa.string()))
    if (row := pc.index(is_member, False).as_py()) >= 0:
        message = member_message(source.name, name, shape)
        raise ElementError(f"{message}{column[row].as_py()!r} in row {row + 1}")


def _decoded(column: AnyColumn, shape: Shape) -> list[object]:
    values: list[object] = list(column.to_pylist())
    return [decode(value, shape) for value in values]
