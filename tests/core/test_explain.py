"""Explanations of why a pane was emitted and why a window has no pane, compared with what runs do."""

from __future__ import annotations

from datetime import timedelta

import flowalg_reference as reference
import games
import pytest
from attrs import evolve
from flowalg_reference import AwaitedCondition, Cause, Condition, Reason, explain_when, why_not
from hypothesis import given
from hypothesis import strategies as st

from flowalg import (
    GLOBAL_WINDOW,
    KV,
    AfterDelay,
    ArgumentError,
    AtCount,
    AtElement,
    AtMeasure,
    AtSignal,
    AtWatermark,
    Count,
    FixedWindows,
    GlobalWindows,
    Mode,
    MonotonicTimestamps,
    Or,
    PCollection,
    Repeat,
    Run,
    Sessions,
    Sum,
    Timeline,
    WatermarkPolicy,
    Window,
    event_time,
    processing_time,
)
from flowalg.elementwise.functions import describe_function
from tests.support.generated_runs import runs
from tests.support.scores import POINTS, SCORES, Score, minute


def window(start: float, end: float) -> Window:
    """The window between two minutes after noon."""
    return Window(event_time(minute(start)), event_time(minute(end)))


@given(runs())
def test_a_pane_came_because_a_clause_held_or_because_its_window_ended(
    run: reference.ReferenceRun[object],
) -> None:
    """Every pane is explained by a satisfied condition or by the end of its window, at the clocks of the pane."""
    for pane in run.panes:
        found = explain_when(run, pane)
        assert (found.cause is Cause.FIRED) == any(one.condition.satisfied for one in found.conditions)
        if found.last_evaluated is not None:
            assert found.last_evaluated <= pane.processing_time
        assert pane.window == found.pane.window
        assert str(found).count("\n") >= 2


@given(runs(), st.data())
def test_what_waits_is_waiting_for_something(
    run: reference.ReferenceRun[object], data: st.DataObject
) -> None:
    """A window that waits has an unsatisfied condition at any time of any run."""
    times = sorted({one.processing_time for one in run.watermarks})
    at = data.draw(st.sampled_from(times))
    for pane in run.panes[:5]:
        found = why_not(run, explain_when(run, pane).key, pane.window, at=at.datetime)
        later = pane.processing_time > at
        assert later or found.reason is not Reason.NO_ELEMENTS
        if found.reason is Reason.WAITING:
            assert found.conditions
        assert all(one.processing_time <= at for one in found.panes)
        assert str(found)


@given(runs(), st.data())
def test_what_is_due_comes_out_when_it_is_due(
    run: reference.ReferenceRun[object], data: st.DataObject
) -> None:
    """A waiting window with a deadline has a pane at that time, if no element arrives before."""
    if run.spec.mode is Mode.MICRO_BATCH or not run.panes:
        return
    pane = data.draw(st.sampled_from(run.panes))
    key = explain_when(run, pane).key
    at = data.draw(st.sampled_from(sorted({one.processing_time for one in run.watermarks}))).datetime
    found = why_not(run, key, pane.window, at=at)
    if found.next_deadline is None or found.reason is not Reason.WAITING:
        return
    cut = {
        name: Timeline(tuple(one for one in timeline if one.processing_time <= processing_time(at)))
        for name, timeline in run.spec.timelines.items()
    }
    alone = evolve(run, spec=evolve(run.spec, timelines=cut))
    after = why_not(alone, key, pane.window, at=found.next_deadline.datetime)
    assert len(after.panes) > len(found.panes)


def totals(lateness: timedelta | None = None) -> PCollection[KV[str, int]]:
    """Sums per team and two minutes."""
    return POINTS.window(FixedWindows(timedelta(minutes=2)), allowed_lateness=lateness).combine_per_key(Sum())


