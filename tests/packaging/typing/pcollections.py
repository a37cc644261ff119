"""Collections, side inputs and documents: expressions and the types that both checkers infer; checked, never run."""

# pyright: strict

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from decimal import Decimal
from typing import assert_type

from returns.maybe import Maybe, Some
from returns.result import Failure, Result, Success, safe

from flowalg import (
    FOREVER,
    KV,
    Accumulation,
    Aggregate,
    AtCount,
    AtPeriod,
    Count,
    FixedWindows,
    Max,
    Mean,
    Min,
    PCollection,
    Repeat,
    Sessions,
    Source,
    Sum,
    flatten,
    from_json,
    hazards,
)
from flowalg.analysis import Hazard
from flowalg.data import INGRESS_TIME, one_of, stored, tagged
from flowalg.data.shapes import Shape
from flowalg.evolution import RenamedFrom, evolves
from flowalg.pipeline import Failed, JoinKind, SideInput
from flowalg.serialization import COMBINER, ONCE_TRIGGER, TRIGGER, WATERMARK_POLICY, WINDOWS
from flowalg.triggers import AtElement, OnceTrigger, Trigger
from flowalg.watermarks import WatermarkPolicy
from flowalg.windows import OnTimeBehavior, TimestampCombiner, WindowFn
from tests.packaging.typing.records import Flight, Stats


def unpack_pairs(pair: KV[str, int], several: list[KV[str, int]]) -> None:
    """Pairs unpack, and each part keeps its own type."""
    assert_type(KV("JFK", 3), KV[str, int])
    assert_type(KV(key="JFK", value=3), KV[str, int])
    key, value = pair
    assert_type(key, str)
    assert_type(value, int)
    assert_type([seats for _, seats in several], list[int])
    as_dict = dict(several)
    assert_type(as_dict, dict[str, int])


def widen(pair: KV[str, int]) -> KV[object, float]:
    """Returns a pair as one of wider types."""
    return pair


def long_haul(flights: PCollection[Flight]) -> PCollection[str]:
    """Returns a composite transform."""
    return flights.filter(lambda f: f.delay > 1.0).map(lambda f: f.origin)


def validate(flight: Flight) -> Result[Flight, str]:
    """Returns a flight, or a failure as data."""
    return Success(flight) if flight.seats else Failure(flight.origin)


def inputs() -> None:
    """Sources and their elements."""
    assert_type(Source("flights", Flight, event_time=lambda f: f.at), Source[Flight])
    assert_type(Source("flights", Flight, event_time=INGRESS_TIME), Source[Flight])


def element_wise(flights: PCollection[Flight], keyed: PCollection[KV[str, Flight]]) -> None:
    """Element-wise transforms."""
    assert_type(flights.map(lambda f: f.seats), PCollection[int])
    assert_type(flights.map(lambda f: (f.origin, f.delay)), PCollection[tuple[str, float]])
    assert_type(flights.map(lambda f: f.origin.upper(), result=str), PCollection[str])
    assert_type(flights.map(lambda f: Stats(f.seats, f.delay)), PCollection[Stats])
    assert_type(flights.map(lambda f: None if f.full else f.seats), PCollection[int | None])
    assert_type(flights.filter(lambda f: f.seats > 3), PCollection[Flight])
    assert_type(flights.flat_map(lambda f: [f.origin]), PCollection[str])
    assert_type(flights.flat_map(lambda f: f.origin.split(), result=str), PCollection[str])
    assert_type(flights.flat_map(lambda f: (f.seats for _ in range(3))), PCollection[int])
    assert_type(flights.key_by(lambda f: f.origin), PCollection[KV[str, Flight]])
    assert_type(flights.key_by(lambda f: f.origin.upper(), result=str), PCollection[KV[str, Flight]])
    assert_type(keyed.map(lambda pair: pair.value.delay), PCollection[float])
    assert_type(keyed.map(lambda pair: KV(pair.value.seats, pair.key)), PCollection[KV[int, str]])
    assert_type(keyed.map_values(lambda f: f.seats), PCollection[KV[str, int]])
    assert_type(keyed.map_values(lambda f: f.origin.upper(), result=str), PCollection[KV[str, str]])
    assert_type(flights.with_timestamps(lambda f: f.at + timedelta(minutes=f.seats)), PCollection[Flight])
    assert_type(flights.apply(long_haul), PCollection[str])
    assert_type(flights.apply(lambda these: these.map(lambda f: f.seats)), PCollection[int])
    assert_type(flights.apply(lambda these: these.shape), Shape | None)


