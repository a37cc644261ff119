"""Jobs about several collections, several groupings, and composite transforms."""

from __future__ import annotations

from datetime import datetime, timedelta

from returns.result import Failure, Result, Success

from flowalg import (
    FOREVER,
    KV,
    Accumulation,
    AtWatermark,
    BoundedOutOfOrderness,
    Count,
    FixedWindows,
    GlobalWindows,
    Max,
    PCollection,
    Source,
    Sum,
    flatten,
)
from flowalg.combiners import together
from flowalg_laws.conformance.jobs.feeds import FIVE, SOME, TWO_MINUTES, five, key, readings, sum_in_windows
from flowalg_laws.conformance.jobs.job import Answer, Span, fixed, grouped, job
from flowalg_laws.kit.readings import READINGS, VALUES, Reading
from flowalg_laws.kit.replay import Feed

MINUTE = timedelta(minutes=1)
OTHERS = Source("others", Reading, event_time=lambda reading: reading.at)
OTHER_LINES = ("10: a=10@1", "12: a=20@6, c=30@2", "14: b=40@11", "15: a=50@3")
MORE = Feed(OTHERS, Reading, tuple(map(readings, OTHER_LINES)), TWO_MINUTES)
other_values: PCollection[KV[str, int]] = OTHERS.key_by(lambda reading: reading.key).map_values(
    lambda reading: reading.value
)


def in_fives(collection: PCollection[KV[str, int]]) -> PCollection[KV[str, int]]:
    """Returns a collection in windows of five minutes, with unlimited lateness and retractions."""
    return collection.window(FIVE, allowed_lateness=FOREVER, accumulation=Accumulation.RETRACTING)


def by_key_and_five(readings: list[Reading]) -> dict[tuple[str, Span], list[int]]:
    """Returns the values of each key and five-minute window, in order of event time."""
    ordered = sorted(readings, key=lambda reading: reading.at)
    return {(name, span): [r.value for r in group] for name, span, group in grouped(ordered, key, five)}


def parity(pair: KV[str, int]) -> Result[KV[str, int], str]:
    """Succeeds for even values."""
    return Success(pair) if pair.value % 2 == 0 else Failure(pair.key)


@job(
    VALUES.split(parity)[0].window(FIVE, allowed_lateness=FOREVER).combine_per_key(Count()),
    SOME,
)
def one_part_of_a_split(readings: list[Reading]) -> Answer:
    """The successes of a function without its failures."""
    for (name, window), values in by_key_and_five(
        [reading for reading in readings if reading.value % 2 == 0]
    ).items():
        yield KV(name, len(values)), window


@job(
    READINGS.with_timestamps(lambda reading: reading.seen)
    .key_by(lambda reading: reading.key)
    .window(FIVE, allowed_lateness=FOREVER)
    .combine_per_key(Count()),
    SOME,
)
def assigned_timestamps(readings: list[Reading]) -> Answer:
    """Event times that a function assigns; the watermark is still that of the source."""
    for name, window, group in grouped(readings, key, lambda reading: [fixed(reading.seen, 5)]):
        yield KV(name, len(group)), window


@job(
    READINGS.map(lambda reading: reading.value)
    .window(FIVE, allowed_lateness=FOREVER)
    .combine_globally(together(Sum(), together(Count(), Max[int]()))),
    SOME,
)
def several_global_results(readings: list[Reading]) -> Answer:
    """Several combiners at once, globally, of which some are together."""
    for _, window, group in grouped(readings, lambda reading: 0, five):
        values = [reading.value for reading in group]
        yield (sum(values), (len(group), max(values))), window


@job(
    READINGS.map(lambda reading: reading.key).distinct(),
    SOME,
)
def distinct_keys(readings: list[Reading]) -> Answer:
    """The distinct elements."""
    for name in {reading.key for reading in readings}:
        yield name, None


