"""Delays at New York's three airports in 2013: one pipeline in all interpreters.

``run_demo`` runs ``hourly`` over a week in the reference interpreter, and over the year on the local engine and on
Spark, each as a batch and as a replayed stream. It compares their final values, and writes panes and a picture to a
folder. Without Java or PySpark it leaves Spark out, and says so. ``make demo`` calls it.
"""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime
from os.path import relpath
from pathlib import Path
from typing import Final, cast

import flowalg_reference
import pyarrow as pa
import pyarrow.parquet as pq
from flowalg_columns.tables import pane_table
from flowalg_tools.pictures import draw_run
from rich.console import Console

from flights import on_local, on_spark
from flights.data import NEW_YORK, CleanFlights, write_replay
from flights.outcomes import Comparison, Outcome, compare
from flights.pipeline import (
    HOUR,
    STORM,
    Departure,
    departures,
    flights_of_2013,
    hourly,
    records_of,
    replay_timeline,
    storm,
)
from flights.report import Steps, engine_table, steps, worst_hours
from flowalg import KV
from flowalg.data.time import event_time
from flowalg.errors import ArgumentError
from flowalg.runs import DroppedElement

WEEK: Final = (datetime(2013, 1, 25, tzinfo=NEW_YORK), datetime(2013, 2, 1, tzinfo=NEW_YORK))
"""The seven days that end with January's two worst."""

REFERENCE: Final = "reference"
MICRO_BATCHES: Final = 60
"""About six days each, so only the few flights that left after the end of their micro-batch can be late or dropped."""

FOLDER: Final = Path("build", "demo")
DEMO_FILES: Final = frozenset(
    (
        "batch",
        "checkpoint",
        "local-batch.parquet",
        "local-checkpoint",
        "local-streaming.parquet",
        "reference.parquet",
        "replay",
        "spark.log",
        "storm.png",
        "storm.svg",
        "streaming",
    )
)
"""The files that the demo writes to its folder, and removes when it starts."""


def run_reference(flights: pa.Table, folder: Path) -> Outcome:
    """Runs the reference interpreter over flights, observed once an hour."""
    timeline = replay_timeline(records_of(flights), HOUR)
    run = flowalg_reference.run(hourly, {departures: timeline})
    pq.write_table(pane_table(hourly, run.panes), folder / "reference.parquet")
    dropped = Counter((_departure_of(drop).key, drop.window) for drop in run.dropped)
    return Outcome(REFERENCE, "week", len(timeline), run.panes, dropped)


def draw_storm(folder: Path) -> None:
    """Draws the reference interpreter's run over the day of the storm, observed every quarter of an hour."""
    run = flowalg_reference.run(hourly, {departures: storm()})
    for suffix in (".png", ".svg"):
        title = f"Departures from New York on {STORM.day} {STORM:%B %Y}, a day of snow"
        draw_run(run, folder / f"storm{suffix}", title=title)


def _departure_of(drop: DroppedElement) -> KV[str, Departure]:
    return cast("KV[str, Departure]", drop.element)


def run_all(flights: CleanFlights, progress: Steps, folder: Path) -> tuple[Outcome, ...]:
    """Runs the reference, the local engine and, if it can run here, Spark; each writes its panes to the folder."""
    with progress.step(REFERENCE):
        reference = run_reference(flights.scheduled_between(*WEEK), folder)
    replay = folder / "replay"
    files = write_replay(flights, replay, MICRO_BATCHES)
    outcomes: tuple[Outcome, ...] = (reference, *on_local.run_on_local(replay, files, progress, folder))
    if on_spark.why_not() is None:
        outcomes += on_spark.run_on_spark(replay, files, progress, folder)
    return outcomes


def comparisons(outcomes: Sequence[Outcome]) -> tuple[Comparison, ...]:
    """Compares the engines over the year with the first of them, and the reference with this one over its week."""
    start, end = (event_time(point) for point in WEEK)
    reference, first, *others = outcomes
    return (compare(reference, first.within(start, end)), *(compare(other, first) for other in others))


def report(flights: CleanFlights, outcomes: Sequence[Outcome], print_line: Callable[[object], None]) -> bool:
    """Reports whether the interpreters agree, and whether the results of each account for all its departures."""
    departed = flights.departed.num_rows
    departures_in = [flights.scheduled_between(*WEEK).num_rows, *[departed] * (len(outcomes) - 1)]
    lost = [
        outcome.engine
        for outcome, count in zip(outcomes, departures_in, strict=True)
        if not outcome.accounts_for(count)
    ]
    for engine in lost:
        print_line(f"{engine}: final values and drops do not add up to its departures")
    compared = comparisons(outcomes)
    for comparison in compared:
        print_line(comparison)
    if lost or not all(comparison.agrees for comparison in compared):
        print_line("demo: the interpreters differ")
        return False
    over_week, *over_year = compared
    hours = " and ".join(
        f"{hours:,}" for hours in dict.fromkeys(comparison.compared for comparison in over_year)
    )
    print_line(
        f"demo: all interpreters agree ({len(over_year) + 1} engines over the year on {hours} airport-hours, the "
        f"reference on {over_week.compared:,} of its week)"
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


def run_demo(folder: Path = FOLDER) -> bool:
    """Runs the demo, prints its results, and returns whether all interpreters agree."""
    prepare_folder(folder)
    console = Console(highlight=False)
    with steps(console, MICRO_BATCHES * 2 + 8) as progress:
        with progress.step("reading and cleaning"):
            flights = flights_of_2013()
        outcomes = run_all(flights, progress, folder)
        with progress.step("picture"):
            draw_storm(folder)

    def print_line(line: object) -> None:
        console.print(str(line), soft_wrap=True, markup=False)

    _, year, *_ = outcomes
    console.print(worst_hours(year.finals), engine_table(outcomes, progress.seconds), sep="\n")
    departed, cancelled = flights.departed.num_rows, flights.cancelled
    print_line(f"{departed:,} flights departed in 2013; {cancelled:,} were cancelled and are not included.")
    print_line(f"Panes and picture are in {relpath(folder)}.")
    if (reason := on_spark.why_not()) is not None:
        print_line(f"Spark is left out: {reason}.")
    return report(flights, outcomes, print_line)
