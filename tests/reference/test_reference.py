"""The reference interpreter compared with plain Python, and with the examples of the semantics.

All other interpreters are compared with the reference, so its own tests are simpler still.
"""

from __future__ import annotations

import json
from datetime import timedelta
from typing import TypeVar

import flowalg_reference as reference
import pytest
from flowalg_laws import READINGS
from flowalg_laws.strategies import (
    Reading,
)

from flowalg import (
    FOREVER,
    KV,
    Accumulation,
    AtCount,
    AtWatermark,
    Count,
    FixedWindows,
    GlobalWindows,
    Max,
    Pane,
    PCollection,
    Repeat,
    SequenceOf,
    Sessions,
    Sum,
    Timeline,
    flatten,
)
from flowalg.data.time import event_time
from flowalg.errors import (
    ArgumentError,
    ElementError,
    KeyedCollectionError,
    UnboundSourceError,
    UnsupportedError,
    UserFunctionError,
    ValueRangeError,
)
from flowalg.runs import DropReason, Timing
from flowalg.triggers import AfterDelay, Always, AtElement, AtMeasure, OnceTrigger, Trigger
from flowalg.windows import OnTimeBehavior
from tests.support.elements import bounded
from tests.support.scores import POINTS, SCORES, Score, minute

A = TypeVar("A")
TWO_MINUTES = FixedWindows(timedelta(minutes=2))


def summaries(run: reference.ReferenceRun[KV[str, int]]) -> list[tuple[str, int, Timing, int, bool]]:
    """Returns the key, value, timing, index and is_last of each pane."""
    return [(pane.key, pane.value, pane.timing, pane.index, pane.is_last) for pane in run.panes]


def test_a_window_is_complete_when_the_watermark_reaches_its_end() -> None:
    """A window ``[s, e)`` is complete when ``W >= e``, not a microsecond before (SEMANTICS section 4)."""
    totals = POINTS.window(TWO_MINUTES, allowed_lateness=FOREVER).combine_per_key(Sum())
    almost = Timeline[Score]().at(
        minute(1), Score("a", 1, minute(0)), watermark=minute(2) - timedelta(microseconds=1)
    )
    assert reference.run(totals, {SCORES: almost}).panes == ()
    at_the_end = Timeline[Score]().at(minute(1), Score("a", 1, minute(0)), watermark=minute(2))
    assert [pane.timing for pane in reference.run(totals, {SCORES: at_the_end}).panes] == [Timing.ON_TIME]


def test_an_element_is_late_by_the_watermark_before_its_instant() -> None:
    """An element is late by the watermark before its instant: clocks are read last (SEMANTICS section 4)."""
    totals = POINTS.window(TWO_MINUTES, allowed_lateness=timedelta(0)).combine_per_key(Sum())
    together = Timeline[Score]().at(minute(9), Score("a", 1, minute(0)), watermark=minute(9))
    run = reference.run(totals, {SCORES: together})
    assert (summaries(run), run.dropped) == ([("a", 1, Timing.ON_TIME, 0, True)], ())


def test_a_second_grouping_receives_the_panes_of_the_first() -> None:
    """A second grouping keeps the windows of the first, and its watermark waits for elements pending upstream."""
    totals = POINTS.window(TWO_MINUTES, allowed_lateness=FOREVER).combine_per_key(Sum())
    best = totals.map(lambda pane: KV("all", pane.value)).combine_per_key(Count())
    timeline = (
        Timeline[Score]()
        .at(minute(1), Score("a", 1, minute(0)), Score("b", 2, minute(1)), watermark=minute(1))
        .at(minute(2), watermark=minute(2))
    )
    run = reference.run(best, {SCORES: timeline})
    assert summaries(run) == [("all", 2, Timing.ON_TIME, 0, False)]
    assert [evaluation.output for evaluation in run.watermarks] == [
        evaluation.input for evaluation in run.watermarks
    ]


