"""SQLite as a target of sinks: a database file, by the standard library."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import lru_cache
from os import PathLike
from typing import Final, TypeAlias, cast

from attrs import field, frozen

from flowalg.data.errors import ArgumentError
from flowalg_sinks.databases.database_files import file_path, last_batch_in, unusable
from flowalg_sinks.databases.statements import (
    PROGRESS,
    ExistingColumn,
    column_list,
    on_conflict_clause,
    prepare_table,
    progress_row,
    quote,
)
from flowalg_sinks.databases.tables import Cell, CellKind, Column, Row, Table
from flowalg_sinks.databases.target import WrittenBatch

_MICROSECOND: Final = timedelta(microseconds=1)

Stored: TypeAlias = int | float | str | bytes | None
"""A value that SQLite can store."""

LOCK_TIMEOUT: Final = timedelta(minutes=1)
"""The maximum time that a transaction waits for another one to end."""

_TYPES: Final[dict[CellKind, str]] = {
    CellKind.BOOLEAN: "INTEGER",
    CellKind.INTEGER: "INTEGER",
    CellKind.FLOAT: "REAL",
    CellKind.TEXT: "TEXT",
    CellKind.BINARY: "BLOB",
    CellKind.TIMESTAMP: "TEXT",
    CellKind.DAY: "TEXT",
    CellKind.DURATION: "INTEGER",
    CellKind.DECIMAL: "TEXT",
    CellKind.JSON: "TEXT",
}


def _path(path: str | PathLike[str]) -> str:
    return file_path("SQLite.path", path)


@frozen
class SQLite:
    """A database file, which is created if it does not exist. Only one transaction writes to it at a time."""

    path: str = field(converter=_path)

    @contextmanager
    def transaction(self) -> Iterator[SQLiteTransaction]:
        """Returns a transaction that excludes all other writers of the file.

        Raises ``SinkError`` with the path if the file cannot be written, or is not a database.
        """
        with self._naming_errors("written"), closing(self._connect()) as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield SQLiteTransaction(connection, self.path)
            except BaseException:
                if connection.in_transaction:  # SQLite rolls back by itself when the disk is full
                    connection.execute("ROLLBACK")
                raise
            connection.execute("COMMIT")

    def rows(self, table: Table) -> list[Row]:
        """Returns all rows of a table, ordered by its primary key."""
        order = column_list(table.key_columns)
        with self._naming_errors("read"), closing(self._connect()) as connection:
            rows = connection.execute(
                f"SELECT {column_list(table.columns)} FROM {quote(table.name)} ORDER BY {order}"
            )
            decoders = [_DECODERS.get(column.kind, _read_unchanged) for column in table.columns]
            return [tuple(read(cell) for read, cell in zip(decoders, row, strict=True)) for row in rows]

    @contextmanager
    def _naming_errors(self, action: str) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise unusable(self.path, action, error) from error

    def _connect(self) -> sqlite3.Connection:
        # With isolation_level=None, Python does not begin transactions implicitly.
        return sqlite3.connect(self.path, timeout=LOCK_TIMEOUT.total_seconds(), isolation_level=None)


@frozen
class SQLiteTransaction:
    """A transaction of a database file."""

    connection: sqlite3.Connection
    path: str

    def last_batch(self, table: str) -> WrittenBatch | None:
        """Returns the last batch of a table, as ``last_batch_in``. Other writers of the file wait already."""
        self.prepare(PROGRESS)
        rows = self.connection.execute(
            f"SELECT {column_list(PROGRESS.columns)} FROM {PROGRESS.name} WHERE table_name = ? COLLATE NOCASE",
            (table,),
        ).fetchall()
        return last_batch_in(rows, table, "SQLite")

    def record_batch(self, table: str, batch: WrittenBatch) -> None:
        """Records a batch as the last one of a table."""
        self.put(PROGRESS, [progress_row(table, batch)])

    def prepare(self, table: Table) -> bool:
        """Creates the table, or checks the existing one, and returns whether it was created."""
        if table.name.casefold().startswith("sqlite_"):
            raise ArgumentError(
                "table", table.name, "a name that does not begin with sqlite_, as SQLite's own do"
            )
        return prepare_table(table, _TYPES, self._columns(table.name), self.path, self.connection.execute)

    def delete(self, table: Table, keys: Sequence[Row]) -> None:
        """Deletes the rows with some keys."""
        same = " AND ".join(f"{quote(column.name)} = ?" for column in table.key_columns)
        self.connection.executemany(
            f"DELETE FROM {quote(table.name)} WHERE {same}", _encode_rows(table.key_columns, keys)
        )

    def put(self, table: Table, rows: Sequence[Row]) -> None:
        """Inserts rows; each replaces the row with its key."""
        parameters = ", ".join("?" for _ in table.columns)
        into = f"{quote(table.name)} ({column_list(table.columns)})"
        self.connection.executemany(
            f"INSERT INTO {into} VALUES ({parameters}) {on_conflict_clause(table)}",
            _encode_rows(table.columns, rows),
        )

    def _columns(self, table: str) -> dict[str, ExistingColumn]:
        rows: list[tuple[str, str, int, int]] = self.connection.execute(
            'SELECT name, type, "notnull", pk FROM pragma_table_info(?)', (table,)
        ).fetchall()
        return {name: ExistingColumn(kind, not not_null, in_key > 0) for name, kind, not_null, in_key in rows}


def _encode_rows(columns: Sequence[Column], rows: Sequence[Row]) -> Iterator[tuple[Stored, ...]]:
    """Encodes rows as SQLite stores them, one column at a time."""
    if not rows:
        return iter(())
    transposed = zip(*rows, strict=True)
    encoded = (_encode_column(column.kind, cells) for column, cells in zip(columns, transposed, strict=True))
    return zip(*encoded, strict=True)


def _encode_column(kind: CellKind, cells: Sequence[Cell]) -> Sequence[Stored]:
    write = _ENCODERS.get(kind)
    if write is None:
        return cast("Sequence[Stored]", cells)
    return [None if cell is None else write(cell) for cell in cells]


@lru_cache(maxsize=10_000)
def _encode_timestamp(cell: Cell) -> str:
    """Encodes a timestamp as ISO 8601 text of fixed length, so texts sort as the timestamps do."""
    point = cast("datetime", cell).astimezone(UTC).replace(tzinfo=None)
    return f"{point.isoformat(timespec='microseconds')}Z"


def _encode_float(cell: Cell) -> Stored:
    # SQLite would store NaN as null.
    number = cast("float", cell)
    return number if number == number else "NaN"


_ENCODERS: Final[dict[CellKind, Callable[[Cell], Stored]]] = {
    CellKind.FLOAT: _encode_float,
    CellKind.TIMESTAMP: _encode_timestamp,
    CellKind.DAY: lambda cell: cast("date", cell).isoformat(),
    CellKind.DURATION: lambda cell: cast("timedelta", cell) // _MICROSECOND,
    CellKind.DECIMAL: lambda cell: format(cast("Decimal", cell), "f"),
}


def _read_unchanged(stored: Stored) -> Cell:
    return stored


def _null_or(read: Callable[[Stored], Cell]) -> Callable[[Stored], Cell]:
    return lambda stored: None if stored is None else read(stored)


_DECODERS: Final[dict[CellKind, Callable[[Stored], Cell]]] = {
    CellKind.BOOLEAN: _null_or(bool),
    CellKind.FLOAT: _null_or(lambda stored: float(cast("float", stored))),
    CellKind.TIMESTAMP: _null_or(lambda stored: datetime.fromisoformat(str(stored))),
    CellKind.DAY: _null_or(lambda stored: date.fromisoformat(str(stored))),
    CellKind.DURATION: _null_or(lambda stored: cast("int", stored) * _MICROSECOND),
    CellKind.DECIMAL: _null_or(lambda stored: Decimal(str(stored))),
}
