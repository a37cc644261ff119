"""Recorded rows as the input of a replay: in order of processing time, and divided into instants."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import ClassVar, Final

import polars as pl
from attrs import evolve, frozen
from flowalg_columns.checks.streams import cannot_order
from flowalg_columns.text.json_objects import Fields
from flowalg_kafka import KafkaInput
from flowalg_shard.tables.columns import EVENT_TIME, PROCESSING_TIME

from flowalg.data.errors import SchemaMismatchError
from flowalg.data.time import Micros, ProcessingTime
from flowalg.pipeline.nodes import SourceNode
from flowalg.runs.division import Division, ReplayInstant, require_event_times, require_places
from flowalg_polars.errors import raise_causes
from flowalg_polars.frames.foreign import polars_frame
from flowalg_polars.lowering.binding import bind_source, record_frame
from flowalg_polars.streaming.reading.bad_records import BadRecords
from flowalg_polars.streaming.reading.inputs import (
    ONE_OF_FRAMES,
    Files,
    Frames,
    Records,
    SourceData,
    StreamColumn,
    StreamInput,
    column_of,
    micros_of,
)
from flowalg_polars.streaming.reading.positions import START, Available, Position, ReadFile
from flowalg_polars.streaming.reading.readers import (
    Reader,
    concat_rows,
    count_of,
    reader_of,
)

_TIME: Final = "__replay_time"
_KEY: Final = "__replay_key"
_KEYS: Final = (pl.String, pl.Date, pl.Datetime)
"""The types of a column that names micro-batches, besides integers."""


@frozen
class RecordedRows:
    """The rows of a source in their order, with the clock columns of ``stream``.

    ``slices`` has the first row and the number of rows of each instant by its key, and ``latest`` its greatest
    processing time.
    """

    stream: StreamInput
    rows: pl.DataFrame
    slices: Mapping[object, tuple[int, int]]
    latest: Mapping[object, ProcessingTime]


@frozen
class RecordedReader:
    """Reads the rows of each instant of a replay; a position is the number of instants read."""

    recorded: RecordedRows
    instants: Sequence[ReplayInstant]
    kind: ClassVar[str] = "instants of a replay"

    def available(self, after: Position) -> Available | None:
        """Returns the next instant, also if it has no rows of this source."""
        count = count_of(after)
        return Available((count + 1,)) if count < len(self.instants) else None

    def read(self, after: Position, until: Position, bad: BadRecords | None) -> pl.LazyFrame | None:
        """Returns the rows of the next instant."""
        del until, bad
        extent = self.recorded.slices.get(self.instants[count_of(after)].key)
        return None if extent is None else self.recorded.rows.slice(*extent).lazy()

    def has_ended(self, after: Position) -> bool:
        """Returns whether the last instant that was read ends the input."""
        count = count_of(after)
        return count > 0 and self.instants[count - 1].ends

    def unread(self, after: Position) -> str | None:
        """Returns ``None``: a replay has no checkpoint."""
        del after
        return None

    def resume(self, read: Sequence[ReadFile], begun: Position | None) -> None:
        """Does nothing: a replay has no checkpoint."""

    def close(self) -> None:
        """Does nothing."""


@frozen
class Recording:
    """The recorded rows of all sources, and the instants into which they are divided."""

    rows: Mapping[str, RecordedRows]
    instants: Sequence[ReplayInstant]

    @classmethod
    def of(cls, rows: Mapping[str, RecordedRows], division: Division) -> Recording:
        """Returns the rows of several sources, divided together."""
        latest = [pair for recorded in rows.values() for pair in recorded.latest.items()]
        return cls(rows, list(division.instants(latest)))

    def reader(self, source: str) -> Reader:
        """Returns the reader of a source."""
        return RecordedReader(self.rows[source], self.instants)


def read_all(source: SourceNode, data: SourceData, columns: Fields = ()) -> pl.LazyFrame:
    """Returns all rows of a source's data that there are now, with ``columns`` besides the fields of records."""
    match data:
        case Frames(frames=frames):
            parts = [polars_frame(ONE_OF_FRAMES, frame).lazy() for frame in frames]
        case Records(records=records):
            parts = [record_frame(source, list(records)).lazy()]
        case Files() | KafkaInput():
            parts = []
            reader, position = reader_of(source, data, columns), START
            while (following := reader.available(position)) is not None:
                part = reader.read(position, following.position, None)
                parts += [] if part is None else [part]
                position = following.position
    if not parts:
        return record_frame(source, []).lazy()
    return concat_rows(parts)


