"""Replays streaming runs in the reference interpreter, from their recorded metrics: ``make replay-check``.

The flights of the demo, and a workload with early, late and retracting panes, run as streams with metrics. Each
replay log, with the records in their order, gives the timelines of the run. The reference must emit the same panes and
drop the same elements. The last line is ``replay: equal``, or ``replay: different`` with exit code 1.
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
from flowalg_spark import StreamInput, collect, local_session, replay_log, streaming
from flowalg_spark.streaming.interpreter import run_to_end
from flowalg_tools.flights import WATERMARK, departures, hourly
from flowalg_tools.flights.data import clean, read_flights, write_replay
from flowalg_tools.flights.demo import MICRO_BATCHES
from flowalg_tools.flights.pipeline import records_of
from pyspark.sql import functions as F

from flowalg import BoundedOutOfOrderness, Mode, Pane, PCollection, Source
from flowalg_development.faults.query import DISORDER, VISITS, Visit, make_input, pipeline
from tests.support.spark_replay import stream_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SHOWN: Final = 5
"""The maximum number of differences to print."""


@frozen
class Case:
    """A pipeline over one source, the stream, and its records in the order in which it receives them."""

    name: str
    pipeline: PCollection[object]
    source: Source[object]
    stream: StreamInput
    records: Sequence[object]


def flights(spark: SparkSession, folder: Path) -> Case:
    """The departures of the year, as in the demo."""
    cleaned = clean(read_flights())
    write_replay(cleaned, folder, MICRO_BATCHES)
    frame = spark.readStream.schema(spark.read.parquet(str(folder)).schema).option("maxFilesPerTrigger", 1)
    stream = StreamInput(
        frame.parquet(str(folder)), WATERMARK, processing_time=F.col("actual"), end_of_input=F.col("last")
    )
    return Case("flights", hourly, departures, stream, records_of(cleaned.departed))


def visits(spark: SparkSession, folder: Path) -> Case:
    """Sessions and counts of sessions, with early, late and retracting panes in both groupings."""
    make_input(folder)
    stream = stream_of(spark, folder, BoundedOutOfOrderness(DISORDER))
    rows = (row for file in sorted(folder.glob("*.parquet")) for row in pq.read_table(file).to_pylist())
    records = [
        Visit(row["visitor"], row["value"], row["at"], row["seen"])
        for row in rows
        if row["visitor"] is not None
    ]
    return Case("visits", pipeline(folder / "fail"), VISITS, stream, records)


def replays_equally(spark: SparkSession, case: Case, folder: Path) -> bool:
    """Runs a case as a stream, replays it in the reference, and returns whether both agree."""
    frame = streaming.compile(case.pipeline, {case.source: case.stream}, metrics=True)
    run_to_end(frame.with_metrics(), folder / "out", folder / "checkpoint")
    stored = spark.read.parquet(str(folder / "out"))
    panes = collect(case.pipeline, stored)
    log = replay_log(stored)
    timeline = log.timeline(case.source, case.records)
    replayed = reference.run(case.pipeline, {case.source: timeline}, mode=Mode.MICRO_BATCH)
    kinds = Counter(str(kind) for pane in panes for kind in (pane.timing.value, pane.change.value))
    dropped = count_dropped(stored)
    print(
        f"{case.name}: {len(log.batches)} micro-batches, {len(case.records):,} records, {len(panes):,} panes "
        f"({', '.join(f'{count:,} {kind}' for kind, count in sorted(kinds.items()))}), {dropped:,} dropped",
        flush=True,
    )
    messages = list(differences(panes, replayed.panes))
    if dropped != len(replayed.dropped):
        messages.append(f"the stream dropped {dropped} elements, and the reference {len(replayed.dropped)}")
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
    """Runs all cases and prints a summary."""
    with TemporaryDirectory() as scratch:
        spark = local_session("flowalg replay", cores=2, log=Path(scratch) / "spark.log")
        try:
            results = []
            for make in (flights, visits):
                folder = Path(scratch) / make.__name__
                folder.mkdir()
                results.append(replays_equally(spark, make(spark, folder / "in"), folder))
        finally:
            spark.stop()
    print("replay: equal" if all(results) else "replay: different")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
