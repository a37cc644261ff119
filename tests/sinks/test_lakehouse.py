"""Sinks to Delta and Iceberg: the tables are those of the reference, and foreign or changed tables are rejected.

They need a Spark session with the jars of the formats, and are skipped in others: ``make lakehouse-check`` runs them,
in environments with the versions of Spark for which there are jars.
"""

from __future__ import annotations

import json
import shutil
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path
from typing import Final
from uuid import uuid4

import pytest
from flowalg_columns.json_text import encode_json
from flowalg_sinks.databases.target import SinkError, WrittenBatch
from flowalg_spark import batch, record_table
from flowalg_spark.sinks import (
    Delta,
    Iceberg,
    Lakehouse,
    LakehouseChangelog,
    LakehouseUpsert,
    changelog,
    lakehouse_sinks,
    upsert,
)
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from flowalg import KV, Pane
from flowalg.data.shapes import shape_of
from flowalg.errors import ArgumentError, SchemaMismatchError, UnsupportedError
from tests.support.foreach_batch import VisitsQuery
from tests.support.sink_cases import current_panes
from tests.support.visiting import PIPELINE, RUN, TIMELINE, VISITS, Summary

KEY: Final = shape_of(str | None)


@pytest.fixture(params=["delta", "iceberg"])
def lakehouse(request: pytest.FixtureRequest, spark: SparkSession, tmp_path: Path) -> Lakehouse:
    """An empty place of tables; skipped if the session lacks the format."""
    target: Lakehouse = (
        Delta(tmp_path / "a {lake}") if request.param == "delta" else Iceberg(f"lake.s{uuid4().hex}")
    )
    try:
        target.require(spark)
    except UnsupportedError as missing:
        pytest.skip(str(missing))
    return target


def table(spark: SparkSession, lakehouse: Lakehouse, name: str) -> DataFrame:
    """Returns a table as it is now."""
    return spark.table(lakehouse.identifier(name))


def expected_row(pane: Pane[KV[str | None, Summary]]) -> tuple[object, ...]:
    """Returns the cells of a pane's row that Spark must store, as texts and numbers."""
    value = pane.element.value
    before = value.before and (value.before.page, int(value.before.at.timestamp()))
    return (
        pane.element.key,
        value.count,
        repr(value.seconds),
        f"{value.exact:.2f}",
        int(value.lasted.total_seconds() * 10**6),
        tuple(sorted(value.pages)),
        value.last.page,
        before,
        int(pane.window.start.datetime.timestamp()),
        int(pane.window.end.datetime.timestamp()),
        pane.timing.value,
        pane.index,
        pane.is_first,
        pane.is_last,
    )


def stored_rows(frame: DataFrame) -> list[tuple[object, ...]]:
    """Returns the same cells of stored rows."""
    names = ("value_exact", "value_lasted", "value_pages", "value_last_page")
    rows = frame.select(
        *("key", "value_count", "value_seconds", *names),
        F.struct("value_before.page", F.unix_seconds("value_before.at")).alias("before"),
        *(F.unix_seconds(name) for name in ("window_start", "window_end")),
        *("pane_timing", "pane_index", "pane_is_first", "pane_is_last"),
    ).collect()
    return [
        (
            *row[:2],
            *(repr(row[2]), f"{row[3]:.2f}", row[4], tuple(row[5]), row[6]),
            tuple(row[7]) if row[7][0] else None,
            *row[8:],
        )
        for row in rows
    ]


def sorted_rows(rows: list[tuple[object, ...]]) -> list[str]:
    """Returns rows as sorted texts, in which NaN equals itself."""
    return sorted(map(repr, rows))


class Stream:
    """A query from files to the tables of a lakehouse."""

    def __init__(self, spark: SparkSession, folder: Path, lakehouse: Lakehouse) -> None:
        self.query = VisitsQuery(spark, folder)
        self.totals: LakehouseUpsert = upsert(PIPELINE, lakehouse, table="totals")
        self.log: LakehouseChangelog = changelog(PIPELINE, lakehouse, table="log")

    def run(self, checkpoint: str = "checkpoint") -> None:
        """Runs the query over all files."""
        self.query.run(self.write, checkpoint)

    def write(self, frame: DataFrame, number: int) -> None:
        """Writes one batch, computed once, to both tables."""
        kept = frame.persist()
        self.totals(kept, number)
        self.log(kept.filter(F.col("drop").isNull()).drop("drop"), number)
        kept.unpersist()


def contents(spark: SparkSession, lakehouse: Lakehouse) -> list[list[str]]:
    """Returns the rows of all tables."""
    names = ("totals", "log", "totals_drops")
    return [sorted(map(repr, table(spark, lakehouse, name).collect())) for name in names]


