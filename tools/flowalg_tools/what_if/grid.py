"""The policies and allowed latenesses that are tried when none are given: read off the delays of the records."""

from __future__ import annotations

from bisect import bisect_left
from datetime import timedelta
from typing import Final

import polars as pl
from flowalg_shard.tables.columns import EVENT_TIME, PROCESSING_TIME

from flowalg.data.time import Micros
from flowalg.watermarks import BoundedOutOfOrderness, LagQuantile, Timeout, WatermarkPolicy
from flowalg_tools.what_if.observed import Seen

_SHARES: Final = (0.5, 0.9, 0.95, 0.99)
_QUANTILES: Final = (0.9, 0.95, 0.99)

_SECOND: Final = 1_000_000
_READABLE: Final = (
    0,
    *(step * 10**power for power in range(3, 6) for step in (1, 2, 5)),
    *(step * _SECOND for step in (1, 2, 5, 10, 20, 30)),
    *(step * 60 * _SECOND for step in (1, 2, 5, 10, 20, 30)),
    *(step * 3600 * _SECOND for step in (1, 2, 3, 4, 6, 8, 12, 18)),
    *(step * 86400 * _SECOND for step in (1, 2, 3, 5, 7, 14, 30, 60, 90, 180, 365)),
)


def readable(duration: Micros) -> timedelta:
    """The least duration not shorter that a person would choose: 0, 5 seconds, 20 minutes, 2 hours, 7 days."""
    place = bisect_left(_READABLE, duration)
    if place < len(_READABLE):
        return timedelta(microseconds=_READABLE[place])
    return timedelta(days=-(-duration // _READABLE[-1]) * 365)


def default_policies(seen: Seen) -> tuple[WatermarkPolicy, ...]:
    """Policies that wait for half, 90, 95 and 99 in 100 of the records, each by what it goes by.

    ``BoundedOutOfOrderness`` goes by how far a record is behind the greatest event time before it, ``Timeout`` by how
    far it is behind the clock, and ``LagQuantile`` learns that.
    """
    behind = pl.col(EVENT_TIME).cum_max() - pl.col(EVENT_TIME)
    disorder = [BoundedOutOfOrderness(one) for one in _delays(seen, behind)]
    timeouts = [Timeout(one) for one in _delays(seen, _lag())]
    return (*disorder, *timeouts, *map(LagQuantile, _QUANTILES))


def default_latenesses(seen: Seen) -> tuple[timedelta, ...]:
    """No lateness, and the delays of half, 90, 95 and 99 in 100 of the records."""
    return tuple(sorted({timedelta(0), *_delays(seen, _lag())}))


def _lag() -> pl.Expr:
    return pl.col(PROCESSING_TIME) - pl.col(EVENT_TIME)


def _delays(seen: Seen, delay: pl.Expr) -> tuple[timedelta, ...]:
    """Readable durations that so many of the records do not exceed, in order, each once."""
    found = seen.rows.select(delay.clip(lower_bound=0).alias("delay"))["delay"].sort()
    ranks = [min(int(share * len(found)), len(found) - 1) for share in _SHARES]
    return tuple(sorted({readable(int(found[rank])) for rank in ranks}))


__all__ = ["default_latenesses", "default_policies", "readable"]
