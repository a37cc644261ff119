"""The operations as values: the types that both checkers infer for them, applied, composed and side by side."""

# pyright: strict

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import TypeAlias, assert_type

from returns.maybe import Maybe
from returns.result import Failure, Result, Success, safe

from flowalg import KV, Computation, Count, FixedWindows, Max, PCollection, PTransform, Sum
from flowalg.computations import Transition
from flowalg.pipeline import Failed, SideInput
from flowalg.runs import PaneTiming, WindowBounds
from flowalg.transforms import (
    AntiJoin,
    CoGroupByKey,
    Collect,
    CombineGlobally,
    CombinePerKey,
    Copy,
    Deduplicate,
    Distinct,
    Every,
    Except,
    FanOut,
    Filter,
    FilterWith,
    First,
    FlatMap,
    FlatMapWith,
    Flatten,
    FullJoin,
    GroupByKey,
    InnerJoin,
    Input,
    KeyBy,
    LeftJoin,
    Map,
    MapValues,
    MapWith,
    Only,
    Partition,
    PerKey,
    Process,
    Second,
    SemiJoin,
    Split,
    Swap,
    Top,
    TryMap,
    WindowInto,
    WithEventTime,
    WithMap,
    WithPane,
    WithSide,
    WithSingleton,
    WithTimestamps,
    WithWindow,
)
from tests.packaging.typing.records import Flight

Flights: TypeAlias = PCollection[Flight]
Pairs: TypeAlias = PCollection[KV[str, int]]
Texts: TypeAlias = PCollection[KV[str, str]]
Keyed: TypeAlias = PCollection[KV[str, Flight]]

HOURS = FixedWindows(timedelta(hours=1))


RUNNING: Computation[str, int, int, float] = Computation(
    initial=0, on_element=lambda total, seen, clocks: Transition(total + seen.value, emit=[0.5])
)


def origin(flight: Flight) -> str:
    """Returns the origin."""
    return flight.origin


def is_full(flight: Flight) -> bool:
    """Returns whether there is no free seat."""
    return flight.full


def seats(flight: Flight) -> Result[int, str]:
    """Returns the seats, or the origin if there are none."""
    return Success(flight.seats) if flight.seats else Failure(flight.origin)


@safe
def per_seat(flight: Flight) -> int:
    """Returns a thousandth of a seat."""
    return 1000 // flight.seats


def perhaps(flight: Flight) -> Maybe[int]:
    """Returns the seats if there are any."""
    return Maybe.from_optional(flight.seats or None)


def at(flight: Flight) -> datetime:
    """Returns the time."""
    return flight.at


def half(n: int) -> float:
    """Returns the half."""
    return n / 2


def pair(flight: Flight, n: int) -> tuple[str, int]:
    """Returns the origin and a number."""
    return flight.origin, n


def repeated(flight: Flight, n: int) -> list[str]:
    """Returns the origin some times."""
    return n * [flight.origin]


