"""Binding of sources to frames: checks the schema, flattens records to columns, and computes event times.

A record that does not match its class fails the query with a message that names the field. Only the fields that the
pipeline uses are checked, so Polars need not read the others.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final, assert_never

import polars as pl
from attrs import evolve, field, frozen
from flowalg_columns.checks.shapes import require_fields
from flowalg_columns.layout import Branch, Leaf, fields_in, flatten_columns, layout_of, parts_of
from flowalg_columns.notes import LiftingNote
from flowalg_columns.units import DurationRangeError, in_whole_microseconds
from flowalg_columns.values import write_nested
from flowalg_shard.tables.columns import EVENT_TIME
from flowalg_shard.tables.floats import without_negative_zeros

from flowalg.data import shapes
from flowalg.data.errors import ElementError
from flowalg.data.record_messages import (
    member_message,
    no_time_message,
    null_message,
    range_message,
    sum_message,
    years_message,
)
from flowalg.data.time import FIRST_DAY, FIRST_MICROSECOND, LAST_DAY, LAST_MICROSECOND, MAX_TIME, MIN_TIME
from flowalg.lifting.analysis import StepAnalysis, analyse_function
from flowalg.lifting.tree.expressions import Param, first_opaque, qualify_locations
from flowalg.pipeline.nodes import SourceNode
from flowalg.runs.bad_records import event_time_label, event_time_step
from flowalg_polars.columns import Columns, columns_of, polars_type, type_of
from flowalg_polars.lowering.failures import evaluate_scalar
from flowalg_polars.lowering.flags import flags_of, has_no_time
from flowalg_polars.lowering.programs import ENGINE, Program
from flowalg_polars.lowering.python_steps import apply_as_column, series_of
from flowalg_polars.lowering.sections import FAILED, Flags, Operation
from flowalg_polars.lowering.validity import count_members, invalid_rows
from flowalg_polars.meta import ELEMENT_META

_SMALL: Final = (pl.Int8, pl.Int16, pl.Int32, pl.UInt8, pl.UInt16)


def scan_parquet(source: str, files: str | Path | list[str], *, partitioned: bool = False) -> pl.LazyFrame:
    """Returns Parquet files as a frame; raises ``ElementError`` if their schema cannot be read.

    If they are ``partitioned``, they have the columns of the folders ``NAME=VALUE`` that they are in.
    """
    frame = pl.scan_parquet(files, hive_partitioning=partitioned)
    try:
        frame.collect_schema()
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        reason = str(error).partition("\n")[0]
        named = files[0] if isinstance(files, list) else files
        raise ElementError(f"source {source!r}: {named} cannot be read as Parquet: {reason}") from error
    return frame


def record_frame(source: SourceNode, records: list[object]) -> pl.DataFrame:
    """Returns records as a frame with the fields of their class, or ``value``.

    Raises ``ElementError`` for a record that does not match the source.
    """
    array = write_nested(source.shape, records, f"source {source.name!r}: element")
    column = series_of(array, polars_type(source.shape)).alias("value")
    return column.struct.unnest() if isinstance(source.shape, shapes.RecordOf) else column.to_frame()


def require_schema(source: SourceNode, schema: Mapping[str, pl.DataType]) -> None:
    """Raises ``SchemaMismatchError``, which lists every difference, unless a schema matches the source's records."""

    def other_type(name: str, shape: shapes.Shape) -> str | None:
        stored = schema[name]
        naive = isinstance(stored, pl.Datetime) and stored.time_zone is None
        shown = f"{stored}, which has no time zone" if naive else str(stored)
        return None if can_read(stored, shape) else shown

    require_fields(source, schema, lambda shape: f"{polars_type(shape)} in Polars", other_type)


