"""A table of expressions and the types that both checkers infer for them; checked, never run."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import assert_type

import flowalg_reference as reference
from attrs import frozen

from flowalg import KV, Count, Max, Mean, Min, Pane, PCollection, Source, Sum, Timeline


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
