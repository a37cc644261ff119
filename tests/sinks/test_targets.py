"""What every target must do, of SQLite and of a real PostgreSQL: the six methods of the protocol.

This family catches a target that loses a value on the way, that leaves half a transaction behind, that lets two writers
in at once, and names that SQL takes for something else.
"""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import threading
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Final, TypeAlias

import flowalg_reference as reference
import psycopg
import pytest
from flowalg_spark.sinks import Cell, Column, Kind, PostgreSQL, Row, SQLite, Table, Target, Written, upsert
from flowalg_spark.sinks.batches import SinkBatch
from flowalg_spark.sinks.cells import element_columns, from_cells, to_cells
from hypothesis import HealthCheck, given, settings

from flowalg import Accumulation, ArgumentError, ElementError, SchemaMismatchError
from flowalg.data.time import MAX_TIME, MIN_TIME
from tests.sinks.test_sinks import EVERYTHING, FIXED, RETRACTING, Outer, alike, outers, refined
from tests.spark.test_final_values import timeline
from tests.support.scores import SCORES
from tests.support.sink_cases import in_order, rows_of, standing

Database: TypeAlias = SQLite | PostgreSQL

KINDS: Final = Table(
    "kinds", tuple(Column(kind.name.lower(), kind, kind is not Kind.INTEGER) for kind in Kind), ("integer",)
)
ONE: Final = datetime(2024, 1, 1, 12, tzinfo=UTC)
VALUES: Final[dict[Kind, list[Cell]]] = {
    Kind.BOOLEAN: [True, False],
    Kind.FLOAT: [0.1, float("nan"), float("inf"), float("-inf"), 5e-324, -1.7976931348623157e308, 3.0],
    Kind.TEXT: ["", "NULL", "ü\n'\"%s", "\U0001f600"],
    Kind.BINARY: [b"", b"\x00\xff"],
    Kind.TIMESTAMP: [ONE, ONE.replace(microsecond=1), MIN_TIME.datetime, MAX_TIME.datetime],
    Kind.DAY: [date(1, 1, 1), date(9999, 12, 31)],
    Kind.DURATION: [timedelta(0), timedelta(days=-3, microseconds=1), timedelta(days=99_999, hours=23)],
    Kind.DECIMAL: [Decimal("0"), Decimal("-12345678901234567890.123456789012345678"), Decimal("1.5")],
    Kind.JSON: ['{"a": 1}', "[]", '"\\\\u0000"'],
}
"""Some cells of each kind, and beside them ``None``, and the greatest and least integer."""


def schema_in(server: str, name: str) -> PostgreSQL:
    """A place in the server where no other test has been."""
    with psycopg.connect(server) as connection:
        connection.execute(f'DROP SCHEMA IF EXISTS "{name}" CASCADE'.encode())
        connection.execute(f'CREATE SCHEMA "{name}"'.encode())
    return PostgreSQL(f"{server} options='-c search_path={name}'")


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Database:
    """An empty database of each kind."""
    if request.param == "sqlite":
        return SQLite(tmp_path / "panes.db")
    return schema_in(request.getfixturevalue("server"), "here")


def put(target: Target, table: Table, *rows: Row) -> None:
    """Write some rows."""
    with target.transaction() as transaction:
        transaction.last(table.name)
        transaction.prepare(table)
        transaction.put(table, rows)


def test_every_cell_comes_back(database: Database) -> None:
    """Of every kind: nulls, NaN and infinities, the ends of time, and what SQL would read as something else."""
    rows: list[Row] = [
        (None, 2**63 - 1, *[None] * (len(Kind) - 2)),
        (None, -(2**63), *[None] * (len(Kind) - 2)),
    ]
    for kind, cells in VALUES.items():
        for cell in cells:
            row: list[Cell] = [None] * len(Kind)
            row[list(Kind).index(Kind.INTEGER)] = len(rows)
            row[list(Kind).index(kind)] = cell
            rows.append(tuple(row))
    put(database, KINDS, *rows)
    assert repr(in_order(database.rows(KINDS))) == repr(in_order(rows))


NAMES: Final = Table(
    'a "table"; DROP TABLE %s -- ü',
    tuple(Column(name, Kind.TEXT) for name in ("select", 'a "b"', "50%", "%s", "Ü ber", "?")),
    ("select", "%s"),
)