def test_an_on_time_pane_of_always_may_be_empty() -> None:
    """An on-time pane of ``ALWAYS`` may be empty under DISCARDING, for combiners that have an empty result."""
    timeline = Timeline[Score]().at(minute(0), Score("a", 3, minute(0))).at(minute(3), watermark=minute(2))
    early = POINTS.window(
        TWO_MINUTES,
        trigger=AtWatermark().with_early_firings(AtCount(1)),
        accumulation=Accumulation.DISCARDING,
        on_time_behavior=OnTimeBehavior.ALWAYS,
    )
    assert summaries(reference.run(early.combine_per_key(Sum()), {SCORES: timeline})) == [
        ("a", 3, Timing.EARLY, 0, False),
        ("a", 0, Timing.ON_TIME, 1, True),
    ]
    assert summaries(reference.run(early.combine_per_key(Max()), {SCORES: timeline})) == [
        ("a", 3, Timing.EARLY, 0, False)
    ]


def run_points(pipeline: PCollection[A], *scores: Score) -> reference.ReferenceRun[A]:
    """Returns the run of a pipeline over some scores in one instant."""
    return reference.run_batch(pipeline, {SCORES: scores})


def test_the_error_of_an_unbound_source_names_it() -> None:
    """The error of a source without a timeline, or of a timeline without a source, names the source."""
    with pytest.raises(
        UnboundSourceError, match="source 'scores' is not bound: pass inputs={scores: timeline}"
    ):
        reference.run(POINTS.combine_per_key(Sum()), {})
    with pytest.raises(UnboundSourceError, match="which the pipeline does not read; it reads scores"):
        reference.run(
            POINTS.combine_per_key(Sum()), {SCORES: Timeline[Score](), READINGS: Timeline[Reading]()}
        )


def test_a_pipeline_without_a_grouping_gives_elements() -> None:
    """Its output is elements with both times, ordered by processing time, event time and value, and no panes."""
    run = run_points(POINTS, Score("b", 2, minute(1)), Score("a", 3, minute(1)), Score("a", 1, minute(0)))
    assert [(element.key, element.value, element.event_time) for element in run.elements] == [
        ("a", 1, event_time(minute(0))),
        ("a", 3, event_time(minute(1))),
        ("b", 2, event_time(minute(1))),
    ]
    assert (run.panes, run.dropped) == ((), ())
    with pytest.raises(UnsupportedError, match="so its output is elements, which replace nothing"):
        run.final_values()


def test_values_of_several_types_are_ordered() -> None:
    """Elements whose values have no order are ordered too, so a run does not depend on their arrival."""
    mixed = SCORES.map(lambda s: s.team if s.points > 1 else s.points)
    there = run_points(mixed, Score("b", 2, minute(1)), Score("a", 1, minute(1)))
    back = run_points(mixed, Score("a", 1, minute(1)), Score("b", 2, minute(1)))
    assert there.elements == back.elements
    assert [element.element for element in there.elements] == [1, "b"]


def test_an_output_of_panes_and_elements_is_rejected() -> None:
    """A union of panes and elements is no output, since an element has no window; two outputs of one run are."""
    totals = POINTS.combine_per_key(Sum())
    timeline = Timeline.batch([Score("a", 2, minute(1))], time=minute(3))
    with pytest.raises(UnsupportedError, match=r"mixes panes of .*Sum.* with elements of source scores"):
        reference.run(flatten(POINTS.window(TWO_MINUTES), totals.window(TWO_MINUTES)), {SCORES: timeline})
    both = reference.Reference().run({"points": POINTS, "totals": totals}, {SCORES: timeline})
    assert [element.element for element in both[POINTS].elements] == [KV("a", 2)]
    assert [pane.element for pane in both["totals"].panes] == [KV("a", 2)]
    with pytest.raises(ArgumentError, match="which must be an output of the run: points, totals"):
        both["total"]


