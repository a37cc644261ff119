"""SQLite, the embedded target: a file, by the standard library."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import lru_cache
from os import PathLike, fspath
from typing import Final, TypeAlias, cast

from attrs import field, frozen

from flowalg.data.errors import ArgumentError
from flowalg_sinks.statements import (
    PROGRESS,
    Found,
    create_table,
    in_place,
    names,
    quoted,
    require_columns,
)
from flowalg_sinks.tables import Cell, Column, Kind, Row, Table
from flowalg_sinks.target import Written

_MICROSECOND: Final = timedelta(microseconds=1)

Stored: TypeAlias = int | float | str | bytes | None
"""What SQLite can hold."""

PATIENCE: Final = timedelta(minutes=1)
"""How long a transaction waits for another one to end."""

_TYPES: Final[dict[Kind, str]] = {
    Kind.BOOLEAN: "INTEGER",
    Kind.INTEGER: "INTEGER",
    Kind.FLOAT: "REAL",
    Kind.TEXT: "TEXT",
    Kind.BINARY: "BLOB",
    Kind.TIMESTAMP: "TEXT",
    Kind.DAY: "TEXT",
    Kind.DURATION: "INTEGER",
    Kind.DECIMAL: "TEXT",
    Kind.JSON: "TEXT",
}


def _path(path: str | PathLike[str]) -> str:
    return fspath(path) if isinstance(path, PathLike) else path


@frozen
class SQLite:
    """A database file, which is made if it is not there. One transaction at a time writes to it."""

    path: str = field(converter=_path)

    def __attrs_post_init__(self) -> None:
        if not isinstance(self.path, str) or not self.path or self.path == ":memory:":
            raise ArgumentError("SQLite.path", self.path, "the path of a file, which outlives a transaction")

    @contextmanager
    def transaction(self) -> Iterator[SQLiteTransaction]:
        """A transaction, which is the only one that writes."""
        with closing(self._connected()) as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield SQLiteTransaction(connection, self.path)
            except BaseException:
                connection.execute("ROLLBACK")
                raise
            connection.execute("COMMIT")

    def rows(self, table: Table) -> list[Row]:
        """All rows of a table, in the order of its key."""
        order = names(table.key_columns)
        with closing(self._connected()) as connection:
            found = connection.execute(
                f"SELECT {names(table.columns)} FROM {quoted(table.name)} ORDER BY {order}"
            )
            readers = [_READERS.get(one.kind, _as_it_is) for one in table.columns]
            return [tuple(read(cell) for read, cell in zip(readers, row, strict=True)) for row in found]

    def _connected(self) -> sqlite3.Connection:
        # Without an isolation level Python begins no transactions of its own.
        return sqlite3.connect(self.path, timeout=PATIENCE.total_seconds(), isolation_level=None)


@frozen
class SQLiteTransaction:
    """A transaction of a database file."""

    connection: sqlite3.Connection
    path: str

    def last(self, table: str) -> Written | None:
        """Who has written to a table last. Other writers wait already: for the whole file."""
        if not self._columns(PROGRESS.name):
            self.connection.execute(create_table(PROGRESS, _TYPES))
        found: tuple[str, int] | None = self.connection.execute(
            f"SELECT query, batch FROM {PROGRESS.name} WHERE table_name = ?", (table,)
        ).fetchone()
        return None if found is None else Written(*found)

    def note(self, table: str, written: Written) -> None:
        """Say who writes to a table."""
        self.put(PROGRESS, [(table, written.query, written.batch)])

    def prepare(self, table: Table) -> None:
        """Make the table, or find it as it would be made."""
        found = self._columns(table.name)
        if found:
            require_columns(table, _TYPES, found, self.path)
        else:
            self.connection.execute(create_table(table, _TYPES))

    def delete(self, table: Table, keys: Sequence[Row]) -> None:
        """Take rows away."""
        same = " AND ".join(f"{quoted(one.name)} = ?" for one in table.key_columns)
        self.connection.executemany(
            f"DELETE FROM {quoted(table.name)} WHERE {same}", _stored(table.key_columns, keys)
        )

    def put(self, table: Table, rows: Sequence[Row]) -> None:
        """Write rows."""
        marks = ", ".join("?" for _ in table.columns)
        self.connection.executemany(
            f"INSERT INTO {quoted(table.name)} ({names(table.columns)}) VALUES ({marks}) {in_place(table)}",
            _stored(table.columns, rows),
        )

    def _columns(self, table: str) -> dict[str, Found]:
        found: list[tuple[str, str, int, int]] = self.connection.execute(
            'SELECT name, type, "notnull", pk FROM pragma_table_info(?)', (table,)
        ).fetchall()
        return {name: Found(kind, not not_null, in_key > 0) for name, kind, not_null, in_key in found}


def _stored(columns: Sequence[Column], rows: Sequence[Row]) -> Iterator[tuple[Stored, ...]]:
    """Rows as SQLite holds them, a column at a time."""
    if not rows:
        return iter(())
    turned = zip(*rows, strict=True)
    return zip(*(_column(one.kind, cells) for one, cells in zip(columns, turned, strict=True)), strict=True)


def _column(kind: Kind, cells: Sequence[Cell]) -> Sequence[Stored]:
    write = _WRITERS.get(kind)
    if write is None:
        return cast("Sequence[Stored]", cells)
    return [None if cell is None else write(cell) for cell in cells]


@lru_cache(maxsize=10_000)
def _point(cell: Cell) -> str:
    """A point in time as ISO 8601 text of one length, so that the order of points is that of their texts."""
    point = cast("datetime", cell).astimezone(UTC).replace(tzinfo=None)
    return f"{point.isoformat(timespec='microseconds')}Z"


def _number(cell: Cell) -> Stored:
    # SQLite would make NaN a null.
    number = cast("float", cell)
    return number if number == number else "NaN"


_WRITERS: Final[dict[Kind, Callable[[Cell], Stored]]] = {
    Kind.FLOAT: _number,
    Kind.TIMESTAMP: _point,
    Kind.DAY: lambda cell: cast("date", cell).isoformat(),
    Kind.DURATION: lambda cell: cast("timedelta", cell) // _MICROSECOND,
    Kind.DECIMAL: lambda cell: format(cast("Decimal", cell), "f"),
}


def _as_it_is(stored: Stored) -> Cell:
    return stored


def _unless_null(read: Callable[[Stored], Cell]) -> Callable[[Stored], Cell]:
    return lambda stored: None if stored is None else read(stored)


_READERS: Final[dict[Kind, Callable[[Stored], Cell]]] = {
    Kind.BOOLEAN: _unless_null(bool),
    Kind.FLOAT: _unless_null(lambda stored: float(cast("float", stored))),
    Kind.TIMESTAMP: _unless_null(lambda stored: datetime.fromisoformat(str(stored))),
    Kind.DAY: _unless_null(lambda stored: date.fromisoformat(str(stored))),
    Kind.DURATION: _unless_null(lambda stored: cast("int", stored) * _MICROSECOND),
    Kind.DECIMAL: _unless_null(lambda stored: Decimal(str(stored))),
}


__all__ = ["SQLite", "SQLiteTransaction"]
