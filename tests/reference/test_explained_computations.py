"""Explanations of computations, compared with what the functions of narrating computations have received themselves."""

from __future__ import annotations

from datetime import timedelta

import flowalg_reference as reference
import pytest
from attrs import evolve, frozen
from flowalg_laws.kit.readings import READINGS, VALUES, Reading
from flowalg_laws.strategies import timelines
from flowalg_laws.strategies.computations import EVENT_TIME, HEARTBEAT, HOLDING, RUNNING_TOTAL
from flowalg_reference import (
    ArrivedElement,
    KeyStatus,
    OutputExplanation,
    ReferenceRun,
    explain_when,
    why_not,
)
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from flowalg import (
    KV,
    Computation,
    Count,
    EventTime,
    FixedWindows,
    Mode,
    PCollection,
    Source,
    Sum,
    Timeline,
    Window,
    event_time,
)
from flowalg.computations import Clocks, Late, Observed, Timer, Transition
from flowalg.computations.computation import AnyComputation, require_computation
from flowalg.data import MAX_TIME
from flowalg.errors import ArgumentError
from flowalg.runs import OutputElement
from tests.support.scores import POINTS, SCORES, Score, minute

MINUTE = timedelta(minutes=1)
FIRST = Window(event_time(minute(0)), event_time(minute(2)))


@frozen
class Narrated:
    """The state of a narrating computation: that of the narrated one, and what has set each of its timers."""

    inner: object
    origins: tuple[tuple[str, str], ...] = ()


def describe_event(event: Observed[object, object] | Timer) -> str:
    """Returns an event as text."""
    if isinstance(event, Observed):
        return f"{event.key} {event.value} {event.event_time} {event.late}"
    return f"{type(event).__name__} {event.tag} {event.at}"


def narrate(wrapped: AnyComputation, *, always: bool = False) -> Computation[str, int, Narrated, str]:
    """Returns a computation that does what another does, but emits a description of the call instead of each output.

    The description has the event, the clocks and the state, and where a timer fires, what has set it. With ``always``
    each call emits one.
    """

    def after(
        state: Narrated, event: Observed[str, int] | Timer, clocks: Clocks, text: str, returned: object
    ) -> Transition[Narrated, str]:
        assert isinstance(returned, Transition)
        origin = f"{describe_event(event)} at {clocks.processing_time}"
        origins = dict(state.origins) | {timer.tag: origin for timer in returned.set}
        return Transition(
            None if returned.state is None else Narrated(returned.state, tuple(origins.items())),
            emit=[text for _ in returned.emit] + [text] * always,
            emit_at=[(at, text) for at, _ in returned.emit_at],
            set=returned.set,
            clear=returned.clear,
            hold=returned.hold,
        )

    def text_of(state: Narrated, event: Observed[str, int] | Timer, clocks: Clocks) -> str:
        return f"{describe_event(event)} in {state.inner!r} at {clocks.processing_time} {clocks.watermark}"

    def on_element(state: Narrated, seen: Observed[str, int], clocks: Clocks) -> Transition[Narrated, str]:
        returned = wrapped.on_element(state.inner, seen, clocks)
        return after(state, seen, clocks, text_of(state, seen, clocks), returned)

    def on_timer(state: Narrated, timer: Timer, clocks: Clocks) -> Transition[Narrated, str]:
        assert wrapped.on_timer is not None
        returned = wrapped.on_timer(state.inner, timer, clocks)
        origin = dict(state.origins)[timer.tag]
        return after(state, timer, clocks, f"{text_of(state, timer, clocks)}, set by {origin}", returned)

    return Computation(
        initial=Narrated(wrapped.initial),
        on_element=on_element,
        on_timer=on_timer if wrapped.on_timer else None,
    )


