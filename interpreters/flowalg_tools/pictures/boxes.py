"""Rectangles in points (1/72 inch), and the placement of labels among them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from itertools import product
from typing import Final

from attrs import define, field, frozen
from matplotlib.textpath import TextPath

_CELL: Final = 6.0
_NEAR: Final = 2.0


@frozen
class Box:
    """A rectangle, in points."""

    left: float
    bottom: float
    right: float
    top: float

    @classmethod
    def around(cls, x: float, y: float, width: float, height: float) -> Box:
        """Returns the rectangle of a given size around a point."""
        return cls(x - width / 2, y - height / 2, x + width / 2, y + height / 2)

    @property
    def width(self) -> float:
        """Its width."""
        return self.right - self.left

    @property
    def height(self) -> float:
        """Its height."""
        return self.top - self.bottom

    @property
    def middle(self) -> tuple[float, float]:
        """Its centre."""
        return (self.left + self.right) / 2, (self.bottom + self.top) / 2

    def expanded(self, by: float) -> Box:
        """Returns the rectangle with a margin."""
        return Box(self.left - by, self.bottom - by, self.right + by, self.top + by)

    def intersects(self, other: Box) -> bool:
        """Returns whether two rectangles overlap."""
        return (
            self.left < other.right
            and other.left < self.right
            and self.bottom < other.top
            and other.bottom < self.top
        )


@define
class LabelPlacer:
    """Places labels so that they do not overlap each other and cover as few dots as possible."""

    labels: list[Box] = field(factory=list)
    dots: Counter[tuple[int, int]] = field(factory=Counter)

    def add_dot(self, box: Box) -> None:
        """Adds a dot, which labels avoid."""
        self.dots.update(_cells(box))

    def place(self, width: float, height: float, inside: Box) -> Box | None:
        """Places a label inside a rectangle, as close to its centre as possible; returns ``None`` without room."""
        if width > inside.width or height > inside.height:
            return None
        near = [label for label in self.labels if label.intersects(inside)]
        free = (
            spot
            for spot in _spots(width, height, inside)
            if not any(spot.expanded(_NEAR).intersects(label) for label in near)
        )
        best = min(free, key=lambda spot: (self._count_covered(spot), _distance(spot, inside)), default=None)
        if best is not None:
            self.labels.append(best)
        return best

    def _count_covered(self, spot: Box) -> int:
        return sum(self.dots[cell] for cell in _cells(spot))


def _cells(box: Box) -> Iterator[tuple[int, int]]:
    """The cells of a grid that a rectangle meets."""
    across = range(int(box.left // _CELL), int(box.right // _CELL) + 1)
    return product(across, range(int(box.bottom // _CELL), int(box.top // _CELL) + 1))


def _spots(width: float, height: float, inside: Box) -> Iterator[Box]:
    for x in _steps(inside.left + width / 2, inside.right - width / 2):
        for y in _steps(inside.bottom + height / 2, inside.top - height / 2):
            yield Box.around(x, y, width, height)


def _steps(first: float, last: float) -> list[float]:
    """At most 13 positions, about 8 points apart, including both ends."""
    count = min(max(int((last - first) / 8), 2), 12) if last > first else 0
    return [first + (last - first) * i / count for i in range(count + 1)] if count else [first]


def _distance(spot: Box, inside: Box) -> float:
    (x, y), (across, up) = spot.middle, inside.middle
    return round(abs(x - across) + abs(y - up), 3)


@lru_cache(maxsize=4096)
def text_width(text: str, size: float) -> float:
    """Returns the width of a text, in points."""
    # A dollar sign would begin a formula here; it is as wide as the letter S.
    return float(TextPath((0, 0), text.replace("$", "S"), size=size).get_extents().width) if text else 0.0
