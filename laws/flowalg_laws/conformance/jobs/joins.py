"""Jobs about joins."""

from __future__ import annotations

from collections import Counter, defaultdict
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
from flowalg.windows import TimestampCombiner
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


def selected_in_fives(readings: list[Reading], more: list[Reading], *, matched: bool) -> Answer:
    """Yields the values of each key and window whose key has a value on the right in it, or has none."""
    rights = by_key_and_five(more)
    for (name, window), values in by_key_and_five(readings).items():
        if ((name, window) in rights) is matched:
            for value in values:
                yield KV(name, value), window


def often_in_fives(collection: PCollection[KV[str, int]]) -> PCollection[KV[str, int]]:
    """Returns a collection in windows of five minutes, with early and late panes, whose mode is unset."""
    return collection.window(FIVE, trigger=OFTEN, allowed_lateness=FOREVER)


@job(
    new_in_fives(VALUES).semi_join(new_in_fives(other_values)),
    SOME,
    MORE,
    panes="""
        10: +a=1 [0, 5) early 0
        11: +a=3 [0, 5) early 1
        12: +a=5 [5, 10) early 0
        13: +a=6 [0, 5) early 2
        14: +a=9 [0, 5) on_time 3
        14: +b=8 [10, 15) early 0
    """,
)
def a_semi_join(readings: list[Reading], more: list[Reading]) -> Answer:
    """The left values whose key has a value on the right in their window: each once, when it has one."""
    yield from selected_in_fives(readings, more, matched=True)


@job(often_in_fives(VALUES).anti_join(often_in_fives(other_values)), SOME, MORE)
def an_anti_join(readings: list[Reading], more: list[Reading]) -> Answer:
    """The left values whose key has no value on the right in their window. A later one takes them back."""
    yield from selected_in_fives(readings, more, matched=False)


@job(without_windows(VALUES).semi_join(without_windows(other_values)).with_event_time(), SOME, MORE)
def a_semi_join_without_windows(readings: list[Reading], more: list[Reading]) -> Answer:
    """The left values whose key has a value on the right at any time, each with its own event time."""
    for reading in readings:
        if any(other.key == reading.key for other in more):
            yield (KV(reading.key, reading.value), reading.at), None


def selected_in_sessions(readings: list[Reading], more: list[Reading], *, matched: bool) -> Answer:
    """Yields the left values of each session of both collections that has a value on the right, or has none."""
    for name in sorted({reading.key for reading in (*readings, *more)}):
        for session in sessions(reading for reading in (*readings, *more) if reading.key == name):
            if any(reading in more for reading in session) is matched:
                for reading in session:
                    if reading in readings:
                        yield KV(name, reading.value), (session[0].at, session[-1].at + THREE)


@job(in_sessions(VALUES).semi_join(in_sessions(other_values)), SOME, MORE)
def a_semi_join_of_sessions(readings: list[Reading], more: list[Reading]) -> Answer:
    """A value on the right that joins two sessions is a match for the values of both."""
    yield from selected_in_sessions(readings, more, matched=True)


@job(in_sessions(VALUES).anti_join(in_sessions(other_values)), SOME, MORE)
def an_anti_join_of_sessions(readings: list[Reading], more: list[Reading]) -> Answer:
    """The values of a session without a value on the right."""
    yield from selected_in_sessions(readings, more, matched=False)


@job(keyed(READINGS).anti_join(keyed(OTHERS)), SOME, MORE)
def an_anti_join_by_keys_that_may_be_missing(readings: list[Reading], more: list[Reading]) -> Answer:
    """A key that is ``None`` matches nothing, so an anti join has all of its values."""
    rights = by_key_and_five(more)
    for reading in readings:
        window = fixed(reading.at, 5)
        if reading.key == "b":
            yield KV(None, reading.value), window
        elif (reading.key, window) not in rights:
            yield KV(reading.key, reading.value), window


def counts_in_fives(collection: PCollection[KV[str, int]]) -> PCollection[KV[str, int]]:
    """Returns the number of values of each key and window of five minutes, which later panes correct."""
    return often_in_fives(collection).combine_per_key(Count())


@job(
    counts_in_fives(VALUES).semi_join(counts_in_fives(other_values).filter(lambda pair: pair.value > 1)),
    SOME,
    MORE,
)
def a_semi_join_of_corrected_values(readings: list[Reading], more: list[Reading]) -> Answer:
    """Both sides are counts, and what they were before is retracted."""
    rights = by_key_and_five(more)
    for place, values in by_key_and_five(readings).items():
        if len(rights.get(place, ())) > 1:
            yield KV(place[0], len(values)), place[1]


def remainders(collection: PCollection[KV[str, int]]) -> PCollection[int]:
    """Returns the remainders of values, of which several are equal, in windows of five minutes."""
    return collection.window(
        FIVE, trigger=OFTEN, allowed_lateness=FOREVER, timestamp_combiner=TimestampCombiner.LATEST
    ).map(lambda pair: pair.value % 3)


@job(remainders(VALUES).except_(remainders(other_values)).with_event_time(), SOME, MORE)
def a_difference(readings: list[Reading], more: list[Reading]) -> Answer:
    """Each element on the right takes away an equal one on the left, in its window: the earliest one."""
    left = defaultdict[tuple[int, Span], list[datetime]](list)
    for reading in sorted(readings, key=lambda reading: reading.at):
        left[reading.value % 3, fixed(reading.at, 5)].append(reading.at)
    right = Counter[tuple[int, Span]]((reading.value % 3, fixed(reading.at, 5)) for reading in more)
    for (element, window), times in left.items():
        for at in times[right[element, window] :]:
            yield (element, at), window


@job(
    counts_in_fives(VALUES)
    .map(lambda pair: pair.value)
    .except_(counts_in_fives(other_values).map(lambda pair: pair.value)),
    SOME,
    MORE,
)
def a_difference_of_corrected_values(readings: list[Reading], more: list[Reading]) -> Answer:
    """Both sides are counts, and what they were before is retracted."""
    left, right = (
        Counter((len(values), window) for (_, window), values in by_key_and_five(records).items())
        for records in (readings, more)
    )
    yield from (left - right).elements()


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
    a_semi_join,
    an_anti_join,
    a_semi_join_without_windows,
    a_semi_join_of_sessions,
    an_anti_join_of_sessions,
    an_anti_join_by_keys_that_may_be_missing,
    a_semi_join_of_corrected_values,
    a_difference,
    a_difference_of_corrected_values,
)
