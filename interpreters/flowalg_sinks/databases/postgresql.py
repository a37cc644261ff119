"""PostgreSQL as a target of sinks, by psycopg."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING, Final, cast

from attrs import field, frozen

from flowalg.data.errors import ArgumentError, ElementError, format_value
from flowalg.data.time import duration_of
from flowalg_sinks.databases.connecting import connect, driver, reason_of, require_conninfo, server_name
from flowalg_sinks.databases.statements import (
    PROGRESS,
    ExistingColumn,
    column_list,
    on_conflict_clause,
    prepare_table,
    progress_row,
    quote,
    written_batch,
)
from flowalg_sinks.databases.tables import Cell, CellKind, Column, Row, Table
from flowalg_sinks.databases.target import SinkError, WrittenBatch

if TYPE_CHECKING:
    import psycopg

    Connection = psycopg.Connection[tuple[Cell, ...]]

MAX_NAME_BYTES: Final = 63
"""The number of bytes that PostgreSQL keeps of a name. It silently truncates longer names."""

CHUNK_ROWS: Final = 10_000
"""The number of rows in one statement."""

_TYPES: Final[dict[CellKind, str]] = {
    CellKind.BOOLEAN: "boolean",
    CellKind.INTEGER: "bigint",
    CellKind.FLOAT: "double precision",
    CellKind.TEXT: "text",
    CellKind.BINARY: "bytea",
    CellKind.TIMESTAMP: "timestamp with time zone",
    CellKind.DAY: "date",
    CellKind.DURATION: "interval",
    CellKind.DECIMAL: "numeric",
    CellKind.JSON: "jsonb",
}

_COLUMNS: Final = """
SELECT a.attname, format_type(a.atttypid, a.atttypmod), NOT a.attnotnull, coalesce(a.attnum = ANY(i.indkey), false)
FROM pg_attribute a LEFT JOIN pg_index i ON i.indrelid = a.attrelid AND i.indisprimary
WHERE a.attrelid = to_regclass(%s) AND a.attnum > 0 AND NOT a.attisdropped
ORDER BY a.attnum
"""


@frozen
class PostgreSQL:
    """A PostgreSQL database, by a connection string or URI of libpq. Tables are in the first schema of its search path.

    Tables that do not exist are created, for which the user needs the privilege. A transaction waits at most
    ``timeout`` for a connection, for the network to take its data, and for a transaction that writes the same table; a
    statement may take longer. Needs ``flowalg[postgresql]``.
    """

    # A connection string may contain a password.
    conninfo: str = field(repr=False)
    timeout: timedelta = field(default=timedelta(minutes=1), kw_only=True)

    def __attrs_post_init__(self) -> None:
        require_conninfo("PostgreSQL.conninfo", self.conninfo, "host=db.example.org dbname=panes")
        duration_of("PostgreSQL.timeout", self.timeout, allow_zero=False)

    @contextmanager
    def transaction(self) -> Iterator[PostgreSQLTransaction]:
        """Returns a transaction on a new connection.

        Raises ``SinkError`` with the server if it cannot be reached or refuses the transaction, or if another
        transaction holds a table for too long.
        """
        with self._naming_errors("written"), self._connect() as connection:
            yield PostgreSQLTransaction(connection)

    def rows(self, table: Table) -> list[Row]:
        """Returns all rows of a table, ordered by its primary key."""
        # JSON is read as text, in the format of PostgreSQL.
        expressions = ", ".join(
            f"{quote(column.name)}::text" if column.kind is CellKind.JSON else quote(column.name)
            for column in table.columns
        )
        statement = f"SELECT {expressions} FROM {quote(table.name)} ORDER BY {column_list(table.key_columns)}"
        with self._naming_errors("read"), self._connect() as connection:
            rows = connection.execute(statement.encode()).fetchall()
        return [tuple(map(_read, row)) for row in rows]

    @contextmanager
    def _naming_errors(self, action: str) -> Iterator[None]:
        psycopg = driver("PostgreSQL")
        try:
            yield
        except psycopg.errors.LockNotAvailable as locked:
            raise SinkError(
                f"another transaction has held a table of the sink for more than {self.timeout}; end it, or start the "
                "query again later: it continues from its checkpoint"
            ) from locked
        except psycopg.Error as error:
            message = f"{server_name(self.conninfo)} cannot be {action}: {reason_of(error)}"
            if action == "written":
                message += (
                    "; when the cause is removed, start the query again: it continues from its checkpoint, and writes "
                    "this batch once"
                )
            raise SinkError(message) from error

    def _connect(self) -> Connection:
        connection = connect(self.conninfo, self.timeout)
        connection.isolation_level = driver("PostgreSQL").IsolationLevel.READ_COMMITTED
        return cast("Connection", connection)


@frozen
class PostgreSQLTransaction:
    """A transaction of a PostgreSQL database."""

    connection: Connection

    def last_batch(self, table: str) -> WrittenBatch | None:
        """Returns the last batch of a table. Other writers of the table wait until the transaction ends."""
        # Advisory locks, since a row that does not exist cannot be locked: one to create the table of progress, and
        # one for each table.
        if not self._columns(PROGRESS.name):
            self._lock(PROGRESS.name)
        self.prepare(PROGRESS)
        self._lock(f"{PROGRESS.name}.{table}")
        columns = column_list(PROGRESS.columns[1:])
        statement = f"SELECT {columns} FROM {quote(PROGRESS.name)} WHERE table_name = %s"
        row = self.connection.execute(statement.encode(), (table,)).fetchone()
        return None if row is None else written_batch(row)

    def _lock(self, name: str) -> None:
        self.connection.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", (name,))

    def record_batch(self, table: str, batch: WrittenBatch) -> None:
        """Records a batch as the last one of a table."""
        self.put(PROGRESS, [progress_row(table, batch)])

    def prepare(self, table: Table) -> bool:
        """Creates the table, or checks the existing one, and returns whether it was created."""
        for name in (table.name, *(column.name for column in table.columns)):
            if len(name.encode()) > MAX_NAME_BYTES or "\0" in name:
                valid = f"at most {MAX_NAME_BYTES} bytes long, without NUL: PostgreSQL truncates longer names"
                raise ArgumentError("the name of a table or column", name, valid)

        def execute(statement: str) -> None:
            self.connection.execute(statement.encode())

        return prepare_table(table, _TYPES, self._columns(table.name), "PostgreSQL", execute)

    def delete(self, table: Table, keys: Sequence[Row]) -> None:
        """Deletes the rows with some keys."""
        same = " AND ".join(
            f"t.{quote(column.name)} = k.{quote(column.name)}" for column in table.key_columns
        )
        for values_table, values in _chunks(table.key_columns, keys):
            statement = f"DELETE FROM {quote(table.name)} AS t USING {values_table} WHERE {same}"
            self.connection.execute(_escape(statement), values)

    def put(self, table: Table, rows: Sequence[Row]) -> None:
        """Inserts rows; each replaces the row with its key."""
        for values_table, values in _chunks(table.columns, rows):
            into = f"{quote(table.name)} ({column_list(table.columns)})"
            statement = f"INSERT INTO {into} SELECT * FROM {values_table} {on_conflict_clause(table)}"
            self.connection.execute(_escape(statement), values)

    def _columns(self, table: str) -> dict[str, ExistingColumn]:
        rows = self.connection.execute(_COLUMNS, (quote(table),)).fetchall()
        return {
            str(name): ExistingColumn(str(kind), bool(nullable), bool(in_key))
            for name, kind, nullable, in_key in rows
        }


_NUL: Final = re.compile("\0")
_NUL_IN_JSON: Final = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")

_PLACEHOLDER: Final = "\0"
"""The placeholder of a parameter: a character that no name contains."""


def _escape(statement: str) -> bytes:
    """Converts placeholders to the ``%s`` of psycopg, and escapes percent signs in names."""
    return statement.replace("%", "%%").replace(_PLACEHOLDER, "%s").encode()


def _chunks(columns: Sequence[Column], rows: Sequence[Row]) -> Iterator[tuple[str, list[list[Cell]]]]:
    """Yields chunks of rows as ``unnest`` of arrays, with their values: one statement for thousands of rows."""
    arrays = ", ".join(f"{_PLACEHOLDER}::{_TYPES[column.kind]}[]" for column in columns)
    values_table = f"unnest({arrays}) AS k({column_list(columns)})"
    remaining = iter(rows)
    while chunk := list(islice(remaining, CHUNK_ROWS)):
        transposed = zip(*chunk, strict=True)
        yield values_table, [_array(column, cells) for column, cells in zip(columns, transposed, strict=True)]


def _array(column: Column, cells: Sequence[Cell]) -> list[Cell]:
    if column.kind in (CellKind.TEXT, CellKind.JSON):
        nul = _NUL if column.kind is CellKind.TEXT else _NUL_IN_JSON
        for cell in cells:
            if isinstance(cell, str) and nul.search(cell):
                raise ElementError(
                    f"the column {column.name} must not contain the character U+0000, which PostgreSQL cannot store; "
                    f"got {format_value(cell)}"
                )
    return list(cells)


def _read(cell: Cell) -> Cell:
    return cell.astimezone(UTC) if isinstance(cell, datetime) else cell
