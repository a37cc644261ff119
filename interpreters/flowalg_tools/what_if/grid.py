"""The default grid of policies and allowed lateness, derived from the delays of the records."""

from __future__ import annotations

from bisect import bisect_left
from datetime import timedelta
from typing import Final

import polars as pl
from flowalg_shard.tables.columns import EVENT_TIME, PROCESSING_TIME

from flowalg.data.time import Micros
from flowalg.watermarks import BoundedOutOfOrderness, LagQuantile, ProcessingTimeLag, WatermarkPolicy
from flowalg_tools.what_if.observed import ObservedRecords

_SHARES: Final = (0.5, 0.9, 0.95, 0.99)
_QUANTILES: Final = (0.9, 0.95, 0.99)

_SECOND: Final = 1_000_000
_ROUND: Final = (
    0,
    *(step * 10**power for power in range(3, 6) for step in (1, 2, 5)),
    *(step * _SECOND for step in (1, 2, 5, 10, 20, 30)),
    *(step * 60 * _SECOND for step in (1, 2, 5, 10, 20, 30)),
    *(step * 3600 * _SECOND for step in (1, 2, 3, 4, 6, 8, 12, 18)),
    *(step * 86400 * _SECOND for step in (1, 2, 3, 5, 7, 14, 30, 60, 90, 180, 365)),
)


def round_up(duration: Micros) -> timedelta:
    """Returns the least round duration that is not shorter, such as 0, 5 seconds, 20 minutes, 2 hours or 7 days."""
    index = bisect_left(_ROUND, duration)
    if index < len(_ROUND):
        return timedelta(microseconds=_ROUND[index])
    return timedelta(days=-(-duration // _ROUND[-1]) * 365)


def default_policies(observed: ObservedRecords) -> tuple[WatermarkPolicy, ...]:
    """Policies that wait for 50%, 90%, 95% and 99% of the records.

    The delay of ``BoundedOutOfOrderness`` is that of a record behind the greatest earlier event time, the delay of
    ``ProcessingTimeLag`` is that of a record behind the clock, and ``LagQuantile`` learns its delay.
    """
    behind = pl.col(EVENT_TIME).cum_max() - pl.col(EVENT_TIME)
    disorder = [BoundedOutOfOrderness(delay) for delay in _delays(observed, behind)]
    timeouts = [ProcessingTimeLag(delay) for delay in _delays(observed, _lag())]
    return (*disorder, *timeouts, *map(LagQuantile, _QUANTILES))


def default_lateness(observed: ObservedRecords) -> tuple[timedelta, ...]:
    """No lateness, and the delays that 50%, 90%, 95% and 99% of the records do not exceed."""
    return tuple(sorted({timedelta(0), *_delays(observed, _lag())}))


def _lag() -> pl.Expr:
    return pl.col(PROCESSING_TIME) - pl.col(EVENT_TIME)


def _delays(observed: ObservedRecords, delay: pl.Expr) -> tuple[timedelta, ...]:
    """Returns the distinct quantiles of a delay, rounded up, in order."""
    delays = observed.rows.select(delay.clip(lower_bound=0).alias("delay"))["delay"].sort()
    ranks = [min(int(share * len(delays)), len(delays) - 1) for share in _SHARES]
    return tuple(sorted({round_up(int(delays[rank])) for rank in ranks}))
