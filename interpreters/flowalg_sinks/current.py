"""What stands of a key and window once some panes have come: the meaning of ``final_values``, batch by batch.

What panes say of one place is a monoid, so it does not matter how they are divided into batches. It is kept as the
row that stands, and where none does, as nothing at all: later panes of a place have greater indexes (SEMANTICS section
7), so that the index of what was taken back need not be remembered.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Generic, TypeVar

from attrs import frozen

from flowalg.runs.panes import Change, Pane

A_co = TypeVar("A_co", covariant=True)
A = TypeVar("A")
P = TypeVar("P", bound=Hashable)


@frozen
class Said(Generic[A_co]):
    """What some panes of one key and window say: the greatest index, the greatest that was taken back, and the panes
    of the greatest index that give a value.
    """

    index: int
    taken_back: int
    panes: tuple[Pane[A_co], ...]

    @classmethod
    def by(cls, pane: Pane[A]) -> Said[A]:
        """What one pane says."""
        if pane.change is Change.RETRACTION:
            return Said(pane.index, pane.index, ())
        return Said(pane.index, -1, (pane,))

    def and_then(self: Said[A], other: Said[A]) -> Said[A]:
        """What both say; in either order, but for that of the panes."""
        index = max(self.index, other.index)
        panes = tuple(one for said in (self, other) if said.index == index for one in said.panes)
        return Said(index, max(self.taken_back, other.taken_back), panes)

    @property
    def standing(self) -> tuple[Pane[A_co], ...]:
        """The panes whose values stand: none, if the last one was taken back."""
        return self.panes if self.taken_back < self.index else ()


def said_of(panes: Iterable[Pane[A]], place: Callable[[Pane[A]], P]) -> dict[P, Said[A]]:
    """What panes say of each place, in the order in which the places first occur."""
    found: dict[P, Said[A]] = {}
    for pane in panes:
        at, said = place(pane), Said.by(pane)
        known = found.get(at)
        found[at] = said if known is None else known.and_then(said)
    return found


__all__ = ["Said", "said_of"]
