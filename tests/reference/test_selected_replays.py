"""An explanation from the elements that affect a window equals the explanation from a replay of all elements."""

from __future__ import annotations

from datetime import timedelta

import flowalg_reference as reference
import pytest
from flowalg_laws.kit.interpreters import apply_windowing
from flowalg_laws.kit.readings import READINGS, VALUES, Reading
from flowalg_laws.strategies import (
    free_timelines,
    partitioned_timelines,
    timelines,
    windowing_strategies,
)
from flowalg_laws.strategies.pipelines import sum_values
from flowalg_reference import Explanation, Reason, ReferenceRun, WhyNot, explain_when, why_not
from flowalg_reference.debugging.explain_window import explain_all_keys, explain_key
from flowalg_reference.debugging.pane_bounds import find_pane_bounds
from flowalg_reference.debugging.recorded_runs import history_of, recording_of
from flowalg_reference.debugging.recording import record
from flowalg_reference.debugging.selection import NotSeparableError, separable_grouping
from flowalg_reference.debugging.why_not import explain_missing
from hypothesis import event, given, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from flowalg import (
    KV,
    AtCount,
    AtPeriod,
    AtWatermark,
    FixedWindows,
    Mode,
    PCollection,
    ProcessingTime,
    Sum,
    Timeline,
    Window,
    event_time,
    processing_time,
)
from flowalg.data.time import EventTime
from flowalg.triggers import AfterDelay, Trigger
from tests.support.generated_runs import run_reference, runs, sums
from tests.support.scores import POINTS, SCORES, Score, minute
from tests.support.step_pairs import Inputs, any_windows

MINUTE = 60_000_000


def separable_runs() -> SearchStrategy[ReferenceRun[object]]:
    """Returns runs of a sum in any windows, over timelines whose watermark often advances without elements of a key."""
    strategies = windowing_strategies(windows=any_windows())
    pipelines = strategies.map(lambda strategy: sum_values(apply_windowing(VALUES, strategy)))
    records = partitioned_timelines(READINGS) | timelines(READINGS) | free_timelines()
    inputs = st.builds(Inputs.of_timelines, records, st.just(Timeline[Reading]()))
    return (
        st.builds(run_reference, pipelines, inputs, st.sampled_from(Mode))
        .filter(bool)
        .map(lambda runs: runs[0])
    )


def explain_by_whole_run(
    run: ReferenceRun[object], key: object, window: Window, until: ProcessingTime | None
) -> tuple[Explanation[object] | WhyNot, ...]:
    """Returns the explanations of a window of a key from replays of all elements."""
    panes = [
        explanation
        for pane in run.panes
        if pane.window == window and (until is None or pane.processing_time <= until)
        for explanation in [explain_when(run, pane)]
        if explanation.key == key
    ]
    if until is None and panes:
        return tuple(panes)
    root, history = run.spec.pipeline.node, history_of(run.spec)
    return (
        *panes,
        explain_missing(root, history, record(root, run.spec.mode, history, until), key, window),
    )


@given(runs() | sums())
def test_a_recording_has_the_panes_of_the_run(run: ReferenceRun[object]) -> None:
    """A replay of all elements emits the panes of the run."""
    assert recording_of(run.spec).panes == run.panes
    assert recording_of(run.spec).panes_of_run == len(run.panes)


