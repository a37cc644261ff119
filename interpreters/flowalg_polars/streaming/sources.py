"""The sources of a stream: rows of a micro-batch as elements and clock reports."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import polars as pl
import polars.selectors as cs
from attrs import define, field
from flowalg_columns.checks.streams import CLOCK_COLUMNS, FLAG, TEXT, TIME, WINDOW
from flowalg_columns.layout import layout_of, leaf_columns
from flowalg_columns.names import SIGNAL_META
from flowalg_shard.clocks.exchange import FromSource, SourceReport, Upstream
from flowalg_shard.clocks.reports import (
    observation,
    observed_report,
    require_times,
    source_report,
)
from flowalg_shard.tables.columns import (
    ENDED,
    EVENT_TIME,
    KEEP,
    PARTITION,
    PROCESSING_TIME,
    PUBLISHED,
    SIGNAL,
    SIGNAL_END,
    SIGNAL_KEY,
    SIGNAL_START,
)

from flowalg.data.errors import SchemaMismatchError
from flowalg.data.time import ProcessingTime
from flowalg.pipeline.nodes import SourceNode
from flowalg.watermarks import ClockSummary
from flowalg_polars.lowering.binding import BoundSource, bind_source
from flowalg_polars.lowering.python_steps import frame_schema
from flowalg_polars.lowering.sifting import sift_source
from flowalg_polars.meta import ELEMENT_META
from flowalg_polars.streaming.arrivals import Arrival, Observation
from flowalg_polars.streaming.reading.bad_records import BadRecords
from flowalg_polars.streaming.reading.inputs import STREAM_COLUMNS, StreamInput, column_of, micros_of


def _is_time(kind: pl.DataType) -> bool:
    return isinstance(kind, pl.Datetime) and kind.time_zone is not None


def _is_flag(kind: pl.DataType) -> bool:
    return isinstance(kind, pl.Boolean | pl.Null)


def _is_text(kind: pl.DataType) -> bool:
    return not kind.is_nested() and not isinstance(kind, pl.Object)


def _is_window(kind: pl.DataType) -> bool:
    fields = {part.name: part.dtype for part in kind.fields} if isinstance(kind, pl.Struct) else {}
    return all(isinstance(fields.get(name), pl.Datetime) for name in ("start", "end"))


_FITS: Final[Mapping[str, Callable[[pl.DataType], bool]]] = {
    TIME: _is_time,
    FLAG: _is_flag,
    TEXT: _is_text,
    WINDOW: _is_window,
}
"""Which types of this engine are what a column must be."""


@define
class StreamSource:
    """A source of a stream. The program that binds its rows depends on the schema of its frames.

    ``recorded`` says that a micro-batch has the processing time that it had when it was recorded.
    """

    node: SourceNode
    stream: StreamInput
    bad_records: BadRecords | None = None
    recorded: bool = False
    _programs: dict[tuple[tuple[str, object], ...], BoundSource] = field(factory=dict)

    @property
    def upstream(self) -> Upstream:
        """The source as an upstream: a policy derives its clocks."""
        ends = self.stream.end_of_input is not None and not self.recorded
        return FromSource(self.stream.watermark, self.node.name, ends=ends)

    def arrival(self, rows: pl.LazyFrame | None, now: ProcessingTime, *, ended: bool) -> Arrival:
        """Returns the elements and the clock report of the rows that arrive at a processing time."""
        if rows is None:
            empty = pl.DataFrame(schema=frame_schema(self.node.shape, ELEMENT_META))
            return Arrival(empty.lazy(), {0: self._own_report(now, ended=ended)})
        self._require_columns(rows)
        clocked = rows.with_columns(self._clock_columns(now))
        elements, control = clocked, None
        if self._has_control_rows:
            clocked = clocked.collect().lazy()
            elements, control = clocked.filter(KEEP), clocked.filter(~pl.col(KEEP)).collect()
        program = self._program(elements)
        bound = program.apply(elements)
        if self.bad_records is not None or _in_python(program):
            bound = self._bind(elements.collect(), program).lazy()
        policy = self.stream.watermark
        own_report = self._own_report(now, ended=ended)
        if control is not None:
            own_report = own_report.merge(source_report(policy, self._control_rows(control), self.node.name))

        def report(seen: pl.DataFrame) -> SourceReport:
            require_times(self.node.name, seen)
            return observed_report(policy, seen).merge(own_report)

        names = leaf_columns(layout_of(self.node.shape))
        query = observation(policy, bound, columns=frozenset(self._kept))
        return Arrival(bound.select(*names, *ELEMENT_META), {0: Observation(query, report)})

    def _require_columns(self, rows: pl.LazyFrame) -> None:
        """Raises ``SchemaMismatchError`` if a column that the input names is missing, or has another type."""
        columns = {name: getattr(self.stream, name) for name in STREAM_COLUMNS}
        for argument, column in columns.items():
            if column is None:
                continue
            named = f"source {self.node.name!r}: StreamInput.{argument}"
            valid = CLOCK_COLUMNS[argument]
            try:
                (kind,) = rows.select(column_of(column)).collect_schema().dtypes()
            except pl.exceptions.ColumnNotFoundError:
                names = ", ".join(rows.collect_schema().names())
                shown = repr(column) if isinstance(column, str) else str(column)
                raise SchemaMismatchError(
                    f"{named} is {shown}, which is no column of its rows; they have {names}"
                ) from None
            except (pl.exceptions.PolarsError, ValueError) as error:
                reason = str(error).partition("\n")[0]
                raise SchemaMismatchError(f"{named} must be {valid}; got {column}: {reason}") from error
            if not _FITS[valid](kind):
                raise SchemaMismatchError(f"{named} must be {valid}; got {column} of type {kind}")

    def _bind(self, rows: pl.DataFrame, program: BoundSource) -> pl.DataFrame:
        """Returns the elements of some rows. With dead letters, bad records are left out and kept aside."""
        if self.bad_records is None:
            return program.apply(rows.lazy()).collect()
        sifted = sift_source(self.node, program, rows)
        self.bad_records.records += sifted.bad
        return sifted.frame

    @property
    def _has_control_rows(self) -> bool:
        stream = self.stream
        return any(column is not None for column in (stream.end_of_input, stream.signal, stream.tick))

    @property
    def _kept(self) -> tuple[str, ...]:
        """The columns of records that clocks observe."""
        optional = {PARTITION: self.stream.partition_column, PUBLISHED: self.stream.source_watermark}
        return (PROCESSING_TIME, *(name for name, column in optional.items() if column is not None))

    def _clock_columns(self, now: ProcessingTime) -> list[pl.Expr]:
        """Returns the clock columns of rows, and whether each is an element."""
        stream = self.stream
        time = pl.lit(now, pl.Int64())
        if stream.processing_time is not None:
            time = micros_of(stream.processing_time)
        columns = [time.alias(PROCESSING_TIME)]
        if stream.partition_column is not None:
            columns.append(
                column_of(stream.partition_column).cast(pl.String()).fill_null("").alias(PARTITION)
            )
        if stream.source_watermark is not None:
            columns.append(micros_of(stream.source_watermark).alias(PUBLISHED))
        if not self._has_control_rows:
            return columns
        keep = pl.lit(True)
        ended, signal = pl.lit(False), pl.lit(None, pl.String())
        if stream.end_of_input is not None:
            ended = column_of(stream.end_of_input).fill_null(False)
            keep &= ~ended
        if stream.tick is not None:
            keep &= ~column_of(stream.tick).fill_null(False)
        if stream.signal is not None:
            signal = column_of(stream.signal).cast(pl.String())
            keep &= signal.is_null()
        if stream.signal_key is not None:
            columns.append(column_of(stream.signal_key).cast(pl.String()).alias(SIGNAL_KEY))
        if stream.signal_window is not None:
            window = column_of(stream.signal_window).struct
            columns += [
                micros_of(window.field("start")).alias(SIGNAL_START),
                micros_of(window.field("end")).alias(SIGNAL_END),
            ]
        return [*columns, ended.alias(ENDED), signal.alias(SIGNAL), keep.alias(KEEP)]

    def _control_rows(self, rows: pl.DataFrame) -> pl.DataFrame:
        return rows.select(
            pl.lit(None, pl.Int64()).alias(EVENT_TIME),
            *self._kept,
            pl.col(ENDED),
            cs.by_name(*SIGNAL_META, require_all=False),
        )

    def _own_report(self, now: ProcessingTime, *, ended: bool) -> SourceReport:
        """Returns the report of a micro-batch itself: whether it ends the input, and its processing time.

        If rows carry processing times, only they advance the clock, except in a replay.
        """
        carried = self.stream.processing_time is not None and not self.recorded
        return SourceReport(ClockSummary({}, None if carried else now, ended=ended))

    def _program(self, frame: pl.LazyFrame) -> BoundSource:
        schema = dict(frame.collect_schema())
        key = tuple(schema.items())
        if key not in self._programs:
            self._programs[key] = bind_source(self.node, schema, pl.col(PROCESSING_TIME), self._kept)
        return self._programs[key]


def _in_python(program: BoundSource) -> bool:
    """Returns whether the event times are computed in Python, so that they are computed once."""
    return any(note.reason is not None for note in program.notes)
