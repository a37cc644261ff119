"""Rectangles on the page, in points (1/72 inch), and where a label has room among others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
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
        """The rectangle of a size around its middle."""
        return cls(x - width / 2, y - height / 2, x + width / 2, y + height / 2)

    @property
    def width(self) -> float:
        """How wide it is."""
        return self.right - self.left

    @property
    def height(self) -> float:
        """How high it is."""
        return self.top - self.bottom

    @property
    def middle(self) -> tuple[float, float]:
        """The middle of it."""
        return (self.left + self.right) / 2, (self.bottom + self.top) / 2

    def grown(self, by: float) -> Box:
        """The rectangle with a margin."""
        return Box(self.left - by, self.bottom - by, self.right + by, self.top + by)

    def meets(self, other: Box) -> bool:
        """Whether the two share an area."""
        return (
            self.left < other.right
            and other.left < self.right
            and self.bottom < other.top
            and other.bottom < self.top
        )

    def overlap(self, other: Box) -> float:
        """The area that it shares with another."""
        width = min(self.right, other.right) - max(self.left, other.left)
        height = min(self.top, other.top) - max(self.bottom, other.bottom)
        return max(width, 0.0) * max(height, 0.0)


@define
class Occupied:
    """Where labels may not go, and where they had better not: other labels, and dots."""

    labels: list[Box] = field(factory=list)
    dots: Counter[tuple[int, int]] = field(factory=Counter)

    def add_dot(self, x: float, y: float) -> None:
        """A dot, which a label should not cover."""
        self.dots[int(x // _CELL), int(y // _CELL)] += 1

    def place(self, width: float, height: float, inside: Box) -> Box | None:
        """Where a label of a size goes, which is then taken; ``None`` where there is no room.

        It overlaps no other label, covers as few dots as it can, and is as near to the middle as that allows.
        """
        if width > inside.width or height > inside.height:
            return None
        near = [one for one in self.labels if one.meets(inside)]
        free = (
            spot
            for spot in _spots(width, height, inside)
            if not any(spot.grown(_NEAR).meets(one) for one in near)
        )
        best = min(free, key=lambda spot: (self._covered(spot), _distance(spot, inside)), default=None)
        if best is not None:
            self.labels.append(best)
        return best

    def _covered(self, spot: Box) -> int:
        across = range(int(spot.left // _CELL), int(spot.right // _CELL) + 1)
        up = range(int(spot.bottom // _CELL), int(spot.top // _CELL) + 1)
        return sum(self.dots[x, y] for x in across for y in up)


def _spots(width: float, height: float, inside: Box) -> Iterator[Box]:
    for x in _steps(inside.left + width / 2, inside.right - width / 2):
        for y in _steps(inside.bottom + height / 2, inside.top - height / 2):
            yield Box.around(x, y, width, height)


def _steps(first: float, last: float) -> list[float]:
    """Some 8 points apart, at most 13 of them, both ends included."""
    count = min(max(int((last - first) / 8), 2), 12) if last > first else 0
    return [first + (last - first) * one / count for one in range(count + 1)] if count else [first]


def _distance(spot: Box, inside: Box) -> float:
    (x, y), (across, up) = spot.middle, inside.middle
    return round(abs(x - across) + abs(y - up), 3)


@lru_cache(maxsize=4096)
def text_width(text: str, size: float) -> float:
    """How wide a text is, in points."""
    # A dollar sign would begin a formula here; it is as wide as this letter.
    return float(TextPath((0, 0), text.replace("$", "S"), size=size).get_extents().width) if text else 0.0


__all__ = ["Box", "Occupied", "text_width"]
