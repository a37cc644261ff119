"""Values tagged with the number of their collection, and the combiners of co-groups and joins, which separate them."""

from __future__ import annotations

from functools import reduce
from typing import Final

from attrs import frozen

from flowalg.combiners.core import Combiner
from flowalg.data.kv import KV
from flowalg.elementwise.functions import require_keyed
from flowalg.pipeline.joins import JoinKind


# Without slots, since pickle copies a ``__dict__`` much faster: engines pickle one for each value.
@frozen(slots=False)
class Tagged:
    """A value and the number of its collection."""

    source: int
    value: object


def tagged(pair: object, source: int, transform: str) -> KV[object, Tagged]:
    """Returns a pair with its value tagged; raises ``KeyedCollectionError`` for an element that is not a pair."""
    known = require_keyed(pair, transform)
    return KV(known.key, Tagged(source, known.value))


def untagged(value: object) -> object:
    """Returns the untagged value, which triggers observe."""
    return value.value if isinstance(value, Tagged) else value


Lists = tuple[tuple[object, ...], ...]


@frozen
class Separate(Combiner[Tagged, Lists, tuple[list[object], ...]]):
    """A list of the values of each of ``sources`` collections, ordered by event time, then by value."""

    sources: int

    @property
    def has_empty_result(self) -> bool:
        """The result of no values is empty lists."""
        return True

    @property
    def is_ordered(self) -> bool:
        """A list is ordered."""
        return True

    def zero(self) -> Lists:  # noqa: D102
        return ((),) * self.sources

    def add(self, accumulator: Lists, value: Tagged) -> Lists:  # noqa: D102
        return tuple(
            (*values, value.value) if number == value.source else values
            for number, values in enumerate(accumulator)
        )

    def merge(self, left: Lists, right: Lists) -> Lists:  # noqa: D102
        return tuple((*a, *b) for a, b in zip(left, right, strict=True))

    def extract(self, accumulator: Lists) -> tuple[list[object], ...]:  # noqa: D102
        return tuple(map(list, accumulator))


@frozen(slots=False)
class Matches:
    """The values of a join. All pairs inside each group of ``emitted`` have been emitted, and none with ``new`` values.

    Each group has a list of left and a list of right values. Several groups come from windows that have merged.
    """

    emitted: tuple[Lists, ...] = ()
    new: Lists = ((), ())


@frozen
class Join(Combiner[Tagged, Matches, list[tuple[object, object]]]):
    """The pairs of two collections that have not been emitted, left values first by event time, then by value.

    Law, for bags: ``extract(merge(a, b)) = extract(a) + extract(merge(discard(a), b))``. Under ``DISCARDING`` all panes
    together therefore have each pair once. A kind that keeps values without a match does not obey it.
    """

    kind: JoinKind

    @property
    def has_empty_result(self) -> bool:
        """There are no pairs of no values."""
        return True

    @property
    def is_ordered(self) -> bool:
        """A list is ordered."""
        return True

    def zero(self) -> Matches:  # noqa: D102
        return Matches()

    def add(self, accumulator: Matches, value: Tagged) -> Matches:  # noqa: D102
        return Matches(accumulator.emitted, _SEPARATE.add(accumulator.new, value))

    def merge(self, left: Matches, right: Matches) -> Matches:  # noqa: D102
        return Matches((*left.emitted, *right.emitted), _SEPARATE.merge(left.new, right.new))

    def discard(self, accumulator: Matches) -> Matches:
        """Returns all values as one group, since a pane has all other pairs."""
        return Matches((reduce(_SEPARATE.merge, (*accumulator.emitted, accumulator.new)),))

    def extract(self, accumulator: Matches) -> list[tuple[object, object]]:  # noqa: D102
        *emitted, new = groups = (*accumulator.emitted, accumulator.new)
        pairs = [*self.kind.pairs(new[0], [value for group in groups for value in group[1]])]
        for number, (left, _) in enumerate(emitted):
            others = [value for group in (*groups[:number], *groups[number + 1 :]) for value in group[1]]
            pairs += self.kind.pairs(left, others)
        return pairs


_SEPARATE: Final = Separate(2)


__all__ = ["Join", "Lists", "Matches", "Separate", "Tagged", "tagged", "untagged"]