@settings(max_examples=5 * settings().max_examples)
@given(runs() | separable_runs() | separable_runs(), st.data())
def test_explanations_of_a_key_do_not_depend_on_the_selection(
    run: ReferenceRun[object], data: st.DataObject
) -> None:
    """Explanations from selected elements are those from all elements, for any key, window and time."""
    root, mode, history = run.spec.pipeline.node, run.spec.mode, history_of(run.spec)
    if separable_grouping(root) is None:
        event("not separable")
        return
    evaluated = [(evaluation.key, evaluation.window) for evaluation in recording_of(run.spec).evaluations]
    start = data.draw(st.integers(0, 30)) * MINUTE + int(run.watermarks[0].processing_time)
    other = Window(EventTime(start), EventTime(start + data.draw(st.integers(1, 9)) * MINUTE))
    key, window = data.draw(st.sampled_from([*dict.fromkeys(evaluated), ("a", other), ("b", other)]))
    times = sorted({reading.processing_time for reading in run.watermarks})
    later = st.builds(
        lambda time, gap: ProcessingTime(time + gap * MINUTE // 2), st.sampled_from(times), st.integers(0, 9)
    )
    until = data.draw(st.none() | later)
    try:
        explanations = explain_key(root, mode, history, key, window, until)
    except NotSeparableError:
        event("depends on the deadlines of other keys")
        return
    event("separable")
    expected = explain_by_whole_run(run, key, window, until)
    assert explanations == expected
    assert list(map(str, explanations)) == list(map(str, expected))


@settings(max_examples=5 * settings().max_examples)
@given(runs() | separable_runs() | separable_runs(), st.data())
def test_explanations_of_all_keys_do_not_depend_on_the_selection(
    run: ReferenceRun[object], data: st.DataObject
) -> None:
    """Explanations of a window of all keys from selected elements are those from all elements, in the same order."""
    root, mode, history = run.spec.pipeline.node, run.spec.mode, history_of(run.spec)
    if separable_grouping(root) is None or not run.panes:
        return
    window = data.draw(st.sampled_from([pane.window for pane in run.panes]))
    until = data.draw(st.none() | st.sampled_from([reading.processing_time for reading in run.watermarks]))
    try:
        explanations = explain_all_keys(root, mode, history, window, until)
    except NotSeparableError:
        return
    panes = [
        pane
        for pane in run.panes
        if pane.window == window and (until is None or pane.processing_time <= until)
    ]
    assert list(explanations) == [explain_when(run, pane) for pane in panes]


@settings(max_examples=3 * settings().max_examples)
@given(separable_runs())
def test_the_bounds_of_panes_are_those_of_the_run(run: ReferenceRun[object]) -> None:
    """The first and the last window with a pane are found without a replay of the other windows."""
    windows = sorted({pane.window for pane in run.panes})
    try:
        bounds = find_pane_bounds(run.spec.pipeline.node, run.spec.mode, history_of(run.spec))
    except NotSeparableError:
        return
    assert bounds == ((windows[0], windows[-1]) if windows else None)


def delayed(then: Trigger) -> PCollection[KV[str, int]]:
    """Returns sums in two minutes that fire five minutes after the first element, and then as a trigger says."""
    trigger = AfterDelay(timedelta(minutes=5)) >> then
    return POINTS.window(FixedWindows(timedelta(minutes=2)), trigger=trigger).combine_per_key(Sum())


def test_the_last_deadline_of_another_key_is_the_time_of_an_explanation() -> None:
    """Without a pane, the clocks are those of the last deadline of any key, although its elements are not selected."""
    timeline = (
        Timeline[Score]().at(minute(1), Score("a", 1, minute(1))).at(minute(2), Score("b", 1, minute(1)))
    )
    run = reference.run(delayed(AtCount(9)), {SCORES: timeline})
    spec, window = run.spec, Window(event_time(minute(0)), event_time(minute(2)))
    at = {processing_time(minute(6.5)): 6, processing_time(minute(9)): 7, processing_time(minute(5)): 2}
    for until, expected in at.items():
        (explanation,) = explain_key(spec.pipeline.node, spec.mode, history_of(spec), "b", window, until)[-1:]
        assert isinstance(explanation, WhyNot)
        assert explanation.processing_time == processing_time(minute(expected))


def test_a_window_that_is_ready_again_depends_on_all_keys() -> None:
    """A window that is ready again fires at the deadline of another key, so its key is not replayed alone."""
    trigger = AtWatermark() >> AtWatermark() >> AfterDelay(timedelta(minutes=1))
    pipeline = POINTS.window(FixedWindows(timedelta(minutes=2)), trigger=trigger).combine_per_key(Sum())
    timeline = (
        Timeline[Score]()
        .at(minute(1), Score("a", 1, minute(1)), watermark=minute(3))
        .at(minute(9), Score("a", 1, minute(1)))
    )
    window = Window(event_time(minute(0)), event_time(minute(2)))
    run = reference.run(pipeline, {SCORES: timeline})
    with pytest.raises(NotSeparableError):
        explain_key(run.spec.pipeline.node, run.spec.mode, history_of(run.spec), "a", window, None)
    run = reference.run(pipeline, {SCORES: timeline}, mode=Mode.MICRO_BATCH)
    explanations = explain_key(run.spec.pipeline.node, run.spec.mode, history_of(run.spec), "a", window, None)
    assert explanations == explain_by_whole_run(run, "a", window, None)


def test_a_window_that_is_ready_again_after_the_last_instant_depends_on_all_keys() -> None:
    """A window that is ready again after its own last deadline is evaluated at the last deadline of another key."""
    timeline = (
        Timeline[Score]()
        .at(minute(1), Score("a", 1, minute(1)))
        .at(minute(2), Score("b", 1, minute(1)), watermark=minute(3))
    )
    run = reference.run(delayed(AtWatermark()), {SCORES: timeline})
    window = Window(event_time(minute(0)), event_time(minute(2)))
    root, history = run.spec.pipeline.node, history_of(run.spec)
    with pytest.raises(NotSeparableError):
        explain_key(root, run.spec.mode, history, "a", window, processing_time(minute(9)))
    explanation = why_not(run, "a", window, at=minute(9))
    assert (explanation.reason, explanation.processing_time) == (Reason.CLOSED, processing_time(minute(7)))


def test_a_timer_that_no_longer_holds_evaluates_nothing() -> None:
    """A window that fired before its deadline is not evaluated at the deadline of another key at the same time."""
    trigger = AtPeriod(timedelta(minutes=5)) | AtCount(2)
    pipeline = POINTS.window(FixedWindows(timedelta(minutes=20)), trigger=trigger.repeat()).combine_per_key(
        Sum()
    )
    score = {team: Score(team, 1, minute(1)) for team in "ab"}
    timeline = (
        Timeline[Score]()
        .at(minute(1), score["b"])
        .at(minute(2), score["a"])
        .at(minute(3), score["a"])
        .at(minute(6), score["a"], score["a"])
    )
    run = reference.run(pipeline, {SCORES: timeline})
    last = [pane for pane in run.panes if pane.key == "a"][-1]
    assert explain_when(run, last).last_evaluated == processing_time(minute(3))
    assert [pane.processing_time for pane in run.panes if pane.key == "b"] == [processing_time(minute(5))]
