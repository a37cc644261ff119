"""What each choice of a grid comes to, and those of them that nothing else beats."""

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
from flowalg_tools.what_if.advice import Recommendation, recommended
from flowalg_tools.what_if.choice import Choice
from flowalg_tools.what_if.counting import Arrivals, Passing
from flowalg_tools.what_if.grid import default_latenesses, default_policies
from flowalg_tools.what_if.observed import Seen
from flowalg_tools.what_if.readings import Readings
from flowalg_tools.what_if.records import Records
from flowalg_tools.what_if.table import table

A = TypeVar("A")


@frozen
class WhatIf:
    """What each choice of a grid comes to, in the order of the grid: policy by policy, lateness by lateness."""

    windows: WindowFn
    choices: tuple[Choice, ...]

    @cached_property
    def frontier(self) -> tuple[Choice, ...]:
        """The choices that no other beats (Pareto): better in one cost, and as good in all the others.

        The costs are those of ``Choice.costs``. Of choices with the same costs all are there, or none.
        """
        return tuple(one for one in self.choices if not any(other.beats(one) for other in self.choices))

    def recommendation(self, *, late: float = 0.05, dropped: float = 0.01) -> Recommendation:
        """The quickest choice of which at most a share ``late`` of the elements is late, and ``dropped`` is dropped.

        The quickest is the one with the least median latency; of several the one that keeps the least state, then the
        one that drops the least. Raises ``ArgumentError`` unless both shares are between 0 and 1.
        """
        return recommended(self.choices, late=late, dropped=dropped)

    def table(self) -> str:
        """All choices as plain text, a line for each; ``*`` is before those of the frontier."""
        return table(self.choices, self.frontier)

    def draw(
        self,
        path: str | PathLike[str],
        *,
        title: str = "What if the watermark waited longer?",
        recommendation: Recommendation | None = None,
    ) -> None:
        """Draw the choices to a file, in the format of its suffix: latency against late, state against dropped.

        The recommended choice is marked; without a recommendation it is that of the usual limits. Raises
        ``MissingExtraError`` without matplotlib, which comes with ``flowalg[plot]``.
        """
        from flowalg_tools.what_if.picture import draw

        marked = self.recommendation() if recommendation is None else recommendation
        draw(self.choices, self.frontier, marked.choice, title, path)

    def __str__(self) -> str:
        return self.table()


def what_if(
    records: Records,
    windows: WindowFn,
    *,
    policies: Sequence[WatermarkPolicy] | None = None,
    lateness: Sequence[AllowedLateness] | None = None,
    every: timedelta = timedelta(minutes=1),
    tick: timedelta | None = None,
    ends: bool = True,
) -> WhatIf:
    """What recorded records would come to in windows, under each policy and each allowed lateness.

    Elements of each period ``every`` of processing time are observed together, as micro-batches are, and the
    watermark moves after them. With ``tick`` it is also looked at while nothing comes, at each multiple of that. With
    ``ends`` the input ends after the last record, so that all windows come out; without, those that the watermark has
    not passed by then have no pane, and no latency. Without ``policies`` and ``lateness`` a grid is read off the
    delays of the records.

    Law: it counts what the reference interpreter does over ``Timeline.from_records`` with the same policy, ``every``,
    ``tick`` and ``ends``, where windows come out when the watermark passes, and then at each late element. Raises
    ``ArgumentError`` for an empty grid, and for what is none, and ``UnsupportedError`` for windows that merge or that
    a Python function assigns.
    """
    if not isinstance(records, Records):
        raise ArgumentError("records", records, "Records, such as Records.of(event_times, processing_times)")
    seen = Seen.of(records, every=every, tick=tick, ends=ends)
    tried = default_policies(seen) if policies is None else _listed("policies", policies)
    welcome = default_latenesses(seen) if lateness is None else _listed("lateness", lateness)
    for policy in tried:
        if not isinstance(policy, WatermarkPolicy):
            valid = "a watermark policy, such as BoundedOutOfOrderness(timedelta(seconds=30))"
            raise ArgumentError("an element of policies", policy, valid)
    strategies = [_strategy(windows, one) for one in welcome]
    arrivals, readings = Arrivals.of(seen, windows), Readings(seen)
    elements = int(arrivals.elements.sum())
    choices = []
    for policy in tried:
        passing = Passing.of(seen, arrivals, readings.watermarks(policy))
        for one, strategy in zip(welcome, strategies, strict=True):
            taken = passing.until_expired(strategy.lateness_micros)
            choices.append(
                Choice(
                    policy=policy,
                    allowed_lateness=one,
                    elements=elements,
                    late=passing.late,
                    dropped=taken.dropped,
                    windows=taken.windows,
                    on_time_panes=passing.on_time,
                    late_panes=taken.late_panes,
                    latency=passing.latency,
                    kept=taken.kept,
                )
            )
    return WhatIf(windows, tuple(choices))


def _listed(argument: str, values: Sequence[A]) -> tuple[A, ...]:
    if not isinstance(values, Sequence) or not values:
        raise ArgumentError(argument, values, "a non-empty sequence, or None for a grid from the records")
    return tuple(values)


def _strategy(windows: WindowFn, lateness: AllowedLateness) -> WindowingStrategy:
    if not isinstance(lateness, timedelta | Forever):
        raise ArgumentError("an element of lateness", lateness, "a timedelta of zero or more, or FOREVER")
    return WindowingStrategy(windows, allowed_lateness=lateness)


__all__ = ["Choice", "WhatIf", "what_if"]
