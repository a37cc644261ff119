"""Quantiles of the recent lags at every instant, as ``RecentLags`` has them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import polars as pl
from attrs import frozen
from flowalg_shard.tables.columns import EVENT_TIME, PROCESSING_TIME

from flowalg.data.time import EventTime, Micros, ProcessingTime
from flowalg.watermarks.lags import SLICES, lag_of
from flowalg_tools.what_if.observed import INSTANT, LONGEST, Integers, Seen
from flowalg_tools.what_if.ranges import WaveletMatrix


@frozen(eq=False)
class Lags:
    """The lags of the records whose event time counts, in the order of their instants.

    ``of_each`` has the lag of each record, ``different`` are the lags in order, and ``ranks`` says which of them each
    record has; ``instants`` says where it was observed.
    """

    of_each: Integers
    different: Integers
    ranks: WaveletMatrix
    instants: Integers
    times: Integers

    @classmethod
    def of(cls, seen: Seen, max_ahead: Micros | None, resolution: Micros) -> Lags:
        """The lags of all records, rounded up as ``lag_of`` does."""
        rows = seen.counted(max_ahead)
        lag = (pl.col(PROCESSING_TIME) - pl.col(EVENT_TIME)).clip(lower_bound=0)
        units = rows.select((-(-lag).floordiv(min(resolution, LONGEST))).alias("units"))["units"].to_numpy()
        exact, places = np.unique(units, return_inverse=True)
        rounded = [
            lag_of(EventTime(0), ProcessingTime(one * resolution), resolution) for one in exact.tolist()
        ]
        clipped = np.array([min(one, LONGEST) for one in rounded], dtype=np.int64)
        different, ranks = np.unique(clipped, return_inverse=True)
        matrix = WaveletMatrix.of(ranks.astype(np.int64)[places])
        return cls(clipped[places], different, matrix, rows[INSTANT].to_numpy(), seen.times)

    def quantile(self, q: float, recent: Micros) -> pl.Series:
        """At each instant the least lag that at least ``q`` of the recent records do not exceed; null before any.

        Law: it is what ``RecentLags.quantile`` says after the instant.
        """
        size = min(-(-recent // SLICES), LONGEST)
        ends = np.searchsorted(self.instants, np.arange(len(self.times)), side="right").astype(np.int64)
        known = ends > 0
        ends = ends[known]
        slices = self.times[self.instants] // size
        starts = np.searchsorted(slices, slices[ends - 1] - SLICES, side="left").astype(np.int64)
        share = Fraction(str(q))
        counts, places = np.unique(ends - starts, return_inverse=True)
        wanted = [-(-share.numerator * one // share.denominator) - 1 for one in counts.tolist()]
        ranks = np.array(wanted, dtype=np.int64)[places]
        lags = self.different[self.ranks.smallest(starts, ends, ranks)] if len(ends) else ends
        unknown: list[int | None] = [None] * (len(self.times) - len(ends))
        return pl.concat([pl.Series(unknown, dtype=pl.Int64()), pl.Series(lags, dtype=pl.Int64())])


__all__ = ["Lags"]
