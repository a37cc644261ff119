"""The protocol of targets, implemented by SQLite and by a PostgreSQL server.

These tests detect a target that changes a value, that leaves part of a failed transaction, that admits two concurrent
writers of a table, or that does not quote names.
"""

from __future__ import annotations

import sqlite3
import threading
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Final, TypeAlias

import flowalg_reference as reference
import psycopg
import pytest
from flowalg_sinks import DuckDB, SinkBatch
from flowalg_sinks.cells import element_columns, to_cells
from flowalg_spark.sinks import (
    Cell,
    CellKind,
    Column,
    PostgreSQL,
    Row,
    SQLite,
    Table,
    Target,
    WrittenBatch,
    upsert,
)
from hypothesis import HealthCheck, given, settings

from flowalg import Accumulation
from flowalg.data.time import MAX_TIME, MIN_TIME
from flowalg.errors import ArgumentError, ElementError, SchemaMismatchError
from flowalg.runs import Output
from tests.sinks.test_sinks import (
    EVERYTHING,
    FIXED,
    RETRACTING,
    Outer,
    equal_with_nan,
    outers,
    sums_with_early_and_late_panes,
)
from tests.spark.test_final_values import timeline
from tests.support.cells import from_cells
from tests.support.programs import run_code
from tests.support.scores import SCORES
from tests.support.sink_cases import current_panes, rows_of, sort_rows

Database: TypeAlias = SQLite | DuckDB | PostgreSQL

EVERY_KIND: Final = Table(
    "kinds",
    tuple(Column(kind.name.lower(), kind, kind is not CellKind.INTEGER) for kind in CellKind),
    ("integer",),
)
NOON: Final = datetime(2024, 1, 1, 12, tzinfo=UTC)
VALUES: Final[dict[CellKind, list[Cell]]] = {
    CellKind.BOOLEAN: [True, False],
    CellKind.FLOAT: [0.1, float("nan"), float("inf"), float("-inf"), 5e-324, -1.7976931348623157e308, 3.0],
    CellKind.TEXT: ["", "NULL", "ü\n'\"%s", "\U0001f600"],
    CellKind.BINARY: [b"", b"\x00\xff"],
    CellKind.TIMESTAMP: [NOON, NOON.replace(microsecond=1), MIN_TIME.datetime, MAX_TIME.datetime],
    CellKind.DAY: [date(1, 1, 1), date(9999, 12, 31)],
    CellKind.DURATION: [timedelta(0), timedelta(days=-3, microseconds=1), timedelta(days=99_999, hours=23)],
    CellKind.DECIMAL: [Decimal("0"), Decimal("-12345678901234567890.123456789012345678"), Decimal("1.5")],
    CellKind.JSON: ['{"a": 1}', "[]", '"\\\\u0000"'],
}
"""Cells of each kind. The test adds ``None``, and the greatest and least integer."""


def schema_in(server: str, name: str) -> PostgreSQL:
    """A new schema in the server."""
    with psycopg.connect(server) as connection:
        connection.execute(f'DROP SCHEMA IF EXISTS "{name}" CASCADE'.encode())
        connection.execute(f'CREATE SCHEMA "{name}"'.encode())
    return PostgreSQL(f"{server} options='-c search_path={name}'")


