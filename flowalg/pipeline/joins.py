"""The kinds of joins, and the step that emits their pairs one by one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum, unique
from typing import TypeVar

from flowalg.data.kv import KV
from flowalg.data.shapes import Shape, TupleOf, optional

K = TypeVar("K")
B = TypeVar("B")


@unique
class JoinKind(Enum):
    """The method of ``PCollection`` that made a join: which values are in a pair with ``None`` if nothing matches."""

    INNER = "inner_join"
    LEFT = "left_join"
    FULL = "full_join"

    @property
    def keeps_left(self) -> bool:
        """Whether left values without a match are kept."""
        return self is not JoinKind.INNER

    @property
    def keeps_right(self) -> bool:
        """Whether right values without a match are kept."""
        return self is JoinKind.FULL

    def pairs(self, left: Sequence[object], right: Sequence[object]) -> Iterator[tuple[object, object]]:
        """Yields each left value with each right value of one key and window."""
        lefts = left if left or not self.keeps_right else (None,)
        rights = right if right or not self.keeps_left else (None,)
        return ((a, b) for a in lefts for b in rights)

    def shape(self, left: Shape, right: Shape) -> TupleOf:
        """Returns the shape of a pair."""
        return TupleOf(
            (optional(left) if self.keeps_right else left, optional(right) if self.keeps_left else right)
        )


def each_pair(matches: KV[K, list[B]]) -> list[KV[K, B]]:
    """Returns the pairs of a key and window, each under its key."""
    return [KV(matches.key, pair) for pair in matches.value]


__all__ = ["JoinKind", "each_pair"]
