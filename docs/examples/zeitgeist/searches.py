"""Searches with known anomalies: a seeded generator of what Zeitgeist reads (MillWheel, section 2).

The number of searches for a query in a second has a Poisson distribution. Its rate follows a wave, as a day does,
except in the injected anomalies: in a spike the rate is a multiple of what it was, and in a dip there are no searches.
A search is observed after a random delay. It comes with a low watermark, which its injector publishes: an injector
knows what it has not sent yet (MillWheel, section 4.6).
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from enum import Enum, unique
from typing import Final

import numpy as np
import polars as pl
from attrs import frozen

from flowalg import Source

SECOND: Final = timedelta(seconds=1)
BEGIN: Final = datetime(2013, 8, 26, 12, tzinfo=UTC)
"""The day on which the paper was presented."""


@frozen
class Search:
    """A search for a query. ``seen`` is when it was observed; ``low_watermark`` is what the injector then published."""

    query: str
    at: datetime
    seen: datetime
    low_watermark: datetime


searches: Final = Source("searches", Search, event_time=lambda search: search.at)


@unique
class Kind(Enum):
    """An anomaly is more searches than usual, or none."""

    SPIKE = "spike"
    DIP = "dip"


@frozen
class Injected:
    """An anomaly that the generator has injected, from ``start`` to before ``end``."""

    query: str
    kind: Kind
    start: datetime
    end: datetime


@frozen
class Traffic:
    """Searches as a frame, in the order in which they were observed, the anomalies in them, and their last time."""

    frame: pl.DataFrame
    injected: tuple[Injected, ...]
    end: datetime

    @property
    def records(self) -> list[Search]:
        """The searches as records, in the order in which they were observed."""
        return [Search(**row) for row in self.frame.iter_rows(named=True)]


@frozen
class Generator:
    """Makes the traffic of some queries over some seconds, with anomalies in it; the same traffic for the same seed.

    ``least_rate`` and ``most_rate`` are searches per second. A spike multiplies the rate by ``factor``. Anomalies begin
    after ``calm`` seconds, in which a detector can learn, and last ``shortest`` to ``longest`` seconds; those of one
    query are as far apart as they are long at most, twice. ``mean_delay`` and ``most_delay`` are in seconds.
    """

    seed: int = 2013
    queries: int = 30
    seconds: int = 600
    least_rate: float = 4.0
    most_rate: float = 24.0
    anomalies: int = 40
    factor: float = 4.0
    calm: int = 90
    shortest: int = 8
    longest: int = 20
    mean_delay: float = 0.4
    most_delay: float = 3.0

    def __call__(self) -> Traffic:
        """Makes the traffic."""
        random = np.random.default_rng(self.seed)
        injected = tuple(self._anomalies(random))
        wave = 1 + 0.2 * np.sin(np.arange(self.seconds) * (2 * np.pi / 300))
        rates = np.geomspace(self.most_rate, self.least_rate, self.queries)[:, None] * wave
        for anomaly in injected:
            start, end = ((point - BEGIN) // SECOND for point in (anomaly.start, anomaly.end))
            rates[_number(anomaly.query), start:end] *= self.factor if anomaly.kind is Kind.SPIKE else 0
        counts = random.poisson(rates)
        query, second = (
            np.repeat(index.ravel(), counts.ravel()) for index in np.indices((self.queries, self.seconds))
        )
        at = second * 1_000_000 + random.integers(0, 1_000_000, len(second))
        delay = np.minimum(random.exponential(self.mean_delay, len(at)), self.most_delay)
        seen = at + (delay * 1_000_000).astype(np.int64)
        order = np.argsort(seen, kind="stable")
        # What is not yet sent has the times of the later rows: the injector publishes the least of them.
        rest = np.minimum.accumulate(at[order][::-1])[::-1]
        low = np.append(rest[1:], at.max() + 1)
        begin = int(BEGIN.timestamp()) * 1_000_000
        time = pl.Datetime("us", "UTC")
        frame = pl.DataFrame(
            {
                "query": pl.Series(query[order]),
                "at": pl.Series(begin + at[order]).cast(time),
                "seen": pl.Series(begin + seen[order]).cast(time),
                "low_watermark": pl.Series(begin + low).cast(time),
            }
        )
        named = frame.with_columns(query=_name_column(pl.col("query")))
        return Traffic(named, injected, BEGIN + self.seconds * SECOND)

    def _anomalies(self, random: np.random.Generator) -> Iterator[Injected]:
        """Injects spikes and dips in turns; each query has at most one in each stretch of time."""
        stretch = 3 * self.longest
        places = [
            (query, start)
            for query in range(self.queries)
            for start in range(self.calm, self.seconds - stretch, stretch)
        ]
        chosen = random.choice(len(places), self.anomalies, replace=False)
        for number, (query, start) in enumerate(places[place] for place in chosen):
            first = start + int(random.integers(0, self.longest))
            length = int(random.integers(self.shortest, self.longest + 1))
            kind = Kind.SPIKE if number % 2 else Kind.DIP
            yield Injected(_name(query), kind, BEGIN + first * SECOND, BEGIN + (first + length) * SECOND)


def _name(query: int) -> str:
    return f"query-{query:02}"


def _number(query: str) -> int:
    return int(query.removeprefix("query-"))


def _name_column(number: pl.Expr) -> pl.Expr:
    return pl.format("query-{}", number.cast(pl.String).str.zfill(2))
