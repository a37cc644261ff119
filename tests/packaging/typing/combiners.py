"""Combiners: expressions and the types that both checkers infer; checked, never run."""

# pyright: strict

from __future__ import annotations

import math
import operator
from datetime import datetime
from decimal import Decimal
from typing import assert_type

from flowalg import KV, Aggregate, Count, Max, Mean, Min, PCollection, Quantile, Sum, ToList, TopN, combiner
from flowalg.combiners import (
    AllOf,
    AnyOf,
    ApproximateDistinct,
    Quantiles,
    ToSet,
    Variance,
    reduce_combiner,
    together,
)
from tests.packaging.typing.records import Flight, Stats


def longest(so_far: str, flight: Flight) -> str:
    """Returns the longer name; the function has annotations."""
    return max(so_far, flight.origin, key=len)


def of_values(
    seats: PCollection[KV[str, int]],
    delays: PCollection[KV[str, float]],
    prices: PCollection[KV[str, Decimal]],
    full: PCollection[KV[str, bool]],
) -> None:
    """Combiners of plain values; ``Sum`` without a type argument is of integers."""
    assert_type(Sum(), Sum[int])
    assert_type(seats.combine_per_key(Sum()), PCollection[KV[str, int]])
    assert_type(delays.combine_per_key(Sum[float]()), PCollection[KV[str, float]])
    assert_type(prices.combine_per_key(Sum[Decimal]()), PCollection[KV[str, Decimal]])
    assert_type(seats.combine_per_key(Mean()), PCollection[KV[str, float]])
    assert_type(delays.combine_per_key(Mean()), PCollection[KV[str, float]])
    assert_type(prices.combine_per_key(Mean[Decimal]()), PCollection[KV[str, Decimal]])
    assert_type(prices.combine_per_key(Variance()), PCollection[KV[str, float]])
    assert_type(prices.combine_per_key(Quantile(0.5)), PCollection[KV[str, float]])
    assert_type(seats.combine_per_key(Min()), PCollection[KV[str, int]])
    assert_type(prices.combine_per_key(Max()), PCollection[KV[str, Decimal]])
    assert_type(seats.combine_per_key(ToList()), PCollection[KV[str, list[int]]])
    assert_type(seats.combine_per_key(ToSet()), PCollection[KV[str, frozenset[int]]])
    assert_type(seats.combine_per_key(TopN(3)), PCollection[KV[str, list[int]]])
    assert_type(seats.combine_per_key(TopN(3, by=lambda n: -n)), PCollection[KV[str, list[int]]])
    assert_type(full.combine_per_key(AnyOf()), PCollection[KV[str, bool]])
    assert_type(full.combine_per_key(AllOf()), PCollection[KV[str, bool]])
    assert_type(delays.combine_per_key(Variance()), PCollection[KV[str, float]])
    assert_type(seats.combine_per_key(Quantile(0.5)), PCollection[KV[str, float]])
    assert_type(seats.combine_per_key(Quantiles((0.5, 0.9))), PCollection[KV[str, list[float]]])
    assert_type(prices.combine_per_key(ApproximateDistinct()), PCollection[KV[str, int]])


def of_mapped_values(keyed: PCollection[KV[str, Flight]]) -> None:
    """Combiners of the results of a function."""
    assert_type(keyed.combine_per_key(Sum.of(lambda f: f.seats)), PCollection[KV[str, int]])
    assert_type(keyed.combine_per_key(Sum.of(lambda f: f.delay)), PCollection[KV[str, float]])
    assert_type(keyed.combine_per_key(Sum.of(lambda f: f.price)), PCollection[KV[str, Decimal]])
    assert_type(keyed.combine_per_key(Mean.of(lambda f: f.seats)), PCollection[KV[str, float]])
    assert_type(keyed.combine_per_key(Mean.of(lambda f: f.price)), PCollection[KV[str, Decimal]])
    assert_type(keyed.combine_per_key(Quantile.of(lambda f: f.price, 0.5)), PCollection[KV[str, float]])
    assert_type(keyed.combine_per_key(Min.of(lambda f: f.at)), PCollection[KV[str, datetime]])
    assert_type(keyed.combine_per_key(Max.of(lambda f: f.price)), PCollection[KV[str, Decimal]])
    assert_type(keyed.combine_per_key(TopN(3, lambda f: f.delay)), PCollection[KV[str, list[Flight]]])
    assert_type(keyed.combine_per_key(Quantile.of(lambda f: f.delay, 0.5)), PCollection[KV[str, float]])
    assert_type(
        keyed.combine_per_key(Quantile.of(lambda f: f.seats, 0.5, relative_error=0.1)),
        PCollection[KV[str, float]],
    )
    assert_type(
        keyed.combine_per_key(Quantiles.of(lambda f: f.delay, [0.5])), PCollection[KV[str, list[float]]]
    )
    assert_type(keyed.combine_per_key(ApproximateDistinct.of(lambda f: f.origin)), PCollection[KV[str, int]])


