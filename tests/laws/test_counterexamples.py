"""Where laws stop: the smallest cases outside of their side conditions.

Each case names the law whose condition it shows to be necessary.
"""

from __future__ import annotations

from datetime import timedelta

import flowalg_reference as reference
from flowalg_laws.laws.clocks import a_hold_prevents_late_panes
from flowalg_laws.laws.panes import (
    pane_timings_are_ordered,
    retracting_adds_only_retractions,
    the_last_accumulating_pane_is_the_batch_pane,
)
from flowalg_laws.laws.transforms import keys_are_independent
from flowalg_laws.laws.triggers import always_counts_to_one

from flowalg import (
    FOREVER,
    KV,
    Accumulation,
    Always,
    AtCount,
    AtPeriod,
    AtWatermark,
    Change,
    Count,
    FixedWindows,
    GlobalWindows,
    Mode,
    Repeat,
    SequenceOf,
    Sessions,
    Sum,
    Timeline,
    TimestampCombiner,
    Timing,
    WindowFn,
)
from tests.support.scores import POINTS, SCORES, Score, minute

TWO = Sessions(timedelta(minutes=2))


def test_a_wake_up_for_one_key_is_an_instant_for_the_others() -> None:
    """The panes of a key depend on its elements alone only at the same instants: a continuous engine wakes all keys.

    Both keys fire at a whole number of two minutes, and then go on to two more members, which are ready at once: one in
    each instant. The first element of ``b`` comes on a boundary and is emitted at 0; that of ``a`` at 1 wakes the
    engine at 2, where the window of ``b`` ends and closes. Alone, ``b`` is not evaluated before its second element, at
    3.
    """
    assert "every window is evaluated then" in keys_are_independent.condition
    end = AtWatermark()
    trigger = SequenceOf(AtPeriod(timedelta(minutes=2)), end, end)
    sums = POINTS.window(FixedWindows(timedelta(minutes=1)), trigger=trigger).combine_per_key(Sum())
    b, a = Score("b", 1, minute(0)), Score("a", 1, minute(0))

    def said(*others: Score) -> list[int]:
        timeline = Timeline[Score]().at(minute(0), b, watermark=minute(1)).at(minute(1), *others)
        run = reference.run(sums, {SCORES: timeline.at(minute(3), b)}, mode=Mode.CONTINUOUS)
        return [pane.value for pane in run.panes if pane.key == "b"]

    assert said() == [1, 2]
    assert said(a) == [1]