def test_a_stream_writes_the_tables_of_the_reference_once(
    spark: SparkSession, tmp_path: Path, lakehouse: Lakehouse
) -> None:
    """After a restart and a repeated batch, the tables have the current panes, all panes and all drops."""
    stream = Stream(spark, tmp_path, lakehouse)
    stream.query.write_files(0, 4)
    stream.run()
    stream.query.write_files(4, None)
    stream.run()
    current = [expected_row(pane) for pane in current_panes(RUN.panes)]
    assert sorted_rows(stored_rows(table(spark, lakehouse, "totals"))) == sorted_rows(current)
    log = table(spark, lakehouse, "log").orderBy("batch", "position")
    assert sorted_rows(stored_rows(log)) == sorted_rows([expected_row(pane) for pane in RUN.panes])
    changes = [row.change for row in log.select("change").collect()]
    assert Counter(changes) == Counter(pane.change.value for pane in RUN.panes)
    key_and_window = log.select("key", "window_start", "window_end", "pane_index", "change").collect()
    values: set[tuple[object, ...]] = set()
    for *key, change in key_and_window:
        assert change == "value" or tuple(key) in values, "a value comes before its retraction"
        values.add(tuple(key))
    drops = Counter(
        (encode_json(drop.element.key, KEY), drop.reason.value, int(drop.window.start.datetime.timestamp()))
        for drop in RUN.dropped
        if isinstance(drop.element, KV)
    )
    stored = table(spark, lakehouse, "totals_drops").withColumn("start", F.unix_seconds("window_start"))
    counts: Counter[object] = Counter()
    for key, reason, start, count in stored.select("dropped_key", "reason", "start", "count").collect():
        counts[key, reason, start] += count
    assert counts == drops
    before = contents(spark, lakehouse)
    stream.query.delete_last_commit()
    stream.run()
    assert contents(spark, lakehouse) == before
    with pytest.raises(StreamingQueryException, match="a new checkpoint restarts the batch ids"):
        stream.run("another-checkpoint")
    assert contents(spark, lakehouse) == before


@pytest.fixture
def frame(spark: SparkSession) -> DataFrame:
    """The panes of a batch."""
    rows = spark.createDataFrame(record_table(VISITS, TIMELINE.elements))
    return batch.compile(PIPELINE, {VISITS: rows})


def test_a_batch_is_one_version_that_can_be_read_later(
    spark: SparkSession, lakehouse: Lakehouse, frame: DataFrame
) -> None:
    """Each batch is one version of the table, also without rows, and an earlier version keeps what it said."""
    sink = upsert(PIPELINE, lakehouse, table="totals", query="manual")
    sink(frame, 0)
    sink(frame.limit(0), 1)
    sink(frame.limit(0), 1)
    count = table(spark, lakehouse, "totals").count()
    assert count == frame.count() > 5
    retracted = frame.withColumn("change", F.lit("retraction"))
    sink(retracted, 2)
    assert table(spark, lakehouse, "totals").count() == 0
    name = lakehouse.identifier("totals")
    if isinstance(lakehouse, Delta):
        history = spark.sql(f"DESCRIBE HISTORY {name}").orderBy("version").collect()
        versions = {json.loads(row.userMetadata)["flowalg"]["batch"]: row.version for row in history[1:]}
    else:
        snapshots = spark.sql(f"SELECT snapshot_id, summary['flowalg.batch'] FROM {name}.snapshots")
        versions = {int(number): version for version, number in snapshots.collect()}
    assert set(versions) == {0, 1, 2}
    assert spark.sql(f"SELECT * FROM {name} VERSION AS OF {versions[1]}").count() == count


def test_a_batch_that_does_not_follow_the_last_one_is_rejected(
    lakehouse: Lakehouse, frame: DataFrame
) -> None:
    """A gap, an older batch and another query raise an error that names the batch."""
    sink = changelog(PIPELINE, lakehouse, table="log", query="manual")
    with pytest.raises(SinkError, match="the first batch of the new table 'log' must be 0; got batch 3"):
        sink(frame, 3)
    sink(frame, 0)
    sink(frame, 1)
    with pytest.raises(SinkError, match="must be 2 of streaming query manual; got batch 4"):
        sink(frame, 4)
    with pytest.raises(SinkError, match="the checkpoint is older than the table"):
        sink(frame, 0)
    with pytest.raises(SinkError, match="got batch 2 of streaming query other: a new checkpoint"):
        changelog(PIPELINE, lakehouse, table="log", query="other")(frame, 2)


