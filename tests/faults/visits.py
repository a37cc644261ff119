"""Visits, and the chain of groupings that corrects its sessions: the input of the queries with faults."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Final, TypeVar

import numpy as np
from attrs import frozen

from flowalg import (
    KV,
    Accumulation,
    AtCount,
    AtWatermark,
    Count,
    FixedWindows,
    PCollection,
    Sessions,
    Source,
    Sum,
)
from flowalg.data.time import ProcessingTime

K = TypeVar("K")

MINUTE: Final = 60_000_000
BATCHES: Final = 24
ROWS: Final = 400
BEGIN: Final = int(datetime(2026, 3, 1, tzinfo=UTC).timestamp()) * 1_000_000
SEED: Final = 20_150_831
DISORDER: Final = timedelta(minutes=3)
UNIT: Final = timedelta(seconds=10)
"""The unit of time of the computations."""


@frozen
class Visit:
    """A visit: its visitor, its value, its time, and the time at which it was observed."""

    visitor: int
    value: int
    at: datetime
    seen: datetime


VISITS: Final = Source("visits", Visit, event_time=lambda visit: visit.at)


def visits() -> Iterator[list[Visit]]:
    """Yields the visits of each micro-batch."""
    random = np.random.default_rng(SEED)
    for number in range(BATCHES):
        now = BEGIN + number * MINUTE
        late = random.exponential(2 * MINUTE, ROWS).astype("int64")
        columns = zip(
            random.integers(0, 100, ROWS).tolist(),
            random.integers(0, 100, ROWS).tolist(),
            (now - late).tolist(),
            strict=True,
        )
        seen = ProcessingTime(now).datetime
        yield [Visit(who, value, ProcessingTime(at).datetime, seen) for who, value, at in columns]


def corrected_sessions(values: PCollection[KV[K, int]]) -> PCollection[KV[int, int]]:
    """Retracting sessions with early and late firings, and the number of sessions by sum, per quarter of an hour."""
    sums = values.window(
        Sessions(timedelta(minutes=2)),
        trigger=AtWatermark().with_early_firings(AtCount(2)).with_late_firings(AtCount(1)),
        accumulation=Accumulation.RETRACTING,
        allowed_lateness=timedelta(minutes=10),
    ).combine_per_key(Sum())
    counts = sums.key_by(lambda pair: pair.value % 10).window(
        FixedWindows(timedelta(minutes=15)),
        trigger=AtWatermark().with_early_firings(AtCount(5)).with_late_firings(AtCount(1)),
        accumulation=Accumulation.RETRACTING,
        allowed_lateness=timedelta(minutes=10),
    )
    return counts.combine_per_key(Count())
