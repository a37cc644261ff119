"""Jobs about bad records: with dead letters, each one is data, and the others give what they give without it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime

from attrs import evolve
from returns.result import Failure, Result, Success

from flowalg import FOREVER, KV, Count, EventTime, Max, PCollection, Repeat, Sum, Window, combiner, flatten
from flowalg.computations import Late
from flowalg.triggers import AtElement, AtMeasure, AtValue, CustomTrigger
from flowalg.windows import CustomWindows, WindowsByValue
from flowalg_laws.conformance.jobs.computations import echoes
from flowalg_laws.conformance.jobs.feeds import FIVE, LINES, feed, five, key
from flowalg_laws.conformance.jobs.job import Answer, Job, grouped, job
from flowalg_laws.conformance.jobs.transforms import MINUTE, ON_TIME, total
from flowalg_laws.kit.readings import READINGS, VALUES, Reading
from flowalg_laws.kit.replay import Feed
from flowalg_laws.strategies.computations import ECHO
from flowalg_laws.strategies.times import point

UNLUCKY = 7
"""The value on which the functions of these jobs raise; reading ``b`` at minute 8 has it."""


def lucky(value: int) -> int:
    """Returns the value, unless it is the unlucky one."""
    if value == UNLUCKY:
        raise ValueError("an unlucky value")
    return value


def is_lucky(reading: Reading) -> bool:
    """Returns whether the value of a reading is not the unlucky one."""
    return reading.value != UNLUCKY


SOME = feed(*LINES)
BAD: str = '{"key":"b","value":7}'
WITH_NULL = Reading("a", None, point(9), point(15))  # type: ignore[arg-type]  # a fault on purpose
NULL: str = '{"key":"a","value":null,"at":"2024-01-01T00:09:00+00:00","seen":"2024-01-01T00:15:00+00:00"}'
DIRTY = Feed(READINGS, Reading, (*SOME.batches, (WITH_NULL,)), SOME.policy)


def sums(readings: Iterable[Reading]) -> Answer:
    """Returns the sum of each key and five-minute window, without the unlucky reading."""
    for name, window, group in grouped(filter(is_lucky, readings), key, five):
        yield KV(name, sum(reading.value for reading in group)), window


def in_fives(values: PCollection[KV[str, int]]) -> PCollection[KV[str, int]]:
    """Returns the sums of values in windows of five minutes."""
    return values.window(FIVE, allowed_lateness=FOREVER).combine_per_key(Sum())


@job(
    in_fives(READINGS.key_by(lambda reading: reading.key).map_values(lambda reading: reading.value)),
    DIRTY,
    bad_records=f"Source('readings') {NULL}",
)
def a_record_with_a_null(readings: list[Reading]) -> Answer:
    """A record that does not match its class is a dead letter of the source."""
    yield from sums_of_all(reading for reading in readings if reading.value is not None)


def sums_of_all(readings: Iterable[Reading]) -> Answer:
    """Returns the sum of each key and five-minute window."""
    for name, window, group in grouped(readings, key, five):
        yield KV(name, sum(reading.value for reading in group)), window


@job(
    in_fives(VALUES.map_values(lambda value: value + 0 // (value - 7))),
    SOME,
    bad_records=f"map_values(<lambda>) {BAD}",
)
def a_lifted_function_that_raises(readings: list[Reading]) -> Answer:
    """An element on which a lifted function raises is a dead letter of the transform."""
    yield from sums(readings)


@job(in_fives(VALUES.map_values(lucky)), SOME, bad_records=f"map_values(lucky) {BAD}")
def a_python_function_that_raises(readings: list[Reading]) -> Answer:
    """An element on which a function raises that runs in Python is a dead letter of the transform."""
    yield from sums(readings)


def text_if_unlucky(value: int) -> int:
    """Returns a text instead of the unlucky value."""
    return value if value != UNLUCKY else "seven"  # type: ignore[return-value]  # a fault on purpose


@job(in_fives(VALUES.map_values(text_if_unlucky)), SOME, bad_records=f"map_values(text_if_unlucky) {BAD}")
def a_result_of_another_type(readings: list[Reading]) -> Answer:
    """An element for which a function returns a value of another type than declared is a dead letter."""
    yield from sums(readings)


def twice(pair: KV[str, int]) -> list[KV[str, int]]:
    """Returns a pair twice, with half of its value each."""
    return [KV(pair.key, lucky(pair.value)), KV(pair.key, 0)]


@job(
    in_fives(VALUES.filter(lambda pair: lucky(pair.value) > 0).flat_map(twice)),
    SOME,
    bad_records=f"filter(<lambda>) {BAD}",
)
def a_filter_that_raises(readings: list[Reading]) -> Answer:
    """A dead letter is not seen by the steps after it."""
    yield from sums(readings)


@job(in_fives(VALUES.flat_map(twice)), SOME, bad_records=f"flat_map(twice) {BAD}")
def a_flat_map_that_raises(readings: list[Reading]) -> Answer:
    """An element on which a ``flat_map`` raises gives nothing."""
    yield from sums(readings)


def one_by_one(pair: KV[str, int]) -> Iterator[KV[str, int]]:
    """Yields a pair without its value, and one with it."""
    yield KV(pair.key, 0)
    yield KV(pair.key, lucky(pair.value))


@job(
    in_fives(VALUES.flat_map(one_by_one, result=KV[str, int])),
    SOME,
    bad_records=f"flat_map(one_by_one) {BAD}",
)
def a_generator_that_raises(readings: list[Reading]) -> Answer:
    """An element whose generator raises after it has yielded something gives nothing."""
    yield from sums(readings)


def odd_or_even(pair: KV[str, int]) -> Result[KV[str, int], KV[str, int]]:
    """Splits pairs by whether their values are odd."""
    return Success(pair) if lucky(pair.value) % 2 else Failure(pair)


@job(in_fives(flatten(*VALUES.split(odd_or_even))), SOME, bad_records=f"split(odd_or_even) {BAD}")
def a_split_that_raises(readings: list[Reading]) -> Answer:
    """An element on which the function of a split raises is one dead letter, however many of its parts are read."""
    yield from sums(readings)


PAIRED: PCollection[KV[str, int]] = (
    VALUES.window(FIVE, allowed_lateness=FOREVER)
    .combine_per_key(Max.of(lambda value: lucky(value)), Count())
    .map_values(lambda pair: 100 * pair[0] + pair[1], result=int)
)


@job(PAIRED, SOME, bad_records=f"combine_per_key(Max, Count) {BAD}")
def a_function_of_a_combiner_that_raises(readings: list[Reading]) -> Answer:
    """An element on which the function of a combiner raises is a dead letter of the grouping, for all its combiners."""
    for name, window, group in grouped(filter(is_lucky, readings), key, five):
        yield KV(name, 100 * max(reading.value for reading in group) + len(group)), window


def add(total: int, value: int) -> int:
    """Adds a value."""
    return total + lucky(value)


TOTAL = combiner(zero=0, add=add, merge=lambda left, right: left + right, name="total", result=int)


@job(
    VALUES.window(FIVE, allowed_lateness=FOREVER).combine_per_key(TOTAL),
    SOME,
    bad_records=f"combine_per_key(total) {BAD}",
)
def a_combiner_whose_add_raises(readings: list[Reading]) -> Answer:
    """An element that a user-defined combiner cannot add is a dead letter of the grouping."""
    yield from sums(readings)


def fives(time: EventTime, name: object) -> list[Window]:
    """Returns the five-minute window of an event time, which must not be minute 8."""
    start = time - time % 300_000_000
    lucky(time % 3_600_000_000 // 60_000_000 - 1)
    return [Window(EventTime(start), EventTime(start + 300_000_000))]


@job(
    VALUES.window(CustomWindows("fives", fives), allowed_lateness=FOREVER).combine_per_key(Sum()),
    SOME,
    bad_records=f"combine_per_key(Sum) {BAD}",
)
def a_window_function_that_raises(readings: list[Reading]) -> Answer:
    """An element whose windows cannot be assigned is a dead letter of the grouping."""
    yield from sums(readings)


def by_value(time: EventTime, name: object, value: object) -> list[Window]:
    """Returns the five-minute window of an event time, for all values but the unlucky one."""
    assert isinstance(value, int)
    start = time - time % 300_000_000 + 0 * lucky(value)
    return [Window(EventTime(start), EventTime(start + 300_000_000))]


@job(
    VALUES.window(WindowsByValue("fives by value", by_value), allowed_lateness=FOREVER).combine_per_key(
        Sum()
    ),
    SOME,
    bad_records=f"combine_per_key(Sum) {BAD}",
)
def a_window_function_of_the_value_that_raises(readings: list[Reading]) -> Answer:
    """A window function that reads the value may raise for a value."""
    yield from sums(readings)


def with_trigger(trigger: AtMeasure | AtElement | AtValue | CustomTrigger) -> PCollection[KV[str, int]]:
    """Returns sums that a data-driven trigger emits early."""
    return VALUES.window(FIVE, trigger=Repeat(trigger), allowed_lateness=FOREVER).combine_per_key(Sum())


def _of_trigger(trigger: AtMeasure | AtElement | AtValue | CustomTrigger, kind: str) -> Job:
    return job(
        with_trigger(trigger),
        SOME,
        name=f"a trigger that raises: {kind}",
        statement=f"An element on which the function of `{kind}` raises is a dead letter of the grouping.",
        bad_records=f"combine_per_key(Sum) {BAD}",
    )(sums)


TRIGGERS: tuple[Job, ...] = (
    _of_trigger(AtMeasure(lambda value: lucky(value), 8), "AtMeasure"),
    _of_trigger(AtElement(lambda value: lucky(value) > 5), "AtElement"),
    _of_trigger(AtValue(Sum.of(lambda value: lucky(value)), lambda total: total > 8), "AtValue"),
    _of_trigger(
        CustomTrigger(
            zero=0,
            add=lambda total, value: total + lucky(value),
            merge=lambda left, right: left + right,
            ready=lambda total: total > 8,
        ),
        "CustomTrigger",
    ),
)


@job(
    VALUES.map_values(lucky),
    SOME,
    others=(
        job(in_fives(VALUES.map_values(lambda value: value)), SOME, name="all sums", statement="All values.")(
            sums_of_all
        ),
    ),
    bad_records=f"map_values(lucky) {BAD}",
)
def a_bad_record_of_one_of_two_outputs(readings: list[Reading]) -> Answer:
    """A dead letter of one output takes nothing from the other."""
    for reading in filter(is_lucky, readings):
        yield KV(reading.key, reading.value), reading.at


LUCKY: PCollection[KV[str, int]] = VALUES.map_values(lucky)


@job(
    in_fives(LUCKY),
    SOME,
    others=(
        job(
            in_fives(LUCKY.filter(lambda pair: pair.value > 0)),
            SOME,
            name="sums of positive values",
            statement="All are.",
        )(sums),
    ),
    bad_records=f"map_values(lucky) {BAD}",
)
def a_bad_record_of_a_shared_step(readings: list[Reading]) -> Answer:
    """A step that two outputs share fails once for an element, whose event time advances the watermark of both."""
    yield from sums(readings)


def with_total(collection: PCollection[KV[str, int]]) -> PCollection[KV[str, int]]:
    """Returns values, unless they are unlucky, with the total of the side input in their window."""
    return collection.map_with(
        total, lambda pair, other: KV(pair.key, 1000 * other + lucky(pair.value)), result=KV[str, int]
    )


def add_totals(readings: Iterable[Reading], more: list[Reading]) -> list[Reading]:
    """Adds the totals of the side input in the windows of readings to their values."""
    return [
        evolve(
            reading, value=reading.value + 1000 * sum(of.value for of in more if five(of) == five(reading))
        )
        for reading in readings
    ]


TOTALLED: PCollection[KV[str, int]] = with_total(VALUES.window(FIVE, allowed_lateness=MINUTE))


@job(TOTALLED.process(ECHO, late=Late.DROP), SOME, ON_TIME, name="totals observed", statement="All are.")
def totals_observed(readings: list[Reading], more: list[Reading]) -> Answer:
    """The readings with their totals, each with its number among those of its key."""
    return echoes(add_totals(filter(is_lucky, readings), more))


@job(
    TOTALLED,
    SOME,
    ON_TIME,
    others=(totals_observed,),
    bad_records='map_with(<lambda>) [{"key":"b","value":7},20]',
)
def a_function_of_a_side_input_that_raises(readings: list[Reading], more: list[Reading]) -> Answer:
    """An element that a function of a side input rejects is a dead letter, and one that is too late is dropped."""
    for reading in add_totals(filter(is_lucky, readings), more):
        yield KV(reading.key, reading.value), reading.at


@job(
    with_total(VALUES.map_values(lambda value: value + 0 // (value - 6)).process(ECHO, late=Late.DROP)),
    SOME,
    ON_TIME,
    panes="",
    drops="14: 1 of a always late",
    bad_records='map_values(<lambda>) {"key":"a","value":6}',
)
def a_bad_record_that_is_late(readings: list[Reading], more: list[Reading]) -> Answer:
    """A late element of a computation is a drop of its instant, or a dead letter, also if a side input follows."""
    for echo, at in echoes([reading for reading in readings if reading.value != 6]):
        assert isinstance(echo, KV)
        assert isinstance(at, datetime)
        (reading,) = add_totals([Reading(echo.key, echo.value, at, at)], more)
        yield KV(reading.key, reading.value), at


JOBS: tuple[Job, ...] = (
    a_record_with_a_null,
    a_lifted_function_that_raises,
    a_python_function_that_raises,
    a_result_of_another_type,
    a_filter_that_raises,
    a_flat_map_that_raises,
    a_generator_that_raises,
    a_split_that_raises,
    a_function_of_a_combiner_that_raises,
    a_combiner_whose_add_raises,
    a_window_function_that_raises,
    a_window_function_of_the_value_that_raises,
    *TRIGGERS,
    a_bad_record_of_one_of_two_outputs,
    a_bad_record_of_a_shared_step,
    a_function_of_a_side_input_that_raises,
    a_bad_record_that_is_late,
)
