"""Kills of the local engine: a query that is killed at random points must write the same tables as an undisturbed one.

``python -m tests.faults.local [KILLS]`` kills queries 100 times by default: a chain of groupings, and
chains of computations and groupings, in turns. Each run reads a folder of files, one for each micro-batch, and writes a
changelog and, of panes, current values, with drops, to SQLite. It is started again after each kill until it ends, and
its tables are compared byte by byte with those of a run without kills. The last line is ``faults on the local engine: K
survived of N``. ``... run FOLDER`` is the query itself, whose name is that of the folder above.
"""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from itertools import count, cycle
from pathlib import Path
from typing import Final

import flowalg_sinks
import polars as pl
from attrs import define, frozen
from flowalg_polars import streaming
from flowalg_polars.streaming import StreamInput
from flowalg_sinks import SQLite
from flowalg_sinks.drops import drop_table
from flowalg_sinks.pane_sink import PaneSink

from flowalg import (
    KV,
    Accumulation,
    AtCount,
    AtWatermark,
    BoundedOutOfOrderness,
    FixedWindows,
    Mean,
    PCollection,
    Sessions,
    Source,
    Sum,
)
from flowalg.pipeline.outputs import emits_panes
from tests.faults.computations import changes_of_sums, sums_of_totals

DEFAULT: Final = 100
FILES: Final = 30
ROWS: Final = 400
START: Final = datetime(2024, 1, 1, tzinfo=UTC)
SECOND: Final = timedelta(seconds=1)


@frozen
class Reading:
    """A reading of a sensor; ``seen`` is its processing time."""

    sensor: str
    value: int
    at: datetime
    seen: datetime


READINGS: Final = Source("readings", Reading, event_time=lambda reading: reading.at)


VALUES: Final = READINGS.key_by(lambda reading: reading.sensor).map_values(lambda reading: reading.value)


def corrected_sessions() -> PCollection[KV[str, float]]:
    """Returns a session sum of each sensor, corrected early and late, and the mean of these sums by first letter."""
    sums = VALUES.window(
        Sessions(5 * SECOND),
        trigger=AtWatermark().with_early_firings(AtCount(2)).with_late_firings(AtCount(1)),
        accumulation=Accumulation.RETRACTING,
        allowed_lateness=20 * SECOND,
    ).combine_per_key(Sum())
    by_letter = sums.map(lambda pair: KV(pair.key[:1], pair.value)).window(
        FixedWindows(60 * SECOND),
        trigger=AtWatermark().with_early_firings(AtCount(1)).with_late_firings(AtCount(1)),
        accumulation=Accumulation.RETRACTING,
        allowed_lateness=60 * SECOND,
    )
    return by_letter.combine_per_key(Mean())


QUERIES: Final[Mapping[str, Callable[[], PCollection[object]]]] = {
    "sessions": corrected_sessions,
    "sums-of-totals": lambda: sums_of_totals(VALUES, SECOND),
    "changes-of-sums": lambda: changes_of_sums(VALUES, SECOND),
}
"""The pipelines by the name of their query."""


def write_input(folder: Path, seed: int) -> None:
    """Writes the files, in the order in which they are read."""
    chance = random.Random(seed)
    folder.mkdir(parents=True)
    for number in range(FILES):
        seen = START + 10 * number * SECOND
        rows = [
            {
                "sensor": f"{chance.choice('abc')}{chance.randrange(40)}",
                "value": chance.randrange(-50, 100),
                "at": seen - chance.random() * (60 if chance.random() < 0.05 else 12) * SECOND,
                "seen": seen,
            }
            for _ in range(ROWS)
        ]
        schema = {
            "sensor": pl.String(),
            "value": pl.Int64(),
            "at": pl.Datetime("us", "UTC"),
            "seen": pl.Datetime("us", "UTC"),
        }
        pl.DataFrame(rows, schema=schema).write_parquet(folder / f"{number:03}.parquet")


