"""Joins of two keyed collections: the pairs of a co-group, so that a join has the semantics of any grouping."""

from __future__ import annotations

from typing import TypeVar

from attrs import frozen

from flowalg.data.kv import KV
from flowalg.data.shapes import Field, ListOf, RecordOf, Shape, TupleOf, kv_of, optional
from flowalg.elementwise.functions import Call
from flowalg.elementwise.steps import FlatMap
from flowalg.pipeline.nodes import CoGroupByKey, ElementWise, Node

K = TypeVar("K")
A = TypeVar("A")
B = TypeVar("B")


def inner_join(left: Node, right: Node) -> Node:
    """Returns each pair of a left and a right value of one key and window."""
    return ElementWise.after(CoGroupByKey((left, right)), FlatMap(Call(Pairs(outer=False)), "inner_join"))


def left_join(left: Node, right: Node) -> Node:
    """Returns each left value with each right value of its key and window, or with ``None`` if there is none."""
    return ElementWise.after(CoGroupByKey((left, right)), FlatMap(Call(Pairs(outer=True)), "left_join"))


@frozen
class Pairs:
    """The pairs of a left and a right value; with ``outer`` an unmatched left value is paired with ``None``."""

    outer: bool

    def __call__(self, pair: KV[K, tuple[list[A], list[B]]]) -> list[KV[K, tuple[A, B | None]]]:
        """Returns the pairs of one key and window."""
        left, right = pair.value
        others: list[B | None] = [*right] if right or not self.outer else [None]
        return [KV(pair.key, (a, b)) for a in left for b in others]

    def shape_of_items(self, element: Shape) -> Shape | None:
        """Returns the shape of a pair under its key, from that of the two lists."""
        match element:
            case RecordOf(fields=(key, Field(shape=TupleOf(items=(ListOf(of=left), ListOf(of=right)))))):
                other = optional(right) if self.outer else right
                return kv_of(key.shape, TupleOf((left, other)))
            case _:
                return None


__all__ = ["Pairs", "inner_join", "left_join"]
