"""Windows that grow and merge: what their triggers, their panes and their changes keep, by the reference.

Random pipelines seldom have a trigger whose state shows that it was restarted. Each test here names one rule of
SEMANTICS section 5, step 2, and section 6: in groupings of values that are never retracted, where the rows of windows
move, and of values that may be, where windows are regrouped from their parts.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

import pytest
from attrs import frozen
from flowalg_laws.kit.readings import READINGS, VALUES, Reading
from flowalg_laws.strategies.times import point
from flowalg_polars import PolarsStreaming
from flowalg_reference import Reference

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
    SequenceOf,
    Sessions,
    Sum,
    Timeline,
    Window,
)
from flowalg.data.time import EventTime
from flowalg.runs import Change
from flowalg.triggers import Trigger
from flowalg.windows import CustomWindows, MergedWindow, WindowFn
from flowalg.windows.strategy import Forever
from tests.support.scores import minute

MINUTE = timedelta(minutes=1)
GAP = Sessions(3 * MINUTE)

PLAIN = VALUES.map(lambda pair: KV("a", pair.value)).with_timestamps(lambda pair: minute(pair.value))
"""One key, whose values are the minutes of their event times."""

CORRECTED = (
    VALUES.window(GlobalWindows(), trigger=Repeat(AtCount(1)), accumulation=Accumulation.RETRACTING)
    .combine_per_key(Sum())
    .map(lambda pair: KV("a", pair.value))
    .with_timestamps(lambda pair: minute(pair.value))
)
"""The same of the sums of several keys: a further value of a key moves its sum to a later minute."""

EITHER = pytest.mark.parametrize("values", [PLAIN, CORRECTED], ids=["moved", "regrouped"])


@frozen
class At:
    """An instant: values by their keys, and the watermark after them, in minutes."""

    watermark: int
    values: Sequence[tuple[str, int]] = ()


def timeline_of(*instants: At) -> Timeline[Reading]:
    """Returns a timeline that goes on after some instants, a minute each."""
    timeline = Timeline[Reading]()
    for number, instant in enumerate(instants):
        records = [Reading(key, value, minute(value), point(number)) for key, value in instant.values]
        timeline = timeline.at(point(number), *records, watermark=minute(instant.watermark))
    return timeline


def panes_of(
    values: PCollection[KV[str, int]],
    trigger: Trigger,
    *instants: At,
    accumulation: Accumulation = Accumulation.ACCUMULATING,
    windows: WindowFn = GAP,
    lateness: timedelta | Forever = FOREVER,
) -> list[tuple[int, int, int, Change, bool]]:
    """Returns the panes of counts: instant, value, index, change, whether it is the last; they are the reference's."""
    counted = values.window(
        windows, trigger=trigger, accumulation=accumulation, allowed_lateness=lateness
    ).combine_per_key(Count())
    inputs = {READINGS: timeline_of(*instants)}
    step, expected = (engine.run(counted, inputs) for engine in (PolarsStreaming(), Reference()))
    assert step.panes == expected.panes
    return [
        (
            int((pane.processing_time.datetime - point(0)) / MINUTE),
            pane.value,
            pane.index,
            pane.change,
            pane.is_last,
        )
        for pane in step.panes
    ]


VALUE, RETRACTION = Change.VALUE, Change.RETRACTION


@EITHER
def test_a_window_that_grows_keeps_the_state_of_its_trigger(values: PCollection[KV[str, int]]) -> None:
    """An open window, and one that stays complete, counts on for its next pane; one that opens again does not."""
    early = SequenceOf(AtCount(1), Repeat(AtCount(3)))
    open_still = panes_of(values, early, At(0, [("k", 1)]), At(0, [("l", 2)]), At(0, [("m", 3)]))
    assert open_still == [(0, 1, 0, VALUE, False)]
    late = SequenceOf(AtWatermark(), Repeat(AtCount(2)))
    complete = panes_of(values, late, At(0, [("k", 1)]), At(9), At(9, [("l", 2)]), At(9, [("m", 3)]))
    assert complete == [(1, 1, 0, VALUE, False), (3, 3, 0, VALUE, False)]
    again = panes_of(values, late, At(0, [("k", 1)]), At(4), At(4, [("l", 3)]), At(9))
    assert again == [(1, 1, 0, VALUE, False), (3, 2, 0, VALUE, False)]


