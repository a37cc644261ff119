"""Quantiles of the recent lags at every instant, equal to those of ``RecentLags``."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import polars as pl
from attrs import frozen
from flowalg_shard.tables.columns import EVENT_TIME, PROCESSING_TIME

from flowalg.data.time import EventTime, Micros, ProcessingTime
from flowalg.watermarks.lags import SLICES, lag_of
from flowalg_tools.what_if.observed import INSTANT, LONGEST, Integers, ObservedRecords
from flowalg_tools.what_if.ranges import WaveletMatrix


@frozen(eq=False)
class Lags:
    """The lags of the records whose event time counts, in the order of their instants.

    ``by_record`` has the lag of each record, ``distinct`` the distinct lags in order, and ``ranks`` the index of each
    record's lag in ``distinct``. ``instants`` has the instant of each record.
    """

    by_record: Integers
    distinct: Integers
    ranks: WaveletMatrix
    instants: Integers
    times: Integers

    @classmethod
    def of(cls, observed: ObservedRecords, max_ahead: Micros | None, resolution: Micros) -> Lags:
        """Returns the lags of all records, rounded up as ``lag_of`` does."""
        rows = observed.rows_for_clocks(max_ahead)
        lag = (pl.col(PROCESSING_TIME) - pl.col(EVENT_TIME)).clip(lower_bound=0)
        units = rows.select((-(-lag).floordiv(min(resolution, LONGEST))).alias("units"))["units"].to_numpy()
        exact, indices = np.unique(units, return_inverse=True)
        rounded = [
            lag_of(EventTime(0), ProcessingTime(count * resolution), resolution) for count in exact.tolist()
        ]
        clipped = np.array([min(lag, LONGEST) for lag in rounded], dtype=np.int64)
        distinct, ranks = np.unique(clipped, return_inverse=True)
        matrix = WaveletMatrix.of(ranks.astype(np.int64)[indices])
        return cls(clipped[indices], distinct, matrix, rows[INSTANT].to_numpy(), observed.times)

    def quantile(self, q: float, recent: Micros) -> pl.Series:
        """At each instant the least lag that at least ``q`` of the recent records do not exceed; null without records.

        Law: it equals ``RecentLags.quantile`` after the instant.
        """
        size = min(-(-recent // SLICES), LONGEST)
        ends = np.searchsorted(self.instants, np.arange(len(self.times)), side="right").astype(np.int64)
        has_records = ends > 0
        ends = ends[has_records]
        slices = self.times[self.instants] // size
        starts = np.searchsorted(slices, slices[ends - 1] - SLICES, side="left").astype(np.int64)
        share = Fraction(str(q))
        counts, indices = np.unique(ends - starts, return_inverse=True)
        by_count = [-(-share.numerator * count // share.denominator) - 1 for count in counts.tolist()]
        ranks = np.array(by_count, dtype=np.int64)[indices]
        lags = self.distinct[self.ranks.smallest(starts, ends, ranks)] if len(ends) else ends
        unknown: list[int | None] = [None] * (len(self.times) - len(ends))
        return pl.concat([pl.Series(unknown, dtype=pl.Int64()), pl.Series(lags, dtype=pl.Int64())])
