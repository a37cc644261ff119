"""Streams into tables: what Spark writes batch by batch, to SQLite and to PostgreSQL, is what the reference says.

This family catches what only a query can do to a sink: restarts, batches given again, another checkpoint, drops among
the panes, and what becomes of the values on their way through Spark.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import Final

import pytest
from attrs import frozen
from flowalg_sinks.pane_columns import pane_cells, window_cells
from flowalg_spark import batch, final_values, record_table, streaming
from flowalg_spark.encoding.json_text import encode_json
from flowalg_spark.sinks import Cell, Changelog, Row, SQLite, Upsert, changelog, upsert
from flowalg_spark.sinks.cells import element_columns, from_cells, to_cells
from flowalg_spark.sinks.drops import drop_table
from flowalg_spark.streaming.timelines import InstantFiles, generating_input, observed_batches
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from flowalg import (
    KV,
    ArgumentError,
    Timing,
    event_time,
)
from flowalg.data.shapes import shape_of
from flowalg.data.values import sort_key
from flowalg.runs.instants import pipeline_instants
from tests.sinks.test_targets import Database, schema_in
from tests.support.sink_cases import rows_of, standing, without_key_text
from tests.support.visiting import PIPELINE, RUN, TIMELINE, VISITS, Summary


def test_the_run_has_what_makes_sinks_hard() -> None:
    """Panes of every timing, retractions, sessions that are gone, a key that is nothing, NaN, and drops."""
    sink = upsert(PIPELINE, SQLite("panes.db"), table="t")
    gone, _ = sink.changes(RUN.panes)
    assert len(gone) > 3
    assert {pane.timing for pane in RUN.panes} == set(Timing)
    assert {pane.element.key for pane in standing(RUN.panes)} == {"a", "b", "", None}
    assert any(pane.element.value.seconds != pane.element.value.seconds for pane in standing(RUN.panes))
    assert len(RUN.dropped) > 1


@frozen
class Place:
    """A database with both tables in it, and their sinks."""

    database: Database
    totals: Upsert
    log: Changelog

    @classmethod
    def of(cls, database: Database) -> Place:
        """A database that has neither yet."""
        return cls(
            database,
            upsert(PIPELINE, database, table="totals"),
            changelog(PIPELINE, database, table="log"),
        )

    def content(self) -> dict[str, list[Row]]:
        """All that is in it."""
        tables = (self.totals.table, self.log.table, drop_table("totals"), drop_table("log"))
        return {table.name: self.database.rows(table) for table in tables}


@frozen
class Stream:
    """A query from files to some places, and where it has its checkpoint."""

    spark: SparkSession
    folder: Path
    places: tuple[Place, ...]

    def bring(self, start: int, stop: int | None) -> None:
        """Some of the batches, as files."""
        instants = tuple(pipeline_instants({VISITS.name: TIMELINE}))[start:stop]
        self.files.write(observed_batches(VISITS, TIMELINE, instants), first=start)

    @property
    def files(self) -> InstantFiles:
        """The files of the one source."""
        return InstantFiles(self.folder / "visits", VISITS)

    def run(self, checkpoint: str = "checkpoint") -> str:
        """Run over all that is there; the query's id."""
        inputs = {VISITS: generating_input(self.spark, self.files, TIMELINE)}
        panes = streaming.compile(PIPELINE, inputs).with_drops()
        query = (
            panes.writeStream.foreachBatch(self.write)
            .option("checkpointLocation", str(self.folder / checkpoint))
            .trigger(availableNow=True)
            .start()
        )
        try:
            query.awaitTermination()
        finally:
            query.stop()
        return query.id

    def write(self, frame: DataFrame, number: int) -> None:
        """One batch, to all tables; it is computed once."""
        kept = frame.persist()
        for place in self.places:
            place.totals(kept, number)
            place.log(kept, number)
        kept.write.mode("overwrite").parquet(str(self.folder / "parquet" / f"batch={number}"))
        kept.unpersist()

    def forget_last_commit(self) -> None:
        """As if Spark had been killed after the tables had taken the batch, and before it noted that itself."""
        commits = self.folder / "checkpoint" / "commits"
        last = max((one for one in commits.iterdir() if one.name.isdigit()), key=lambda one: int(one.name))
        last.unlink()
        (commits / f".{last.name}.crc").unlink(missing_ok=True)


@pytest.fixture(scope="module")
def written(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, server: str) -> Stream:
    """A stream that was stopped half-way, and started again, and has ended."""
    folder = tmp_path_factory.mktemp("sinks")
    databases = (SQLite(folder / "panes.db"), schema_in(server, "stream"))
    stream = Stream(spark, folder, tuple(Place.of(one) for one in databases))
    stream.bring(0, 4)
    before = stream.run()
    stream.bring(4, None)
    assert stream.run() == before
    return stream


