"""What a watermark and an allowed lateness come to: counted per window and instant, whatever the number of records.

A window is passed at the first instant after which the watermark has reached its end, and expires at the first one
after which the watermark has reached its end plus the allowed lateness. What comes in a later instant than that one is
late in the first case, and dropped in the second.
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
from flowalg_tools.what_if.observed import INSTANT, Integers, Seen
from flowalg_tools.what_if.records import KEPT, KEY

_UNENDING: Final = MAX_TIME - MIN_TIME + 1
"""An allowed lateness at which no window expires, wherever it ends."""


@frozen
class Latency:
    """How long the on-time panes take: the processing time at which one comes, less the end of its window.

    ``median`` and ``p95`` are the least that at least 50 and 95 in 100 of the panes do not exceed. Negative where the
    watermark runs ahead of the clock, and where the input ends before a window does.
    """

    median: timedelta
    p95: timedelta


@frozen
class Kept:
    """State: how many windows of a key are kept, ``mean`` over processing time and at the ``most``.

    A window of a key is kept from the instant in which it takes its first element until it expires. It is counted
    after each instant, from the first to the last that has records or is a tick; a count holds until the next instant.
    """

    mean: float
    most: int


@frozen(eq=False)
class Arrivals:
    """What comes into windows: a row for each window end and each instant in which something comes.

    ``place`` is the position of the end in ``ends``, which are in order. ``elements`` counts pairs of an element and a
    window that it is in, ``bundles`` the windows of a key that they are of, ``first`` those among them that nothing
    had come into before.
    """

    ends: Integers
    place: Integers
    instant: Integers
    elements: Integers
    bundles: Integers
    first: Integers

    @classmethod
    def of(cls, seen: Seen, windows: WindowFn) -> Arrivals:
        """The records of all instants in their windows.

        Raises ``UnsupportedError`` for windows that merge, and for those that a function of the user's assigns.
        """
        _require(windows)
        window = [KEY, START, END]
        bundles = (
            assign_windows(windows, seen.rows.filter(KEPT))
            .group_by(*window, INSTANT)
            .agg(pl.len().alias("elements"))
        )
        found = bundles.with_columns((pl.col(INSTANT) == pl.col(INSTANT).min().over(window)).alias("first"))
        rows = (
            found.group_by(END, INSTANT)
            .agg(pl.col("elements").sum(), pl.len().alias("bundles"), pl.col("first").sum())
            .sort(END, INSTANT)
        )
        ends, place = np.unique(rows[END].to_numpy(), return_inverse=True)
        numbers = (
            rows[name].cast(pl.Int64()).to_numpy() for name in (INSTANT, "elements", "bundles", "first")
        )
        return cls(ends, place.astype(np.int64), *numbers)


def _require(windows: WindowFn) -> None:
    if not isinstance(windows, WindowFn):
        raise ArgumentError("windows", windows, "a window function, such as FixedWindows(timedelta(hours=1))")
    if as_merging(windows) is not None:
        raise UnsupportedError(
            f"what_if cannot count {windows}: windows that merge depend on what else has come, "
            "so when one is passed is not known from an element alone; the reference interpreter runs them"
        )
    if not assigned_in_columns(windows):
        raise UnsupportedError(
            f"what_if cannot count {windows}: a Python function places each element in them, "
            "and all of them are counted as columns; the reference interpreter runs them"
        )


@frozen(eq=False)
class Passing:
    """What comes into windows as one watermark passes them, whatever the allowed lateness.

    ``late`` counts elements, ``on_time`` panes, and ``latencies`` is in order, with as many ``panes`` at each.
    """

    seen: Seen
    arrivals: Arrivals
    watermarks: Integers
    passed: Integers
    late: int
    latencies: Integers
    panes: Integers

    @classmethod
    def of(cls, seen: Seen, arrivals: Arrivals, watermarks: Integers) -> Passing:
        """By the watermark after each instant, which never moves back."""
        passed_at = np.searchsorted(watermarks, arrivals.ends, side="left")
        passed = passed_at[arrivals.place]
        in_time = arrivals.instant <= passed
        late = int(arrivals.elements[~in_time].sum())
        # A window that the watermark has not passed has had no pane yet.
        come = in_time & (passed < len(watermarks))
        panes = _summed(arrivals.first[come], arrivals.place[come], len(arrivals.ends))
        some = panes > 0
        latencies = seen.readings[passed_at[some]] - arrivals.ends[some]
        order = np.argsort(latencies, kind="stable")
        return cls(seen, arrivals, watermarks, passed, late, latencies[order], panes[some][order])

    @property
    def on_time(self) -> int:
        """How many windows of a key have an on-time pane: those that something has come into by then."""
        return int(self.panes.sum())

    @property
    def latency(self) -> Latency | None:
        """How long the on-time panes take; ``None`` if there are none."""
        passed = np.cumsum(self.panes)
        if not len(passed):
            return None
        total = int(passed[-1])
        ranks = (-(-total // 2), -(-95 * total // 100))
        found = self.latencies[np.searchsorted(passed, ranks)]
        return Latency(*(timedelta(microseconds=one) for one in found.tolist()))

    def until_expired(self, lateness: Micros | None) -> Taken:
        """What windows take until they expire; with ``None`` they never do."""
        arrivals, count = self.arrivals, len(self.seen.times)
        welcome = _UNENDING if lateness is None else min(lateness, _UNENDING)
        expires = np.searchsorted(self.watermarks, arrivals.ends + welcome, side="left")[arrivals.place]
        taken = arrivals.instant <= expires
        opened = np.where(taken, arrivals.first, 0)
        freed = expires < count
        born = _summed(opened, arrivals.instant, count)
        gone = _summed(opened[freed], expires[freed], count)
        return Taken(
            dropped=int(arrivals.elements[~taken].sum()),
            windows=int(opened.sum()),
            late_panes=int(arrivals.bundles[taken & (arrivals.instant > self.passed)].sum()),
            kept=_kept(np.cumsum(born - gone), self.seen.times),
        )


@frozen
class Taken:
    """What windows take until they expire: elements ``dropped``, ``windows`` opened, late panes, and state."""

    dropped: int
    windows: int
    late_panes: int
    kept: Kept


def _kept(after: Integers, times: Integers) -> Kept:
    """From how many windows are kept after each instant."""
    whole = int(times[-1] - times[0])
    if not whole:
        return Kept(float(after[-1]), int(after.max()))
    lasting = np.diff(times).astype(np.float64)
    return Kept(float(np.dot(after[:-1].astype(np.float64), lasting)) / whole, int(after.max()))


def _summed(numbers: Integers, places: Integers, count: int) -> Integers:
    """The sum of the numbers of each place; exact below 2**53."""
    return np.bincount(places, weights=numbers, minlength=count).astype(np.int64)


__all__ = ["Arrivals", "Kept", "Latency", "Passing", "Taken"]