def several(flights: PCollection[Flight], keyed: PCollection[KV[str, Flight]]) -> None:
    """``together`` of one to four combiners, as a tuple and into a record."""
    assert_type(flights.combine_globally(together(Count(), into=str)), PCollection[str])
    assert_type(
        flights.combine_globally(together(Count(), Mean.of(lambda f: f.delay))),
        PCollection[tuple[int, float]],
    )
    assert_type(
        flights.combine_globally(together(Count(), Mean.of(lambda f: f.delay), into=Stats)),
        PCollection[Stats],
    )
    assert_type(
        flights.combine_globally(together(Count(), Min.of(lambda f: f.at), Max.of(lambda f: f.origin))),
        PCollection[tuple[int, datetime, str]],
    )
    assert_type(
        flights.combine_globally(
            together(
                Count(),
                Min.of(lambda f: f.at),
                Max.of(lambda f: f.origin),
                into=lambda n, first, last: (last.upper(), first.isoformat(), n + 1),
            )
        ),
        PCollection[tuple[str, str, int]],
    )
    assert_type(
        flights.combine_globally(
            together(Count(), Min.of(lambda f: f.at), Max.of(lambda f: f.seats), Mean.of(lambda f: f.seats))
        ),
        PCollection[tuple[int, datetime, int, float]],
    )
    assert_type(
        flights.combine_globally(
            together(
                Count(),
                Min.of(lambda f: f.at),
                Max.of(lambda f: f.seats),
                Mean.of(lambda f: f.seats),
                into=lambda n, first, most, mean: Stats(n + most + first.year, mean),
            )
        ),
        PCollection[Stats],
    )
    assert_type(
        keyed.combine_per_key(
            Count(), together(Sum.of(lambda f: f.seats), Mean.of(lambda f: f.delay), into=Stats)
        ),
        PCollection[KV[str, tuple[int, Stats]]],
    )


def user_defined(keyed: PCollection[KV[str, Flight]], seats: PCollection[KV[str, int]]) -> None:
    """Combiners of plain functions."""
    assert_type(seats.combine_per_key(reduce_combiner(math.gcd, zero=0)), PCollection[KV[str, int]])
    assert_type(seats.combine_per_key(reduce_combiner(lambda a, b: a * b, zero=1)), PCollection[KV[str, int]])
    assert_type(
        seats.combine_per_key(reduce_combiner(operator.or_, zero=0)),  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]  # typeshed does not say what `|` gives
        PCollection[KV[str, int]],
    )
    assert_type(combiner(zero="", add=longest, merge=max, extract=len), Aggregate[Flight, int])
    assert_type(keyed.combine_per_key(combiner(zero="", add=longest, merge=max)), PCollection[KV[str, str]])
    assert_type(
        keyed.combine_per_key(
            combiner(
                zero=0,
                add=lambda total, f: total + f.seats,
                merge=lambda a, b: a + b,
                subtract=lambda total, f: total - f.seats,
                name="seats",
            )
        ),
        PCollection[KV[str, int]],
    )
    assert_type(
        keyed.combine_per_key(
            combiner(zero=0.0, add=lambda total, f: total + f.delay, merge=operator.add, extract=round)
        ),
        PCollection[KV[str, int]],
    )
    assert_type(
        seats.combine_per_key(
            combiner(
                zero=Stats(0, 0.0),
                add=lambda stats, seats: Stats(stats.departures + seats, stats.mean_delay),
                merge=lambda a, b: Stats(a.departures + b.departures, 0.0),
                extract=lambda stats: stats.mean_delay / stats.departures,
            )
        ),
        PCollection[KV[str, float]],
    )
