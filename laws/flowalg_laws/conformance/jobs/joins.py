"""Jobs about joins."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta

from attrs import evolve

from flowalg import (
    FOREVER,
    KV,
    Accumulation,
    AtCount,
    AtWatermark,
    Count,
    GlobalWindows,
    PCollection,
    Repeat,
    Sessions,
)
from flowalg_laws.conformance.jobs.feeds import FIVE, SOME, feed
from flowalg_laws.conformance.jobs.job import Answer, Span, fixed, job
from flowalg_laws.conformance.jobs.transforms import MORE, OTHERS, by_key_and_five, in_fives, other_values
from flowalg_laws.kit.readings import READINGS, VALUES, Reading

THREE = timedelta(minutes=3)
OFTEN = AtWatermark().with_early_firings(AtCount(1)).with_late_firings(AtCount(1))


def without_windows(collection: PCollection[KV[str, int]]) -> PCollection[KV[str, int]]:
    """Returns a collection in the global window, with a discarding pane in each instant that brings an element."""
    return collection.window(
        GlobalWindows(), trigger=Repeat(AtCount(1)), accumulation=Accumulation.DISCARDING
    )


def new_in_fives(collection: PCollection[KV[str, int]]) -> PCollection[KV[str, int]]:
    """Returns a collection in windows of five minutes, with early and late discarding panes."""
    trigger = AtWatermark().with_early_firings(AtCount(1)).with_late_firings(AtCount(1))
    return collection.window(
        FIVE, trigger=trigger, accumulation=Accumulation.DISCARDING, allowed_lateness=FOREVER
    )


def in_sessions(collection: PCollection[KV[str, int]]) -> PCollection[KV[str, int]]:
    """Returns a collection in sessions, with unlimited lateness and retractions."""
    return collection.window(Sessions(THREE), accumulation=Accumulation.RETRACTING, allowed_lateness=FOREVER)


def pairs_in_fives(
    readings: list[Reading], more: list[Reading], *, left: bool = False, right: bool = False
) -> Iterator[tuple[KV[str, tuple[int | None, int | None]], Span]]:
    """Yields the pairs of each key and window; with ``left`` or ``right`` also values without a match."""
    lefts, rights = by_key_and_five(readings), by_key_and_five(more)
    for name, window in {**lefts, **rights}:
        yield from _pairs(
            name, window, lefts.get((name, window), []), rights.get((name, window), []), left, right
        )


def _pairs(
    name: str, window: Span, lefts: list[int], rights: list[int], left: bool, right: bool
) -> Iterator[tuple[KV[str, tuple[int | None, int | None]], Span]]:
    for value in lefts:
        for other in rights:
            yield KV(name, (value, other)), window
    if left and not rights:
        for value in lefts:
            yield KV(name, (value, None)), window
    if right and not lefts:
        for other in rights:
            yield KV(name, (None, other)), window


def sessions(readings: Iterable[Reading]) -> list[list[Reading]]:
    """Returns readings of one key in sessions with a gap of three minutes."""
    result: list[list[Reading]] = []
    for reading in sorted(readings, key=lambda reading: reading.at):
        if result and reading.at - result[-1][-1].at <= THREE:
            result[-1].append(reading)
        else:
            result.append([reading])
    return result


def pairs_in_sessions(readings: list[Reading], more: list[Reading], *, outer: bool) -> Answer:
    """Yields the pairs of each session of both collections; with ``outer`` also values without a match."""
    for name in sorted({reading.key for reading in (*readings, *more)}):
        for session in sessions(reading for reading in (*readings, *more) if reading.key == name):
            window = session[0].at, session[-1].at + THREE
            lefts = [reading.value for reading in session if reading in readings]
            rights = [reading.value for reading in session if reading in more]
            yield from _pairs(name, window, lefts, rights, outer, outer)


@job(VALUES.inner_join(VALUES.map_values(lambda value: -value)), SOME)
def a_join_with_itself(readings: list[Reading]) -> Answer:
    """The pairs of the values of a key, in the global window."""
    for name in ("a", "b"):
        values = [reading.value for reading in readings if reading.key == name]
        yield from _pairs(name, None, values, [-value for value in values], False, False)


@job(in_fives(VALUES).inner_join(in_fives(other_values)), SOME, MORE)
def an_inner_join(readings: list[Reading], more: list[Reading]) -> Answer:
    """All pairs of values of the same key and window."""
    yield from pairs_in_fives(readings, more)


@job(in_fives(VALUES).left_join(in_fives(other_values)), SOME, MORE)
def a_left_join(readings: list[Reading], more: list[Reading]) -> Answer:
    """All left values, with ``None`` where the right side has no value."""
    yield from pairs_in_fives(readings, more, left=True)


@job(
    in_fives(VALUES).full_join(in_fives(other_values)),
    SOME,
    MORE,
    panes="""
        14: +a=(1, 10) [0, 5) on_time 0
        14: +a=(6, 10) [0, 5) on_time 0
        14: +a=(9, 10) [0, 5) on_time 0
        14: +a=(3, 10) [0, 5) on_time 0
        14: +b=(2, None) [0, 5) on_time 0
        14: +c=(None, 30) [0, 5) on_time 0
        15: -a=(1, 10) [0, 5) late 0
        15: -a=(6, 10) [0, 5) late 0
        15: -a=(9, 10) [0, 5) late 0
        15: -a=(3, 10) [0, 5) late 0
        15: +a=(1, 10) [0, 5) late 1
        15: +a=(1, 50) [0, 5) late 1
        15: +a=(6, 10) [0, 5) late 1
        15: +a=(6, 50) [0, 5) late 1
        15: +a=(9, 10) [0, 5) late 1
        15: +a=(9, 50) [0, 5) late 1
        15: +a=(3, 10) [0, 5) late 1
        15: +a=(3, 50) [0, 5) late 1
        15: +a=(5, 20) [5, 10) on_time 0
        15: +b=(4, None) [5, 10) on_time 0
        15: +b=(7, None) [5, 10) on_time 0
        15: +b=(8, 40) [10, 15) on_time 0
    """,
)
def a_full_join(readings: list[Reading], more: list[Reading]) -> Answer:
    """All values of both sides, with ``None`` where the other side has no value."""
    yield from pairs_in_fives(readings, more, left=True, right=True)


@job(
    without_windows(VALUES).inner_join(without_windows(other_values)),
    SOME,
    MORE,
    panes="""
        10: +a=(1, 10) always early 0 at 1
        11: +a=(3, 10) always early 1 at 4
        12: +a=(1, 20) always early 2 at 6
        12: +a=(3, 20) always early 2 at 6
        12: +a=(5, 10) always early 2 at 7
        12: +a=(5, 20) always early 2 at 7
        13: +a=(6, 10) always early 3 at 2
        13: +a=(6, 20) always early 3 at 6
        14: +a=(9, 10) always early 4 at 3
        14: +a=(9, 20) always early 4 at 6
        14: +b=(2, 40) always early 3 at 11
        14: +b=(4, 40) always early 3 at 11
        14: +b=(7, 40) always early 3 at 11
        14: +b=(8, 40) always early 3 at 13
        15: +a=(1, 50) always early 5 at 3
        15: +a=(6, 50) always early 5 at 3
        15: +a=(9, 50) always early 5 at 3
        15: +a=(3, 50) always early 5 at 4
        15: +a=(5, 50) always early 5 at 7
    """,
)
def a_join_without_windows(readings: list[Reading], more: list[Reading]) -> Answer:
    """Each pair once, as soon as both of its values are there."""
    for name in sorted({reading.key for reading in readings}):
        lefts = [reading.value for reading in readings if reading.key == name]
        yield from _pairs(
            name, None, lefts, [reading.value for reading in more if reading.key == name], False, False
        )


@job(
    new_in_fives(VALUES).inner_join(new_in_fives(other_values)).combine_per_key(Count()),
    SOME,
    MORE,
)
def a_count_of_new_pairs(readings: list[Reading], more: list[Reading]) -> Answer:
    """A grouping of the new pairs of discarding panes counts each pair once."""
    lefts, rights = by_key_and_five(readings), by_key_and_five(more)
    for name, window in lefts:
        count = len(lefts[name, window]) * len(rights.get((name, window), []))
        if count:
            yield KV(name, count), window


@job(in_sessions(VALUES).inner_join(in_sessions(other_values)), SOME, MORE)
def an_inner_join_of_sessions(readings: list[Reading], more: list[Reading]) -> Answer:
    """Sessions are those of both collections together; one without a match has no pair."""
    yield from pairs_in_sessions(readings, more, outer=False)


@job(in_sessions(VALUES).full_join(in_sessions(other_values)), SOME, MORE)
def a_full_join_of_sessions(readings: list[Reading], more: list[Reading]) -> Answer:
    """A value without a match in its session is paired with ``None``."""
    yield from pairs_in_sessions(readings, more, outer=True)


PAYMENTS = feed("10: a=1@0", "11: a=3@2, b=2@1", "20: a=5@12")
ORDERS = feed("10: a=10@1", "12: b=20@11", "20: a=50@9")


def pairs_with_times(readings: list[Reading], more: list[Reading]) -> list[tuple[str, datetime]]:
    """Returns the key of each pair, and the event time of the later of its values."""
    return [(one.key, max(one.at, other.at)) for one in readings for other in more if one.key == other.key]


@job(
    without_windows(VALUES)
    .inner_join(without_windows(other_values))
    .window(FIVE, trigger=OFTEN, allowed_lateness=FOREVER)
    .combine_per_key(Count()),
    PAYMENTS,
    evolve(ORDERS, source=OTHERS),
)
def a_join_in_windows_of_its_own(readings: list[Reading], more: list[Reading]) -> Answer:
    """The pairs of a join without windows are in the windows in which the later of their values happened."""
    pairs = pairs_with_times(readings, more)
    for name, start in sorted({(name, fixed(at, 5)[0]) for name, at in pairs}):
        window = fixed(start, 5)
        yield KV(name, sum(1 for key, at in pairs if key == name and fixed(at, 5) == window)), window


def key_or_none(reading: Reading) -> str | None:
    """Returns the key of a reading, ``None`` instead of ``b``."""
    return None if reading.key == "b" else reading.key


def keyed(source: PCollection[Reading]) -> PCollection[KV[str | None, int]]:
    """Returns values by key, with no key for some, in windows of five minutes."""
    return (
        source.key_by(key_or_none)
        .map_values(lambda reading: reading.value)
        .window(FIVE, accumulation=Accumulation.RETRACTING, allowed_lateness=FOREVER)
    )


@job(keyed(READINGS).full_join(keyed(OTHERS)), SOME, MORE)
def a_join_by_keys_that_may_be_missing(readings: list[Reading], more: list[Reading]) -> Answer:
    """A key that is ``None`` matches nothing, so its values are in pairs with ``None``."""
    for pair, window in pairs_in_fives(readings, more, left=True, right=True):
        if pair.key != "b":
            yield pair, window
    for reading in readings:
        if reading.key == "b":
            yield KV(None, (reading.value, None)), fixed(reading.at, 5)
    for reading in more:
        if reading.key == "b":
            yield KV(None, (None, reading.value)), fixed(reading.at, 5)


@job(keyed(READINGS).inner_join(keyed(OTHERS)), SOME, MORE)
def an_inner_join_by_keys_that_may_be_missing(readings: list[Reading], more: list[Reading]) -> Answer:
    """A key that is ``None`` matches nothing, so an inner join has no pair of it."""
    for pair, window in pairs_in_fives(readings, more):
        if pair.key != "b":
            yield pair, window


JOBS = (
    a_join_with_itself,
    an_inner_join,
    a_left_join,
    a_full_join,
    a_join_without_windows,
    a_count_of_new_pairs,
    an_inner_join_of_sessions,
    a_full_join_of_sessions,
    a_join_in_windows_of_its_own,
    a_join_by_keys_that_may_be_missing,
    an_inner_join_by_keys_that_may_be_missing,
)
