"""Computations, as operations: each is the method of ``PCollection`` of its name."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import TypeVar, cast, overload

from attrs import frozen

from flowalg.computations.computation import Late, Processor
from flowalg.data.kv import KV
from flowalg.pipeline.nodes import Hole
from flowalg.pipeline.pcollection import PCollection
from flowalg.pipeline.ptransform import PTransform, of_any
from flowalg.transforms.operation import Method, one, transform

A = TypeVar("A")
B = TypeVar("B")
K = TypeVar("K")
V = TypeVar("V")


def Process(
    computation: Processor[K, V, B], /, *, in_order: bool = False, late: Late | None = None
) -> PTransform[PCollection[KV[K, V]], PCollection[KV[K, B]]]:
    """``process(computation)`` as a transform."""
    options = (("in_order", in_order), ("late", late))
    made = of_any(Method("process", (computation,), options))
    return cast("PTransform[PCollection[KV[K, V]], PCollection[KV[K, B]]]", made)


@overload
def Deduplicate(
    *, by: Callable[[A], object], within: timedelta, in_order: bool = False
) -> PTransform[PCollection[A], PCollection[A]]: ...
@overload
def Deduplicate(
    element: type[A], /, *, by: Callable[[A], object], within: timedelta, in_order: bool = False
) -> PTransform[PCollection[A], PCollection[A]]: ...
def Deduplicate(*element: object, by: object, within: timedelta, in_order: bool = False) -> object:
    """``deduplicate(by=..., within=...)`` as a transform."""
    return transform("deduplicate", element, takes=0, by=by, within=within, in_order=in_order)


@frozen
class Every:
    """``every(n)`` as an operation."""

    n: int
    in_order: bool = False

    def __attrs_post_init__(self) -> None:
        self(PCollection[KV[str, int]](Hole(None)))  # raises if the number is invalid

    def __call__(self, collection: PCollection[KV[K, V]], /) -> PCollection[KV[K, list[V]]]:
        """Returns the lists of elements."""
        return one(self, collection).every(self.n, in_order=self.in_order)
