"""Values tagged with the number of their collection, and the combiner that separates them, for co-groups."""

from __future__ import annotations

from attrs import frozen

from flowalg.combiners.core import Combiner
from flowalg.data.kv import KV
from flowalg.elementwise.functions import require_keyed


@frozen
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
    """A list of the values of each of ``sources`` collections, ordered by event time, then by arrival."""

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


__all__ = ["Lists", "Separate", "Tagged", "tagged", "untagged"]