def can_read(stored: pl.DataType, shape: shapes.Shape) -> bool:
    """Returns whether values of a Polars type can be read as values of a shape without loss."""
    match shape:
        case shapes.OptionalOf(of=inner) | shapes.MaybeOf(of=inner):
            return can_read(stored, inner) or stored == pl.Null
        case shapes.Scalar() if shape == shapes.INTEGER:
            return stored in (*_SMALL, pl.UInt32, pl.Int64)
        case shapes.Scalar() if shape == shapes.FLOAT:
            return stored in (*_SMALL, pl.Float32, pl.Float64)
        case shapes.Scalar() if shape == shapes.TEXT:
            return isinstance(stored, pl.String | pl.Categorical | pl.Enum)
        case shapes.Scalar() if shape == shapes.TIMESTAMP:
            return isinstance(stored, pl.Datetime) and stored.time_zone is not None
        case shapes.Scalar() if shape == shapes.DURATION:
            return isinstance(stored, pl.Duration)
        case shapes.Scalar() if shape == shapes.DECIMAL:
            return isinstance(stored, pl.Decimal) and shapes.fits_decimals(stored.precision, stored.scale)
        case shapes.EnumOf():
            return isinstance(stored, pl.String | pl.Categorical | pl.Enum)
        case shapes.RecordOf() | shapes.TupleOf() | shapes.SumOf():
            if not isinstance(stored, pl.Struct):
                return False
            fields = dict(stored)
            return all(
                name in fields and can_read(type_of(fields[name]), part) for name, part in parts_of(shape)
            )
        case shapes.Scalar():
            return stored == polars_type(shape)
        case shapes.ListOf(of=inner) | shapes.SetOf(of=inner):
            return isinstance(stored, pl.List | pl.Array) and can_read(_inner(stored), inner)
        case shapes.MapOf():
            return False
    assert_never(shape)


def _inner(stored: pl.List | pl.Array) -> pl.DataType:
    return type_of(stored.inner)


@frozen
class FieldPath:
    """The path of a field in the records of a source."""

    source: str
    path: str

    def child(self, suffix: str) -> FieldPath:
        """Returns the path of a part of this field."""
        return evolve(self, path=f"{self.path}{suffix}")


@frozen
class BoundSource(Program):
    """The program from the frames of a source to its elements; ``flags`` are for rows that are not ``invalid``."""

    flags: Flags = field(kw_only=True)
    invalid: pl.Expr = field(kw_only=True, eq=False)


def bind_source(
    source: SourceNode, schema: Mapping[str, pl.DataType], arrival: pl.Expr, kept: tuple[str, ...] = ()
) -> BoundSource:
    """Returns the program from frames of a schema to the elements of a source, with their event times.

    ``arrival`` is the processing time of a row. The columns ``kept`` of the frames stay with the elements.

    Raises ``SchemaMismatchError``, which lists every field that the frame lacks or has with another type.
    """
    shape = source.shape
    require_schema(source, schema)
    columns = [*flatten_columns(_record(source, schema), shape), *map(pl.col, kept)]
    timed = _event_times(source, arrival, (*ELEMENT_META, *kept))
    checked = pl.col(EVENT_TIME).map_batches(
        lambda times: require_in_range(source.name, times), return_dtype=pl.Int64(), is_elementwise=True
    )
    operations = (
        lambda frame: frame.select(columns),
        timed.operation,
        lambda frame: frame.with_columns(checked),
    )
    flags = Flags(lambda frame: timed.flagged(frame.select(columns)))
    return BoundSource(
        shape,
        (*ELEMENT_META, *kept),
        operations,
        (timed.note,),
        fallible=True,
        flags=flags,
        invalid=invalid_rows(source, schema),
    )


@frozen
class _Timed:
    """The operation that adds the event times of elements, also with flags, and how it runs."""

    operation: Operation
    flagged: Operation
    note: LiftingNote


def _event_times(source: SourceNode, arrival: pl.Expr, meta: tuple[str, ...]) -> _Timed:
    label, step, shape = event_time_label(source), event_time_step(source), source.shape
    if step is None:
        lifted = LiftingNote(label, None, None, ENGINE)
        failed = has_no_time(arrival).alias(FAILED)
        return _Timed(
            lambda frame: frame.with_columns(arrival.alias(EVENT_TIME)),
            lambda frame: frame.with_columns(arrival.alias(EVENT_TIME), failed),
            lifted,
        )
    expression = qualify_locations(label, analyse_function(step.function, Param(shape)))
    analysis = StepAnalysis(step, shape, expression, shape)
    flags, opaque = flags_of(analysis, meta), first_opaque(expression)
    assert flags is not None, "an event time has flags"
    if opaque is None:
        element = columns_of(layout_of(shape))
        point = evaluate_scalar(expression, element, polars_type(shapes.TIMESTAMP)).to_physical()
        lifted = LiftingNote(label, None, None, ENGINE)
        return _Timed(lambda frame: frame.with_columns(point.alias(EVENT_TIME)), flags.rows, lifted)

    def rows(frame: pl.LazyFrame) -> pl.LazyFrame:
        """Returns rows with an event time, which the function is called beside."""
        return frame.with_columns(pl.lit(0, pl.Int64()).alias(EVENT_TIME))

    return _Timed(
        lambda frame: apply_as_column(rows(frame), analysis, meta),
        lambda frame: flags.rows(rows(frame)),
        LiftingNote(label, opaque.reason, opaque.location or None, ENGINE),
    )