def test_any_name_is_a_name(database: Database) -> None:
    """Of tables and of columns: words of SQL, quotes, percent signs, and letters of any kind."""
    row = tuple("abcdef")
    put(database, NAMES, row, ("x", "b", "c", "y", "e", "f"))
    put(database, NAMES, ("a", "B", "C", "d", "E", "F"))
    assert database.rows(NAMES) == [("a", "B", "C", "d", "E", "F"), ("x", "b", "c", "y", "e", "f")]
    with database.transaction() as transaction:
        transaction.prepare(NAMES)
        transaction.delete(NAMES, [("x", "y"), ("no", "such")])
    assert database.rows(NAMES) == [("a", "B", "C", "d", "E", "F")]


def texts_in(element: Outer) -> list[str]:
    """All texts of an element."""
    inner = [element.inner, element.two[1], element.maybe_inner, *(one[-1] for one in element.deep)]
    return [element.text, *element.some, *(one.b for one in inner if one is not None and one.b is not None)]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(element=outers)
def test_elements_of_every_shape_come_back(database: Database, element: Outer) -> None:
    """As the values that they were; text with a character that PostgreSQL has no room for is refused."""
    columns = element_columns(EVERYTHING)
    table = Table("elements", (Column("id", Kind.INTEGER), *columns), ("id",))
    cells = to_cells(element, EVERYTHING)
    if isinstance(database, PostgreSQL) and "\0" in "".join(texts_in(element)):
        with pytest.raises(ElementError, match=r"PostgreSQL has no text with the character U\+0000"):
            put(database, table, (1, *cells))
        return
    put(database, table, (1, *cells))
    (row,) = database.rows(table)
    found = from_cells(row[1:], EVERYTHING)
    assert isinstance(found, Outer)
    assert alike(found, element)


def test_a_transaction_that_fails_leaves_nothing(database: Database) -> None:
    """Neither rows, nor tables, nor who wrote them."""
    table = Table("t", (Column("a", Kind.INTEGER), Column("b", Kind.TEXT)), ("a",))

    def fail() -> None:
        with database.transaction() as transaction:
            assert transaction.last("t") is None
            transaction.prepare(table)
            transaction.put(table, [(1, "x")])
            transaction.note("t", Written("q", 0))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    with database.transaction() as transaction:
        assert transaction.last("t") is None
    put(database, table, (2, "y"))
    assert database.rows(table) == [(2, "y")]


def test_who_wrote_is_kept_for_each_table(database: Database) -> None:
    """In place of what was said before."""
    for table, written in (("t", Written("q", 0)), ("u", Written("r", 7)), ("t", Written("q", 1))):
        with database.transaction() as transaction:
            transaction.last(table)
            transaction.note(table, written)
    with database.transaction() as transaction:
        assert transaction.last("t") == Written("q", 1)
        assert transaction.last("u") == Written("r", 7)
        assert transaction.last("v") is None


def test_a_second_writer_waits_for_the_first(database: Database) -> None:
    """Also for a table that nothing was said of yet: of two that write batch 0, one finds it written."""
    found: list[Written | None] = []
    inside = threading.Barrier(2)

    def write() -> None:
        inside.wait()
        with database.transaction() as transaction:
            found.append(transaction.last("t"))
            transaction.prepare(KINDS)
            transaction.note("t", Written("q", 0))

    writers = [threading.Thread(target=write) for _ in range(2)]
    for one in writers:
        one.start()
    for one in writers:
        one.join()
    assert in_order((repr(one),) for one in found) == in_order([("None",), (repr(Written("q", 0)),)])


def test_a_table_with_other_columns_is_an_error(database: Database) -> None:
    """Which lists every difference, and leaves the table as it is."""
    table = Table("t", (Column("a", Kind.INTEGER), Column("b", Kind.TEXT), Column("c", Kind.FLOAT)), ("a",))
    put(database, table, (1, "x", 0.5))
    columns = (Column("a", Kind.INTEGER), Column("b", Kind.TEXT, nullable=True), Column("d", Kind.FLOAT))
    other = Table("t", columns, ("a", "d"))
    with pytest.raises(SchemaMismatchError) as error:
        put(database, other, (1, "x", 0.5))
    real, text = ("REAL", "TEXT") if isinstance(database, SQLite) else ("double precision", "text")
    assert str(error.value).splitlines()[1:] == [
        f"  b: {text} NOT NULL; it must be {text}",
        f"  d: missing; it must be {real} NOT NULL, of the primary key",
        f"  c: {real} NOT NULL; the sink has no such column",
    ]
    assert database.rows(table) == [(1, "x", 0.5)]


