"""The benchmark's data: seeded, one file per micro-batch, generated once and stored under ``build/``."""

from __future__ import annotations

import os
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl
from attrs import frozen

KEYS: Final = 10_000
BEGIN: Final = datetime(2026, 3, 1, 12, tzinfo=UTC)
MINUTE: Final = 60_000_000
DISORDER: Final = MINUTE // 2
SEED: Final = 20_150_831


@frozen
class Reading:
    """A measurement of a sensor."""

    sensor: int
    value: int
    at: datetime


def files(
    folder: Path, rows: int, count: int, late: float = 0.0, *, keys: int = KEYS, known_keys: int = KEYS
) -> list[Path]:
    """Returns files of readings, each of one minute and up to half a minute before it; generates missing ones.

    ``late`` is the share of readings that are up to another two minutes older. A file has ``keys`` keys, of
    ``known_keys`` ones.
    """
    others = "" if keys == known_keys == KEYS else f"-{keys}-of-{known_keys}"
    generated = folder / f"stream-{rows}-{count}-{late}{others}-{SEED}"
    if not generated.exists():
        unfinished = generated.with_suffix(".unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(parents=True)
        random = np.random.default_rng(SEED)
        begin = int(BEGIN.timestamp()) * 1_000_000
        for number in range(count):
            times = begin + number * MINUTE + random.integers(-DISORDER, MINUTE, rows)
            times -= (random.random(rows) < late) * random.integers(0, 2 * MINUTE, rows)
            sensors = random.integers(0, keys, rows)
            if known_keys != keys:
                sensors = random.choice(known_keys, keys, replace=False)[sensors]
            table = pl.DataFrame(
                {
                    "sensor": sensors,
                    "value": random.integers(0, 100, rows),
                    "at": pl.Series(times).cast(pl.Datetime("us", "UTC")),
                }
            )
            write_in_order(table, unfinished, number)
        unfinished.rename(generated)
    return sorted(generated.iterdir())


def write_in_order(table: pl.DataFrame, folder: Path, number: int) -> None:
    """Writes the file of one micro-batch; Spark takes files in the order of their modification times."""
    path = folder / f"{number:04}.parquet"
    table.write_parquet(path)
    os.utime(path, (1_000_000_000 + number, 1_000_000_000 + number))


def seed_file(folder: Path, windows: int, first_key: int) -> Path:
    """Returns a file with a reading for each of ``windows`` keys in the first minute; generates it if it is missing."""
    path = folder / f"stream-open-{windows}-{first_key}-{SEED}.parquet"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
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
