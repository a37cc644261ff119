"""The engines that run the chains, each from records that arrive at a rate."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import Final, TypeAlias

import polars as pl
from attrs import frozen
from flowalg_polars import streaming as local
from flowalg_polars.streaming import Frames
from flowalg_spark import schema_of
from flowalg_spark import streaming as on_spark
from pyspark.sql import DataFrame, SparkSession

from docs.benchmarks.arrivals import MICROS, RECORDS, Arrivals
from docs.benchmarks.depth.chains import POLICY, Emitted, Ran, chain, spark_chain

LOCAL: Final = "local engine"
CHECKPOINTED: Final = "local engine, with a checkpoint"
SPARK: Final = "flowalg on Spark"
NATIVE: Final = "Spark's own operators"


@frozen
class Load:
    """What a chain runs on: its groupings, the partitions of its state, and the records per second for some seconds."""

    depth: int
    shards: int
    rate: int
    seconds: float

    def arrivals(self) -> Arrivals:
        """Returns records that begin to arrive now, in order."""
        return Arrivals(self.rate, self.seconds, POLICY.delay)


EARLIER: Final = 600 * MICROS
EARLY: Final = 100
"""The records before the others, and how long before."""

Run: TypeAlias = Callable[[Load, Path], Ran]
"""Runs a chain with its files in a folder."""


def run_locally(load: Load, folder: Path, *, checkpoint: bool) -> Ran:
    """Runs a chain on the local engine."""
    arrivals = load.arrivals()
    heights: list[int] = []
    stream = local.StreamInput(Frames(_noting(arrivals.frames(), heights)), POLICY)
    place = folder / "checkpoint" if checkpoint else None
    emitted = [
        Emitted.of(batch.number, batch.frame)
        for batch in local.batches(chain(load.depth), {RECORDS: stream}, checkpoint=place, shards=load.shards)
    ]
    return Ran(arrivals, emitted, dict(enumerate(accumulate(heights))))


def _noting(frames: Iterator[pl.DataFrame], heights: list[int]) -> Iterator[pl.DataFrame]:
    for frame in frames:
        heights.append(frame.height)
        yield frame


def run_on_spark(spark: SparkSession, load: Load, folder: Path, *, native: bool) -> Ran:
    """Runs a chain on Spark, by flowalg or in Spark's own operators.

    The query has processed a file of earlier records before the others begin to arrive.
    """
    spark.conf.set("spark.sql.shuffle.partitions", load.shards)
    spark.conf.set("spark.sql.streaming.numRecentProgressUpdates", 100_000)
    emitted: list[Emitted] = []
    (folder / "in").mkdir()
    early = load.arrivals()
    early.begin -= EARLIER
    early.frame(0, EARLY).write_parquet(folder / "in" / "early.parquet")
    records = spark.readStream.schema(schema_of(RECORDS)).parquet(str(folder / "in"))
    if native:
        counts = spark_chain(records, load.depth)
    else:
        stream = on_spark.StreamInput(records, POLICY)
        counts = on_spark.compile(chain(load.depth), {RECORDS: stream}, shards=load.shards)
    query = (
        counts.select("key", "value", "window")
        .writeStream.foreachBatch(partial(_receive, emitted))
        .option("checkpointLocation", str(folder / "checkpoint"))
        .start()
    )
    try:
        query.processAllAvailable()
        arrivals = load.arrivals()
        with arrivals.arriving(folder / "in"):
            arrivals.await_end()
            query.processAllAvailable()
        rows = {progress.batchId: progress.numInputRows for progress in query.recentProgress}
    finally:
        query.stop()
    read = dict(zip(sorted(rows), accumulate(rows[batch] for batch in sorted(rows)), strict=True))
    return Ran(arrivals, emitted, {batch: count - EARLY for batch, count in read.items()})


def _receive(into: list[Emitted], frame: DataFrame, batch: int) -> None:
    """Collects the rows of a micro-batch, and notes when."""
    rows = pl.from_arrow(frame.toArrow())
    if isinstance(rows, pl.DataFrame):
        into.append(Emitted.of(batch, rows))


def engines(spark: SparkSession) -> dict[str, Run]:
    """Returns the engines by their names."""
    return {
        LOCAL: partial(run_locally, checkpoint=False),
        CHECKPOINTED: partial(run_locally, checkpoint=True),
        SPARK: partial(run_on_spark, spark, native=False),
        NATIVE: partial(run_on_spark, spark, native=True),
    }
