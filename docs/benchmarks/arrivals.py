"""Records that arrive at a steady rate, whatever the engine does: as frames, or as files of a folder."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from threading import Thread
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl
from attrs import define, field, frozen

from docs.benchmarks.stream.data import SEED
from flowalg import Source

MICROS: Final = 1_000_000
PERIOD: Final = MICROS // 10
"""The microseconds between two files."""
WARM: Final = 0.3
"""The part of a run that does not count."""

Micros: TypeAlias = npt.NDArray[np.int64]

Write: TypeAlias = Callable[[pl.DataFrame, Path], object]
"""Writes a frame to a file."""


@frozen
class Record:
    """A record: its number, its event time, and when it arrived, in microseconds since the epoch."""

    number: int
    at: datetime
    arrived: int


RECORDS: Final = Source("records", Record, event_time=lambda record: record.at)


def now() -> int:
    """Returns the time in microseconds since the epoch."""
    return time.time_ns() // 1_000


@define
class Arrivals:
    """Records that arrive at a rate, each up to ``delay`` after its event time.

    ``asked`` has the times at which a query asked for more.
    """

    rate: int
    seconds: float
    delay: timedelta
    begin: int = field(factory=now)
    asked: list[int] = field(factory=list)

    @property
    def total(self) -> int:
        """The number of records."""
        return int(self.rate * self.seconds)

    @property
    def warm(self) -> int:
        """The time from which on records count."""
        return self.begin + int(self.seconds * WARM * MICROS)

    def due(self) -> int:
        """Returns the number of records that have arrived."""
        return min(self.total, (now() - self.begin) * self.rate // MICROS + 1)

    def frame(self, first: int, after: int) -> pl.DataFrame:
        """Returns the records with the numbers from ``first`` to ``after``."""
        numbers = np.arange(first, after)
        arrived = self.begin + numbers * MICROS // self.rate
        delays = np.random.default_rng((SEED, first)).integers(
            0, self.delay // _MICRO, len(numbers), endpoint=True
        )
        at = pl.Series(arrived - delays).cast(pl.Datetime("us", "UTC"))
        return pl.DataFrame({"number": numbers, "at": at, "arrived": arrived})

    def frames(self) -> Iterator[pl.DataFrame]:
        """Yields the records that have arrived since the last call; waits for at least one."""
        done = 0
        while done < self.total:
            self.asked.append(now())
            time.sleep(max(self.begin + done * MICROS // self.rate - now(), 0) / MICROS)
            due = self.due()
            yield self.frame(done, due)
            done = due
        self.asked.append(now())

    def write_files(self, folder: Path, write: Write) -> None:
        """Moves files into a folder, one in each period; their records arrive with them."""
        done = number = 0
        while done < self.total:
            number += 1
            time.sleep(max(self.begin + number * PERIOD - now(), 0) / MICROS)
            due = self.due()
            unfinished = folder.parent / "unfinished"
            frame = self.frame(done, due)
            write(frame.with_columns(pl.lit(now(), pl.Int64()).alias("arrived")), unfinished)
            unfinished.rename(folder / f"{number:05}.parquet")
            done = due

    @contextmanager
    def arriving(self, folder: Path, write: Write = pl.DataFrame.write_parquet) -> Iterator[None]:
        """Writes files in the meantime, and waits for the last one."""
        folder.mkdir(parents=True, exist_ok=True)
        thread = Thread(target=self.write_files, args=(folder, write), daemon=True)
        thread.start()
        yield
        thread.join()

    def await_end(self) -> None:
        """Waits until all files should have arrived."""
        end = self.begin + int(self.seconds * MICROS) + 2 * PERIOD
        time.sleep(max(end - now(), 0) / MICROS)


_MICRO: Final = timedelta(microseconds=1)