def require_in_range(source: str, times: pl.Series) -> pl.Series:
    """Returns event times, which must be in the range that windows can contain; raises ``ElementError``."""
    low, high = times.min(), times.max()
    if times.null_count():
        raise ElementError(no_time_message(source))
    if isinstance(low, int) and isinstance(high, int) and (low < MIN_TIME or high >= MAX_TIME):
        raise ElementError(range_message(source, low if low < MIN_TIME else high))
    return times


def _record(source: SourceNode, schema: Mapping[str, pl.DataType]) -> Columns:
    """Returns the columns of records, which fail the query for invalid values."""
    fields = [
        _read(pl.col(name), schema[name], field, FieldPath(source.name, name))
        for name, field in fields_in(source.shape)
    ]
    if isinstance(source.shape, shapes.RecordOf):
        return Branch(source.shape, tuple(fields))
    return fields[0]


def _read(column: pl.Expr, stored: pl.DataType, shape: shapes.Shape, path: FieldPath) -> Columns:
    """Returns the columns of one field, checked leaf by leaf."""
    if isinstance(shape, shapes.Composite):
        assert isinstance(stored, pl.Struct)
        types = dict(stored)
        parts = (
            _read(column.struct.field(name), type_of(types[name]), part, path.child(f".{name}"))
            for name, part in parts_of(shape)
        )
        if isinstance(shape, shapes.SumOf):
            return Branch(shape, tuple(_with_whole(part, column, shape, path) for part in parts))
        return Branch(shape, tuple(parts))
    kind = polars_type(shape)
    if not isinstance(stored, pl.Datetime) and (plain := _in_microseconds(stored)) != stored:
        column = column.map_batches(
            lambda values: _whole_microseconds(values, path), return_dtype=plain, is_elementwise=True
        )
        stored = plain
    if isinstance(stored, pl.Datetime | pl.Date):
        column = in_microseconds(column, stored).map_batches(
            lambda values: require_in_years(values, shape, path), is_elementwise=True
        )
        stored = kind
    read = canonical(column if stored == kind else column.cast(kind), shape)
    if isinstance(shape, shapes.Nullable) and _is_plain(shape.of):
        return Leaf(shape, read)
    checked = read.map_batches(
        lambda values: require_valid(values, shape, path), return_dtype=kind, is_elementwise=True
    )
    return Leaf(shape, checked)


def _with_whole(member: Columns, whole: pl.Expr, shape: shapes.SumOf, path: FieldPath) -> Columns:
    """Returns a member of a sum, which fails the query unless exactly one member of each value is not null."""
    assert isinstance(member, Leaf), "an optional is one column"

    def check(values: pl.Series) -> pl.Series:
        require_one_member(values.struct.field("whole"), shape, path)
        return values.struct.field("member")

    both = pl.struct(whole.alias("whole"), member.column.alias("member"))
    kind = polars_type(member.shape)
    return Leaf(member.shape, both.map_batches(check, return_dtype=kind, is_elementwise=True))


def require_one_member(values: pl.Series, shape: shapes.SumOf, path: FieldPath) -> None:
    """Raises ``ElementError`` unless exactly one member of each value of a sum is not null."""
    if values.null_count():
        raise ElementError(null_message(path.source, path.path, shape))
    members = values.to_frame("value").select(count_members(pl.col("value"), shape)).to_series()
    other = members.filter(members != 1)
    if len(other):
        raise ElementError(f"{sum_message(path.source, path.path, shape)}{other[0]}")


def _in_microseconds(stored: pl.DataType) -> pl.DataType:
    """Returns a type with its times and durations in microseconds, and its times in UTC."""
    match stored:
        case pl.Datetime():
            return pl.Datetime("us", None if stored.time_zone is None else "UTC")
        case pl.Duration():
            return pl.Duration("us")
        case pl.List() | pl.Array():
            inner = _in_microseconds(_inner(stored))
            return stored if inner == _inner(stored) else pl.List(inner)
        case pl.Struct():
            return pl.Struct({part.name: _in_microseconds(type_of(part.dtype)) for part in stored.fields})
        case _:
            return stored


