"""Snapshots of a table: a file for each period, with the rows of the table, or without rows if none has changed."""

from __future__ import annotations

import logging
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from os import PathLike
from pathlib import Path
from tempfile import NamedTemporaryFile
from threading import Event, Thread
from typing import Final, Generic, TypeAlias, TypeVar

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from attrs import define, field, frozen
from flowalg_columns.tables import arrow_schema_of, record_table, records_in

from flowalg.data.errors import ArgumentError, ElementError, SchemaMismatchError, local_folder
from flowalg.data.time import EPOCH
from flowalg.pipeline.source import Source

R = TypeVar("R")

ReadRows: TypeAlias = Callable[[], Iterable[Mapping[str, object]]]
"""Returns the current rows of a table, each by the names of its columns."""

TICK: Final = "snapshot_tick"
"""The column that is true on the last row of a file, which is not a row of the table."""

WATERMARK: Final = "snapshot_watermark"
"""The column with the watermark of the table, on the last row of a file."""

_MARKS: Final = {TICK: pa.bool_(), WATERMARK: pa.timestamp("us", tz="UTC")}

_WITH_ROWS: Final = "flowalg.snapshot"
"""The entry in the metadata of a file with the name of the newest file that has rows."""

_LOG: Final = logging.getLogger("flowalg.snapshots")


def _path(folder: str | PathLike[str]) -> str:
    return local_folder("Snapshots.folder", folder)


