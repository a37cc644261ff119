"""Windows and groupings, as operations: each is the method of ``PCollection`` of its name."""

from __future__ import annotations

from typing import TypeVar, cast

from attrs import frozen

from flowalg.combiners.core import Aggregate
from flowalg.data.kv import KV
from flowalg.pipeline.nodes import Hole
from flowalg.pipeline.pcollection import PCollection
from flowalg.pipeline.ptransform import PTransform, of_any
from flowalg.transforms.operation import Method, one
from flowalg.transforms.per_key import PerKey
from flowalg.windows.strategy import WindowingStrategy

A = TypeVar("A")
B = TypeVar("B")
K = TypeVar("K")
V = TypeVar("V")


@frozen
class WindowInto(WindowingStrategy):
    """``window(...)`` as an operation: a windowing strategy that applies itself.

    Example:

    >>> totals = Input(KV[str, int]) >> WindowInto(FixedWindows(2 * MINUTE)) >> CombinePerKey(Sum())
    >>> results(points >> totals)
    [KV(key='blue', value=7), KV(key='red', value=5), KV(key='red', value=3)]
    """

    def __call__(self, collection: PCollection[A], /) -> PCollection[A]:
        """Returns the collection with these windows."""
        return one(self, collection).window(
            self.windows,
            trigger=self.trigger,
            accumulation=self.accumulation,
            allowed_lateness=self.allowed_lateness,
            timestamp_combiner=self.timestamp_combiner,
            on_time_behavior=self.on_time_behavior,
        )


def CombinePerKey(combiner: Aggregate[V, B], /) -> PerKey[V, B]:
    """``combine_per_key(combiner)`` as an operation; for several combiners use ``together``."""
    return PerKey(Method("combine_per_key", (combiner,), ()))


def CombineGlobally(combiner: Aggregate[A, B], /) -> PTransform[PCollection[A], PCollection[B]]:
    """``combine_globally(combiner)`` as a transform; for several combiners use ``together``."""
    made = of_any(Method("combine_globally", (combiner,), ()))
    return cast("PTransform[PCollection[A], PCollection[B]]", made)


@frozen
class GroupByKey:
    """``group_by_key()`` as an operation."""

    def __call__(self, collection: PCollection[KV[K, V]], /) -> PCollection[KV[K, list[V]]]:
        """Returns the lists of values."""
        return one(self, collection).group_by_key()


@frozen
class Distinct:
    """``distinct()`` as an operation."""

    def __call__(self, collection: PCollection[A], /) -> PCollection[A]:
        """Returns the distinct elements."""
        return one(self, collection).distinct()


@frozen
class Top:
    """``top(n)`` as an operation; with ``by`` use ``CombineGlobally(TopN(n, by))``."""

    n: int

    def __attrs_post_init__(self) -> None:
        self(PCollection[int](Hole(None)))  # raises if the number is invalid

    def __call__(self, collection: PCollection[A], /) -> PCollection[list[A]]:
        """Returns the greatest elements."""
        return one(self, collection).top(self.n)
