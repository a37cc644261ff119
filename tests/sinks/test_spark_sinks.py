"""Sinks of streaming queries: the tables in SQLite and PostgreSQL have the panes and drops of the reference.

These tests detect faults that only a query shows: restarts, repeated batches, another checkpoint, drops among the
panes, and values that Spark changes.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
import stat
from collections import Counter
from collections.abc import Iterable
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Final

import pytest
from attrs import frozen
from flowalg_columns.json_text import encode_json
from flowalg_sinks.cells import element_columns, to_cells
from flowalg_sinks.drops import drop_table
from flowalg_sinks.pane_columns import pane_cells, window_cells
from flowalg_spark import batch, final_values, record_table
from flowalg_spark.changes.checkpoint_files import STARTS, fingerprint_of_offsets
from flowalg_spark.sinks import Cell, Changelog, Row, SQLite, Upsert, changelog, route, upsert
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from flowalg import KV, event_time
from flowalg.data.shapes import shape_of
from flowalg.data.values import sort_key
from flowalg.errors import ArgumentError
from flowalg.runs import Timing
from tests.sinks.test_targets import Database, schema_in
from tests.support.cells import from_cells
from tests.support.foreach_batch import VisitsQuery
from tests.support.sink_cases import current_panes, rows_of, without_key_text
from tests.support.visiting import PIPELINE, RUN, TIMELINE, VISITS, Summary


def test_the_run_covers_the_hard_cases() -> None:
    """The run has panes of every timing, retracted sessions, ``None`` as a key, NaN, and drops."""
    sink = upsert(PIPELINE, SQLite("panes.db"), table="t")
    deleted, _ = sink.changes(RUN.panes)
    assert len(deleted) > 3
    assert {pane.timing for pane in RUN.panes} == set(Timing)
    assert {pane.element.key for pane in current_panes(RUN.panes)} == {"a", "b", "", None}
    assert any(pane.element.value.seconds != pane.element.value.seconds for pane in current_panes(RUN.panes))
    assert len(RUN.dropped) > 1


@frozen
class DatabaseSinks:
    """A database with an upsert table and a changelog."""

    database: Database
    totals: Upsert
    log: Changelog

    @classmethod
    def of(cls, database: Database) -> DatabaseSinks:
        """Returns the sinks of a database, whose tables do not exist yet."""
        return cls(
            database,
            upsert(PIPELINE, database, table="totals"),
            changelog(PIPELINE, database, table="log"),
        )

    def content(self) -> dict[str, list[Row]]:
        """Returns the rows of all tables."""
        tables = (self.totals.table, self.log.table, drop_table("totals"), drop_table("log"))
        return {table.name: self.database.rows(table) for table in tables}


@frozen
class Stream:
    """A query from files to the tables of some databases."""

    query: VisitsQuery
    databases: tuple[DatabaseSinks, ...]

    @property
    def folder(self) -> Path:
        """The folder of the query."""
        return self.query.folder

    def run(self, checkpoint: str = "checkpoint") -> str:
        """Runs the query over all files; returns its id."""
        return self.query.run(self.write, checkpoint)

    def write(self, frame: DataFrame, number: int) -> None:
        """Writes one batch, computed once, to all tables."""
        cached = frame.persist()
        for database in self.databases:
            database.totals(cached, number)
            database.log(cached, number)
        cached.write.mode("overwrite").parquet(str(self.folder / "parquet" / f"batch={number}"))
        cached.unpersist()


@pytest.fixture(scope="module")
def written(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, server: str) -> Stream:
    """A stream that was stopped, restarted, and ran to its end."""
    folder = tmp_path_factory.mktemp("sinks")
    targets = (SQLite(folder / "panes.db"), schema_in(server, "stream"))
    stream = Stream(VisitsQuery(spark, folder), tuple(DatabaseSinks.of(target) for target in targets))
    stream.query.write_files(0, 4)
    query = stream.run()
    stream.query.write_files(4, None)
    assert stream.run() == query
    return stream


def test_the_upsert_table_has_the_current_panes(written: Stream) -> None:
    """After a restart, with retracting sessions, the table has the current panes in both databases."""
    for database in written.databases:
        rows = without_key_text(database.totals, database.content()["totals"])
        assert sorted(comparable(rows)) == sorted(
            comparable(rows_of(database.totals, current_panes(RUN.panes)))
        )


def test_the_upsert_table_equals_final_values(written: Stream) -> None:
    """The table equals ``final_values`` of the same batches in Parquet files."""
    files = written.query.spark.read.parquet(str(written.folder / "parquet"))
    micros = [F.unix_micros(F.col(name)) for name in ("window.start", "window.end", "event_time")]
    final = final_values(files).select("key", "value.count", "value.seconds", *micros).collect()
    expected = sorted(repr(tuple(row)) for row in final)
    for database in written.databases:
        names = [column.name for column in database.totals.table.columns]
        chosen = [
            names.index(name)
            for name in ("key", "value_count", "value_seconds", "window_start", "window_end", "event_time")
        ]
        rows = [[row[index] for index in chosen] for row in database.content()["totals"]]
        actual = [
            (*row[:3], *(int(event_time(cell)) for cell in row[3:] if isinstance(cell, datetime)))
            for row in rows
        ]
        assert sorted(map(repr, actual)) == expected


def test_the_changelog_has_all_panes_in_order(written: Stream) -> None:
    """The changelog has all panes in the order of the reference, retractions before their replacements."""
    for database in written.databases:
        rows = database.content()["log"]
        width = len(element_columns(SHAPE))
        assert comparable(row[2:] for row in rows) == comparable(
            (pane.change.value, *to_cells(pane.element, SHAPE), *window_cells(pane.window), *pane_cells(pane))
            for pane in RUN.panes
        )
        assert [row[:2] for row in rows] == sorted(row[:2] for row in rows)
        values = [from_cells(row[3 : 3 + width], SHAPE) for row in rows]
        assert list(map(sort_key, values)) == [sort_key(pane.element) for pane in RUN.panes]


def test_drops_are_written_to_their_own_table(written: Stream) -> None:
    """Next to each table, a table of drops counts every dropped element."""
    expected = Counter(
        (encode_json(drop.element.key, KEY), drop.reason.value, drop.window.start.datetime)
        for drop in RUN.dropped
        if isinstance(drop.element, KV)
    )
    for database in written.databases:
        content = database.content()
        for rows in (content["totals_drops"], content["log_drops"]):
            counts: Counter[object] = Counter()
            for row in rows:
                cells = dict(zip([column.name for column in drop_table("t").columns], row, strict=True))
                count = cells["count"]
                assert isinstance(count, int)
                counts[cells["dropped_key"], cells["reason"], cells["window_start"]] += count
            assert counts == expected


def test_a_repeated_batch_changes_nothing(written: Stream) -> None:
    """Spark repeats the last batch if it did not commit it; every table already has it and ignores it."""
    before = [database.content() for database in written.databases]
    written.query.delete_last_commit()
    commits = written.folder / "checkpoint" / "commits"
    committed = set(commits.iterdir())
    written.run()
    assert len(set(commits.iterdir()) - committed) == 2, "the batch and its checksum"
    assert repr([database.content() for database in written.databases]) == repr(before)


def test_another_checkpoint_is_rejected(written: Stream) -> None:
    """Batches of another checkpoint have the same ids and other content, so they raise an error."""
    before = [database.content() for database in written.databases]
    with pytest.raises(StreamingQueryException, match="a new checkpoint restarts the batch ids"):
        written.run("another-checkpoint")
    assert repr([database.content() for database in written.databases]) == repr(before)


def test_a_copied_checkpoint_is_rejected(written: Stream) -> None:
    """A copy of a checkpoint that plans its last batch again, with the same number, is rejected: it reads others."""
    before = [database.content() for database in written.databases]
    copy = written.folder / "copy"
    shutil.copytree(written.folder / "checkpoint", copy)
    last = max(
        (file for file in (copy / "offsets").iterdir() if file.name.isdigit()),
        key=lambda file: int(file.name),
    )
    for part in ("offsets", "commits"):
        for file in (copy / part / last.name, copy / part / f".{last.name}.crc"):
            file.unlink(missing_ok=True)
    with pytest.raises(
        StreamingQueryException, match=f"has batch {last.name} .* the checkpoint was copied or restored"
    ):
        written.run("copy")
    assert repr([database.content() for database in written.databases]) == repr(before)


@pytest.mark.thorough
def test_a_dropped_table_is_an_error(written: Stream) -> None:
    """A table that was dropped is not created again, and neither is its table of drops; the starts are counted."""
    starts = written.folder / "checkpoint" / STARTS
    (before,) = (int(file.name) for file in starts.iterdir() if file.name.isdigit())
    target = written.databases[0].database
    for number, table in enumerate(("totals", "log_drops"), 1):
        with closing(sqlite3.connect(target.path if isinstance(target, SQLite) else "")) as connection:
            connection.execute(f'ALTER TABLE "{table}" RENAME TO "kept"')
            written.query.delete_last_commit()
            with pytest.raises(
                StreamingQueryException, match=f"the table '{table}' must exist, since the table"
            ):
                written.run()
            connection.execute(f'ALTER TABLE "kept" RENAME TO "{table}"')
        assert [int(file.name) for file in starts.iterdir() if file.name.isdigit()] == [before + number]
    written.run()


def test_a_checkpoint_is_for_its_owner_alone(written: Stream) -> None:
    """Neither the group nor others can read a checkpoint of a local session, or any file in it."""
    checkpoint = written.folder / "checkpoint"
    modes = {stat.S_IMODE(path.stat().st_mode) & 0o077 for path in (checkpoint, *checkpoint.rglob("*"))}
    assert modes == {0}


def test_two_outputs_need_two_tables(tmp_path: Path) -> None:
    """Two sinks of one table are rejected before a query starts."""
    sinks: dict[str, Changelog | Upsert] = {
        "a": changelog(PIPELINE, SQLite(tmp_path / "panes.db"), table="t"),
        "b": upsert(PIPELINE, SQLite(str(tmp_path / "panes.db")), table="T"),
    }
    with pytest.raises(
        ArgumentError, match="distinct tables; .* the outputs 'a' and 'b' both write to this table"
    ):
        route(sinks)


def test_a_fingerprint_of_offsets_ignores_the_settings_of_spark() -> None:
    """Resharding changes the settings in a log of offsets, and not what the micro-batch reads."""
    text = 'v1\n{"batchTimestampMs":1,"conf":{"spark.sql.shuffle.partitions":"%s"}}\n{"logOffset":%s}'
    assert fingerprint_of_offsets(text % (2, 0)) == fingerprint_of_offsets(text % (4, 0))
    assert fingerprint_of_offsets(text % (2, 0)) != fingerprint_of_offsets(text % (2, 1))


def test_a_batch_frame_needs_a_query_name(spark: SparkSession, tmp_path: Path) -> None:
    """Outside of a streaming query, ``query`` is required; a batch is then written once, and only with its columns."""
    rows = spark.createDataFrame(record_table(VISITS, TIMELINE.elements))
    frame = batch.compile(PIPELINE, {VISITS: rows})
    target = SQLite(tmp_path / "panes.db")
    with pytest.raises(
        ArgumentError, match="query must be a name .*; got None .*: Spark has no id of the streaming query"
    ):
        upsert(PIPELINE, target, table="t")(frame, 0)
    sink = upsert(PIPELINE, target, table="t", query="manual")
    sink(frame, 0)
    sink(frame.with_drops(), 0)
    assert len(target.rows(sink.table)) == frame.count() > 5
    with pytest.raises(ArgumentError, match="must be a frame of the pipeline's output, with the columns key"):
        sink(frame.select("key", "value"), 1)


SHAPE: Final = shape_of(KV[str | None, Summary])
KEY: Final = shape_of(str | None)


def comparable(rows: Iterable[Row]) -> list[str]:
    """Returns texts of rows that compare NaN as equal to itself, and JSON by its content."""
    return [repr(tuple(map(_normalise_json, row))) for row in rows]


def _normalise_json(cell: Cell) -> object:
    is_json = isinstance(cell, str) and cell[:1] in ("[", "{")
    return json.dumps(json.loads(str(cell)), sort_keys=True) if is_json else cell