def of_functions(side: SideInput[int]) -> None:
    """Operations of functions are transforms; with the type of the elements first, lambdas are inferred."""
    assert_type(Map(origin), PTransform[Flights, PCollection[str]])
    assert_type(Map(Flight, lambda f: f.seats), PTransform[Flights, PCollection[int]])
    assert_type(Map(Flight, lambda f: f.seats, result=int), PTransform[Flights, PCollection[int]])
    assert_type(Filter(is_full), PTransform[Flights, Flights])
    assert_type(Filter(Flight, lambda f: f.full), PTransform[Flights, Flights])
    assert_type(FlatMap(origin), PTransform[Flights, PCollection[str]])
    assert_type(FlatMap(Flight, lambda f: [f.seats]), PTransform[Flights, PCollection[int]])
    assert_type(KeyBy(origin), PTransform[Flights, Keyed])
    assert_type(KeyBy(Flight, lambda f: f.origin), PTransform[Flights, Keyed])
    assert_type(MapValues(half), PerKey[int, float])
    assert_type(MapValues(KV[str, Flight], lambda f: f.seats), PTransform[Keyed, PCollection[KV[str, int]]])
    assert_type(WithTimestamps(at), PTransform[Flights, Flights])
    assert_type(WithTimestamps(Flight, lambda f: f.at), PTransform[Flights, Flights])
    assert_type(
        Partition(Flight, int), PTransform[PCollection[object], tuple[PCollection[Flight], PCollection[int]]]
    )
    assert_type(Collect(perhaps), PTransform[Flights, PCollection[int]])
    assert_type(Collect(Flight, lambda f: perhaps(f)), PTransform[Flights, PCollection[int]])
    assert_type(Split(seats), PTransform[Flights, tuple[PCollection[int], PCollection[str]]])
    assert_type(
        Split(Flight, lambda f: seats(f)), PTransform[Flights, tuple[PCollection[int], PCollection[str]]]
    )
    assert_type(TryMap(per_seat), PTransform[Flights, PCollection[Result[int, Failed[Flight]]]])
    assert_type(
        TryMap(Flight, lambda f: per_seat(f)), PTransform[Flights, PCollection[Result[int, Failed[Flight]]]]
    )
    assert_type(Only(Flight), PTransform[PCollection[object], Flights])
    assert_type(MapWith(side, pair), PTransform[Flights, PCollection[tuple[str, int]]])
    assert_type(MapWith(Flight, side, lambda f, n: f.seats / n), PTransform[Flights, PCollection[float]])
    assert_type(FlatMapWith(side, repeated), PTransform[Flights, PCollection[str]])
    assert_type(FlatMapWith(Flight, side, lambda f, n: [f.origin]), PTransform[Flights, PCollection[str]])
    assert_type(FilterWith(Flight, side, lambda f, n: f.seats < n), PTransform[Flights, Flights])
    assert_type(CombineGlobally(Sum()), PTransform[PCollection[int], PCollection[int]])
    assert_type(CombineGlobally(Max[str]()), PTransform[PCollection[str], PCollection[str]])
    assert_type(CombinePerKey(Count()), PerKey[object, int])
    assert_type(PerKey[int, float](MapValues(half).method), PerKey[int, float])
    assert_type(Process(RUNNING), PTransform[Pairs, PCollection[KV[str, float]]])
    assert_type(Deduplicate(by=origin, within=timedelta(1)), PTransform[Flights, Flights])
    assert_type(Deduplicate(Flight, by=lambda f: f.origin, within=timedelta(1)), PTransform[Flights, Flights])


