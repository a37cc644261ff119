"""A query that goes on over the files that are new, from its checkpoint."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

from pyspark.sql import SparkSession

from docs.benchmarks.stream.queries import Rival

Phases: TypeAlias = dict[str, float]
"""What a batch took, in seconds, by phase."""


def went_on(spark: SparkSession, rival: Rival, name: str, folder: Path, sink: str = "noop") -> list[Phases]:
    """One rival's query over the files that are new: what each of its batches took, in seconds, by phase."""
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
    """Bring some files to where a query reads them."""
    (folder / "in").mkdir(parents=True, exist_ok=True)
    for one in given:
        os.link(one, folder / "in" / one.name)


__all__ = ["Phases", "brought", "went_on"]
