"""Jobs about several collections, several groupings, and the transforms that are made of others."""

from __future__ import annotations

from datetime import datetime, timedelta

from returns.result import Failure, Result, Success

from flowalg import (
    FOREVER,
    KV,
    Accumulation,
    BoundedOutOfOrderness,
    Count,
    FixedWindows,
    Max,
    PCollection,
    Source,
    Sum,
    flatten,
    together,
)
from flowalg_laws.conformance.jobs.feeds import FIVE, SOME, TWO_MINUTES, five, key, readings, summed
from flowalg_laws.conformance.jobs.job import Answer, Span, fixed, grouped, job
from flowalg_laws.conformance.jobs.replay import Feed
from flowalg_laws.kit.readings import READINGS, VALUES, Reading

MINUTE = timedelta(minutes=1)
OTHERS = Source("others", Reading, event_time=lambda reading: reading.at)
OTHER_LINES = ("10: a=10@1", "12: a=20@6, c=30@2", "14: b=40@11", "15: a=50@3")
MORE = Feed(OTHERS, Reading, tuple(map(readings, OTHER_LINES)), TWO_MINUTES)
other_values: PCollection[KV[str, int]] = OTHERS.key_by(lambda one: one.key).map_values(lambda one: one.value)


def in_fives(collection: PCollection[KV[str, int]]) -> PCollection[KV[str, int]]:
    """A collection in windows of five minutes, late data welcome, with retractions."""
    return collection.window(FIVE, allowed_lateness=FOREVER, accumulation=Accumulation.RETRACTING)


def by_key_and_five(some: list[Reading]) -> dict[tuple[str, Span], list[int]]:
    """The values of each key and five minutes, in order of event time."""
    ordered = sorted(some, key=lambda one: one.at)
    return {(one, span): [r.value for r in group] for one, span, group in grouped(ordered, key, five)}


def parity(pair: KV[str, int]) -> Result[KV[str, int], str]:
    """Even values succeed."""
    return Success(pair) if pair.value % 2 == 0 else Failure(pair.key)


@job(
    VALUES.split(parity)[0].window(FIVE, allowed_lateness=FOREVER).combine_per_key(Count()),
    SOME,
)
def one_part_of_a_split(readings: list[Reading]) -> Answer:
    """The successes of a function, and nothing of its failures."""
    for (one, window), values in by_key_and_five(
        [reading for reading in readings if reading.value % 2 == 0]
    ).items():
        yield KV(one, len(values)), window


@job(
    READINGS.with_timestamps(lambda one: one.seen)
    .key_by(lambda one: one.key)
    .window(FIVE, allowed_lateness=FOREVER)
    .combine_per_key(Count()),
    SOME,
)
def other_timestamps(readings: list[Reading]) -> Answer:
    """Event times that a function gives; the watermark stays that of the source."""
    for one, window, some in grouped(readings, key, lambda reading: [fixed(reading.seen, 5)]):
        yield KV(one, len(some)), window


@job(
    READINGS.map(lambda one: one.value)
    .window(FIVE, allowed_lateness=FOREVER)
    .combine_globally(together(Sum(), Count())),
    SOME,
)
def several_results_of_everything(readings: list[Reading]) -> Answer:
    """Several combiners at once, globally."""
    for _, window, some in grouped(readings, lambda one: 0, five):
        yield (sum(one.value for one in some), len(some)), window


@job(
    READINGS.map(lambda one: one.key).distinct(),
    SOME,
)
def distinct_keys(readings: list[Reading]) -> Answer:
    """Each element once."""
    for one in {reading.key for reading in readings}:
        yield one, None


@job(
    in_fives(VALUES).group_by_key().map_values(lambda values: sum(values), result=int).combine_per_key(Max()),
    SOME,
)
def lists_that_are_grouped_again(readings: list[Reading]) -> Answer:
    """A list is taken back as a whole when a value joins it."""
    for (one, window), values in by_key_and_five(readings).items():
        yield KV(one, sum(values)), window


