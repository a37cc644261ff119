"""Jobs about outputs: pipelines that group nothing, and several outputs of one run."""

from __future__ import annotations

from datetime import timedelta

from flowalg import (
    FOREVER,
    KV,
    Accumulation,
    AtCount,
    Count,
    FixedWindows,
    Max,
    PCollection,
    Sum,
    flatten,
)
from flowalg_laws.conformance.jobs.feeds import FIVE, SOME, five, key, sum_in_windows, sums_in_fives
from flowalg_laws.conformance.jobs.job import Answer, fixed, grouped, job
from flowalg_laws.conformance.jobs.transforms import ALL_ON_TIME, MORE, ON_TIME, other_values, total
from flowalg_laws.kit.readings import READINGS, VALUES, Reading

doubled: PCollection[KV[str, int]] = VALUES.filter(lambda pair: pair.value > 2).map_values(
    lambda value: 2 * value
)


@job(doubled, SOME)
def elements_of_a_filter_and_a_map(readings: list[Reading]) -> Answer:
    """A pipeline that groups nothing gives its elements, at their event times."""
    for reading in readings:
        if reading.value > 2:
            yield KV(reading.key, 2 * reading.value), reading.at


@job(READINGS.filter(lambda reading: reading.key == "a"), SOME)
def records_of_a_source(readings: list[Reading]) -> Answer:
    """The elements may be records."""
    for reading in readings:
        if reading.key == "a":
            yield reading, reading.at


def later(reading: Reading) -> list[int]:
    """Returns the value zero times, once or twice."""
    return [reading.value] * (reading.value % 3)


@job(READINGS.with_timestamps(lambda reading: reading.seen).flat_map(later), SOME)
def elements_at_assigned_times(readings: list[Reading]) -> Answer:
    """Elements have the event times that a function has assigned."""
    for reading in readings:
        for value in later(reading):
            yield value, reading.seen


@job(flatten(VALUES, other_values.map_values(lambda value: -value)), SOME, MORE)
def elements_of_two_sources(readings: list[Reading], more: list[Reading]) -> Answer:
    """The elements of a union."""
    for reading in readings:
        yield KV(reading.key, reading.value), reading.at
    for reading in more:
        yield KV(reading.key, -reading.value), reading.at


enriched: PCollection[KV[str, int]] = READINGS.map_with(
    total, lambda reading, other: KV(reading.key, reading.value + other), result=KV[str, int]
)


def enrich(reading: Reading, more: list[Reading]) -> int:
    """Returns the value of a reading plus those of the side input in its window."""
    return reading.value + sum(other.value for other in more if five(other) == five(reading))


@job(enriched, ALL_ON_TIME, ON_TIME)
def elements_with_a_side_input(readings: list[Reading], more: list[Reading]) -> Answer:
    """Elements are emitted when their window of the side input is complete."""
    for reading in readings:
        yield KV(reading.key, enrich(reading, more)), reading.at


sums: PCollection[KV[str, int]] = sum_in_windows()
counts: PCollection[KV[str, int]] = doubled.window(
    FIVE, allowed_lateness=timedelta(minutes=1)
).combine_per_key(Count())


@job(counts, SOME)
def counts_of_large_values(readings: list[Reading]) -> Answer:
    """The number of large values of each key and window."""
    for name, window, group in grouped([reading for reading in readings if reading.value > 2], key, five):
        yield KV(name, len(group)), window


@job(sums, SOME, others=(counts_of_large_values,))
def two_groupings_of_one_source(readings: list[Reading]) -> Answer:
    """Two groupings of one collection are two outputs of one run."""
    return sums_in_fives(readings)


@job(
    VALUES.window(FIVE, allowed_lateness=FOREVER).combine_per_key(Count()),
    SOME,
    others=(elements_of_a_filter_and_a_map, records_of_a_source),
)
def panes_beside_elements(readings: list[Reading]) -> Answer:
    """Panes and the elements before them are outputs of one run."""
    for name, window, group in grouped(readings, key, five):
        yield KV(name, len(group)), window


corrected: PCollection[KV[str, int]] = sum_in_windows(
    AtCount(1).repeat(), accumulation=Accumulation.RETRACTING
)


@job(corrected, SOME)
def corrected_sums(readings: list[Reading]) -> Answer:
    """Sums that retract."""
    return sums_in_fives(readings)


@job(
    corrected.map(lambda pair: KV("all", pair.value))
    .window(
        FixedWindows(timedelta(minutes=10)), accumulation=Accumulation.RETRACTING, allowed_lateness=FOREVER
    )
    .combine_per_key(Max()),
    SOME,
    others=(corrected_sums, elements_of_a_filter_and_a_map, counts_of_large_values),
)
def outputs_of_several_stages(readings: list[Reading]) -> Answer:
    """The outputs of two stages in a row, of a third beside them, and of none."""
    by_five = [
        (window[0], sum(reading.value for reading in group))
        for _, window, group in grouped(readings, key, five)
        if window is not None
    ]
    for _, window, values in grouped(by_five, lambda row: "all", lambda row: [fixed(row[0], 10)]):
        yield KV("all", max(value for _, value in values)), window


@job(
    enriched.window(FIVE, allowed_lateness=FOREVER).combine_per_key(Sum()),
    ALL_ON_TIME,
    ON_TIME,
    others=(elements_with_a_side_input,),
)
def elements_and_panes_of_a_side_input(readings: list[Reading], more: list[Reading]) -> Answer:
    """A stage that reads a side input is shared by two outputs."""
    for name, window, group in grouped(readings, key, five):
        yield KV(name, sum(enrich(reading, more) for reading in group)), window


JOBS = (
    elements_of_a_filter_and_a_map,
    records_of_a_source,
    elements_at_assigned_times,
    elements_of_two_sources,
    elements_with_a_side_input,
    counts_of_large_values,
    two_groupings_of_one_source,
    panes_beside_elements,
    corrected_sums,
    outputs_of_several_stages,
    elements_and_panes_of_a_side_input,
)