def applied(flights: Flights, pairs: Pairs, texts: Texts, side: SideInput[int]) -> None:
    """Operations of any elements have the types of the collections that they are applied to."""
    assert_type(flights >> Map(origin), PCollection[str])
    assert_type(
        flights >> KeyBy(Flight, lambda f: f.origin) >> GroupByKey(), PCollection[KV[str, list[Flight]]]
    )
    assert_type(WindowInto(HOURS)(flights), Flights)
    assert_type(CombinePerKey(Count())(texts), Pairs)
    assert_type(PerKey[int, float](MapValues(half).method)(pairs), PCollection[KV[str, float]])
    assert_type(pairs >> MapValues(half), PCollection[KV[str, float]])
    assert_type(GroupByKey()(pairs), PCollection[KV[str, list[int]]])
    assert_type(Distinct()(flights), Flights)
    assert_type(Top(3)(flights), PCollection[list[Flight]])
    assert_type(Every(3)(pairs), PCollection[KV[str, list[int]]])
    assert_type(WithEventTime()(flights), PCollection[tuple[Flight, datetime]])
    assert_type(WithWindow()(flights), PCollection[tuple[Flight, WindowBounds]])
    assert_type(WithPane()(flights), PCollection[tuple[Flight, PaneTiming]])
    assert_type(WithSide(side)(flights), PCollection[tuple[Flight, int]])
    assert_type(InnerJoin()((pairs, texts)), PCollection[KV[str, tuple[int, str]]])
    assert_type((pairs, texts) >> InnerJoin(), PCollection[KV[str, tuple[int, str]]])
    assert_type((pairs, texts) >> LeftJoin(), PCollection[KV[str, tuple[int, str | None]]])
    assert_type(LeftJoin()((pairs, texts)), PCollection[KV[str, tuple[int, str | None]]])
    assert_type(FullJoin()((pairs, texts)), PCollection[KV[str, tuple[int | None, str | None]]])
    assert_type(SemiJoin()((pairs, texts)), Pairs)
    assert_type(AntiJoin()((pairs, texts)), Pairs)
    assert_type(Except()((pairs, pairs)), Pairs)
    assert_type(CoGroupByKey()((pairs, texts)), PCollection[KV[str, tuple[list[int], list[str]]]])
    assert_type(
        (pairs, texts, pairs) >> CoGroupByKey(),
        PCollection[KV[str, tuple[list[int], list[str], list[int]]]],
    )
    assert_type(Flatten()((pairs, pairs, pairs)), Pairs)
    assert_type((flights, flights.map(origin)) >> Flatten(), PCollection[Flight | str])
    assert_type((pairs, texts) >> Flatten(), PCollection[KV[str, int | str]])
    both = Input(Flight) & Input(str)
    assert_type(
        both >> Flatten(),
        PTransform[tuple[PCollection[Flight], PCollection[str]], PCollection[Flight | str]],
    )
    assert_type((pairs, pairs) >> Flatten() >> CombinePerKey(Sum()), Pairs)
    assert_type(WithSingleton()((flights, pairs)), PCollection[tuple[Flight, KV[str, int]]])
    assert_type((flights, pairs) >> WithMap(), PCollection[tuple[Flight, Mapping[str, int]]])
    assert_type(
        WithMap(latest_complete=True)((flights, pairs)), PCollection[tuple[Flight, Mapping[str, int]]]
    )
    assert_type(Swap()((pairs, texts)), tuple[Texts, Pairs])
    assert_type(((pairs, texts), flights) >> Swap(), tuple[Flights, tuple[Pairs, Texts]])
    assert_type(Copy()(pairs), tuple[Pairs, Pairs])
    assert_type(First(KeyBy(origin))((flights, pairs)), tuple[Keyed, Pairs])
    assert_type((pairs, flights) >> Second(KeyBy(origin)), tuple[Pairs, Keyed])


def composed(flights: Flights, pairs: Pairs, texts: Texts) -> None:
    """A composition has the types of its first inputs and its last outputs."""
    both = Input(KV[str, int]) & Input(KV[str, str])
    assert_type(Input(Flight), PTransform[Flights, Flights])
    assert_type(both, PTransform[tuple[Pairs, Texts], tuple[Pairs, Texts]])
    assert_type(both >> Swap(), PTransform[tuple[Pairs, Texts], tuple[Texts, Pairs]])
    assert_type(both >> InnerJoin(), PTransform[tuple[Pairs, Texts], PCollection[KV[str, tuple[int, str]]]])
    assert_type(
        both & Input(Flight),
        PTransform[tuple[tuple[Pairs, Texts], Flights], tuple[tuple[Pairs, Texts], Flights]],
    )
    assert_type((pairs, texts) >> both, tuple[Pairs, Texts])
    assert_type(both((pairs, texts)), tuple[Pairs, Texts])
    assert_type((pairs, texts) >> both >> Swap(), tuple[Texts, Pairs])
    assert_type(
        Input(KV[str, int]) >> WindowInto(HOURS) >> CombinePerKey(Sum()) >> MapValues(half),
        PTransform[Pairs, PCollection[KV[str, float]]],
    )
    assert_type(FanOut(Map(origin), KeyBy(origin)), PTransform[Flights, tuple[PCollection[str], Keyed]])
    assert_type(
        Input(Flight) >> Copy() >> (Map(origin) & KeyBy(origin)),
        PTransform[Flights, tuple[PCollection[str], Keyed]],
    )
    assert_type(
        PTransform.of(KV[str, int], KV[str, str], lambda left, right: left.left_join(right)),
        PTransform[tuple[Pairs, Texts], PCollection[KV[str, tuple[int, str | None]]]],
    )
    assert_type(
        PTransform.of(Flight, int, str, lambda a, b, c: (a, (b, c))),
        PTransform[
            tuple[Flights, PCollection[int], PCollection[str]],
            tuple[Flights, tuple[PCollection[int], PCollection[str]]],
        ],
    )
