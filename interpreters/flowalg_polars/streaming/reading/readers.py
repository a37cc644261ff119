"""Readers of stream data: what is available after a position, and the frame between two positions.

A position is a plain value that a checkpoint stores. A reader gives the same frame for the same two positions, also
after a restart.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable, Iterator, Sequence, Set, Sized
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from threading import Condition, Thread
from typing import ClassVar, Final, Protocol, cast

import polars as pl
from attrs import Factory, define, field
from flowalg_columns.layout import fields_in
from flowalg_columns.text.csv_files import BadFileError
from flowalg_columns.text.files import TextKind, read_file
from flowalg_columns.text.json_objects import Fields, sum_of_objects
from flowalg_columns.text.listing import data_files
from flowalg_kafka import KafkaInput

from flowalg.data.errors import (
    CheckpointError,
    ElementError,
    SchemaMismatchError,
)
from flowalg.pipeline.nodes import SourceNode
from flowalg.runs.bad_records import bad_text
from flowalg.runs.elements import good_records
from flowalg_polars.frames.foreign import ArrowStream, polars_frame
from flowalg_polars.lowering.binding import record_frame, require_schema, scan_parquet
from flowalg_polars.streaming.reading.bad_records import BadRecords
from flowalg_polars.streaming.reading.changed_files import ChangedFiles, stamp_of
from flowalg_polars.streaming.reading.inputs import ONE_OF_FRAMES, Files, Frames, Records, SourceData
from flowalg_polars.streaming.reading.positions import (
    FILES,
    FRAMES,
    RECORDS,
    Available,
    Position,
    ReadFile,
    SourceFolder,
    files_in,
)
from flowalg_polars.streaming.reading.topics import MessageReader


class Reader(Protocol):
    """Reads the data of a source."""

    kind: ClassVar[str]
    """What its positions count."""

    def available(self, after: Position) -> Available | None:
        """Returns what can be read after a position; ``None`` if there is nothing now, or nothing more."""
        ...

    def read(self, after: Position, until: Position, bad: BadRecords | None) -> pl.LazyFrame | None:
        """Returns the rows between two positions, ``None`` without rows; unreadable ones may be bad records."""
        ...

    def has_ended(self, after: Position) -> bool:
        """Returns whether nothing can follow a position."""
        ...

    def unread(self, after: Position) -> str | None:
        """Returns what follows the last position of an input that has ended, as far as it is known without waiting.

        Raises ``CheckpointError`` for an input that has less than was read.
        """
        ...

    def resume(self, read: Sequence[ReadFile], begun: Position | None) -> None:
        """Continues after a restart: ``read`` are the files that were read, ``begun`` a position to be read again."""
        ...

    def close(self) -> None:
        """Frees what the reader holds; it is not used afterwards."""
        ...


def reader_of(source: SourceNode, data: SourceData, columns: Fields = ()) -> Reader:
    """Returns the reader of a source's data; ``columns`` are those of files of text besides the fields of records."""
    match data:
        case Files():
            return FileReader(source, data, columns)
        case Frames(frames=frames):
            return FrameReader(source, frames)
        case Records():
            return RecordReader(source, data)
        case KafkaInput():
            return MessageReader.of(source, data)