def test_an_answer_reads_as_a_person_would_say_it() -> None:
    """An explanation as text has the satisfied conditions of an early pane and those still unsatisfied."""
    timeline = (
        Timeline[games.Score]()
        .at(minute(1.5), games.Score("a", 5, minute(0.5)), watermark=minute(0))
        .at(minute(3.5), games.Score("a", 3, minute(1)), watermark=minute(1))
    )
    run = reference.run(games.STANDINGS, {games.SCORES: timeline})
    (pane,) = run.panes
    assert str(explain_when(run, pane)).splitlines() == [
        "standings/combine_per_key(Sum, Count): the early pane 0 of 'a' in [2024-01-01T12:00:00Z, "
        "2024-01-01T12:02:00Z)",
        "was emitted at 2024-01-01T12:02:00Z, with the watermark at 2024-01-01T12:00:00Z,",
        "because the trigger fired:",
        "  member 1 of 2, repeated:",
        "      [x] due at 2024-01-01T12:02:00Z (the first element arrived at 2024-01-01T12:01:30Z): "
        "it is 2024-01-01T12:02:00Z",
        "  member 1 of 2, until:",
        "      [ ] the watermark passes the end of the window, 2024-01-01T12:02:00Z: it is at 2024-01-01T12:00:00Z",
        "At its previous evaluation, at 2024-01-01T12:01:30Z, it was waiting for:",
        "  member 1 of 2, repeated:",
        "      [ ] due at 2024-01-01T12:02:00Z (the first element arrived at 2024-01-01T12:01:30Z): "
        "it is 2024-01-01T12:01:30Z",
        "  member 1 of 2, until:",
        "      [ ] the watermark passes the end of the window, 2024-01-01T12:02:00Z: it is at 2024-01-01T12:00:00Z",
    ]
    assert str(why_not(run, "a", window(0, 2))).splitlines() == [
        "standings/combine_per_key(Sum, Count): 'a' in [2024-01-01T12:00:00Z, 2024-01-01T12:02:00Z), at "
        "2024-01-01T12:03:30Z, "
        "with the watermark at 2024-01-01T12:01:00Z:",
        "its trigger is waiting:",
        "  member 1 of 2, repeated:",
        "      [ ] due at 2024-01-01T12:04:00Z (the first element arrived at 2024-01-01T12:03:30Z): "
        "it is 2024-01-01T12:03:30Z",
        "  member 1 of 2, until:",
        "      [ ] the watermark passes the end of the window, 2024-01-01T12:02:00Z: it is at 2024-01-01T12:01:00Z",
        "Panes so far: 1, the last at 2024-01-01T12:02:00Z.",
        "Without new elements it fires at 2024-01-01T12:04:00Z.",
        "The watermark is 0:01:00 behind the end of the window. It is held by source 'scores', whose watermark is at "
        "2024-01-01T12:01:00Z.",
    ]


def test_what_a_window_shows_as_it_ends_has_no_clause() -> None:
    """A pane that expiry or the end of the input flushes has its own cause, and no condition."""
    never = POINTS.window(
        FixedWindows(timedelta(minutes=2)), trigger=AtCount(9), allowed_lateness=timedelta(minutes=1)
    ).combine_per_key(Sum())
    first = Timeline[Score]().at(minute(1), Score("a", 1, minute(0)), watermark=minute(0))
    expired = reference.run(never, {SCORES: first.at(minute(2), watermark=minute(3))})
    ended = reference.run(never, {SCORES: first.end(minute(2))})
    assert explain_when(expired, expired.panes[0]).cause is Cause.EXPIRED
    assert explain_when(ended, ended.panes[0]).cause is Cause.EXPIRED
    for_ever = POINTS.window(GlobalWindows(), trigger=AtCount(9)).combine_per_key(Sum())
    last = reference.run(for_ever, {SCORES: first.end(minute(2))})
    assert explain_when(last, last.panes[0]).cause is Cause.ENDED


def test_each_reason_is_told() -> None:
    """``why_not`` tells apart windows without elements, with drops only, waiting, without changes, and expired."""
    timeline = (
        Timeline[Score]()
        .at(minute(1), Score("a", 1, minute(1)), watermark=minute(1))
        .at(minute(2), watermark=minute(2))
        .at(minute(3), Score("b", 2, minute(3)), watermark=minute(6))
        .at(minute(4), Score("c", 3, minute(3)), Score("b", 3, minute(8)))
    )
    run = reference.run(totals(timedelta(minutes=1)), {SCORES: timeline})

    def reason(key: str, asked: Window, at: float) -> Reason:
        return why_not(run, key, asked, at=minute(at)).reason

    assert reason("a", window(0, 2), 1) is Reason.WAITING
    assert reason("a", window(0, 2), 2.5) is Reason.NO_CHANGES
    assert reason("a", window(0, 2), 3) is Reason.EXPIRED
    assert reason("a", window(2, 4), 9) is Reason.NO_ELEMENTS
    assert reason("c", window(2, 4), 3) is Reason.NO_ELEMENTS
    assert reason("c", window(2, 4), 4) is Reason.DROPPED
    assert len(why_not(run, "c", window(2, 4)).drops) == 1
    assert why_not(run, "b", window(2, 4)).open_windows == (window(8, 10),)


def test_a_window_that_takes_nothing_more_says_so() -> None:
    """A closed window is reported as such, with the number of elements dropped since."""
    once = POINTS.window(GlobalWindows(), trigger=AtCount(1)).combine_per_key(Sum())
    timeline = (
        Timeline[Score]().at(minute(1), Score("a", 1, minute(1))).at(minute(2), Score("a", 1, minute(1)))
    )
    found = why_not(reference.run(once, {SCORES: timeline}), "a", GLOBAL_WINDOW)
    assert (found.reason, len(found.panes), len(found.drops)) == (Reason.CLOSED, 1, 1)


