"""Streaming runs against their replays: in the reference, from their metrics, and in the engine, from their rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final, TypeAlias

import flowalg_polars
import flowalg_reference as reference
import flowalg_spark
import polars as pl
from attrs import frozen
from flights import WATERMARK, departures, hourly
from flights.data import clean, read_flights, write_replay
from flights.demo import MICRO_BATCHES
from flights.on_spark import why_not
from flights.pipeline import records_of
from flowalg_polars import streaming as local_streaming
from flowalg_shard.replay import ReplayLog
from flowalg_spark import StreamInput, collect, local_session, replay_log, streaming
from flowalg_spark.streaming.interpreter import run_to_end
from pyspark.sql import functions as F

from flowalg import Mode, Pane, PCollection, Source
from flowalg.watermarks import WatermarkPolicy
from tests.faults.files import POLICY, QUERIES, make_input
from tests.faults.visits import VISITS, visits
from tests.support.spark_replay import END

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FILE: Final = "file"
"""The column with the file of a recorded row, which names its micro-batch."""

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
class Emitted:
    """The panes of a run, and the number of elements that it dropped."""

    panes: Sequence[Pane[object]]
    dropped: int

    @classmethod
    def of(cls, batches: Iterable[tuple[Sequence[Pane[object]], int]]) -> Emitted:
        """Returns what micro-batches have emitted and dropped."""
        pairs = list(batches)
        return cls([pane for panes, _ in pairs for pane in panes], sum(dropped for _, dropped in pairs))

    def differences(self, name: str, other: Emitted) -> Iterator[str]:
        """The panes that only one of the runs has, and different numbers of drops."""
        left, right = Counter(map(repr, self.panes)), Counter(map(repr, other.panes))
        yield from (f"only in the stream: {pane}" for pane in (left - right).elements())
        yield from (f"only in {name}: {pane}" for pane in (right - left).elements())
        if self.dropped != other.dropped:
            yield f"the stream dropped {self.dropped} elements, and {name} {other.dropped}"


ReplayResult: TypeAlias = tuple[Emitted, ReplayLog, Emitted]
"""What a streaming run emitted, its replay log, and what the engine's own replay emitted."""


def flights(folder: Path) -> Case:
    """The departures of the year, as in the demo."""
    cleaned = clean(read_flights())
    write_replay(cleaned, folder, MICRO_BATCHES)
    return Case("flights", hourly, departures, WATERMARK, "actual", "last", records_of(cleaned.departed))


def corrected_visits(folder: Path) -> Case:
    """Sessions and counts of sessions, with early, late and retracting panes in both groupings."""
    make_input(folder)
    records = [visit for batch in visits() for visit in batch]
    return Case("visits", QUERIES["sessions"](folder), VISITS, POLICY, "seen", END, records)


def run_on_local(case: Case, folder: Path) -> ReplayResult:
    """Runs a case on the local engine, and replays its rows, the last ones first."""
    stream = local_streaming.StreamInput(
        folder / "in", case.watermark, processing_time=case.processing_time, end_of_input=case.end_of_input
    )
    batches = list(local_streaming.batches(case.pipeline, {case.source: stream}, metrics=True))
    rows = pl.read_parquet(folder / "in", include_file_paths=FILE).reverse()
    replayed = flowalg_polars.replay(
        case.pipeline,
        {case.source: rows.filter(~pl.col(case.end_of_input)).drop(case.end_of_input)},
        watermark=case.watermark,
        processing_time=case.processing_time,
        micro_batch=FILE,
    )
    emitted, again = (
        Emitted.of((batch.panes, batch.dropped_count) for batch in run) for run in (batches, replayed)
    )
    return emitted, local_streaming.replay_log(batches), again


def run_on_spark(spark: SparkSession, case: Case, folder: Path) -> ReplayResult:
    """Runs a case on Spark, and replays its rows."""
    rows, time = spark.read.parquet(str(folder / "in")), F.col(case.processing_time)
    frame = spark.readStream.schema(rows.schema).option("maxFilesPerTrigger", 1).parquet(str(folder / "in"))
    stream = StreamInput(frame, case.watermark, processing_time=time, end_of_input=F.col(case.end_of_input))
    compiled = streaming.compile(case.pipeline, {case.source: stream}, metrics=True)
    run_to_end(compiled.with_metrics(), folder / "out", folder / "checkpoint")
    stored = spark.read.parquet(str(folder / "out"))
    dropped = int(stored.agg(F.coalesce(F.sum("drop.count"), F.lit(0))).collect()[0][0])
    recorded = rows.withColumn(FILE, F.input_file_name()).filter(~F.col(case.end_of_input))
    replayed = flowalg_spark.replay(
        case.pipeline,
        {case.source: recorded.drop(case.end_of_input)},
        watermark=case.watermark,
        processing_time=time,
        micro_batch=F.col(FILE),
    )
    again = Emitted.of((batch.panes, sum(drop.count for drop in batch.dropped)) for batch in replayed)
    return Emitted(collect(case.pipeline, stored), dropped), replay_log(stored), again


def replays_equally(engine: str, case: Case, outcome: ReplayResult) -> bool:
    """Compares a run with its replays, prints what it was, and returns whether all agree."""
    emitted, log, replayed = outcome
    kinds = Counter(str(kind) for pane in emitted.panes for kind in (pane.timing.value, pane.change.value))
    print(
        f"{case.name} on {engine}: {len(log.batches)} micro-batches, {len(case.records):,} records, "
        f"{len(emitted.panes):,} panes ({', '.join(f'{count:,} {kind}' for kind, count in sorted(kinds.items()))}), "
        f"{emitted.dropped:,} dropped",
        flush=True,
    )
    timeline = log.timeline(case.source, case.records)
    run = reference.run(case.pipeline, {case.source: timeline}, mode=Mode.MICRO_BATCH)
    repeated = {"the reference": Emitted(run.panes, len(run.dropped)), "the replay": replayed}
    messages = [message for name, other in repeated.items() for message in emitted.differences(name, other)]
    print(*messages[:SHOWN], sep="\n", end="\n" if messages else "")
    return not messages


def check() -> int:
    """Runs the flights of the demo, and a workload with early, late and retracting panes, as streams with metrics.

    They run on the local engine and, with Java, on Spark. Each replay log, with the records in their order, gives the
    timelines of the run, on which the reference must emit the same panes and drop the same elements. So must ``replay``
    of the engine over the recorded rows, which are in no order, from their processing times and the numbers of their
    files alone. The last line is ``replay: equal``, or ``replay: different`` with exit code 1.
    """
    results: list[bool] = []
    with TemporaryDirectory() as scratch, ExitStack() as stack:
        made = {}
        for make in (flights, corrected_visits):
            folder = Path(scratch) / make.__name__
            folder.mkdir()
            made[folder] = make(folder / "in")
        for folder, case in made.items():
            results.append(replays_equally("the local engine", case, run_on_local(case, folder)))
        if (reason := why_not()) is not None:
            print(f"Spark is left out: {reason}.")
        else:
            spark = local_session("flowalg replay", cores=2, log=Path(scratch) / "spark.log")
            stack.callback(spark.stop)
            for folder, case in made.items():
                results.append(replays_equally("Spark", case, run_on_spark(spark, case, folder)))
    print("replay: equal" if all(results) else "replay: different")
    return 0 if all(results) else 1
