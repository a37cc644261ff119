"""Jobs about elements of several types: unions, tests of members, and sums in keys, lists, joins and state.

``Maybe`` and ``Result`` are such sums.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import TypeAlias

from attrs import frozen
from returns.maybe import Maybe
from returns.result import Failure, Result, Success, safe

from flowalg import FOREVER, KV, Accumulation, Computation, Count, PCollection, Sum, TopN, flatten
from flowalg.combiners import ToSet
from flowalg.computations import Clocks, Observed, Transition
from flowalg.transforms import process_inputs
from flowalg_laws.conformance.jobs.feeds import FIVE, SOME, five, key
from flowalg_laws.conformance.jobs.job import Answer, Span, grouped, job
from flowalg_laws.conformance.jobs.transforms import MORE, OTHERS
from flowalg_laws.kit.readings import READINGS, VALUES, Reading


@frozen
class Forecast:
    """How often a query is expected."""

    query: str
    rate: float
    at: datetime


@frozen
class Seen:
    """How often a query was seen, and where if that is known. Its field of the same name has another type."""

    query: str
    at: datetime
    rate: int
    place: str | None


Event: TypeAlias = Forecast | Seen


def forecast_of(reading: Reading) -> Forecast:
    """Returns the forecast of a reading."""
    return Forecast(reading.key, reading.value / 4, reading.at)


def seen_of(reading: Reading) -> Seen:
    """Returns the sighting of a reading."""
    return Seen(reading.key, reading.at, reading.value, "x" if reading.value > 10 else None)


def event_of(reading: Reading) -> Event:
    """Returns a reading as one or the other."""
    return forecast_of(reading) if reading.value % 2 else seen_of(reading)


def event_or_none(reading: Reading) -> Event | None:
    """Returns a reading as an event unless its value is four."""
    if reading.value == 4:
        return None
    return event_of(reading)


def in_python(event: Event) -> Event:
    """Returns an event with the query in its other case; the call of ``swapcase`` keeps the function in Python."""
    query = event.query.swapcase()
    return Forecast(query, event.rate, event.at) if isinstance(event, Forecast) else event


def weight(event: Event) -> float:
    """Returns four times the rate of a forecast, and that of a sighting."""
    if isinstance(event, Forecast):
        return event.rate * 4
    return float(event.rate)


def half_rate(event: Event) -> int:
    """Returns the half of what was seen, or a number of a forecast."""
    match event:
        case Seen(rate=rate):
            return rate // 2
        case Forecast():
            return 100


forecasts: PCollection[Forecast] = READINGS.map(forecast_of)
sightings: PCollection[Seen] = OTHERS.map(seen_of)
events = flatten(forecasts, sightings)
of_readings: PCollection[Event] = READINGS.map(event_of)


def both(readings: list[Reading], others: list[Reading]) -> list[Event]:
    """Returns all events of the union."""
    return [*map(forecast_of, readings), *map(seen_of, others)]


def query(event: Event) -> str:
    """Returns the query of an event."""
    return event.query


def five_of(event: Event) -> Iterable[Span]:
    """Returns the five-minute window of an event."""
    return five(Reading(event.query, 0, event.at, event.at))


def seen_at(item: Reading | Seen) -> Event:
    """Returns an event with the event time of a reading or an event."""
    return item if isinstance(item, Seen) else seen_of(item)


def in_order(several: Iterable[Event]) -> list[Event]:
    """Returns events as lists have them: by event time, forecasts before sightings, then by their fields."""
    return sorted(several, key=lambda e: (e.at, isinstance(e, Seen), e.query, e.rate))


def by_query(several: list[Event]) -> Iterator[tuple[str, Span, list[Event]]]:
    """Yields the events of each query and five-minute window."""
    for name, window, group in grouped(several, query, five_of):
        yield name, window, in_order(group)


@job(of_readings.key_by(lambda e: e.query).map_values(half_rate).combine_per_key(Sum()), SOME)
def a_function_of_either_type(readings: list[Reading]) -> Answer:
    """A function returns values of two types, and another one distinguishes them."""
    for name in sorted({reading.key for reading in readings}):
        events = [event_of(reading) for reading in readings if reading.key == name]
        yield KV(name, sum(map(half_rate, events))), None


@job(
    events.key_by(lambda e: e.query).window(FIVE, allowed_lateness=FOREVER).combine_per_key(Count()),
    SOME,
    MORE,
)
def a_field_of_all_members(readings: list[Reading], others: list[Reading]) -> Answer:
    """A field that all members have is read without a test."""
    for name, window, group in by_query(both(readings, others)):
        yield KV(name, len(group)), window


@job(
    events.key_by(lambda e: e.query)
    .map_values(weight)
    .window(FIVE, allowed_lateness=FOREVER)
    .combine_per_key(Sum()),
    SOME,
    MORE,
)
def a_test_of_the_member(readings: list[Reading], others: list[Reading]) -> Answer:
    """A function tests which member an element is, and reads the fields of that member."""
    for name, window, group in by_query(both(readings, others)):
        yield KV(name, sum(map(weight, group))), window


@job(
    flatten(of_readings, sightings)
    .only(Seen)
    .key_by(lambda e: e.query)
    .window(FIVE, allowed_lateness=FOREVER)
    .combine_per_key(Sum.of(lambda e: e.rate)),
    SOME,
    MORE,
)
def one_member(readings: list[Reading], others: list[Reading]) -> Answer:
    """The elements of one member, of a union of a sum with one of its members."""
    events = [event for event in (*map(event_of, readings), *map(seen_of, others)) if isinstance(event, Seen)]
    for name, window, group in by_query(list(events)):
        yield KV(name, sum(event.rate for event in group)), window


@job(
    of_readings.map(in_python)
    .key_by(lambda e: e.query)
    .window(FIVE, allowed_lateness=FOREVER, accumulation=Accumulation.RETRACTING)
    .group_by_key(),
    SOME,
)
def lists_of_a_sum(readings: list[Reading]) -> Answer:
    """Lists of both members, after a function in Python: those of one event time are in the order of their classes."""
    for name, window, group in by_query([in_python(event_of(reading)) for reading in readings]):
        yield KV(name, group), window


@job(
    READINGS.flat_map(lambda r: [Seen(r.key, r.at, 1, None), r.key, r.value])
    .map(lambda item: item.query if isinstance(item, Seen) else item)
    .window(FIVE, allowed_lateness=FOREVER)
    .key_by(lambda text_or_number: text_or_number)
    .combine_per_key(Count()),
    SOME,
)
def texts_and_numbers_as_keys(readings: list[Reading]) -> Answer:
    """The items of a list have several types, and keys are texts and numbers."""
    items = [(item, reading) for reading in readings for item in (reading.key, reading.key, reading.value)]
    for name, window, group in grouped(items, lambda item: item[0], lambda item: five(item[1])):
        yield KV(name, len(group)), window


@job(
    READINGS.map(event_or_none)
    .map(
        lambda event: "none" if event is None else event.query if isinstance(event, Seen) else int(event.rate)
    )
    .combine_globally(ToSet()),
    SOME,
)
def a_sum_that_may_be_none(readings: list[Reading]) -> Answer:
    """A sum with ``None``, whose members give a text and a number."""
    values: set[str | int] = set()
    for event in map(event_or_none, readings):
        values.add("none" if event is None else event.query if isinstance(event, Seen) else int(event.rate))
    yield frozenset(values), None


@job(
    flatten(of_readings, sightings)
    .key_by(lambda e: e.query)
    .window(FIVE, allowed_lateness=FOREVER)
    .combine_per_key(TopN(2, by=lambda e: e.rate)),
    SOME,
    MORE,
)
def the_largest_of_a_sum(readings: list[Reading], others: list[Reading]) -> Answer:
    """Values of several types are ranked by a field that they have in common."""
    for name, window, group in by_query([*map(event_of, readings), *map(seen_of, others)]):
        yield KV(name, sorted(group, key=lambda e: -e.rate)[:2]), window


@job(
    VALUES.window(FIVE, allowed_lateness=FOREVER).left_join(
        of_readings.key_by(lambda e: e.query)
        .filter(lambda pair: pair.value.rate != 2)
        .window(FIVE, allowed_lateness=FOREVER)
    ),
    SOME,
)
def a_join_with_a_sum(readings: list[Reading]) -> Answer:
    """The right side of a join is a sum, of which there may be none."""
    for name, window, group in grouped(readings, key, five):
        events: list[Event | None] = [event for event in map(event_of, group) if event.rate != 2]
        for reading in group:
            for event in events or [None]:
                yield KV(name, (reading.value, event)), window


@job(
    flatten(VALUES, sightings.key_by(lambda e: e.query))
    .window(FIVE, allowed_lateness=FOREVER)
    .group_by_key(),
    SOME,
    MORE,
)
def a_union_of_keyed_values(readings: list[Reading], others: list[Reading]) -> Answer:
    """Pairs with values of two types are pairs with a value of either."""
    items: list[Reading | Seen] = [*readings, *map(seen_of, others)]
    for name, window, group in grouped(
        items,
        lambda item: item.query if isinstance(item, Seen) else item.key,
        lambda item: five_of(seen_at(item)),
    ):
        ordered = sorted(group, key=lambda item: (item.at, isinstance(item, Reading)))
        yield KV(name, [item.value if isinstance(item, Reading) else item for item in ordered]), window


def checked(reading: Reading) -> Result[int, str]:
    """Returns a value below ten, or the key of another one."""
    return Success(reading.value) if reading.value < 10 else Failure(reading.key)


@safe
def share_of_twelve(reading: Reading) -> int:
    """Returns a quotient, which there is not for four."""
    return 12 // (reading.value - 4)


@job(
    READINGS.map(checked)
    .map(
        lambda tried: tried.map(lambda n: n + 1).lash(
            lambda name: Success(0) if name == "a" else Failure(name)
        )
    )
    .window(FIVE, allowed_lateness=FOREVER)
    .key_by(lambda tried: tried)
    .combine_per_key(Count()),
    SOME,
)
def results_as_keys(readings: list[Reading]) -> Answer:
    """The methods of a ``Result`` are columns, and a ``Result`` is a key."""

    def key_of(reading: Reading) -> Result[int, str]:
        if reading.value < 10:
            return Success(reading.value + 1)
        return Success(0) if reading.key == "a" else Failure(reading.key)

    for name, window, group in grouped(readings, key_of, five):
        yield KV(name, len(group)), window


@job(
    READINGS.try_map(share_of_twelve)
    .map(lambda tried: tried.alt(lambda failed: failed.exception + " " + failed.element.key))
    .window(FIVE, allowed_lateness=FOREVER, accumulation=Accumulation.RETRACTING)
    .combine_globally(ToSet()),
    SOME,
)
def exceptions_as_values(readings: list[Reading]) -> Answer:
    """A function in Python that raises for some elements gives a ``Failure`` for each."""
    for _, window, group in grouped(readings, lambda _: None, five):
        values: set[Result[int, str]] = set()
        for reading in group:
            is_four = reading.value == 4
            failure: Result[int, str] = Failure(f"ZeroDivisionError {reading.key}")
            values.add(failure if is_four else Success(12 // (reading.value - 4)))
        yield frozenset(values), window


@job(
    READINGS.try_map(share_of_twelve)
    .split()[1]
    .key_by(lambda failed: failed.message)
    .map_values(lambda failed: failed.element.value)
    .window(FIVE, allowed_lateness=FOREVER)
    .combine_per_key(Sum()),
    SOME,
)
def failures_as_a_collection(readings: list[Reading]) -> Answer:
    """The elements on which a function has raised, with the message."""
    failed = [reading for reading in readings if reading.value == 4]
    message = "integer division or modulo by zero"
    for _, window, group in grouped(failed, lambda _: None, five):
        yield KV(message, 4 * len(group)), window


def even(reading: Reading) -> Maybe[int]:
    """Returns an even value."""
    return Maybe.from_optional(None if reading.value % 2 else reading.value)


@job(
    READINGS.map(even)
    .map(lambda value: (value.map(lambda n: n // 2), value.value_or(-1)))
    .window(FIVE, allowed_lateness=FOREVER, accumulation=Accumulation.DISCARDING)
    .key_by(lambda pair: pair[0])
    .group_by_key(),
    SOME,
)
def values_that_may_be_missing(readings: list[Reading]) -> Answer:
    """A ``Maybe`` is a key, and a part of the items of lists."""

    def half(reading: Reading) -> Maybe[int]:
        return even(reading).map(lambda n: n // 2)

    for name, window, group in grouped(readings, half, five):
        ordered = sorted(group, key=lambda reading: (reading.at, even(reading).value_or(-1)))
        yield KV(name, [(half(reading), even(reading).value_or(-1)) for reading in ordered]), window


FOUR: str = '{"$type":"Seen","query":"b","at":"2024-01-01T00:06:00+00:00","rate":4,"place":null}'


def unless_four(event: Event) -> int:
    """Fails for a rate of four, the more surely for a forecast."""
    if event.rate == 4:
        raise ValueError("four")
    return round(event.rate)


@job(
    of_readings.key_by(lambda e: e.query).map_values(unless_four).combine_per_key(Sum()),
    SOME,
    bad_records=f'map_values(unless_four) {{"key":"b","value":{FOUR}}}',
)
def a_bad_element_of_a_sum(readings: list[Reading]) -> Answer:
    """The text of a bad element has the tag of its member."""
    for name in sorted({reading.key for reading in readings}):
        events = [event_of(reading) for reading in readings if reading.key == name]
        yield KV(name, sum(round(event.rate) for event in events if event.rate != 4)), None


largest: PCollection[KV[str, Event]] = (
    of_readings.key_by(lambda e: e.query)
    .window(FIVE, allowed_lateness=FOREVER)
    .combine_per_key(TopN(1, by=lambda e: e.rate))
    .map_values(lambda events: events[0])
)


@job(
    VALUES.window(FIVE, allowed_lateness=FOREVER)
    .combine_per_key(Sum())
    .map_with(largest.as_map(), lambda pair, events: (pair.value, events.get(pair.key))),
    SOME,
)
def a_side_input_of_a_sum(readings: list[Reading]) -> Answer:
    """A side input maps keys to values of several types."""
    for _, window, group in grouped(readings, key, five):
        yield (
            (sum(reading.value for reading in group), max(map(event_of, group), key=lambda e: e.rate)),
            window,
        )


@frozen
class Latest:
    """The state of ``changes_of_member``: the event before."""

    event: Event | None


def changes(state: Latest, observed: Observed[str, Event], clocks: Clocks) -> Transition[Latest, Event | str]:
    """Emits an event whose class is not that of the event before, and a text otherwise."""
    is_seen = isinstance(observed.value, Seen)
    if state.event is not None and isinstance(state.event, Seen) == is_seen:
        return Transition(Latest(observed.value), emit=[f"again {observed.value.rate}"])
    return Transition(Latest(observed.value), emit=[observed.value])


detector = Computation(initial=Latest(None), on_element=changes)


@job(of_readings.key_by(lambda e: e.query).process(detector, in_order=True), SOME)
def a_computation_over_a_sum(readings: list[Reading]) -> Answer:
    """A computation observes, keeps and emits values of several types."""
    for name in sorted({reading.key for reading in readings}):
        before: Event | None = None
        for event in in_order(event_of(reading) for reading in readings if reading.key == name):
            again = before is not None and type(before) is type(event)
            yield KV(name, f"again {event.rate}" if again else event), event.at
            before = event


def not_four(state: Latest, observed: Observed[str, Event], clocks: Clocks) -> Transition[Latest, int]:
    """Fails for a rate of four."""
    return Transition(Latest(observed.value), emit=[unless_four(observed.value)])


BEFORE_FOUR: str = FOUR.replace("00:06", "00:01").replace('"rate":4', '"rate":2')
CALL: str = (
    f'{{"key":"b","element":{FOUR},"event_time":"2024-01-01T00:06:00Z","state":{{"event":{BEFORE_FOUR}}}}}'
)


@job(
    of_readings.key_by(lambda e: e.query).process(
        Computation(initial=Latest(None), on_element=not_four), in_order=True
    ),
    SOME,
    bad_records=f"process(not_four) {CALL}",
)
def a_failed_transition_of_a_sum(readings: list[Reading]) -> Answer:
    """The text of its element and its state have the tags of their members."""
    for event in in_order(map(event_of, readings)):
        if event.rate != 4:
            yield KV(event.query, round(event.rate)), event.at


def lower_limit(limit: int, observed: Observed[str, Seen], clocks: Clocks) -> Transition[int, str]:
    """Keeps the rate of a sighting as the limit."""
    return Transition(observed.value.rate)


def compare(limit: int, observed: Observed[str, int], clocks: Clocks) -> Transition[int, int]:
    """Emits what a value has above the limit, which is lowered by one."""
    return Transition(limit - 1, emit=[observed.value - limit] if observed.value > limit else [])


def repeat(limit: int, observed: Observed[str, int], clocks: Clocks) -> Transition[int, str]:
    """Emits a text of a value of another input of the same type."""
    return Transition(limit, emit=[f"{observed.value} at {limit}"])


@job(
    process_inputs(initial=3)
    .on("limits", sightings.key_by(lambda e: e.query), lower_limit)
    .on("values", VALUES, compare)
    .on("even values", VALUES.filter(lambda pair: pair.value % 2 == 0), repeat)
    .process(in_order=True),
    SOME,
    MORE,
)
def a_computation_over_named_inputs(readings: list[Reading], others: list[Reading]) -> Answer:
    """Each input has a function of its own; those of one event time are in the order of the names of their inputs."""
    for name in sorted({reading.key for reading in (*readings, *others)}):
        limit = 3
        of_key = [
            (reading.at, source, reading.value)
            for reading in readings
            if reading.key == name
            for source in ("values", "even values")
        ]
        limits = [(reading.at, "limits", reading.value) for reading in others if reading.key == name]
        for at, source, value in sorted([*of_key, *limits]):
            if source == "limits":
                limit = value
            elif source == "values":
                if value > limit:
                    yield KV(name, value - limit), at
                limit -= 1
            elif value % 2 == 0:
                yield KV(name, f"{value} at {limit}"), at


@job(flatten(of_readings, sightings), SOME, MORE)
def a_sum_that_nothing_groups(readings: list[Reading], others: list[Reading]) -> Answer:
    """The elements of an output are of several types."""
    for event in (*map(event_of, readings), *map(seen_of, others)):
        yield event, event.at


JOBS = (
    a_function_of_either_type,
    a_field_of_all_members,
    a_test_of_the_member,
    one_member,
    lists_of_a_sum,
    texts_and_numbers_as_keys,
    a_sum_that_may_be_none,
    the_largest_of_a_sum,
    a_join_with_a_sum,
    a_union_of_keyed_values,
    a_bad_element_of_a_sum,
    a_side_input_of_a_sum,
    a_computation_over_a_sum,
    a_sum_that_nothing_groups,
    a_failed_transition_of_a_sum,
    a_computation_over_named_inputs,
    results_as_keys,
    exceptions_as_values,
    failures_as_a_collection,
    values_that_may_be_missing,
)