@safe
def per_seat(flight: Flight) -> int:
    """Returns a thousandth of a seat."""
    return 1000 // flight.seats


def seated(seats: int) -> Flight:
    """Returns a flight with seats."""
    raise NotImplementedError(seats)


def repaired(failed: Failed[Flight]) -> Result[int, str]:
    """Returns zero for a full flight."""
    return Success(0) if failed.element.full else Failure(failed.message)


def larger(seats: int) -> Maybe[int]:
    """Returns a number above a hundred."""
    return Some(seats) if seats > 100 else Maybe.empty


def several_outputs(flights: PCollection[Flight]) -> None:
    """One collection with several outputs."""
    assert_type(flights.split(validate), tuple[PCollection[Flight], PCollection[str]])
    outputs = flights.split(validate, result=Flight, failure=str)
    assert_type(outputs, tuple[PCollection[Flight], PCollection[str]])
    assert_type(flights.map(lambda f: f.seats if f.full else f.origin).only(int), PCollection[int])
    assert_type(flights.only(Flight), PCollection[Flight])
    assert_type(flights.collect(lambda f: Maybe.from_optional(f.seats if f.full else None)), PCollection[int])
    assert_type(flights.collect(lambda f: Some(f.origin)), PCollection[str])
    tried = flights.try_map(per_seat)
    assert_type(flights.try_map(per_seat), PCollection[Result[int, Failed[Flight]]])
    assert_type(tried.split(), tuple[PCollection[int], PCollection[Failed[Flight]]])
    assert_type(tried.map(lambda tried: tried.map(lambda n: n / 2).value_or(0.5)), PCollection[float])
    lashed = tried.map(lambda tried: tried.lash(repaired))  # pyright: ignore[reportUnknownMemberType]  # returns: KindN
    assert_type(lashed, PCollection[Result[int, str]])
    maybe = flights.map(lambda f: Maybe.from_optional(f.seats if f.full else None))
    assert_type(maybe, PCollection[Maybe[int]])
    larger_or_one = maybe.map(lambda seats: seats.bind(larger).value_or(1))  # pyright: ignore[reportUnknownMemberType]  # returns: KindN
    assert_type(larger_or_one, PCollection[int])


def seats_or_departures(either: Flight | Stats) -> int:
    """A match of all members."""
    match either:
        case Flight(seats=seats):
            return seats
        case Stats():
            return either.departures


def sums(
    flights: PCollection[Flight],
    stats: PCollection[Stats],
    counts: PCollection[int],
    events: PCollection[Flight | Stats],
) -> None:
    """Elements of several types: their union, tests of which they are, and what takes them apart."""
    either = flatten(flights, stats)
    assert_type(either, PCollection[Flight | Stats])
    assert_type(flatten(flights, stats, counts), PCollection[Flight | Stats | int])
    assert_type(either.map(lambda e: e.seats if isinstance(e, Flight) else e.departures), PCollection[int])
    assert_type(either.map(seats_or_departures), PCollection[int])
    assert_type(either.only(Stats), PCollection[Stats])
    assert_type(events.partition(Flight, Stats), tuple[PCollection[Flight], PCollection[Stats]])
    first, second, third = flatten(either, counts).partition(Flight, Stats, int)
    assert_type(first, PCollection[Flight])
    assert_type(second, PCollection[Stats])
    assert_type(third, PCollection[int])
    assert_type(one_of(Flight, Stats), type[Flight | Stats])
    assert_type(tagged("flight")(Flight), type[Flight])
    assert_type(stored(lambda flight: flight.seats, seated)(Flight), type[Flight])
    assert_type(RenamedFrom("flights:Flight")(Flight), type[Flight])
    assert_type(evolves(int, Flight, lambda seats: seated(seats)), None)
    source = Source("events", one_of(Flight, Stats), event_time=INGRESS_TIME)
    assert_type(source, Source[Flight | Stats])