def in_order(
    source: SourceNode,
    stream: StreamInput,
    frame: pl.LazyFrame,
    period: Micros,
    micro_batch: StreamColumn | None,
) -> RecordedRows:
    """Returns the rows of a source in order of processing time, or of event time if it has no such column.

    With ``micro_batch``, a column, they are in order of its values instead. Rows of one time, or of one value, stay in
    the order of the frame. Raises ``SchemaMismatchError`` for a column that cannot order rows, and ``ElementError`` for
    a row without a place.
    """
    if stream.processing_time is None:
        frame = _with_event_times(source, stream, frame)
        stream = evolve(stream, processing_time=PROCESSING_TIME)
    assert stream.processing_time is not None
    kind = _type_of(source, "processing_time", stream.processing_time, frame)
    if not isinstance(kind, pl.Datetime) or kind.time_zone is None:
        raise cannot_order(source.name, "processing_time", kind)
    if micro_batch is not None:
        kind = _type_of(source, "micro_batch", micro_batch, frame)
        if not kind.is_integer() and not isinstance(kind, _KEYS):
            raise cannot_order(source.name, "micro_batch", kind)
    time = micros_of(stream.processing_time)
    key = time.floordiv(period) if micro_batch is None else column_of(micro_batch)
    keyed = frame.with_columns(time.alias(_TIME), key.alias(_KEY)).collect()
    for argument, name in ("processing_time", _TIME), ("micro_batch", _KEY):
        require_places(source.name, argument, keyed[name].null_count(), keyed.height)
    ordered = keyed.sort(_TIME if micro_batch is None else _KEY, maintain_order=True)
    instants = ordered.group_by(_KEY, maintain_order=True).agg(pl.len(), pl.col(_TIME).max())
    keys, counts, latest = (column.to_list() for column in instants.get_columns())
    starts = accumulate(counts, initial=0)
    return RecordedRows(
        stream,
        ordered.drop(_TIME, _KEY),
        dict(zip(keys, zip(starts, counts, strict=False), strict=True)),
        dict(zip(keys, map(ProcessingTime, latest), strict=True)),
    )


def _with_event_times(source: SourceNode, stream: StreamInput, frame: pl.LazyFrame) -> pl.LazyFrame:
    """Returns the rows with their event times as processing times."""
    require_event_times(source, stream, ("end_of_input", "signal", "tick"))
    rows = frame.collect()
    with raise_causes():
        bound = bind_source(source, dict(rows.schema), pl.lit(None)).apply(rows.lazy())
        times = bound.select(
            pl.col(EVENT_TIME).cast(pl.Datetime("us", "UTC")).alias(PROCESSING_TIME)
        ).collect()
    return pl.concat([rows, times], how="horizontal").lazy()


def _type_of(source: SourceNode, argument: str, column: StreamColumn, frame: pl.LazyFrame) -> pl.DataType:
    """Returns the type of a column; raises ``SchemaMismatchError`` if the frame lacks it."""
    try:
        (kind,) = frame.select(column_of(column)).collect_schema().dtypes()
    except pl.exceptions.ColumnNotFoundError:
        columns = ", ".join(frame.collect_schema())
        valid = f"a column of its rows, which have {columns}"
        raise SchemaMismatchError(
            f"source {source.name!r}: {argument} must be {valid}; got {column}"
        ) from None
    return kind
