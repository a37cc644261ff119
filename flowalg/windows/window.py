"""Windows: intervals of event time (SEMANTICS section 3; Dataflow Model, section 2.2)."""

from __future__ import annotations

from collections.abc import Iterable
from functools import total_ordering
from typing import Final

from attrs import frozen

from flowalg.data.errors import ArgumentError
from flowalg.data.time import MAX_TIME, MIN_TIME, EventTime, require_point
from flowalg.data.views import HasView


@frozen
@total_ordering
class Window(HasView):
    """The event times ``[start, end)``. Ordered by end, then start: the order in which panes fire.

    Raises ``ArgumentError`` when it would be empty, and for a bound that is not a point in event time.
    """

    start: EventTime
    end: EventTime

    def __attrs_post_init__(self) -> None:
        require_point("Window.start", self.start, EventTime)
        require_point("Window.end", self.end, EventTime)
        if self.start >= self.end:
            raise ArgumentError("Window.end", self.end, f"after the start, {self.start}")

    def __lt__(self, other: Window) -> bool:
        if not isinstance(other, Window):
            return NotImplemented
        return (self.end, self.start) < (other.end, other.start)

    @property
    def last_instant(self) -> EventTime:
        """The last event time inside the window: ``end - 1 us``."""
        return EventTime(self.end - 1)

    def __contains__(self, point: EventTime) -> bool:
        return self.start <= point < self.end

    def __str__(self) -> str:
        if self == GLOBAL_WINDOW:
            return "[all of time)"
        return f"[{self.start}, {self.end})"


GLOBAL_WINDOW: Final = Window(MIN_TIME, MAX_TIME)
"""The window of everything, in which elements enter a pipeline."""


def clamp(point: int) -> EventTime:
    """Returns the nearest point inside ``[MIN_TIME, MAX_TIME]``."""
    return EventTime(min(max(point, MIN_TIME), MAX_TIME))


def span(windows: Iterable[Window]) -> Window:
    """Returns the smallest window that contains all of some windows, of which there is at least one."""
    parts = tuple(windows)
    return Window(min(window.start for window in parts), max(window.end for window in parts))


def covers(whole: Window, part: Window) -> bool:
    """Returns whether all of one window is inside another."""
    return whole.start <= part.start and part.end <= whole.end


def overlap(one: Window, other: Window) -> bool:
    """Returns whether some event time is in both windows."""
    return one.start < other.end and other.start < one.end
