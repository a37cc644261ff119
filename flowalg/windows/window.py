"""Windows: intervals of event time (SEMANTICS section 3; Dataflow Model, section 2.2)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from attrs import field, frozen

from flowalg.data.errors import ArgumentError
from flowalg.data.time import MAX_TIME, MIN_TIME, EventTime, require_point, show


@frozen(order=True)
class Window:
    """The event times ``[start, end)``. Ordered by end, then start: the order in which panes come out."""

    end: EventTime = field()
    start: EventTime = field()

    @classmethod
    def of(cls, start: EventTime, end: EventTime) -> Window:
        """The window ``[start, end)``; raises ``ArgumentError`` when it would be empty."""
        require_point("start", start)
        require_point("end", end)
        if start >= end:
            raise ArgumentError("end", end, f"after the start, {start}")
        return cls(end=end, start=start)

    @property
    def last_instant(self) -> EventTime:
        """The last event time inside the window: ``end - 1 us``."""
        return EventTime(self.end - 1)

    def __contains__(self, point: EventTime) -> bool:
        return self.start <= point < self.end

    def __str__(self) -> str:
        if self == GLOBAL_WINDOW:
            return "[all of time)"
        return f"[{show(self.start)}, {show(self.end)})"


GLOBAL_WINDOW: Final = Window(end=MAX_TIME, start=MIN_TIME)
"""The window of everything, in which elements enter a pipeline."""


def clamp(point: int) -> EventTime:
    """The nearest point inside ``[MIN_TIME, MAX_TIME]``."""
    return EventTime(min(max(point, MIN_TIME), MAX_TIME))


def span(windows: Iterable[Window]) -> Window:
    """The smallest window that contains all of some windows, of which there is at least one."""
    known = tuple(windows)
    return Window(end=max(one.end for one in known), start=min(one.start for one in known))


def covers(whole: Window, part: Window) -> bool:
    """Whether all of one window is inside another."""
    return whole.start <= part.start and part.end <= whole.end


__all__ = ["GLOBAL_WINDOW", "Window", "clamp", "covers", "span"]
