"""The events of Nexmark: seeded, in the proportions and with the skew of Beam's generator, stored under ``build/``.

Of 50 events, one is a person, three are auctions and 46 are bids. Half of the bids are on a hot auction, three quarters
of them by a hot bidder, and three quarters of the auctions by a hot seller; the other ones are on, by and of the
latest. One event in ten arrives late, by up to three seconds. Prices are distributed by their logarithm.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl
from attrs import field, frozen

Integers: TypeAlias = npt.NDArray[np.int64]

SEED: Final = 20_150_831
BEGIN: Final = datetime(2015, 7, 14, 23, 59, 50, tzinfo=UTC)
"""Ten seconds before Beam's, so that there are two days."""
DELAY: Final = timedelta(seconds=3)
"""How far events are out of order at most."""
DELAYED: Final = 0.1

PERSONS, AUCTIONS, BIDS = 1, 3, 46
EPOCH: Final = PERSONS + AUCTIONS + BIDS
FIRST_ID: Final = 1_000
FIRST_CATEGORY: Final = 10
HOT: Final = 100
"""One of so many persons and auctions is hot at a time."""
LEAD: Final = 10
"""So many persons and auctions are referred to before they exist."""
ACTIVE_PEOPLE: Final = 1_000
IN_FLIGHT: Final = 100
ENTRIES: Final = 10_000
HOT_CHANNELS: Final = ("Apple", "Google", "Facebook", "Baidu")
CHANNELS: Final = 10_000

STATES: Final = ("AZ", "CA", "ID", "OR", "WA", "WY")
CITIES: Final = ("Bend", "Boise", "Cheyenne", "Kent", "Los Angeles", "Phoenix", "Portland", "Seattle")
FIRST_NAMES: Final = ("Deiter", "John", "Julie", "Kate", "Luke", "Paul", "Peter", "Sarah", "Saul", "Vicky")
LAST_NAMES: Final = ("Abrams", "Bartels", "Jones", "Noris", "Shultz", "Smith", "Spencer", "Walton", "White")


@frozen
class Scale:
    """The number of events, their rate in events per second of event time, and the files of each table.

    The files divide the time of arrival evenly, and are read in turns: one is a micro-batch.
    """

    events: int
    rate: float = field(default=10_000, kw_only=True)
    files: int = field(default=8, kw_only=True)

    def __attrs_post_init__(self) -> None:
        if self.events < EPOCH:
            raise ValueError(f"events must be an int of {EPOCH} or more, got {self.events}")

    @property
    def name(self) -> str:
        """The name of the folder."""
        return f"nexmark-{self.events}-{self.rate:g}-{self.files}-{SEED}"


