"""Joins, as operations on a pair of keyed collections: each is the method of ``PCollection`` of its name.

``(left, right) >> InnerJoin()`` is ``left.inner_join(right)``.
"""

from __future__ import annotations

from typing import TypeVar, overload

from attrs import frozen

from flowalg.data.errors import ArgumentError
from flowalg.data.kv import KV
from flowalg.pipeline.pcollection import PCollection
from flowalg.transforms.operation import Method, two

A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
D = TypeVar("D")
K = TypeVar("K")
V = TypeVar("V")


@frozen
class InnerJoin:
    """``inner_join`` of a pair.

    Example:

    >>> high = Filter(KV[str, int], lambda pair: pair.value > 4)
    >>> results(points >> (Input(KV[str, int]) >> Copy() >> Second(high) >> InnerJoin()))
    [KV(key='blue', value=(7, 7)), KV(key='red', value=(5, 5)), KV(key='red', value=(3, 5))]
    """

    def __call__(
        self, pair: tuple[PCollection[KV[K, V]], PCollection[KV[K, B]]], /
    ) -> PCollection[KV[K, tuple[V, B]]]:
        """Returns the join."""
        left, right = two(self, pair)
        return left.inner_join(right)

    __rrshift__ = __call__


@frozen
class LeftJoin:
    """``left_join`` of a pair."""

    def __call__(
        self, pair: tuple[PCollection[KV[K, V]], PCollection[KV[K, B]]], /
    ) -> PCollection[KV[K, tuple[V, B | None]]]:
        """Returns the join."""
        left, right = two(self, pair)
        return left.left_join(right)

    __rrshift__ = __call__


@frozen
class FullJoin:
    """``full_join`` of a pair."""

    def __call__(
        self, pair: tuple[PCollection[KV[K, V]], PCollection[KV[K, B]]], /
    ) -> PCollection[KV[K, tuple[V | None, B | None]]]:
        """Returns the join."""
        left, right = two(self, pair)
        return left.full_join(right)

    __rrshift__ = __call__


@frozen
class SemiJoin:
    """``semi_join`` of a pair."""

    def __call__(self, pair: tuple[PCollection[KV[K, V]], PCollection[KV[K, B]]], /) -> PCollection[KV[K, V]]:
        """Returns the join."""
        left, right = two(self, pair)
        return left.semi_join(right)

    __rrshift__ = __call__


@frozen
class AntiJoin:
    """``anti_join`` of a pair."""

    def __call__(self, pair: tuple[PCollection[KV[K, V]], PCollection[KV[K, B]]], /) -> PCollection[KV[K, V]]:
        """Returns the join."""
        left, right = two(self, pair)
        return left.anti_join(right)

    __rrshift__ = __call__


@frozen
class Except:
    """``except_`` of a pair."""

    def __call__(self, pair: tuple[PCollection[A], PCollection[A]], /) -> PCollection[A]:
        """Returns the difference."""
        left, right = two(self, pair)
        return left.except_(right)

    __rrshift__ = __call__


@frozen
class CoGroupByKey:
    """``co_group_by_key`` of two to four collections."""

    @overload
    def __call__(
        self, collections: tuple[PCollection[KV[K, V]], PCollection[KV[K, B]]], /
    ) -> PCollection[KV[K, tuple[list[V], list[B]]]]: ...
    @overload
    def __call__(
        self, collections: tuple[PCollection[KV[K, V]], PCollection[KV[K, B]], PCollection[KV[K, C]]], /
    ) -> PCollection[KV[K, tuple[list[V], list[B], list[C]]]]: ...
    @overload
    def __call__(
        self,
        collections: tuple[
            PCollection[KV[K, V]], PCollection[KV[K, B]], PCollection[KV[K, C]], PCollection[KV[K, D]]
        ],
        /,
    ) -> PCollection[KV[K, tuple[list[V], list[B], list[C], list[D]]]]: ...
    def __call__(self, collections: object, /) -> object:
        """Returns the lists of values of each key."""
        match collections:
            case (PCollection() as first, second, *others):
                return Method("co_group_by_key", (second, *others), ())(first)
            case _:
                raise ArgumentError("the input of CoGroupByKey", collections, "two to four collections")

    __rrshift__ = __call__
