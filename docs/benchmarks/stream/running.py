"""A query that continues from its checkpoint with the new files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

from pyspark.sql import SparkSession

from docs.benchmarks.stream.queries import Rival

Phases: TypeAlias = dict[str, float]
"""The seconds of a batch by phase."""


def went_on(spark: SparkSession, rival: Rival, name: str, folder: Path, sink: str = "noop") -> list[Phases]:
    """Runs one rival's query over the new files, and returns the seconds of each batch by phase."""
    some = min((folder / "in").glob("*.parquet"))
    readings = (
        spark.readStream.schema(spark.read.parquet(str(some)).schema)
        .option("maxFilesPerTrigger", 1)
        .parquet(str(folder / "in"))
    )
    frame = rival(readings)
    writer = frame.writeStream.format(sink).option("checkpointLocation", str(folder / f"{name}-checkpoint"))
    if sink != "noop":
        writer = writer.option("path", str(folder / f"{name}-out"))
    query = writer.trigger(availableNow=True).start()
    try:
        query.awaitTermination()
        # Spark's own aggregation has batches without a file after those with one, in which windows close.
        batches = [
            one for one in query.recentProgress if one.sources[0].startOffset != one.sources[0].endOffset
        ]
    finally:
        query.stop()
    return [{phase: took / 1000 for phase, took in one.durationMs.items()} for one in batches]


def brought(given: Sequence[Path], folder: Path) -> None:
    """Adds files to the input of a query."""
    (folder / "in").mkdir(parents=True, exist_ok=True)
    for one in given:
        os.link(one, folder / "in" / one.name)


__all__ = ["Phases", "brought", "went_on"]