def narration(why: OutputExplanation[KV[str, str]]) -> str:
    """Returns the description that the call has emitted, according to an explanation."""
    assert isinstance(why.state, Narrated)
    clocks = f"{why.clocks.processing_time} {why.clocks.watermark}"
    if isinstance(why.cause, ArrivedElement):
        return f"{describe_event(why.cause.observed)} in {why.state.inner!r} at {clocks}"
    setter = why.cause.set_by
    origin = describe_event(setter.observed if isinstance(setter, ArrivedElement) else setter)
    fired = f"{describe_event(why.cause.timer)} in {why.state.inner!r} at {clocks}"
    return f"{fired}, set by {origin} at {why.cause.set_at.datetime}"


def computations() -> SearchStrategy[AnyComputation]:
    """Returns computations of all kinds."""
    return st.sampled_from(
        [require_computation("computation", computation) for computation in (*EVENT_TIME, HEARTBEAT)]
    )


def event_time_computations() -> SearchStrategy[AnyComputation]:
    """Returns computations that set no timers of processing time."""
    return st.sampled_from([require_computation("computation", computation) for computation in EVENT_TIME])


@given(
    computations(),
    timelines(READINGS),
    st.sampled_from([(False, Late.OBSERVE), (False, Late.DROP), (True, Late.DROP)]),
    st.sampled_from(Mode),
)
def test_every_output_is_explained_by_the_call_that_emitted_it(
    computation: AnyComputation, timeline: Timeline[Reading], order: tuple[bool, Late], mode: Mode
) -> None:
    """The event, the clocks, the state and the origin of an explanation are those that the function received."""
    narrated = VALUES.process(narrate(computation), in_order=order[0], late=order[1])
    run = reference.run(narrated.map_values(lambda text: text), {READINGS: timeline}, mode=mode)
    for output in run.elements:
        why = explain_when(run, output)
        assert narration(why) == output.value
        assert (why.output, why.key) == (output, output.key)
        assert why.clocks.processing_time == output.processing_time.datetime
        if isinstance(why.cause, ArrivedElement):
            seen, arrival = why.cause.observed, why.cause.arrival
            instants = (instant for instant in timeline if instant.processing_time == arrival)
            arrived = [
                (reading.key, reading.value, reading.at)
                for instant in instants
                for reading in instant.elements
            ]
            assert (seen.key, seen.value, seen.event_time) in arrived
            assert order[0] or arrival == output.processing_time


@given(computations(), timelines(READINGS))
def test_outputs_of_a_batch_are_explained(computation: AnyComputation, timeline: Timeline[Reading]) -> None:
    """A batch is explained as a stream is."""
    narrated = VALUES.process(narrate(computation))
    run = reference.ReferenceBatch().run(narrated, {READINGS: timeline})
    assert [narration(explain_when(run, output)) for output in run.elements] == [
        output.value for output in run.elements
    ]


@given(event_time_computations(), timelines(READINGS), st.booleans(), st.sampled_from("abc"), st.data())
def test_a_key_waits_for_the_watermark_that_is_named(
    computation: AnyComputation, timeline: Timeline[Reading], in_order: bool, key: str, data: st.DataObject
) -> None:
    """Without new elements no call of a key happens before the watermark that ``why_not`` names, and one at it."""
    assume(timeline.instants)
    pipeline = VALUES.process(narrate(computation, always=True), in_order=in_order)
    last = data.draw(st.sampled_from([instant.processing_time for instant in timeline]))
    short = evolve(
        timeline, instants=tuple(instant for instant in timeline if instant.processing_time <= last)
    )
    run = reference.run(pipeline, {READINGS: timeline}, mode=Mode.MICRO_BATCH)
    explanation = why_not(run, key, at=last.datetime)
    assert explanation == why_not(reference.run(pipeline, {READINGS: short}, mode=Mode.MICRO_BATCH), key)

    def then(watermark: int) -> list[OutputElement[KV[str, str]]]:
        later = short.at(last.datetime + MINUTE, watermark=EventTime(watermark).datetime)
        after = reference.run(pipeline, {READINGS: later}, mode=Mode.MICRO_BATCH)
        return [output for output in after.elements if output.processing_time > last and output.key == key]

    assert (explanation.next_watermark is None) == (explanation.status is not KeyStatus.WAITING)
    if explanation.next_watermark is None:
        assert not then(MAX_TIME)
    else:
        assert explanation.next_watermark > explanation.watermark
        assert not then(explanation.next_watermark - 1)
        assert then(explanation.next_watermark)


