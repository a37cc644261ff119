"""Several keyed collections grouped together (CoGroupByKey), and joins made of it.

Desugared: values are tagged with where they come from, flattened into one collection, and grouped; so a co-group has
the windows, triggers, lateness and retractions of any grouping.
"""

from __future__ import annotations

from typing import ClassVar, TypeVar, cast, overload

from attrs import frozen

from flowalg.combiners import Combiner
from flowalg.errors import ArgumentError
from flowalg.functions import Call, OnValue
from flowalg.kv import KV
from flowalg.nodes import CombinePerKey, ElementWise, Flatten, Node
from flowalg.pcollection import PCollection
from flowalg.steps import Map

K = TypeVar("K")
A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
D = TypeVar("D")


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


Lists = tuple[tuple[object, ...], ...]


@frozen
class Separate(Combiner[Tagged, Lists, tuple[list[object], ...]]):
    """The values of each of ``sources`` collections, in order of event time and arrival."""

    sources: int

    ordered: ClassVar[bool] = True

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


@overload
def co_group_by_key(
    first: PCollection[KV[K, A]], second: PCollection[KV[K, B]], /
) -> PCollection[KV[K, tuple[list[A], list[B]]]]: ...
@overload
def co_group_by_key(
    first: PCollection[KV[K, A]], second: PCollection[KV[K, B]], third: PCollection[KV[K, C]], /
) -> PCollection[KV[K, tuple[list[A], list[B], list[C]]]]: ...
@overload
def co_group_by_key(
    first: PCollection[KV[K, A]],
    second: PCollection[KV[K, B]],
    third: PCollection[KV[K, C]],
    fourth: PCollection[KV[K, D]],
    /,
) -> PCollection[KV[K, tuple[list[A], list[B], list[C], list[D]]]]: ...
def co_group_by_key(*collections: PCollection[KV[K, object]]) -> PCollection[object]:
    """For each key and window, the values of each collection: two to four collections with keys of one type.

    They must have one windowing strategy, put into the same windows in the same way.
    """
    if not 2 <= len(collections) <= 4:
        raise ArgumentError("collections", collections, "two to four keyed collections")
    return PCollection(
        _co_group(tuple(one.node for one in collections), f"co_group_by_key of {len(collections)}")
    )


def _co_group(nodes: tuple[Node, ...], label: str) -> Node:
    tagged = tuple(
        ElementWise.then(node, Map(OnValue(Call(Tag(number))), "co_group_by_key"))
        for number, node in enumerate(nodes)
    )
    separate = cast("Combiner[object, object, object]", Separate(len(nodes)))
    return CombinePerKey(Flatten(tagged), separate, label)


def inner_join(left: PCollection[KV[K, A]], right: PCollection[KV[K, B]]) -> PCollection[KV[K, tuple[A, B]]]:
    """Each pair of a left and a right value of one key and window."""
    return co_group_by_key(left, right).flat_map(_pairs)


def left_join(
    left: PCollection[KV[K, A]], right: PCollection[KV[K, B]]
) -> PCollection[KV[K, tuple[A, B | None]]]:
    """Each left value with each right value of its key and window, or with ``None`` where there is none."""
    return co_group_by_key(left, right).flat_map(_pairs_or_none)


def _pairs(pair: KV[K, tuple[list[A], list[B]]]) -> list[KV[K, tuple[A, B]]]:
    left, right = pair.value
    return [KV(pair.key, (a, b)) for a in left for b in right]


def _pairs_or_none(pair: KV[K, tuple[list[A], list[B]]]) -> list[KV[K, tuple[A, B | None]]]:
    left, right = pair.value
    others: list[B | None] = [*right] if right else [None]
    return [KV(pair.key, (a, b)) for a in left for b in others]


__all__ = ["Separate", "Tag", "Tagged", "co_group_by_key", "inner_join", "left_join"]