@job(
    summed(accumulation=Accumulation.RETRACTING)
    .map(lambda pair: pair.value)
    .window(FixedWindows(10 * MINUTE), accumulation=Accumulation.RETRACTING, allowed_lateness=FOREVER)
    .combine_globally(Max())
    .key_by(lambda value: "max")
    .combine_per_key(Sum()),
    SOME,
)
def three_stages(readings: list[Reading]) -> Answer:
    """A grouping of a grouping of a grouping."""
    sums = [(span, sum(values)) for (_, span), values in by_key_and_five(readings).items()]
    tens = grouped(sums, lambda pair: 0, lambda pair: [fixed(_start(pair[0]), 10)])
    for _, window, some in tens:
        yield KV("max", max(value for _, value in some)), window


@job(flatten(VALUES, VALUES.map_values(lambda value: 10 * value)).combine_per_key(Sum()), SOME)
def a_collection_and_itself(readings: list[Reading]) -> Answer:
    """A union is one of bags: nothing is lost that is there twice."""
    for one in ("a", "b"):
        yield KV(one, sum(11 * reading.value for reading in readings if reading.key == one)), None


@job(
    in_fives(flatten(VALUES, other_values)).combine_per_key(Sum()),
    SOME,
    MORE,
    panes="""
        14: +a=29 [0, 5) on_time 0
        14: +b=2 [0, 5) on_time 0
        14: +c=30 [0, 5) on_time 0
        15: -a=29 [0, 5) late 0
        15: +a=79 [0, 5) late 1
        15: +a=25 [5, 10) on_time 0
        15: +b=11 [5, 10) on_time 0
        15: +b=48 [10, 15) on_time 0
    """,
)
def two_sources_as_one(some: list[Reading], more: list[Reading]) -> Answer:
    """The watermark of a union is the lesser of the two."""
    for (one, window), values in by_key_and_five([*some, *more]).items():
        yield KV(one, sum(values)), window


@job(VALUES.co_group_by_key(VALUES.map_values(lambda value: -value)), SOME)
def a_collection_beside_itself(readings: list[Reading]) -> Answer:
    """The values of each of two collections, in order of event time."""
    for one in ("a", "b"):
        of_key = sorted((reading for reading in readings if reading.key == one), key=lambda r: r.at)
        values = [reading.value for reading in of_key]
        yield KV(one, (values, [-value for value in values])), None


@job(
    in_fives(VALUES).co_group_by_key(in_fives(other_values)),
    SOME,
    MORE,
    panes="""
        14: +a=([1, 6, 9, 3], [10]) [0, 5) on_time 0
        14: +b=([2], []) [0, 5) on_time 0
        14: +c=([], [30]) [0, 5) on_time 0
        15: -a=([1, 6, 9, 3], [10]) [0, 5) late 0
        15: +a=([1, 6, 9, 3], [10, 50]) [0, 5) late 1
        15: +a=([5], [20]) [5, 10) on_time 0
        15: +b=([4, 7], []) [5, 10) on_time 0
        15: +b=([8], [40]) [10, 15) on_time 0
    """,
)
def two_sources_side_by_side(some: list[Reading], more: list[Reading]) -> Answer:
    """A key that only one has gets an empty list from the other."""
    left, right = by_key_and_five(some), by_key_and_five(more)
    for one, window in {**left, **right}:
        yield KV(one, (left.get((one, window), []), right.get((one, window), []))), window


@job(in_fives(VALUES).inner_join(in_fives(other_values)), SOME, MORE)
def an_inner_join(some: list[Reading], more: list[Reading]) -> Answer:
    """Each pair of one key and window."""
    left, right = by_key_and_five(some), by_key_and_five(more)
    for (one, window), values in left.items():
        for value in values:
            for other in right.get((one, window), []):
                yield KV(one, (value, other)), window


@job(in_fives(VALUES).left_join(in_fives(other_values)), SOME, MORE)
def a_left_join(some: list[Reading], more: list[Reading]) -> Answer:
    """Each left value, with ``None`` where the right side has nothing."""
    left, right = by_key_and_five(some), by_key_and_five(more)
    for (one, window), values in left.items():
        for value in values:
            others: list[int | None] = [*right.get((one, window), [])]
            for other in others or [None]:
                yield KV(one, (value, other)), window


