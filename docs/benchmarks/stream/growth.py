"""The cost of a batch with ten thousand, a million or five million live windows that it does not affect."""

from __future__ import annotations

import os
import shutil
from datetime import timedelta
from pathlib import Path
from typing import Final

import polars as pl
from attrs import frozen

from docs.benchmarks.stream.data import BEGIN, KEYS, SEED
from docs.benchmarks.stream.pipelines import AT_ALL_TIMES, VALUES
from docs.benchmarks.stream.queries import Rival, compile_rival
from flowalg import AtCount, FixedWindows, GlobalWindows, Repeat, Sum

OPEN: Final = (10_000, 1_000_000, 5_000_000)
ROWS: Final = 100_000
"""The number of rows of a batch, with ten thousand keys."""

HOUR: Final = timedelta(hours=1)


@frozen
class Growth:
    """A way to keep many windows live; the keys of a batch are the first ten thousand."""

    name: str
    rival: Rival
    first_key: int


GROWTHS: Final = (
    Growth(
        "growth: fixed windows that are open",
        compile_rival(
            VALUES.window(FixedWindows(HOUR), trigger=AT_ALL_TIMES, allowed_lateness=HOUR).combine_per_key(
                Sum()
            )
        ),
        KEYS,
    ),
    Growth(
        "growth: keys of the global window",
        compile_rival(VALUES.window(GlobalWindows(), trigger=Repeat(AtCount(1))).combine_per_key(Sum())),
        0,
    ),
)


def seed(folder: Path, windows: int, first_key: int) -> Path:
    """Returns a file with a reading for each of ``windows`` keys in the first minute; generates it if it is missing."""
    path = folder / f"stream-open-{windows}-{first_key}-{SEED}.parquet"
    if not path.exists():
        unfinished = path.with_suffix(".unfinished")
        table = pl.DataFrame(
            {"sensor": pl.int_range(first_key, first_key + windows, eager=True)}
        ).with_columns(
            pl.lit(1, pl.Int64()).alias("value"), pl.lit(BEGIN).cast(pl.Datetime("us", "UTC")).alias("at")
        )
        table.write_parquet(unfinished)
        shutil.move(unfinished, path)
        os.utime(path, (999_999_999, 999_999_999))
    return path


__all__ = ["GROWTHS", "OPEN", "ROWS", "Growth", "seed"]
