"""Several keyed collections grouped together (CoGroupByKey), and joins made of it.

Desugared: values are tagged with where they come from, flattened into one collection, and grouped; so a co-group has
the windows, triggers, lateness and retractions of any grouping.
"""

from __future__ import annotations

from typing import TypeVar, cast

from attrs import frozen

from flowalg.combiners.core import Combiner
from flowalg.data.errors import ArgumentError
from flowalg.data.kv import KV
from flowalg.data.shapes import Field, ListOf, RecordOf, Shape, TupleOf, kv_of, optional
from flowalg.elementwise.functions import Call, OnValue
from flowalg.elementwise.steps import FlatMap, Map
from flowalg.pipeline.nodes import CombinePerKey, ElementWise, Flatten, Node
from flowalg.pipeline.tagging import Separate, Tag

K = TypeVar("K")
A = TypeVar("A")
B = TypeVar("B")


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
    return ElementWise.then(co_grouped((left, right)), FlatMap(Call(Pairs(outer=False)), "inner_join"))


def left_joined(left: Node, right: Node) -> Node:
    """Each left value with each right value of its key and window, or with ``None`` where there is none."""
    return ElementWise.then(co_grouped((left, right)), FlatMap(Call(Pairs(outer=True)), "left_join"))


@frozen
class Pairs:
    """The pairs of a left and a right value; with ``outer`` a left value that has none is paired with ``None``."""

    outer: bool

    def __call__(self, pair: KV[K, tuple[list[A], list[B]]]) -> list[KV[K, tuple[A, B | None]]]:
        """The pairs of one key and window."""
        left, right = pair.value
        others: list[B | None] = [*right] if right or not self.outer else [None]
        return [KV(pair.key, (a, b)) for a in left for b in others]

    def shape_of_items(self, element: Shape) -> Shape | None:
        """The shape of a pair under its key, from that of the two lists."""
        match element:
            case RecordOf(fields=(key, Field(shape=TupleOf(items=(ListOf(of=left), ListOf(of=right)))))):
                other = optional(right) if self.outer else right
                return kv_of(key.shape, TupleOf((left, other)))
            case _:
                return None


__all__ = ["Pairs", "co_grouped", "inner_joined", "left_joined"]