def _start(span: Span) -> datetime:
    assert span is not None
    return span[0]


PATIENT = BoundedOutOfOrderness(timedelta(minutes=12))
ON_TIME = Feed(OTHERS, Reading, MORE.batches, PATIENT)
ALL_ON_TIME = Feed(READINGS, Reading, SOME.batches, PATIENT)
total = (
    OTHERS.map(lambda one: one.value)
    .window(FIVE, allowed_lateness=FOREVER)
    .combine_globally(Sum())
    .as_singleton(default=0)
)
latest = other_values.window(FIVE, allowed_lateness=FOREVER).combine_per_key(Max()).as_map()


@job(
    READINGS.map_with(total, lambda one, other: KV(one.key, one.value + other), result=KV[str, int])
    .window(FIVE, allowed_lateness=FOREVER)
    .combine_per_key(Sum()),
    ALL_ON_TIME,
    ON_TIME,
    panes="""
        15: +a=379 [0, 5) on_time 0
        15: +b=92 [0, 5) on_time 0
        15: +a=25 [5, 10) on_time 0
        15: +b=51 [5, 10) on_time 0
        15: +b=48 [10, 15) on_time 0
    """,
)
def a_number_on_the_side(some: list[Reading], more: list[Reading]) -> Answer:
    """Each element reads what its own window of the side comes to, and waits until that is complete."""
    for one, window, group in grouped(some, key, five):
        beside = sum(other.value for other in more if five(other) == [window])
        yield KV(one, sum(reading.value + beside for reading in group)), window


@job(
    READINGS.filter_with(latest, lambda one, beside: one.key in beside)
    .key_by(lambda one: one.key)
    .window(FIVE, allowed_lateness=FOREVER)
    .combine_per_key(Count()),
    ALL_ON_TIME,
    ON_TIME,
    panes="""
        15: +a=4 [0, 5) on_time 0
        15: +a=1 [5, 10) on_time 0
        15: +b=1 [10, 15) on_time 0
    """,
)
def a_map_on_the_side(some: list[Reading], more: list[Reading]) -> Answer:
    """Each element reads the keys of its own window of the side."""
    for one, window, group in grouped(some, key, five):
        if any(other.key == one and five(other) == [window] for other in more):
            yield KV(one, len(group)), window


sum_of_self = VALUES.map(lambda pair: KV("all", pair.value)).combine_per_key(Sum()).as_singleton()
counts_of_self = VALUES.combine_per_key(Count()).as_map()


@job(
    READINGS.map_with(
        sum_of_self, lambda one, total: KV(one.key, total.value - one.value), result=KV[str, int]
    ).combine_per_key(Sum()),
    SOME,
)
def a_number_of_its_own(readings: list[Reading]) -> Answer:
    """A collection that reads what it comes to itself."""
    total = sum(reading.value for reading in readings)
    for one in ("a", "b"):
        yield KV(one, sum(total - reading.value for reading in readings if reading.key == one)), None


@job(
    VALUES.map_with(
        counts_of_self, lambda pair, counts: KV(pair.key, counts[pair.key]), result=KV[str, int]
    ).combine_per_key(Sum()),
    SOME,
)
def a_map_of_its_own(readings: list[Reading]) -> Answer:
    """A collection that reads how often each of its keys is there."""
    for one in ("a", "b"):
        yield KV(one, len([reading for reading in readings if reading.key == one]) ** 2), None


JOBS = (
    one_part_of_a_split,
    other_timestamps,
    several_results_of_everything,
    distinct_keys,
    lists_that_are_grouped_again,
    three_stages,
    a_collection_and_itself,
    two_sources_as_one,
    a_collection_beside_itself,
    two_sources_side_by_side,
    an_inner_join,
    a_left_join,
    a_number_on_the_side,
    a_map_on_the_side,
    a_number_of_its_own,
    a_map_of_its_own,
)

__all__ = ["JOBS"]
