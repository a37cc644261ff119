"""The plane that a picture is drawn on: event time across, processing time up, both to points (1/72 inch)."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from math import ceil, floor
from typing import Final

from attrs import field, frozen
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import TextPath

from flowalg import GLOBAL_WINDOW, to_datetime
from flowalg_tools.figures.facts import END_OF_INPUT, NOON, Facts
from flowalg_tools.figures.performance import Performance
from flowalg_tools.pictures.boxes import Box

WIDTH: Final = 600.0
HEIGHT: Final = 430.0
_MARGIN: Final = 5.0
_BOTTOM: Final = 5.0
_TOP: Final = (END_OF_INPUT - NOON) / timedelta(minutes=1) + 0.15


@frozen
class Plane:
    """From times to points; what lies beyond the picture is drawn on its edge."""

    first: int
    """The minute of event time at the left edge, after noon."""
    last: int
    """The minute at the right edge."""
    minutes_up: range = field(default=range(int(_BOTTOM), int(_TOP) + 1), init=False)

    @classmethod
    def of(cls, facts: Facts, performance: Performance) -> Plane:
        """As much of event time as a figure's data and windows need."""
        windows = [one.window for one in performance.panes if one.window != GLOBAL_WINDOW]
        points = [one.datum.event_time for one in facts.arrivals]
        points += [to_datetime(edge) for one in windows for edge in (one.start, one.end)]
        return cls(floor(_minutes(min(points))), ceil(_minutes(max(points))))

    @property
    def minutes_across(self) -> range:
        """The whole minutes of event time in the picture."""
        return range(self.first, self.last + 1)

    def x(self, event_time: datetime) -> float:
        """How far right an event time is."""
        return self.across(min(max(_minutes(event_time), self.first), self.last))

    def across(self, minute: float) -> float:
        """How far right a minute of event time is."""
        return (minute - self.first) / (self.last - self.first) * WIDTH

    def y(self, processing_time: datetime) -> float:
        """How far up a processing time is."""
        return self.up(min(max(_minutes(processing_time), _BOTTOM), _TOP))

    def up(self, minute: float) -> float:
        """How far up a minute of processing time is."""
        return (minute - _BOTTOM) / (_TOP - _BOTTOM) * HEIGHT


def text_width(text: str, size: float, *, bold: bool = False) -> float:
    """How wide a text is, in points."""
    font = FontProperties(weight="bold" if bold else "normal")
    return float(TextPath((0, 0), text, size=size, prop=font).get_extents().width) if text else 0.0


def place(width: float, height: float, inside: Box, taken: Iterable[Box], lines: Iterable[Box]) -> Box:
    """Where a label fits best: on nothing that is taken, on no line if that can be, and near the middle."""
    x, y = inside.middle
    spots = sorted(
        (
            Box.around(across, up, width, height)
            for across in _steps(inside.left + width / 2 + 3, inside.right - width / 2 - 3)
            for up in _steps(inside.bottom + height / 2 + 2, inside.top - height / 2 - 2)
        ),
        key=lambda spot: round(abs(spot.middle[0] - x) + abs(spot.middle[1] - y), 3),
    )
    occupied, crossing = [one.grown(_MARGIN) for one in taken], tuple(lines)

    def cost(spot: Box) -> tuple[float, int]:
        covered = sum(spot.overlap(one) for one in occupied)
        return round(covered, 3), sum(spot.overlap(one) > 0 for one in crossing)

    # The nearest free spot, if there is one, without a look at those further away.
    free = (spot for spot in spots if cost(spot) == (0, 0))
    return next(free, None) or min(spots, key=cost)


def _steps(first: float, last: float) -> list[float]:
    """Some 2 points apart, both ends included; the middle alone where there is no room."""
    if last <= first:
        return [(first + last) / 2]
    count = max(int((last - first) / 2), 1)
    return [first + (last - first) * one / count for one in range(count + 1)]


def _minutes(point: datetime) -> float:
    return (point - NOON) / timedelta(minutes=1)


__all__ = ["HEIGHT", "WIDTH", "Box", "Plane", "place", "text_width"]
