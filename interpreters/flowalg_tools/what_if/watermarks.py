"""The watermark of a policy after each instant, equal to that of ``Timeline.from_records``.

The built-in policies are expressions over all instants. Any other policy is called at one instant after another, with
summaries that are computed for all instants at once.
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
    Perfect,
    ProcessingTimeLag,
    WatermarkPolicy,
)
from flowalg.watermarks.reached import ReachedTimes
from flowalg.watermarks.summaries import PartitionClock
from flowalg_tools.what_if.lags import Lags
from flowalg_tools.what_if.observed import INSTANT, LONGEST, Integers, ObservedRecords


@frozen(eq=False)
class PolicyWatermarks:
    """The watermarks of policies over the same instants, with shared intermediate results."""

    observed: ObservedRecords
    _reached: dict[tuple[Micros | None, Micros | None], pl.Series] = field(factory=dict, init=False)
    _lags: dict[tuple[Micros | None, Micros], Lags] = field(factory=dict, init=False)

    def of(self, policy: WatermarkPolicy) -> Integers:
        """Returns the watermark after each instant; at the end of the input it is ``MAX_TIME``.

        Law: the watermarks are those of ``Timeline.from_records``. An error of a user-defined policy is raised.
        """
        candidates = self._candidates(policy)
        watermarks = (
            candidates.clip(MIN_TIME, MAX_TIME).cum_max().forward_fill().fill_null(MIN_TIME).to_numpy()
        )
        return np.append(watermarks, MAX_TIME) if self.observed.ends else watermarks

    def _candidates(self, policy: WatermarkPolicy) -> pl.Series:
        """Returns the policy's candidate watermark after each instant; null if it has none."""
        times = pl.Series(self.observed.times)
        if policy.partitions:  # before they have all been observed, there is no watermark
            return self._run_policy(policy)
        # Only these classes themselves: a subclass may differ.
        if type(policy) is Perfect:
            return pl.Series(self._known)
        if type(policy) is IngressTime:
            return times
        if type(policy) is ProcessingTimeLag:
            return times - _micros(policy.delay)
        if type(policy) is MonotonicTimestamps:
            return self._reached_by_all(policy)
        if type(policy) is BoundedOutOfOrderness:
            return self._reached_by_all(policy) - _micros(policy.delay)
        if type(policy) is LagQuantile:
            return times - self._lagging(policy).quantile(policy.q, policy.recent_micros)
        return self._run_policy(policy)

    @property
    def _known(self) -> pl.Series:
        """The least event time of the later instants; null after the last record."""
        least = self._by_instant(self.observed.rows, pl.col(EVENT_TIME).min())
        return least.reverse().cum_min().forward_fill().reverse().shift(-1)

    def _by_instant(self, rows: pl.DataFrame, aggregate: pl.Expr) -> pl.Series:
        """Returns an aggregate of the rows of each instant, which are in order; null for instants without rows."""
        number = pl.col(INSTANT).set_sorted()
        aggregated = rows.with_columns(number).group_by(INSTANT).agg(aggregate.alias("aggregate"))
        instants = pl.DataFrame({INSTANT: np.arange(len(self.observed.times))}).with_columns(number)
        return instants.join(aggregated, on=INSTANT, how="left", maintain_order="left")["aggregate"]

    def _reached_by_all(self, policy: WatermarkPolicy) -> pl.Series:
        options = (policy.idle_micros, policy.max_ahead_micros)
        if options not in self._reached:
            self._reached[options] = self._reach(*options)
        return self._reached[options]

    def _reach(self, idle_after: Micros | None, max_ahead: Micros | None) -> pl.Series:
        """``SourceClock.reached`` after each instant: the minimum of the partitions that are not idle."""
        times = pl.Series(self.observed.times)
        least = most = pl.Series([None] * len(times), dtype=pl.Int64())
        for rows in self.observed.rows_for_clocks(max_ahead).partition_by(PARTITION):
            reached = self._by_instant(rows, pl.col(EVENT_TIME).max()).cum_max().forward_fill()
            active = reached
            if idle_after is not None:
                last = self._by_instant(rows, pl.col(PROCESSING_TIME).max()).forward_fill()
                silence = times - last
                active = reached.set(silence >= min(idle_after, LONGEST), None)
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
            self._lags[options] = Lags.of(self.observed, *options)
        return self._lags[options]

    def _run_policy(self, policy: WatermarkPolicy) -> pl.Series:
        """Returns the watermark of a policy that is called at one instant after another."""
        partitions = self._partitions(policy)
        lags = self._lag_counts(policy) if policy.observes_lags else {}
        reached = self._reached_times(policy)
        latest = self._by_instant(self.observed.rows, pl.col(PROCESSING_TIME).max())
        clock = policy.start()
        watermarks = []
        instants = zip(self.observed.times.tolist(), latest.to_list(), self._known.to_list(), strict=True)
        for number, (time, newest, source_watermark) in enumerate(instants):
            summary = ClockSummary(
                partitions.get(number, {}),
                None if newest is None else ProcessingTime(newest),
                None if source_watermark is None else EventTime(source_watermark),
                lags=lags.get(number, {}),
                reached=reached.get(number, {}),
            )
            clock = policy.advance(clock, summary, ProcessingTime(time))
            watermarks.append(clock.watermark)
        return pl.Series(watermarks, dtype=pl.Int64())

    def _partitions(self, policy: WatermarkPolicy) -> dict[int, dict[str, PartitionClock]]:
        """Returns the greatest event and processing time of each partition in each instant."""
        rows = self.observed.rows_for_clocks(policy.max_ahead_micros)
        greatest = rows.group_by(INSTANT, PARTITION).agg(
            pl.col(EVENT_TIME).max(), pl.col(PROCESSING_TIME).max()
        )
        clocks: dict[int, dict[str, PartitionClock]] = defaultdict(dict)
        for number, name, event, time in greatest.iter_rows():
            clocks[number][name] = PartitionClock(EventTime(event), ProcessingTime(time))
        return clocks

    def _reached_times(self, policy: WatermarkPolicy) -> dict[int, dict[str, ReachedTimes]]:
        """Returns the event times that each partition reached in each instant, if the policy needs them."""
        times: dict[int, dict[str, ReachedTimes]] = defaultdict(dict)
        delay = policy.reached_delay
        if delay is None:
            return times
        rows = self.observed.rows_for_clocks(policy.max_ahead_micros)
        greatest = rows.group_by(INSTANT, PARTITION, PROCESSING_TIME).agg(pl.col(EVENT_TIME).max())
        for number, name, time, event in greatest.iter_rows():
            reached_times = ReachedTimes.of(EventTime(event), ProcessingTime(time), delay)
            earlier = times[number].get(name)
            times[number][name] = reached_times if earlier is None else earlier.merge(reached_times)
        return times

    def _lag_counts(self, policy: WatermarkPolicy) -> dict[int, dict[Micros, int]]:
        """Returns the number of records with each lag in each instant."""
        lags = self._lagging(policy)
        counts: dict[int, dict[Micros, int]] = defaultdict(dict)
        frame = pl.DataFrame({INSTANT: lags.instants, "lag": lags.by_record})
        for number, lag, count in frame.group_by(INSTANT, "lag").agg(pl.len()).iter_rows():
            counts[number][lag] = count
        return counts


def _micros(delay: timedelta) -> Micros:
    return min(delay // timedelta(microseconds=1), LONGEST)
