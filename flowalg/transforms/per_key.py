"""Operations on the values of each key, which are for keys of any type."""

from __future__ import annotations

from typing import Generic, TypeVar, cast

from attrs import frozen

from flowalg.data.kv import KV
from flowalg.pipeline.nodes import Hole
from flowalg.pipeline.pcollection import PCollection
from flowalg.transforms.operation import Method

K = TypeVar("K")
V = TypeVar("V")
B = TypeVar("B")


@frozen
class PerKey(Generic[V, B]):
    """An operation that turns the values of each key, ``V``, into ``B``, as ``CombinePerKey(Sum())`` does."""

    method: Method

    def __attrs_post_init__(self) -> None:
        self.method(PCollection(Hole(None)))  # raises if the arguments are invalid

    def __call__(self, collection: PCollection[KV[K, V]], /) -> PCollection[KV[K, B]]:
        """Returns the collection that the method returns."""
        return cast("PCollection[KV[K, B]]", self.method(collection))
