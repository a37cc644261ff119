"""The flights on Spark: as a batch, and as a stream that replays the year."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable
from importlib.util import find_spec
from os import environ
from pathlib import Path
from typing import TYPE_CHECKING, Final

from flights.outcomes import AirportHour, Outcome
from flights.pipeline import WATERMARK, departures, hourly
from flights.report import Steps
from flowalg import EventTime, Window

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

BATCH: Final = "Spark batch"
STREAMING: Final = "Spark streaming"


def why_not() -> str | None:
    """Returns why Spark cannot run here; ``None`` if it can."""
    if find_spec("pyspark") is None:
        return "PySpark is not installed: pip install 'flowalg[spark]'"
    if not environ.get("JAVA_HOME") and shutil.which("java") is None:
        return "it needs Java 17 or newer, and none is on the PATH, nor is JAVA_HOME set"
    return None


def run_on_spark(replay: Path, files: int, progress: Steps, folder: Path) -> tuple[Outcome, Outcome]:
    """Runs the batch and the stream over the year; both write their panes to the folder."""
    from flowalg_spark import local_session

    with progress.step("start of Spark"):
        spark = local_session("flights", log=folder / "spark.log")
    try:
        with progress.step(BATCH):
            year = run_batch(spark, str(replay), folder)
        with progress.step(STREAMING, files) as done:
            follow(start_stream(spark, str(replay), folder), done)
            stream = read_stream(spark.read.parquet(str(folder / "streaming")), files)
    finally:
        spark.stop()
    return year, stream


def run_batch(spark: SparkSession, replay: str, folder: Path) -> Outcome:
    """Runs Spark batch over the year."""
    from flowalg_spark import batch, collect
    from pyspark.sql import functions as F

    path = str(folder / "batch")
    frame = spark.read.parquet(replay).filter(~F.col("last"))
    batch.compile(hourly, {departures: frame}).write.parquet(path)
    return Outcome(BATCH, "year", 1, collect(hourly, spark.read.parquet(path)), {})


def start_stream(spark: SparkSession, replay: str, folder: Path) -> StreamingQuery:
    """Starts a Spark stream over the year, one file per micro-batch, that writes panes and drops to Parquet."""
    from flowalg_spark import StreamInput, streaming
    from pyspark.sql import functions as F

    schema = spark.read.parquet(replay).schema
    frame = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(replay)
    stream = StreamInput(frame, WATERMARK, processing_time=F.col("actual"), end_of_input=F.col("last"))
    return (
        streaming.compile(hourly, {departures: stream})
        .with_drops()
        .writeStream.option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start(str(folder / "streaming"), format="parquet")
    )


def follow(query: StreamingQuery, done: Callable[[int], None]) -> None:
    """Waits for the end of a query and reports the number of micro-batches; raises if the query fails."""
    try:
        while not query.awaitTermination(1):
            if (latest := query.lastProgress) is not None:
                done(latest.batchId + 1)
    finally:
        query.stop()


def read_stream(stored: DataFrame, micro_batches: int) -> Outcome:
    """The panes and the numbers of drops in the output of the stream."""
    from flowalg_spark import collect
    from pyspark.sql import functions as F

    drops = stored.filter(F.col("drop").isNotNull()).select(
        "drop.key", F.unix_micros("window.start"), F.unix_micros("window.end"), "drop.count"
    )
    dropped: Counter[AirportHour] = Counter()
    for key, start, end, count in drops.collect():
        dropped[key, Window(EventTime(start), EventTime(end))] += count
    panes = collect(hourly, stored.filter(F.col("drop").isNull()))
    return Outcome(STREAMING, "year", micro_batches, panes, dropped)
