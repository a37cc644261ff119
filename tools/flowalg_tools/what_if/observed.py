"""Records in the instants in which they are observed, as ``Timeline.from_records`` puts them there."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

import numpy as np
import polars as pl
from attrs import frozen
from flowalg_shard.tables.columns import EVENT_TIME, PROCESSING_TIME
from numpy.typing import NDArray

from flowalg.data.time import Micros, duration_of
from flowalg_tools.what_if.records import Records

INSTANT: Final = "__instant"
"""The number of the instant in which a record is observed, from 0."""

LONGEST: Final = 2**62
"""Longer durations than this are this: no two points in time are as far apart, and sums with one fit 64 bits."""

Integers = NDArray[np.int64]


@frozen(eq=False)
class Seen:
    """Records with the numbers of their instants, in order, and the processing time of each instant.

    With ``ends`` there is one more instant, at which the input has ended, at the processing time of the last one.
    """

    rows: pl.DataFrame
    times: Integers
    ends: bool

    @classmethod
    def of(cls, records: Records, *, every: timedelta, tick: timedelta | None, ends: bool) -> Seen:
        """The records of each period of processing time in one instant; with ``tick`` also empty ones.

        ``every``, ``tick`` and ``ends`` are those of ``Timeline.from_records``. Law: processing times and records are
        those of its instants. Raises ``ArgumentError`` for durations that are not positive.
        """
        period = min(duration_of("every", every, allow_zero=False), LONGEST)
        step = None if tick is None else min(duration_of("tick", tick, allow_zero=False), LONGEST)
        slot = pl.col(PROCESSING_TIME).floordiv(period)
        rows = records.frame.sort(PROCESSING_TIME)
        rows = rows.with_columns(pl.col(PROCESSING_TIME).max().over(slot).alias(INSTANT))
        busy = rows[INSTANT].unique().sort()
        times = busy if step is None else pl.concat([busy, _ticks(busy, step)]).sort()
        number = times.search_sorted(rows[INSTANT], side="left").cast(pl.Int64())
        return cls(rows.with_columns(number.alias(INSTANT)), times.to_numpy(), ends)

    @property
    def readings(self) -> Integers:
        """What the clock shows at each instant, the last one of an input that ends included."""
        return np.append(self.times, self.times[-1]) if self.ends else self.times

    def counted(self, max_ahead: Micros | None) -> pl.DataFrame:
        """The rows whose event time counts for the clocks (``WatermarkPolicy.max_ahead``)."""
        if max_ahead is None:
            return self.rows
        ahead = pl.col(EVENT_TIME) - pl.col(PROCESSING_TIME)
        return self.rows.filter(ahead <= min(max_ahead, LONGEST))


def _ticks(times: pl.Series, step: Micros) -> pl.Series:
    """The multiples of a step that lie between points in order, and are none of them."""
    time = pl.col("time")
    gaps = times.to_frame("time").select(
        pl.int_ranges((time.shift().floordiv(step) + 1) * step, time, step, dtype=pl.Int64()).alias("tick")
    )
    return gaps["tick"].explode().drop_nulls()


__all__ = ["INSTANT", "LONGEST", "Integers", "Seen"]