@define
class FileReader:
    """Reads the files of a folder, in the order of their modification.

    A position is the number of files read, and those that the last micro-batch has read: all of them are in the
    checkpoint, and in memory, except for those that are forgotten.
    """

    source: SourceNode
    files: Files
    columns: Fields = ()
    kind: ClassVar[str] = FILES
    _read: set[str] = field(factory=set)
    _listed: deque[str] = field(factory=deque)
    _changes: ChangedFiles = field(
        default=Factory(lambda self: ChangedFiles(self.source.name, Path(self.files.folder)), takes_self=True)
    )

    def available(self, after: Position) -> Available | None:
        """Returns the next files that are not among those read.

        The folder is listed when all files of the last list are read.
        """
        while self._listed and self._listed[0] in self._read:
            self._listed.popleft()
        if not self._listed:
            self._listed.extend(self._names())
        folder = Path(self.files.folder)
        following = []
        with self._naming_errors():
            for name in islice(self._listed, self.files.per_batch):
                try:
                    following.append((name, stamp_of((folder / name).stat())))
                except FileNotFoundError:  # it was taken away before it was read
                    self._listed.clear()
                    return self.available(after)
        return Available((count_of(after) + len(following), *following)) if following else None

    def _names(self) -> list[str]:
        """Returns the names of the files that were not read."""
        folder = Path(self.files.folder)
        if not os.path.isdir(folder):
            raise ElementError(f"source {self.source.name!r}: {folder} must be a folder of files")
        with self._naming_errors():
            self._changes.look()
            timed_names: list[tuple[int, str]] = []
            for entry in data_files(self.source.name, self.files.folder, self._read):
                with suppress(FileNotFoundError):  # it was taken away, or renamed, since the listing
                    timed_names.append((entry.stat().st_mtime_ns, entry.name))
        return [name for _, name in sorted(timed_names)]

    def read(self, after: Position, until: Position, bad: BadRecords | None) -> pl.LazyFrame | None:
        """Returns the rows of the files of the second position."""
        del after
        files = files_in(until)
        with self._naming_errors():
            scanned = [self._scan(Path(self.files.folder) / name, bad) for name, _ in files]
        self._take(files)
        frames = [frame for frame in scanned if frame is not None]
        return concat_rows(frames) if frames else None

    @contextmanager
    def _naming_errors(self) -> Iterator[None]:
        """Raises ``ElementError`` with the source and the file instead of an error of the operating system."""
        try:
            yield
        except OSError as error:
            path = error.filename or self.files.folder
            raise ElementError(
                f"source {self.source.name!r}: {path} cannot be read: {error.strerror or error}"
            ) from error

    def unread(self, after: Position) -> str | None:
        """Returns the first file that was not read."""
        del after
        names = self._names()
        return f"the file {Path(self.files.folder) / names[0]}" if names else None

    def resume(self, read: Sequence[ReadFile], begun: Position | None) -> None:
        """Continues after the files that were read; raises ``CheckpointError`` if one to be read again has changed."""
        latest = dict(read)
        self._take(tuple(latest.items()))
        for name, stamp in () if begun is None else files_in(begun):
            path = Path(self.files.folder) / name
            current = stamp_of(path.stat()) if path.exists() else stamp
            if current != stamp and name not in self._read:
                raise CheckpointError(
                    f"source {self.source.name!r}: the file {path} has changed since a micro-batch began to read it, "
                    f"which is to be repeated with the same content: its time of modification (in nanoseconds) and "
                    f"size were {stamp}, and are {current}; put the file back as it was, with its time, or start the "
                    "query with a new checkpoint"
                )

    def _take(self, files: Sequence[ReadFile]) -> None:
        """Takes note of files that were read."""
        self._read.update(name for name, _ in files)
        self._changes.remember(file for file in files if file[1] is not None)

    @property
    def folder(self) -> SourceFolder:
        """The folder, and when its files are forgotten."""
        return SourceFolder(self._present, self.files.forget_after)

    def _present(self) -> Set[str] | None:
        """Returns the names in the folder, if it can be listed."""
        try:
            return set(os.listdir(self.files.folder))
        except OSError:
            return None

    def forget(self, names: Set[str]) -> None:
        """Forgets files that were taken out of the folder: a file with such a name is a new one."""
        self._read -= names
        self._changes.forget(names)

    def changed_files(self) -> tuple[str, ...]:
        """Returns the files that were found to have changed after they were read, since it was asked last."""
        return self._changes.take()

    def close(self) -> None:
        """Does nothing."""

    def has_ended(self, after: Position) -> bool:
        """A folder never ends."""
        del after
        return False

    def _scan(self, path: Path, bad: BadRecords | None) -> pl.LazyFrame | None:
        """Returns the rows of a file; ``None`` for an empty file, which has no records."""
        if not path.exists():
            raise CheckpointError(
                f"source {self.source.name!r}: the file {path} is part of a micro-batch, but is missing"
            )
        if not path.stat().st_size:
            return None
        match self.files.format:
            case "parquet":
                frame = scan_parquet(self.source.name, path)
                try:
                    require_schema(self.source, frame.collect_schema())
                except SchemaMismatchError as error:
                    raise SchemaMismatchError(f"{path}: {error}") from None
                return frame
            case "csv":
                return self._read_text(path, "csv", bad)
            case "jsonl":
                return self._read_text(path, "json", bad)

    def _read_text(self, path: Path, kind: TextKind, bad: BadRecords | None) -> pl.LazyFrame:
        """Reads a file of text; a text that is no record is a bad record, or an ``ElementError`` with its place."""
        source, where = self.source, f"source {self.source.name!r}: {path}"
        try:
            fields, whole = fields_in(source.shape), sum_of_objects(source.shape)
            file_rows = read_file(path.read_bytes(), kind, fields, self.columns, whole=whole)
        except BadFileError as error:
            raise ElementError(f"{where}: {error}") from error
        for line in file_rows.bad:
            if bad is None:
                raise ElementError(f"{where}: {line.error}")
            bad.records.append(bad_text(source, f"{where}: {line.error}", line.text))
        frame = pl.from_arrow(file_rows.rows)
        assert isinstance(frame, pl.DataFrame), "a table is a frame"
        return frame.lazy()


