"""The results of a watermark and an allowed lateness, counted per window and instant instead of per record.

The watermark passes a window at the first instant after which it has reached the end of the window. The window expires
at the first instant after which the watermark has reached its end plus the allowed lateness. Elements of later instants
are late in the first case, and dropped in the second.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Final

import numpy as np
import polars as pl
from attrs import frozen
from flowalg_shard.step.window_assignment import assign_windows, assigned_in_columns
from flowalg_shard.tables.columns import END, START

from flowalg.data.errors import ArgumentError, UnsupportedError
from flowalg.data.time import MAX_TIME, MIN_TIME, Micros
from flowalg.windows.window_functions import WindowFn, as_merging
from flowalg_tools.what_if.observed import INSTANT, Integers, ObservedRecords
from flowalg_tools.what_if.recorded_delays import KEPT, KEY

_UNENDING: Final = MAX_TIME - MIN_TIME + 1
"""An allowed lateness with which no window expires."""


@frozen
class Latency:
    """The latency of on-time panes: the processing time of a pane minus the end of its window.

    ``median`` and ``p95`` are the least latencies that at least 50% and 95% of the panes do not exceed. They are
    negative if the watermark is ahead of the clock, or if the input ends before the window does.
    """

    median: timedelta
    p95: timedelta


@frozen
class StateSize:
    """The number of live windows: its ``mean`` over processing time, and its ``maximum``.

    A window of a key is live from the instant of its first element until it expires. Windows are counted after each
    instant that has records or is a tick; the count is valid until the next instant.
    """

    mean: float
    maximum: int


@frozen(eq=False)
class Arrivals:
    """The arrivals in windows: a row for each end of a window and each instant with elements for it.

    ``position`` is the index of the end in the sorted ``ends``. ``elements`` is the number of pairs of an element and a
    window, ``bundles`` the number of different keys and windows among them, and ``first`` the number of those without
    earlier elements.
    """

    ends: Integers
    position: Integers
    instant: Integers
    elements: Integers
    bundles: Integers
    first: Integers

    @classmethod
    def of(cls, observed: ObservedRecords, windows: WindowFn) -> Arrivals:
        """Returns the records of all instants in their windows.

        Raises ``UnsupportedError`` for windows that merge, and for user-defined ones.
        """
        _require(windows)
        window = [KEY, START, END]
        bundles = (
            assign_windows(windows, observed.rows.filter(KEPT))
            .group_by(*window, INSTANT)
            .agg(pl.len().alias("elements"))
        )
        marked_bundles = bundles.with_columns(
            (pl.col(INSTANT) == pl.col(INSTANT).min().over(window)).alias("first")
        )
        rows = (
            marked_bundles.group_by(END, INSTANT)
            .agg(pl.col("elements").sum(), pl.len().alias("bundles"), pl.col("first").sum())
            .sort(END, INSTANT)
        )
        ends, position = np.unique(rows[END].to_numpy(), return_inverse=True)
        numbers = (
            rows[name].cast(pl.Int64()).to_numpy() for name in (INSTANT, "elements", "bundles", "first")
        )
        return cls(ends, position.astype(np.int64), *numbers)


def _require(windows: WindowFn) -> None:
    if not isinstance(windows, WindowFn):
        raise ArgumentError("windows", windows, "a window function, such as FixedWindows(timedelta(hours=1))")
    if as_merging(windows) is not None:
        raise UnsupportedError(
            f"what_if does not support {windows}: they merge, so the window of an element depends on other elements; "
            "use the reference interpreter"
        )
    if not assigned_in_columns(windows):
        raise UnsupportedError(
            f"what_if does not support {windows}: a Python function assigns them, but what_if computes windows as "
            "columns; use the reference interpreter"
        )


@frozen(eq=False)
class OnTimeCounts:
    """The results of one watermark that do not depend on the allowed lateness.

    ``late`` is the number of late elements, and ``panes`` the number of on-time panes with each of the sorted
    ``latencies``.
    """

    observed: ObservedRecords
    arrivals: Arrivals
    watermarks: Integers
    passed: Integers
    late: int
    latencies: Integers
    panes: Integers

    @classmethod
    def of(cls, observed: ObservedRecords, arrivals: Arrivals, watermarks: Integers) -> OnTimeCounts:
        """Returns the results of the watermark after each instant, which never goes back."""
        passed_at = np.searchsorted(watermarks, arrivals.ends, side="left")
        passed = passed_at[arrivals.position]
        in_time = arrivals.instant <= passed
        late = int(arrivals.elements[~in_time].sum())
        # A window that the watermark has not passed has no pane yet.
        fired = in_time & (passed < len(watermarks))
        panes = _sum_by(arrivals.position[fired], arrivals.first[fired], len(arrivals.ends))
        has_panes = panes > 0
        latencies = observed.clock[passed_at[has_panes]] - arrivals.ends[has_panes]
        order = np.argsort(latencies, kind="stable")
        return cls(observed, arrivals, watermarks, passed, late, latencies[order], panes[has_panes][order])

    @property
    def pane_count(self) -> int:
        """The number of on-time panes: of windows of a key that have an element by then."""
        return int(self.panes.sum())

    @property
    def latency(self) -> Latency | None:
        """The latency of the on-time panes; ``None`` if there are none."""
        passed = np.cumsum(self.panes)
        if not len(passed):
            return None
        total = int(passed[-1])
        ranks = (-(-total // 2), -(-95 * total // 100))
        quantiles = self.latencies[np.searchsorted(passed, ranks)]
        return Latency(*(timedelta(microseconds=micros) for micros in quantiles.tolist()))

    def with_lateness(self, lateness: Micros | None) -> AcceptedCounts:
        """Returns the results of an allowed lateness; with ``None`` windows never expire."""
        arrivals, count = self.arrivals, len(self.observed.times)
        allowed = _UNENDING if lateness is None else min(lateness, _UNENDING)
        expires = np.searchsorted(self.watermarks, arrivals.ends + allowed, side="left")[arrivals.position]
        accepted = arrivals.instant <= expires
        opened = np.where(accepted, arrivals.first, 0)
        freed = expires < count
        opened_at = _sum_by(arrivals.instant, opened, count)
        freed_at = _sum_by(expires[freed], opened[freed], count)
        return AcceptedCounts(
            dropped=int(arrivals.elements[~accepted].sum()),
            windows=int(opened.sum()),
            late_panes=int(arrivals.bundles[accepted & (arrivals.instant > self.passed)].sum()),
            state=_state_size(np.cumsum(opened_at - freed_at), self.observed.times),
        )


@frozen
class AcceptedCounts:
    """The results that depend on the allowed lateness."""

    dropped: int
    windows: int
    late_panes: int
    state: StateSize


def _state_size(live: Integers, times: Integers) -> StateSize:
    """Returns the size of the state, from the number of live windows after each instant."""
    total = int(times[-1] - times[0])
    if not total:
        return StateSize(float(live[-1]), int(live.max()))
    durations = np.diff(times).astype(np.float64)
    return StateSize(float(np.dot(live[:-1].astype(np.float64), durations)) / total, int(live.max()))


def _sum_by(indices: Integers, numbers: Integers, count: int) -> Integers:
    """Returns the sums of the numbers with equal indices; exact below 2**53."""
    return np.bincount(indices, weights=numbers, minlength=count).astype(np.int64)