def run_of(pipeline: PCollection[KV[str, int]], timeline: Timeline[Score]) -> ReferenceRun[KV[str, int]]:
    """Returns a run in micro-batches."""
    return reference.run(pipeline, {SCORES: timeline}, mode=Mode.MICRO_BATCH)


STARTED = Timeline[Score]().at(minute(1), Score("a", 5, minute(1)), watermark=minute(0))
"""A timeline with one element."""


def test_an_explanation_reads_well() -> None:
    """The text of an explanation has the timer, what set it, the clocks, and the state before and after."""
    run = run_of(POINTS.process(HEARTBEAT), STARTED.at(minute(5), watermark=minute(2)))
    (second, first) = (explain_when(run, output) for output in run.elements)
    assert str(first).splitlines() == [
        "process(heartbeat): the output 2 (int) of 'a' at 2024-01-01T12:02:00Z",
        "was emitted at 2024-01-01T12:05:00Z, with the watermark at 2024-01-01T12:02:00Z,",
        "because the timer 'beat' fired: processing time has reached 2024-01-01T12:03:00Z.",
        "The timer was set at 2024-01-01T12:01:00Z by the element 5 (int) at 2024-01-01T12:01:00Z.",
        "The state was 1 (int); it became 2 (int).",
    ]
    assert "set at 2024-01-01T12:05:00Z by the timer 'beat' of 2024-01-01T12:03:00Z" in str(second)
    assert str(second).endswith("The state was 2 (int); the key was freed.")


def test_an_explanation_of_an_element_says_that_it_waited() -> None:
    """An element that a computation in order observes has waited; a late one is marked."""
    counted: Computation[str, int, int, int] = Computation(
        initial=0, on_element=lambda n, seen, clocks: Transition(n + 1, emit=[n]), name="count"
    )
    timeline = STARTED.at(minute(2), Score("a", 6, minute(3)), watermark=minute(4)).at(
        minute(5), Score("a", 7, minute(2)), watermark=minute(4)
    )
    run = run_of(POINTS.process(counted, in_order=True), timeline)
    waited = "because it observed the element 5 (int) at 2024-01-01T12:01:00Z, which arrived at 2024-01-01T12:01:00Z"
    assert f"{waited}, and waited until the watermark passed it." in str(explain_when(run, run.elements[0]))
    run = run_of(POINTS.process(counted), timeline)
    assert "it observed the late element 7 (int)" in str(explain_when(run, run.elements[2]))


def test_why_not_tells_what_a_key_waits_for() -> None:
    """The text has pending timers, waiting elements, the hold, drops, and the source that holds the watermark."""
    timeline = STARTED.at(
        minute(2), Score("a", 6, minute(3)), Score("a", 7, minute(7)), watermark=minute(4)
    ).at(minute(3), Score("a", 8, minute(2)), watermark=minute(4))
    held = POINTS.process(HOLDING, in_order=True)
    run = run_of(held, timeline)
    assert str(why_not(run, "a")).splitlines() == [
        "process(holding): 'a', at 2024-01-01T12:03:00Z, with the watermark at 2024-01-01T12:04:00Z:",
        "it is waiting, in the state "
        "(datetime.datetime(2024, 1, 1, 12, 1, tzinfo=datetime.timezone.utc), 13) (tuple):",
        "  the timer 'emit' fires when the watermark reaches 2024-01-01T12:07:00Z; set at 2024-01-01T12:02:00Z by the "
        "element 6 (int) at 2024-01-01T12:03:00Z",
        "  the element 7 (int) at 2024-01-01T12:07:00Z waits until the watermark has passed it; "
        "arrived at 2024-01-01T12:02:00Z",
        "It holds the watermark of its outputs at 2024-01-01T12:01:00Z.",
        "Dropped elements: 1 (late), the last at 2024-01-01T12:03:00Z.",
        "The watermark is held by source 'scores', whose watermark is at 2024-01-01T12:04:00Z.",
    ]
    assert why_not(run, "a").key_hold == event_time(minute(1))
    assert why_not(run, "a", at=minute(1)).waiting[0].arrival.datetime == minute(1)
    sums = run_of(held.window(FixedWindows(MINUTE)).combine_per_key(Sum()), timeline)
    assert why_not(sums, "a") == why_not(run, "a")