def windows(keyed: PCollection[KV[str, Flight]]) -> None:
    """Windowing keeps the types of elements."""
    minutes = FixedWindows(timedelta(minutes=1))
    assert_type(
        keyed.window(
            minutes,
            trigger=Repeat(AtElement(lambda f: f.seats > 3) | AtCount(100)),
            accumulation=Accumulation.RETRACTING,
            allowed_lateness=FOREVER,
            timestamp_combiner=TimestampCombiner.EARLIEST,
            on_time_behavior=OnTimeBehavior.ALWAYS,
        ),
        PCollection[KV[str, Flight]],
    )


def single_combiner(keyed: PCollection[KV[str, Flight]], seats: PCollection[KV[str, int]]) -> None:
    """``combine_per_key`` with one combiner; the result of each combiner is in ``combiners.py``."""
    assert_type(seats.combine_per_key(Sum()), PCollection[KV[str, int]])
    assert_type(keyed.combine_per_key(Count()), PCollection[KV[str, int]])
    assert_type(keyed.combine_per_key(Count(), into=str), PCollection[KV[str, str]])
    assert_type(keyed.combine_per_key(Count(), into=lambda n: n / 2), PCollection[KV[str, float]])
    assert_type(keyed.combine_per_key(Max.of(lambda f: f.price)), PCollection[KV[str, Decimal]])


def several_combiners(keyed: PCollection[KV[str, Flight]]) -> None:
    """``combine_per_key`` with two to four combiners, as a tuple and into a record."""
    assert_type(
        keyed.combine_per_key(Count(), Sum.of(lambda f: f.seats)), PCollection[KV[str, tuple[int, int]]]
    )
    assert_type(
        keyed.combine_per_key(Count(), Mean.of(lambda f: f.delay), into=Stats), PCollection[KV[str, Stats]]
    )
    assert_type(
        keyed.combine_per_key(
            Count(), Mean.of(lambda f: f.delay), into=lambda n, mean: f"{n.bit_length()} {mean.hex()}"
        ),
        PCollection[KV[str, str]],
    )
    assert_type(
        keyed.combine_per_key(Count(), Min.of(lambda f: f.at), Max.of(lambda f: f.origin)),
        PCollection[KV[str, tuple[int, datetime, str]]],
    )
    assert_type(
        keyed.combine_per_key(
            Count(),
            Min.of(lambda f: f.at),
            Max.of(lambda f: f.origin),
            into=lambda n, first, last: (last.upper(), first.isoformat(), n + 1),
        ),
        PCollection[KV[str, tuple[str, str, int]]],
    )
    assert_type(
        keyed.combine_per_key(
            Count(), Min.of(lambda f: f.at), Max.of(lambda f: f.seats), Mean.of(lambda f: f.seats)
        ),
        PCollection[KV[str, tuple[int, datetime, int, float]]],
    )
    assert_type(
        keyed.combine_per_key(
            Count(),
            Min.of(lambda f: f.at),
            Max.of(lambda f: f.seats),
            Mean.of(lambda f: f.seats),
            into=lambda n, first, most, mean: Stats(n + most + first.year, mean),
        ),
        PCollection[KV[str, Stats]],
    )


def groupings(flights: PCollection[Flight], keyed: PCollection[KV[str, Flight]]) -> None:
    """Groupings with names of their own."""
    assert_type(keyed.group_by_key(), PCollection[KV[str, list[Flight]]])
    assert_type(flights.combine_globally(Count()), PCollection[int])
    assert_type(flights.combine_globally(Mean.of(lambda f: f.delay)), PCollection[float])
    assert_type(flights.top(3, by=lambda f: f.delay), PCollection[list[Flight]])
    assert_type(flights.top(3, by=lambda f: (f.origin, f.at)), PCollection[list[Flight]])


