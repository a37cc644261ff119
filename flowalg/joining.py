"""Several keyed collections grouped together (CoGroupByKey), and joins made of it.

Desugared: values are tagged with where they come from, flattened into one collection, and grouped; so a co-group has
the windows, triggers, lateness and retractions of any grouping.
"""

from __future__ import annotations

from typing import TypeVar, cast

from attrs import frozen

from flowalg.combiners import Combiner
from flowalg.errors import ArgumentError
from flowalg.functions import Call, OnValue
from flowalg.kv import KV
from flowalg.nodes import CombinePerKey, ElementWise, Flatten, Node
from flowalg.steps import FlatMap, Map

K = TypeVar("K")
A = TypeVar("A")
B = TypeVar("B")


@frozen
class Tagged:
    """A value, and the number of the collection that it comes from."""

    source: int
    value: object


@frozen
class Tag:
    """Tags values with a number."""

    source: int

    def __call__(self, value: object) -> Tagged:
        """The value, tagged."""
        return Tagged(self.source, value)


def untagged(value: object) -> object:
    """The user's own value, which is what a trigger that looks at values is shown."""
    return value.value if isinstance(value, Tagged) else value


Lists = tuple[tuple[object, ...], ...]


@frozen
class Separate(Combiner[Tagged, Lists, tuple[list[object], ...]]):
    """The values of each of ``sources`` collections, in order of event time and arrival."""

    @property
    def total(self) -> bool:
        """Empty lists."""
        return True

    sources: int

    @property
    def ordered(self) -> bool:
        """A list has an order."""
        return True

    def zero(self) -> Lists:  # noqa: D102
        return ((),) * self.sources

    def add(self, accumulator: Lists, value: Tagged) -> Lists:  # noqa: D102
        return tuple(
            (*known, value.value) if number == value.source else known
            for number, known in enumerate(accumulator)
        )

    def merge(self, one: Lists, other: Lists) -> Lists:  # noqa: D102
        return tuple((*a, *b) for a, b in zip(one, other, strict=True))

    def extract(self, accumulator: Lists) -> tuple[list[object], ...]:  # noqa: D102
        return tuple(list(known) for known in accumulator)


def co_grouped(nodes: tuple[Node, ...]) -> Node:
    """The co-group of some keyed collections: for each key and window a list of the values of each."""
    if not 2 <= len(nodes) <= 4:
        raise ArgumentError("the number of collections", len(nodes), "two to four")
    tagged = tuple(
        ElementWise.then(node, Map(OnValue(Call(Tag(number))), "co_group_by_key"))
        for number, node in enumerate(nodes)
    )
    separate = cast("Combiner[object, object, object]", Separate(len(nodes)))
    return CombinePerKey(Flatten(tagged), separate, f"co_group_by_key of {len(nodes)}")


def inner_joined(left: Node, right: Node) -> Node:
    """Each pair of a left and a right value of one key and window."""
    return ElementWise.then(co_grouped((left, right)), FlatMap(Call(_pairs), "inner_join"))


def left_joined(left: Node, right: Node) -> Node:
    """Each left value with each right value of its key and window, or with ``None`` where there is none."""
    return ElementWise.then(co_grouped((left, right)), FlatMap(Call(_pairs_or_none), "left_join"))


def _pairs(pair: KV[K, tuple[list[A], list[B]]]) -> list[KV[K, tuple[A, B]]]:
    left, right = pair.value
    return [KV(pair.key, (a, b)) for a in left for b in right]


def _pairs_or_none(pair: KV[K, tuple[list[A], list[B]]]) -> list[KV[K, tuple[A, B | None]]]:
    left, right = pair.value
    others: list[B | None] = [*right] if right else [None]
    return [KV(pair.key, (a, b)) for a in left for b in others]


__all__ = ["Separate", "Tag", "Tagged", "co_grouped", "inner_joined", "left_joined", "untagged"]