@EITHER
def test_a_window_whose_bounds_change_counts_its_panes_from_zero(values: PCollection[KV[str, int]]) -> None:
    """A window that grows is another one for its consumers: its panes begin at 0 and the last one is retracted."""
    panes = panes_of(
        values,
        Repeat(AtCount(1)),
        At(0, [("k", 1)]),
        At(0, [("l", 2)]),
        accumulation=Accumulation.RETRACTING,
    )
    assert panes == [(0, 1, 0, VALUE, False), (1, 1, 0, RETRACTION, False), (1, 2, 0, VALUE, False)]


def minute_or_ten(at: EventTime, key: object) -> list[Window]:
    """Returns the minute after an event time, and of the first minute ten."""
    del key
    minutes = 10 if at.datetime == minute(0) else 1
    return [Window(at, EventTime(at + minutes * MINUTE // timedelta(microseconds=1)))]


def first_two_of_three(windows: Sequence[Window]) -> list[MergedWindow]:
    """Merges the first two windows as soon as there are three: what arrives is in none of the two."""
    ordered = sorted(windows, key=lambda window: (window.start, window.end))
    groups = (
        [ordered[:2], *([one] for one in ordered[2:])] if len(ordered) > 2 else [[one] for one in ordered]
    )
    return [
        MergedWindow(Window(group[0].start, max(one.end for one in group)), tuple(group)) for group in groups
    ]


DISTANT = CustomWindows("distant", minute_or_ten, first_two_of_three)


def replaced_panes(
    values: PCollection[KV[str, int]], *instants: At
) -> list[tuple[int, int, int, Change, bool]]:
    """Returns the panes that follow those of the first two windows, in the instant in which these change."""
    panes = panes_of(
        values,
        Repeat(AtWatermark()),
        *instants,
        accumulation=Accumulation.RETRACTING,
        windows=DISTANT,
    )
    return panes[2:]


@EITHER
def test_windows_that_merge_without_a_new_element_have_changed(values: PCollection[KV[str, int]]) -> None:
    """If an element elsewhere makes two windows merge, their panes are retracted and replaced."""
    panes = replaced_panes(values, At(0, [("k", 1), ("l", 5)]), At(30), At(30, [("m", 12)]))
    assert panes == [
        (2, 1, 0, RETRACTION, False),
        (2, 1, 0, RETRACTION, False),
        (2, 2, 0, VALUE, False),
        (2, 1, 0, VALUE, False),
    ]


@EITHER
def test_a_merged_window_with_the_bounds_of_a_part_counts_on(values: PCollection[KV[str, int]]) -> None:
    """Panes are known by key, bounds and index, so a window that absorbs another and keeps its bounds counts on."""
    panes = replaced_panes(values, At(0, [("k", 0), ("l", 5)]), At(30), At(30, [("m", 12)]))
    assert panes == [
        (2, 1, 0, RETRACTION, False),
        (2, 1, 0, RETRACTION, False),
        (2, 2, 1, VALUE, False),
        (2, 1, 0, VALUE, False),
    ]


def test_a_window_that_a_part_of_another_joins_has_changed() -> None:
    """If a window comes apart and a part joins another one, without an element of either, the other one is replaced."""
    panes = replaced_panes(CORRECTED, At(0, [("k", 1), ("l", 5), ("m", 12)]), At(30), At(30, [("k", 19)]))
    assert panes == [
        (2, 2, 0, RETRACTION, False),
        (2, 1, 0, RETRACTION, False),
        (2, 2, 0, VALUE, False),
        (2, 1, 0, VALUE, False),
    ]


def test_a_window_that_comes_apart_and_expires_has_a_last_retraction() -> None:
    """The retraction of a window that comes apart is its last pane if its bounds have expired and none come again."""
    panes = panes_of(
        CORRECTED,
        Repeat(AtCount(1)),
        At(0, [("k", 1), ("l", 3)]),
        At(30, [("l", 5)]),
        accumulation=Accumulation.RETRACTING,
        lateness=timedelta(0),
    )
    assert panes == [
        (0, 2, 0, VALUE, False),
        (1, 1, 0, VALUE, True),
        (1, 2, 0, RETRACTION, True),
        (1, 1, 0, VALUE, True),
    ]


def test_expired_elements_that_arrive_together_are_dropped_from_their_own_windows() -> None:
    """A drop has the window of its element, so expired sessions do not merge with each other."""
    counted = PLAIN.window(GAP, allowed_lateness=timedelta(0)).combine_per_key(Count())
    inputs = {READINGS: timeline_of(At(30), At(30, [("k", 1), ("l", 2)]))}
    dropped = PolarsStreaming().run(counted, inputs).dropped
    windows = {
        (drop.window.start.datetime, drop.window.end.datetime): drop.count for drop in dropped if drop.window
    }
    assert windows == {(minute(1), minute(4)): 1, (minute(2), minute(5)): 1}
