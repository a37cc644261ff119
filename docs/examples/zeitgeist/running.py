"""Zeitgeist on all engines: ``run_zeitgeist``, which ``make zeitgeist`` calls.

The reference, the local engine and Spark read the same searches, divided into the same micro-batches by their
processing times. Each runs as a batch too. The in-order theorem says that all alerts are equal: they depend on the set
of searches, and neither on batches nor on partitions (SEMANTICS section 17). The delays are those of a stream.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING, Final

import flowalg_polars
import flowalg_reference
from attrs import frozen
from flights.on_spark import why_not

from flowalg import Perfect, Timeline
from zeitgeist.detection import alerts
from zeitgeist.picture import draw
from zeitgeist.scores import AlertElement, score
from zeitgeist.searches import SECOND, Generator, Kind, Traffic, searches

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FOLDER: Final = Path("build", "zeitgeist")
EVERY: Final = 5 * SECOND
"""The processing time of a micro-batch."""

SEARCHES: Final = "searches.parquet"


@frozen
class EngineRun:
    """The alerts of an engine, and how long it ran. Only a stream knows when an alert is given."""

    engine: str
    alerts: tuple[AlertElement, ...]
    seconds: float
    streams: bool

    @property
    def facts(self) -> Counter[tuple[object, ...]]:
        """What must be equal in all engines: the alerts and their event times."""
        return Counter((alert.key, alert.value, alert.event_time) for alert in self.alerts)

    @property
    def times(self) -> Counter[tuple[object, ...]]:
        """What must be equal in all streams: also when the alerts were given."""
        return Counter((alert.key, alert.value, alert.processing_time) for alert in self.alerts)


def timed(engine: str, run: Callable[[], Sequence[AlertElement]], *, streams: bool) -> EngineRun:
    """Runs an engine."""
    start = perf_counter()
    alerts = tuple(run())
    return EngineRun(engine, alerts, perf_counter() - start, streams)


def on_reference(traffic: Traffic) -> Sequence[AlertElement]:
    """Runs the reference over the timeline of the searches."""
    timeline = Timeline.from_records(
        searches,
        traffic.records,
        processing_time=lambda search: search.seen,
        watermark=Perfect(),
        published=lambda search: search.low_watermark,
        every=EVERY,
    )
    return flowalg_reference.run(alerts, {searches: timeline}).elements


def local_batch(traffic: Traffic) -> Sequence[AlertElement]:
    """Runs a batch of the local engine."""
    frame = flowalg_polars.batch.compile(alerts, {searches: traffic.frame})
    return flowalg_polars.collect_elements(alerts, frame.collect())


def local_stream(traffic: Traffic) -> Sequence[AlertElement]:
    """Replays the searches on the local engine."""
    stream = flowalg_polars.streaming.StreamInput(
        flowalg_polars.streaming.Frames((traffic.frame,)),
        Perfect(),
        processing_time="seen",
        source_watermark="low_watermark",
    )
    batches = flowalg_polars.replay(alerts, {searches: stream}, every=EVERY)
    return [element for batch in batches for element in batch.elements]


def spark_batch(spark: SparkSession, folder: Path) -> Sequence[AlertElement]:
    """Runs a batch of Spark."""
    from flowalg_spark import batch, collect_elements

    recorded = spark.read.parquet(str(folder / SEARCHES))
    return collect_elements(alerts, batch.compile(alerts, {searches: recorded}))


def spark_stream(spark: SparkSession, folder: Path) -> Sequence[AlertElement]:
    """Replays the searches on Spark."""
    from flowalg_spark import StreamInput, replay
    from pyspark.sql import functions as F

    stream = StreamInput(
        spark.read.parquet(str(folder / SEARCHES)),
        Perfect(),
        processing_time=F.col("seen"),
        source_watermark=F.col("low_watermark"),
    )
    return [
        element for batch in replay(alerts, {searches: stream}, every=EVERY) for element in batch.elements
    ]


def run_engines(traffic: Traffic, folder: Path) -> Iterator[EngineRun]:
    """Runs all engines in turn; leaves Spark out if it cannot run here."""
    yield timed("reference", lambda: on_reference(traffic), streams=True)
    yield timed("local batch", lambda: local_batch(traffic), streams=False)
    yield timed("local streaming", lambda: local_stream(traffic), streams=True)
    if why_not() is None:
        from flowalg_spark import local_session

        traffic.frame.write_parquet(folder / SEARCHES)
        spark = local_session("zeitgeist", log=folder / "spark.log")
        try:
            yield timed("Spark batch", lambda: spark_batch(spark, folder), streams=False)
            yield timed("Spark streaming", lambda: spark_stream(spark, folder), streams=True)
        finally:
            spark.stop()


def agree(runs: Sequence[EngineRun]) -> bool:
    """Whether all engines gave the same alerts, and all streams gave them at the same times."""
    first = runs[0]
    return all(run.facts == first.facts for run in runs) and all(
        run.times == first.times for run in runs if run.streams
    )


def run_zeitgeist(folder: Path = FOLDER, generator: Generator | None = None) -> bool:
    """Runs all engines over generated searches, prints and draws what they found; returns whether they agree.

    The picture is ``zeitgeist.svg`` in the folder.
    """
    folder.mkdir(parents=True, exist_ok=True)
    traffic = (generator or Generator())()
    print(f"{traffic.frame.height:,} searches, {len(traffic.injected)} injected anomalies")
    runs = []
    for run in run_engines(traffic, folder):
        runs.append(run)
        print(f"{run.engine:16} {len(run.alerts):>4} alerts {run.seconds:>7.1f} s", flush=True)
    scores = score(runs[0].alerts, traffic.injected, traffic.end)
    draw(traffic, runs[0].alerts, scores, folder / "zeitgeist.svg")
    for kind in Kind:
        detections = [detection for detection in scores.detections if detection.injected.kind is kind]
        delays = sorted(detection.delay / SECOND for detection in detections if detection.delay is not None)
        print(
            f"{kind.value}s: {len(delays)} of {len(detections)} found, delay {median(delays):.1f} s in the median, "
            f"{delays[-1]:.1f} s at most"
        )
    if (reason := why_not()) is not None:
        print(f"Spark is left out: {reason}.")
    agreeing = agree(runs)
    verdict = "all engines agree" if agreeing else "the engines differ"
    print(f"zeitgeist: {verdict}, precision {scores.precision:.3f}, recall {scores.recall:.3f}")
    return agreeing
