"""The state of a query on Spark, divided into other shards: panes, drops and sinks go on as if nothing had happened."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest
from attrs import frozen
from flowalg_laws.kit.shop import BATCHES, Sale
from flowalg_spark import check_checkpoint, open_state, plan, reshard, streaming
from flowalg_spark.encoding import sql
from flowalg_spark.session import PARTITIONS_KEY, replace_settings
from flowalg_spark.sinks import SQLite, upsert
from flowalg_spark.streaming import grouping, lowering
from flowalg_spark.streaming.grouping import shard_of
from flowalg_spark.streaming.interpreter import run_to_end
from pyspark.sql import SparkSession

from flowalg import KV, BoundedOutOfOrderness, Count, FixedWindows
from flowalg.errors import ArgumentError, CheckpointError
from tests.polars.test_changes import VISITS, Place, Visit
from tests.spark.test_planning import CHAIN, compiled
from tests.spark.test_streaming import agrees, job_called, lines_of
from tests.support.foreach_batch import VisitsQuery
from tests.support.sink_cases import current_panes, rows_of, without_key_text
from tests.support.spark_replay import read_back, run_as_query, stream_of, write_batches
from tests.support.visiting import PIPELINE, RUN

MINUTE = timedelta(minutes=1)


@pytest.mark.parametrize(
    ("name", "stops", "resharded"),
    [
        pytest.param("three stages", (1, 3), (4, 2), marks=pytest.mark.thorough),
        pytest.param("a map side input", (1, 2), (3, 1), marks=pytest.mark.thorough),
        pytest.param("a computation after a computation", (2,), (3,), marks=pytest.mark.thorough),
        pytest.param("sessions that retract", (1, 3), (5, 3), marks=pytest.mark.thorough),
        pytest.param("a left join", (2,), (3,), marks=pytest.mark.thorough),
        ("timers of processing time", (2,), (4,)),
        pytest.param("timers of processing time", (1, 2), (1, 4), marks=pytest.mark.thorough),
        pytest.param("several results as a record", (1, 4), (3, 2), marks=pytest.mark.thorough),
        pytest.param("retractions downstream", (2, 3), (1, 3), marks=pytest.mark.thorough),
    ],
)
def test_resharding_does_not_change_a_run(
    spark: SparkSession, tmp_path: Path, name: str, stops: tuple[int, ...], resharded: tuple[int, ...]
) -> None:
    """A query whose state is divided into other numbers of shards has the panes and drops of the reference."""
    job = job_called(name)
    run = run_as_query(
        spark,
        tmp_path,
        job.pipeline,
        job.replay.timelines,
        shards=2,
        stops=stops,
        resharded=resharded,
    )
    assert agrees(run, job)


@frozen
class Everything:
    """A key with a column of each type."""

    number: int
    text: str
    optional: str | None
    flag: bool
    at: datetime
    day: date
    span: timedelta
    several: frozenset[int]
    amount: Decimal
    place: Place
    pair: tuple[int, str]


def _everything(visit: Visit) -> Everything:
    number = visit.key
    return Everything(
        number,
        f"a text that is long enough to be stored apart, {number}",
        None if number == 0 else str(number),
        number > 2,
        datetime(2024, 1, 1 + number % 20, tzinfo=UTC),
        date(2024, 1, 1 + number % 20),
        number * MINUTE,
        frozenset(range(number)),
        Decimal(number) / 4,
        Place(f"place {number}", None if number % 2 else number),
        (number, str(number)),
    )


@pytest.mark.thorough
def test_keys_of_all_types_are_found_again(spark: SparkSession, tmp_path: Path) -> None:
    """After resharding, the elements of a key join its window, whatever the types of its columns.

    A plan accepts the new number of shards, and not the old one.
    """
    visits = [Visit(number, datetime(2024, 5, 6, 12, tzinfo=UTC)) for number in range(8)]
    counted = (
        VISITS.key_by(_everything)
        .window(FixedWindows(MINUTE), allowed_lateness=MINUTE)
        .combine_per_key(Count())
    )
    write_batches(tmp_path / "in", Visit, [visits], ends=False)
    stream = stream_of(spark, tmp_path / "in", BoundedOutOfOrderness(MINUTE), time_column=None)

    def run_query(checkpoint: str, shards: int) -> None:
        frame = streaming.compile(counted, {VISITS: stream}, shards=shards)
        run_to_end(frame.with_drops(), tmp_path / "out", tmp_path / checkpoint)

    run_query("checkpoint", 2)
    reshard(spark, tmp_path / "checkpoint", tmp_path / "resharded", shards=3)
    rows = open_state(spark, tmp_path / "resharded").collect()
    assert len(rows) == len(visits)
    assert len({row["shard"] for row in rows}) > 1
    assert plan(spark, counted, tmp_path / "resharded", shards=3).accepted
    assert "written with 3 shards" in str(plan(spark, counted, tmp_path / "resharded", shards=2))
    write_batches(tmp_path / "in", Visit, [visits], ends=True, first=1)
    run_query("resharded", 3)
    run = read_back(spark, counted, tmp_path / "out")
    elements = {pane.element for pane in run.panes}
    assert elements == {KV(_everything(visit), 2) for visit in visits}
    assert len(run.panes) == len(elements)


def test_keys_that_another_hash_has_placed_are_placed_again(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The name of another hash is refused until resharding; keys in other shards than by their hash are damage."""
    write_batches(tmp_path / "in", Sale, BATCHES[:2], ends=False)

    def run_query(checkpoint: str, placement: str) -> None:
        with monkeypatch.context() as patched:
            patched.setattr(grouping, "shard_of", lambda key, shards: shard_of([sql.lit(0), *key], shards))
            patched.setattr(lowering, "PLACEMENT", placement)
            run_to_end(
                compiled(spark, CHAIN, tmp_path / "in"), tmp_path / f"{checkpoint} out", tmp_path / checkpoint
            )

    run_query("another", "xxh64-0")
    found = plan(spark, CHAIN, tmp_path / "another", shards=2)
    assert not found.accepted
    assert "by the hash 'xxh64-0' and are now by 'xxh64-1'; continue with the version" in str(found)
    reshard(spark, tmp_path / "another", tmp_path / "resharded", shards=2)
    assert plan(spark, CHAIN, tmp_path / "resharded", shards=2).accepted
    reshard(spark, tmp_path / "resharded", tmp_path / "again", shards=3)
    run_query("damaged", "xxh64-1")
    with pytest.raises(CheckpointError, match=r"is damaged: \d+ keys are not in the shards of their hash"):
        reshard(spark, tmp_path / "damaged", tmp_path / "repaired", shards=2)


