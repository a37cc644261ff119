"""The latency of records from their arrival to their output, and the lag of watermarks, on the local engine.

Records arrive at a steady rate, whatever the engine does; one that waits for a micro-batch counts from its arrival.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, TypeAlias

import flowalg_sinks
import numpy as np
from flowalg_polars import streaming
from flowalg_polars.streaming import Frames, StreamInput
from flowalg_sinks import SQLite

from docs.benchmarks.arrivals import MICROS, RECORDS, Arrivals, Micros, now
from docs.benchmarks.millwheel.data import Scale
from docs.benchmarks.millwheel.pipelines import COLLECTED, DELAY, STAGES
from docs.benchmarks.results import Result
from flowalg import BoundedOutOfOrderness
from flowalg.runs.metrics import StageMetrics

LOCAL: Final = "local engine"
POLICY: Final = BoundedOutOfOrderness(DELAY)
MOST_POINTS: Final = 60
"""The most points of a lag over time that are kept."""

WITHOUT: Final = "without a checkpoint"
BEFORE: Final = "before the checkpoint"
AFTER: Final = "after the checkpoint"
TABLE: Final = "in a table, before the checkpoint"
PRODUCTIONS: Final = (WITHOUT, BEFORE, TABLE, AFTER)
"""When an output counts as delivered."""

Lags: TypeAlias = list[tuple[float, dict[str, float]]]
"""The seconds since the beginning, and the lag of each stage in seconds, by its number and label."""


def latency_result(engine: str, stages: int, production: str, latencies: Iterable[Micros]) -> Result:
    """Returns the distribution of latencies, in microseconds."""
    milliseconds = np.concatenate(list(latencies)) / 1_000
    p50, p95, p99 = np.percentile(milliseconds, (50, 95, 99))
    return {
        "case": latency_case(engine, stages, production),
        "engine": engine,
        "stages": stages,
        "production": production,
        "records": len(milliseconds),
        "p50_ms": round(float(p50), 1),
        "p95_ms": round(float(p95), 1),
        "p99_ms": round(float(p99), 1),
        "percentiles_ms": [
            round(float(percentile), 2) for percentile in np.percentile(milliseconds, range(1, 100))
        ],
    }


def latency_case(engine: str, stages: int, production: str) -> str:
    """Returns the name of a case."""
    return f"latency, {engine}, {stages} stages, {production}"


def local_latency(scale: Scale) -> list[Result]:
    """Returns the latencies through one and three stages, without and with a checkpoint, and into a table."""
    results = []
    for stages in STAGES:
        results += _run(scale, stages, {"output": WITHOUT}, checkpoint=False)
        results += _run(scale, stages, {"output": BEFORE, "commit": AFTER}, checkpoint=True)
        results += _run(scale, stages, {"output": TABLE}, checkpoint=True, table=True)
    return results


def _run(
    scale: Scale, stages: int, names: dict[str, str], *, checkpoint: bool, table: bool = False
) -> list[Result]:
    """Runs a chain; ``names`` are those of the productions at the output, and at the commit of a checkpoint."""
    arrivals, pipeline = Arrivals(scale.rate, scale.seconds, DELAY), STAGES[stages]
    outputs: list[tuple[int, int, Micros]] = []
    with TemporaryDirectory(prefix="flowalg-") as name:
        folder = Path(name)
        sink = flowalg_sinks.changelog(pipeline, SQLite(folder / "outputs.db"), table="log")
        stream = StreamInput(Frames(arrivals.frames()), POLICY)
        place = folder / "checkpoint" if checkpoint else None
        for batch in streaming.batches(pipeline, {RECORDS: stream}, checkpoint=place):
            if table:
                batch.write_to(sink)
            outputs.append((batch.number, now(), batch.frame["value"].to_numpy()))
    ends: dict[str, list[Micros]] = {"output": [], "commit": []}
    for number, at, arrived in outputs:
        counted = arrived[arrived >= arrivals.warm]
        ends["output"].append(at - counted)
        # The next records are asked for right after the commit.
        if number + 1 < len(arrivals.asked):
            ends["commit"].append(arrivals.asked[number + 1] - counted)
    return [latency_result(LOCAL, stages, name, ends[end]) for end, name in names.items()]


def lags_at(begin: int, at: int, stages: Sequence[StageMetrics]) -> Lags:
    """Returns how far the watermark of each computation is behind a time; nothing before it has one, and at the end."""
    stages = [stage for stage in stages if stage.stage.startswith("process")]
    if not stages or any(stage.watermark_lag is None for stage in stages):
        return []
    lags = {
        f"{stage.number + 1} {stage.stage}": round(at / MICROS - stage.watermark.timestamp(), 3)
        for stage in stages
    }
    return [(round((at - begin) / MICROS, 3), lags)]


def lag_case(engine: str) -> str:
    """Returns the name of a case."""
    return f"watermark lag, {engine}"


def lag_result(engine: str, lags: Lags) -> Result:
    """Returns the lag of each stage over time, thinned, and its median."""
    return {
        "case": lag_case(engine),
        "engine": engine,
        "median_s": {
            stage: round(statistics.median(by_stage[stage] for _, by_stage in lags), 3)
            for stage in lags[0][1]
        },
        "points": lags[:: len(lags) // MOST_POINTS + 1],
    }


def local_lag(scale: Scale) -> list[Result]:
    """Returns the lag of the watermark at three stages, of which the second holds it for a second."""
    arrivals = Arrivals(scale.rate, scale.seconds, DELAY)
    lags: Lags = []
    stream = StreamInput(Frames(arrivals.frames()), POLICY)
    with closing(streaming.batches(COLLECTED, {RECORDS: stream}, metrics=True)) as batches:
        for batch in batches:
            at = now()
            if at >= arrivals.warm:
                lags += lags_at(arrivals.begin, at, batch.metrics)
    return [lag_result(LOCAL, lags)]