@job(
    in_fives(VALUES).group_by_key().map_values(lambda values: sum(values), result=int).combine_per_key(Max()),
    SOME,
)
def lists_grouped_twice(readings: list[Reading]) -> Answer:
    """A list is retracted as a whole when a value is added to it."""
    for (name, window), values in by_key_and_five(readings).items():
        yield KV(name, sum(values)), window


@job(
    sum_in_windows(accumulation=Accumulation.RETRACTING)
    .map(lambda pair: pair.value)
    .window(FixedWindows(10 * MINUTE), accumulation=Accumulation.RETRACTING, allowed_lateness=FOREVER)
    .combine_globally(Max())
    .key_by(lambda value: "max")
    .combine_per_key(Sum()),
    SOME,
)
def three_stages(readings: list[Reading]) -> Answer:
    """Three groupings in a row."""
    sums = [(span, sum(values)) for (_, span), values in by_key_and_five(readings).items()]
    tens = grouped(sums, lambda pair: 0, lambda pair: [fixed(_start(pair[0]), 10)])
    for _, window, group in tens:
        yield KV("max", max(value for _, value in group)), window


@job(flatten(VALUES, VALUES.map_values(lambda value: 10 * value)).combine_per_key(Sum()), SOME)
def a_union_with_itself(readings: list[Reading]) -> Answer:
    """A union of bags: duplicates are kept."""
    for name in ("a", "b"):
        yield KV(name, sum(11 * reading.value for reading in readings if reading.key == name)), None


small: PCollection[KV[str, int]] = VALUES.filter(lambda pair: pair.value < 4)
large: PCollection[KV[str, int]] = VALUES.filter(lambda pair: pair.value > 6)


def repeat_pair(pair: KV[str, int]) -> list[KV[str, int]]:
    """Returns the pair zero times, once or twice."""
    return [pair] * (pair.value % 3)


sums: PCollection[KV[str, int]] = sum_in_windows(accumulation=Accumulation.RETRACTING)


@job(
    in_fives(flatten(small, large.map_values(lambda value: 10 * value), large)).combine_per_key(Sum()),
    SOME,
)
def branches_of_one_collection(readings: list[Reading]) -> Answer:
    """Three branches of one collection: an element may take none of them, one, or two."""
    for (name, window), values in by_key_and_five(
        [reading for reading in readings if not 4 <= reading.value <= 6]
    ).items():
        yield KV(name, sum(value if value < 4 else 11 * value for value in values)), window


@job(
    in_fives(flatten(small, large.flat_map(repeat_pair))).combine_per_key(Count()),
    SOME,
)
def a_branch_that_repeats_elements(readings: list[Reading]) -> Answer:
    """A branch that emits an element several times, or not at all, next to one that only filters."""
    counts = {
        key: sum(1 if value < 4 else value % 3 for value in values if not 4 <= value <= 6)
        for key, values in by_key_and_five(readings).items()
    }
    for (name, window), count in counts.items():
        if count:
            yield KV(name, count), window


@job(
    flatten(sums.filter(lambda pair: pair.value > 5), sums.map_values(lambda value: -value))
    .window(FixedWindows(10 * MINUTE), accumulation=Accumulation.RETRACTING, allowed_lateness=FOREVER)
    .combine_per_key(Max()),
    SOME,
)
def branches_of_a_grouping(readings: list[Reading]) -> Answer:
    """Two branches of the results of one grouping."""
    by_five = [(name, span, sum(values)) for (name, span), values in by_key_and_five(readings).items()]
    for name, window, group in grouped(by_five, lambda row: row[0], lambda row: [fixed(_start(row[1]), 10)]):
        yield KV(name, max(value if value > 5 else -value for _, _, value in group)), window


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
def a_union_of_two_sources(readings: list[Reading], more: list[Reading]) -> Answer:
    """The watermark of a union is the lesser of the two."""
    for (name, window), values in by_key_and_five([*readings, *more]).items():
        yield KV(name, sum(values)), window


