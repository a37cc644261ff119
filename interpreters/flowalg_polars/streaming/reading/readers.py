"""Readers of stream data: what is available after a position, and the frame between two positions.

A position is a plain value that a checkpoint stores. A reader gives the same frame for the same two positions, also
after a restart.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from queue import Empty, Queue
from threading import Thread
from typing import Final, Literal, Protocol, cast

import polars as pl
import pyarrow as pa
from attrs import define, field
from flowalg_columns.arrow_types import arrow_type
from flowalg_columns.layout import fields_in
from flowalg_columns.text_files import describe_bad_cell, parse_records, parse_text
from flowalg_columns.values import write_nested
from flowalg_kafka import KafkaInput

from flowalg.data.errors import CheckpointError, ElementError, SchemaMismatchError
from flowalg.data.shapes import RecordOf
from flowalg.pipeline.nodes import SourceNode
from flowalg.runs.bad_records import bad_text
from flowalg.runs.elements import good_records
from flowalg_polars.columns import polars_type
from flowalg_polars.lowering.binding import require_schema, scan_parquet
from flowalg_polars.lowering.python_steps import series_of
from flowalg_polars.streaming.reading.bad_records import BadRecords
from flowalg_polars.streaming.reading.inputs import Files, Frames, Records, SourceData
from flowalg_polars.streaming.reading.positions import Available, Position
from flowalg_polars.streaming.reading.topics import MessageReader


class Reader(Protocol):
    """Reads the data of a source."""

    def available(self, after: Position) -> Available | None:
        """Returns what can be read after a position; ``None`` if there is nothing now, or nothing more."""
        ...

    def read(self, after: Position, until: Position, bad: BadRecords | None) -> pl.LazyFrame | None:
        """Returns the rows between two positions, ``None`` without rows; unreadable ones may be bad records."""
        ...

    def has_ended(self, after: Position) -> bool:
        """Whether nothing can follow a position."""
        ...


def reader_of(source: SourceNode, data: SourceData) -> Reader:
    """Returns the reader of a source's data."""
    match data:
        case Files():
            return FileReader(source, data)
        case Frames(frames=frames):
            return FrameReader(iter(frames))
        case Records():
            return RecordReader(source, data)
        case KafkaInput():
            return MessageReader.of(source, data)


@define
class FileReader:
    """Reads the files of a folder, in the order of their modification."""

    source: SourceNode
    files: Files
    _listed: list[str] = field(factory=list)

    def available(self, after: Position) -> Available | None:
        """Returns the next files that are not among those read.

        The folder is listed when all files of the last list are read.
        """
        read = frozenset(after)
        self._listed = [name for name in self._listed if name not in read]
        if not self._listed:
            self._listed = [name for name in self._names() if name not in read]
        return Available((*after, *self._listed[: self.files.per_batch])) if self._listed else None

    def _names(self) -> list[str]:
        folder = Path(self.files.folder)
        if not folder.is_dir():
            raise ElementError(f"source {self.source.name!r}: {self.files.folder} must be a folder of files")
        with os.scandir(folder) as entries:
            found = [
                (entry.stat().st_mtime_ns, entry.name)
                for entry in entries
                if entry.is_file() and not entry.name.startswith((".", "_"))
            ]
        return [name for _, name in sorted(found)]

    def read(self, after: Position, until: Position, bad: BadRecords | None) -> pl.LazyFrame | None:
        """Returns the rows of the files that are only in the second position."""
        names = cast("Sequence[str]", until[len(after) :])
        frames = [self._scan(Path(self.files.folder) / name, bad) for name in names]
        return pl.concat(frames, how="diagonal_relaxed") if len(frames) > 1 else frames[0]

    def has_ended(self, after: Position) -> bool:
        """A folder never ends."""
        del after
        return False

    def _scan(self, path: Path, bad: BadRecords | None) -> pl.LazyFrame:
        if not path.exists():
            raise CheckpointError(
                f"source {self.source.name!r}: the file {path} is part of a micro-batch, but is missing"
            )
        match self.files.format:
            case "parquet":
                frame = scan_parquet(self.source.name, path)
                try:
                    require_schema(self.source, frame.collect_schema())
                except SchemaMismatchError as error:
                    raise SchemaMismatchError(f"{path}: {error}") from None
                return frame
            case "csv":
                return read_text(self.source, path, "csv", bad)
            case "jsonl":
                return read_text(self.source, path, "json", bad)


def read_text(
    source: SourceNode, path: Path, kind: Literal["csv", "json"], bad: BadRecords | None
) -> pl.LazyFrame:
    """Reads a CSV file with a header, or JSON lines, whose fields have the types of the source's records.

    A text that has another type is a bad record, or an ``ElementError`` that names the file, row, column and value.
    """
    types = {name: arrow_type(shape) for name, shape in fields_in(source.shape)}
    durations = [name for name, type_ in types.items() if pa.types.is_duration(type_)]
    schema = pa.schema({**types, **dict.fromkeys(durations, pa.int64())})
    data = path.read_bytes()
    if bad is None:
        try:
            table = parse_text(data, kind, schema)
        except pa.ArrowException as error:
            described = describe_bad_cell(data, kind, schema) or error
            raise ElementError(f"source {source.name!r}: {path}: {described}") from error
    else:

        def reject(error: str, text: str) -> None:
            bad.found.append(bad_text(source, f"source {source.name!r}: {path}: {error}", text))

        table = parse_records(data, kind, schema, reject)
    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame), "a table is a frame"
    return frame.lazy().with_columns(pl.col(name).cast(pl.Duration("us")) for name in durations)


