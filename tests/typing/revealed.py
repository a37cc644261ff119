"""A table of expressions and the types that both checkers infer for them; checked, never run."""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping
from datetime import datetime, timedelta
from decimal import Decimal
from typing import assert_type

import flowalg_reference as reference
from attrs import frozen
from returns.result import Failure, Result, Success

from flowalg import (
    KV,
    Aggregate,
    And,
    ApproximateDistinct,
    AtCount,
    AtElement,
    AtPeriod,
    AtWatermark,
    Count,
    Max,
    Mean,
    Min,
    Or,
    OrFinally,
    Pane,
    PCollection,
    Quantile,
    Quantiles,
    Repeat,
    SequenceOf,
    Sessions,
    SideInput,
    Source,
    Sum,
    Timeline,
    ToList,
    ToSet,
    Trigger,
    Variance,
    combiner,
    flatten,
    from_json,
    reducing,
    to_json,
    together,
)
from flowalg.documents import COMBINER, TRIGGER


@frozen
class Flight:
    """A record with one field of each kind that the table needs."""

    origin: str
    seats: int
    delay: float
    price: Decimal
    at: datetime


@frozen
class Stats:
    """Named results."""

    departures: int
    mean_delay: float


FLIGHTS = Source("flights", Flight, event_time=lambda f: f.at)
KEYED = FLIGHTS.key_by(lambda f: f.origin)
SEATS = KEYED.map_values(lambda f: f.seats)


def long_haul(flights: PCollection[Flight]) -> PCollection[str]:
    """A composite."""
    return flights.filter(lambda f: f.delay > 1.0).map(lambda f: f.origin)


def longest(so_far: str, flight: Flight) -> str:
    """An accumulating function with annotations."""
    return max(so_far, flight.origin, key=len)


def checked(flight: Flight) -> Result[Flight, str]:
    """A function that fails as data."""
    return Success(flight) if flight.seats else Failure(flight.origin)


