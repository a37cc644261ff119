"""Jobs about computations: state, timers, holds and late elements, alone and between groupings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from itertools import pairwise

from flowalg import FOREVER, KV, Accumulation, AtCount, Computation, EventTime, PCollection, Sum
from flowalg.computations import Clocks, EventTimer, Late, Observed, Timer, Transition
from flowalg.data import MAX_TIME
from flowalg_laws.conformance.jobs.feeds import FIVE, SOME, feed, five, key, sum_in_windows
from flowalg_laws.conformance.jobs.job import Answer, fixed, grouped, job
from flowalg_laws.kit.readings import VALUES, Reading
from flowalg_laws.strategies.computations import (
    ECHO,
    FILLING,
    HEARTBEAT,
    HOLDING,
    RUNNING_TOTAL,
    SILENCE,
    SUMS_OF_FIVE,
    TOTAL,
)

MINUTE = timedelta(minutes=1)
LAST = EventTime(MAX_TIME - 1).datetime
Values = PCollection[KV[str, int]]


def by_key(readings: Iterable[Reading]) -> Iterator[tuple[str, list[Reading]]]:
    """The readings of each key, by event time and value."""
    for name in sorted({reading.key for reading in readings}):
        of_key = [reading for reading in readings if reading.key == name]
        yield name, sorted(of_key, key=lambda reading: (reading.at, reading.value))


def running_totals(readings: list[Reading]) -> Answer:
    """Returns the sum so far at each reading of a key."""
    for name, group in by_key(readings):
        for number, reading in enumerate(group, start=1):
            yield KV(name, sum(observed.value for observed in group[:number])), reading.at


@job(VALUES.process(RUNNING_TOTAL, in_order=True), SOME)
def a_running_total_in_order(readings: list[Reading]) -> Answer:
    """In order, elements are observed by event time when the watermark has passed them."""
    return running_totals(readings)


@job(VALUES.process(RUNNING_TOTAL), SOME)
def a_running_total_as_elements_arrive(readings: list[Reading]) -> Answer:
    """A stream observes elements as they arrive, those of an instant by event time; a batch in order."""
    return running_totals(readings)


@job(
    VALUES.process(
        Computation(
            initial=0,
            on_element=lambda total, seen, clocks: Transition(
                total + seen.value, emit=[f"{seen.key} {total + seen.value}"]
            ),
            result=str,
        ),
        in_order=True,
    ),
    SOME,
)
def outputs_of_another_type(readings: list[Reading]) -> Answer:
    """A lambda declares the type of its outputs."""
    for pair, at in running_totals(readings):
        assert isinstance(pair, KV)
        yield KV(pair.key, f"{pair.key} {pair.value}"), at


def echoes(readings: list[Reading]) -> Answer:
    """Returns each reading with its number among those of its key."""
    for name, group in by_key(readings):
        for number, reading in enumerate(group):
            yield KV(name, 1000 * number + 10 * reading.value), reading.at


@job(VALUES.process(ECHO), SOME)
def late_elements_are_marked(readings: list[Reading]) -> Answer:
    """A computation observes which elements are late; in a batch none is."""
    return echoes(readings)


@job(VALUES.process(ECHO, late=Late.DROP), SOME)
def late_elements_are_dropped(readings: list[Reading]) -> Answer:
    """A computation may drop late elements, which are counted."""
    return echoes(readings)


def silences(readings: list[Reading]) -> Iterator[tuple[KV[str, int], datetime]]:
    """The readings that no other one of their key follows within three minutes."""
    for name, group in by_key(readings):
        for reading, following in pairwise([*group, None]):
            assert reading is not None
            end = reading.at + 3 * MINUTE
            if following is None or following.at >= end:
                yield KV(name, reading.value), end


@job(VALUES.process(SILENCE, in_order=True), SOME)
def an_alert_on_silence(readings: list[Reading]) -> Answer:
    """A timer of event time finds a lack of elements."""
    return silences(readings)


@job(
    VALUES.process(SILENCE, in_order=True).window(FIVE, allowed_lateness=FOREVER).combine_per_key(Sum()),
    SOME,
)
def alerts_in_windows(readings: list[Reading]) -> Answer:
    """The outputs of a computation are grouped by their own event times."""
    for name, window, group in grouped(
        silences(readings), lambda row: row[0].key, lambda row: [fixed(row[1], 5)]
    ):
        yield KV(name, sum(pair.value for pair, _ in group)), window


@job(VALUES.process(SUMS_OF_FIVE).process(RUNNING_TOTAL), SOME)
def a_computation_after_a_computation(readings: list[Reading]) -> Answer:
    """A computation observes the outputs of another one in the same instant."""
    by_window = grouped(readings, key, five)
    ends = [
        Reading(name, sum(reading.value for reading in group), window[1], window[1])
        for name, window, group in by_window
        if window is not None
    ]
    return running_totals(ends)


@job(
    VALUES.process(HOLDING, in_order=True).window(FIVE, allowed_lateness=FOREVER).combine_per_key(Sum()),
    SOME,
)
def outputs_at_a_held_time(readings: list[Reading]) -> Answer:
    """A hold keeps windows open for outputs at its time."""
    outputs: list[tuple[KV[str, int], datetime]] = []
    for name, group in by_key(readings):
        session: list[Reading] = []
        for reading, following in pairwise([*group, None]):
            assert reading is not None
            session.append(reading)
            if following is None or following.at >= reading.at + 4 * MINUTE:
                outputs.append((KV(name, sum(abs(reading.value) + 1 for reading in session)), session[0].at))
                session = []
    for name, window, pairs in grouped(outputs, lambda row: row[0].key, lambda row: [fixed(row[1], 5)]):
        yield KV(name, sum(pair.value for pair, _ in pairs)), window


@job(
    VALUES.process(HEARTBEAT), feed("10: a=1@0", "11: a=2@1, b=3@2", "13: b=4@12", "14: a=1@2", "18: b=1@13")
)
def timers_of_processing_time(readings: list[Reading]) -> Answer:
    """A timer of processing time fires at its time, in the next instant, or when the input ends, as in a batch."""
    horizon = max(reading.at for reading in readings) + timedelta.resolution
    return [(KV("a", 2), horizon), (KV("b", 2), horizon)]


@job(VALUES.process(FILLING, in_order=True), SOME)
def silent_minutes_are_filled(readings: list[Reading]) -> Answer:
    """A timer that always sets the next one ends when the input does, after the last element of any key."""
    horizon = max(reading.at for reading in readings)
    for name, group in by_key(readings):
        end = group[0].at.replace(second=0, microsecond=0) + MINUTE
        while True:
            yield KV(name, sum(reading.value for reading in group if end - MINUTE <= reading.at < end)), end
            if end > horizon:
                break
            end += MINUTE


def _keep_holding(held: datetime, seen: Observed[str, int], clocks: Clocks) -> Transition[datetime, int]:
    first = min(held, seen.event_time)
    return Transition(first, emit=[seen.value], hold=first)


KEEPING = Computation(initial=LAST, on_element=_keep_holding, name="keeping")


@job(
    VALUES.process(KEEPING, in_order=True).window(FIVE, allowed_lateness=FOREVER).combine_per_key(Sum()),
    SOME,
)
def holds_end_with_the_input(readings: list[Reading]) -> Answer:
    """A hold that a computation leaves ends when the input does: what follows is flushed."""
    for name, window, group in grouped(readings, key, five):
        yield KV(name, sum(reading.value for reading in group)), window


corrected: Values = sum_in_windows(AtCount(1).repeat(), accumulation=Accumulation.RETRACTING)


@job(corrected.process(TOTAL).window(FIVE, allowed_lateness=FOREVER).combine_per_key(Sum()), SOME)
def a_computation_that_subtracts(readings: list[Reading]) -> Answer:
    """A computation between groupings receives retractions."""
    for name, group in by_key(readings):
        start = LAST - (LAST - datetime(1970, 1, 1, tzinfo=LAST.tzinfo)) % (5 * MINUTE)
        yield KV(name, sum(reading.value for reading in group)), (start, start + 5 * MINUTE)


@job(corrected.process(ECHO, in_order=True), SOME)
def corrections_before_the_watermark(readings: list[Reading]) -> Answer:
    """In order, a computation observes the values that are current when the watermark passes them."""
    ends = [
        Reading(
            name, sum(reading.value for reading in group), at := window[1] - timedelta(microseconds=1), at
        )
        for name, window, group in grouped(readings, key, five)
        if window is not None
    ]
    return echoes(ends)


@job(VALUES.deduplicate(by=lambda pair: pair.value % 3, within=5 * MINUTE, in_order=True), SOME)
def elements_without_duplicates(readings: list[Reading]) -> Answer:
    """An id is kept until the watermark is five minutes past its first element."""
    kept: dict[int, datetime] = {}
    for reading in sorted(readings, key=lambda reading: (reading.at, reading.key, reading.value)):
        name = reading.value % 3
        if name not in kept or reading.at >= kept[name] + 5 * MINUTE:
            kept[name] = reading.at
            yield KV(reading.key, reading.value), reading.at


@job(
    VALUES.deduplicate(by=lambda pair: pair.key, within=5 * MINUTE),
    feed("1: a=1@0", "2: a=2@0, b=3@1", "10: b=4@9", "11: a=1@0, b=3@1", "12: b=4@9, a=5@8"),
    panes="",
    drops="""
        11: 1 of a always late
        11: 1 of b always late
    """,
)
def late_duplicates(readings: list[Reading]) -> Answer:
    """An element whose id may have been forgotten is dropped as late, and not emitted a second time."""
    kept: dict[str, datetime] = {}
    for reading in sorted(readings, key=lambda reading: (reading.at, reading.key, reading.value)):
        if reading.key not in kept or reading.at >= kept[reading.key] + 5 * MINUTE:
            kept[reading.key] = reading.at
            yield KV(reading.key, reading.value), reading.at


@job(VALUES.every(2), SOME)
def pairs_of_elements(readings: list[Reading]) -> Answer:
    """Two elements of a key are one list; the last one may be alone."""
    for name, group in by_key(readings):
        for number in range(0, len(group), 2):
            pair = group[number : number + 2]
            at = pair[1].at if len(pair) == 2 else LAST
            yield KV(name, [reading.value for reading in pair]), at


UNLUCKY = 7


def _observe(total: int, seen: Observed[str, int], clocks: Clocks) -> Transition[int, int]:
    if seen.value == UNLUCKY:
        raise ValueError("an unlucky value")
    return Transition(total + seen.value, set=[EventTimer("end", seen.event_time + 3 * MINUTE)])


def _fire(total: int, timer: Timer, clocks: Clocks) -> Transition[int, int]:
    if total == 5:
        raise ValueError("an unlucky total")
    return Transition(None, emit=[total])


UNLUCKY_SUMS = Computation(initial=0, on_element=_observe, on_timer=_fire, name="unlucky sums")


@job(
    VALUES.process(UNLUCKY_SUMS, in_order=True),
    feed("10: a=1@0, b=7@1", "11: b=2@2, a=3@4", "12: a=2@5, b=7@6"),
    bad_records="""
    process(unlucky sums) {"key":"b","element":7,"event_time":"2024-01-01T00:01:00Z","state":0}
    process(unlucky sums) {"key":"b","element":7,"event_time":"2024-01-01T00:06:00Z","state":0}
    process(unlucky sums) {"key":"a","timer":{"tag":"end","at":"2024-01-01T00:08:00+00:00"},"state":5}
    """,
)
def transitions_that_raise(readings: list[Reading]) -> Answer:
    """An element or timer on which a computation raises is a dead letter, and leaves the state as it was."""
    yield KV("a", 1), readings[0].at + 3 * MINUTE
    yield KV("b", 2), readings[2].at + 3 * MINUTE


JOBS = (
    a_running_total_in_order,
    a_running_total_as_elements_arrive,
    outputs_of_another_type,
    late_elements_are_marked,
    late_elements_are_dropped,
    an_alert_on_silence,
    alerts_in_windows,
    a_computation_after_a_computation,
    outputs_at_a_held_time,
    timers_of_processing_time,
    silent_minutes_are_filled,
    holds_end_with_the_input,
    a_computation_that_subtracts,
    corrections_before_the_watermark,
    elements_without_duplicates,
    late_duplicates,
    pairs_of_elements,
    transitions_that_raise,
)
