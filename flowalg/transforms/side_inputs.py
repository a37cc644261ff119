"""Side inputs, as operations: of a collection with a side input, or of a pair of which the second part is one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Generic, TypeVar, overload

from attrs import frozen

from flowalg.data.errors import ArgumentError, require_flag
from flowalg.data.kv import KV
from flowalg.pipeline.pcollection import PCollection, SideInput
from flowalg.pipeline.ptransform import PTransform
from flowalg.transforms.operation import one, transform, two

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


@overload
def MapWith(
    side: SideInput[V], f: Callable[[A, V], B], /, *, result: type[B] | None = None
) -> PTransform[PCollection[A], PCollection[B]]: ...
@overload
def MapWith(
    element: type[A], side: SideInput[V], f: Callable[[A, V], B], /, *, result: type[B] | None = None
) -> PTransform[PCollection[A], PCollection[B]]: ...
def MapWith(*arguments: object, result: object = None) -> object:
    """``map_with(side, f)`` as a transform.

    Example:

    >>> total = scores.combine_globally(Sum.of(lambda s: s.points)).as_singleton()
    >>> results(scores >> (MapWith(Score, total, lambda s, total: s.points / total) >> CombineGlobally(Max[float]())))
    [0.4666666666666667]
    """
    return transform("map_with", arguments, takes=2, result=result)


@overload
def FlatMapWith(
    side: SideInput[V], f: Callable[[A, V], Iterable[B]], /, *, result: type[B] | None = None
) -> PTransform[PCollection[A], PCollection[B]]: ...
@overload
def FlatMapWith(
    element: type[A],
    side: SideInput[V],
    f: Callable[[A, V], Iterable[B]],
    /,
    *,
    result: type[B] | None = None,
) -> PTransform[PCollection[A], PCollection[B]]: ...
def FlatMapWith(*arguments: object, result: object = None) -> object:
    """``flat_map_with(side, f)`` as a transform."""
    return transform("flat_map_with", arguments, takes=2, result=result)


@overload
def FilterWith(
    side: SideInput[V], predicate: Callable[[A, V], bool], /
) -> PTransform[PCollection[A], PCollection[A]]: ...
@overload
def FilterWith(
    element: type[A], side: SideInput[V], predicate: Callable[[A, V], bool], /
) -> PTransform[PCollection[A], PCollection[A]]: ...
def FilterWith(*arguments: object) -> object:
    """``filter_with(side, predicate)`` as a transform."""
    return transform("filter_with", arguments, takes=2)


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
