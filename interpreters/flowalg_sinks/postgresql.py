"""PostgreSQL, by psycopg."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import islice
from types import ModuleType
from typing import TYPE_CHECKING, Final

from attrs import field, frozen

from flowalg.data.errors import ArgumentError, ElementError, MissingExtraError, format_value
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

if TYPE_CHECKING:
    import psycopg

    Connection = psycopg.Connection[tuple[Cell, ...]]

LONGEST_NAME: Final = 63
"""How many bytes of a name PostgreSQL keeps; the rest it would leave out without a word."""

CHUNK: Final = 10_000
"""How many rows travel in one statement."""

_TYPES: Final[dict[Kind, str]] = {
    Kind.BOOLEAN: "boolean",
    Kind.INTEGER: "bigint",
    Kind.FLOAT: "double precision",
    Kind.TEXT: "text",
    Kind.BINARY: "bytea",
    Kind.TIMESTAMP: "timestamp with time zone",
    Kind.DAY: "date",
    Kind.DURATION: "interval",
    Kind.DECIMAL: "numeric",
    Kind.JSON: "jsonb",
}

_COLUMNS: Final = """
SELECT a.attname, format_type(a.atttypid, a.atttypmod), NOT a.attnotnull, coalesce(a.attnum = ANY(i.indkey), false)
FROM pg_attribute a LEFT JOIN pg_index i ON i.indrelid = a.attrelid AND i.indisprimary
WHERE a.attrelid = to_regclass(%s) AND a.attnum > 0 AND NOT a.attisdropped
ORDER BY a.attnum
"""


@frozen
class PostgreSQL:
    """A database, by a connection string or URI as libpq takes it; tables lie in the schema that is first in its path.

    The user must be allowed to make tables there, or find them made. Needs ``flowalg[postgresql]``.
    """

    # It may hold a password.
    conninfo: str = field(repr=False)

    def __attrs_post_init__(self) -> None:
        if not isinstance(self.conninfo, str):
            valid = "a connection string, such as 'host=db.example.org dbname=panes'"
            raise ArgumentError("PostgreSQL.conninfo", self.conninfo, valid)
        _driver()

    @contextmanager
    def transaction(self) -> Iterator[PostgreSQLTransaction]:
        """A transaction on a connection of its own."""
        with self._connected() as connection:
            yield PostgreSQLTransaction(connection)

    def rows(self, table: Table) -> list[Row]:
        """All rows of a table, in the order of its key."""
        # JSON comes as its text, in the form that PostgreSQL gives it.
        shown = ", ".join(
            f"{quoted(one.name)}::text" if one.kind is Kind.JSON else quoted(one.name)
            for one in table.columns
        )
        statement = f"SELECT {shown} FROM {quoted(table.name)} ORDER BY {names(table.key_columns)}"
        with self._connected() as connection:
            found = connection.execute(statement.encode()).fetchall()
        return [tuple(map(_read, row)) for row in found]

    def _connected(self) -> Connection:
        connection: Connection = _driver().connect(self.conninfo)
        connection.isolation_level = _driver().IsolationLevel.READ_COMMITTED
        connection.execute("SET TIME ZONE 'UTC'")
        return connection


def _driver() -> ModuleType:
    """The driver; raises ``MissingExtraError`` where it is not installed."""
    try:
        import psycopg
    except ImportError as missing:
        raise MissingExtraError(
            "the target PostgreSQL needs the package psycopg: install flowalg[postgresql]"
        ) from missing
    return psycopg


@frozen
class PostgreSQLTransaction:
    """A transaction of a database."""

    connection: Connection

    def last(self, table: str) -> Written | None:
        """Who has written to a table last. Whoever else asks for this table waits."""
        # One lock for making the table of all tables, and one for each of them: rows that are not there have none.
        if not self._columns(PROGRESS.name):
            self._lock(PROGRESS.name)
            if not self._columns(PROGRESS.name):
                self.connection.execute(create_table(PROGRESS, _TYPES).encode())
        self._lock(f"{PROGRESS.name}.{table}")
        statement = f"SELECT query, batch FROM {quoted(PROGRESS.name)} WHERE table_name = %s"
        found = self.connection.execute(statement.encode(), (table,)).fetchone()
        return None if found is None else Written(str(found[0]), int(str(found[1])))

    def _lock(self, name: str) -> None:
        self.connection.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", (name,))

    def note(self, table: str, written: Written) -> None:
        """Say who writes to a table."""
        self.put(PROGRESS, [(table, written.query, written.batch)])

    def prepare(self, table: Table) -> None:
        """Make the table, or find it as it would be made."""
        for name in (table.name, *(one.name for one in table.columns)):
            if len(name.encode()) > LONGEST_NAME or "\0" in name:
                valid = f"at most {LONGEST_NAME} bytes long, which is all that PostgreSQL keeps of it"
                raise ArgumentError("the name of a table or column", name, valid)
        found = self._columns(table.name)
        if found:
            require_columns(table, _TYPES, found, "PostgreSQL")
        else:
            self.connection.execute(create_table(table, _TYPES).encode())

    def delete(self, table: Table, keys: Sequence[Row]) -> None:
        """Take rows away."""
        same = " AND ".join(f"t.{quoted(one.name)} = k.{quoted(one.name)}" for one in table.key_columns)
        for given, values in _chunks(table.key_columns, keys):
            statement = f"DELETE FROM {quoted(table.name)} AS t USING {given} WHERE {same}"
            self.connection.execute(_escaped(statement), values)

    def put(self, table: Table, rows: Sequence[Row]) -> None:
        """Write rows."""
        for given, values in _chunks(table.columns, rows):
            into = f"{quoted(table.name)} ({names(table.columns)})"
            statement = f"INSERT INTO {into} SELECT * FROM {given} {in_place(table)}"
            self.connection.execute(_escaped(statement), values)

    def _columns(self, table: str) -> dict[str, Found]:
        found = self.connection.execute(_COLUMNS, (quoted(table),)).fetchall()
        return {
            str(name): Found(str(kind), bool(nullable), bool(in_key))
            for name, kind, nullable, in_key in found
        }


_NUL: Final = re.compile("\0")
_NUL_IN_JSON: Final = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")

_MARK: Final = "\0"
"""Stands for a parameter: a character that is in no name."""


def _escaped(statement: str) -> bytes:
    """A statement with parameters, as psycopg takes it: a percent sign in a name is none of them."""
    return statement.replace("%", "%%").replace(_MARK, "%s").encode()


def _chunks(columns: Sequence[Column], rows: Sequence[Row]) -> Iterator[tuple[str, list[list[Cell]]]]:
    """Rows as a table of arrays, some at a time: one statement for thousands of rows, and one plan."""
    arrays = ", ".join(f"{_MARK}::{_TYPES[one.kind]}[]" for one in columns)
    given = f"unnest({arrays}) AS k({names(columns)})"
    left = iter(rows)
    while some := list(islice(left, CHUNK)):
        turned = zip(*some, strict=True)
        yield given, [_array(one, cells) for one, cells in zip(columns, turned, strict=True)]


def _array(column: Column, cells: Sequence[Cell]) -> list[Cell]:
    if column.kind in (Kind.TEXT, Kind.JSON):
        nul = _NUL if column.kind is Kind.TEXT else _NUL_IN_JSON
        for cell in cells:
            if isinstance(cell, str) and nul.search(cell):
                raise ElementError(
                    f"the column {column.name} is {format_value(cell)}; PostgreSQL has no text with the "
                    "character U+0000"
                )
    return list(cells)


def _read(cell: Cell) -> Cell:
    return cell.astimezone(UTC) if isinstance(cell, datetime) else cell


__all__ = ["PostgreSQL", "PostgreSQLTransaction"]