def test_a_batch_is_known_by_its_input_and_its_start(
    spark: SparkSession, lakehouse: Lakehouse, frame: DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A repeated batch with another input, one after another history, and one of an older start are rejected."""
    sink, other = (changelog(PIPELINE, lakehouse, table="log") for _ in range(2))

    def write(
        number: int, start: int, read: str, after: str | None = None, by: LakehouseChangelog = sink
    ) -> None:
        identity = (WrittenBatch("manual", number, start, read), after)
        monkeypatch.setattr(lakehouse_sinks, "identify", lambda *_: identity)
        by(frame, number)

    write(0, 1, "a")
    write(0, 2, "a")
    with pytest.raises(SinkError, match="has read a; got batch 0 of the same query, which has read b"):
        write(0, 2, "b")
    with pytest.raises(SinkError, match="got batch 1 .* which follows a batch 0 that has read b"):
        write(1, 2, "c", after="b")
    write(1, 2, "c", after="a")
    with pytest.raises(SinkError, match="written by start 2 of the query; got batch 1 of its start 1"):
        write(1, 1, "c", after="a")
    with pytest.raises(SinkError, match="by another sink of the same query in the same run"):
        write(1, 2, "c", after="a", by=other)
    if isinstance(lakehouse, Delta):
        spark.sql(f"OPTIMIZE {lakehouse.identifier('log')}")
        with pytest.raises(SinkError, match="has read c; got batch 1 of the same query, which has read d"):
            write(1, 3, "d", after="a")
    assert table(spark, lakehouse, "log").count() == 2 * frame.count()


def test_a_dropped_table_of_drops_is_an_error(spark: SparkSession, lakehouse: Lakehouse) -> None:
    """A table of drops that was dropped is not created again without its rows."""
    sink = changelog(PIPELINE, lakehouse, table="log", query="manual")
    rows = spark.createDataFrame(record_table(VISITS, TIMELINE.elements))
    with_drops = batch.compile(PIPELINE, {VISITS: rows}).with_drops()
    sink(with_drops, 0)
    if isinstance(lakehouse, Delta):
        shutil.rmtree(Path(str(lakehouse.path)) / "log_drops")
    else:
        spark.sql(f"DROP TABLE {lakehouse.identifier('log_drops')}")
    with pytest.raises(
        SinkError, match="the table 'log_drops' must exist, since the table 'log' has batch 0"
    ):
        sink(with_drops, 1)


@pytest.mark.parametrize("lakehouse", ["iceberg"], indirect=True)
def test_expired_snapshots_are_an_error_only_if_they_had_the_last_batch(
    spark: SparkSession, lakehouse: Lakehouse, frame: DataFrame
) -> None:
    """A sink goes on after old snapshots have expired, and after a compaction, but not if both left no batch."""
    sink = changelog(PIPELINE, lakehouse, table="log", query="manual")
    name = lakehouse.identifier("log").replace("`", "").removeprefix("lake.")

    def expire() -> None:
        when = "older_than => TIMESTAMP '2100-01-01 00:00:00', retain_last => 1"
        spark.sql(f"CALL lake.system.expire_snapshots(table => '{name}', {when})")

    for number in range(3):
        sink(frame, number)
    expire()
    sink(frame, 2)
    assert table(spark, lakehouse, "log").count() == 3 * frame.count()
    sink(frame, 3)
    spark.sql(
        f"CALL lake.system.rewrite_data_files(table => '{name}', options => map('rewrite-all', 'true'))"
    )
    sink(frame, 3)
    expire()
    with pytest.raises(SinkError, match="must have the number of its last batch; they have expired"):
        sink(frame, 3)
    assert table(spark, lakehouse, "log").count() == 4 * frame.count()


def test_a_table_that_no_sink_has_created_is_rejected(
    spark: SparkSession, lakehouse: Lakehouse, frame: DataFrame
) -> None:
    """A table of somebody else is not written, even if it has the same columns."""
    upsert(PIPELINE, lakehouse, table="mine", query="manual")(frame, 0)
    other = table(spark, lakehouse, "mine").writeTo(lakehouse.identifier("theirs"))
    other.using("delta" if isinstance(lakehouse, Delta) else "iceberg").create()
    with pytest.raises(
        SinkError, match="theirs must be one that a sink has created; it has no property 'flowalg.query'"
    ):
        upsert(PIPELINE, lakehouse, table="theirs", query="manual")(frame, 0)


def test_a_changed_table_is_rejected(spark: SparkSession, lakehouse: Lakehouse, frame: DataFrame) -> None:
    """A column that was added, dropped or has another type raises an error that lists the differences."""
    sink = upsert(PIPELINE, lakehouse, table="totals", query="manual")
    sink(frame, 0)
    name = lakehouse.identifier("totals")
    if isinstance(lakehouse, Delta):
        spark.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')")
    spark.sql(f"ALTER TABLE {name} DROP COLUMN value_count")
    spark.sql(f"ALTER TABLE {name} DROP COLUMN value_seconds")
    spark.sql(f"ALTER TABLE {name} ADD COLUMNS (value_count string, note string)")
    with pytest.raises(SchemaMismatchError) as failure:
        sink(frame, 1)
    assert "  value_count must be bigint; got string" in str(failure.value)
    assert "  value_seconds must be double; got no such column" in str(failure.value)
    assert "  note must not exist; got string" in str(failure.value)


def test_a_second_writer_is_named(
    lakehouse: Lakehouse, frame: DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If another writer commits the same batch while it is written, the slower one fails, and no row is doubled."""
    slow, fast = (changelog(PIPELINE, lakehouse, table="log", query="manual") for _ in range(2))
    slow(frame, 0)
    real = type(lakehouse).append

    def late(*arguments: object) -> None:
        monkeypatch.setattr(type(lakehouse), "append", real)
        fast(frame, 1)
        real(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(type(lakehouse), "append", late)
    if isinstance(lakehouse, Iceberg):
        with pytest.raises(SinkError, match="log must have one writer at a time"):
            slow(frame, 1)
    else:
        slow(frame, 1)  # Delta knows that it has the batch
    assert table(frame.sparkSession, lakehouse, "log").count() == 2 * frame.count()


def test_a_writer_that_commits_before_a_merge_is_named(
    lakehouse: Lakehouse, frame: DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A commit after an upsert has read the last batch leaves the table right, and Iceberg's sink fails."""
    slow, fast = (upsert(PIPELINE, lakehouse, table="totals", query="manual") for _ in range(2))
    slow(frame, 0)
    real = LakehouseUpsert._bounds

    def late(sink: LakehouseUpsert, rows: DataFrame) -> tuple[datetime, datetime]:
        monkeypatch.setattr(LakehouseUpsert, "_bounds", real)
        fast(frame, 1)
        return real(sink, rows)

    monkeypatch.setattr(LakehouseUpsert, "_bounds", late)
    if isinstance(lakehouse, Iceberg):
        with pytest.raises(
            SinkError, match="must have one writer at a time; another one has committed batch 1"
        ):
            slow(frame, 1)
    else:
        slow(frame, 1)  # Delta knows that it has the batch
    assert table(frame.sparkSession, lakehouse, "totals").count() == frame.count()


def test_a_writer_that_commits_during_a_write_is_named(
    spark: SparkSession, tmp_path: Path, lakehouse: Lakehouse, frame: DataFrame
) -> None:
    """Two writers are in a commit of the same batch: the first one writes it, the other one fails with a name."""
    sink = changelog(PIPELINE, lakehouse, table="log", query="manual")
    sink(frame, 0)
    started, done = str(tmp_path / "started"), str(tmp_path / "done")

    def wait(_: object) -> bool:
        Path(started).touch()
        while not Path(done).exists():
            time.sleep(0.05)
        return True

    # One partition, so that a core remains for the other writer, which has a session of its own.
    slow = frame.coalesce(1).filter(F.udf(wait, "boolean")("event_time"))
    rows = spark.newSession().createDataFrame(record_table(VISITS, TIMELINE.elements))
    fast = batch.compile(PIPELINE, {VISITS: rows})
    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(sink, slow, 1)
        while not Path(started).exists() and not writing.done():
            time.sleep(0.05)
        try:
            sink(fast, 1)
        finally:
            Path(done).touch()
        with pytest.raises(SinkError, match="log must have one writer at a time; another one has committed"):
            writing.result()
    assert table(spark, lakehouse, "log").count() == 2 * frame.count()


def test_two_elements_with_one_key_are_rejected(lakehouse: Lakehouse, frame: DataFrame) -> None:
    """Elements of one pane with the same row raise an error that names the row."""
    sink = upsert(PIPELINE, lakehouse, table="totals", query="manual")
    with pytest.raises(Exception, match="several elements of one pane are equal by key"):
        sink(frame.union(frame), 0)


def test_a_missing_jar_is_an_error_with_its_coordinate(spark: SparkSession, tmp_path: Path) -> None:
    """A session without a jar raises an error with the coordinate and the two ways to give it."""
    for target in (Delta(tmp_path), Iceberg("lake.panes")):
        try:
            target.require(spark)
        except UnsupportedError as missing:
            message = str(missing)
        else:
            continue
        if "needs the setting" not in message:
            assert "_2.13:" in message
            assert "spark.jars.packages=" in message
            assert "spark.jars with the paths" in message


def places() -> Iterator[object]:
    """Yields invalid places of tables."""
    yield from (lambda: Delta(), lambda: Delta("a", schema="b"), lambda: Delta(""), lambda: Iceberg("lake"))


@pytest.mark.parametrize("place", list(places()))
def test_a_place_of_tables_must_be_named(place: object) -> None:
    """A place without a path, or without a catalog, is an invalid argument."""
    assert callable(place)
    with pytest.raises(ArgumentError, match="must be"):
        place()
