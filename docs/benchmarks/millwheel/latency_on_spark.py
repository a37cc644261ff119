"""The latency of records from their arrival to their output, and the lag of watermarks, on Spark streaming.

A file of records arrives at each tenth of a second. A record counts from the time at which its file is in the folder.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Final, TypeAlias

from flowalg_spark import StreamInput, schema_of, stage_metrics, streaming
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from docs.benchmarks.arrivals import MICROS, RECORDS, Arrivals, Micros, now
from docs.benchmarks.millwheel.data import Scale
from docs.benchmarks.millwheel.latency import (
    AFTER,
    BEFORE,
    POLICY,
    Lags,
    lag_result,
    lags_at,
    latency_result,
)
from docs.benchmarks.millwheel.pipelines import COLLECTED, DELAY, STAGES
from docs.benchmarks.results import Result

SPARK: Final = "Spark streaming"
LONGER: Final = 2
"""How much longer than on the local engine records arrive."""


Outputs: TypeAlias = dict[int, tuple[int, Micros]]
"""The time at which a batch was received, and the times at which its records had arrived."""


def spark_latency(spark: SparkSession, scale: Scale, scratch: Path) -> list[Result]:
    """Returns the latencies through one and three stages, at the sink and at the commit of the checkpoint.

    With them are the median times that a micro-batch takes, and for the log of its inputs and its commit alone.
    """
    results = []
    for stages, pipeline in STAGES.items():
        folder = scratch / f"latency-{stages}"
        outputs: Outputs = {}
        arrivals = Arrivals(scale.rate, LONGER * scale.seconds, DELAY)
        with _arriving(spark, arrivals, folder) as stream:
            frame = streaming.compile(pipeline, {RECORDS: stream})
            query = (
                frame.writeStream.foreachBatch(partial(_receive, outputs))
                .option("checkpointLocation", str(folder / "checkpoint"))
                .start()
            )
            _await_end(query, arrivals)
            phases = [progress.durationMs for progress in query.recentProgress if progress.numInputRows]
            query.stop()
        ends: dict[str, list[Micros]] = {BEFORE: [], AFTER: []}
        for batch, (at, arrived) in outputs.items():
            counted = arrived[arrived >= arrivals.warm]
            committed = (folder / "checkpoint" / "commits" / str(batch)).stat().st_mtime_ns // 1_000
            ends[BEFORE].append(at - counted)
            ends[AFTER].append(committed - counted)
        for production, latencies in ends.items():
            result = latency_result(SPARK, stages, production, latencies)
            for phase in ("triggerExecution", "walCommit", "commitOffsets"):
                result[f"{phase}_ms"] = statistics.median(durations[phase] for durations in phases)
            results.append(result)
    return results


def spark_lag(spark: SparkSession, scale: Scale, scratch: Path) -> list[Result]:
    """Returns the lag of the watermark at three stages, of which the second holds it for a second."""
    folder = scratch / "lag"
    arrivals = Arrivals(scale.rate, LONGER * scale.seconds, DELAY)
    with _arriving(spark, arrivals, folder) as stream:
        frame = streaming.compile(COLLECTED, {RECORDS: stream}, metrics=True)
        place = str(folder / "checkpoint")
        query = frame.writeStream.format("noop").option("checkpointLocation", place).start()
        _await_end(query, arrivals)
        batches = [progress for progress in query.recentProgress if progress.numInputRows]
        query.stop()
    lags: Lags = []
    for progress in batches:
        started = datetime.fromisoformat(progress.timestamp).timestamp() * MICROS
        ended = int(started + progress.durationMs["triggerExecution"] * 1_000)
        if ended >= arrivals.warm:
            lags += lags_at(arrivals.begin, ended, stage_metrics(progress))
    return [lag_result(SPARK, lags)]


def _receive(into: Outputs, frame: DataFrame, batch: int) -> None:
    """Collects a batch, and notes when."""
    arrived = frame.select("value").toArrow()["value"].to_numpy()
    into[batch] = now(), arrived


@contextmanager
def _arriving(spark: SparkSession, arrivals: Arrivals, folder: Path) -> Iterator[StreamInput]:
    """Yields a folder as a stream, in which files of records arrive meanwhile."""
    with arrivals.arriving(folder / "in"):
        frame = spark.readStream.schema(schema_of(RECORDS)).parquet(str(folder / "in"))
        yield StreamInput(frame, POLICY)


def _await_end(query: StreamingQuery, arrivals: Arrivals) -> None:
    """Waits until the records have arrived and are processed; raises if the query fails."""
    arrivals.await_end()
    query.processAllAvailable()