def table(flight: Flight, at: datetime) -> None:
    """Every public method."""
    assert_type(FLIGHTS, Source[Flight])
    assert_type(FLIGHTS.map(lambda f: f.seats), PCollection[int])
    assert_type(FLIGHTS.map(lambda f: (f.origin, f.delay)), PCollection[tuple[str, float]])
    assert_type(FLIGHTS.filter(lambda f: f.seats > 3), PCollection[Flight])
    assert_type(FLIGHTS.flat_map(lambda f: [f.origin]), PCollection[str])
    assert_type(FLIGHTS.flat_map(lambda f: f.origin.split(), result=str), PCollection[str])
    assert_type(KEYED, PCollection[KV[str, Flight]])
    assert_type(KEYED.map(lambda pair: pair.value.delay), PCollection[float])
    assert_type(SEATS, PCollection[KV[str, int]])
    assert_type(SEATS.combine_per_key(Sum()), PCollection[KV[str, int]])
    assert_type(SEATS.combine_per_key(Mean()), PCollection[KV[str, float]])
    assert_type(SEATS.combine_per_key(Min()), PCollection[KV[str, int]])
    assert_type(KEYED.combine_per_key(Count()), PCollection[KV[str, int]])
    assert_type(KEYED.combine_per_key(Count(), into=str), PCollection[KV[str, str]])
    assert_type(KEYED.combine_per_key(Sum.of(lambda f: f.delay)), PCollection[KV[str, float]])
    assert_type(KEYED.combine_per_key(Max.of(lambda f: f.price)), PCollection[KV[str, Decimal]])
    assert_type(
        KEYED.combine_per_key(Count(), Sum.of(lambda f: f.seats)), PCollection[KV[str, tuple[int, int]]]
    )
    assert_type(
        KEYED.combine_per_key(Count(), Mean.of(lambda f: f.delay), into=Stats), PCollection[KV[str, Stats]]
    )
    assert_type(
        KEYED.combine_per_key(Count(), Min.of(lambda f: f.at), Max.of(lambda f: f.origin)),
        PCollection[KV[str, tuple[int, datetime, str]]],
    )
    assert_type(
        KEYED.combine_per_key(
            Count(), Min.of(lambda f: f.at), Max.of(lambda f: f.seats), Mean.of(lambda f: f.seats)
        ),
        PCollection[KV[str, tuple[int, datetime, int, float]]],
    )
    assert_type(FLIGHTS.apply(long_haul), PCollection[str])
    assert_type(KEYED.group_by_key(), PCollection[KV[str, list[Flight]]])
    assert_type(FLIGHTS.combine_globally(Count()), PCollection[int])
    assert_type(FLIGHTS.combine_globally(Mean.of(lambda f: f.delay)), PCollection[float])
    assert_type(FLIGHTS.map(lambda f: f.origin).distinct(), PCollection[str])
    assert_type(FLIGHTS.top(3, by=lambda f: f.delay), PCollection[list[Flight]])
    assert_type(FLIGHTS.with_timestamps(lambda f: f.at), PCollection[Flight])
    assert_type(FLIGHTS.split(checked), tuple[PCollection[Flight], PCollection[str]])
    assert_type(FLIGHTS.map(lambda f: f.seats if f.delay else f.origin).only(int), PCollection[int])
    assert_type(flatten(SEATS, SEATS), PCollection[KV[str, int]])
    assert_type(SEATS.co_group_by_key(KEYED), PCollection[KV[str, tuple[list[int], list[Flight]]]])
    assert_type(
        SEATS.co_group_by_key(KEYED, SEATS), PCollection[KV[str, tuple[list[int], list[Flight], list[int]]]]
    )
    assert_type(SEATS.inner_join(KEYED), PCollection[KV[str, tuple[int, Flight]]])
    assert_type(SEATS.left_join(KEYED), PCollection[KV[str, tuple[int, Flight | None]]])
    total = FLIGHTS.map(lambda f: f.seats).combine_globally(Sum())
    assert_type(total.as_singleton(), SideInput[int])
    assert_type(total.as_singleton(default=None), SideInput[int | None])
    assert_type(SEATS.combine_per_key(Sum()).as_map(), SideInput[Mapping[str, int]])
    seats = SEATS.combine_per_key(Sum()).as_map()
    assert_type(FLIGHTS.with_side(total.as_singleton()), PCollection[tuple[Flight, int]])
    assert_type(FLIGHTS.map_with(seats, lambda f, known: f.seats / known[f.origin]), PCollection[float])
    assert_type(FLIGHTS.filter_with(seats, lambda f, known: f.origin in known), PCollection[Flight])
    assert_type(FLIGHTS.flat_map_with(seats, lambda f, known: [known[f.origin]]), PCollection[int])
    assert_type(SEATS.combine_per_key(ToList()), PCollection[KV[str, list[int]]])
    assert_type(SEATS.combine_per_key(ToSet()), PCollection[KV[str, frozenset[int]]])
    assert_type(SEATS.combine_per_key(Variance()), PCollection[KV[str, float]])
    assert_type(SEATS.combine_per_key(Quantile(0.5)), PCollection[KV[str, float]])
    assert_type(SEATS.combine_per_key(Quantiles((0.5, 0.9))), PCollection[KV[str, list[float]]])
    assert_type(KEYED.combine_per_key(Quantile.of(lambda f: f.delay, 0.5)), PCollection[KV[str, float]])
    assert_type(
        KEYED.combine_per_key(Quantiles.of(lambda f: f.delay, [0.5])), PCollection[KV[str, list[float]]]
    )
    assert_type(KEYED.combine_per_key(ApproximateDistinct()), PCollection[KV[str, int]])
    assert_type(KEYED.combine_per_key(ApproximateDistinct.of(lambda f: f.origin)), PCollection[KV[str, int]])
    assert_type(
        FLIGHTS.combine_globally(together(Count(), Mean.of(lambda f: f.delay))),
        PCollection[tuple[int, float]],
    )
    assert_type(
        FLIGHTS.combine_globally(together(Count(), Mean.of(lambda f: f.delay), into=Stats)),
        PCollection[Stats],
    )
    assert_type(
        FLIGHTS.combine_globally(together(Count(), Min.of(lambda f: f.at), Max.of(lambda f: f.origin))),
        PCollection[tuple[int, datetime, str]],
    )
    assert_type(
        KEYED.combine_per_key(
            Count(), together(Sum.of(lambda f: f.seats), Mean.of(lambda f: f.delay), into=Stats)
        ),
        PCollection[KV[str, tuple[int, Stats]]],
    )
    assert_type(SEATS.combine_per_key(reducing(math.gcd, zero=0)), PCollection[KV[str, int]])
    assert_type(SEATS.combine_per_key(reducing(operator.or_, zero=0)), PCollection[KV[str, int]])
    assert_type(SEATS.combine_per_key(reducing(lambda a, b: a * b, zero=1)), PCollection[KV[str, int]])
    assert_type(combiner(zero="", add=longest, merge=max, extract=len), Aggregate[Flight, int])
    assert_type(KEYED.combine_per_key(combiner(zero="", add=longest, merge=max)), PCollection[KV[str, str]])
    assert_type(
        KEYED.combine_per_key(
            combiner(zero=0.0, add=lambda total, f: total + f.delay, merge=operator.add, extract=round)
        ),
        PCollection[KV[str, int]],
    )
    assert_type(
        SEATS.combine_per_key(
            combiner(
                zero=Stats(0, 0.0),
                add=lambda stats, seats: Stats(stats.departures + seats, stats.mean_delay),
                merge=lambda a, b: Stats(a.departures + b.departures, 0.0),
                extract=lambda stats: stats.mean_delay / stats.departures,
            )
        ),
        PCollection[KV[str, float]],
    )
    assert_type(AtCount(1) & AtWatermark(), And)
    assert_type(AtCount(1) | AtWatermark(), Or)
    assert_type(AtCount(1) >> AtWatermark().repeat(), SequenceOf)
    assert_type(AtCount(1).repeat().until(AtWatermark()), OrFinally)
    early = AtPeriod(timedelta(minutes=1))
    assert_type(AtWatermark().with_early_firings(early).with_late_firings(AtCount(1)), SequenceOf)
    KEYED.window(Sessions(timedelta(minutes=1)), trigger=Repeat(AtElement(lambda f: f.seats > 3)))
    assert_type(Timeline[Flight]().at(at, flight), Timeline[Flight])
    run = reference.run(SEATS.combine_per_key(Sum()), {FLIGHTS: Timeline[Flight]()})
    assert_type(run, reference.Run[KV[str, int]])
    assert_type(run.panes[0], Pane[KV[str, int]])
    assert_type(run.panes[0].key, str)
    assert_type(run.panes[0].value, int)
    batch = reference.run_batch(
        FLIGHTS.apply(long_haul).key_by(len).combine_per_key(Count()), {FLIGHTS: [flight]}
    )
    assert_type(batch.panes[0].key, int)
    assert_type(from_json(to_json(SEATS), PCollection[KV[str, int]]), PCollection[KV[str, int]])
    assert_type(from_json(to_json(FLIGHTS), Source[Flight]), Source[Flight])
    assert_type(from_json(to_json(early), TRIGGER), Trigger)
    assert_type(from_json(to_json(early), AtPeriod), AtPeriod)
    assert_type(from_json(to_json(Count()), COMBINER), Aggregate[object, object])
