"""The sources of a stream: rows of a micro-batch as elements and clock reports."""

from __future__ import annotations

from typing import Final

import polars as pl
from attrs import define, field
from flowalg_columns.layout import layout_of, leaf_columns
from flowalg_columns.names import ENDED, EVENT_TIME, PARTITION, PROCESSING_TIME, SIGNAL
from flowalg_shard.clocks.exchange import FromSource, SourceReport, Upstream
from flowalg_shard.clocks.reports import source_report
from flowalg_shard.tables.columns import KEEP

from flowalg.data.time import ProcessingTime
from flowalg.pipeline.nodes import SourceNode
from flowalg_polars.lowering.binding import bind_source
from flowalg_polars.lowering.programs import Program
from flowalg_polars.lowering.python_steps import frame_schema
from flowalg_polars.meta import ELEMENT_META
from flowalg_polars.streaming.bad_records import BadRecords, keep_good
from flowalg_polars.streaming.inputs import StreamColumn, StreamInput
from flowalg_polars.streaming.operators import Arrival

_CLOCKS: Final = (PROCESSING_TIME, PARTITION)


@define
class StreamSource:
    """A source of a stream. The program that binds its rows depends on the schema of its frames."""

    node: SourceNode
    stream: StreamInput
    bad_records: BadRecords | None = None
    _programs: dict[tuple[tuple[str, object], ...], Program] = field(factory=dict)

    @property
    def upstream(self) -> Upstream:
        """The source as an upstream: a policy derives its clocks."""
        return FromSource(self.stream.watermark, self.node.name)

    def arrival(self, rows: pl.LazyFrame | None, now: ProcessingTime, *, ended: bool) -> Arrival:
        """Returns the elements and the clock report of the rows that arrive at a processing time."""
        if rows is None:
            empty = pl.DataFrame(schema=frame_schema(self.node.shape, ELEMENT_META))
            return Arrival(empty.lazy(), {0: self._report(self._own_control(now, ended=ended))})
        clocked = rows.with_columns(self._clock_columns(now))
        elements, control = clocked, None
        if self._has_control_rows:
            clocked = clocked.collect().lazy()
            elements, control = clocked.filter(KEEP), clocked.filter(~pl.col(KEEP)).collect()
        program = self._program(elements)
        bound = program.apply(elements)
        if self.bad_records is not None or _in_python(program):
            bound = self._bind(elements.collect(), program).lazy()
        observed = bound.select(EVENT_TIME, *self._kept).collect()
        reported = pl.concat(
            [
                observed.with_columns(pl.lit(None, pl.String()).alias(SIGNAL), pl.lit(False).alias(ENDED)),
                *([] if control is None else [self._control_rows(control)]),
                self._own_control(now, ended=ended),
            ]
        )
        names = leaf_columns(layout_of(self.node.shape))
        return Arrival(bound.select(*names, *ELEMENT_META), {0: self._report(reported)})

    def _bind(self, rows: pl.DataFrame, program: Program) -> pl.DataFrame:
        """Returns the elements of some rows. With dead letters, bad records are left out and kept aside."""
        if self.bad_records is None:
            return program.apply(rows.lazy()).collect()
        return keep_good(
            rows,
            lambda part: program.apply(part.lazy()).collect(),
            self.bad_records,
            f"Source({self.node.name!r})",
            rows.drop(*self._kept, KEEP, SIGNAL, ENDED, strict=False),
        )

    def _report(self, rows: pl.DataFrame) -> SourceReport:
        return source_report(self.stream.watermark, rows)

    @property
    def _has_control_rows(self) -> bool:
        stream = self.stream
        return any(column is not None for column in (stream.end_of_input, stream.signal, stream.tick))

    @property
    def _kept(self) -> tuple[str, ...]:
        return (PROCESSING_TIME,) if self.stream.partition is None else _CLOCKS

    def _clock_columns(self, now: ProcessingTime) -> list[pl.Expr]:
        """Returns the clock columns of rows, and whether each is an element."""
        stream = self.stream
        time = pl.lit(now, pl.Int64())
        if stream.processing_time is not None:
            column = _column(stream.processing_time)
            time = column.dt.cast_time_unit("us").dt.convert_time_zone("UTC").to_physical()
        columns = [time.alias(PROCESSING_TIME)]
        if stream.partition is not None:
            columns.append(_column(stream.partition).cast(pl.String()).fill_null("").alias(PARTITION))
        if not self._has_control_rows:
            return columns
        keep = pl.lit(True)
        ended, signal = pl.lit(False), pl.lit(None, pl.String())
        if stream.end_of_input is not None:
            ended = _column(stream.end_of_input).fill_null(False)
            keep &= ~ended
        if stream.tick is not None:
            keep &= ~_column(stream.tick).fill_null(False)
        if stream.signal is not None:
            signal = _column(stream.signal).cast(pl.String())
            keep &= signal.is_null()
        return [*columns, ended.alias(ENDED), signal.alias(SIGNAL), keep.alias(KEEP)]

    def _control_rows(self, rows: pl.DataFrame) -> pl.DataFrame:
        return rows.select(
            pl.lit(None, pl.Int64()).alias(EVENT_TIME), *self._kept, pl.col(SIGNAL), pl.col(ENDED)
        )

    def _own_control(self, now: ProcessingTime, *, ended: bool) -> pl.DataFrame:
        """Returns the control row of a micro-batch: whether it ends the input, and its processing time.

        If rows carry processing times, only they advance the clock.
        """
        partition = "" if self.stream.partition is not None else None
        carried = self.stream.processing_time is not None
        return _control(None if carried else now, ended=ended, partition=partition)

    def _program(self, frame: pl.LazyFrame) -> Program:
        schema = dict(frame.collect_schema())
        key = tuple(schema.items())
        if key not in self._programs:
            self._programs[key] = bind_source(self.node, schema, self._kept)
        return self._programs[key]


def _control(now: ProcessingTime | None, *, ended: bool, partition: str | None = None) -> pl.DataFrame:
    columns: dict[str, object] = {EVENT_TIME: [None], PROCESSING_TIME: [now]}
    schema: dict[str, pl.DataType] = {EVENT_TIME: pl.Int64(), PROCESSING_TIME: pl.Int64()}
    if partition is not None:
        columns[PARTITION], schema[PARTITION] = [partition], pl.String()
    columns |= {SIGNAL: [None], ENDED: [ended]}
    schema |= {SIGNAL: pl.String(), ENDED: pl.Boolean()}
    return pl.DataFrame(columns, schema=schema)


def _column(column: StreamColumn) -> pl.Expr:
    return pl.col(column) if isinstance(column, str) else column


def _in_python(program: Program) -> bool:
    """Whether the event times are computed in Python, so that they are computed once."""
    return any(note.reason is not None for note in program.notes)


__all__ = ["StreamSource"]