def concat_rows(frames: Sequence[pl.LazyFrame]) -> pl.LazyFrame:
    """Returns the rows of several frames with the columns that all of them have: what each frame has alone."""
    if len(frames) == 1:
        return frames[0]
    first, *others = (frame.collect_schema().names() for frame in frames)
    names = [name for name in first if all(name in other for other in others)]
    return pl.concat([frame.select(names) for frame in frames], how="vertical_relaxed")


@define
class FrameReader:
    """Reads the frames of an iterator; a position is the number of frames read, and whether they have ended."""

    source: SourceNode
    iterable: Iterable[ArrowStream]
    kind: ClassVar[str] = FRAMES
    frames: Iterator[ArrowStream] = field(default=Factory(lambda self: iter(self.iterable), takes_self=True))
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
        """Returns whether there is a frame after ``count`` frames."""
        self._skip(count)
        if self._next is None and not self._ended:
            taken = next(self.frames, None)
            self._ended = taken is None
            self._next = None if taken is None else polars_frame(ONE_OF_FRAMES, taken)
        return self._next is not None

    def _skip(self, count: int) -> None:
        """Takes the first ``count`` frames, if they were not taken yet."""
        while self._taken < count:
            if next(self.frames, None) is None:
                raise _fewer(self.source, FRAMES, self._taken, count)
            self._taken += 1

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
        """Returns whether the iterator was exhausted."""
        return len(after) > 1 and bool(after[1])

    def unread(self, after: Position) -> str | None:
        """Returns the number of frames that follow a position, if the iterable knows its length."""
        self._skip(count_of(after))
        more = len(self.iterable) - count_of(after) if isinstance(self.iterable, Sized) else 0
        return f"{more} more frames" if more > 0 else None

    def resume(self, read: Sequence[ReadFile], begun: Position | None) -> None:
        """Does nothing: frames are counted."""

    def close(self) -> None:
        """Does nothing."""


def _fewer(source: SourceNode, what: str, length: int, count: int) -> CheckpointError:
    """Returns the error of an iterable that does not have what was read before."""
    return CheckpointError(
        f"source {source.name!r}: the iterable of {what} has {length} of the {count} that were read before; give the "
        "source the input that the checkpoint was written with, or start the query with a new checkpoint"
    )


def count_of(position: Position) -> int:
    """Returns the number in a position."""
    return cast("int", position[0]) if position else 0


