"""Transforms as values: the types that both checkers infer for each, and for the lambdas in them."""

# pyright: strict

from __future__ import annotations

from datetime import timedelta
from typing import assert_type

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


def members(long: PTransform[Flight, Flight], seats: PTransform[Flight, KV[str, int]]) -> None:
    """The members of a transform."""
    assert_type(long >> seats, PTransform[Flight, KV[str, int]])


def transforms(flights: PCollection[Flight]) -> None:
    """Application, composition and identity."""
    assert_type(ptransform(same), PTransform[KV[str, int], KV[str, int]])
    assert_type(ptransform(name="same")(same), PTransform[KV[str, int], KV[str, int]])
    assert_type(LONG, PTransform[Flight, Flight])
    assert_type(SEATS, PTransform[Flight, KV[str, int]])
    assert_type(double, PTransform[KV[str, int], KV[str, int]])
    assert_type(count, PTransform[KV[str, int], KV[str, int]])
    assert_type(PTransform.identity(Flight), PTransform[Flight, Flight])
    assert_type(
        PTransform.of(KV[str, int], lambda pairs: pairs.map(lambda p: p.key)), PTransform[KV[str, int], str]
    )
    assert_type(SEATS(flights), PCollection[KV[str, int]])
    assert_type(flights.apply(SEATS), PCollection[KV[str, int]])
    assert_type(LONG >> SEATS, PTransform[Flight, KV[str, int]])
    assert_type(flights.apply(LONG >> SEATS >> double), PCollection[KV[str, int]])
    assert_type(flights.apply(lambda these: these.map(lambda f: f.seats), label="seats"), PCollection[int])
    assert_type(from_json("", PTransform[Flight, KV[str, int]]), PTransform[Flight, KV[str, int]])