@frozen
class Snapshots(Generic[R]):
    """Snapshots of a table as the records of a source, in a folder for them only.

    ``read`` returns the current rows of the table, such as ``postgresql_rows``. Time has windows of length ``every``;
    the snapshot at the end of a window is what the table has in that window, and ``time`` is the field of the record
    that receives the last microsecond of the window, which must be the source's event time. The other fields are
    columns of the rows; further columns are ignored. So with ``FixedWindows(every)`` and ``latest_complete``, an
    element reads the newest snapshot at or before its event time.

    A file has the rows of a snapshot, or none if the table is as in the last file with rows, and the watermark of the
    table. Several processes may take snapshots into one folder: each window has one file.

    Example::

        prices = Source("prices", Price, event_time=lambda price: price.at)
        rows = postgresql_rows("host=db.example.org dbname=shop", "SELECT item, cents FROM prices")
        snapshots = Snapshots(prices, "prices", rows, time="at", every=timedelta(minutes=1))
        with snapshots.follow():
            ...  # run a query whose input of prices has the files
    """

    source: Source[R]
    folder: str = field(converter=_path)
    read: ReadRows
    time: str = field(kw_only=True)
    every: timedelta = field(kw_only=True)

    def __attrs_post_init__(self) -> None:
        if not isinstance(self.every, timedelta) or self.every <= timedelta(0):
            raise ArgumentError("Snapshots.every", self.every, "a timedelta of more than 0")
        if not callable(self.read):
            valid = "a function without arguments that returns the rows of the table, such as postgresql_rows"
            raise ArgumentError("Snapshots.read", self.read, valid)
        schema = arrow_schema_of(self.source)
        times = [column.name for column in schema if pa.types.is_timestamp(column.type)]
        if self.time not in times:
            valid = f"a field of {self.source.name!r} that is a datetime: {', '.join(times) or 'it has none'}"
            raise ArgumentError("Snapshots.time", self.time, valid)
        clashes = sorted(_MARKS.keys() & set(schema.names))
        if clashes:
            raise ArgumentError(
                f"the fields of source {self.source.name!r}", clashes, "fields with other names"
            )

    @property
    def schema(self) -> pa.Schema:
        """The columns of the files: the fields of the source's records, ``TICK`` and ``WATERMARK``."""
        return pa.schema([*arrow_schema_of(self.source), *(pa.field(*mark) for mark in _MARKS.items())])

    def take(self, now: datetime | None = None) -> Path | None:
        """Takes the snapshot of the newest window that has ended, and returns its file; ``None`` if there is one.

        ``now`` is the present, unless a test wants another time.

        Raises ``ElementError`` if the table has no rows: a table that is emptied and filled again must not look empty,
        and a side input cannot lose all its values. Raises ``SchemaMismatchError`` for rows that lack a column or have
        other types than the records, and what ``read`` raises.
        """
        micros = ((now or datetime.now(UTC)) - EPOCH) // timedelta(microseconds=1)
        end = EPOCH + (self.every * (timedelta(microseconds=micros) // self.every))
        folder = Path(self.folder)
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{end:%Y-%m-%dT%H-%M-%S.%f}.parquet"
        newest = max(_files(folder), default=None)
        if newest is not None and newest.name >= path.name:
            return None
        table = self._rows(end - timedelta(microseconds=1))
        with_rows = None if newest is None else folder / _file_with_rows(newest)
        if with_rows is not None and with_rows.exists() and self._is_same(table, _read(with_rows)):
            table = table.slice(0, 0)
        else:
            with_rows = path
        control = pa.Table.from_pylist([{TICK: True, WATERMARK: end}], schema=self.schema)
        marked = pa.concat_tables([table, control], promote_options="default").select(self.schema.names)
        return _publish(marked.replace_schema_metadata({_WITH_ROWS: with_rows.name}), path, end)

    def table(self) -> pa.Table:
        """Returns the rows of all snapshots, in the order of time, as the input of a batch."""
        tables = [_read(path, self.schema) for path in sorted(_files(Path(self.folder)))]
        return pa.concat_tables([arrow_schema_of(self.source).empty_table(), *tables])

    @contextmanager
    def follow(self) -> Iterator[Following]:
        """Takes a snapshot now and at the end of each window, in a thread, until the ``with`` statement ends.

        A snapshot that fails is logged, and tried again in the next window. Until one succeeds, elements of later
        windows wait, since the watermark of the table stands still; none of them reads an old snapshot instead.
        """
        following, stopped = Following(), Event()

        def run() -> None:
            left = timedelta(0)
            while not stopped.wait(left.total_seconds()):
                following.error = self._try()
                left = self.every - (datetime.now(UTC) - EPOCH) % self.every

        thread = Thread(target=run, name=f"snapshots of {self.source.name}", daemon=True)
        thread.start()
        try:
            yield following
        finally:
            stopped.set()
            thread.join()

    def _try(self) -> Exception | None:
        """Takes a snapshot; returns and logs the error if it fails, since it may succeed in the next window."""
        try:
            self.take()
        except Exception as error:  # ``read`` may raise anything
            _LOG.warning("no snapshot of %s: %s", self.source.name, error)
            return error
        return None

    def _rows(self, time: datetime) -> pa.Table:
        """Returns the rows of the table as records with a time."""
        where = f"a snapshot of source {self.source.name!r}"
        rows = [{**row, self.time: time} for row in self.read()]
        if not rows:
            raise ElementError(f"{where}: the table has no rows; a side input cannot lose all its values")
        try:
            table = pa.Table.from_pylist(rows)
        except (pa.ArrowException, OverflowError) as error:
            raise SchemaMismatchError(f"{where}: {error}") from error
        records = records_in(self.source, table)
        if self.source.event_time_of(records[0], EPOCH) != time:
            valid = f"the field that is the event time of source {self.source.name!r}"
            raise ArgumentError("Snapshots.time", self.time, valid)
        return record_table(self.source, records)

    def _is_same(self, table: pa.Table, last: pa.Table) -> bool:
        """Returns whether two snapshots have the same rows, in any order."""
        if table.num_rows != last.num_rows:
            return False
        first, second = (
            Counter(map(repr, snapshot.drop_columns([self.time]).to_pylist())) for snapshot in (table, last)
        )
        return first == second


@define(eq=False)
class Following:
    """Snapshots that are taken in a thread. ``error`` is that of the last one, ``None`` if it succeeded."""

    error: Exception | None = None


def _files(folder: Path) -> Iterator[Path]:
    return folder.glob("[0-9]*.parquet")


def _file_with_rows(path: Path) -> str:
    """Returns the name of the newest file with rows at the time of a file, so that no other file is opened."""
    metadata = pq.read_schema(path).metadata
    return metadata[_WITH_ROWS.encode()].decode()


def _read(path: Path, schema: pa.Schema | None = None) -> pa.Table:
    """Returns the rows of a file."""
    table = pq.read_table(path, schema=schema)
    return table.filter(pc.is_null(table[TICK])).drop_columns(list(_MARKS)).replace_schema_metadata(None)


def _publish(table: pa.Table, path: Path, time: datetime) -> Path | None:
    """Writes a file that appears as a whole, unless another process has written it; engines order files by time."""
    with NamedTemporaryFile(dir=path.parent, prefix="_", suffix=".parquet") as file:
        pq.write_table(table, file)
        file.flush()
        os.utime(file.name, (time.timestamp(), time.timestamp()))
        try:
            os.link(file.name, path)
        except FileExistsError:
            return None
    return path