@pytest.mark.thorough
def test_the_number_of_partitions_may_change_too(spark: SparkSession, tmp_path: Path) -> None:
    """The new checkpoint has as many state stores as the session has shuffle partitions, and the query goes on."""
    write_batches(tmp_path / "in", Sale, BATCHES[:2], ends=False)
    run_to_end(
        compiled(spark, CHAIN, tmp_path / "in").with_drops(), tmp_path / "out", tmp_path / "checkpoint"
    )
    with replace_settings(spark, {PARTITIONS_KEY: "5"}):
        reshard(spark, tmp_path / "checkpoint", tmp_path / "resharded", shards=2)
        write_batches(tmp_path / "in", Sale, BATCHES[2:], ends=False, first=2)
        frame = compiled(spark, CHAIN, tmp_path / "in").with_drops()
        run_to_end(frame, tmp_path / "out", tmp_path / "resharded")
    stores = [path for path in (tmp_path / "resharded" / "state" / "1").iterdir() if path.name.isdigit()]
    assert len(stores) == 5
    assert not [path for store in stores for path in store.iterdir() if path.name.startswith("1.")]
    run = read_back(spark, CHAIN, tmp_path / "out")
    run_to_end(frame, tmp_path / "whole", tmp_path / "another")
    whole = read_back(spark, CHAIN, tmp_path / "whole")
    assert lines_of(run) == lines_of(whole)
    assert run.panes


@pytest.mark.thorough
def test_a_sink_goes_on(spark: SparkSession, tmp_path: Path) -> None:
    """A sink accepts the micro-batches of the new checkpoint, also of a query that was killed in a micro-batch.

    The name of the new checkpoint may be a pattern.
    """
    query = VisitsQuery(spark, tmp_path)
    sink = upsert(PIPELINE, SQLite(tmp_path / "panes.db"), table="totals")
    query.write_files(0, 4)
    identity = query.run(sink)
    query.delete_last_commit()
    reshard(spark, tmp_path / "checkpoint", tmp_path / "resharded [2]")
    query.write_files(4, None)
    assert query.run(sink, "resharded [2]") == identity
    rows = SQLite(tmp_path / "panes.db").rows(sink.table)
    assert repr(without_key_text(sink, rows)) == repr(rows_of(sink, current_panes(RUN.panes)))


def test_a_checkpoint_that_cannot_be_resharded_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    """Errors name the number, a folder that exists, a folder without a micro-batch, and damage; no folder is left.

    A path with a colon in it, which Hadoop has no patterns of, is as any other.
    """
    old, new = (tmp_path / "12:00" / name for name in ("checkpoint", "resharded"))
    with pytest.raises(ArgumentError, match="shards must be a positive int"):
        reshard(spark, old, new, shards=0)
    with pytest.raises(CheckpointError, match="has no micro-batch yet"):
        reshard(spark, old, new, shards=2)
    write_batches(tmp_path / "in", Sale, BATCHES[:1], ends=False)
    run_to_end(compiled(spark, CHAIN, tmp_path / "in"), tmp_path / "out", old)
    with pytest.raises(ArgumentError, match="into must be a folder that does not exist yet"):
        reshard(spark, old, old, shards=3)
    reshard(spark, old, tmp_path / "12:00" / "other", shards=3)
    check_checkpoint(spark, tmp_path / "12:00" / "other")
    with pytest.raises(ArgumentError, match="checkpoint must be the path of a folder"):
        check_checkpoint(spark, old / "metadata")
    offsets = old / "offsets" / "0"
    text = offsets.read_text()
    offsets.write_text(text[:-5])
    (offsets.parent / ".0.crc").unlink(missing_ok=True)
    with pytest.raises(CheckpointError, match="the checkpoint is damaged: .*offsets/0"):
        reshard(spark, old, new, shards=3)
    assert not new.exists()
