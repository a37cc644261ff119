"""Side inputs, as operations: of a collection with a side input, or of a pair of which the second part is one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Generic, TypeVar

from attrs import frozen

from flowalg.data.errors import ArgumentError, require_flag
from flowalg.data.kv import KV
from flowalg.pipeline.pcollection import PCollection, SideInput
from flowalg.transforms.operation import one, two

A = TypeVar("A")
B = TypeVar("B")
K = TypeVar("K")
V = TypeVar("V")

_PAIR = "two collections, (elements, side)"


@frozen
class WithSide(Generic[B]):
    """``with_side(side)`` as an operation."""

    side: SideInput[B]

    def __attrs_post_init__(self) -> None:
        if not isinstance(self.side, SideInput):
            raise ArgumentError(
                "WithSide.side", self.side, "a side input, as as_singleton() and as_map() give"
            )

    def __call__(self, collection: PCollection[A], /) -> PCollection[tuple[A, B]]:
        """Returns the elements with what they read."""
        return one(self, collection).with_side(self.side)


@frozen
class WithSingleton:
    """Pairs each element of the first collection with the value of its window of the second: ``as_singleton()``.

    With ``latest_complete`` it is the newest complete value.

    Example:

    >>> total = CombineGlobally(Sum.of(lambda s: s.points))
    >>> shares = Input(Score) >> Copy() >> Second(total) >> WithSingleton()
    >>> results(scores >> shares >> Map(lambda pair: pair[0].points / pair[1]) >> CombineGlobally(Max()))
    [0.4666666666666667]
    """

    latest_complete: bool = False

    def __attrs_post_init__(self) -> None:
        require_flag("WithSingleton.latest_complete", self.latest_complete)

    def __call__(self, pair: tuple[PCollection[A], PCollection[B]], /) -> PCollection[tuple[A, B]]:
        """Returns the elements with what they read."""
        elements, side = two(self, pair, _PAIR)
        singleton = side.as_singleton()
        return elements.with_side(singleton.latest_complete() if self.latest_complete else singleton)

    __rrshift__ = __call__


@frozen
class WithMap:
    """Pairs each element of the first collection with the mapping of its window of the second: ``as_map()``.

    With ``latest_complete`` it has the newest complete value of each key.
    """

    latest_complete: bool = False

    def __attrs_post_init__(self) -> None:
        require_flag("WithMap.latest_complete", self.latest_complete)

    def __call__(
        self, pair: tuple[PCollection[A], PCollection[KV[K, V]]], /
    ) -> PCollection[tuple[A, Mapping[K, V]]]:
        """Returns the elements with what they read."""
        elements, side = two(self, pair, _PAIR)
        mapping = side.as_map()
        return elements.with_side(mapping.latest_complete() if self.latest_complete else mapping)

    __rrshift__ = __call__
