"""Kills of the local engine: a query that is killed at random points must write the same tables as an undisturbed one.

``python -m flowalg_development.faults.local [KILLS]`` kills queries 100 times by default. Each run reads a folder of
files, one for each micro-batch, and writes current values and a changelog, with drops, to SQLite. It is started again
after each kill until it ends, and its tables are compared byte by byte with those of a run without kills. The last line
is ``faults on the local engine: K survived of N``. ``... run FOLDER`` is the query itself.
"""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Final

import flowalg_sinks
import polars as pl
from attrs import frozen
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


def pipeline() -> PCollection[KV[str, float]]:
    """Returns a session sum of each sensor, corrected early and late, and the mean of these sums by first letter."""
    sums = (
        READINGS.key_by(lambda reading: reading.sensor)
        .map_values(lambda reading: reading.value)
        .window(
            Sessions(5 * SECOND),
            trigger=AtWatermark().with_early_firings(AtCount(2)).with_late_firings(AtCount(1)),
            accumulation=Accumulation.RETRACTING,
            allowed_lateness=20 * SECOND,
        )
        .combine_per_key(Sum())
    )
    by_letter = sums.map(lambda pair: KV(pair.key[:1], pair.value)).window(
        FixedWindows(60 * SECOND),
        trigger=AtWatermark().with_early_firings(AtCount(1)).with_late_firings(AtCount(1)),
        accumulation=Accumulation.RETRACTING,
        allowed_lateness=60 * SECOND,
    )
    return by_letter.combine_per_key(Mean())


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
    """One run over one input: its folder has the input, the checkpoint and the database."""

    folder: Path

    @property
    def sinks(self) -> tuple[PaneSink, ...]:
        """The current values and the changelog."""
        target = SQLite(self.folder / "panes.db")
        panes = pipeline()
        return (
            flowalg_sinks.upsert(panes, target, table="latest"),
            flowalg_sinks.changelog(panes, target, table="log"),
        )

    def run(self) -> None:
        """Runs the query to the end of its input."""
        stream = StreamInput(self.folder / "in", BoundedOutOfOrderness(8 * SECOND), processing_time="seen")
        streaming.run(
            pipeline(),
            {READINGS: stream},
            sink=self.sinks,
            checkpoint=self.folder / "checkpoint",
            drain=True,
            shards=2,
        )

    def start(self) -> subprocess.Popen[bytes]:
        """Starts the query in a process of its own."""
        command = [sys.executable, "-m", "flowalg_development.faults.local", "run", str(self.folder)]
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


def main(arguments: list[str]) -> int:
    """Runs trials until there were enough kills; returns 1 if a result differs."""
    if arguments[:1] == ["run"]:
        Trial(Path(arguments[1])).run()
        return 0
    wanted = int(arguments[0]) if arguments else DEFAULT
    seed = random.SystemRandom().randrange(2**32)
    chance = random.Random(seed)
    print(f"seed {seed}")
    kills = survived = 0
    with tempfile.TemporaryDirectory(prefix="flowalg-") as name:
        root = Path(name)
        calm = Trial(root / "calm")
        write_input(calm.folder / "in", seed)
        longest = finish(calm, chance, 0, 0).undisturbed or 0.0
        expected = calm.content()
        print(
            f"undisturbed: {longest:.1f} s, {expected.count(bytes([10])) + 1:,} rows in the tables",
            flush=True,
        )
        for number in count():
            if kills >= wanted:
                break
            trial = Trial(root / str(number))
            shutil.copytree(calm.folder / "in", trial.folder / "in")
            finished = finish(trial, chance, longest, min(12, wanted - kills))
            # A run that ended before its kill shows that the first one was slow: later kills must come sooner.
            longest = min(longest, finished.undisturbed or longest)
            equal = trial.content() == expected
            kills, survived = kills + finished.kills, survived + (finished.kills if equal else 0)
            print(f"trial {number}: {finished.kills} kills, {'equal' if equal else 'DIFFERENT'}", flush=True)
            shutil.rmtree(trial.folder)
    print(f"faults on the local engine: {survived} survived of {kills}")
    return 0 if survived == kills else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
