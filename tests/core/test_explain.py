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
    FOREVER,
    KV,
    AtCount,
    AtWatermark,
    Count,
    FixedWindows,
    GlobalWindows,
    Mode,
    MonotonicTimestamps,
    PCollection,
    Repeat,
    Run,
    Sessions,
    Sum,
    Timeline,
    Window,
    event_time,
    processing_time,
)
from flowalg.data.errors import describe_function
from flowalg.errors import ArgumentError
from flowalg.triggers import AfterDelay, AfterInactivity, AtElement, AtMeasure, AtSignal, Or
from flowalg.watermarks import WatermarkPolicy
from flowalg.windows import GLOBAL_WINDOW
from tests.support.generated_runs import runs
from tests.support.scores import POINTS, SCORES, Score, minute


def window(start: float, end: float) -> Window:
    """Returns the window between two minutes after noon."""
    return Window(event_time(minute(start)), event_time(minute(end)))


@pytest.mark.long
@given(runs())
def test_a_pane_is_explained_by_a_condition_or_its_window_end(
    run: reference.ReferenceRun[object],
) -> None:
    """Every pane is explained by a satisfied condition or by the end of its window, at the clocks of the pane."""
    for pane in run.panes:
        explanation = explain_when(run, pane)
        assert (explanation.cause is Cause.FIRED) == any(
            condition.condition.satisfied for condition in explanation.conditions
        )
        if explanation.last_evaluated is not None:
            assert explanation.last_evaluated <= pane.processing_time
        assert pane.window == explanation.pane.window
        assert str(explanation).count("\n") >= 2


@given(runs(), st.data())
def test_a_waiting_window_has_an_unsatisfied_condition(
    run: reference.ReferenceRun[object], data: st.DataObject
) -> None:
    """A window that waits has an unsatisfied condition, at any time of any run."""
    times = sorted({evaluation.processing_time for evaluation in run.watermarks})
    at = data.draw(st.sampled_from(times))
    for pane in run.panes[:5]:
        explanation = why_not(run, explain_when(run, pane).key, pane.window, at=at.datetime)
        later = pane.processing_time > at
        assert later or explanation.reason is not Reason.NO_ELEMENTS
        if explanation.reason is Reason.WAITING:
            assert explanation.conditions
        assert all(pane.processing_time <= at for pane in explanation.panes)
        assert str(explanation)


@given(runs(), st.data())
def test_a_waiting_window_fires_at_its_deadline(
    run: reference.ReferenceRun[object], data: st.DataObject
) -> None:
    """A window with a deadline fires at that time if no element arrives before: it has something to emit."""
    if run.spec.mode is Mode.MICRO_BATCH or not run.panes:
        return
    pane = data.draw(st.sampled_from(run.panes))
    key = explain_when(run, pane).key
    at = data.draw(
        st.sampled_from(sorted({evaluation.processing_time for evaluation in run.watermarks}))
    ).datetime
    explanation = why_not(run, key, pane.window, at=at)
    if explanation.next_deadline is None:
        return
    cut = {
        name: Timeline(
            tuple(instant for instant in timeline if instant.processing_time <= processing_time(at))
        )
        for name, timeline in run.spec.timelines.items()
    }
    with_deadline = evolve(run, spec=evolve(run.spec, timelines=cut))
    after = why_not(with_deadline, key, pane.window, at=explanation.next_deadline.datetime)
    assert len(after.panes) > len(explanation.panes)


def totals(lateness: timedelta | None = None) -> PCollection[KV[str, int]]:
    """Returns the sums of each team and two minutes."""
    return POINTS.window(FixedWindows(timedelta(minutes=2)), allowed_lateness=lateness).combine_per_key(Sum())


def test_an_explanation_as_text_lists_the_conditions() -> None:
    """The text of an explanation has the satisfied conditions of an early pane and the unsatisfied ones."""
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


def test_a_pane_at_the_end_of_its_window_has_no_condition() -> None:
    """A pane that is emitted at expiry or at the end of the input has its own cause, and no condition."""
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


def test_a_window_without_changes_has_no_deadline() -> None:
    """A trigger that waits for a window with nothing to emit fires without a pane, so ``why_not`` names no time."""
    totals = POINTS.window(
        GlobalWindows(), trigger=AfterInactivity(timedelta(minutes=2)).repeat(), allowed_lateness=FOREVER
    ).combine_per_key(Sum())
    timeline = Timeline[Score]().at(minute(0), Score("a", 5, minute(0)))
    waits, flushed = (
        why_not(reference.run(totals, {SCORES: scores}), "a", GLOBAL_WINDOW)
        for scores in (timeline, timeline.end(minute(1)))
    )
    assert (waits.reason, waits.next_deadline) == (Reason.WAITING, processing_time(minute(2)))
    assert (flushed.reason, flushed.next_deadline) == (Reason.NO_CHANGES, None)
    assert len(flushed.conditions) == 1


def test_why_not_distinguishes_the_reasons() -> None:
    """``why_not`` distinguishes windows without elements, with drops only, waiting, without changes, and expired."""
    timeline = (
        Timeline[Score]()
        .at(minute(1), Score("a", 1, minute(1)), watermark=minute(1))
        .at(minute(2), watermark=minute(2))
        .at(minute(3), Score("b", 2, minute(3)), watermark=minute(6))
        .at(minute(4), Score("c", 3, minute(3)), Score("b", 3, minute(8)))
    )
    run = reference.run(totals(timedelta(minutes=1)), {SCORES: timeline})

    def reason(key: str, missing: Window, at: float) -> Reason:
        return why_not(run, key, missing, at=minute(at)).reason

    assert reason("a", window(0, 2), 1) is Reason.WAITING
    assert reason("a", window(0, 2), 2.5) is Reason.NO_CHANGES
    assert reason("a", window(0, 2), 3) is Reason.EXPIRED
    assert reason("a", window(2, 4), 9) is Reason.NO_ELEMENTS
    assert reason("c", window(2, 4), 3) is Reason.NO_ELEMENTS
    assert reason("c", window(2, 4), 4) is Reason.DROPPED
    assert len(why_not(run, "c", window(2, 4)).drops) == 1
    assert why_not(run, "b", window(2, 4)).open_windows == (window(8, 10),)