def test_a_session_that_has_become_part_of_another_says_so() -> None:
    """A session that was merged is reported as such, with the window it was merged into."""
    sessions = POINTS.window(Sessions(timedelta(minutes=2))).combine_per_key(Sum())
    timeline = (
        Timeline[Score]()
        .at(minute(1), Score("a", 1, minute(1)), watermark=minute(0))
        .at(minute(2), Score("a", 1, minute(2)), watermark=minute(0))
    )
    found = why_not(reference.run(sessions, {SCORES: timeline}), "a", window(1, 3))
    assert (found.reason, found.open_windows) == (Reason.MERGED, (window(1, 4),))
    assert "Open windows of the key: [2024-01-01T12:01:00Z, 2024-01-01T12:04:00Z)." in str(found)


def test_the_partition_that_holds_the_watermark_is_named() -> None:
    """The partition that holds the watermark is the slowest one that is not idle."""
    records = [Score("a", 1, minute(1)), Score("b", 1, minute(5)), Score("c", 1, minute(4))]
    timeline = a_partition_each(records, MonotonicTimestamps())
    found = why_not(reference.run(totals(), {SCORES: timeline}), "b", window(4, 6))
    assert found.hold is not None
    assert (found.hold.source, found.hold.partition, found.hold.event_time) == (
        "scores",
        "a",
        event_time(minute(1)),
    )
    idle = a_partition_each(records, MonotonicTimestamps(idle_after=timedelta(minutes=2)))
    found = why_not(reference.run(totals(), {SCORES: idle}), "b", window(4, 6))
    assert found.hold is not None
    assert found.hold.partition == "c"


def a_partition_each(records: list[Score], policy: WatermarkPolicy) -> Timeline[Score]:
    """Records that are seen ten minutes later, with a partition for each team."""
    return Timeline.from_records(
        SCORES,
        sorted(records, key=lambda s: s.at),
        processing_time=lambda s: s.at + timedelta(minutes=10),
        watermark=policy,
        partition=lambda s: s.team,
        ends=False,
    )


def test_a_window_upstream_that_holds_the_watermark_is_named() -> None:
    """A window upstream that holds the watermark is named: a grouping holds it while it has pending changes."""
    first = POINTS.window(
        FixedWindows(timedelta(minutes=2)), trigger=Repeat(AfterDelay(timedelta(hours=1)))
    ).combine_per_key(Sum())
    second = first.window(FixedWindows(timedelta(minutes=4)), trigger=AtWatermark()).combine_per_key(Count())
    timeline = Timeline[Score]().at(minute(1), Score("a", 1, minute(1)), Score("a", 1, minute(3)))
    early = reference.run(
        second, {SCORES: timeline.at(minute(70), Score("a", 2, minute(3)), watermark=minute(9))}
    )
    found = why_not(early, "a", window(0, 4))
    assert found.hold is not None
    assert found.hold.window == window(2, 4)
    assert "'a' in [2024-01-01T12:02:00Z, 2024-01-01T12:04:00Z) has pending changes" in str(found)


def test_a_percentile_and_a_quantity_tell_how_far_they_are() -> None:
    """Each kind of condition describes its progress."""
    watching = POINTS.window(
        FixedWindows(timedelta(minutes=2)),
        trigger=Or(AtCount(3), AtMeasure(points, 10), AtElement(large), AtSignal("go"))
        & AtWatermark(percentile=0.9),
    ).combine_per_key(Sum())
    timeline = Timeline[Score]().at(minute(1), Score("a", 4, minute(1)), watermark=minute(0))
    (only,) = why_not(reference.run(watching, {SCORES: timeline}), "a", window(0, 2)).conditions
    assert isinstance(only, AwaitedCondition)
    assert [line.strip() for line in only.lines()] == [
        "[ ] all of",
        "[ ] any of",
        "[ ] elements: 1 of 3",
        f"[ ] {describe_function(points)} adds up: 4 of 10",
        f"[ ] an element satisfies {describe_function(large)}: none has",
        "[ ] the signal 'go': not given",
        "[ ] the 0.9 watermark passes the end of the window, 2024-01-01T12:02:00Z: it is at 2024-01-01T12:00:00Z",
    ]
    assert all(isinstance(one, Condition) for one in only.condition.parts)


def points(value: int) -> int:
    """The amount that a measure adds up."""
    return value


def large(value: int) -> bool:
    """The condition that a predicate waits for."""
    return value > 99


def test_bad_questions_are_refused() -> None:
    """Panes of other runs, invalid windows and keys, and times before the first instant are errors."""
    timeline = Timeline[Score]().at(minute(1), Score("a", 1, minute(1))).end(minute(2))
    run = reference.run(totals(), {SCORES: timeline})
    (pane,) = run.panes
    with pytest.raises(ArgumentError, match="pane must be one of the panes of the run; got .*"):
        explain_when(run, evolve(pane, event_time=event_time(minute(0))))
    with pytest.raises(ArgumentError, match="run must be a run of the reference interpreter; got .*"):
        explain_when(Run(run.panes, ()), pane)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    with pytest.raises(ArgumentError, match=r"key must be hashable; got \['a'\]"):
        why_not(run, ["a"], window(0, 2))
    with pytest.raises(ArgumentError, match="at must be at or after an instant of the run; got .*"):
        why_not(run, "a", window(0, 2), at=minute(0))
