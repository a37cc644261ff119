"""DuckDB as a target of sinks: a database file for analytics."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from os import PathLike
from os.path import realpath
from threading import Lock
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final, cast

from attrs import field, frozen

from flowalg.data.errors import MissingExtraError
from flowalg.data.shapes import DECIMAL_PRECISION, DECIMAL_SCALE
from flowalg.data.values import canonical_decimal
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

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

LOCK_TIMEOUT: Final = timedelta(minutes=1)
"""The maximum time that a transaction waits for another process to close the file."""

_RETRY_SECONDS: Final = 0.05
_MICROSECOND: Final = timedelta(microseconds=1)
_NEW: Final = "flowalg_new_rows"

_TYPES: Final[dict[CellKind, str]] = {
    CellKind.BOOLEAN: "BOOLEAN",
    CellKind.INTEGER: "BIGINT",
    CellKind.FLOAT: "DOUBLE",
    CellKind.TEXT: "VARCHAR",
    CellKind.BINARY: "BLOB",
    CellKind.TIMESTAMP: "TIMESTAMP WITH TIME ZONE",
    CellKind.DAY: "DATE",
    CellKind.DURATION: "INTERVAL",
    CellKind.DECIMAL: f"DECIMAL({DECIMAL_PRECISION},{DECIMAL_SCALE})",
    CellKind.JSON: "JSON",
}

_COLUMNS: Final = """
SELECT column_name, data_type, is_nullable, column_name IN (
    SELECT unnest(constraint_column_names) FROM duckdb_constraints()
    WHERE table_name = $name AND constraint_type = 'PRIMARY KEY' AND database_name = current_database()
)
FROM duckdb_columns() WHERE table_name = $name AND database_name = current_database() ORDER BY column_index
"""


def _path(path: str | PathLike[str]) -> str:
    return file_path("DuckDB.path", path)


@frozen
class DuckDB:
    """A database file of DuckDB, which is created if it does not exist. Needs ``flowalg[duckdb]``.

    Only one process can have the file open, to write or to read, and it is open during a transaction. A transaction
    waits for up to a minute for another process to close it.
    """

    path: str = field(converter=_path)

    def __attrs_post_init__(self) -> None:
        driver()

    @contextmanager
    def transaction(self) -> Iterator[DuckDBTransaction]:
        """Returns a transaction that excludes all other writers of the file.

        Raises ``SinkError`` with the path if the file cannot be written, or is not a database.
        """
        with self._lock, self._naming_errors("written"), self._connected() as connection:
            connection.execute("BEGIN")
            try:
                yield DuckDBTransaction(connection, self.path)
            except BaseException:
                connection.execute("ROLLBACK")
                raise
            connection.execute("COMMIT")

    def rows(self, table: Table) -> list[Row]:
        """Returns all rows of a table, ordered by its primary key."""
        expressions = ", ".join(map(_read_expression, table.columns))
        statement = f"SELECT {expressions} FROM {quote(table.name)} ORDER BY {column_list(table.key_columns)}"
        with self._lock, self._naming_errors("read"), self._connected() as connection:
            columns = connection.sql(statement).to_arrow_table().to_pydict().values()
        decoded = (
            [None if cell is None else _read(column.kind, cell) for cell in cells]
            for column, cells in zip(table.columns, columns, strict=True)
        )
        return list(zip(*decoded, strict=True))

    @property
    def _lock(self) -> Lock:
        """The lock of the file in this process, in which transactions on one file do not wait for each other."""
        return _LOCKS.setdefault(realpath(self.path), Lock())

    @contextmanager
    def _naming_errors(self, action: str) -> Iterator[None]:
        try:
            yield
        except driver().Error as error:
            raise unusable(self.path, action, error) from error

    @contextmanager
    def _connected(self) -> Iterator[duckdb.DuckDBPyConnection]:
        module, deadline = driver(), time.monotonic() + LOCK_TIMEOUT.total_seconds()
        while True:
            try:
                connection: duckdb.DuckDBPyConnection = module.connect(self.path)
                break
            except module.IOException as error:
                if "lock" not in str(error) or time.monotonic() > deadline:
                    raise
                time.sleep(_RETRY_SECONDS)
        try:
            connection.execute("SET TimeZone = 'UTC'")
            yield connection
        finally:
            connection.close()


_LOCKS: Final[dict[str, Lock]] = {}


def driver() -> ModuleType:
    """Returns the module duckdb; raises ``MissingExtraError`` if it or PyArrow is not installed."""
    try:
        import duckdb
        import pyarrow  # noqa: F401  # by which rows are passed
    except ImportError as missing:
        raise MissingExtraError(
            "DuckDB needs the packages duckdb and pyarrow: pip install 'flowalg[duckdb]'"
        ) from missing
    return duckdb


@frozen
class DuckDBTransaction:
    """A transaction of a database file."""

    connection: duckdb.DuckDBPyConnection
    path: str

    def last_batch(self, table: str) -> WrittenBatch | None:
        """Returns the last batch of a table, as ``last_batch_in``. Other writers of the file wait already."""
        self.prepare(PROGRESS)
        rows = self.connection.execute(
            f"SELECT {column_list(PROGRESS.columns)} FROM {PROGRESS.name} WHERE lower(table_name) = lower($name)",
            {"name": table},
        ).fetchall()
        return last_batch_in(rows, table, "DuckDB")

    def record_batch(self, table: str, batch: WrittenBatch) -> None:
        """Records a batch as the last one of a table."""
        self.put(PROGRESS, [progress_row(table, batch)])

    def prepare(self, table: Table) -> bool:
        """Creates the table, or checks the existing one, and returns whether it was created."""
        return prepare_table(table, _TYPES, self._columns(table.name), self.path, self.connection.execute)

    def delete(self, table: Table, keys: Sequence[Row]) -> None:
        """Deletes the rows with some keys."""
        if keys:
            same = " AND ".join(
                f"old.{quote(column.name)} = new.{quote(column.name)}" for column in table.key_columns
            )
            self._with_rows(
                table.key_columns,
                keys,
                f"DELETE FROM {quote(table.name)} AS old USING {_NEW} AS new WHERE {same}",
            )

    def put(self, table: Table, rows: Sequence[Row]) -> None:
        """Inserts rows; each replaces the row with its key."""
        if rows:
            into = f"{quote(table.name)} ({column_list(table.columns)})"
            self._with_rows(
                table.columns, rows, f"INSERT INTO {into} SELECT * FROM {_NEW} {on_conflict_clause(table)}"
            )

    def _with_rows(self, columns: Sequence[Column], rows: Sequence[Row], statement: str) -> None:
        """Executes a statement that reads some rows under the name ``_NEW``."""
        self.connection.register(_NEW, _arrow_table(columns, rows))
        try:
            self.connection.execute(statement)
        finally:
            self.connection.unregister(_NEW)

    def _columns(self, table: str) -> dict[str, ExistingColumn]:
        rows = self.connection.execute(_COLUMNS, {"name": table}).fetchall()
        return {name: ExistingColumn(kind, nullable, bool(in_key)) for name, kind, nullable, in_key in rows}


def _arrow_table(columns: Sequence[Column], rows: Sequence[Row]) -> pa.Table:
    import pyarrow as pa

    types: dict[CellKind, pa.DataType] = {
        CellKind.BOOLEAN: pa.bool_(),
        CellKind.INTEGER: pa.int64(),
        CellKind.FLOAT: pa.float64(),
        CellKind.TEXT: pa.string(),
        CellKind.BINARY: pa.binary(),
        CellKind.TIMESTAMP: pa.timestamp("us", "UTC"),
        CellKind.DAY: pa.date32(),
        CellKind.DURATION: pa.duration("us"),
        CellKind.DECIMAL: pa.decimal128(DECIMAL_PRECISION, DECIMAL_SCALE),
        CellKind.JSON: pa.string(),
    }
    transposed: Sequence[Sequence[Any]] = list(zip(*rows, strict=True))
    arrays = [pa.array(cells, types[column.kind]) for column, cells in zip(columns, transposed, strict=True)]
    return pa.table(arrays, names=[column.name for column in columns])


def _read_expression(column: Column) -> str:
    """Returns the expression that reads a column: Arrow's intervals have nanoseconds, which long ones overflow."""
    name = quote(column.name)
    return f"epoch_us({name}) AS {name}" if column.kind is CellKind.DURATION else name


def _read(kind: CellKind, cell: object) -> Cell:
    match kind:
        case CellKind.TIMESTAMP:
            return cast("datetime", cell).astimezone(UTC)
        case CellKind.DURATION:
            return cast("int", cell) * _MICROSECOND
        case CellKind.DECIMAL:
            return canonical_decimal(cast("Decimal", cell), "a cell")
        case _:
            return cast("Cell", cell)