@define
class Pump:
    """Takes records from an iterator in a thread, at most so many as fit; it stops when the reader does."""

    iterator: Iterator[object]
    capacity: int
    _records: deque[object] = field(factory=deque)
    _changed: Condition = field(factory=Condition)
    _stopped: bool = False
    _ended: bool = False
    _error: BaseException | None = None

    def start(self) -> None:
        """Starts the thread."""
        Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        error: BaseException | None = None
        try:
            for record in self.iterator:
                with self._changed:
                    while len(self._records) >= self.capacity and not self._stopped:
                        self._changed.wait()
                    if self._stopped:
                        break
                    self._records.append(record)
                    self._changed.notify_all()
                del record
        except BaseException as raised:  # raised again where the records are read
            error = raised
        with self._changed:
            self._ended, self._error = True, error
            self._changed.notify_all()

    def take(self, most: int, seconds: float) -> list[object]:
        """Returns at most so many records that have arrived; waits so many seconds for the first one."""
        with self._changed:
            self._changed.wait_for(lambda: self._records or self._ended, seconds)
            taken = [self._records.popleft() for _ in range(min(most, len(self._records)))]
            self._changed.notify_all()
        return taken

    @property
    def has_ended(self) -> bool:
        """Whether all records were taken; raises the error of the iterator."""
        if self._records or not self._ended:
            return False
        if self._error is not None:
            raise self._error
        return True

    def stop(self) -> None:
        """Ends the thread at its next record, and forgets what was not taken."""
        with self._changed:
            self._stopped = True
            self._records.clear()
            self._changed.notify_all()


_CAPACITY: Final = 200_000
"""The greatest number of records that wait to be taken."""


@define
class RecordReader:
    """Reads the records of an iterable in a thread; a position is the number of them, and whether they have ended."""

    source: SourceNode
    records: Records[object]
    kind: ClassVar[str] = RECORDS
    _waiting: list[object] = field(factory=list)
    _pump: Pump | None = None

    def available(self, after: Position) -> Available | None:
        """Returns the records that have arrived, or the end."""
        if self.has_ended(after):
            return None
        pump = self._fill(after, self.records.per_batch)
        count = count_of(after)
        if self._waiting:
            taken = min(len(self._waiting), self.records.per_batch)
            return Available((count + taken, False))
        return Available((count, True), ended=True) if pump.has_ended else None

    def _fill(self, after: Position, most: int) -> Pump:
        """Takes the records that have arrived, until there are ``most``."""
        if self._pump is None:
            self._pump = Pump(self._records_after(count_of(after)), _CAPACITY)
            self._pump.start()
        missing = most - len(self._waiting)
        if missing > 0:
            self._waiting += self._pump.take(missing, 0.0 if self._waiting else 0.01)
        return self._pump

    def _records_after(self, count: int) -> Iterator[object]:
        """Yields the records after the first ``count``, which were read before."""
        records = iter(self.records.records)
        skipped = sum(1 for _ in islice(records, count))
        if skipped < count:
            raise _fewer(self.source, RECORDS, skipped, count)
        yield from records

    def read(self, after: Position, until: Position, bad: BadRecords | None) -> pl.LazyFrame | None:
        """Returns the records between two positions; those that do not match the source may be bad records."""
        wanted = count_of(until) - count_of(after)
        while len(self._waiting) < wanted and not self._fill(after, wanted).has_ended:
            pass
        if len(self._waiting) < wanted:
            raise _fewer(self.source, RECORDS, count_of(after) + len(self._waiting), count_of(until))
        taken, self._waiting = self._waiting[:wanted], self._waiting[wanted:]
        good = good_records(self.source, taken, None if bad is None else bad.records)
        return record_frame(self.source, list(good)).lazy() if good else None

    def has_ended(self, after: Position) -> bool:
        """Returns whether the iterable was exhausted."""
        return len(after) > 1 and bool(after[1])

    def unread(self, after: Position) -> str | None:
        """Returns the number of records that follow a position, if the iterable knows its length."""
        records, count = self.records.records, count_of(after)
        more = len(records) - count if isinstance(records, Sized) else 0
        if more < 0:
            raise _fewer(self.source, RECORDS, count + more, count)
        return f"{more} more records" if more > 0 else None

    def resume(self, read: Sequence[ReadFile], begun: Position | None) -> None:
        """Does nothing: records are counted."""

    def close(self) -> None:
        """Stops the thread, and forgets the records that were not read."""
        self._waiting = []
        if self._pump is not None:
            self._pump.stop()
            self._pump = None