def _whole_microseconds(values: pl.Series, path: FieldPath) -> pl.Series:
    """Returns the values of a field in microseconds; raises ``ElementError`` for a duration beyond 64 bits."""
    try:
        micros = pl.from_arrow(in_whole_microseconds(values.to_arrow()))
    except DurationRangeError as error:
        raise ElementError(
            f"source {path.source!r}: a duration in {path.path} must have 64 bits in microseconds; got {error}"
        ) from error
    assert isinstance(micros, pl.Series), "an array is a series"
    return micros.alias(values.name)


def in_microseconds(column: pl.Expr, stored: pl.DataType) -> pl.Expr:
    """Returns a column of times in microseconds and UTC, rounded down; a time that has none stays out of range."""
    if not isinstance(stored, pl.Datetime):
        return column
    if stored.time_unit == "ms":
        # Polars panics for a time whose microseconds need more than 64 bits.
        low, high = FIRST_MICROSECOND // 1_000 - 1, LAST_MICROSECOND // 1_000 + 1
        column = column.to_physical().clip(low, high).cast(stored)
    if stored.time_unit != "us":
        column = column.dt.cast_time_unit("us")
    return column if stored.time_zone in (None, "UTC") else column.dt.convert_time_zone("UTC")


def require_in_years(values: pl.Series, shape: shapes.Shape, path: FieldPath) -> pl.Series:
    """Returns times or days; raises ``ElementError`` for one that Python has no value for."""
    numbers = values.to_physical()
    low, high = numbers.min(), numbers.max()
    is_day = values.dtype == pl.Date
    first, last = (FIRST_DAY, LAST_DAY) if is_day else (FIRST_MICROSECOND, LAST_MICROSECOND)
    if isinstance(low, int) and isinstance(high, int) and (low < first or high > last):
        message = years_message(path.source, path.path, shapes.present(shape))
        raise ElementError(f"{message}{low if low < first else high}")
    return values


def canonical(column: pl.Expr, shape: shapes.Shape) -> pl.Expr:
    """Returns the values of a field without negative zeros, also in lists, sets and records."""
    if not shapes.contains_float(shape):
        return column
    match shapes.present(shape):
        case shapes.ListOf(of=inner) | shapes.SetOf(of=inner):
            return column.list.eval(canonical(pl.element(), inner))
        case shapes.RecordOf() | shapes.TupleOf() | shapes.SumOf() as whole:
            parts = (canonical(column.struct.field(name), part).alias(name) for name, part in parts_of(whole))
            return pl.when(column.is_not_null()).then(pl.struct(parts))
        case _:
            return without_negative_zeros(column)


def _is_plain(shape: shapes.Shape) -> bool:
    """Returns whether all values of the stored type are values of the shape."""
    return isinstance(shape, shapes.Scalar)


def require_valid(values: pl.Series, shape: shapes.Shape, path: FieldPath) -> pl.Series:
    """Returns the values of a field, with sets sorted; raises ``ElementError`` for a value that its shape lacks."""
    if not isinstance(shape, shapes.Nullable) and values.null_count():
        raise ElementError(null_message(path.source, path.path, shape))
    match shapes.present(shape):
        case shapes.EnumOf(cls=cls) as enum:
            unknown = values.drop_nulls().filter(~values.drop_nulls().is_in(list(cls.__members__)))
            if len(unknown):
                raise ElementError(f"{member_message(path.source, path.path, enum)}{unknown[0]}")
        case shapes.ListOf(of=inner):
            _require_items(values, inner, path.child("[…]"))
        case shapes.SetOf(of=inner):
            _require_items(values, inner, path.child("{…}"))
            return values.list.unique().list.sort()
        case shapes.RecordOf() | shapes.TupleOf() | shapes.SumOf() as whole:
            present = values.drop_nulls()
            if isinstance(whole, shapes.SumOf):
                require_one_member(present, whole, path)
            for name, part in parts_of(whole):
                require_valid(present.struct.field(name), part, path.child(f".{name}"))
        case shapes.Scalar() as scalar if scalar in (shapes.TIMESTAMP, shapes.DAY):
            require_in_years(values, shape, path)
        case _:
            pass
    return values


def _require_items(lists: pl.Series, inner: shapes.Shape, path: FieldPath) -> None:
    present = lists.drop_nulls()
    require_valid(present.filter(present.list.len() > 0).explode(), inner, path)
