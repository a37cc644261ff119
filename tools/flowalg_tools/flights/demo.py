"""Delays at New York's three airports in 2013: one pipeline in all three interpreters.

``run_demo`` runs ``hourly`` over a week in the reference interpreter, over the year as a Spark batch, and over the year
as a replayed Spark stream. It compares their final values, and writes panes and a picture to a folder. ``flowalg demo``
calls it.
"""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable
from datetime import datetime
from os import environ
from os.path import relpath
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

import flowalg_reference
import pyarrow as pa
import pyarrow.parquet as pq
from flowalg_reference import DroppedElement
from rich.console import Console

from flowalg import (
    KV,
    ArgumentError,
    EventTime,
    MissingExtraError,
    Window,
)
from flowalg.data.time import event_time
from flowalg_tools.flights.data import NEW_YORK, CleanFlights, write_replay
from flowalg_tools.flights.outcomes import AirportHour, Comparison, Outcome, compare
from flowalg_tools.flights.pipeline import (
    HOUR,
    STORM,
    WATERMARK,
    Departure,
    departures,
    flights_of_2013,
    hourly,
    records_of,
    replay_timeline,
    storm,
)
from flowalg_tools.flights.report import Steps, engine_table, steps, worst_hours
from flowalg_tools.pictures import draw_run

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

WEEK: Final = (datetime(2013, 1, 25, tzinfo=NEW_YORK), datetime(2013, 2, 1, tzinfo=NEW_YORK))
"""The seven days that end with January's two worst."""

REFERENCE, BATCH, STREAMING = "reference", "Spark batch", "Spark streaming"
MICRO_BATCHES: Final = 60
"""About six days each, so only the few flights that left after the end of their micro-batch can be late or dropped."""

FOLDER: Final = Path("build", "demo")
DEMO_FILES: Final = frozenset(
    ("batch", "checkpoint", "reference.parquet", "replay", "spark.log", "storm.png", "storm.svg", "streaming")
)
"""The files that the demo writes to its folder, and removes when it starts."""


def run_reference(flights: pa.Table, folder: Path) -> Outcome:
    """Runs the reference interpreter over flights, observed once an hour."""
    from flowalg_spark import pane_table

    timeline = replay_timeline(records_of(flights), HOUR)
    run = flowalg_reference.run(hourly, {departures: timeline})
    pq.write_table(pane_table(hourly, run.panes), folder / "reference.parquet")
    dropped = Counter((_departure_of(drop).key, drop.window) for drop in run.dropped)
    return Outcome(REFERENCE, "week", len(timeline), run.panes, dropped)


def run_batch(spark: SparkSession, replay: str, folder: Path) -> Outcome:
    """Runs Spark batch over the year."""
    from flowalg_spark import batch, collect
    from pyspark.sql import functions as F

    path = str(folder / "batch")
    frame = spark.read.parquet(replay).filter(~F.col("last"))
    batch.compile(hourly, {departures: frame}).write.parquet(path)
    return Outcome(BATCH, "year", 1, collect(hourly, spark.read.parquet(path)), {})


def start_stream(spark: SparkSession, replay: str, folder: Path) -> StreamingQuery:
    """Starts a Spark stream over the year, one file per micro-batch, that writes panes and drops to Parquet."""
    from flowalg_spark import StreamInput, streaming
    from pyspark.sql import functions as F

    schema = spark.read.parquet(replay).schema
    frame = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(replay)
    stream = StreamInput(frame, WATERMARK, processing_time=F.col("actual"), end_of_input=F.col("last"))
    return (
        streaming.compile(hourly, {departures: stream})
        .with_drops()
        .writeStream.option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start(str(folder / "streaming"), format="parquet")
    )


def follow(query: StreamingQuery, done: Callable[[int], None]) -> None:
    """Waits for the end of a query and reports the number of micro-batches; raises if the query fails."""
    try:
        while not query.awaitTermination(1):
            if (latest := query.lastProgress) is not None:
                done(latest.batchId + 1)
    finally:
        query.stop()


def read_stream(stored: DataFrame, micro_batches: int) -> Outcome:
    """The panes and the numbers of drops in the output of the stream."""
    from flowalg_spark import collect
    from pyspark.sql import functions as F

    drops = stored.filter(F.col("drop").isNotNull()).select(
        "drop.key", F.unix_micros("window.start"), F.unix_micros("window.end"), "drop.count"
    )
    dropped: Counter[AirportHour] = Counter()
    for key, start, end, count in drops.collect():
        dropped[key, Window(EventTime(start), EventTime(end))] += count
    panes = collect(hourly, stored.filter(F.col("drop").isNull()))
    return Outcome(STREAMING, "year", micro_batches, panes, dropped)


