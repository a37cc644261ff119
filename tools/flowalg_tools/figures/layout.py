"""Where everything of a picture goes, before anything is drawn, so that a test can see that nothing overlaps."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import Final

from attrs import frozen

from flowalg import Timing, Window, to_datetime
from flowalg_tools.figures.facts import END_OF_INPUT, Arrival, Closing, Facts, PaneFact
from flowalg_tools.figures.performance import Performance
from flowalg_tools.figures.plane import HEIGHT, WIDTH, Box, Plane, place, text_width
from flowalg_tools.figures.timelines import timeline_of

RADIUS: Final = 8.0
VALUE_SIZE: Final = 13.0
WORD_SIZE: Final = 8.5
_WORDS: Final = {Timing.EARLY: "early", Timing.ON_TIME: "on time", Timing.LATE: "late", None: ""}


@frozen
class Dot:
    """A datum."""

    x: float
    y: float
    value: int
    dropped: bool

    @property
    def box(self) -> Box:
        """The square around it."""
        return Box.around(self.x, self.y, 2 * RADIUS, 2 * RADIUS)


@frozen
class Label:
    """A value in large type and a word beside it in small, either of them perhaps empty."""

    value: str
    word: str
    box: Box
    timing: Timing | None = None


@frozen
class Sheet:
    """A pane: its rectangle and its label."""

    box: Box
    label: Label
    timing: Timing | None


@frozen
class Mark:
    """A line at the top of a window, with a label: a pane taken back, or a window closed."""

    left: float
    right: float
    y: float
    label: Label


@frozen
class Layout:
    """A picture."""

    plane: Plane
    dots: tuple[Dot, ...]
    sheets: tuple[Sheet, ...]
    retractions: tuple[Mark, ...]
    closings: tuple[Mark, ...]
    drops: tuple[Label, ...]
    watermark: tuple[tuple[tuple[float, float], ...], ...]
    ideal: tuple[tuple[float, float], ...]

    @property
    def labels(self) -> tuple[Label, ...]:
        """Every label."""
        marks = (one.label for one in (*self.retractions, *self.closings))
        return (*(one.label for one in self.sheets), *marks, *self.drops)


def layout_of(facts: Facts, performance: Performance) -> Layout:
    """Everything in its place."""
    plane = Plane.of(facts, performance)
    dots = tuple(_dot(plane, one, performance) for one in facts.arrivals)
    drops = tuple(_drop(one) for one in dots if one.dropped)
    retractions = tuple(_retraction(plane, one) for one in performance.panes if one.retraction)
    closings = tuple(_closing(plane, one) for one in performance.closed)
    watermark = tuple(_watermark(facts, plane))
    ideal = _ideal(plane)
    taken = [one.box for one in dots] + [one.box for one in drops]
    taken += [one.label.box for one in (*retractions, *closings)]
    lines = [_between(*ends) for path in (*watermark, ideal) for ends in pairwise(path)]
    sheets: list[Sheet] = []
    for pane, box in _sheets(facts, plane, performance):
        timing = pane.timing if facts.shows_timing else None
        value, word = str(pane.value), _WORDS[timing]
        width = text_width(value, VALUE_SIZE, bold=True) + text_width(word, WORD_SIZE) + (13 if word else 8)
        spot = place(width, VALUE_SIZE + 4, box, taken, lines)
        taken.append(spot)
        sheets.append(Sheet(box, Label(value, word, spot, timing), timing))
    return Layout(plane, dots, tuple(sheets), retractions, closings, drops, watermark, ideal)


def _dot(plane: Plane, arrival: Arrival, performance: Performance) -> Dot:
    datum = arrival.datum
    x, y = plane.x(datum.event_time), plane.y(arrival.processing_time)
    return Dot(x, y, datum.value, arrival in performance.dropped)


def _drop(dot: Dot) -> Label:
    width = text_width("dropped", WORD_SIZE) + 4
    return Label("", "dropped", Box.around(dot.x, dot.y + RADIUS + 12, width, WORD_SIZE + 3))


def _retraction(plane: Plane, pane: PaneFact) -> Mark:
    left, right, y = *_sides(plane, pane.window), _up(plane, pane)
    text = f"\N{MINUS SIGN}{-pane.value}"
    width = text_width(text, VALUE_SIZE, bold=True) + 6
    box = Box.around((left + right) / 2, y - 6 - VALUE_SIZE / 2, width, VALUE_SIZE + 1)
    return Mark(left, right, y, Label(text, "", box))


def _closing(plane: Plane, closing: Closing) -> Mark:
    left, right = _sides(plane, closing.window)
    y = plane.y(to_datetime(closing.processing_time))
    width = text_width("closed", WORD_SIZE) + 4
    spot = Box.around(right - 6 - width / 2, y + 2 + WORD_SIZE / 2, width, WORD_SIZE + 1)
    return Mark(left, right, y, Label("", "closed", spot))


def _sheets(facts: Facts, plane: Plane, performance: Performance) -> Iterable[tuple[PaneFact, Box]]:
    """A pane reaches down to the last one of its window, or of those merged into it, or else to its first datum."""
    before: list[PaneFact] = []
    for pane in performance.panes:
        if pane.retraction:
            continue
        left, right = _sides(plane, pane.window)
        tops = [_up(plane, one) for one in before if _within(one.window, pane.window)]
        data = [
            plane.y(one.processing_time)
            for one in facts.arrivals
            if one not in performance.dropped and left <= plane.x(one.datum.event_time) < right
        ]
        yield pane, Box(left, max(tops, default=min(data)), right, _up(plane, pane))
        before.append(pane)


def _watermark(facts: Facts, plane: Plane) -> Iterable[tuple[tuple[float, float], ...]]:
    """The watermark's path, a step function; it runs along the edges where it is infinite."""
    if facts.engine == "micro-batch":
        for instant in timeline_of(facts):
            y = plane.y(to_datetime(instant.processing_time))
            yield (0.0, y), (WIDTH, y)
        return
    steps = [(plane.y(one.processing_time), plane.x(one.event_time)) for one in facts.watermark]
    if facts.engine == "batch":
        steps = [(0.0, 0.0), (plane.y(END_OF_INPUT), WIDTH)]
    path: list[tuple[float, float]] = []
    for y, x in steps:
        if path:
            path.append((path[-1][0], y))
        path.append((x, y))
        if x >= WIDTH:
            break
    else:
        if path:
            path.append((path[-1][0], HEIGHT))
    if path:
        yield tuple(path)


def _ideal(plane: Plane) -> tuple[tuple[float, float], ...]:
    """Where event time and processing time are the same; in short pieces, for labels to keep clear of."""
    both = [one for one in plane.minutes_up if one in plane.minutes_across]
    pieces = range(both[0] * 10, both[-1] * 10 + 1)
    return tuple((plane.across(one / 10), plane.up(one / 10)) for one in pieces)


def _sides(plane: Plane, window: Window) -> tuple[float, float]:
    return plane.x(to_datetime(window.start)), plane.x(to_datetime(window.end))


def _up(plane: Plane, pane: PaneFact) -> float:
    assert pane.processing_time is not None
    return plane.y(to_datetime(pane.processing_time))


def _within(inner: Window, outer: Window) -> bool:
    return outer.start <= inner.start and inner.end <= outer.end


def _between(one: tuple[float, float], other: tuple[float, float]) -> Box:
    (x1, y1), (x2, y2) = one, other
    return Box(min(x1, x2), min(y1, y2), max(x1, x2), max(y1, y2)).grown(4)


__all__ = ["RADIUS", "VALUE_SIZE", "WORD_SIZE", "Dot", "Label", "Layout", "Mark", "Sheet", "layout_of"]
