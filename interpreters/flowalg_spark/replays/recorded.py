"""Recorded frames as the stream of a replay: one file for each instant, with the rows of all sources.

Since all sources are one stream of files, a micro-batch that reads the next file reads one instant of all of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from pathlib import Path
from typing import Final, TypeVar

from attrs import evolve, frozen
from flowalg_columns.checks.streams import cannot_order
from flowalg_columns.layout import fields_in
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from flowalg.data.errors import UnsupportedError
from flowalg.data.time import Micros, ProcessingTime
from flowalg.lifting.analysis import analyse_function
from flowalg.lifting.tree.expressions import Param, first_opaque
from flowalg.pipeline.nodes import SourceNode
from flowalg.runs.division import Division, ReplayInstant, require_event_times, require_places
from flowalg_spark.expressions import compile_scalar
from flowalg_spark.frames.failures import raise_causes
from flowalg_spark.lowering.binding import require_schema
from flowalg_spark.lowering.validation import source_columns
from flowalg_spark.streaming.compilation import StreamInput
from flowalg_spark.streaming.streams.column_types import STREAM_COLUMNS

A = TypeVar("A")

_KEY: Final = "__replay_key"
_LATEST: Final = "__replay_latest"
_COUNT: Final = "__replay_count"
_UNTIMED: Final = "__replay_untimed"
_INSTANT: Final = "__replay_instant"
_SOURCE: Final = "__replay_source"
_TIME: Final = "__replay_time"
_ENDS: Final = "__replay_ends"
_RECORD: Final = "record"
_CONTROL: Final = T.StructType(
    [
        T.StructField(_INSTANT, T.LongType()),
        T.StructField(_SOURCE, T.IntegerType()),
        T.StructField(_TIME, T.LongType()),
        T.StructField(_ENDS, T.BooleanType()),
    ]
)
"""The columns of a row that has only the clock of an instant, for one source."""


@frozen
class RecordedRows:
    """The rows of a source, each with its clock columns, its record, and the key of its instant.

    ``marks`` are the arguments of its ``StreamInput`` that are columns, and ``latest`` has the greatest processing time
    of each instant by its key.
    """

    node: SourceNode
    stream: StreamInput
    frame: DataFrame
    marks: tuple[str, ...]
    latest: Mapping[object, ProcessingTime]

    def stream_of(self, rows: DataFrame, number: int) -> StreamInput:
        """Returns the input of the source in the stream of the files; ``number`` is that of the source."""
        own = F.col(_row(number))
        control = F.timestamp_micros(F.col(_TIME))
        marks = {name: own.getField(name) for name in self.marks}
        marks["processing_time"] = F.coalesce(marks["processing_time"], control)
        marks["tick"] = F.coalesce(marks.get("tick", F.lit(None)), control.isNotNull())
        marks["end_of_input"] = F.coalesce(marks.get("end_of_input", F.lit(None)), F.col(_ENDS), F.lit(False))
        record = own.getField(_RECORD)
        frame = rows.filter(F.col(_SOURCE) == number).select(
            *(record.getField(name).alias(name) for name, _ in fields_in(self.node.shape)),
            *(column.alias(_mark(name)) for name, column in marks.items()),
        )
        return StreamInput(frame, self.stream.watermark, **{name: F.col(_mark(name)) for name in marks})


def in_order(
    node: SourceNode, stream: StreamInput, division: Division, micro_batch: Column | None
) -> RecordedRows:
    """Returns the rows of a source with the keys of their instants.

    Rows are in order of processing time, or of event time if the source has no such column; with ``micro_batch`` in
    order of its values. Raises ``SchemaMismatchError`` for a column that cannot order rows, and ``ElementError`` for a
    row without a place.
    """
    require_schema(node, stream.frame.schema)
    if stream.processing_time is None:
        stream = evolve(stream, processing_time=_event_time(node, stream))
    columns = {name: column for name in STREAM_COLUMNS if (column := getattr(stream, name)) is not None}
    record = F.struct(*(F.col(name) for name, _ in fields_in(node.shape)))
    time = columns["processing_time"]
    places = stream.frame.select(
        time.alias("time"), (time if micro_batch is None else micro_batch).alias(_KEY)
    )
    _require_types(node, places.schema, micro_batch)
    key = _period_of(F.unix_micros(time), division.period) if micro_batch is None else micro_batch
    frame = stream.frame.select(
        key.alias(_KEY), record.alias(_RECORD), *(column.alias(name) for name, column in columns.items())
    )
    if isinstance(frame.schema[_KEY].dataType, T.TimestampType):
        frame = frame.withColumn(_KEY, F.unix_micros(F.col(_KEY)))
    return RecordedRows(node, stream, frame, tuple(columns), _latest(node, frame))


def _event_time(node: SourceNode, stream: StreamInput) -> Column:
    """Returns the event time of a row as its processing time."""
    timed = require_event_times(node, stream, ("end_of_input", "signal", "tick", "corrupt_record"))
    expression = analyse_function(timed.function, Param(node.shape))
    opaque = first_opaque(expression)
    if opaque is not None:
        raise UnsupportedError(
            f"source {node.name!r}: its event times are computed in Python ({opaque.reason}), so Spark cannot order "
            "its rows by them; pass processing_time=column"
        )
    return compile_scalar(expression, source_columns(node.shape, stream.frame.schema)).column


def _period_of(micros: Column, period: Micros) -> Column:
    """Returns the start of the period of a time."""
    return micros - F.pmod(micros, F.lit(period).cast("bigint"))


def _require_types(node: SourceNode, schema: T.StructType, micro_batch: Column | None) -> None:
    time, key = schema["time"].dataType, schema[_KEY].dataType
    if not isinstance(time, T.TimestampType):
        raise cannot_order(node.name, "processing_time", time.simpleString())
    kinds = T.IntegralType | T.StringType | T.DateType | T.TimestampType
    if micro_batch is not None and not isinstance(key, kinds):
        raise cannot_order(node.name, "micro_batch", key.simpleString())


def _latest(node: SourceNode, frame: DataFrame) -> dict[object, ProcessingTime]:
    """Returns the greatest processing time of each instant by its key."""
    time = F.unix_micros(F.col("processing_time"))
    stats = frame.groupBy(_KEY).agg(
        F.max(time).alias(_LATEST),
        F.count("*").alias(_COUNT),
        F.count_if(time.isNull()).alias(_UNTIMED),
    )
    with raise_causes():
        rows = stats.collect()
    total = sum(row[_COUNT] for row in rows)
    unkeyed = sum(row[_COUNT] for row in rows if row[_KEY] is None)
    for argument, nulls in ("processing_time", sum(row[_UNTIMED] for row in rows)), ("micro_batch", unkeyed):
        require_places(node.name, argument, nulls, total)
    return {row[_KEY]: ProcessingTime(row[_LATEST]) for row in rows}


@frozen
class Recording:
    """The recorded rows of all sources, and the instants into which they are divided."""

    rows: Sequence[RecordedRows]
    instants: Sequence[ReplayInstant]

    @classmethod
    def of(cls, rows: Sequence[RecordedRows], division: Division) -> Recording:
        """Returns the rows of several sources, divided together."""
        latest = [pair for recorded in rows for pair in recorded.latest.items()]
        return cls(rows, list(division.instants(latest)))

    def stage(self, folder: Path) -> T.StructType:
        """Writes the rows of each instant to a folder of its own, as one file, and returns the schema of the files."""
        parts = [self._numbered(number, recorded) for number, recorded in enumerate(self.rows)]
        whole = reduce(
            lambda one, other: one.unionByName(other, allowMissingColumns=True), [self._control(), *parts]
        )
        # A task has all rows of an instant, so it writes one file for it.
        writer = whole.repartition(F.col(_INSTANT)).write.option("maxRecordsPerFile", 0)
        with raise_causes():
            writer.partitionBy(_INSTANT).parquet(str(folder))
        return T.StructType([field for field in whole.schema if field.name != _INSTANT])

    def file_of(self, number: int, folder: Path) -> Path:
        """Returns the file of an instant in the folder."""
        (file,) = (folder / f"{_INSTANT}={number}").glob("*.parquet")
        return file

    def streams(self, rows: DataFrame) -> dict[str, StreamInput]:
        """Returns the input of each source, by name, in the stream of the files."""
        return {
            recorded.node.name: recorded.stream_of(rows, number) for number, recorded in enumerate(self.rows)
        }

    def _numbered(self, source: int, rows: RecordedRows) -> DataFrame:
        """Returns the rows of a source with the numbers of their instants."""
        keyed = [
            (instant.key, number)
            for number, instant in enumerate(self.instants)
            if instant.key in rows.latest
        ]
        schema = T.StructType([rows.frame.schema[_KEY], T.StructField(_INSTANT, T.LongType())])
        numbers = self._session.createDataFrame(keyed, schema)
        own = F.struct(*(F.col(name) for name in (_RECORD, *rows.marks)))
        return rows.frame.join(F.broadcast(numbers), _KEY).select(
            F.col(_INSTANT), F.lit(source).alias(_SOURCE), own.alias(_row(source))
        )

    def _control(self) -> DataFrame:
        """Returns a row for each instant and source: all sources have the clock of each instant."""
        rows = [
            (number, source, int(instant.processing_time), instant.ends)
            for number, instant in enumerate(self.instants)
            for source in range(len(self.rows))
        ]
        return self._session.createDataFrame(rows, _CONTROL)

    @property
    def _session(self) -> SparkSession:
        return self.rows[0].frame.sparkSession


def _row(source: int) -> str:
    """Returns the name of the column with the rows of a source."""
    return f"__replay_rows_{source}"


def _mark(name: str) -> str:
    return f"__replay_{name}"
