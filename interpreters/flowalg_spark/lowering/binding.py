"""A source bound to a frame: its schema checked, its records spread over columns, its event times found.

A row that does not fit its record class fails the query with a message that names the field; nothing is
dropped. Only fields that the pipeline uses are looked at, so that Spark can leave the others unread.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, assert_never

from attrs import evolve, frozen
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from flowalg.data.errors import ArgumentError, SchemaMismatchError
from flowalg.data.shapes import (
    DURATION,
    FLOAT,
    INTEGER,
    EnumOf,
    ListOf,
    MapOf,
    OptionalOf,
    RecordOf,
    Scalar,
    SetOf,
    Shape,
    TupleOf,
)
from flowalg.data.time import MAX_TIME, MIN_TIME
from flowalg.elementwise.steps import WithTimestamps
from flowalg.lifting.analysis import StepAnalysis, analyse_function
from flowalg.lifting.tree.expressions import Expr, Param, first_opaque, qualify_locations
from flowalg.lifting.tree.failures import can_raise_in_engine
from flowalg.pipeline.nodes import SourceNode
from flowalg_spark.encoding.layout import PATH_SEPARATOR, Branch, Columns, Leaf, col, layout_of, leaf_columns
from flowalg_spark.encoding.meta import (
    BAD_RECORD,
    DROP_COUNT,
    DROP_REASON,
    DROPPED_KEY,
    DROPPED_VALUE,
    END,
    ENDED,
    ERROR,
    EVENT_TIME,
    KEEP,
    META_TYPES,
    PANE_TIME,
    PARTITION,
    PROCESSING_TIME,
    REPORT,
    SIGNAL,
    STAGE,
    START,
    WATERMARK,
)
from flowalg_spark.encoding.schema import cast_to, parts_of, spark_type
from flowalg_spark.expressions import compile_scalar
from flowalg_spark.expressions.integers import long_literal
from flowalg_spark.lowering.checking import FieldPath, require_valid, source_columns, violation
from flowalg_spark.lowering.element_wise import run_in_python
from flowalg_spark.lowering.flow import Flow, LiftingNote, Selection


@frozen
class StreamColumns:
    """What a streaming source says about time: its rows' processing times, and which of them are no elements.

    ``ended`` says that the input ends; ``signal`` names a signal, and ``tick`` marks a row that has nothing but
    its processing time. ``partition`` is the partition of the source that a row comes from. ``corrupt_record`` is
    the text of a record that could not be read. What is wrong with a record fails the query, or with ``catches``
    is told. ``report`` has clock reports on ticks, where the source publishes its clocks itself.
    """

    processing_time: Column
    ended: Column | None
    tick: Column | None = None
    signal: Column | None = None
    partition: Column | None = None
    corrupt_record: Column | None = None
    dead_letters: bool = False
    report: Column | None = None

    @property
    def columns(self) -> dict[str, Column]:
        """What travels with the rows."""
        keep = F.lit(True)
        found = {PROCESSING_TIME: self.processing_time}
        if self.ended is not None:
            found[ENDED] = F.coalesce(self.ended, F.lit(False))
            keep = ~found[ENDED]
        if self.tick is not None:
            keep &= ~F.coalesce(self.tick, F.lit(False))
        if self.signal is not None:
            keep &= self.signal.isNull()
            found[SIGNAL] = self.signal
        if self.partition is not None:
            found[PARTITION] = F.coalesce(self.partition.cast("string"), F.lit(""))
        if self.report is not None:
            found[REPORT] = self.report
        return {**found, KEEP: keep}


@frozen
class BadRecords:
    """What is wrong with the records of a source, as columns: the text of it, null where nothing is, and the record."""

    source: str
    wrong: Column
    record: Column

    def drop_columns(self, processing_time: Column) -> dict[str, Column]:
        """What the row of a bad record says: that it is dropped, and why."""
        bad = self.wrong.isNotNull()
        said = {
            DROP_REASON: F.lit(BAD_RECORD),
            DROP_COUNT: F.lit(1),
            STAGE: F.lit(f"Source({self.source!r})"),
            ERROR: self.wrong,
            DROPPED_VALUE: self.record,
            PANE_TIME: processing_time,
        }
        nothing = {name: F.lit(None) for name in (DROPPED_KEY, START, END, WATERMARK)}
        return {**{name: F.when(bad, column) for name, column in said.items()}, **nothing}


def require_frame(name: str, frame: object) -> DataFrame:
    """The frame, if it is one; raises ``ArgumentError`` otherwise."""
    if isinstance(frame, DataFrame):
        return frame
    raise ArgumentError(f"the input of source {name!r}", frame, "a Spark DataFrame")


def bind_source(source: SourceNode, frame: DataFrame, clocks: StreamColumns | None) -> Flow:
    """The flow of a source's elements, with their event times; guarded, with its clocks, on a stream.

    Raises ``SchemaMismatchError`` listing every field of the record class that the frame lacks or has with
    another type.
    """
    shape = source.shape
    require_schema(source, frame.schema)
    meta = {} if clocks is None else clocks.columns
    label = f"Source({source.name!r}).event_time"
    expression = qualify_locations(label, analyse_function(source.event_time, Param(shape)))
    catches = clocks is not None and clocks.dead_letters
    in_columns = first_opaque(expression) is None and not (catches and can_raise_in_engine(expression))
    if clocks is not None and catches:
        bad = _bad(source, frame.schema, clocks, expression if in_columns else None)
        frame = frame.select("*", F.when(meta[KEEP], bad.wrong).alias(_WRONG))
        meta[KEEP] &= col(_WRONG).isNull()
        meta |= evolve(bad, wrong=col(_WRONG)).drop_columns(meta[PROCESSING_TIME])
    elif clocks is not None and clocks.corrupt_record is not None:
        failed = F.raise_error(_does_not_parse(source, clocks.corrupt_record))
        meta[KEEP] = F.when(clocks.corrupt_record.isNotNull(), failed).otherwise(meta[KEEP])
    element = _checked(source, frame.schema, meta.get(KEEP))
    if in_columns:
        micros = F.unix_micros(compile_scalar(expression, element))
        meta[EVENT_TIME] = _in_range(micros, source, meta.get(KEEP))
    elif catches:
        meta[EVENT_TIME] = F.lit(None)
    columns = dict(zip(leaf_columns(layout_of(shape)), leaf_columns(element), strict=True))
    # What a stream says of its clocks comes from the user; event times are of the right type.
    columns |= {
        name: column if name == EVENT_TIME and in_columns else cast_to(column, META_TYPES[name])
        for name, column in meta.items()
    }
    selection = Selection(frame, columns, cheap=clocks is None)
    flow = Flow(selection, shape, {name: META_TYPES[name] for name in meta}, dead_letters=catches)
    if in_columns:
        return flow.with_notes(LiftingNote(label, None, None))
    return run_in_python(
        flow, [StepAnalysis(WithTimestamps(source.event_time, label), shape, expression, shape)]
    )


_WRONG: Final = "__wrong"


def _bad(
    source: SourceNode, schema: T.StructType, clocks: StreamColumns, event_time: Expr | None
) -> BadRecords:
    """What is wrong with the records of a source: that they do not parse, a field, or the event time."""
    shape = source.shape
    tops = parts_of(shape) if isinstance(shape, RecordOf) else (("value", shape),)
    record = F.to_json(F.struct(*(col(name) for name, _ in tops)))
    found: list[Column] = []
    if clocks.corrupt_record is not None:
        found.append(
            F.when(clocks.corrupt_record.isNotNull(), _does_not_parse(source, clocks.corrupt_record))
        )
        record = F.coalesce(clocks.corrupt_record, record)
    for name, one in tops:
        wrong = violation(col(name), one, FieldPath(source.name, name, schema[name].nullable))
        if wrong is not None:
            found.append(wrong)
    if event_time is not None:
        micros = F.unix_micros(compile_scalar(event_time, source_columns(shape, schema)))
        far = F.coalesce(_is_far(micros, source), F.lit(f"source {source.name!r}: its event time is null"))
        found.append(F.when(~F.coalesce(_is_near(micros), F.lit(False)), far))
    return BadRecords(source.name, F.coalesce(*found, F.lit(None).cast("string")), record)


def _does_not_parse(source: SourceNode, text: Column) -> Column:
    return F.concat(F.lit(f"source {source.name!r}: a record does not parse: "), text)


def require_schema(source: SourceNode, schema: T.StructType) -> None:
    """Raises ``SchemaMismatchError``, with every difference, unless records of the source can be read from a schema."""
    problems = list(_mismatches(source.shape, schema))
    if problems:
        lines = "".join(f"\n  {problem}" for problem in problems)
        raise SchemaMismatchError(
            f"source {source.name!r} reads {source.shape}, and the frame does not fit it:{lines}"
        )


def _in_range(micros: Column, source: SourceNode, keep: Column | None) -> Column:
    near = F.when(_is_near(micros), micros).otherwise(F.raise_error(_is_far(micros, source)))
    return near if keep is None else F.when(keep, near)


def _is_near(micros: Column) -> Column:
    return (micros >= long_literal(MIN_TIME)) & (micros < long_literal(MAX_TIME))


def _is_far(micros: Column, source: SourceNode) -> Column:
    message = (
        f"source {source.name!r}: an event time lies outside of [{MIN_TIME} = 0001-01-03, "
        f"{MAX_TIME} = 9999-12-30): "
    )
    return F.concat(F.lit(message), micros.cast("string"), F.lit(" us since 1970"))


def _mismatches(shape: Shape, schema: T.StructType) -> Iterator[str]:
    if not isinstance(shape, RecordOf):
        yield from _mismatch("value", shape, schema)
        return
    for one in shape.fields:
        yield from _mismatch(one.name, one.shape, schema)


def _mismatch(name: str, shape: Shape, schema: T.StructType) -> Iterator[str]:
    found = next((field for field in schema.fields if field.name == name), None)
    if found is None:
        columns = ", ".join(schema.names) or "none"
        yield f"{name}: missing; it must be a {spark_type(shape).simpleString()} (the frame's columns: {columns})"
    elif not can_read(found.dataType, shape):
        hint = ""
        if isinstance(found.dataType, T.TimestampNTZType):
            hint = ", a timestamp without a time zone, which names no point in time"
        yield (
            f"{name}: is {found.dataType.simpleString()}{hint}; it must be {spark_type(shape).simpleString()} "
            f"for the Python type {shape}"
        )


def can_read(found: T.DataType, shape: Shape) -> bool:
    """Whether values of a Spark type can be read as values of a shape, without loss."""
    match shape:
        case OptionalOf(of=inner):
            return can_read(found, inner)
        case Scalar() if shape == INTEGER:
            return isinstance(found, T.ByteType | T.ShortType | T.IntegerType | T.LongType)
        case Scalar() if shape == FLOAT:
            return isinstance(found, T.ByteType | T.ShortType | T.IntegerType | T.FloatType | T.DoubleType)
        case Scalar() if shape == DURATION:
            return isinstance(found, T.DayTimeIntervalType)
        case RecordOf() | TupleOf():
            return isinstance(found, T.StructType) and not any(
                one_more for name, one in parts_of(shape) for one_more in _mismatch(name, one, found)
            )
        case Scalar() | EnumOf():
            return found == spark_type(shape)
        case ListOf(of=inner) | SetOf(of=inner):
            return isinstance(found, T.ArrayType) and can_read(found.elementType, inner)
        case MapOf():
            return False
    assert_never(shape)


def _checked(source: SourceNode, schema: T.StructType, keep: Column | None) -> Columns:
    """The columns of a record, each checked to have no null that its type does not allow."""
    nullable = {one.name for one in schema.fields if one.nullable}
    names = iter(leaf_columns(layout_of(source.shape)))

    def checked(tree: Columns) -> Columns:
        if isinstance(tree, Branch):
            return Branch(tree.shape, tuple(map(checked, tree.parts)))
        name = next(names)
        place = FieldPath(
            source.name, name.replace(PATH_SEPARATOR, "."), PATH_SEPARATOR in name or name in nullable
        )
        column = require_valid(tree.column, tree.shape, place)
        return Leaf(tree.shape, column if keep is None else F.when(keep, column))

    return checked(source_columns(source.shape, schema))


__all__ = ["BadRecords", "StreamColumns", "bind_source", "can_read", "require_frame", "require_schema"]