@define
class FrameReader:
    """Reads the frames of an iterator; a position is the number of frames read, and whether they have ended."""

    frames: Iterator[pl.DataFrame]
    _taken: int = 0
    _next: pl.DataFrame | None = None
    _ended: bool = False

    def available(self, after: Position) -> Available | None:
        """Returns the next frame, or the end."""
        if self.has_ended(after):
            return None
        count = count_of(after)
        if self._peek(count):
            return Available((count + 1, False))
        return Available((count, True), ended=True)

    def _peek(self, count: int) -> bool:
        """Whether there is a frame after ``count`` frames."""
        while self._taken < count:
            if next(self.frames, None) is None:
                raise CheckpointError(
                    f"the iterable of frames has fewer than the {count} that were read before"
                )
            self._taken += 1
        if self._next is None and not self._ended:
            self._next = next(self.frames, None)
            self._ended = self._next is None
        return self._next is not None

    def read(self, after: Position, until: Position, bad: BadRecords | None) -> pl.LazyFrame | None:
        """Returns the next frame."""
        del bad
        if count_of(until) == count_of(after) or not self._peek(count_of(after)):
            return None
        frame, self._next = self._next, None
        self._taken += 1
        assert frame is not None
        return frame.lazy()

    def has_ended(self, after: Position) -> bool:
        """Whether the iterator was exhausted."""
        return len(after) > 1 and bool(after[1])


def count_of(position: Position) -> int:
    """Returns the number in a position."""
    return cast("int", position[0]) if position else 0


_END: Final = object()


@define
class RecordReader:
    """Reads the records of an iterable in a thread; a position is the number of them, and whether they have ended."""

    source: SourceNode
    records: Records[object]
    _queue: Queue[object] = field(factory=lambda: Queue(maxsize=200_000))
    _waiting: list[object] = field(factory=list)
    _skipped: bool = False
    _ended: bool = False
    _error: BaseException | None = None
    _thread: Thread | None = None

    def available(self, after: Position) -> Available | None:
        """Returns the records that have arrived, or the end."""
        if self.has_ended(after):
            return None
        self._fill(after)
        count = count_of(after)
        if self._waiting:
            taken = min(len(self._waiting), self.records.per_batch)
            return Available((count + taken, False))
        return Available((count, True), ended=True) if self._ended else None

    def _fill(self, after: Position) -> None:
        """Takes the records that have arrived out of the queue."""
        if self._thread is None:
            iterator = islice(self.records.records, count_of(after), None)
            self._thread = Thread(target=self._pump, args=(iterator,), daemon=True)
            self._thread.start()
        while not self._ended and len(self._waiting) < self.records.per_batch:
            try:
                record = self._queue.get(timeout=0.01) if not self._waiting else self._queue.get_nowait()
            except Empty:
                return
            if record is _END:
                self._ended = True
                if self._error is not None:
                    raise self._error
                return
            self._waiting.append(record)

    def _pump(self, iterator: Iterator[object]) -> None:
        try:
            for record in iterator:
                self._queue.put(record)
        except BaseException as error:  # raised again where the records are read
            self._error = error
        self._queue.put(_END)

    def read(self, after: Position, until: Position, bad: BadRecords | None) -> pl.LazyFrame | None:
        """Returns the records between two positions; those that do not match the source may be bad records."""
        wanted = count_of(until) - count_of(after)
        while len(self._waiting) < wanted and not self._ended:
            self._fill(after)
        if len(self._waiting) < wanted:
            raise CheckpointError(
                f"source {self.source.name!r}: the iterable of records has fewer records than were read before"
            )
        taken, self._waiting = self._waiting[:wanted], self._waiting[wanted:]
        good = good_records(self.source, taken, None if bad is None else bad.found)
        return record_frame(self.source, list(good)).lazy() if good else None

    def has_ended(self, after: Position) -> bool:
        """Whether the iterable was exhausted."""
        return len(after) > 1 and bool(after[1])


def record_frame(source: SourceNode, records: list[object]) -> pl.DataFrame:
    """Returns records as a frame with the fields of their class, or ``value``.

    Raises ``ElementError`` for a record that does not match the source.
    """
    array = write_nested(source.shape, records, f"source {source.name!r}: element")
    column = series_of(array, polars_type(source.shape)).alias("value")
    return column.struct.unnest() if isinstance(source.shape, RecordOf) else column.to_frame()


__all__ = ["Reader", "count_of", "reader_of", "record_frame"]