def pair_up(kind: JoinKind, counts: list[int], names: list[str]) -> None:
    """The values of the two sides of a join are typed; either may be missing."""
    assert_type(kind.pairs(counts, names), Iterator[tuple[int | None, str | None]])


def joins(
    flights: PCollection[Flight], keyed: PCollection[KV[str, Flight]], seats: PCollection[KV[str, int]]
) -> None:
    """Joins of several collections."""
    assert_type(flatten(seats, seats, seats), PCollection[KV[str, int]])
    assert_type(flatten(flights), PCollection[Flight])
    assert_type(seats.co_group_by_key(keyed), PCollection[KV[str, tuple[list[int], list[Flight]]]])
    assert_type(
        seats.co_group_by_key(keyed, seats), PCollection[KV[str, tuple[list[int], list[Flight], list[int]]]]
    )
    assert_type(
        seats.co_group_by_key(keyed, seats, keyed),
        PCollection[KV[str, tuple[list[int], list[Flight], list[int], list[Flight]]]],
    )
    assert_type(seats.with_pane().map(lambda pair: pair[1].index), PCollection[int])
    assert_type(seats.inner_join(keyed), PCollection[KV[str, tuple[int, Flight]]])
    assert_type(seats.left_join(keyed), PCollection[KV[str, tuple[int, Flight | None]]])
    assert_type(seats.full_join(keyed), PCollection[KV[str, tuple[int | None, Flight | None]]])
    assert_type(seats.semi_join(keyed), PCollection[KV[str, int]])
    assert_type(seats.anti_join(keyed), PCollection[KV[str, int]])
    assert_type(flights.except_(flights), PCollection[Flight])
    assert_type(seats.except_(seats), PCollection[KV[str, int]])


def sides(
    flights: PCollection[Flight],
    total: PCollection[int],
    seats: PCollection[KV[str, int]],
    known_total: SideInput[int],
    known_seats: SideInput[Mapping[str, int]],
) -> None:
    """Side inputs, made and read."""
    assert_type(total.as_singleton(), SideInput[int])
    assert_type(total.as_singleton(default=None), SideInput[int | None])
    assert_type(total.as_singleton(default=0), SideInput[int])
    assert_type(seats.as_map(), SideInput[Mapping[str, int]])
    assert_type(total.as_singleton(default=None).latest_complete(), SideInput[int | None])
    assert_type(flights.with_side(known_total), PCollection[tuple[Flight, int]])
    assert_type(flights.map_with(known_seats, lambda f, seats: f.seats / seats[f.origin]), PCollection[float])
    assert_type(
        flights.map_with(known_total, lambda f, all_of_them: f.seats < all_of_them, result=bool),
        PCollection[bool],
    )
    assert_type(flights.filter_with(known_seats, lambda f, seats: f.origin in seats), PCollection[Flight])
    assert_type(flights.flat_map_with(known_seats, lambda f, seats: [seats[f.origin]]), PCollection[int])
    assert_type(
        flights.flat_map_with(known_seats, lambda f, seats: [*seats, f.origin], result=str), PCollection[str]
    )


def structure(seats: PCollection[KV[str, int]], flights: Source[Flight], policy: WatermarkPolicy) -> None:
    """The structure and the hazards of a pipeline."""
    assert_type(hazards(seats), tuple[Hazard, ...])
    assert_type(hazards(seats, {flights: policy}), tuple[Hazard, ...])


def read_back(text: str) -> None:
    """Values are read back as a class, or as a kind that has several classes."""
    assert_type(from_json(text, PCollection[KV[str, int]]), PCollection[KV[str, int]])
    assert_type(from_json(text, Source[Flight]), Source[Flight])
    assert_type(from_json(text, AtPeriod), AtPeriod)
    assert_type(from_json(text, Sessions), Sessions)
    assert_type(from_json(text, TRIGGER), Trigger)
    assert_type(from_json(text, ONCE_TRIGGER), OnceTrigger)
    assert_type(from_json(text, WINDOWS), WindowFn)
    assert_type(from_json(text, WATERMARK_POLICY), WatermarkPolicy)
    assert_type(from_json(text, COMBINER), Aggregate[object, object])
