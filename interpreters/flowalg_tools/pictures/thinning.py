"""Deterministic thinning of elements that would overlap in a picture."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TypeVar

from attrs import frozen

A = TypeVar("A")


@frozen
class Density:
    """The number of elements in each square of a grid, by column and row; ``side`` is in points."""

    side: float
    columns: int
    rows: int
    counts: tuple[tuple[int, int, int], ...]

    @classmethod
    def of(cls, points: Iterable[tuple[float, float]], width: float, height: float, side: float) -> Density:
        """Returns the density of points on a plane of a given size."""
        columns, rows = int(width // side) + 1, int(height // side) + 1
        counts = Counter((min(int(x // side), columns - 1), min(int(y // side), rows - 1)) for x, y in points)
        return cls(side, columns, rows, tuple(sorted((*at, count) for at, count in counts.items())))

    @property
    def total(self) -> int:
        """The number of elements."""
        return sum(count for *_, count in self.counts)

    @property
    def greatest(self) -> int:
        """The greatest number of elements in a square."""
        return max((count for *_, count in self.counts), default=0)


def thin(items: Sequence[A], most: int) -> tuple[A, ...]:
    """At most ``most`` of the items, evenly distributed, including the first and the last."""
    if len(items) <= most:
        return tuple(items)
    if most < 2:
        return tuple(items[:most])
    return tuple(items[number * (len(items) - 1) // (most - 1)] for number in range(most))
