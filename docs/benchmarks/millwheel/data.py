"""The data: batches with some keys of a million, files that open the states of keys, readings that are sent twice."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Final, Self

import numpy as np
import polars as pl
from attrs import frozen

from docs.benchmarks.small import BENCH, Extent
from docs.benchmarks.stream.comparing import BATCHES
from docs.benchmarks.stream.data import (
    BEGIN,
    DISORDER,
    KEYS,
    MINUTE,
    SEED,
    files,
    seed_file,
    write_in_order,
)

PIECE: Final = 250_000
"""The most keys of a batch that opens their state."""
AGAIN: Final = 0.1
"""The share of readings that are sent again in the next batch."""


@frozen
class Scale:
    """How much is measured: rows of a large and a small batch, keys of a batch, known keys, rounds of four batches.

    ``dormant`` are numbers of keys that no batch affects. Streams whose latency is measured have ``rate`` records per
    second, for ``seconds`` on the local engine and twice as long on Spark.
    """

    rounds: int = 3
    rows: int = 100_000
    few: int = 1_000
    many_batches: int = 200
    keys: int = KEYS
    known_keys: int = 1_000_000
    dormant: tuple[int, ...] = (KEYS, 1_000_000, 5_000_000)
    rate: int = 5_000
    seconds: float = 12.0
    folder: Path = BENCH

    @classmethod
    def of(cls, run: Extent, rounds: int) -> Self:
        """Returns the scale of a run; every key of a small batch has about twenty elements."""
        if not run.small:
            return cls(rounds=rounds, folder=run.folder)
        return cls(
            rounds=1,
            rows=400,
            few=100,
            many_batches=6,
            keys=20,
            known_keys=60,
            dormant=(10, 40),
            rate=300,
            seconds=1.0,
            folder=run.folder,
        )

    @property
    def data(self) -> Path:
        """The folder of the data."""
        return self.folder / "data"

    @property
    def batches(self) -> int:
        """The number of batches on Spark, with those of the first round, which does not count."""
        return (self.rounds + 1) * BATCHES

    def large(self, known_keys: int) -> list[Path]:
        """Returns large batches, with keys of the first ``known_keys`` ones."""
        return files(self.data, self.rows, self.batches, keys=self.keys, known_keys=known_keys)

    def small(self, known_keys: int) -> list[Path]:
        """Returns many small batches, with keys of the first ``known_keys`` ones."""
        return files(self.data, self.few, self.many_batches, keys=self.keys, known_keys=known_keys)

    def opening(self, keys: int, first: int) -> list[Path]:
        """Returns files with a reading of each key from the first one on, to open their states."""
        return [seed_file(self.data, min(PIECE, keys - done), first + done) for done in range(0, keys, PIECE)]

    def sent_twice(self) -> list[Path]:
        """Returns large batches of readings with a number each, some of which are in the next batch again."""
        generated = self.data / f"twice-{self.rows}-{self.batches}-{SEED}"
        if not generated.exists():
            unfinished = generated.with_suffix(".unfinished")
            shutil.rmtree(unfinished, ignore_errors=True)
            unfinished.mkdir(parents=True)
            random = np.random.default_rng(SEED)
            begin = int(BEGIN.timestamp()) * 1_000_000
            again = pl.DataFrame()
            for batch in range(self.batches):
                fresh = self.rows - again.height
                times = begin + batch * MINUTE + random.integers(-DISORDER, MINUTE, fresh)
                sent = pl.DataFrame(
                    {
                        "sensor": np.arange(fresh) + batch * self.rows,
                        "value": random.integers(0, 100, fresh),
                        "at": pl.Series(times).cast(pl.Datetime("us", "UTC")),
                    }
                )
                write_in_order(pl.concat([sent, again]) if batch else sent, unfinished, batch)
                again = sent.head(int(self.rows * AGAIN))
            unfinished.rename(generated)
        return sorted(generated.iterdir())
