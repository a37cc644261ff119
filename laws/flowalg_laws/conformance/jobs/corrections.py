"""Jobs about groupings whose input is corrected: merged windows that come apart again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import timedelta

from flowalg import (
    FOREVER,
    KV,
    Accumulation,
    AtCount,
    AtWatermark,
    Count,
    EventTime,
    FixedWindows,
    PCollection,
    Repeat,
    Sessions,
    Window,
)
from flowalg.triggers import Trigger
from flowalg.windows import AllowedLateness, CustomWindows, WindowFn, WindowingStrategy
from flowalg_laws.conformance.jobs.feeds import FIVE, feed, sum_in_windows
from flowalg_laws.conformance.jobs.job import Answer, fixed, grouped, job, minutes
from flowalg_laws.conformance.jobs.windows import number
from flowalg_laws.kit.interpreters import apply_windowing
from flowalg_laws.kit.readings import Reading

MINUTE = timedelta(minutes=1)
MICROSECOND = 1 / 60_000_000
OFTEN = AtWatermark().with_early_firings(AtCount(1)).with_late_firings(AtCount(1))

BRIDGE = feed("1: a=5@0, a=5@4, b=1@0", "2: a=5@2", "3: a=-5@2", "4: b=1@9", "5: a=1@0, b=2@1")
"""An element that joins two others, and a value that takes it back."""


def corrected(
    windows: WindowFn, trigger: Trigger = OFTEN, lateness: AllowedLateness = FOREVER
) -> PCollection[KV[str, int]]:
    """Returns the positive sums of minutes, in windows that merge."""
    sums = sum_in_windows(OFTEN, FixedWindows(MINUTE), accumulation=Accumulation.RETRACTING)
    positive = sums.filter(lambda pair: pair.value > 0)
    strategy = WindowingStrategy(windows, trigger, Accumulation.RETRACTING, lateness)
    return apply_windowing(positive, strategy)


def positive_sums(readings: Iterable[Reading]) -> dict[str, list[tuple[float, int]]]:
    """Returns the positive sums of each key's minutes, with the last instant of the minute."""
    positive: dict[str, list[tuple[float, int]]] = {}
    for name, _, group in grouped(
        readings, lambda reading: reading.key, lambda reading: [fixed(reading.at, 1)]
    ):
        total = sum(reading.value for reading in group)
        if total > 0:
            positive.setdefault(name, []).append((number(group[0]) // 1 + 1 - MICROSECOND, total))
    return {name: sorted(sums) for name, sums in positive.items()}


def sessions_of(sums: Iterable[tuple[float, int]]) -> list[list[tuple[float, int]]]:
    """Returns the sums in sessions with a gap of two minutes."""
    sessions: list[list[tuple[float, int]]] = []
    for at, total in sums:
        if sessions and at - sessions[-1][-1][0] <= 2:
            sessions[-1].append((at, total))
        else:
            sessions.append([(at, total)])
    return sessions


@job(corrected(Sessions(2 * MINUTE)).combine_per_key(Count()), BRIDGE)
def sessions_that_come_apart(readings: list[Reading]) -> Answer:
    """A session comes apart when the element that joined it is retracted."""
    for name, sums in positive_sums(readings).items():
        for session in sessions_of(sums):
            yield KV(name, len(session)), minutes(session[0][0], session[-1][0] + 2)


def two_minutes(point: EventTime, key: object) -> list[Window]:
    """Returns the two minutes from an event time on."""
    return [Window(point, EventTime(point + 120_000_000))]


def overlapping(windows: Sequence[Window]) -> list[list[Window]]:
    """Returns groups of windows that overlap or touch."""
    groups: list[list[Window]] = []
    for window in sorted(windows, key=lambda window: window.start):
        if groups and window.start <= groups[-1][-1].end:
            groups[-1].append(window)
        else:
            groups.append([window])
    return groups


def in_order(values: list[int]) -> list[int]:
    """Returns the values in ascending order."""
    return sorted(values)


@job(
    corrected(CustomWindows("two_minutes", two_minutes, overlapping)).group_by_key().map_values(in_order),
    BRIDGE,
)
def user_defined_windows_that_come_apart(readings: list[Reading]) -> Answer:
    """User-defined windows come apart too, and keep their values."""
    for name, sums in positive_sums(readings).items():
        for session in sessions_of(sums):
            yield KV(name, sorted(total for _, total in session)), minutes(session[0][0], session[-1][0] + 2)


@job(
    corrected(Sessions(2 * MINUTE), lateness=timedelta(0)).combine_per_key(Count()),
    feed("1: a=5@0", "2: a=5@2", "3: a=5@4", "4: c=1@6", "5: a=-5@2"),
    panes="""
        1: +a=1 [1, 3) early 0
        2: -a=1 [1, 3) early 0
        2: +a=2 [1, 5) early 0
        3: -a=2 [1, 5) early 0
        3: +a=3 [1, 7) early 0
        4: +c=1 [7, 9) early 0
        5: +a=1 [1, 3) late 1 last
        5: -a=3 [1, 7) early 0
        5: +a=1 [5, 7) early 0
    """,
)
def parts_that_have_expired(readings: list[Reading]) -> Answer:
    """A part of a session that has expired continues the indices of its bounds."""
    for name, sums in positive_sums(readings).items():
        for session in sessions_of(sums):
            yield KV(name, len(session)), minutes(session[0][0], session[-1][0] + 2)


@job(
    corrected(Sessions(2 * MINUTE), Repeat(AtCount(2)))
    .map(lambda pair: KV("all", pair.value))
    .combine_per_key(Count()),
    feed("1: a=5@0, b=5@0", "2: a=5@2", "3: a=-5@2"),
    panes="""
        1: +all=2 [1, 3) early 0
        3: -all=2 [1, 3) early 0
        3: +all=2 [1, 3) early 1
    """,
)
def parts_with_the_bounds_of_a_pane_that_is_current(readings: list[Reading]) -> Answer:
    """A part is emitted after the retraction of the pane that its bounds still have."""
    sums = sorted(pair for of_key in positive_sums(readings).values() for pair in of_key)
    for session in sessions_of(sums):
        yield KV("all", len(session)), minutes(session[0][0], session[-1][0] + 2)


def even_sums_of_minutes() -> PCollection[KV[str, int]]:
    """Returns the even sums of minutes, in windows of five minutes, with unset modes."""
    even = sum_in_windows(OFTEN, FixedWindows(MINUTE)).filter(lambda pair: pair.value % 2 == 0)
    late = AtWatermark().with_late_firings(AtCount(1))
    return apply_windowing(even, WindowingStrategy(FIVE, late, allowed_lateness=FOREVER))


@job(
    even_sums_of_minutes().combine_per_key(Count()),
    feed("1: a=2@0, b=2@0, b=4@1", "2: c=2@9", "3: a=1@0", "4: b=1@1", "5: a=1@0"),
    panes="""
        2: +a=1 [0, 5) on_time 0
        2: +b=2 [0, 5) on_time 0
        3: -a=1 [0, 5) late 0
        4: -b=2 [0, 5) late 0
        4: +b=1 [0, 5) late 1
        5: +a=1 [0, 5) late 1
        5: +c=1 [5, 10) on_time 0
    """,
)
def a_window_that_becomes_empty(readings: list[Reading]) -> Answer:
    """A late correction that only removes a value fires a late trigger; an empty window retracts its last pane."""
    sums: dict[tuple[str, int], int] = {}
    for reading in readings:
        place = reading.key, int(number(reading))
        sums[place] = sums.get(place, 0) + reading.value
    counts: dict[tuple[str, int], int] = {}
    for (name, minute), total in sums.items():
        counts[name, minute // 5] = counts.get((name, minute // 5), 0) + (total % 2 == 0)
    for (name, five), count in counts.items():
        if count:
            yield KV(name, count), minutes(5 * five, 5 * five + 5)


JOBS = (
    sessions_that_come_apart,
    user_defined_windows_that_come_apart,
    a_window_that_becomes_empty,
    parts_that_have_expired,
    parts_with_the_bounds_of_a_pane_that_is_current,
)