def test_an_expired_session_is_not_joined_again() -> None:
    """The theorem that streaming ends where batch begins needs that no merging window expired; nothing is dropped here.

    ``[0, 2)`` is emitted and freed in the instant in which it expires. The event at 1 would have joined it; its own
    window ``[1, 3)`` has not expired, so it starts another session, where the batch has one session ``[0, 3)``.
    """
    assert "expired" in the_last_accumulating_pane_is_the_batch_pane.condition
    sessions = POINTS.window(TWO, allowed_lateness=timedelta(minutes=15))
    first, second = Score("a", 1, minute(0)), Score("a", 1, minute(1))
    timeline = (
        Timeline[Score]().at(minute(20), first, watermark=minute(17)).at(minute(21), second).end(minute(22))
    )
    run = reference.run(sessions.combine_per_key(Sum()), {SCORES: timeline})
    spans = [(one.window.end - one.window.start) // 60_000_000 for one in run.panes]
    assert (spans, run.dropped) == ([2, 2], ())
    batch = reference.run_batch(sessions.combine_per_key(Sum()), {SCORES: [first, second]})
    assert [one.value for one in batch.panes] == [2]


def dropped_downstream(
    windows: WindowFn, mode: Accumulation, timestamp_combiner: TimestampCombiner, timeline: Timeline[Score]
) -> int:
    """The number of panes that a grouping without allowed lateness drops, behind one that fires at every element."""
    first = POINTS.window(
        windows,
        trigger=Repeat(AtCount(1)),
        accumulation=mode,
        allowed_lateness=FOREVER,
        timestamp_combiner=timestamp_combiner,
    ).combine_per_key(Sum())
    again = first.map(lambda pair: KV("all", pair.value))
    second = again.window(FixedWindows(timedelta(minutes=1)), allowed_lateness=timedelta(0)).combine_per_key(
        Count()
    )
    return len(reference.run(second, {SCORES: timeline}).dropped)


def test_an_accumulating_pane_may_carry_a_time_that_has_passed() -> None:
    """A hold does not cover emitted event times: the second pane repeats the earliest event time of the first."""
    assert "panes have the end of their window as event time" in a_hold_prevents_late_panes.condition
    timeline = (
        Timeline[Score]()
        .at(minute(0), Score("a", 1, minute(0)), watermark=minute(1))
        .at(minute(2), Score("a", 1, minute(1)))
    )
    earliest = TimestampCombiner.EARLIEST
    assert dropped_downstream(GlobalWindows(), Accumulation.ACCUMULATING, earliest, timeline) == 1
    assert dropped_downstream(GlobalWindows(), Accumulation.DISCARDING, earliest, timeline) == 0
    assert (
        dropped_downstream(
            GlobalWindows(), Accumulation.ACCUMULATING, TimestampCombiner.END_OF_WINDOW, timeline
        )
        == 0
    )


def test_a_session_that_grows_takes_back_a_pane_whose_time_has_passed() -> None:
    """An event on time may extend a complete session, whose retraction downstream is late."""
    assert "not retracting" in a_hold_prevents_late_panes.condition
    timeline = (
        Timeline[Score]()
        .at(minute(2), Score("a", 1, minute(0)), watermark=minute(2))
        .at(minute(3), Score("a", 1, minute(2)), watermark=minute(3))
    )
    end = TimestampCombiner.END_OF_WINDOW
    assert dropped_downstream(TWO, Accumulation.RETRACTING, end, timeline) == 1
    assert dropped_downstream(TWO, Accumulation.ACCUMULATING, end, timeline) == 0


def test_always_is_no_count_of_one_inside_a_sequence() -> None:
    """``Always`` differs from ``AtCount(1)`` in a sequence: it fires, and closes the window, without changes."""
    assert "the whole trigger" in always_counts_to_one.condition
    one = Score("a", 1, minute(0))
    timeline = Timeline[Score]().at(minute(0), one).at(minute(1)).at(minute(2), one)
    panes = {}
    for then in (Always(), AtCount(1)):
        summed = POINTS.window(GlobalWindows(), trigger=SequenceOf(AtCount(1), then)).combine_per_key(Sum())
        run = reference.run(summed, {SCORES: timeline})
        panes[then] = ([pane.value for pane in run.panes], len(run.dropped))
    assert panes == {Always(): ([1], 1), AtCount(1): ([1, 2], 0)}


def test_a_merged_session_takes_back_more_than_accumulating_says_again() -> None:
    """When an element joins two emitted sessions, RETRACTING retracts both panes; ACCUMULATING only emits the sum."""
    assert "merge" in retracting_adds_only_retractions.condition
    gap = Sessions(timedelta(minutes=3))
    timeline = (
        Timeline[Score]()
        .at(minute(0), Score("a", 1, minute(0)), Score("a", 1, minute(4)))
        .at(minute(1), Score("a", 1, minute(2)))
    )
    values = {}
    for mode in (Accumulation.ACCUMULATING, Accumulation.RETRACTING):
        summed = POINTS.window(
            gap,
            trigger=SequenceOf(AtCount(1), AtCount(2)).repeat(),
            accumulation=mode,
            allowed_lateness=FOREVER,
        ).combine_per_key(Sum())
        run = reference.run(summed, {SCORES: timeline})
        values[mode] = [(pane.change, pane.value) for pane in run.panes]
    assert values[Accumulation.ACCUMULATING] == [(Change.VALUE, 1), (Change.VALUE, 1), (Change.VALUE, 3)]
    assert values[Accumulation.RETRACTING][2:4] == [(Change.RETRACTION, 1), (Change.RETRACTION, 1)]


def test_a_session_that_grows_is_early_again() -> None:
    """A session that grows beyond the watermark is early again: timing starts again with its bounds."""
    assert "merge" in pane_timings_are_ordered.condition
    timeline = (
        Timeline[Score]()
        .at(minute(2), Score("a", 1, minute(0)), watermark=minute(2))
        .at(minute(3), Score("a", 1, minute(2)))
    )
    summed = POINTS.window(TWO, trigger=Repeat(AtCount(1))).combine_per_key(Sum())
    timings = [(pane.timing, pane.index) for pane in reference.run(summed, {SCORES: timeline}).panes]
    assert timings == [(Timing.ON_TIME, 0), (Timing.EARLY, 0)]
