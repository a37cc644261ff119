"""Binding of sources to frames: validates the schema, flattens records to columns, and computes event times.

A row that does not match the record class fails the query with a message that names the field, and is not dropped. Only
fields that the pipeline uses are validated, so Spark prunes the others.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final, assert_never

from attrs import evolve, frozen
from flowalg_columns.checks.shapes import require_fields
from flowalg_columns.layout import Branch, Leaf, fields_in, layout_of, leaf_columns, parts_of
from flowalg_columns.names import (
    CORRUPT_ERROR,
    CORRUPT_RECORD,
    DROPPED_KEY,
    PANE_TIME,
    WATERMARK,
)
from flowalg_columns.notes import LiftingNote
from flowalg_shard.tables.columns import (
    END,
    ENDED,
    EVENT_TIME,
    KEEP,
    PARTITION,
    PROCESSING_TIME,
    PUBLISHED,
    REPORT,
    SIGNAL,
    SIGNAL_END,
    SIGNAL_KEY,
    SIGNAL_START,
    START,
)
from pyspark.sql import DataFrame
from pyspark.sql import types as T

from flowalg.data import shapes
from flowalg.data.errors import ArgumentError, SchemaMismatchError, UnsupportedError
from flowalg.data.record_messages import arrival_message, no_time_message
from flowalg.data.time import MAX_TIME, MIN_TIME
from flowalg.lifting.analysis import StepAnalysis, analyse_function
from flowalg.lifting.tree.expressions import Param, first_opaque, qualify_locations
from flowalg.lifting.tree.failures import can_raise_in_engine
from flowalg.pipeline.nodes import SourceNode
from flowalg.runs.bad_records import event_time_label, event_time_step, source_stage
from flowalg_spark.encoding import sql
from flowalg_spark.encoding.columns import CASE_SENSITIVE, Columns, col, same_column, select, where
from flowalg_spark.encoding.json_columns import record_json, text_json
from flowalg_spark.encoding.meta import META_TYPES
from flowalg_spark.encoding.schema import spark_type
from flowalg_spark.encoding.sql import NULL, Sql, all_of
from flowalg_spark.expressions import compile_scalar
from flowalg_spark.expressions.errors import fail_for_element
from flowalg_spark.expressions.times import ISO_8601
from flowalg_spark.lowering.element_wise import run_in_python
from flowalg_spark.lowering.flow import Flow, Selection, bad_record_columns
from flowalg_spark.lowering.validation import (
    Fault,
    FieldPath,
    faults_of,
    first_message,
    is_faulty,
    require_one_member,
    require_valid,
    source_columns,
    without_faults,
)

INPUT: Final = "__input_"
"""The prefix of the names that a stream's frame has for the columns of its ``StreamInput``."""

_NAMES_ARE_PATTERNS: Final = "spark.sql.parser.quotedRegexColumnNames"
"""Spark's setting for what Hive does with quoted names."""

_WATERMARK_DELAY: Final = "spark.watermarkDelayMs"
"""The metadata of a column on which ``withWatermark`` was called."""