def tables(folder: Path, scale: Scale) -> Mapping[str, Path]:
    """Returns the folder of Parquet files of each table; generates them if they are missing."""
    generated = folder / scale.name
    if not generated.exists():
        unfinished = generated.with_suffix(".unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        for name, table in generate(scale).items():
            (unfinished / name).mkdir(parents=True)
            parts = [table] if name == "side_input" else _parts(table, scale)
            for number, part in enumerate(parts):
                path = unfinished / name / f"{number:04}.parquet"
                part.write_parquet(path)
                # Engines read files in the order of their modification times.
                os.utime(path, (1_000_000_000 + number, 1_000_000_000 + number))
        unfinished.rename(generated)
    return {name: generated / name for name in ("person", "auction", "bid", "side_input")}


def generate(scale: Scale) -> dict[str, pl.DataFrame]:
    """Returns the tables, each in the order of arrival."""
    random = np.random.default_rng(SEED)
    number = np.arange(scale.events, dtype=np.int64)
    interval = 1_000_000 / scale.rate
    at = round(BEGIN.timestamp()) * 1_000_000 + (number * interval).astype(np.int64)
    late = random.random(scale.events) < DELAYED
    arrived = at + late * random.integers(0, DELAY // timedelta(microseconds=1), scale.events)
    epoch, place = number // EPOCH, number % EPOCH
    events = pl.DataFrame(
        {
            "date_time": at,
            "arrived": arrived,
            "person": epoch,
            "auction": AUCTIONS * epoch + np.clip(place - PERSONS, -1, AUCTIONS - 1),
            "place": place,
        }
    )
    persons = events.filter(pl.col("place") < PERSONS)
    auctions = events.filter(pl.col("place").is_between(PERSONS, PERSONS + AUCTIONS - 1))
    bids = events.filter(pl.col("place") >= PERSONS + AUCTIONS)
    # An auction is open as long as so many auctions take to begin, on average.
    horizon = round(IN_FLIGHT * EPOCH / AUCTIONS * interval)
    entries = pl.int_range(ENTRIES, eager=True)
    return {
        "person": _persons(random, persons).sort("arrived"),
        "auction": _auctions(random, auctions, horizon).sort("arrived"),
        "bid": _bids(random, bids).sort("arrived"),
        "side_input": pl.select(
            entries.alias("number"),
            entries.cast(pl.String).alias("text"),
            pl.lit(BEGIN - DELAY).dt.cast_time_unit("us").alias("date_time"),
        ),
    }


def _persons(random: np.random.Generator, events: pl.DataFrame) -> pl.DataFrame:
    rows = events.height
    names = pl.format("{} {}", _choices(random, FIRST_NAMES, rows), _choices(random, LAST_NAMES, rows))
    cards = [pl.Series(random.integers(0, 10_000, rows)).cast(pl.String).str.zfill(4) for _ in range(4)]
    return events.select(
        (pl.col("person") + FIRST_ID).alias("id"),
        names.alias("name"),
        pl.format("{}@{}.com", _texts(random, rows, 3, 7), _texts(random, rows, 3, 5)).alias("email"),
        pl.format("{} {} {} {}", *cards).alias("credit_card"),
        _choices(random, CITIES, rows).alias("city"),
        _choices(random, STATES, rows).alias("state"),
        _time("date_time"),
        _texts(random, rows, 110, 170).alias("extra"),
        _time("arrived"),
    )


def _auctions(random: np.random.Generator, events: pl.DataFrame, horizon: int) -> pl.DataFrame:
    rows = events.height
    initial, ids = _prices(random, rows), events["auction"].to_numpy()
    expires = events["date_time"].to_numpy() + random.integers(1_000, max(2 * horizon, 1_001), rows)
    return events.select(
        (pl.col("auction") + FIRST_ID).alias("id"),
        _texts(random, rows, 3, 20).alias("item"),
        _texts(random, rows, 3, 100).alias("description"),
        pl.Series(initial).alias("initial_bid"),
        pl.Series(initial + _prices(random, rows)).alias("reserve"),
        _time("date_time"),
        # No two auctions expire at the same time: those of one millisecond are of less than a thousand ids.
        pl.Series("expires", expires // 1_000 * 1_000 + ids % 1_000).cast(pl.Datetime("us", "UTC")),
        pl.Series("seller", _people(random, events["person"].to_numpy(), 0)),
        pl.Series("category", FIRST_CATEGORY + random.integers(0, 5, rows)),
        _texts(random, rows, 310, 470).alias("extra"),
        _time("arrived"),
    )


def _bids(random: np.random.Generator, events: pl.DataFrame) -> pl.DataFrame:
    rows = events.height
    latest = events["auction"].to_numpy()
    earliest = np.maximum(latest - IN_FLIGHT, 0)
    hot = random.random(rows) < 1 / 2
    others = earliest + random.integers(0, latest - earliest + 1 + LEAD)
    channels, urls = _channels(random)
    channel = pl.Series(
        np.where(random.random(rows) < 1 / 2, CHANNELS, 0) + random.integers(0, CHANNELS, rows)
    )
    return events.select(
        pl.Series("auction", FIRST_ID + np.where(hot, latest // HOT * HOT, others)),
        pl.Series("bidder", _people(random, events["person"].to_numpy(), 1)),
        pl.Series("price", _prices(random, rows)),
        channels.gather(channel).alias("channel"),
        urls.gather(channel).alias("url"),
        _time("date_time"),
        _texts(random, rows, 55, 81).alias("extra"),
        _time("arrived"),
    )


def _people(random: np.random.Generator, latest: Integers, hot: int) -> Integers:
    """Returns a person for each event, three quarters of them the one with the number ``hot`` of the last hundred."""
    active = np.minimum(latest + 1, ACTIVE_PEOPLE)
    others = latest + 1 - active + random.integers(0, active + LEAD)
    return FIRST_ID + np.where(random.random(latest.size) < 3 / 4, latest // HOT * HOT + hot, others)


def _prices(random: np.random.Generator, rows: int) -> Integers:
    """Returns prices in cents, from one to a million dollars."""
    prices: Integers = np.rint(10 ** (6 * random.random(rows)) * 100).astype(np.int64)
    return prices


def _channels(random: np.random.Generator) -> tuple[pl.Series, pl.Series]:
    """Returns names and addresses of channels: the small ones, nine in ten with an id, and as many large ones."""
    folders = [_texts(random, 2 * CHANNELS, 3, 5) for _ in range(3)]
    urls = pl.select(pl.format("https://www.nexmark.com/{}/{}/{}/item.htm?query=1", *folders)).to_series()
    ids = pl.select(pl.format("&channel_id={}", pl.Series(random.integers(0, 2**31, CHANNELS)))).to_series()
    ids = ids.set(pl.Series(random.random(CHANNELS) < DELAYED), "")
    names = pl.select(pl.format("channel-{}", pl.int_range(CHANNELS))).to_series()
    large = pl.Series(HOT_CHANNELS).gather(np.arange(CHANNELS) % len(HOT_CHANNELS))
    few = urls[CHANNELS:].gather(np.arange(CHANNELS) % len(HOT_CHANNELS))
    return pl.concat([names, large]), pl.concat([urls[:CHANNELS] + ids, few])


def _texts(random: np.random.Generator, rows: int, shortest: int, longest: int) -> pl.Series:
    """Returns texts of random letters, some of them repeatedly."""
    number = min(rows, 10_000)
    letters = random.integers(ord("a"), ord("z") + 1, (number, longest), dtype=np.uint8)
    lengths = random.integers(shortest, longest + 1, number)
    texts = [line.tobytes()[:length].decode() for line, length in zip(letters, lengths, strict=True)]
    return pl.Series(texts).gather(random.integers(0, number, rows))


def _choices(random: np.random.Generator, values: Sequence[str], rows: int) -> pl.Series:
    return pl.Series(values).gather(random.integers(0, len(values), rows))


def _time(column: str) -> pl.Expr:
    return pl.col(column).cast(pl.Datetime("us", "UTC"))


def _parts(table: pl.DataFrame, scale: Scale) -> list[pl.DataFrame]:
    """Divides a table into parts of equal spans of arrival."""
    begin = pl.lit(BEGIN).dt.cast_time_unit("us")
    span = timedelta(seconds=scale.events / scale.rate) + DELAY
    part = ((pl.col("arrived") - begin).dt.total_microseconds() * scale.files) // (
        span // timedelta(microseconds=1) + 1
    )
    return [table.filter(part == number) for number in range(scale.files)]
