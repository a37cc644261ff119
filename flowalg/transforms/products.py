"""The structure of products: where collections go, without a change of their elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar, overload

from attrs import frozen

from flowalg.data.errors import ArgumentError
from flowalg.data.kv import KV
from flowalg.pipeline.pcollection import PCollection, flatten
from flowalg.pipeline.ptransform import Bundle, PTransform, fan_out
from flowalg.transforms.operation import two

A = TypeVar("A")
B = TypeVar("B")
K = TypeVar("K")
In = TypeVar("In", bound=Bundle)
Out = TypeVar("Out", bound=Bundle)
Out2 = TypeVar("Out2", bound=Bundle)
Rest = TypeVar("Rest", bound=Bundle)

_PAIR = "a pair of collections, or of tuples of them"


def Input(element: type[A], /) -> PTransform[PCollection[A], PCollection[A]]:
    """Returns the identity on collections of a type: the beginning of a composition.

    ``Input(Score) & Input(Page)`` is that of a pair.
    """
    return PTransform.identity(element)


@frozen
class Swap:
    """Exchanges the two parts of a pair. Law: ``f >> Swap() >> Swap() == f``.

    Example:

    >>> teams, other = (scores, points) >> Swap() >> First(Filter(KV[str, int], lambda pair: pair.value > 5))
    >>> results(teams)
    [KV(key='blue', value=7)]
    """

    def __call__(self, pair: tuple[In, Out], /) -> tuple[Out, In]:
        """Returns the pair with its parts exchanged."""
        left, right = two(self, pair, _PAIR)
        return right, left

    __rrshift__ = __call__


@frozen
class Copy:
    """Returns its input twice, as a pair. Nothing is computed twice: both are one collection."""

    def __call__(self, bundle: In, /) -> tuple[In, In]:
        """Returns the pair."""
        return bundle, bundle

    __rrshift__ = __call__


@frozen
class First(Generic[In, Out]):
    """Applies a transform to the first part of a pair. Law: ``t >> First(f) == t >> (f & Input(...))``.

    The types of ``f`` are known when it is passed: ``First(Input(KV[str, int]) >> GroupByKey())``.
    """

    f: Callable[[In], Out]

    def __attrs_post_init__(self) -> None:
        _require_callable("First.f", self.f)

    def __call__(self, pair: tuple[In, Rest], /) -> tuple[Out, Rest]:
        """Returns the pair with its first part transformed."""
        first, second = two(self, pair, _PAIR)
        return self.f(first), second

    __rrshift__ = __call__


@frozen
class Second(Generic[In, Out]):
    """Applies a transform to the second part of a pair."""

    f: Callable[[In], Out]

    def __attrs_post_init__(self) -> None:
        _require_callable("Second.f", self.f)

    def __call__(self, pair: tuple[Rest, In], /) -> tuple[Rest, Out]:
        """Returns the pair with its second part transformed."""
        first, second = two(self, pair, _PAIR)
        return first, self.f(second)

    __rrshift__ = __call__


def FanOut(f: PTransform[In, Out], g: Callable[[In], Out2], /) -> PTransform[In, tuple[Out, Out2]]:
    """Returns both transforms of one input, as a pair. Law: ``FanOut(f, g) == Input(...) >> Copy() >> (f & g)``.

    Example:

    >>> count, total = scores >> FanOut(CombineGlobally(Count()), CombineGlobally(Sum.of(lambda s: s.points)))
    >>> results(count), results(total)
    ([3], [15])
    """
    if not isinstance(f, PTransform):
        raise ArgumentError("f", f, "a PTransform, such as Map(...) or Input(...) >> Distinct()")
    _require_callable("g", g)
    return fan_out(f, g)


@frozen
class Flatten:
    """``flatten`` of a tuple of collections.

    Example:

    >>> results((points, points) >> Flatten() >> CombinePerKey(Sum()))
    [KV(key='blue', value=14), KV(key='red', value=16)]
    """

    @overload
    def __call__(
        self, collections: tuple[PCollection[KV[K, A]], PCollection[KV[K, B]]], /
    ) -> PCollection[KV[K, A | B]]: ...
    @overload
    def __call__(self, collections: tuple[PCollection[A], PCollection[B]], /) -> PCollection[A | B]: ...
    @overload
    def __call__(self, collections: tuple[PCollection[A], ...], /) -> PCollection[A]: ...
    def __call__(self, collections: tuple[PCollection[object], ...], /) -> PCollection[object]:
        """Returns the union, of elements of the sum of their types."""
        if not isinstance(collections, tuple):
            raise ArgumentError("the input of Flatten", collections, "a tuple of collections")
        return flatten(*collections)

    __rrshift__ = __call__


def _require_callable(name: str, f: object) -> None:
    if not callable(f):
        raise ArgumentError(name, f, "a PTransform, or a function of collections")
