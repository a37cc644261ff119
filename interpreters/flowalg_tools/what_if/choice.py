"""A watermark policy with an allowed lateness, and their results on recorded records."""

from __future__ import annotations

from datetime import timedelta

from attrs import frozen

from flowalg.watermarks import WatermarkPolicy
from flowalg.windows.strategy import AllowedLateness
from flowalg_tools.what_if.counting import Latency, StateSize
from flowalg_tools.what_if.formatting import format_lateness, format_policy


@frozen
class Choice:
    """A policy and an allowed lateness, and their results.

    Elements are counted once for each of their windows: three times in three sliding windows, and not at all in a gap
    between windows. An element is ``late`` if the watermark had passed the end of the window before the instant in
    which it is observed. It is ``dropped`` if the watermark had passed the end plus the allowed lateness. Dropped
    elements are late, too.

    ``windows`` is the number of windows of a key that accept an element. A window has an on-time pane if it has an
    element when the watermark passes its end, and a late pane for each instant with late elements. ``latency`` is that
    of on-time panes, or ``None`` if there are none.
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
    state: StateSize

    @property
    def late_share(self) -> float:
        """The share of the elements that are late, including dropped ones; 0 without elements."""
        return self.late / self.elements if self.elements else 0.0

    @property
    def dropped_share(self) -> float:
        """The share of the elements that are dropped; 0 without elements."""
        return self.dropped / self.elements if self.elements else 0.0

    @property
    def panes(self) -> int:
        """The number of panes, on time and late."""
        return self.on_time_panes + self.late_panes

    @property
    def panes_per_window(self) -> float:
        """The mean number of panes of a window of a key; 0 without windows."""
        return self.panes / self.windows if self.windows else 0.0

    @property
    def costs(self) -> tuple[float, float, timedelta, float]:
        """The costs: late share, dropped share, median latency, mean number of live windows.

        Without on-time panes the latency is infinite.
        """
        latency = timedelta.max if self.latency is None else self.latency.median
        return self.late_share, self.dropped_share, latency, self.state.mean

    def dominates(self, other: Choice) -> bool:
        """Returns whether it is better in one cost and not worse in any."""
        own_costs, other_costs = self.costs, other.costs
        no_worse = (
            own_costs[0] <= other_costs[0]
            and own_costs[1] <= other_costs[1]
            and own_costs[2] <= other_costs[2]
            and own_costs[3] <= other_costs[3]
        )
        return no_worse and own_costs != other_costs

    def __str__(self) -> str:
        return f"{format_policy(self.policy)} with an allowed lateness of {format_lateness(self.allowed_lateness)}"
