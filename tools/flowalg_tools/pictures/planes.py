"""The plane of the diagram: event time across, processing time up, both to points (1/72 inch)."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median_low

from attrs import frozen
from flowalg_reference import WatermarkReading

from flowalg.data.time import MAX_TIME, MIN_TIME
from flowalg.windows.window import Window
from flowalg_tools.pictures.boxes import Box
from flowalg_tools.pictures.run_facts import Facts
from flowalg_tools.pictures.scales import Range, reach

Path = tuple[tuple[float, float], ...]


@frozen
class Plane:
    """A rectangle of both times, and its size in points; what lies beyond goes to the edge."""

    events: Range
    clock: Range
    width: float
    height: float

    @classmethod
    def of(cls, facts: Facts, width: float, height: float) -> Plane:
        """As much of both times as the elements, the windows and the panes of a run need."""
        events = Range.around(_events(facts))
        return cls(events, Range.around(_clock(facts)), width, height)

    def x(self, event_time: int) -> float:
        """How far right an event time is."""
        return self.events.share(event_time) * self.width

    def y(self, processing_time: int) -> float:
        """How far up a processing time is."""
        return self.clock.share(processing_time) * self.height

    def shows(self, window: Window) -> bool:
        """Whether any of a window is inside."""
        return window.start < self.events.last and window.end > self.events.first

    def sides(self, window: Window) -> tuple[float, float]:
        """How far right a window begins and ends."""
        return self.x(window.start), self.x(window.end)

    @property
    def box(self) -> Box:
        """All of it."""
        return Box(0.0, 0.0, self.width, self.height)

    def ideal(self) -> Path:
        """Where event time and processing time are the same, if that is inside."""
        first = max(self.events.first, self.clock.first)
        last = min(self.events.last, self.clock.last)
        return ((self.x(first), self.y(first)), (self.x(last), self.y(last))) if first < last else ()

    def watermark(self, readings: Sequence[WatermarkReading]) -> Path:
        """The watermark's steps, from where it comes in at the left edge to where it leaves at the right one.

        It stands while the clock goes on, and moves right when an instant is observed. Steps that are less than half
        a point high are drawn as one.
        """
        path: list[tuple[float, float]] = []
        x = 0.0
        for one in readings:
            across, y = self.x(one.input), self.y(one.processing_time)
            if across <= x:
                continue
            if path and y - path[-1][1] < 0.5:
                path[-1] = (across, path[-1][1])
            else:
                path += [(x, y), (across, y)]
            x = across
        if path and x < self.width:
            path.append((x, self.height))
        return tuple(path)


def _events(facts: Facts) -> list[int]:
    """The ends of what is shown of event time; windows do not widen it beyond all measure."""
    windows = {one.pane.window for one in facts.panes}
    finite = [one for one in windows if one.start > MIN_TIME and one.end < MAX_TIME]
    seen = [one.event_time for one in facts.observations]
    if not seen:
        seen = [edge for one in finite for edge in (one.start, one.end)]
    if not seen:
        return [int(one.input) for one in facts.readings if MIN_TIME < one.input < MAX_TIME]
    first, last = reach(seen)
    lengths = [int(one.end - one.start) for one in finite] or [0]
    room = max(last - first, median_low(lengths))
    edges = [int(edge) for one in finite for edge in (one.start, one.end)]
    return [first, last, *(one for one in edges if first - room <= one <= last + room)]


def _clock(facts: Facts) -> list[int]:
    """The ends of what is shown of processing time.

    The end of the input does not widen it beyond a third, if it is long after all else.
    """
    going = [one.processing_time for one in facts.readings if one.input < MAX_TIME]
    seen = [one.processing_time for one in facts.observations]
    times = [int(one) for one in (*going, *seen)] or [int(one.pane.processing_time) for one in facts.panes]
    ended = [int(one.processing_time) for one in facts.readings if one.input >= MAX_TIME]
    if not times:
        return ended
    first, last = min(times), max(times)
    if first == last:
        return [first, *ended]
    return [first, last, *(min(one, last + (last - first) // 3) for one in ended)]


__all__ = ["Path", "Plane"]