@frozen
class StreamColumns:
    """The columns of a stream's frame that are not part of elements: times, and rows that are not elements.

    ``ended`` marks the end of the input, ``signal`` has the name of a signal, ``signal_key`` its key and
    ``signal_window`` its window, and ``tick`` marks a row that has only a processing time. ``partition`` is the
    source's partition of a row. ``corrupt_record`` is the text of a record that could not be parsed; with
    ``corrupt_error``, which says why, it is JSON. Errors of bad records begin with ``origin``, where a record is. A bad
    record fails the query, or with ``dead_letters`` is routed to the dead-letter output. ``report`` has clock reports
    on ticks, if the source publishes its own clocks. ``published`` is the watermark that the source publishes for the
    partition. With ``elements_only`` other rows are left out, since nothing reads clocks.
    """

    processing_time: Sql
    ended: Sql | None
    tick: Sql | None = None
    signal: Sql | None = None
    signal_key: Sql | None = None
    signal_window: Sql | None = None
    partition: Sql | None = None
    corrupt_record: Sql | None = None
    corrupt_error: Sql | None = None
    origin: Sql | None = None
    dead_letters: bool = False
    report: Sql | None = None
    published: Sql | None = None
    elements_only: bool = False

    @property
    def columns(self) -> dict[str, Sql]:
        """The metadata columns of the rows."""
        meta = self._clock_columns
        return {PROCESSING_TIME: meta[PROCESSING_TIME]} if self.elements_only else meta

    def elements(self, source: SourceNode, frame: DataFrame) -> DataFrame:
        """Returns the rows that are elements. A corrupt record fails the query."""
        keep = self._clock_columns[KEEP]
        if self.corrupt_record is not None:
            keep = sql.when(self.corrupt_record.is_null(), keep).otherwise(
                fail_for_element(self.corrupt_message(source, self.corrupt_record))
            )
        control = (self.ended, self.tick, self.signal, self.corrupt_record)
        return frame if all(column is None for column in control) else where(frame, keep)

    def corrupt_message(self, source: SourceNode, text: Sql) -> Sql:
        """Returns the error of a record that could not be parsed."""
        if self.corrupt_error is not None:
            return self.corrupt_error
        return sql.concat(f"source {source.name!r}: a record must parse; got ", sql.make_valid_utf8(text))

    def located(self, error: Sql) -> Sql:
        """Returns an error with the place of the record."""
        return error if self.origin is None else sql.concat(self.origin, ": ", error)

    @property
    def _clock_columns(self) -> dict[str, Sql]:
        kept: list[Sql] = []
        meta = {PROCESSING_TIME: self.processing_time}
        if self.ended is not None:
            meta[ENDED] = sql.coalesce(self.ended, False)
            kept.append(~meta[ENDED])
        if self.tick is not None:
            kept.append(~sql.coalesce(self.tick, False))
        if self.signal is not None:
            kept.append(self.signal.is_null())
            meta[SIGNAL] = self.signal
        if self.signal_key is not None:
            meta[SIGNAL_KEY] = self.signal_key
        if self.signal_window is not None:
            meta[SIGNAL_START] = sql.unix_micros(self.signal_window["start"])
            meta[SIGNAL_END] = sql.unix_micros(self.signal_window["end"])
        if self.partition is not None:
            meta[PARTITION] = sql.coalesce(self.partition.cast("string"), "")
        if self.published is not None:
            meta[PUBLISHED] = sql.unix_micros(self.published)
        if self.report is not None:
            meta[REPORT] = self.report
        return {**meta, KEEP: all_of(kept)}


@frozen
class BadRecords:
    """The bad records of a source: whether a row is one, and then its error and the record as JSON."""

    source: SourceNode
    where: Sql
    error: Sql
    record: Sql

    def drop_columns(self, processing_time: Sql) -> dict[str, Sql]:
        """Returns the columns of the drops of bad records."""
        drop = bad_record_columns(source_stage(self.source), self.error, self.record)
        drop[PANE_TIME] = processing_time
        unset = dict.fromkeys((DROPPED_KEY, START, END, WATERMARK), NULL)
        return {**{name: sql.when(self.where, column) for name, column in drop.items()}, **unset}


def require_frame(name: str, frame: object) -> DataFrame:
    """Returns the frame; raises ``ArgumentError`` if it is not a DataFrame."""
    if isinstance(frame, DataFrame):
        return frame
    raise ArgumentError(f"the input of source {name!r}", frame, "a Spark DataFrame")


def require_bounded(name: str, frame: object) -> DataFrame:
    """Returns the frame; raises ``ArgumentError`` if it is not a bounded DataFrame."""
    data_frame = require_frame(name, frame)
    if data_frame.isStreaming:
        raise ArgumentError(
            f"the input of source {name!r}", frame, "a bounded DataFrame; use streaming.compile for a stream"
        )
    return data_frame


