"""Counterexamples to laws: the smallest cases outside of their side conditions.

Each case names the law whose condition it shows to be necessary.
"""

from __future__ import annotations

from datetime import timedelta

import flowalg_reference as reference
from flowalg_laws.kit.readings import Reading
from flowalg_laws.laws.clocks import (
    OTHERS,
    a_hold_prevents_late_panes,
    the_own_grouping_of_an_idle_source_goes_on,
)
from flowalg_laws.laws.panes import (
    pane_timings_are_ordered,
    retracting_adds_only_retractions,
    the_last_accumulating_pane_is_the_batch_pane,
)
from flowalg_laws.laws.transforms import keys_are_independent
from flowalg_laws.laws.triggers import (
    Small,
    a_count_is_a_value,
    a_measure_is_a_value,
    a_measure_is_user_defined,
    always_counts_to_one,
    an_element_is_a_greatest_value,
)

from flowalg import (
    FOREVER,
    KV,
    Accumulation,
    AtCount,
    AtPeriod,
    AtWatermark,
    Count,
    FixedWindows,
    GlobalWindows,
    Mode,
    Repeat,
    SequenceOf,
    Sessions,
    Sum,
    Timeline,
    flatten,
)
from flowalg.runs import Change, Timing
from flowalg.triggers import Always
from flowalg.windows import TimestampCombiner, WindowFn
from tests.support.scores import POINTS, SCORES, Score, minute

TWO = Sessions(timedelta(minutes=2))


def test_a_timer_of_one_key_is_an_instant_for_other_keys() -> None:
    """The panes of a key depend only on its elements if the instants are the same: a timer evaluates all keys.

    The trigger of both keys is ready at each multiple of two minutes, and then at the next two instants. The first
    element of ``b`` arrives at 0 and is emitted at once. The element of ``a`` arrives at 1 and sets a timer at 2, where
    the window of ``b`` is evaluated too, fires and closes. Without ``a``, the window of ``b`` is next evaluated at 3,
    with its second element.
    """
    assert "every window is evaluated then" in keys_are_independent.condition
    end = AtWatermark()
    trigger = SequenceOf(AtPeriod(timedelta(minutes=2)), end, end)
    sums = POINTS.window(FixedWindows(timedelta(minutes=1)), trigger=trigger).combine_per_key(Sum())
    b, a = Score("b", 1, minute(0)), Score("a", 1, minute(0))

    def values_of_b(*others: Score) -> list[int]:
        timeline = Timeline[Score]().at(minute(0), b, watermark=minute(1)).at(minute(1), *others)
        run = reference.run(sums, {SCORES: timeline.at(minute(3), b)}, mode=Mode.CONTINUOUS)
        return [pane.value for pane in run.panes if pane.key == "b"]

    assert values_of_b() == [1, 2]
    assert values_of_b(a) == [1]


