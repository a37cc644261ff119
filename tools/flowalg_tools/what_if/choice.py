"""A watermark policy with an allowed lateness, and what they come to on recorded records."""

from __future__ import annotations

from datetime import timedelta

from attrs import frozen

from flowalg.watermarks import WatermarkPolicy
from flowalg.windows.strategy import AllowedLateness
from flowalg_tools.what_if.counting import Kept, Latency
from flowalg_tools.what_if.wording import lateness_told, policy_told


@frozen
class Choice:
    """A policy and an allowed lateness, and what they come to.

    Elements are counted in their windows: one that is in three sliding windows counts three times, and one in a gap
    between windows not at all. One is ``late`` when the watermark had passed the end of the window before the instant
    in which it is observed. It is ``dropped`` when the watermark had passed the end plus the allowed lateness: those
    that are dropped are late as well.

    ``windows`` counts the windows of a key that take an element; one all of whose elements are dropped is none. Each
    has an on-time pane if something has come into it when the watermark passes, and a late pane for every instant
    that brings it late elements. ``latency`` is that of on-time panes, ``None`` if there are none.
    """

    policy: WatermarkPolicy
    allowed_lateness: AllowedLateness
    elements: int
    late: int
    dropped: int
    windows: int
    on_time_panes: int
    late_panes: int
    latency: Latency | None
    kept: Kept

    @property
    def late_share(self) -> float:
        """The share of the elements that are late, those that are dropped included; 0 where there are none."""
        return self.late / self.elements if self.elements else 0.0

    @property
    def dropped_share(self) -> float:
        """The share of the elements that are dropped; 0 where there are none."""
        return self.dropped / self.elements if self.elements else 0.0

    @property
    def panes(self) -> int:
        """All panes, on time and late."""
        return self.on_time_panes + self.late_panes

    @property
    def panes_per_window(self) -> float:
        """How many panes a window of a key has on average; 0 where there are none."""
        return self.panes / self.windows if self.windows else 0.0

    @property
    def costs(self) -> tuple[float, float, timedelta, float]:
        """What is better when it is less: late share, dropped share, median latency, windows kept on average.

        Where no pane is on time, the latency counts as longer than any.
        """
        latency = timedelta.max if self.latency is None else self.latency.median
        return self.late_share, self.dropped_share, latency, self.kept.mean

    def beats(self, other: Choice) -> bool:
        """Whether it is better in one cost and no worse in any."""
        mine, theirs = self.costs, other.costs
        no_worse = (
            mine[0] <= theirs[0] and mine[1] <= theirs[1] and mine[2] <= theirs[2] and mine[3] <= theirs[3]
        )
        return no_worse and mine != theirs

    def __str__(self) -> str:
        return (
            f"{policy_told(self.policy)} with an allowed lateness of {lateness_told(self.allowed_lateness)}"
        )


__all__ = ["Choice"]