@pytest.fixture(params=["sqlite", "duckdb", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Database:
    """An empty database of each kind."""
    if request.param == "sqlite":
        return SQLite(tmp_path / "panes.db")
    if request.param == "duckdb":
        return DuckDB(tmp_path / "panes.duckdb")
    return schema_in(request.getfixturevalue("server"), "panes")


def put(target: Target, table: Table, *rows: Row) -> None:
    """Writes rows in one transaction."""
    with target.transaction() as transaction:
        transaction.last_batch(table.name)
        transaction.prepare(table)
        transaction.put(table, rows)


def test_every_cell_is_read_back_unchanged(database: Database) -> None:
    """Cells of every kind are read back unchanged: nulls, NaN, infinities, bounds of time, special characters."""
    rows: list[Row] = [
        (None, 2**63 - 1, *[None] * (len(CellKind) - 2)),
        (None, -(2**63), *[None] * (len(CellKind) - 2)),
    ]
    for kind, cells in VALUES.items():
        for cell in cells:
            row: list[Cell] = [None] * len(CellKind)
            row[list(CellKind).index(CellKind.INTEGER)] = len(rows)
            row[list(CellKind).index(kind)] = cell
            rows.append(tuple(row))
    put(database, EVERY_KIND, *rows)
    assert repr(sort_rows(database.rows(EVERY_KIND))) == repr(sort_rows(rows))


STRANGE_NAMES: Final = Table(
    'a "table"; DROP TABLE %s -- ü',
    tuple(Column(name, CellKind.TEXT) for name in ("select", 'a "b"', "50%", "%s", "Ü ber", "?")),
    ("select", "%s"),
)


def test_any_name_is_quoted(database: Database) -> None:
    """Names of tables and columns may be keywords, and may contain quotes, percent signs and any letters."""
    row = tuple("abcdef")
    put(database, STRANGE_NAMES, row, ("x", "b", "c", "y", "e", "f"))
    put(database, STRANGE_NAMES, ("a", "B", "C", "d", "E", "F"))
    assert database.rows(STRANGE_NAMES) == [("a", "B", "C", "d", "E", "F"), ("x", "b", "c", "y", "e", "f")]
    with database.transaction() as transaction:
        transaction.prepare(STRANGE_NAMES)
        transaction.delete(STRANGE_NAMES, [("x", "y"), ("no", "such")])
    assert database.rows(STRANGE_NAMES) == [("a", "B", "C", "d", "E", "F")]


def texts_in(element: Outer) -> list[str]:
    """All texts in an element."""
    records = [element.inner, element.two[1], element.maybe_inner, *(item[-1] for item in element.deep)]
    return [
        element.text,
        *element.tags,
        *(record.b for record in records if record is not None and record.b is not None),
    ]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(element=outers)
def test_elements_of_every_shape_are_read_back_unchanged(database: Database, element: Outer) -> None:
    """Elements of every shape are read back unchanged; PostgreSQL rejects text with U+0000."""
    columns = element_columns(EVERYTHING)
    table = Table("elements", (Column("id", CellKind.INTEGER), *columns), ("id",))
    cells = to_cells(element, EVERYTHING)
    if isinstance(database, PostgreSQL) and "\0" in "".join(texts_in(element)):
        with pytest.raises(ElementError, match=r"must not contain the character U\+0000, which PostgreSQL"):
            put(database, table, (1, *cells))
        return
    put(database, table, (1, *cells))
    (row,) = database.rows(table)
    decoded = from_cells(row[1:], EVERYTHING)
    assert isinstance(decoded, Outer)
    assert equal_with_nan(decoded, element)


def test_a_failed_transaction_is_rolled_back(database: Database) -> None:
    """A failed transaction leaves no rows, no table, and no recorded batch."""
    table = Table("t", (Column("a", CellKind.INTEGER), Column("b", CellKind.TEXT)), ("a",))

    def fail() -> None:
        with database.transaction() as transaction:
            assert transaction.last_batch("t") is None
            transaction.prepare(table)
            transaction.put(table, [(1, "x")])
            transaction.record_batch("t", WrittenBatch("q", 0))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    with database.transaction() as transaction:
        assert transaction.last_batch("t") is None
    put(database, table, (2, "y"))
    assert database.rows(table) == [(2, "y")]


def test_the_last_batch_is_recorded_for_each_table(database: Database) -> None:
    """Recording a batch replaces the previous one of the same table only."""
    for table, batch in (
        ("t", WrittenBatch("q", 0)),
        ("u", WrittenBatch("r", 7)),
        ("t", WrittenBatch("q", 1)),
    ):
        with database.transaction() as transaction:
            transaction.last_batch(table)
            transaction.record_batch(table, batch)
    with database.transaction() as transaction:
        assert transaction.last_batch("t") == WrittenBatch("q", 1)
        assert transaction.last_batch("u") == WrittenBatch("r", 7)
        assert transaction.last_batch("v") is None


def test_a_second_writer_waits_for_the_first(database: Database) -> None:
    """Of two concurrent writers of the first batch of a table, the second one finds the batch recorded."""
    last_batches: list[WrittenBatch | None] = []
    inside = threading.Barrier(2)

    def write() -> None:
        inside.wait()
        with database.transaction() as transaction:
            last_batches.append(transaction.last_batch("t"))
            transaction.prepare(EVERY_KIND)
            transaction.record_batch("t", WrittenBatch("q", 0))

    writers = [threading.Thread(target=write) for _ in range(2)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(60)
    assert sort_rows((repr(last),) for last in last_batches) == sort_rows(
        [("None",), (repr(WrittenBatch("q", 0)),)]
    )


def test_a_table_with_other_columns_is_rejected(database: Database) -> None:
    """A table with other columns raises an error that lists every difference, and stays as it is."""
    table = Table(
        "t", (Column("a", CellKind.INTEGER), Column("b", CellKind.TEXT), Column("c", CellKind.FLOAT)), ("a",)
    )
    put(database, table, (1, "x", 0.5))
    columns = (
        Column("a", CellKind.INTEGER),
        Column("b", CellKind.TEXT, nullable=True),
        Column("d", CellKind.FLOAT),
    )
    other = Table("t", columns, ("a", "d"))
    with pytest.raises(SchemaMismatchError) as error:
        put(database, other, (1, "x", 0.5))
    types = {
        SQLite: ("REAL", "TEXT"),
        DuckDB: ("DOUBLE", "VARCHAR"),
        PostgreSQL: ("double precision", "text"),
    }
    real, text = types[type(database)]
    assert str(error.value).splitlines()[1:] == [
        f"  b must be {text}; got {text} NOT NULL",
        f"  d must be {real} NOT NULL, in the primary key; got no such column",
        f"  c must not exist; got {real} NOT NULL",
    ]
    assert database.rows(table) == [(1, "x", 0.5)]


@pytest.mark.long
def test_retracted_panes_are_deleted(database: Database) -> None:
    """With retracting sessions, and each batch written twice, the table contains the current panes."""
    deleted = 0
    for seed in range(2 if isinstance(database, DuckDB) else 4):  # it opens its file for each transaction
        run = reference.run(RETRACTING, {SCORES: timeline(seed)})
        sink = upsert(RETRACTING, database, table=f"t{seed}")
        for number, pane in enumerate(run.panes):
            for attempt in range(2):
                assert sink.write(SinkBatch(Output((pane,)), ()), WrittenBatch("q", number)) is (attempt == 0)
            deleted += len(sink.changes([pane])[0])
        assert sort_rows(database.rows(sink.table)) == rows_of(sink, current_panes(run.panes))
    assert deleted > 5


def test_more_rows_than_one_statement_takes_are_written(database: Database) -> None:
    """Rows that take several statements are all written and deleted, each once."""
    table = Table("t", (Column("a", CellKind.INTEGER), Column("b", CellKind.TEXT)), ("a",))
    rows: list[Row] = [(number, str(number)) for number in range(25_001)]
    put(database, table, *rows)
    assert database.rows(table) == rows
    with database.transaction() as transaction:
        transaction.delete(table, [(number,) for number in range(25_000)])
    assert database.rows(table) == [(25_000, "25000")]


def test_invalid_targets_are_rejected(tmp_path: Path) -> None:
    """A database in memory, a connection string of another type, and a target of another type are rejected."""
    with pytest.raises(
        ArgumentError,
        match=r"SQLite.path must be the path of a file; got ':memory:' .*does not outlive a transaction",
    ):
        SQLite(":memory:")
    with pytest.raises(
        ArgumentError, match=r"PostgreSQL.conninfo must be a connection string, such as .*; got 3 \(int\)"
    ):
        PostgreSQL(3)  # type: ignore[arg-type]  # a fault on purpose
    assert "secret" not in repr(PostgreSQL("password=secret"))
    pipeline = sums_with_early_and_late_panes(Accumulation.RETRACTING, FIXED)
    for target in (3, SQLite):
        with pytest.raises(
            ArgumentError,
            match=r"target must be a Target, such as SQLite\('panes.db'\) .*; got (3|the class SQLite)",
        ):
            upsert(pipeline, target, table="t")  # type: ignore[call-overload]  # a fault on purpose


def test_a_name_that_postgresql_would_truncate_is_rejected(server: str) -> None:
    """A name over 63 bytes is rejected, since two truncated names could be equal."""
    target = schema_in(server, "long")
    with pytest.raises(
        ArgumentError, match="the name of a table or column must be at most 63 bytes long, .*; got 'ü"
    ):
        put(target, Table("ü" * 32, (Column("a", CellKind.INTEGER),), ("a",)), (1,))


def test_a_missing_driver_is_reported_with_its_extra() -> None:
    """Without psycopg the package imports, and ``PostgreSQL`` raises an error with the extra to install."""
    code = (
        "import sys; sys.modules['psycopg'] = None\n"
        "import flowalg\n"
        "from flowalg_spark.sinks import PostgreSQL, SQLite\n"
        "SQLite('panes.db')\n"
        "try: PostgreSQL('dbname=panes')\n"
        "except flowalg.errors.MissingExtraError as error: print(error)"
    )
    printed = run_code(code)
    assert printed.strip().endswith("needs the package psycopg: pip install 'flowalg[postgresql]'")


def test_sqlite_texts_sort_as_their_timestamps(tmp_path: Path) -> None:
    """SQLite stores timestamps as ISO 8601 text that sorts as the timestamps do."""
    target = SQLite(tmp_path / "panes.db")
    table = Table("t", (Column("at", CellKind.TIMESTAMP),), ("at",))
    put(target, table, (NOON,), (NOON + timedelta(microseconds=1),))
    with sqlite3.connect(tmp_path / "panes.db") as connection:
        rows = connection.execute("SELECT at FROM t WHERE at > '2024-01-01T12:00:00.000000Z'").fetchall()
    assert rows == [("2024-01-01T12:00:00.000001Z",)]


def test_postgresql_stores_native_types(server: str) -> None:
    """PostgreSQL stores numbers, timestamps, durations and JSON in native types."""
    target = schema_in(server, "typed")
    put(
        target,
        EVERY_KIND,
        (True, 1, 1.5, "x", b"y", NOON, NOON.date(), timedelta(hours=1), Decimal("1.5"), '{"a": [1]}'),
    )
    with psycopg.connect(target.conninfo) as connection:
        row = connection.execute(
            'SELECT boolean, "float" + "decimal", "timestamp" + duration, json->\'a\'->0 FROM kinds'
        ).fetchone()
    assert row == (True, 3.0, NOON + timedelta(hours=1), 1)
