"""The state of computations in a checkpoint of Spark, against what the reference keeps."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import flowalg_reference as reference
import pytest
from attrs import evolve, frozen
from flowalg_laws.conformance.jobs.sales import a_sum_per_key
from flowalg_laws.kit.shop import BATCHES, POLICY, SALES, Sale
from flowalg_spark import open_keys, open_state, streaming
from pyspark.sql import SparkSession

from flowalg import Computation, FixedWindows, Mode, Sum
from flowalg.computations import Clocks, EventTimer, Observed, ProcessingTimer, Timer, Transition
from flowalg.errors import CheckpointError
from tests.support.kept_keys import kept_keys
from tests.support.spark_replay import stream_of, write_batches

MINUTE = timedelta(minutes=1)
SHOPS = ("a", "b", "c")


@frozen
class Till:
    """A state with fields."""

    total: int
    sales: int


def sell(till: Till, seen: Observed[str, int], clocks: Clocks) -> Transition[Till, int]:
    """Adds an amount, sets a timer of each clock, and holds the watermark."""
    again = clocks.processing_time + 30 * MINUTE
    return Transition(
        Till(till.total + seen.value, till.sales + 1),
        emit=[till.total],
        set=[EventTimer("close", seen.event_time + 15 * MINUTE), ProcessingTimer("count", again)],
        hold=seen.event_time,
    )


def close(till: Till, timer: Timer, clocks: Clocks) -> Transition[Till, int]:
    """Emits the total, and frees the key."""
    return Transition(None, emit=[till.total])


TILL: Computation[str, int, Till, int] = Computation(
    initial=Till(0, 0), on_element=sell, on_timer=close, name="till"
)


@pytest.mark.thorough
def test_the_keys_of_a_checkpoint_are_those_of_the_reference(spark: SparkSession, tmp_path: Path) -> None:
    """While a query runs, its checkpoint has the keys of the reference after the last micro-batch."""
    tills = (
        SALES.key_by(lambda sale: sale.shop).map_values(lambda sale: sale.amount).process(TILL, in_order=True)
    )
    pipeline = tills.window(FixedWindows(10 * MINUTE), allowed_lateness=MINUTE).combine_per_key(Sum())
    timelines = evolve(a_sum_per_key.replay, ends=False).timelines
    run = reference.run(pipeline, timelines, mode=Mode.MICRO_BATCH)
    times = [reading.processing_time.datetime for reading in run.watermarks]
    write_batches(tmp_path / "in", Sale, BATCHES[:3], ends=False)
    checkpoint = tmp_path / "checkpoint"
    frame = streaming.compile(pipeline, {SALES: stream_of(spark, tmp_path / "in", POLICY, ends=False)})
    query = (
        frame.writeStream.format("memory")
        .queryName("tills")
        .outputMode("append")
        .option("checkpointLocation", str(checkpoint))
        .start()
    )
    try:
        query.processAllAvailable()
        first = open_keys(spark, checkpoint, pipeline, TILL, stage=1)
        assert first == kept_keys(run, SHOPS, times[2])
        assert {len(contents.waiting) for contents in first} != {0}
        write_batches(tmp_path / "in", Sale, BATCHES[3:], ends=False, first=3)
        query.processAllAvailable()
        assert query.isActive
        last = open_keys(spark, checkpoint, pipeline, TILL, stage=1)
        assert last == kept_keys(run, SHOPS, times[-1])
    finally:
        query.stop()
    rows = open_state(spark, checkpoint, stage=1).orderBy("key").collect()
    assert [(row["key"], row["waiting"]) for row in rows] == [
        (contents.key, len(contents.waiting)) for contents in last
    ]
    with_state = [contents for contents in last if contents.state is not None]
    assert [Till(row["state.total"], row["state.sales"]) for row in rows if row["state.sales"]] == [
        contents.state for contents in with_state
    ]
    tags = [[(timer["tag"], timer["at"].timestamp()) for timer in row["timers"] or ()] for row in rows]
    assert tags == [[(timer.tag, timer.at.timestamp()) for timer in contents.timers] for contents in last]
    assert [contents.hold and contents.hold.timestamp() for contents in last] == [
        row["hold"] and row["hold"].timestamp() for row in rows
    ]
    with pytest.raises(CheckpointError, match=r"'combine_per_key\(Sum\)' is not a computation"):
        open_keys(spark, checkpoint, pipeline, TILL, stage=0)
