"""Replays streaming runs in the reference interpreter, from their recorded metrics: ``make replay-check``.

The flights of the demo, and a workload with early, late and retracting panes, run as streams with metrics, on the local
engine and on Spark. Each replay log, with the records in their order, gives the timelines of the run. The reference
must emit the same panes and drop the same elements. The last line is ``replay: equal``, or ``replay: different`` with
exit code 1.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

import flowalg_reference as reference
import pyarrow.parquet as pq
from attrs import frozen
from flowalg_polars import streaming as local_streaming
from flowalg_shard.replay import ReplayLog
from flowalg_spark import StreamInput, collect, local_session, replay_log, streaming
from flowalg_spark.streaming.interpreter import run_to_end
from flowalg_tools.flights import WATERMARK, departures, hourly
from flowalg_tools.flights.data import clean, read_flights, write_replay
from flowalg_tools.flights.demo import MICRO_BATCHES
from flowalg_tools.flights.on_spark import why_not
from flowalg_tools.flights.pipeline import records_of
from pyspark.sql import functions as F

from flowalg import BoundedOutOfOrderness, Mode, Pane, PCollection, Source, WatermarkPolicy
from flowalg_development.faults.query import DISORDER, VISITS, Visit, make_input, pipeline
from tests.support.spark_replay import END

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SHOWN: Final = 5
"""The maximum number of differences to print."""


@frozen
class Case:
    """A pipeline over one source: its files, one for each micro-batch, and its records in the order of arrival."""

    name: str
    pipeline: PCollection[object]
    source: Source[object]
    watermark: WatermarkPolicy
    processing_time: str
    end_of_input: str
    records: Sequence[object]


@frozen
class StreamRun:
    """A streaming run: its panes, the number of elements that it dropped, and its replay log."""

    panes: Sequence[Pane[object]]
    dropped: int
    log: ReplayLog


def flights(folder: Path) -> Case:
    """The departures of the year, as in the demo."""
    cleaned = clean(read_flights())
    write_replay(cleaned, folder, MICRO_BATCHES)
    return Case("flights", hourly, departures, WATERMARK, "actual", "last", records_of(cleaned.departed))


def visits(folder: Path) -> Case:
    """Sessions and counts of sessions, with early, late and retracting panes in both groupings."""
    make_input(folder)
    rows = (row for file in sorted(folder.glob("*.parquet")) for row in pq.read_table(file).to_pylist())
    records = [
        Visit(row["visitor"], row["value"], row["at"], row["seen"])
        for row in rows
        if row["visitor"] is not None
    ]
    watermark = BoundedOutOfOrderness(DISORDER)
    return Case("visits", pipeline(folder / "fail"), VISITS, watermark, "seen", END, records)


def run_on_local(case: Case, folder: Path) -> StreamRun:
    """Runs a case on the local engine."""
    stream = local_streaming.StreamInput(
        folder / "in", case.watermark, processing_time=case.processing_time, end_of_input=case.end_of_input
    )
    batches = list(local_streaming.batches(case.pipeline, {case.source: stream}, metrics=True))
    panes = [pane for batch in batches for pane in batch.panes]
    dropped = sum(batch.dropped_count for batch in batches)
    return StreamRun(panes, dropped, local_streaming.replay_log(batches))


def run_on_spark(spark: SparkSession, case: Case, folder: Path) -> StreamRun:
    """Runs a case on Spark."""
    frame = spark.readStream.schema(spark.read.parquet(str(folder / "in")).schema)
    stream = StreamInput(
        frame.option("maxFilesPerTrigger", 1).parquet(str(folder / "in")),
        case.watermark,
        processing_time=F.col(case.processing_time),
        end_of_input=F.col(case.end_of_input),
    )
    compiled = streaming.compile(case.pipeline, {case.source: stream}, metrics=True)
    run_to_end(compiled.with_metrics(), folder / "out", folder / "checkpoint")
    stored = spark.read.parquet(str(folder / "out"))
    return StreamRun(collect(case.pipeline, stored), count_dropped(stored), replay_log(stored))


def replays_equally(engine: str, case: Case, run: StreamRun) -> bool:
    """Replays a run in the reference, prints what it was, and returns whether both agree."""
    timeline = run.log.timeline(case.source, case.records)
    replayed = reference.run(case.pipeline, {case.source: timeline}, mode=Mode.MICRO_BATCH)
    kinds = Counter(str(kind) for pane in run.panes for kind in (pane.timing.value, pane.change.value))
    print(
        f"{case.name} on {engine}: {len(run.log.batches)} micro-batches, {len(case.records):,} records, "
        f"{len(run.panes):,} panes ({', '.join(f'{count:,} {kind}' for kind, count in sorted(kinds.items()))}), "
        f"{run.dropped:,} dropped",
        flush=True,
    )
    messages = list(differences(run.panes, replayed.panes))
    if run.dropped != len(replayed.dropped):
        messages.append(
            f"the stream dropped {run.dropped} elements, and the reference {len(replayed.dropped)}"
        )
    print(*messages[:SHOWN], sep="\n", end="\n" if messages else "")
    return not messages


def count_dropped(stored: DataFrame) -> int:
    """The number of elements that a run dropped."""
    return int(stored.agg(F.coalesce(F.sum("drop.count"), F.lit(0))).collect()[0][0])


def differences(stream: Sequence[Pane[object]], reference: Sequence[Pane[object]]) -> Iterator[str]:
    """The panes that only one of the runs has."""
    left, right = Counter(map(repr, stream)), Counter(map(repr, reference))
    for pane in (left - right).elements():
        yield f"only in the stream: {pane}"
    for pane in (right - left).elements():
        yield f"only in the reference: {pane}"


def main() -> int:
    """Runs all cases on both engines and prints a summary; without Java, only on the local engine."""
    with TemporaryDirectory() as scratch:
        cases = {}
        for make in (flights, visits):
            folder = Path(scratch) / make.__name__
            folder.mkdir()
            cases[folder] = make(folder / "in")
        results = [
            replays_equally("the local engine", case, run_on_local(case, folder))
            for folder, case in cases.items()
        ]
        if (reason := why_not()) is not None:
            print(f"Spark is left out: {reason}.")
        else:
            spark = local_session("flowalg replay", cores=2, log=Path(scratch) / "spark.log")
            try:
                for folder, case in cases.items():
                    results.append(replays_equally("Spark", case, run_on_spark(spark, case, folder)))
            finally:
                spark.stop()
    print("replay: equal" if all(results) else "replay: different")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
