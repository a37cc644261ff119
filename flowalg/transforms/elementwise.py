"""Element-wise operations, as transforms: each is the method of ``PCollection`` of its name.

With the type of the elements first, lambdas are inferred: ``Map(Score, lambda s: s.points)``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import TypeVar, cast, overload

from attrs import frozen
from returns.maybe import Maybe
from returns.result import Result

from flowalg.data.kv import KV
from flowalg.elementwise.failed import Failed
from flowalg.pipeline.pcollection import PCollection
from flowalg.pipeline.ptransform import PTransform
from flowalg.transforms.operation import Method, one, transform
from flowalg.transforms.per_key import PerKey

A = TypeVar("A")
B = TypeVar("B")
K = TypeVar("K")
V = TypeVar("V")
R = TypeVar("R")
T = TypeVar("T")


@overload
def Map(
    f: Callable[[A], B], /, *, result: type[B] | None = None
) -> PTransform[PCollection[A], PCollection[B]]: ...
@overload
def Map(
    element: type[A], f: Callable[[A], B], /, *, result: type[B] | None = None
) -> PTransform[PCollection[A], PCollection[B]]: ...
def Map(*arguments: object, result: object = None) -> object:
    """``map(f)`` as a transform.

    Example:

    >>> results(scores >> (Map(Score, lambda s: s.points) >> Map(abs) >> Distinct()))
    [3, 5, 7]
    """
    return transform("map", arguments, result=result)


@overload
def Filter(predicate: Callable[[A], bool], /) -> PTransform[PCollection[A], PCollection[A]]: ...
@overload
def Filter(
    element: type[A], predicate: Callable[[A], bool], /
) -> PTransform[PCollection[A], PCollection[A]]: ...
def Filter(*arguments: object) -> object:
    """``filter(predicate)`` as a transform."""
    return transform("filter", arguments)


@overload
def FlatMap(
    f: Callable[[A], Iterable[B]], /, *, result: type[B] | None = None
) -> PTransform[PCollection[A], PCollection[B]]: ...
@overload
def FlatMap(
    element: type[A], f: Callable[[A], Iterable[B]], /, *, result: type[B] | None = None
) -> PTransform[PCollection[A], PCollection[B]]: ...
def FlatMap(*arguments: object, result: object = None) -> object:
    """``flat_map(f)`` as a transform."""
    return transform("flat_map", arguments, result=result)


@overload
def Collect(
    f: Callable[[A], Maybe[B]], /, *, result: type[B] | None = None
) -> PTransform[PCollection[A], PCollection[B]]: ...
@overload
def Collect(
    element: type[A], f: Callable[[A], Maybe[B]], /, *, result: type[B] | None = None
) -> PTransform[PCollection[A], PCollection[B]]: ...
def Collect(*arguments: object, result: object = None) -> object:
    """``collect(f)`` as a transform."""
    return transform("collect", arguments, result=result)


@overload
def KeyBy(
    f: Callable[[A], K], /, *, result: type[K] | None = None
) -> PTransform[PCollection[A], PCollection[KV[K, A]]]: ...
@overload
def KeyBy(
    element: type[A], f: Callable[[A], K], /, *, result: type[K] | None = None
) -> PTransform[PCollection[A], PCollection[KV[K, A]]]: ...
def KeyBy(*arguments: object, result: object = None) -> object:
    """``key_by(f)`` as a transform."""
    return transform("key_by", arguments, result=result)


@overload
def MapValues(f: Callable[[V], B], /, *, result: type[B] | None = None) -> PerKey[V, B]: ...
@overload
def MapValues(
    element: type[KV[K, V]], f: Callable[[V], B], /, *, result: type[B] | None = None
) -> PTransform[PCollection[KV[K, V]], PCollection[KV[K, B]]]: ...
def MapValues(*arguments: object, result: object = None) -> object:
    """``map_values(f)`` as an operation for any keys; with the type of the pairs first it is a transform.

    Example:

    >>> doubled = MapValues(KV[str, int], lambda n: 2 * n)
    >>> results(points >> doubled >> GroupByKey())
    [KV(key='blue', value=[14]), KV(key='red', value=[10, 6])]
    """
    if len(arguments) == 1:
        return PerKey[object, object](Method("map_values", arguments, (("result", result),)))
    return transform("map_values", arguments, result=result)


@overload
def WithTimestamps(f: Callable[[A], datetime], /) -> PTransform[PCollection[A], PCollection[A]]: ...
@overload
def WithTimestamps(
    element: type[A], f: Callable[[A], datetime], /
) -> PTransform[PCollection[A], PCollection[A]]: ...
def WithTimestamps(*arguments: object) -> object:
    """``with_timestamps(f)`` as a transform."""
    return transform("with_timestamps", arguments)


@overload
def TryMap(
    f: Callable[[A], Result[B, Exception]], /, *, result: type[B] | None = None
) -> PTransform[PCollection[A], PCollection[Result[B, Failed[A]]]]: ...
@overload
def TryMap(
    element: type[A], f: Callable[[A], Result[B, Exception]], /, *, result: type[B] | None = None
) -> PTransform[PCollection[A], PCollection[Result[B, Failed[A]]]]: ...
def TryMap(*arguments: object, result: object = None) -> object:
    """``try_map(f)`` as a transform."""
    return transform("try_map", arguments, result=result)


@frozen
class SplitResults:
    """``split()`` as an operation for any results."""

    def __call__(self, collection: PCollection[Result[B, R]], /) -> tuple[PCollection[B], PCollection[R]]:
        """Returns the successes and the failures."""
        return one(self, collection).split()


@overload
def Split() -> SplitResults: ...
@overload
def Split(
    f: Callable[[A], Result[B, R]], /, *, result: type[B] | None = None, failure: type[R] | None = None
) -> PTransform[PCollection[A], tuple[PCollection[B], PCollection[R]]]: ...
@overload
def Split(
    element: type[A],
    f: Callable[[A], Result[B, R]],
    /,
    *,
    result: type[B] | None = None,
    failure: type[R] | None = None,
) -> PTransform[PCollection[A], tuple[PCollection[B], PCollection[R]]]: ...
def Split(*arguments: object, result: object = None, failure: object = None) -> object:
    """``split(f)`` as a transform with two outputs; without a function, ``split()`` as an operation."""
    if not arguments:
        return SplitResults()
    return transform("split", arguments, result=result, failure=failure)


@overload
def Partition(
    first: type[B], second: type[R], /
) -> PTransform[PCollection[object], tuple[PCollection[B], PCollection[R]]]: ...
@overload
def Partition(
    first: type[B], second: type[R], third: type[T], /
) -> PTransform[PCollection[object], tuple[PCollection[B], PCollection[R], PCollection[T]]]: ...
def Partition(*kinds: type) -> object:
    """``partition(*kinds)`` as a transform with an output for each class."""
    return transform("partition", kinds, takes=len(kinds))


def Only(kind: type[B], /) -> PTransform[PCollection[object], PCollection[B]]:
    """``only(kind)`` as a transform."""
    return cast("PTransform[PCollection[object], PCollection[B]]", transform("only", (kind,)))