def test_the_table_of_latest_values_is_what_stands(written: Stream) -> None:
    """After a restart, of sessions that were taken back again and again, in both databases."""
    for place in written.places:
        found = without_key_text(place.totals, place.content()["totals"])
        assert sorted(typed(found)) == sorted(typed(rows_of(place.totals, standing(RUN.panes))))


def test_the_table_of_latest_values_is_final_values_of_files(written: Stream) -> None:
    """Of the same batches, which a sink of files has as they came."""
    files = written.spark.read.parquet(str(written.folder / "parquet"))
    micros = [F.unix_micros(F.col(name)) for name in ("window.start", "window.end", "event_time")]
    final = final_values(files).select("key", "value.count", "value.seconds", *micros).collect()
    expected = sorted(repr(tuple(row)) for row in final)
    for place in written.places:
        names = [one.name for one in place.totals.table.columns]
        chosen = [
            names.index(one)
            for one in ("key", "value_count", "value_seconds", "window_start", "window_end", "event_time")
        ]
        rows = [[row[index] for index in chosen] for row in place.content()["totals"]]
        found = [
            (*row[:3], *(int(event_time(one)) for one in row[3:] if isinstance(one, datetime)))
            for row in rows
        ]
        assert sorted(map(repr, found)) == expected


def test_the_changelog_is_all_panes_in_order(written: Stream) -> None:
    """Batch by batch, in the order of the reference, retractions before what takes their place."""
    for place in written.places:
        found = place.content()["log"]
        width = len(element_columns(SHAPE))
        assert typed(row[2:] for row in found) == typed(
            (pane.change.value, *to_cells(pane.element, SHAPE), *window_cells(pane.window), *pane_cells(pane))
            for pane in RUN.panes
        )
        assert [row[:2] for row in found] == sorted(row[:2] for row in found)
        values = [from_cells(row[3 : 3 + width], SHAPE) for row in found]
        assert list(map(sort_key, values)) == [sort_key(pane.element) for pane in RUN.panes]


def test_drops_have_a_table_of_their_own(written: Stream) -> None:
    """Beside either table: nothing that came in vanishes."""
    expected = Counter(
        (encode_json(drop.element.key, KEY), drop.reason.value, drop.window.start.datetime)
        for drop in RUN.dropped
        if isinstance(drop.element, KV)
    )
    for place in written.places:
        content = place.content()
        for rows in (content["totals_drops"], content["log_drops"]):
            found: Counter[object] = Counter()
            for row in rows:
                cells = dict(zip([one.name for one in drop_table("t").columns], row, strict=True))
                count = cells["count"]
                assert isinstance(count, int)
                found[cells["dropped_key"], cells["reason"], cells["window_start"]] += count
            assert found == expected


def test_a_batch_that_spark_gives_again_changes_nothing(written: Stream) -> None:
    """Spark runs the last batch again if it has not noted it, and every table has it already."""
    before = [place.content() for place in written.places]
    written.forget_last_commit()
    commits = written.folder / "checkpoint" / "commits"
    noted = set(commits.iterdir())
    written.run()
    assert len(set(commits.iterdir()) - noted) == 2, "the batch, and its checksum"
    assert repr([place.content() for place in written.places]) == repr(before)


def test_another_checkpoint_is_refused(written: Stream) -> None:
    """Its batches have the same numbers, and are others: they are neither written nor passed over."""
    before = [place.content() for place in written.places]
    with pytest.raises(StreamingQueryException, match="a new checkpoint numbers its batches anew"):
        written.run("another-checkpoint")
    assert repr([place.content() for place in written.places]) == repr(before)


def test_a_frame_must_be_of_the_pipeline_and_of_a_query(spark: SparkSession, tmp_path: Path) -> None:
    """Outside of a streaming query a name has to be given; a batch can then be written, once."""
    rows = spark.createDataFrame(record_table(VISITS, TIMELINE.elements))
    frame = batch.compile(PIPELINE, {VISITS: rows})
    target = SQLite(tmp_path / "panes.db")
    with pytest.raises(
        ArgumentError, match="query must be a name .*; got None .*: Spark has no id of the streaming query"
    ):
        upsert(PIPELINE, target, table="t")(frame, 0)
    sink = upsert(PIPELINE, target, table="t", query="by hand")
    sink(frame, 0)
    sink(frame.with_drops(), 0)
    assert len(target.rows(sink.table)) == frame.count() > 5
    with pytest.raises(
        ArgumentError, match="must be the frame of the pipeline's panes, which has the columns key"
    ):
        sink(frame.select("key", "value"), 1)


SHAPE: Final = shape_of(KV[str | None, Summary])
KEY: Final = shape_of(str | None)


def typed(rows: Iterable[Row]) -> list[str]:
    """Rows as they compare: NaN is itself, and JSON is what it says, however a database writes it."""
    return [repr(tuple(map(_plain, row))) for row in rows]


def _plain(cell: Cell) -> object:
    json_of = isinstance(cell, str) and cell[:1] in ("[", "{")
    return json.dumps(json.loads(str(cell)), sort_keys=True) if json_of else cell