def require_parsed(source: SourceNode, frame: DataFrame, corrupt_record: str | None) -> DataFrame:
    """Returns the frame of a source, which fails the query for a text in the column of those that did not parse."""
    text, error = corrupt_columns(frame, corrupt_record)
    if text is None:
        return frame
    return StreamColumns(sql.long(0), None, corrupt_record=text, corrupt_error=error).elements(source, frame)


def corrupt_columns(frame: DataFrame, corrupt_record: str | None) -> tuple[Sql | None, Sql | None]:
    """Returns the columns of texts that did not parse, and of their errors, if a frame has them."""
    if CORRUPT_ERROR in frame.columns:
        return col(CORRUPT_RECORD), col(CORRUPT_ERROR)
    return (col(corrupt_record), None) if corrupt_record in frame.columns else (None, None)


def require_stream(name: str, frame: DataFrame) -> None:
    """Raises ``ArgumentError`` if a frame is bounded, or if it has a watermark of Spark's, which drops late rows."""
    argument = f"the frame of source {name!r}"
    if not frame.isStreaming:
        raise ArgumentError(
            argument,
            frame,
            "a streaming frame, as spark.readStream returns; use batch.compile for a bounded frame",
        )
    if any(_WATERMARK_DELAY in column.metadata for column in frame.schema):
        raise ArgumentError(
            argument,
            frame,
            "a frame without withWatermark, since the watermark policy of its StreamInput generates the watermark",
        )


def bind_source(
    source: SourceNode, frame: DataFrame, stream: StreamColumns | None, time: Sql | None = None
) -> Flow:
    """Returns the flow of a source's elements, with their event times.

    In a stream it is guarded, with its clocks, except with ``elements_only``. ``time`` is the processing time of a
    batch.

    Raises ``SchemaMismatchError``, which lists every field that the frame lacks or has with another type.
    """
    shape = source.shape
    require_schema(source, frame.schema)
    require_names(source, frame)
    meta = {} if stream is None else stream.columns
    guarded = KEEP in meta
    if stream is not None and not guarded:
        frame = stream.elements(source, frame)
    analysis = _analyse_event_time(source)
    dead_letters = stream is not None and stream.dead_letters
    in_columns = analysis is None or (
        first_opaque(analysis.expression) is None
        and not (dead_letters and can_raise_in_engine(analysis.expression))
    )
    arrival = time if stream is None else stream.processing_time

    def event_time(element: Columns) -> Sql:
        if analysis is not None:
            return sql.unix_micros(compile_scalar(analysis.expression, element))
        assert arrival is not None, "the elements of a batch arrive at its processing time"
        return arrival

    if stream is not None and dead_letters:
        micros = event_time(source_columns(shape, frame.schema)) if in_columns else None
        bad = _bad_records(source, frame.schema, stream, micros)
        frame = select(frame, "*", (meta[KEEP] & bad.where).alias(_IS_BAD))
        meta[KEEP] &= ~col(_IS_BAD)
        meta |= evolve(bad, where=col(_IS_BAD)).drop_columns(meta[PROCESSING_TIME])
    elif stream is not None and guarded and stream.corrupt_record is not None:
        failed = fail_for_element(stream.corrupt_message(source, stream.corrupt_record))
        meta[KEEP] = sql.when(stream.corrupt_record.is_not_null(), failed).otherwise(meta[KEEP])
    element = _validate(
        source, frame.schema, meta.get(KEEP), without_faults if dead_letters else require_valid
    )
    if in_columns:
        micros = event_time(element)
        checked = micros if dead_letters else _require_in_range(micros, source)
        meta[EVENT_TIME] = sql.when(meta[KEEP], checked) if guarded else checked
    elif dead_letters:
        meta[EVENT_TIME] = NULL
    columns = dict(zip(leaf_columns(layout_of(shape)), leaf_columns(element), strict=True))
    # The other columns of a stream are the user's, so they are cast; event times have the right type.
    columns |= {
        name: column if name == EVENT_TIME and in_columns else column.cast(META_TYPES[name])
        for name, column in meta.items()
    }
    selection = Selection(frame, columns, cheap=not guarded)
    flow = Flow(selection, shape, {name: META_TYPES[name] for name in meta}, dead_letters=dead_letters)
    if analysis is None or in_columns:
        return flow.with_notes(LiftingNote(event_time_label(source), None, None))
    return run_in_python(flow, [analysis])