def test_outputs_need_names_and_collections() -> None:
    """Anything but named collections is an error."""
    engine = reference.Reference()
    for wrong, message in (
        ({}, "outputs must be a PCollection, or several by their names"),
        ((POINTS,), "outputs must be a PCollection, or several by their names"),
        ({"": POINTS}, "a name of outputs must be a non-empty str; got ''"),
        ({"points": 3}, "the output 'points' must be a PCollection; got 3"),
    ):
        with pytest.raises(ArgumentError, match=message):
            engine.run(wrong, {})  # type: ignore[arg-type]  # the error under test


def test_an_error_in_a_function_names_the_function_and_the_record() -> None:
    """An error in a user-defined function names the transform, the function's file and line, and the record."""
    broken = SCORES.key_by(lambda s: s.team).map_values(lambda s: 1 // s.points)
    with pytest.raises(UserFunctionError) as caught:
        run_points(broken.combine_per_key(Sum()), Score("a", 0, minute(0)))
    message = str(caught.value)
    assert "map_values(<lambda> at tests/reference/test_reference.py:" in message
    assert "raised ZeroDivisionError" in message
    assert "its argument was Score(team='a', points=0" in message


def test_integer_overflow_is_an_error() -> None:
    """An integer overflow is an error in a user-defined function and in a sum."""
    huge = Score("a", 2**62, minute(0))
    with pytest.raises(ValueRangeError, match=r"the result of map_values.*overflows 64 bits"):
        run_points(POINTS.map_values(lambda n: n * 2).combine_per_key(Sum()), huge)
    with pytest.raises(ValueRangeError, match=r"Sum is 9223372036854775808, which overflows 64 bits"):
        run_points(POINTS.combine_per_key(Sum()), huge, huge)


def test_an_unkeyed_element_is_an_error_at_run_time() -> None:
    """An unkeyed element is an error at run time, where its type was unknown when the pipeline was built."""
    unknown: PCollection[KV[str, int]] = SCORES.map(lambda s: eval("s.points"))
    with pytest.raises(KeyedCollectionError, match=r"needs elements that are KV\(key, value\) pairs; got 1"):
        run_points(unknown.combine_per_key(Sum()), Score("a", 1, minute(0)))


def test_a_float_key_is_an_error() -> None:
    """A float is not a valid key, since NaN equals nothing."""
    with pytest.raises(ElementError, match="floats cannot be compared exactly"):
        reference.run_batch(
            SCORES.key_by(lambda s: s.points / 2).combine_per_key(Count()),
            {SCORES: [Score("a", 1, minute(0))]},
        )


def test_a_filter_returns_a_bool_and_a_flat_map_an_iterable() -> None:
    """A filter must return a bool and a flat_map an iterable; anything else is an error with the value."""
    odd = SCORES.filter(lambda s: json.loads(str(s.points))).key_by(lambda s: s.team)
    with pytest.raises(ElementError, match=r"the result of filter\(.*\) must be a bool; got 3 \(int\)"):
        reference.run_batch(odd.combine_per_key(Count()), {SCORES: [Score("a", 3, minute(0))]})
    letters = SCORES.flat_map(lambda s: json.loads(f'"{s.team}"')).key_by(lambda c: str(c))
    with pytest.raises(
        ElementError, match=r"the result of flat_map\(.*\) must be an iterable of elements; got 'a'"
    ):
        reference.run_batch(letters.combine_per_key(Count()), {SCORES: [Score("a", 3, minute(0))]})


@pytest.mark.parametrize("amount", [True, 1.5, -1, 2**63, None])
def test_a_measure_must_be_a_non_negative_int(amount: object) -> None:
    """A measure must be a non-negative int; sums of anything else might decrease or wrap."""
    measured = AtMeasure(lambda points: amount, 3)  # type: ignore[arg-type,return-value]  # the error under test
    with pytest.raises(ElementError, match=r"AtMeasure gave .* for 1 .*; it must be a non-negative int"):
        reference.run(
            POINTS.window(TWO_MINUTES, trigger=measured).combine_per_key(Sum()),
            {SCORES: bounded(Score("a", 1, minute(0)))},
        )


@pytest.mark.parametrize("answer", [1, None, "yes"])
def test_a_predicate_must_return_a_bool(answer: object) -> None:
    """A predicate must return a bool; truthiness is an error."""
    trigger = AtElement(lambda points: answer)  # type: ignore[arg-type,return-value]  # the error under test
    with pytest.raises(ElementError, match=r"AtElement gave .* for 1 .*; it must be a bool"):
        reference.run(
            POINTS.window(TWO_MINUTES, trigger=trigger).combine_per_key(Sum()),
            {SCORES: bounded(Score("a", 1, minute(0)))},
        )


def test_equal_triggers_have_equal_deadlines() -> None:
    """Equal triggers have equal deadlines, since an extra evaluation could advance the trigger of another key."""
    once, twice = AfterDelay(timedelta(minutes=1)), AfterDelay(timedelta(minutes=2))

    def panes(last: OnceTrigger) -> tuple[Pane[KV[str, int]], ...]:
        trigger = SequenceOf(AtWatermark(), AtWatermark(), Repeat(last))
        totals = POINTS.window(
            Sessions(timedelta(minutes=1)),
            trigger=trigger,
            accumulation=Accumulation.DISCARDING,
            allowed_lateness=FOREVER,
        ).combine_per_key(Sum())
        timeline = (
            Timeline[Score]()
            .at(minute(0), watermark=minute(1))
            .at(minute(0), Score("a", 1, minute(0)))
            .at(minute(0))
            .at(minute(0), Score("a", 1, minute(0)), Score("b", 1, minute(0)))
            .at(minute(2), Score("b", 1, minute(0)))
        )
        return reference.run(totals, {SCORES: timeline}).panes

    assert panes(once & twice) == panes(twice)


def reopened_session(trigger: Trigger) -> list[tuple[str, int, Timing, int, bool]]:
    """Returns the values of a session that ends at the watermark, minute 2, and that a late element extends to 3."""
    timeline = (
        Timeline[Score]()
        .at(minute(1), Score("a", 1, minute(0)), watermark=minute(2))
        .at(minute(4), Score("a", 10, minute(1)), watermark=minute(2))
        .at(minute(5), watermark=minute(3))
    )
    sessions = POINTS.window(
        Sessions(timedelta(minutes=2)),
        trigger=trigger,
        accumulation=Accumulation.ACCUMULATING,
        allowed_lateness=FOREVER,
    )
    return summaries(reference.run(sessions.combine_per_key(Sum()), {SCORES: timeline}))


def test_a_reopened_session_restarts_its_trigger() -> None:
    """A complete session that is open again waits for the watermark again, instead of firing at each late element."""
    assert reopened_session(AtWatermark().with_late_firings(AtCount(1))) == [
        ("a", 1, Timing.ON_TIME, 0, False),
        ("a", 11, Timing.ON_TIME, 0, False),
    ]


def test_a_reopened_session_counts_its_pending_elements() -> None:
    """The restarted trigger of a session that is open again observes the elements that no pane has emitted."""
    assert reopened_session(Repeat(AtCount(2))) == [("a", 11, Timing.EARLY, 0, False)]


def test_a_trigger_that_is_ready_again_fires_in_the_next_instant() -> None:
    """After a firing, a trigger that is ready at once finishes in the next instant, although nothing has arrived."""
    timeline = (
        Timeline[Score]()
        .at(minute(1), Score("a", 1, minute(0)))
        .at(minute(2))
        .at(minute(3), Score("a", 10, minute(0)))
    )
    run = reference.run(
        POINTS.window(GlobalWindows(), trigger=AtCount(1) >> Always()).combine_per_key(Sum()),
        {SCORES: timeline},
    )
    assert [pane.value for pane in run.panes] == [1]
    assert [drop.reason for drop in run.dropped] == [DropReason.CLOSED]