def test_an_element_does_not_join_an_expired_session() -> None:
    """A stream ends with the panes of the batch only if no merging window expired; nothing is dropped here.

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
    spans = [(pane.window.end - pane.window.start) // 60_000_000 for pane in run.panes]
    assert (spans, run.dropped) == ([2, 2], ())
    batch = reference.run_batch(sessions.combine_per_key(Sum()), {SCORES: [first, second]})
    assert [pane.value for pane in batch.panes] == [2]


def count_drops_downstream(
    windows: WindowFn, mode: Accumulation, timestamp_combiner: TimestampCombiner, timeline: Timeline[Score]
) -> int:
    """Returns the number of panes that a second grouping without allowed lateness drops."""
    first = POINTS.window(
        windows,
        trigger=Repeat(AtCount(1)),
        accumulation=mode,
        allowed_lateness=FOREVER,
        timestamp_combiner=timestamp_combiner,
    ).combine_per_key(Sum())
    rekeyed = first.map(lambda pair: KV("all", pair.value))
    second = rekeyed.window(
        FixedWindows(timedelta(minutes=1)), allowed_lateness=timedelta(0)
    ).combine_per_key(Count())
    return len(reference.run(second, {SCORES: timeline}).dropped)


def test_an_accumulating_pane_may_have_a_late_event_time() -> None:
    """A hold does not cover emitted event times: the second pane repeats the earliest event time of the first."""
    assert "panes have the end of their window as event time" in a_hold_prevents_late_panes.condition
    timeline = (
        Timeline[Score]()
        .at(minute(0), Score("a", 1, minute(0)), watermark=minute(1))
        .at(minute(2), Score("a", 1, minute(1)))
    )
    earliest = TimestampCombiner.EARLIEST
    assert count_drops_downstream(GlobalWindows(), Accumulation.ACCUMULATING, earliest, timeline) == 1
    assert count_drops_downstream(GlobalWindows(), Accumulation.DISCARDING, earliest, timeline) == 0
    assert (
        count_drops_downstream(
            GlobalWindows(), Accumulation.ACCUMULATING, TimestampCombiner.END_OF_WINDOW, timeline
        )
        == 0
    )


def test_an_extended_session_may_have_a_late_retraction() -> None:
    """An element on time may extend a complete session, whose retraction is late downstream."""
    assert "not retracting" in a_hold_prevents_late_panes.condition
    timeline = (
        Timeline[Score]()
        .at(minute(2), Score("a", 1, minute(0)), watermark=minute(2))
        .at(minute(3), Score("a", 1, minute(2)), watermark=minute(3))
    )
    end = TimestampCombiner.END_OF_WINDOW
    assert count_drops_downstream(TWO, Accumulation.RETRACTING, end, timeline) == 1
    assert count_drops_downstream(TWO, Accumulation.ACCUMULATING, end, timeline) == 0


def test_always_differs_from_a_count_of_1_inside_a_sequence() -> None:
    """In a sequence ``Always`` differs from ``AtCount(1)``: it fires, and closes the window, without changes."""
    assert "the whole trigger" in always_counts_to_one.condition
    score = Score("a", 1, minute(0))
    timeline = Timeline[Score]().at(minute(0), score).at(minute(1)).at(minute(2), score)
    panes = {}
    for then in (Always(), AtCount(1)):
        summed = POINTS.window(GlobalWindows(), trigger=SequenceOf(AtCount(1), then)).combine_per_key(Sum())
        run = reference.run(summed, {SCORES: timeline})
        panes[then] = ([pane.value for pane in run.panes], len(run.dropped))
    assert panes == {Always(): ([1], 1), AtCount(1): ([1, 2], 0)}


def test_a_retraction_is_a_change_and_no_value() -> None:
    """``AtCount``, ``AtElement`` and ``AtMeasure`` fire at a retraction; a combined value does not."""
    laws = (
        a_count_is_a_value,
        an_element_is_a_greatest_value,
        a_measure_is_a_value,
        a_measure_is_user_defined,
    )
    assert all("nothing upstream retracts" in law.condition for law in laws)
    even = POINTS.window(
        GlobalWindows(), trigger=AtCount(1).repeat(), accumulation=Accumulation.RETRACTING
    ).combine_per_key(Sum())
    timeline = Timeline[Score]()
    for position, points in enumerate((2, 1)):  # an even sum, which is retracted without a new one
        timeline = timeline.at(minute(position), Score("a", points, minute(0)))
    fired = {}
    for law in laws:
        sides = law(Small(1))
        assert sides is not None
        assert not sides.of_corrections
        for side, trigger in (("left", sides.left), ("right", sides.right)):
            counted = even.filter(lambda pair: pair.value % 2 == 0).window(GlobalWindows(), trigger=trigger)
            panes = reference.run(counted.combine_per_key(Count()), {SCORES: timeline}).panes
            fired[law.name, side] = [pane.change for pane in panes]
    assert fired == {
        (law.name, side): [Change.VALUE, Change.RETRACTION][: 2 if side == "left" else 1]
        for law in laws
        for side in ("left", "right")
    }


def test_a_merged_session_retracts_more_panes_than_accumulating_repeats() -> None:
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


def test_a_session_that_is_extended_is_early_again() -> None:
    """A session that is extended beyond the watermark is early again: timing is relative to its current end."""
    assert "merge" in pane_timings_are_ordered.condition
    timeline = (
        Timeline[Score]()
        .at(minute(2), Score("a", 1, minute(0)), watermark=minute(2))
        .at(minute(3), Score("a", 1, minute(2)))
    )
    summed = POINTS.window(
        TWO, trigger=Repeat(AtCount(1)), accumulation=Accumulation.ACCUMULATING
    ).combine_per_key(Sum())
    timings = [(pane.timing, pane.index) for pane in reference.run(summed, {SCORES: timeline}).panes]
    assert timings == [(Timing.ON_TIME, 0), (Timing.EARLY, 0)]


def test_the_own_grouping_of_a_source_waits_for_itself_alone() -> None:
    """A source that is not idle holds a union back, and not the groupings of other sources."""
    assert "idle from the start" in the_own_grouping_of_an_idle_source_goes_on.condition
    others = OTHERS.key_by(lambda reading: f"other {reading.key}").map_values(lambda reading: reading.value)
    windows = FixedWindows(timedelta(minutes=1))
    inputs = {
        SCORES: Timeline[Score]().at(minute(0), Score("a", 1, minute(0)), watermark=minute(5)),
        OTHERS: Timeline[Reading]().at(minute(0), Reading("a", 2, minute(0), minute(0))),
    }
    together = flatten(POINTS, others).window(windows).combine_per_key(Sum())
    apart = flatten(*(collection.window(windows).combine_per_key(Sum()) for collection in (POINTS, others)))
    assert not reference.run(together, inputs).panes
    assert [(pane.key, pane.value) for pane in reference.run(apart, inputs).panes] == [("a", 1)]