@job(VALUES.co_group_by_key(VALUES.map_values(lambda value: -value)), SOME)
def a_co_group_with_itself(readings: list[Reading]) -> Answer:
    """The values of each of two collections, in order of event time."""
    for name in ("a", "b"):
        of_key = sorted((reading for reading in readings if reading.key == name), key=lambda r: r.at)
        values = [reading.value for reading in of_key]
        yield KV(name, (values, [-value for value in values])), None


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
def a_co_group_of_two_sources(readings: list[Reading], more: list[Reading]) -> Answer:
    """For a key of only one collection, the list of the other is empty."""
    left, right = by_key_and_five(readings), by_key_and_five(more)
    for name, window in {**left, **right}:
        yield KV(name, (left.get((name, window), []), right.get((name, window), []))), window


def _start(span: Span) -> datetime:
    assert span is not None
    return span[0]


PATIENT = BoundedOutOfOrderness(timedelta(minutes=12))
ON_TIME = Feed(OTHERS, Reading, MORE.batches, PATIENT)
ALL_ON_TIME = Feed(READINGS, Reading, SOME.batches, PATIENT)


@job(
    VALUES.window(FIVE, trigger=AtWatermark(), allowed_lateness=FOREVER)
    .combine_per_key(Sum())
    .map(lambda pair: KV("all", pair.value))
    .combine_per_key(Max()),
    ALL_ON_TIME,
)
def complete_results_grouped_again(readings: list[Reading]) -> Answer:
    """A window that emits one pane needs no retractions for a grouping that reads it."""
    sums = by_key_and_five(readings)
    for window in {window for _, window in sums}:
        yield KV("all", max(sum(values) for (_, span), values in sums.items() if span == window)), window


total = (
    OTHERS.map(lambda reading: reading.value)
    .window(FIVE, allowed_lateness=FOREVER)
    .combine_globally(Sum())
    .as_singleton(default=0)
)
latest = other_values.window(FIVE, allowed_lateness=FOREVER).combine_per_key(Max()).as_map()


