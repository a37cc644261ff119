"""The results of each choice of a grid, and the choices that no other dominates."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from functools import cached_property
from os import PathLike
from typing import TypeVar

from attrs import frozen

from flowalg.data.errors import ArgumentError
from flowalg.watermarks import WatermarkPolicy
from flowalg.windows.strategy import AllowedLateness, Forever, WindowingStrategy
from flowalg.windows.window_functions import WindowFn
from flowalg_tools.what_if.choice import Choice
from flowalg_tools.what_if.counting import Arrivals, OnTimeCounts
from flowalg_tools.what_if.grid import default_lateness, default_policies
from flowalg_tools.what_if.observed import ObservedRecords
from flowalg_tools.what_if.recommendation import Recommendation, recommend
from flowalg_tools.what_if.recorded_delays import RecordedDelays
from flowalg_tools.what_if.table import format_table
from flowalg_tools.what_if.watermarks import PolicyWatermarks

A = TypeVar("A")


@frozen
class WhatIf:
    """The results of each choice of a grid, in the order of the grid: by policy, then by allowed lateness."""

    windows: WindowFn
    choices: tuple[Choice, ...]

    @cached_property
    def frontier(self) -> tuple[Choice, ...]:
        """The Pareto frontier of ``Choice.costs``: the choices that no other choice dominates.

        Of choices with equal costs either all are on the frontier, or none.
        """
        return tuple(
            choice for choice in self.choices if not any(other.dominates(choice) for other in self.choices)
        )

    def recommendation(self, *, late: float = 0.05, dropped: float = 0.01) -> Recommendation:
        """Returns the fastest choice with at most these shares of late and dropped elements.

        It has the lowest median latency; ties are resolved by the smallest state, then by the fewest dropped elements.
        Raises ``ArgumentError`` unless both shares are between 0 and 1.
        """
        return recommend(self.choices, late=late, dropped=dropped)

    def table(self) -> str:
        """Returns a plain-text table with a line for each choice; ``*`` marks the choices on the frontier."""
        return format_table(self.choices, self.frontier)

    def draw(
        self,
        path: str | PathLike[str],
        *,
        title: str = "What-if analysis: watermark policy and allowed lateness",
        recommendation: Recommendation | None = None,
    ) -> None:
        """Draws the choices to an SVG or PNG file, by suffix: latency against late, state against dropped elements.

        The recommended choice has a ring; the default recommendation is that of the default limits. Raises
        ``MissingExtraError`` without matplotlib, which ``flowalg[plot]`` installs, and ``ArgumentError`` for another
        suffix.
        """
        from flowalg_tools.pictures.files import check_path
        from flowalg_tools.what_if.picture import draw

        marked = self.recommendation() if recommendation is None else recommendation
        draw(self.choices, self.frontier, marked.choice, title, check_path(path))

    def __str__(self) -> str:
        return self.table()


def what_if(
    records: RecordedDelays,
    windows: WindowFn,
    *,
    policies: Sequence[WatermarkPolicy] | None = None,
    lateness: Sequence[AllowedLateness] | None = None,
    every: timedelta = timedelta(minutes=1),
    tick: timedelta | None = None,
    ends: bool = True,
) -> WhatIf:
    """Computes the results of recorded records in windows, under each policy and each allowed lateness.

    The records of each period ``every`` of processing time are observed together, as a micro-batch, and the watermark
    advances after them. With ``tick`` it also advances without records, at each multiple of that duration. With
    ``ends`` the input ends after the last record, so all windows fire; without it, windows that the watermark has not
    passed by then have no pane and no latency. The default for ``policies`` and ``lateness`` is a grid derived from
    the delays of the records.

    Law: the results are those of the reference interpreter over ``Timeline.from_records`` with the same policy,
    ``every``, ``tick`` and ``ends``, and with the default trigger. Raises ``ArgumentError`` for an empty or invalid
    grid, and ``UnsupportedError`` for windows that merge or that a Python function assigns.
    """
    if not isinstance(records, RecordedDelays):
        valid = "RecordedDelays, such as RecordedDelays.of(event_times, processing_times)"
        raise ArgumentError("records", records, valid)
    observed = ObservedRecords.of(records, every=every, tick=tick, ends=ends)
    all_policies = default_policies(observed) if policies is None else _require_sequence("policies", policies)
    all_lateness = default_lateness(observed) if lateness is None else _require_sequence("lateness", lateness)
    for policy in all_policies:
        if not isinstance(policy, WatermarkPolicy):
            valid = "a watermark policy, such as BoundedOutOfOrderness(timedelta(seconds=30))"
            raise ArgumentError("an element of policies", policy, valid)
    strategies = [_strategy(windows, allowed) for allowed in all_lateness]
    arrivals, watermarks = Arrivals.of(observed, windows), PolicyWatermarks(observed)
    elements = int(arrivals.elements.sum())
    choices = []
    for policy in all_policies:
        on_time = OnTimeCounts.of(observed, arrivals, watermarks.of(policy))
        for allowed, strategy in zip(all_lateness, strategies, strict=True):
            accepted = on_time.with_lateness(strategy.lateness_micros)
            choices.append(
                Choice(
                    policy=policy,
                    allowed_lateness=allowed,
                    elements=elements,
                    late=on_time.late,
                    dropped=accepted.dropped,
                    windows=accepted.windows,
                    on_time_panes=on_time.pane_count,
                    late_panes=accepted.late_panes,
                    latency=on_time.latency,
                    state=accepted.state,
                )
            )
    return WhatIf(windows, tuple(choices))


def _require_sequence(argument: str, values: Sequence[A]) -> tuple[A, ...]:
    if not isinstance(values, Sequence) or not values:
        raise ArgumentError(argument, values, "a non-empty sequence, or None for a grid from the records")
    return tuple(values)


def _strategy(windows: WindowFn, lateness: AllowedLateness) -> WindowingStrategy:
    if not isinstance(lateness, timedelta | Forever):
        raise ArgumentError("an element of lateness", lateness, "a timedelta of zero or more, or FOREVER")
    return WindowingStrategy(windows, allowed_lateness=lateness)