def test_panes_that_are_taken_back_are_deleted(database: Database) -> None:
    """A run of sessions that retract, batch by batch, each of them twice: the table is what stands."""
    deleted = 0
    for seed in range(4):
        run = reference.run(RETRACTING, {SCORES: timeline(seed)})
        sink = upsert(RETRACTING, database, table=f"t{seed}")
        for number, pane in enumerate(run.panes):
            for time in range(2):
                assert sink.write(SinkBatch((pane,), ()), Written("q", number)) is (time == 0)
            deleted += len(sink.changes([pane])[0])
        assert in_order(database.rows(sink.table)) == rows_of(sink, standing(run.panes))
    assert deleted > 5


def test_many_rows_are_more_than_one_statement(database: Database) -> None:
    """None of them is left out, and none comes twice."""
    table = Table("t", (Column("a", Kind.INTEGER), Column("b", Kind.TEXT)), ("a",))
    rows: list[Row] = [(number, str(number)) for number in range(25_001)]
    put(database, table, *rows)
    assert database.rows(table) == rows
    with database.transaction() as transaction:
        transaction.delete(table, [(number,) for number in range(25_000)])
    assert database.rows(table) == [(25_000, "25000")]


def test_what_no_target_can_be_is_refused(tmp_path: Path) -> None:
    """A database that forgets, a string that is none, and a name that PostgreSQL would shorten."""
    with pytest.raises(
        ArgumentError,
        match=r"SQLite.path must be the path of a file, which outlives a transaction; got ':memory:' .*",
    ):
        SQLite(":memory:")
    with pytest.raises(
        ArgumentError, match=r"PostgreSQL.conninfo must be a connection string, such as .*; got 3 \(int\)"
    ):
        PostgreSQL(3)  # type: ignore[arg-type]  # a fault on purpose
    assert "secret" not in repr(PostgreSQL("password=secret"))
    sums = refined(Accumulation.RETRACTING, FIXED)
    for target in (3, SQLite):
        with pytest.raises(
            ArgumentError,
            match=r"target must be a Target, such as SQLite\('panes.db'\) .*; got (3|the class SQLite)",
        ):
            upsert(sums, target, table="t")  # type: ignore[arg-type]  # a fault on purpose


def test_a_name_that_postgresql_would_shorten_is_refused(server: str) -> None:
    """Two long names could otherwise be one."""
    target = schema_in(server, "long")
    with pytest.raises(
        ArgumentError, match="the name of a table or column must be at most 63 bytes long, .*; got 'ü"
    ):
        put(target, Table("ü" * 32, (Column("a", Kind.INTEGER),), ("a",)), (1,))


def test_a_missing_driver_says_which_extra_has_it() -> None:
    """The package is imported without it; a target of PostgreSQL is what needs it."""
    code = (
        "import sys; sys.modules['psycopg'] = None\n"
        "import flowalg\n"
        "from flowalg_spark.sinks import PostgreSQL, SQLite\n"
        "SQLite('panes.db')\n"
        "try: PostgreSQL('dbname=panes')\n"
        "except flowalg.MissingExtraError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip().endswith("needs the package psycopg: install flowalg[postgresql]")


def test_sqlite_keeps_times_as_text_in_their_order(tmp_path: Path) -> None:
    """So that a comparison of texts is one of times, and any tool can read them."""
    target = SQLite(tmp_path / "panes.db")
    table = Table("t", (Column("at", Kind.TIMESTAMP),), ("at",))
    put(target, table, (ONE,), (ONE + timedelta(microseconds=1),))
    with sqlite3.connect(tmp_path / "panes.db") as connection:
        found = connection.execute("SELECT at FROM t WHERE at > '2024-01-01T12:00:00.000000Z'").fetchall()
    assert found == [("2024-01-01T12:00:00.000001Z",)]


def test_postgresql_keeps_what_it_has_types_for(server: str) -> None:
    """Numbers, times and JSON are such to SQL."""
    target = schema_in(server, "typed")
    put(
        target,
        KINDS,
        (True, 1, 1.5, "x", b"y", ONE, ONE.date(), timedelta(hours=1), Decimal("1.5"), '{"a": [1]}'),
    )
    with psycopg.connect(target.conninfo) as connection:
        found = connection.execute(
            'SELECT boolean, "float" + "decimal", "timestamp" + duration, json->\'a\'->0 FROM kinds'
        ).fetchone()
    assert found == (True, 3.0, ONE + timedelta(hours=1), 1)