@job(
    READINGS.map_with(
        total, lambda reading, other: KV(reading.key, reading.value + other), result=KV[str, int]
    )
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
def a_singleton_side_input(readings: list[Reading], more: list[Reading]) -> Answer:
    """Each element reads the result of its window of the side input, and waits until it is complete."""
    for name, window, group in grouped(readings, key, five):
        side_total = sum(other.value for other in more if five(other) == [window])
        yield KV(name, sum(reading.value + side_total for reading in group)), window


@job(
    READINGS.filter_with(latest, lambda reading, side: reading.key in side)
    .key_by(lambda reading: reading.key)
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
def a_map_side_input(readings: list[Reading], more: list[Reading]) -> Answer:
    """Each element reads the keys of its window of the side input."""
    for name, window, group in grouped(readings, key, five):
        if any(other.key == name and five(other) == [window] for other in more):
            yield KV(name, len(group)), window


complete = VALUES.window(GlobalWindows(), trigger=AtWatermark())
sum_of_self = complete.map(lambda pair: KV("all", pair.value)).combine_per_key(Sum()).as_singleton()
counts_of_self = complete.combine_per_key(Count()).as_map()


@job(
    READINGS.map_with(
        sum_of_self, lambda reading, total: KV(reading.key, total.value - reading.value), result=KV[str, int]
    ).combine_per_key(Sum()),
    SOME,
)
def a_singleton_of_the_same_source(readings: list[Reading]) -> Answer:
    """A collection with a side input computed from itself."""
    total = sum(reading.value for reading in readings)
    for name in ("a", "b"):
        yield KV(name, sum(total - reading.value for reading in readings if reading.key == name)), None


@job(
    VALUES.map_with(
        counts_of_self, lambda pair, counts: KV(pair.key, counts[pair.key]), result=KV[str, int]
    ).combine_per_key(Sum()),
    SOME,
)
def a_map_of_the_same_source(readings: list[Reading]) -> Answer:
    """A collection with the counts of its own keys as side input."""
    for name in ("a", "b"):
        yield KV(name, len([reading for reading in readings if reading.key == name]) ** 2), None


newest_total = total.latest_complete()
newest_values = latest.latest_complete()


def before(reading: Reading, more: list[Reading]) -> list[Reading]:
    """Returns the readings of the newest five-minute window that has any and that ends at or before a reading."""
    ended = [other for other in more if fixed(other.at, 5)[1] <= reading.at]
    newest = max((fixed(other.at, 5) for other in ended), default=None)
    return [other for other in ended if fixed(other.at, 5) == newest]


@job(
    READINGS.map_with(
        newest_total, lambda reading, other: KV(reading.key, reading.value + other), result=KV[str, int]
    )
    .window(FIVE, allowed_lateness=FOREVER)
    .combine_per_key(Sum()),
    ALL_ON_TIME,
    ON_TIME,
    panes="""
        15: +a=19 [0, 5) on_time 0
        15: +b=2 [0, 5) on_time 0
        15: +a=95 [5, 10) on_time 0
        15: +b=191 [5, 10) on_time 0
        15: +b=28 [10, 15) on_time 0
    """,
)
def the_newest_complete_value(readings: list[Reading], more: list[Reading]) -> Answer:
    """Each element reads the value of the newest window that was complete at its event time."""
    for name, window, group in grouped(readings, key, five):
        totals = [sum(other.value for other in before(reading, more)) for reading in group]
        yield KV(name, sum(totals) + sum(reading.value for reading in group)), window


@job(
    READINGS.map_with(
        newest_values,
        lambda reading, newest: KV(reading.key, reading.value + newest.get(reading.key, 0)),
        result=KV[str, int],
    )
    .window(FIVE, allowed_lateness=FOREVER)
    .combine_per_key(Sum()),
    ALL_ON_TIME,
    ON_TIME,
    panes="""
        15: +a=19 [0, 5) on_time 0
        15: +b=2 [0, 5) on_time 0
        15: +a=55 [5, 10) on_time 0
        15: +b=11 [5, 10) on_time 0
        15: +b=8 [10, 15) on_time 0
    """,
)
def the_newest_complete_value_of_each_key(readings: list[Reading], more: list[Reading]) -> Answer:
    """Each key has the value of its newest window that was complete at the event time of the element."""
    for name, window, group in grouped(readings, key, five):
        of_key = [other for other in more if other.key == name]
        newest = [max((other.value for other in before(reading, of_key)), default=0) for reading in group]
        yield KV(name, sum(newest) + sum(reading.value for reading in group)), window


@job(
    VALUES.window(FIVE, allowed_lateness=MINUTE)
    .map_with(total, lambda pair, other: KV(pair.key, pair.value + other), result=KV[str, int])
    .combine_per_key(Sum()),
    SOME,
    ON_TIME,
    panes="""
        15: +a=280 [0, 5) on_time 0 last
        15: +b=92 [0, 5) on_time 0 last
        15: +a=25 [5, 10) on_time 0 last
        15: +b=51 [5, 10) on_time 0 last
        15: +b=48 [10, 15) on_time 0 last
    """,
    drops="""
        14: 1 of a [0, 5) expired
    """,
)
def elements_too_late_for_a_side_input(readings: list[Reading], more: list[Reading]) -> Answer:
    """An element whose windows have all expired reads no side input: it is dropped."""
    for name, window, group in grouped(readings, key, five):
        side_total = sum(other.value for other in more if five(other) == [window])
        yield KV(name, sum(reading.value + side_total for reading in group)), window


JOBS = (
    one_part_of_a_split,
    assigned_timestamps,
    several_global_results,
    distinct_keys,
    lists_grouped_twice,
    three_stages,
    complete_results_grouped_again,
    a_union_with_itself,
    branches_of_one_collection,
    a_branch_that_repeats_elements,
    branches_of_a_grouping,
    a_union_of_two_sources,
    a_co_group_with_itself,
    a_co_group_of_two_sources,
    a_singleton_side_input,
    a_map_side_input,
    a_singleton_of_the_same_source,
    a_map_of_the_same_source,
    the_newest_complete_value,
    the_newest_complete_value_of_each_key,
    elements_too_late_for_a_side_input,
)
