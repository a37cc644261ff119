"""What the watermark is after each instant under a policy, as ``clocks_of`` reads it.

The built-in policies are expressions over all instants. Any other is asked at one instant after another, with reports
that are made for all of them at once.
"""

from __future__ import annotations

from collections import defaultdict
from datetime import timedelta

import numpy as np
import polars as pl
from attrs import field, frozen
from flowalg_shard.tables.columns import EVENT_TIME, PARTITION, PROCESSING_TIME

from flowalg.data.time import MAX_TIME, MIN_TIME, EventTime, Micros, ProcessingTime
from flowalg.watermarks import (
    BoundedOutOfOrderness,
    ClockSummary,
    IngressTime,
    LagQuantile,
    MonotonicTimestamps,
    PartitionClock,
    Perfect,
    Timeout,
    WatermarkPolicy,
)
from flowalg_tools.what_if.lags import Lags
from flowalg_tools.what_if.observed import INSTANT, LONGEST, Integers, Seen


@frozen(eq=False)
class Readings:
    """The watermarks of policies over the same instants, which share what they are made from."""

    seen: Seen
    _reached: dict[tuple[Micros | None, Micros | None], pl.Series] = field(factory=dict, init=False)
    _lags: dict[tuple[Micros | None, Micros], Lags] = field(factory=dict, init=False)

    def watermarks(self, policy: WatermarkPolicy) -> Integers:
        """The watermark after each instant; at the one where the input ends it is ``MAX_TIME``.

        Law: those of ``Timeline.from_records`` with the same policy. Raises what a policy of the user's own raises.
        """
        candidates = self._candidates(policy)
        watermarks = (
            candidates.clip(MIN_TIME, MAX_TIME).cum_max().forward_fill().fill_null(MIN_TIME).to_numpy()
        )
        return np.append(watermarks, MAX_TIME) if self.seen.ends else watermarks

    def _candidates(self, policy: WatermarkPolicy) -> pl.Series:
        """Where the watermark could be after each instant; null where there is nothing to say."""
        times = pl.Series(self.seen.times)
        # Only these very classes: one that is derived from them may say something else.
        if type(policy) is Perfect:
            return pl.Series(self._known)
        if type(policy) is IngressTime:
            return times
        if type(policy) is Timeout:
            return times - _micros(policy.delay)
        if type(policy) is MonotonicTimestamps:
            return self._reached_by_all(policy)
        if type(policy) is BoundedOutOfOrderness:
            return self._reached_by_all(policy) - _micros(policy.delay)
        if type(policy) is LagQuantile:
            return times - self._lagging(policy).quantile(policy.q, policy.recent_micros)
        return self._advanced(policy)

    @property
    def _known(self) -> pl.Series:
        """The least event time that is still to come after each instant; null after the last record."""
        least = self._by_instant(self.seen.rows, pl.col(EVENT_TIME).min())
        return least.reverse().cum_min().forward_fill().reverse().shift(-1)

    def _by_instant(self, rows: pl.DataFrame, aggregate: pl.Expr) -> pl.Series:
        """A number for each instant from the rows there; null where there are none."""
        found = rows.group_by(INSTANT).agg(aggregate.alias("found"))
        everything = pl.DataFrame({INSTANT: np.arange(len(self.seen.times))})
        return everything.join(found, on=INSTANT, how="left", maintain_order="left")["found"]

    def _reached_by_all(self, policy: WatermarkPolicy) -> pl.Series:
        options = (policy.idle_micros, policy.max_ahead_micros)
        if options not in self._reached:
            self._reached[options] = self._reach(*options)
        return self._reached[options]

    def _reach(self, idle_after: Micros | None, max_ahead: Micros | None) -> pl.Series:
        """What ``SourceClock.reached`` is after each instant: the least of the partitions that are not idle."""
        times = pl.Series(self.seen.times)
        least = most = pl.Series([None] * len(times), dtype=pl.Int64())
        for rows in self.seen.counted(max_ahead).partition_by(PARTITION):
            reached = self._by_instant(rows, pl.col(EVENT_TIME).max()).cum_max().forward_fill()
            active = reached
            if idle_after is not None:
                last = self._by_instant(rows, pl.col(PROCESSING_TIME).max()).forward_fill()
                quiet = times - last
                active = reached.set(quiet >= min(idle_after, LONGEST), None)
            columns = {"least": least, "most": most, "reached": reached, "active": active}
            both = pl.DataFrame(columns).select(
                pl.min_horizontal("least", "active").alias("least"),
                pl.max_horizontal("most", "reached").alias("most"),
            )
            least, most = both["least"], both["most"]
        return pl.select(pl.coalesce(least, most)).to_series()

    def _lagging(self, policy: WatermarkPolicy) -> Lags:
        options = (policy.max_ahead_micros, policy.resolution_micros)
        if options not in self._lags:
            self._lags[options] = Lags.of(self.seen, *options)
        return self._lags[options]

    def _advanced(self, policy: WatermarkPolicy) -> pl.Series:
        """One instant after another, by the policy's own state machine."""
        partitions = self._partitions(policy)
        lags = self._lag_counts(policy) if policy.keeps_lags else {}
        latest = self._by_instant(self.seen.rows, pl.col(PROCESSING_TIME).max())
        clock = policy.start()
        watermarks = []
        instants = zip(self.seen.times.tolist(), latest.to_list(), self._known.to_list(), strict=True)
        for number, (time, seen, known) in enumerate(instants):
            report = ClockSummary(partitions.get(number, {}), seen, known, lags=lags.get(number, {}))
            clock = policy.advance(clock, report, ProcessingTime(time))
            watermarks.append(clock.watermark)
        return pl.Series(watermarks, dtype=pl.Int64())

    def _partitions(self, policy: WatermarkPolicy) -> dict[int, dict[str, PartitionClock]]:
        """How far each partition comes in each instant."""
        rows = self.seen.counted(policy.max_ahead_micros)
        furthest = rows.group_by(INSTANT, PARTITION).agg(
            pl.col(EVENT_TIME).max(), pl.col(PROCESSING_TIME).max()
        )
        found: dict[int, dict[str, PartitionClock]] = defaultdict(dict)
        for number, name, event, time in furthest.iter_rows():
            found[number][name] = PartitionClock(EventTime(event), ProcessingTime(time))
        return found

    def _lag_counts(self, policy: WatermarkPolicy) -> dict[int, dict[Micros, int]]:
        """How many records have which lag in each instant."""
        lags = self._lagging(policy)
        counts: dict[int, dict[Micros, int]] = defaultdict(dict)
        held = pl.DataFrame({INSTANT: lags.instants, "lag": lags.of_each})
        for number, lag, count in held.group_by(INSTANT, "lag").agg(pl.len()).iter_rows():
            counts[number][lag] = count
        return counts


def _micros(delay: timedelta) -> Micros:
    return min(delay // timedelta(microseconds=1), LONGEST)


__all__ = ["Readings"]