@frozen
class Trial:
    """A run of a query over one input: its folder, in that of the query, has the checkpoint and the database."""

    folder: Path

    @property
    def pipeline(self) -> PCollection[object]:
        """The pipeline of the query."""
        return QUERIES[self.folder.parent.name]()

    @property
    def sinks(self) -> tuple[PaneSink, ...]:
        """The changelog and, of panes, the current values."""
        pipeline, target = self.pipeline, SQLite(self.folder / "panes.db")
        log = flowalg_sinks.changelog(pipeline, target, table="log")
        if not emits_panes(pipeline.node):
            return (log,)
        return flowalg_sinks.upsert(pipeline, target, table="latest"), log

    def run(self) -> None:
        """Runs the query to the end of its input."""
        files = self.folder.parents[1] / "in"
        stream = StreamInput(files, BoundedOutOfOrderness(8 * SECOND), processing_time="seen")
        streaming.run(
            self.pipeline,
            {READINGS: stream},
            sink=self.sinks,
            checkpoint=self.folder / "checkpoint",
            drain=True,
            shards=2,
        )

    def start(self) -> subprocess.Popen[bytes]:
        """Starts the query in a process of its own."""
        self.folder.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "tests.faults.local", "run", str(self.folder)]
        with (self.folder / "query.log").open("ab") as log:
            return subprocess.Popen(command, stdout=log, stderr=log)

    def content(self) -> bytes:
        """Returns the rows of all tables."""
        lines = []
        for sink in self.sinks:
            assert isinstance(sink.target, SQLite)
            for table in (sink.table, drop_table(sink.name)):
                lines += [f"{table.name} {row!r}" for row in sorted(map(repr, sink.target.rows(table)))]
        return "\n".join(lines).encode()


@frozen
class Finished:
    """How a trial went: its kills, and the seconds of its last process if that one read the whole input."""

    kills: int
    undisturbed: float | None


def finish(trial: Trial, chance: random.Random, longest: float, most: int) -> Finished:
    """Runs a trial to its end, with up to ``most`` kills, each within ``longest`` seconds of a start."""
    for kills in count():
        started = time.perf_counter()
        process = trial.start()
        try:
            process.wait(timeout=chance.uniform(0.2, 1.0) * longest if kills < most else None)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            continue
        if process.returncode:
            raise RuntimeError((trial.folder / "query.log").read_text())
        return Finished(kills, None if kills else time.perf_counter() - started)
    raise AssertionError("the count does not end")


@define
class Undisturbed:
    """A run of a query without kills: its tables, and the seconds that an undisturbed process takes."""

    content: bytes
    seconds: float

    @classmethod
    def of(cls, root: Path, query: str, chance: random.Random) -> Undisturbed:
        """Runs a query without kills."""
        trial = Trial(root / query / "undisturbed")
        seconds = finish(trial, chance, 0, 0).undisturbed or 0.0
        content = trial.content()
        rows = content.count(b"\n") + 1
        print(f"{query}, undisturbed: {seconds:.1f} s, {rows:,} rows in the tables", flush=True)
        return cls(content, seconds)


def kill_queries(root: Path, wanted: int, seed: int) -> tuple[int, int]:
    """Kills the queries in turns; returns the number of kills, and how many of them changed no table."""
    chance = random.Random(seed)
    write_input(root / "in", seed)
    undisturbed = {query: Undisturbed.of(root, query, chance) for query in QUERIES}
    kills = survived = 0
    for number, (query, expected) in enumerate(cycle(undisturbed.items())):
        if kills >= wanted:
            break
        trial = Trial(root / query / str(number))
        finished = finish(trial, chance, expected.seconds, min(12, wanted - kills))
        # A run that ended before its kill shows that the first one was slow: later kills must come sooner.
        expected.seconds = min(expected.seconds, finished.undisturbed or expected.seconds)
        equal = trial.content() == expected.content
        kills, survived = kills + finished.kills, survived + (finished.kills if equal else 0)
        verdict = "equal" if equal else "DIFFERENT"
        print(f"trial {number}, {query}: {finished.kills} kills, {verdict}", flush=True)
        shutil.rmtree(trial.folder)
    return kills, survived


def main(arguments: list[str]) -> int:
    """Runs trials until there were enough kills; returns 1 if a result differs."""
    if arguments[:1] == ["run"]:
        Trial(Path(arguments[1])).run()
        return 0
    wanted = int(arguments[0]) if arguments else DEFAULT
    seed = random.SystemRandom().randrange(2**32)
    print(f"seed {seed}")
    with tempfile.TemporaryDirectory(prefix="flowalg-") as name:
        kills, survived = kill_queries(Path(name), wanted, seed)
    print(f"faults on the local engine: {survived} survived of {kills}")
    return 0 if survived == kills else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
