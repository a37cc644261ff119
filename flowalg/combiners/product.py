"""The product of several combiners of the same values, with a tuple or a record as its result."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, overload

from flowalg.combiners.core import Aggregate, AnyCombiner, Into, product, require_combiner
from flowalg.data.errors import ArgumentError
from flowalg.elementwise.functions import Call, Spread

V = TypeVar("V")
R = TypeVar("R")
Out1 = TypeVar("Out1")
Out2 = TypeVar("Out2")
Out3 = TypeVar("Out3")
Out4 = TypeVar("Out4")


@overload
def together(first: Aggregate[V, Out1], /, *, into: Callable[[Out1], R]) -> Aggregate[V, R]: ...
@overload
def together(first: Aggregate[V, Out1], second: Aggregate[V, Out2], /) -> Aggregate[V, tuple[Out1, Out2]]: ...
@overload
def together(
    first: Aggregate[V, Out1], second: Aggregate[V, Out2], /, *, into: Callable[[Out1, Out2], R]
) -> Aggregate[V, R]: ...
@overload
def together(
    first: Aggregate[V, Out1], second: Aggregate[V, Out2], third: Aggregate[V, Out3], /
) -> Aggregate[V, tuple[Out1, Out2, Out3]]: ...
@overload
def together(
    first: Aggregate[V, Out1],
    second: Aggregate[V, Out2],
    third: Aggregate[V, Out3],
    /,
    *,
    into: Callable[[Out1, Out2, Out3], R],
) -> Aggregate[V, R]: ...
@overload
def together(
    first: Aggregate[V, Out1],
    second: Aggregate[V, Out2],
    third: Aggregate[V, Out3],
    fourth: Aggregate[V, Out4],
    /,
) -> Aggregate[V, tuple[Out1, Out2, Out3, Out4]]: ...
@overload
def together(
    first: Aggregate[V, Out1],
    second: Aggregate[V, Out2],
    third: Aggregate[V, Out3],
    fourth: Aggregate[V, Out4],
    /,
    *,
    into: Callable[[Out1, Out2, Out3, Out4], R],
) -> Aggregate[V, R]: ...
def together(*combiners: object, into: Callable[..., object] | None = None) -> object:
    """Returns one combiner that computes several at once: ``together(Count(), Mean(), into=Stats)``.

    Its result is the tuple of their results, or the result of ``into``, such as a record class, with them as
    arguments. The combiner can be used wherever a combiner is expected, also in another ``together``. There is one
    limit: as an argument of ``combine_per_key``, mypy does not infer a lambda next to ``Count()``; pass the combiners
    to ``combine_per_key`` directly.

    Law: ``combine_per_key(together(a, b, into=f)) = combine_per_key(a, b, into=f)``.

    Example:

    >>> results(scores.map(lambda s: s.points).combine_globally(together(Count(), Max())))
    [(3, 7)]
    """
    return product_of(combiners, into)


def product_of(combiners: tuple[object, ...], into: Callable[..., object] | None) -> AnyCombiner:
    """Returns the product of one or more combiners, as ``together`` does; raises ``ArgumentError`` for other values."""
    parts = tuple(
        require_combiner(f"combiner {number}", combiner) for number, combiner in enumerate(combiners, start=1)
    )
    if not parts:
        raise ArgumentError("combiners", parts, "one or more combiners, such as Sum()")
    whole = product(parts)
    if into is None:
        return whole
    call = Call(into)
    return Into(whole, call if len(parts) == 1 else Spread(call))