def _analyse_event_time(source: SourceNode) -> StepAnalysis | None:
    """Returns the analysis of a source's event time function; ``None`` if its event times are those of arrival."""
    step = event_time_step(source)
    if step is None:
        return None
    label = event_time_label(source)
    expression = qualify_locations(label, analyse_function(step.function, Param(source.shape)))
    return StepAnalysis(step, source.shape, expression, source.shape)


_IS_BAD: Final = "__is_bad"


def _bad_records(
    source: SourceNode, schema: T.StructType, stream: StreamColumns, micros: Sql | None
) -> BadRecords:
    """Finds the bad records of a source: corrupt records, invalid fields, and invalid event times.

    ``micros`` is the event time, unless it is computed in Python.
    """
    fields = fields_in(source.shape)
    record = record_json(fields)
    faults = [
        fault
        for name, field in fields
        for fault in faults_of(col(name), field, FieldPath(source.name, name, schema[name].nullable))
    ]
    if micros is not None:
        message = sql.coalesce(_range_message(micros, source), no_time_message(source.name))
        faults.append(Fault(~sql.coalesce(_is_in_range(micros), False), message))
    where, error = is_faulty(faults), stream.located(first_message(faults))
    text = stream.corrupt_record
    if text is not None:
        where |= text.is_not_null()
        error = sql.when(text.is_null(), error).otherwise(stream.corrupt_message(source, text))
        in_json = text_json(text) if stream.corrupt_error is None else text
        record = sql.when(text.is_null(), record).otherwise(in_json)
    return BadRecords(source, where, error, record)


def require_schema(source: SourceNode, schema: T.StructType) -> None:
    """Raises ``SchemaMismatchError``, which lists every difference, unless a schema matches the source's records."""

    def other_type(name: str, shape: shapes.Shape) -> str | None:
        stored = schema[name].dataType
        hint = ", which has no time zone" if isinstance(stored, T.TimestampNTZType) else ""
        return None if can_read(stored, shape) else f"{stored.simpleString()}{hint}"

    require_fields(
        source, schema.names, lambda shape: f"{spark_type(shape).simpleString()} in Spark", other_type
    )


def require_names(source: SourceNode, frame: DataFrame) -> None:
    """Raises ``SchemaMismatchError`` for a field that the session does not tell from another column of the frame.

    Raises ``UnsupportedError`` for a session in which a quoted name is a regular expression.
    """
    if str(frame.sparkSession.conf.get(_NAMES_ARE_PATTERNS, "false")).lower() == "true":
        raise UnsupportedError(
            f"Spark: quoted names are regular expressions in this session, by {_NAMES_ARE_PATTERNS}; flowalg quotes "
            f'names of columns, so call spark.conf.set("{_NAMES_ARE_PATTERNS}", "false")'
        )
    same = partial(same_column, session=frame.sparkSession)
    names = set(frame.columns)
    for name, _ in fields_in(source.shape):
        similar = (other for other in names if other != name and other.lower() == name.lower())
        alike = sorted(other for other in similar if same(other) == same(name))
        if alike:
            raise SchemaMismatchError(
                f"the frame of source {source.name!r} has the columns {name} and {alike[0]}, which differ in case "
                f'only; rename one, or tell them apart by spark.conf.set("{CASE_SENSITIVE}", "true")'
            )


def _require_in_range(micros: Sql, source: SourceNode) -> Sql:
    return sql.when(_is_in_range(micros), micros).otherwise(fail_for_element(_range_message(micros, source)))