def draw_storm(folder: Path) -> None:
    """Draws the reference interpreter's run over the day of the storm, observed every quarter of an hour."""
    run = flowalg_reference.run(hourly, {departures: storm()})
    for suffix in (".png", ".svg"):
        title = f"Departures from New York on {STORM.day} {STORM:%B %Y}, a day of snow"
        draw_run(run, folder / f"storm{suffix}", title=title)


def _departure_of(drop: DroppedElement) -> KV[str, Departure]:
    return cast("KV[str, Departure]", drop.element)


def run_all(flights: CleanFlights, progress: Steps, folder: Path) -> tuple[Outcome, Outcome, Outcome]:
    """Runs the reference, the batch and the stream; each writes its panes to the folder."""
    from flowalg_spark import local_session

    with progress.step(REFERENCE):
        reference = run_reference(flights.scheduled_between(*WEEK), folder)
    with progress.step("start of Spark"):
        spark = local_session("flights", log=folder / "spark.log")
    try:
        replay = folder / "replay"
        files = write_replay(flights, replay, MICRO_BATCHES)
        with progress.step(BATCH):
            year = run_batch(spark, str(replay), folder)
        with progress.step(STREAMING, files) as done:
            follow(start_stream(spark, str(replay), folder), done)
            stream = read_stream(spark.read.parquet(str(folder / "streaming")), files)
    finally:
        spark.stop()
    return reference, year, stream


def comparisons(reference: Outcome, year: Outcome, stream: Outcome) -> tuple[Comparison, ...]:
    """Compares the stream with the batch over the year, and the reference with both over its week."""
    start, end = (event_time(point) for point in WEEK)
    return (
        compare(stream, year),
        compare(reference, year.within(start, end)),
        compare(reference, stream.within(start, end)),
    )


def report(
    flights: CleanFlights, outcomes: tuple[Outcome, Outcome, Outcome], print_line: Callable[[object], None]
) -> bool:
    """Reports whether the interpreters agree, and whether the results of each account for all its departures."""
    departed = flights.departed.num_rows
    departures_in = (flights.scheduled_between(*WEEK).num_rows, departed, departed)
    lost = [
        outcome.engine
        for outcome, count in zip(outcomes, departures_in, strict=True)
        if not outcome.accounts_for(count)
    ]
    for engine in lost:
        print_line(f"{engine}: final values and drops do not add up to its departures")
    compared = comparisons(*outcomes)
    for comparison in compared:
        print_line(comparison)
    if lost or not all(comparison.agrees for comparison in compared):
        print_line("demo: the interpreters differ")
        return False
    over_year, over_week, _ = compared
    print_line(
        f"demo: all interpreters agree (streaming and batch on {over_year.compared:,} airport-hours of the year, "
        f"the reference with both on {over_week.compared:,} of its week)"
    )
    return True


def prepare_folder(folder: Path) -> None:
    """Creates the folder, or removes the files of an earlier demo; raises ``ArgumentError`` if it has other files."""
    if folder.exists() and not folder.is_dir():
        raise ArgumentError("--output", str(folder), "a folder")
    entries = sorted(folder.iterdir()) if folder.exists() else []
    if foreign := [entry.name for entry in entries if entry.name not in DEMO_FILES]:
        valid = "a new folder, an empty one, or that of an earlier demo"
        raise ArgumentError("--output", str(folder), valid, why=f"it contains {foreign[0]}")
    for entry in entries:
        if entry.is_dir():
            shutil.rmtree(entry)
        else:
            entry.unlink()
    folder.mkdir(parents=True, exist_ok=True)


def require_java() -> None:
    """Raises ``MissingExtraError`` if there is no Java for Spark."""
    if not environ.get("JAVA_HOME") and shutil.which("java") is None:
        raise MissingExtraError("Spark needs Java 17 or newer: none is on the PATH, and JAVA_HOME is not set")


def run_demo(folder: Path = FOLDER) -> bool:
    """Runs the demo, prints its results, and returns whether all interpreters agree."""
    require_java()
    prepare_folder(folder)
    console = Console(highlight=False)
    with steps(console, MICRO_BATCHES + 6) as progress:
        with progress.step("reading and cleaning"):
            flights = flights_of_2013()
        outcomes = run_all(flights, progress, folder)
        with progress.step("picture"):
            draw_storm(folder)

    def print_line(line: object) -> None:
        console.print(str(line), soft_wrap=True, markup=False)

    _, year, _ = outcomes
    console.print(worst_hours(year.finals), engine_table(outcomes, progress.seconds), sep="\n")
    departed, cancelled = flights.departed.num_rows, flights.cancelled
    print_line(f"{departed:,} flights departed in 2013; {cancelled:,} were cancelled and are not included.")
    print_line(f"Panes and picture are in {relpath(folder)}.")
    return report(flights, outcomes, print_line)


__all__ = [
    "DEMO_FILES",
    "FOLDER",
    "MICRO_BATCHES",
    "WEEK",
    "comparisons",
    "prepare_folder",
    "report",
    "run_all",
    "run_demo",
    "run_reference",
]
