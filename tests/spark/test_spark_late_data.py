"""Late data on Spark: each element that a stream drops is that of the reference, and of the local engine.

These tests catch an element that is lost where partitions combine those of a key and window before the exchange.
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Collection
from datetime import timedelta
from pathlib import Path

import pytest
from flowalg_laws.conformance import JOBS, covering, examine_interpreter
from flowalg_laws.kit.readings import READINGS, START, VALUES, Reading
from flowalg_spark import SparkStreaming, StreamInput, replay, schema_of, streaming
from flowalg_spark.sinks import SQLite, late_data
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from flowalg import BoundedOutOfOrderness, FixedWindows, Sum
from flowalg.analysis.features import AREA_OF, AnyFeature, Feature
from flowalg.pipeline.joins import JoinKind
from flowalg.runs import DroppedElement
from tests.support.depth import a_few
from tests.support.late_data import PIPELINES, require_drops

MINUTE = timedelta(minutes=1)
DROPPING = [job for job in JOBS if job.drops]
SUMS = VALUES.window(FixedWindows(2 * MINUTE), allowed_lateness=timedelta(0)).combine_per_key(Sum())
BATCHES = (
    [Reading("a", 1, START + 20 * MINUTE, START)],
    [
        Reading(key, value, START + MINUTE, START + MINUTE)
        for key, value in (("a", 2), ("a", 1), ("a", 2), ("b", 3))
    ],
)
"""An element, and four that it makes late."""
QUICK = ("corrections",)
LATE = Counter({("a", 2): 2, ("a", 1): 1, ("b", 3): 1})


@pytest.mark.parametrize("name", a_few(PIPELINES, QUICK))
def test_what_a_stage_drops_is_what_the_reference_drops(spark: SparkSession, name: str) -> None:
    """In each kind of window, of values and retractions, at a join, a side input and a computation."""
    require_drops(SparkStreaming(spark, shards=2, late_data=True), name)


@pytest.mark.parametrize(
    "features", a_few([{Feature.DEAD_LETTERS, JoinKind}, {*AREA_OF}], 1), ids=["two kinds", "all"]
)
def test_jobs_that_drop_have_the_late_data_of_the_reference(
    spark: SparkSession, features: Collection[AnyFeature]
) -> None:
    """Each job drops the elements of the reference over generated watermarks, also a job with bad records."""
    engine = SparkStreaming(spark, generate_watermarks=True)
    jobs = covering(DROPPING, features)
    report = examine_interpreter(engine, jobs=jobs, late_data=True, at_once=2)
    assert jobs
    assert report.failed == {}


def test_a_replay_has_late_data(spark: SparkSession) -> None:
    """Each late element is in the drops of its instant, with its values and its event time."""
    rows = spark.createDataFrame(
        [(r.key, r.value, r.at, r.seen) for part in BATCHES for r in part], schema_of(READINGS)
    )
    batches = replay(
        SUMS,
        {READINGS: rows},
        watermark=BoundedOutOfOrderness(10 * MINUTE),
        processing_time=F.col("seen"),
        late_data=True,
    )
    dropped = [drop for batch in batches for drop in batch.dropped]
    assert all(isinstance(drop, DroppedElement) for drop in dropped)
    assert Counter(
        (drop.key, drop.element.value, drop.event_time.datetime)  # type: ignore[attr-defined]  # as asserted
        for drop in dropped
    ) == Counter({(key, value, START + MINUTE): count for (key, value), count in LATE.items()})


def test_a_table_has_each_dropped_element_once(spark: SparkSession, tmp_path: Path) -> None:
    """The sink appends the elements of each micro-batch of a query that had started without late data."""
    folder = tmp_path / "in"
    for part in BATCHES:
        frame = spark.createDataFrame([(r.key, r.value, r.at, r.seen) for r in part], schema_of(READINGS))
        frame.coalesce(1).write.mode("append").parquet(str(folder))
        run_query(spark, tmp_path, late=part is not BATCHES[0])
    with sqlite3.connect(tmp_path / "tables.db") as connection:
        rows = connection.execute("SELECT element, event_time, change FROM late").fetchall()
    elements = [json.loads(element) for element, *_ in rows]
    assert Counter((element["key"], element["value"]) for element in elements) == LATE
    assert {tuple(facts) for _, *facts in rows} == {("2024-01-01T00:01:00.000000Z", "value")}


def run_query(spark: SparkSession, folder: Path, *, late: bool) -> None:
    """Runs the query over the files that there are; its late data, if wanted, go to a table from batch 1 on."""
    files = spark.readStream.schema(schema_of(READINGS)).parquet(str(folder / "in"))
    stream = StreamInput(files, BoundedOutOfOrderness(10 * MINUTE))
    rows = streaming.compile(SUMS, {READINGS: stream}, late_data=late).with_drops()
    table = late_data(SUMS, SQLite(folder / "tables.db"), table="late", since=1)
    sink = table if late else lambda frame, _: frame.count()
    query = rows.writeStream.foreachBatch(sink).option("checkpointLocation", str(folder / "checkpoint"))
    query.trigger(availableNow=True).start().awaitTermination()
