"""Transforms as values: the types that both checkers infer for each, and for the lambdas in them."""

# pyright: strict

from __future__ import annotations

from datetime import timedelta
from typing import NamedTuple, TypeAlias, assert_type

from flowalg import (
    KV,
    Count,
    FixedWindows,
    PCollection,
    PTransform,
    Sum,
    from_json,
    ptransform,
)
from tests.packaging.typing.records import Flight

Flights: TypeAlias = PCollection[Flight]
Pairs: TypeAlias = PCollection[KV[str, int]]

LONG = PTransform.of(Flight, lambda flights: flights.filter(lambda f: f.seats > 100), name="long")
SEATS = PTransform.of(
    Flight,
    lambda flights: (
        flights.key_by(lambda f: f.origin)
        .window(FixedWindows(timedelta(hours=1)))
        .combine_per_key(Sum.of(lambda f: f.seats))
    ),
)


@ptransform
def double(pairs: PCollection[KV[str, int]]) -> PCollection[KV[str, int]]:
    """Returns each value doubled."""
    return pairs.map_values(lambda n: 2 * n)


@ptransform(name="count per key")
def count(pairs: PCollection[KV[str, int]]) -> PCollection[KV[str, int]]:
    """Returns the number of values of each key."""
    return pairs.combine_per_key(Count())


def same(pairs: PCollection[KV[str, int]]) -> PCollection[KV[str, int]]:
    """Returns the same collection."""
    return pairs


@ptransform
def joined(pairs: Pairs, names: PCollection[KV[str, str]]) -> PCollection[KV[str, tuple[int, str]]]:
    """Returns the pairs of two collections."""
    return pairs.inner_join(names)


class Parts(NamedTuple):
    """Two collections by name."""

    long: Flights
    short: Flights


def parts(flights: Flights) -> Parts:
    """Returns the flights by their size."""
    return Parts(flights.filter(lambda f: f.seats > 100), flights.filter(lambda f: f.seats <= 100))


def members(long: PTransform[Flights, Flights], seats: PTransform[Flights, Pairs]) -> None:
    """The members of a transform."""
    assert_type(long >> seats, PTransform[Flights, Pairs])
    assert_type(long & seats, PTransform[tuple[Flights, Flights], tuple[Flights, Pairs]])


def transforms(flights: PCollection[Flight]) -> None:
    """Application, composition and identity."""
    assert_type(ptransform(same), PTransform[Pairs, Pairs])
    assert_type(ptransform(name="same")(same), PTransform[Pairs, Pairs])
    assert_type(LONG, PTransform[Flights, Flights])
    assert_type(SEATS, PTransform[Flights, Pairs])
    assert_type(double, PTransform[Pairs, Pairs])
    assert_type(count, PTransform[Pairs, Pairs])
    assert_type(
        joined,
        PTransform[tuple[Pairs, PCollection[KV[str, str]]], PCollection[KV[str, tuple[int, str]]]],
    )
    assert_type(ptransform(parts), PTransform[Flights, Parts])
    assert_type(PTransform.of(Flight, parts), PTransform[Flights, Parts])
    assert_type(flights >> (LONG >> PTransform.of(Flight, parts)), Parts)
    assert_type(PTransform.identity(Flight), PTransform[Flights, Flights])
    assert_type(
        PTransform.of(KV[str, int], lambda pairs: pairs.map(lambda p: p.key)),
        PTransform[Pairs, PCollection[str]],
    )
    assert_type(SEATS(flights), PCollection[KV[str, int]])
    assert_type(flights.apply(SEATS), PCollection[KV[str, int]])
    assert_type(LONG >> SEATS, PTransform[Flights, Pairs])
    assert_type(flights.apply(LONG >> SEATS >> double), PCollection[KV[str, int]])
    assert_type(flights.apply(lambda these: these.map(lambda f: f.seats), label="seats"), PCollection[int])
    assert_type(from_json("", PTransform[Flights, Pairs]), PTransform[Flights, Pairs])
