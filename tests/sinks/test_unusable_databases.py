"""A database that cannot be used: an error of the sink that names it, and nothing is written.

The tests catch a raw error of ``sqlite3`` or ``psycopg``, and one that does not say which database it is of.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import flowalg_sinks
import polars as pl
import psycopg
import pytest
from attrs import asdict
from flowalg_polars import streaming
from flowalg_polars.streaming import Frames, StreamInput
from flowalg_sinks import PostgreSQL, SinkError, SQLite
from flowalg_sinks.databases.tables import CellKind, Column, Table
from psycopg.conninfo import make_conninfo

from flowalg import BoundedOutOfOrderness, FixedWindows, Sum
from flowalg.errors import ArgumentError
from tests.support.scores import NOON, SCORES, Score

MINUTE = timedelta(minutes=1)

TOTALS = (
    SCORES.key_by(lambda score: score.team)
    .map_values(lambda score: score.points)
    .window(FixedWindows(MINUTE), allowed_lateness=MINUTE)
    .combine_per_key(Sum())
)


def write(path: Path, count: int = 1, table: str = "totals") -> None:
    """Runs a query over some micro-batches, whose checkpoint has the name of the table."""
    frames = [pl.DataFrame([asdict(Score("red", number, NOON + number * MINUTE))]) for number in range(count)]
    inputs = {SCORES: StreamInput(Frames(frames), BoundedOutOfOrderness(MINUTE))}
    sink = flowalg_sinks.changelog(TOTALS, SQLite(path), table=table)
    streaming.run(TOTALS, inputs, sink=sink, checkpoint=path.parent / table)


def _garbage(path: Path) -> None:
    path.write_bytes(b"no database" * 100)


def _folder(path: Path) -> None:
    path.mkdir()


def _trigger(path: Path) -> None:
    write(path, table="other")
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(
            "CREATE TRIGGER no BEFORE INSERT ON flowalg_sinks BEGIN SELECT RAISE(ABORT, 'not now'); END"
        )


def _progress(path: Path) -> None:
    write(path, table="other")
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE flowalg_sinks SET table_name = 'totals', batch = 'x'")


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (_garbage, "panes.db cannot be written: file is not a database; nothing of this batch was written"),
        (_folder, "panes.db cannot be written: unable to open database file"),
        (_trigger, "panes.db cannot be written: not now"),
        (_progress, "'flowalg_sinks' is damaged: batch and generation must be integers; got 'x' and"),
    ],
)
def test_an_unusable_database_is_an_error_of_the_sink(
    tmp_path: Path, spoil: Callable[[Path], None], message: str
) -> None:
    """The error is a ``SinkError`` that names the database, or its table, and the reason."""
    path = tmp_path / "panes.db"
    spoil(path)
    with pytest.raises(SinkError, match=message):
        write(path, 3)


def test_names_that_sqlite_reserves_are_errors(tmp_path: Path) -> None:
    """A table of a reserved name, and a path or a name with U+0000, are errors before anything is written."""
    with pytest.raises(ArgumentError, match="table must be a name that does not begin with sqlite_"):
        write(tmp_path / "panes.db", table="sqlite_totals")
    with pytest.raises(ArgumentError, match=r"SQLite.path must be a path, such as"):
        SQLite("panes\0.db")
    with pytest.raises(
        ArgumentError, match=r"table must be the name of a table, without the character U\+0000"
    ):
        write(tmp_path / "panes.db", table="\0")


def create(target: PostgreSQL, between: Callable[[], None] = lambda: None) -> None:
    """Creates a table in one transaction, and calls a function between two of its statements."""
    with target.transaction() as transaction:
        transaction.last_batch("t")
        between()
        transaction.prepare(Table("t", (Column("a", CellKind.TEXT),), ("a",)))


@pytest.mark.parametrize(
    ("setting", "reason"),
    [
        ("dbname=nowhere", 'connection failed: .*FATAL: database "nowhere" does not exist'),
        ("options='-c search_path=nowhere'", "no schema has been selected to create in"),
        ("options='-c default_transaction_read_only=on'", ".*in a read-only transaction"),
        ("options='-c no.such'", "connection failed: .*"),
    ],
)
def test_an_unusable_server_is_an_error_of_the_sink(server: str, setting: str, reason: str) -> None:
    """The error is a ``SinkError`` of one line, which names the server and the reason, and no password."""
    target = PostgreSQL(make_conninfo(f"{server} {setting}", password="hunter2"))
    with pytest.raises(SinkError) as raised:
        create(target)
    pattern = (
        f"PostgreSQL with host=/.* cannot be written: {reason}; when the cause is removed, start the query"
    )
    assert re.match(pattern, str(raised.value))
    assert "\n" not in str(raised.value)
    assert "hunter2" not in f"{raised.value} {raised.value.__cause__}"


def test_a_server_that_ends_in_a_transaction_is_an_error_of_the_sink(server: str) -> None:
    """A connection that the server ends within a transaction is a ``SinkError``; so is a table that cannot be read."""
    target = PostgreSQL(server)

    def end() -> None:
        with psycopg.connect(server, autocommit=True) as other:
            other.execute("SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory'")

    message = "cannot be written: terminating connection due to administrator command"
    with pytest.raises(SinkError, match=message):
        create(target, end)
    with pytest.raises(SinkError, match='cannot be read: relation "nowhere" does not exist'):
        target.rows(Table("nowhere", (Column("a", CellKind.TEXT),), ("a",)))
