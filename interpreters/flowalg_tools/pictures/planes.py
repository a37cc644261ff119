"""The plane of the diagram: event time across, processing time up, both to points (1/72 inch)."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median_low

from attrs import frozen
from flowalg_reference import WatermarkReading

from flowalg.data.time import MAX_TIME, MIN_TIME
from flowalg.windows.window import Window
from flowalg_tools.pictures.boxes import Box
from flowalg_tools.pictures.run_facts import RunFacts
from flowalg_tools.pictures.scales import Range, core_range

Path = tuple[tuple[float, float], ...]


@frozen
class Plane:
    """A range of both times and its size in points; a time outside of it is at the edge."""

    events: Range
    clock: Range
    width: float
    height: float

    @classmethod
    def of(cls, facts: RunFacts, width: float, height: float) -> Plane:
        """Returns the ranges of both times that contain the elements, the windows and the panes of a run."""
        events = Range.around(_events(facts))
        return cls(events, Range.around(_clock(facts)), width, height)

    def x(self, event_time: int) -> float:
        """Returns the horizontal position of an event time."""
        return self.events.fraction(event_time) * self.width

    def y(self, processing_time: int) -> float:
        """Returns the vertical position of a processing time."""
        return self.clock.fraction(processing_time) * self.height

    def shows(self, window: Window) -> bool:
        """Returns whether a part of a window is inside."""
        return window.start < self.events.last and window.end > self.events.first

    def sides(self, window: Window) -> tuple[float, float]:
        """Returns the horizontal positions of a window's start and end."""
        return self.x(window.start), self.x(window.end)

    @property
    def box(self) -> Box:
        """The whole plane."""
        return Box(0.0, 0.0, self.width, self.height)

    def ideal(self) -> Path:
        """Returns the line on which event time equals processing time; empty if it is not inside."""
        first = max(self.events.first, self.clock.first)
        last = min(self.events.last, self.clock.last)
        return ((self.x(first), self.y(first)), (self.x(last), self.y(last))) if first < last else ()

    def watermark(self, readings: Sequence[WatermarkReading]) -> Path:
        """Returns the steps of the watermark, from the left edge to the right one.

        The watermark advances at instants. Steps that are less than half a point high are drawn as one.
        """
        path: list[tuple[float, float]] = []
        x = 0.0
        for reading in readings:
            across, y = self.x(reading.input), self.y(reading.processing_time)
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


def _events(facts: RunFacts) -> list[int]:
    """Returns the event times to show; windows extend the range of the elements only to a limited extent."""
    windows = {keyed.pane.window for keyed in facts.panes}
    finite = [window for window in windows if window.start > MIN_TIME and window.end < MAX_TIME]
    edges = [int(edge) for window in finite for edge in (window.start, window.end)]
    times = [element.event_time for element in facts.elements] or edges
    if not times:
        return [int(reading.input) for reading in facts.readings if MIN_TIME < reading.input < MAX_TIME]
    first, last = core_range(times)
    lengths = [int(window.end - window.start) for window in finite] or [0]
    margin = max(last - first, median_low(lengths))
    return [first, last, *(edge for edge in edges if first - margin <= edge <= last + margin)]


def _clock(facts: RunFacts) -> list[int]:
    """Returns the processing times to show; a much later end of the input extends their range by at most one third."""
    readings = [int(reading.processing_time) for reading in facts.readings if reading.input < MAX_TIME]
    times = [*readings, *(element.processing_time for element in facts.elements)]
    times = times or [int(keyed.pane.processing_time) for keyed in facts.panes]
    ended = [int(reading.processing_time) for reading in facts.readings if reading.input >= MAX_TIME]
    if not times:
        return ended
    first, last = min(times), max(times)
    if first == last:
        return [first, *ended]
    return [first, last, *(min(end, last + (last - first) // 3) for end in ended)]
