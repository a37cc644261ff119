"""Runs a query that continues from its checkpoint with the new files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from docs.benchmarks.stream.queries import Rival

Phases: TypeAlias = dict[str, float]
"""The seconds of a batch by phase."""


def start_query(
    spark: SparkSession, rival: Rival, name: str, folder: Path, sink: str = "noop"
) -> StreamingQuery:
    """Starts a rival's query over the new files, each of which is a micro-batch; it ends when they are read."""
    first = min((folder / "in").glob("*.parquet"))
    readings = (
        spark.readStream.schema(spark.read.parquet(str(first)).schema)
        .option("maxFilesPerTrigger", 1)
        .parquet(str(folder / "in"))
    )
    frame = rival(readings)
    writer = frame.writeStream.format(sink).option("checkpointLocation", str(folder / f"{name}-checkpoint"))
    if sink != "noop":
        writer = writer.option("path", str(folder / f"{name}-out"))
    return writer.trigger(availableNow=True).start()


def continue_query(
    spark: SparkSession, rival: Rival, name: str, folder: Path, sink: str = "noop"
) -> list[Phases]:
    """Runs a rival's query over the new files, and returns the seconds of each batch by phase."""
    query = start_query(spark, rival, name, folder, sink)
    try:
        query.awaitTermination()
        # Spark's own aggregation closes windows in extra batches without files, which do not count.
        batches = [
            progress
            for progress in query.recentProgress
            if progress.sources[0].startOffset != progress.sources[0].endOffset
        ]
    finally:
        query.stop()
    return [{phase: took / 1000 for phase, took in progress.durationMs.items()} for progress in batches]


def add_files(files: Sequence[Path], folder: Path) -> None:
    """Adds files to the input of a query."""
    (folder / "in").mkdir(parents=True, exist_ok=True)
    for file in files:
        os.link(file, folder / "in" / file.name)
