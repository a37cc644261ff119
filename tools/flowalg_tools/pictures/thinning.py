"""Leaving out what no eye could tell apart, in the same way every time, and saying how much it was."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TypeVar

from attrs import frozen

A = TypeVar("A")


@frozen
class Density:
    """How many elements lie in each square of a grid, by its column and row; ``side`` is in points."""

    side: float
    columns: int
    rows: int
    counts: tuple[tuple[int, int, int], ...]

    @classmethod
    def of(cls, points: Iterable[tuple[float, float]], width: float, height: float, side: float) -> Density:
        """The density of points on a plane of a size."""
        columns, rows = int(width // side) + 1, int(height // side) + 1
        found = Counter((min(int(x // side), columns - 1), min(int(y // side), rows - 1)) for x, y in points)
        return cls(side, columns, rows, tuple(sorted((*at, count) for at, count in found.items())))

    @property
    def total(self) -> int:
        """How many elements there are in all."""
        return sum(count for *_, count in self.counts)

    @property
    def most(self) -> int:
        """How many there are in the fullest square."""
        return max((count for *_, count in self.counts), default=0)


def spread(items: Sequence[A], most: int) -> tuple[A, ...]:
    """At most so many of some items, evenly spread over them, the first and the last included."""
    if len(items) <= most:
        return tuple(items)
    if most < 2:
        return tuple(items[:most])
    return tuple(items[number * (len(items) - 1) // (most - 1)] for number in range(most))


__all__ = ["Density", "spread"]
