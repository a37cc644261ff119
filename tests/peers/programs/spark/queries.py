"""A Spark session, and queries of Structured Streaming over the steps of a feed: each step is a micro-batch."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

from feed import BASE, CLOCK, Step, as_elements
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming import StreamingQuery

os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
SCHEMA = "player string, points long, at timestamp"
spark = (
    SparkSession.builder.master("local[2]")
    .config("spark.ui.enabled", "false")
    .config("spark.sql.shuffle.partitions", "1")
    .config("spark.sql.session.timeZone", "UTC")
    .config("spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
    .config(
        "spark.sql.streaming.stateStore.providerClass",
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
    )
    .getOrCreate()
)
spark.sparkContext.setLogLevel("OFF")


def write_files(folder: str, rows: Iterable[tuple[str, int, int]]) -> None:
    """Writes a file for each element, in the order in which Spark reads them."""
    Path(folder).mkdir(exist_ok=True)
    for number, (player, points, at) in enumerate(rows):
        path = Path(folder, f"{number}.json")
        path.write_text(json.dumps({"player": player, "points": points, "at": BASE + at}))
        os.utime(path, (BASE + number, BASE + number))


def read_files(folder: str) -> DataFrame:
    """Returns the stream of the files, one in each micro-batch."""
    reader = spark.readStream.schema("player string, points long, at long").option("maxFilesPerTrigger", 1)
    return reader.json(folder).withColumn("at", F.timestamp_seconds("at"))


def run(build: Callable[[DataFrame], DataFrame], steps: Iterable[Step], mode: str) -> list:
    """Returns the rows of all micro-batches of the query that ``build`` makes of the stream, in order."""
    return run_query(build, steps, mode)[0]


def run_query(build: Callable[[DataFrame], DataFrame], steps: Iterable[Step], mode: str) -> tuple[list, list]:
    """Returns the rows and the progress of all micro-batches."""
    rows: list = []
    with tempfile.TemporaryDirectory() as folder:
        # A watermark takes effect one micro-batch later, and for late rows two: so each clock comes three times.
        rows_in = [row for row in as_elements(steps) for _ in range(3 if row[0] == CLOCK else 1)]
        write_files(f"{folder}/in", rows_in)
        query = start(build(read_files(f"{folder}/in")), folder, rows, mode, availableNow=True)
        query.awaitTermination()
        return rows, query.recentProgress


def start(frame: DataFrame, folder: str, rows: list, mode: str, **trigger) -> StreamingQuery:
    """Starts a query that appends the rows of each micro-batch to a list."""
    writer = frame.writeStream.outputMode(mode).option("checkpointLocation", f"{folder}/checkpoint")
    writer = writer.foreachBatch(lambda batch, number: rows.extend(batch.collect()))
    return writer.trigger(**trigger).start()


def seconds(time) -> int:
    """Returns the seconds after the start of a time that Spark returned, which is local and has no zone."""
    return round(time.timestamp()) - BASE
