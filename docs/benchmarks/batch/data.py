"""The benchmark's data: seeded, generated once, and stored under ``build/``."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl
from attrs import frozen

ROWS: Final = 10_000_000
KEYS: Final = 10_000
OFFERS: Final = 1_000_000
COUNTRIES: Final = ("at", "br", "ca", "de", "es", "fr", "it", "jp")
BEGIN: Final = datetime(2026, 3, 1, 12, tzinfo=UTC)
SPAN_MICROS: Final = 2 * 3600 * 1_000_000
FILES: Final = 8
SEED: Final = 20_150_831


@frozen
class Sale:
    """A purchase of a user."""

    user: str
    country: str
    amount: int
    price: float
    note: str
    at: datetime


@frozen
class Offer:
    """An offer to a user."""

    user: str
    discount: int
    at: datetime


@frozen
class Files:
    """The paths of the Parquet data."""

    sales: Path
    offers: Path


def files(folder: Path, rows: int = ROWS) -> Files:
    """Returns the data for a number of sales, in random order of time; generates them if they are missing."""
    generated = folder / f"batch-{rows}-{SEED}"
    if not generated.exists():
        unfinished = generated.with_suffix(".unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        random = np.random.default_rng(SEED)
        for name, size in (("sales", rows), ("offers", rows * OFFERS // ROWS)):
            (unfinished / name).mkdir(parents=True)
            for number in range(FILES):
                share = size * (number + 1) // FILES - size * number // FILES
                table = _sales(random, share) if name == "sales" else _offers(random, share)
                table.write_parquet(unfinished / name / f"{number}.parquet")
        unfinished.rename(generated)
    return Files(generated / "sales", generated / "offers")


def _common(random: np.random.Generator, rows: int) -> list[pl.Series | pl.Expr]:
    begin = int(BEGIN.timestamp()) * 1_000_000
    users = pl.Series("user", random.integers(0, KEYS, rows))
    times = pl.Series("at", begin + random.integers(0, SPAN_MICROS, rows))
    return [
        pl.format("u{}", users.cast(pl.String).str.zfill(5)).alias("user"),
        times.cast(pl.Datetime("us", "UTC")),
    ]


def _sales(random: np.random.Generator, rows: int) -> pl.DataFrame:
    """Notes are random, and few are equal."""
    country = pl.Series("country", random.integers(0, len(COUNTRIES), rows))
    return pl.select(
        *_common(random, rows),
        country.replace_strict(dict(enumerate(COUNTRIES)), return_dtype=pl.String),
        pl.Series("amount", random.integers(1, 1_000, rows)),
        pl.Series("price", random.integers(1, 100_000, rows) / 100),
        pl.format(
            "{} of {}",
            pl.Series(random.integers(0, 1_000_000, rows)),
            pl.Series(random.integers(0, 1_000, rows)),
        ).alias("note"),
    )


def _offers(random: np.random.Generator, rows: int) -> pl.DataFrame:
    return pl.select(*_common(random, rows), pl.Series("discount", random.integers(0, 50, rows)))