def require_arrivals(source: str, micros: Sql) -> Sql:
    """Returns the processing times that a source carries, which fail the query where they are out of range."""
    far = ~micros.between(sql.long(MIN_TIME), sql.long(MAX_TIME))
    message = sql.concat(arrival_message(source), micros.cast("string"))
    return sql.when(far, fail_for_element(message)).otherwise(micros)


def _is_in_range(micros: Sql) -> Sql:
    return (micros >= sql.long(MIN_TIME)) & (micros < sql.long(MAX_TIME))


def _range_message(micros: Sql, source: SourceNode) -> Sql:
    low, high = (bound.datetime.isoformat().replace("+00:00", "Z") for bound in (MIN_TIME, MAX_TIME))
    expected = f"source {source.name!r}: the event time must be in [{low}, {high}); got "
    # CSV, since it formats a timestamp in a time zone other than the session's.
    text = sql.to_csv(sql.struct(sql.timestamp_micros(micros)), ISO_8601)
    return sql.concat(expected, text)


def can_read(stored: T.DataType, shape: shapes.Shape) -> bool:
    """Returns whether values of a Spark type can be read as values of a shape without loss."""
    match shape:
        case shapes.OptionalOf(of=inner) | shapes.MaybeOf(of=inner):
            return can_read(stored, inner)
        case shapes.Scalar() if shape == shapes.INTEGER:
            return isinstance(stored, T.ByteType | T.ShortType | T.IntegerType | T.LongType)
        case shapes.Scalar() if shape == shapes.FLOAT:
            return isinstance(stored, T.ByteType | T.ShortType | T.IntegerType | T.FloatType | T.DoubleType)
        case shapes.Scalar() if shape == shapes.DURATION:
            return isinstance(stored, T.DayTimeIntervalType)
        case shapes.Scalar() if shape == shapes.DECIMAL:
            return isinstance(stored, T.DecimalType) and shapes.fits_decimals(stored.precision, stored.scale)
        case shapes.RecordOf() | shapes.TupleOf() | shapes.SumOf():
            return isinstance(stored, T.StructType) and all(
                name in stored.names and can_read(stored[name].dataType, part)
                for name, part in parts_of(shape)
            )
        case shapes.Scalar() | shapes.EnumOf():
            return stored == spark_type(shape)
        case shapes.ListOf(of=inner) | shapes.SetOf(of=inner):
            return isinstance(stored, T.ArrayType) and can_read(stored.elementType, inner)
        case shapes.MapOf():
            return False
    assert_never(shape)


def _validate(
    source: SourceNode,
    schema: T.StructType,
    keep: Sql | None,
    valid: Callable[[Sql, shapes.Shape, FieldPath], Sql],
) -> Columns:
    """Returns the columns of records, of the values that ``valid`` returns."""
    nullable = {field.name for field in schema.fields if field.nullable}

    def validate(tree: Columns, stored: Sql, path: FieldPath) -> Columns:
        if isinstance(tree, Branch):
            named_parts = zip(parts_of(tree.shape), tree.parts, strict=True)
            parts = (validate(part, stored[name], path.child(f".{name}")) for (name, _), part in named_parts)
            if isinstance(tree.shape, shapes.SumOf) and valid is require_valid:
                parts = (require_one_member(part, stored, tree.shape, path, keep) for part in parts)
            return Branch(tree.shape, tuple(parts))
        column = valid(tree.column, tree.shape, path)
        return Leaf(tree.shape, column if keep is None else sql.when(keep, column))

    element, is_record = source_columns(source.shape, schema), isinstance(source.shape, shapes.RecordOf)
    parts = element.parts if isinstance(element, Branch) and is_record else (element,)
    fields = tuple(
        validate(part, col(name), FieldPath(source.name, name, name in nullable))
        for (name, _), part in zip(fields_in(source.shape), parts, strict=True)
    )
    return Branch(source.shape, fields) if isinstance(source.shape, shapes.RecordOf) else fields[0]
