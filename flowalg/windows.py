"""Windows, and the strategies that assign them (SEMANTICS section 3; Dataflow Model, section 2.2)."""

from __future__ import annotations

from datetime import timedelta
from typing import Final, TypeAlias

from attrs import field, frozen

from flowalg.errors import ArgumentError
from flowalg.time import MAX_TIME, MIN_TIME, EventTime, Micros, duration_of, show


@frozen(order=True)
class Window:
    """The event times ``[start, end)``. Ordered by end, then start: the order in which panes come out."""

    end: EventTime = field()
    start: EventTime = field()

    @classmethod
    def of(cls, start: EventTime, end: EventTime) -> Window:
        """The window ``[start, end)``; raises ``ArgumentError`` when it would be empty."""
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


@frozen
class GlobalWindows:
    """Everything in one window, which ends when time does."""

    def assign(self, point: EventTime) -> tuple[Window, ...]:
        """The global window, whatever the event time."""
        return (GLOBAL_WINDOW,)

    def __str__(self) -> str:
        return "one global window"


@frozen
class FixedWindows:
    """Consecutive windows of one size (Dataflow Model, section 1.2: "fixed", also called tumbling).

    ``size`` is a positive duration; windows start at whole multiples of it after the Unix epoch plus
    ``offset``, a duration in ``[0, size)``. The two windows that would reach over the bounds of time are cut
    off there.
    """

    size: timedelta = field()
    offset: timedelta = field(default=timedelta(0))

    def __attrs_post_init__(self) -> None:
        size = duration_of("FixedWindows.size", self.size, allow_zero=False)
        if duration_of("FixedWindows.offset", self.offset, allow_zero=True) >= size:
            raise ArgumentError("FixedWindows.offset", self.offset, f"shorter than the size, {self.size}")

    @property
    def size_micros(self) -> Micros:
        """The size in microseconds."""
        return duration_of("FixedWindows.size", self.size, allow_zero=False)

    @property
    def offset_micros(self) -> Micros:
        """The offset in microseconds."""
        return duration_of("FixedWindows.offset", self.offset, allow_zero=True)

    def assign(self, point: EventTime) -> tuple[Window, ...]:
        """The one window that contains the event time."""
        start = point - (point - self.offset_micros) % self.size_micros
        return (Window(end=clamp(start + self.size_micros), start=clamp(start)),)

    def __str__(self) -> str:
        shift = f" from {self.offset} on" if self.offset else ""
        return f"fixed windows of {self.size}{shift}"


WindowFn: TypeAlias = GlobalWindows | FixedWindows
"""A windowing strategy's assignment of event times to windows."""


def clamp(point: int) -> EventTime:
    """The nearest point inside ``[MIN_TIME, MAX_TIME]``."""
    return EventTime(min(max(point, MIN_TIME), MAX_TIME))


__all__ = ["GLOBAL_WINDOW", "FixedWindows", "GlobalWindows", "Window", "WindowFn", "clamp"]
