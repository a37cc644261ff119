"""Several combiners of the same values as one: the product of their monoids, as a tuple or as a record."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, overload

from flowalg.combiners.core import Aggregate, Combiner, Into, as_combiner, product
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
    """One combiner that does what several do, reading the values once: ``together(Count(), Mean(), into=Stats)``.

    Its result is the tuple of theirs, or what ``into`` makes of them as its arguments; a record class names them. It
    goes wherever a combiner goes, into another ``together`` too.
    As an argument of ``combine_per_key`` it has one limit: mypy infers no lambda there that stands beside ``Count()``;
    give ``combine_per_key`` the combiners themselves.

    Law: ``combine_per_key(together(a, b, into=f)) = combine_per_key(a, b, into=f)``.
    """
    return joined(combiners, into)


def joined(
    combiners: tuple[object, ...], into: Callable[..., object] | None
) -> Combiner[object, object, object]:
    """What ``together`` gives, of one combiner or more; raises ``ArgumentError`` for what is none."""
    parts = tuple(
        as_combiner(f"combiner {number}", combiner) for number, combiner in enumerate(combiners, start=1)
    )
    if not parts:
        raise ArgumentError("combiners", parts, "one or more combiners, such as Sum()")
    whole = product(parts)
    if into is None:
        return whole
    call = Call(into)
    return Into(whole, call if len(parts) == 1 else Spread(call))


__all__ = ["joined", "together"]