def test_why_not_distinguishes_what_a_key_is_doing() -> None:
    """A key has no elements, or all were dropped or have failed; it is freed, or has a state and no timers."""

    def fail(n: int, seen: Observed[str, int], clocks: Clocks) -> Transition[int, int]:
        if seen.value == 1:
            raise LookupError("no luck")
        return Transition(n + 1 if seen.value == 2 else None, emit=[n])

    timeline = Timeline[Score]().at(
        minute(1), *(Score(team, points, minute(1)) for team, points in zip("abc", (1, 2, 3), strict=True)),
        watermark=minute(3),
    ).at(minute(4), Score("late", 2, minute(1)))  # fmt: skip
    pipeline = POINTS.process(Computation(initial=0, on_element=fail), late=Late.DROP)
    run = reference.run(pipeline, {SCORES: timeline}, dead_letters=True)
    explanations = {key: why_not(run, key) for key in ("a", "b", "c", "late", "none")}
    assert [explanation.status for explanation in explanations.values()] == [
        KeyStatus.FAILED,
        KeyStatus.NO_TIMERS,
        KeyStatus.FREED,
        KeyStatus.DROPPED,
        KeyStatus.NO_ELEMENTS,
    ]
    assert "raised LookupError: no luck" in str(explanations["a"])
    assert (explanations["c"].outputs, str(explanations["c"].last_output)) == (1, "2024-01-01T12:01:00Z")
    assert explanations["b"].hold is None


def test_a_side_input_delays_an_output() -> None:
    """An output that waits for its side input was emitted before, and the explanation has both times."""
    starts = Source("starts", Score, event_time=lambda score: score.at)
    counts = starts.window(FixedWindows(MINUTE)).combine_globally(Count()).as_singleton(default=0)
    pipeline = (
        POINTS.process(RUNNING_TOTAL).window(FixedWindows(MINUTE)).map_with(counts, lambda pair, n: pair)
    )
    later = Timeline[Score]().at(minute(1), watermark=minute(0)).at(minute(5), watermark=minute(9))
    run = reference.run(pipeline, {SCORES: STARTED, starts: later})
    (output,) = run.elements
    why = explain_when(run, output)
    assert (why.clocks.processing_time, output.processing_time.datetime) == (minute(1), minute(5))
    assert "The output waited for a side input until 2024-01-01T12:05:00Z." in str(why)


def test_arguments_that_do_not_fit_are_errors() -> None:
    """An element that is not in the run or of a source, a window without a grouping, none without a computation."""
    run = run_of(POINTS.process(HEARTBEAT), STARTED.at(minute(4), watermark=minute(2)))
    with pytest.raises(ArgumentError, match=r"output must be one of the panes or elements of the run"):
        explain_when(run, evolve(run.elements[0], event_time=event_time(minute(0))))
    with pytest.raises(ArgumentError, match=r"window must be omitted, since the pipeline has no grouping"):
        why_not(run, "a", FIRST)
    with pytest.raises(ArgumentError, match=r"at must be at or after an instant of the run"):
        why_not(run, "a", at=minute(0))
    with pytest.raises(ArgumentError, match=r"key must be hashable"):
        why_not(run, ["a"])
    read = run_of(POINTS, STARTED)
    with pytest.raises(
        ArgumentError, match=r"output must be an output of a grouping or of a computation.*12:01:00Z"
    ):
        explain_when(read, read.elements[0])
    with pytest.raises(
        ArgumentError, match=r"window must be a Window, since the pipeline has no computation"
    ):
        why_not(read, "a")