def test_a_closed_window_is_reported_with_its_drops() -> None:
    """A closed window is reported as such, with the number of elements dropped since."""
    once = POINTS.window(GlobalWindows(), trigger=AtCount(1)).combine_per_key(Sum())
    timeline = (
        Timeline[Score]().at(minute(1), Score("a", 1, minute(1))).at(minute(2), Score("a", 1, minute(1)))
    )
    explanation = why_not(reference.run(once, {SCORES: timeline}), "a", GLOBAL_WINDOW)
    assert (explanation.reason, len(explanation.panes), len(explanation.drops)) == (Reason.CLOSED, 1, 1)


def test_a_merged_session_is_reported_with_its_successor() -> None:
    """A merged session is reported as such, with the window that it was merged into."""
    sessions = POINTS.window(Sessions(timedelta(minutes=2))).combine_per_key(Sum())
    timeline = (
        Timeline[Score]()
        .at(minute(1), Score("a", 1, minute(1)), watermark=minute(0))
        .at(minute(2), Score("a", 1, minute(2)), watermark=minute(0))
    )
    explanation = why_not(reference.run(sessions, {SCORES: timeline}), "a", window(1, 3))
    assert (explanation.reason, explanation.open_windows) == (Reason.MERGED, (window(1, 4),))
    assert "Open windows of the key: [2024-01-01T12:01:00Z, 2024-01-01T12:04:00Z)." in str(explanation)


def test_the_partition_that_holds_the_watermark_is_named() -> None:
    """The partition that holds the watermark is the slowest one that is not idle."""
    records = [Score("a", 1, minute(1)), Score("b", 1, minute(5)), Score("c", 1, minute(4))]
    timeline = partitions_by_team(records, MonotonicTimestamps())
    explanation = why_not(reference.run(totals(), {SCORES: timeline}), "b", window(4, 6))
    assert explanation.hold is not None
    assert (explanation.hold.source, explanation.hold.partition, explanation.hold.event_time) == (
        "scores",
        "a",
        event_time(minute(1)),
    )
    idle = partitions_by_team(records, MonotonicTimestamps(idle_after=timedelta(minutes=2)))
    explanation = why_not(reference.run(totals(), {SCORES: idle}), "b", window(4, 6))
    assert explanation.hold is not None
    assert explanation.hold.partition == "c"


def partitions_by_team(records: list[Score], policy: WatermarkPolicy) -> Timeline[Score]:
    """Returns a timeline of records that arrive ten minutes late, with a partition for each team."""
    return Timeline.from_records(
        SCORES,
        sorted(records, key=lambda s: s.at),
        processing_time=lambda s: s.at + timedelta(minutes=10),
        watermark=policy,
        partition=lambda s: s.team,
        ends=False,
    )


def test_a_window_upstream_that_holds_the_watermark_is_named() -> None:
    """A grouping upstream holds the watermark while it has pending changes, and its window is named."""
    first = POINTS.window(
        FixedWindows(timedelta(minutes=2)), trigger=Repeat(AfterDelay(timedelta(hours=1)))
    ).combine_per_key(Sum())
    second = first.window(FixedWindows(timedelta(minutes=4)), trigger=AtWatermark()).combine_per_key(Count())
    timeline = Timeline[Score]().at(minute(1), Score("a", 1, minute(1)), Score("a", 1, minute(3)))
    early = reference.run(
        second, {SCORES: timeline.at(minute(70), Score("a", 2, minute(3)), watermark=minute(9))}
    )
    explanation = why_not(early, "a", window(0, 4))
    assert explanation.hold is not None
    assert explanation.hold.window == window(2, 4)
    assert "'a' in [2024-01-01T12:02:00Z, 2024-01-01T12:04:00Z) has pending changes" in str(explanation)


def test_each_kind_of_condition_describes_its_progress() -> None:
    """A percentile watermark and a measured quantity are described with their current values."""
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
    assert all(isinstance(part, Condition) for part in only.condition.parts)


def points(value: int) -> int:
    """Returns the amount that the measure adds up."""
    return value


def large(value: int) -> bool:
    """Returns whether a value satisfies the trigger."""
    return value > 99


def test_invalid_arguments_of_explanations_are_errors() -> None:
    """Panes of other runs, invalid windows and keys, and times before the first instant are errors."""
    timeline = Timeline[Score]().at(minute(1), Score("a", 1, minute(1))).end(minute(2))
    run = reference.run(totals(), {SCORES: timeline})
    (pane,) = run.panes
    with pytest.raises(ArgumentError, match="output must be one of the panes or elements of the run; got .*"):
        explain_when(run, evolve(pane, event_time=event_time(minute(0))))
    with pytest.raises(ArgumentError, match="run must be a run of the reference interpreter; got .*"):
        explain_when(Run(run.panes, ()), pane)  # type: ignore[call-overload]  # pyright: ignore[reportArgumentType]
    with pytest.raises(ArgumentError, match=r"key must be hashable; got \['a'\]"):
        why_not(run, ["a"], window(0, 2))
    with pytest.raises(ArgumentError, match="at must be at or after an instant of the run; got .*"):
        why_not(run, "a", window(0, 2), at=minute(0))
