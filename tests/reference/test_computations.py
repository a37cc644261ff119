"""Computations in the reference interpreter: timers, holds, order and failures, on timelines small enough to read.

Laws compare every run with a plain loop; here are the cases that a reader asks for first.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TypeVar

import pytest
from flowalg_laws.strategies.computations import HEARTBEAT, HOLDING
from flowalg_reference import Reference, ReferenceBatch

from flowalg import KV, Computation, FixedWindows, FlowalgError, Mode, PCollection, Run, Sum, Timeline
from flowalg.computations import Clocks, EventTimer, Observed, ProcessingTimer, Transition
from flowalg.errors import ElementError
from flowalg.runs import DropReason, Timing
from tests.support.faults import FAULTS, LOOP, fails
from tests.support.scores import POINTS, SCORES, Score, minute

A = TypeVar("A")
MINUTE = timedelta(minutes=1)
MICRO_BATCH = Reference(Mode.MICRO_BATCH)


def score(at: float, points: int = 1, team: str = "a") -> Score:
    """Returns a score at a minute after noon."""
    return Score(team, points, minute(at))


def outputs(run: Run[KV[str, A]]) -> list[tuple[A, str]]:
    """Returns the value and the event time of each output."""
    return [(output.value, f"{output.event_time.datetime:%H:%M}") for output in run.elements]


def emit(number: int, seen: Observed[str, int], clocks: Clocks) -> Transition[int, tuple[int, bool, str]]:
    """Emits the value of an element, whether it is late, and the watermark."""
    return Transition(number + 1, emit=[(seen.value, seen.late, f"{clocks.watermark:%H:%M}")])


def test_elements_are_observed_before_the_watermark_of_their_instant() -> None:
    """In an instant, elements are observed by event time, at the watermark before it; late ones are marked."""
    timeline = (
        Timeline[Score]()
        .at(minute(1), score(3, 30), score(1, 10), watermark=minute(2))
        .at(minute(2), score(5, 50), score(1, 11), watermark=minute(4))
    )
    watched = Computation(initial=0, on_element=emit)
    run = MICRO_BATCH.run(POINTS.process(watched), {SCORES: timeline})
    start = "00:00"
    assert outputs(run) == [
        ((10, False, start), "12:01"),
        ((30, False, start), "12:03"),
        ((11, True, "12:02"), "12:01"),
        ((50, False, "12:02"), "12:05"),
    ]


def test_in_order_the_watermark_is_that_of_the_element() -> None:
    """In order, an element waits until the watermark has passed it, and is observed at its own time."""
    timeline = (
        Timeline[Score]()
        .at(minute(1), score(3, 30), score(1, 10), watermark=minute(2))
        .at(minute(2), score(2, 20), score(1, 11), watermark=minute(4))
    )
    run = MICRO_BATCH.run(
        POINTS.process(Computation(initial=0, on_element=emit), in_order=True), {SCORES: timeline}
    )
    assert outputs(run) == [
        ((10, False, "12:01"), "12:01"),
        ((20, False, "12:02"), "12:02"),
        ((30, False, "12:03"), "12:03"),
    ]
    assert [(drop.element, drop.reason) for drop in run.dropped] == [(KV("a", 11), DropReason.LATE)]


def test_a_timer_at_the_watermark_fires_once() -> None:
    """A timer of event time fires when the watermark reaches it, not before, and not again."""
    quiet: Computation[str, int, int, int] = Computation(
        initial=0,
        on_element=lambda n, seen, clocks: Transition(n + 1, set=[EventTimer("end", minute(3))]),
        on_timer=lambda n, timer, clocks: Transition(n + 10, emit=[n]),
    )
    timeline = Timeline[Score]().at(minute(1), score(1), watermark=minute(2))
    before = timeline.at(minute(2), watermark=minute(3) - timedelta(microseconds=1))
    at = before.at(minute(3), watermark=minute(3)).end(minute(9))
    assert outputs(MICRO_BATCH.run(POINTS.process(quiet), {SCORES: before})) == []
    assert outputs(MICRO_BATCH.run(POINTS.process(quiet), {SCORES: at})) == [(1, "12:03")]


def test_a_timer_of_processing_time_fires_at_its_deadline() -> None:
    """A continuous engine fires a timer of processing time at its time, a micro-batch engine at its next instant."""
    timeline = (
        Timeline[Score]().at(minute(1), score(0), watermark=minute(0)).at(minute(9), watermark=minute(0))
    )
    pipeline = POINTS.process(HEARTBEAT)
    continuous, micro_batch = (
        engine.run(pipeline, {SCORES: timeline}) for engine in (Reference(), MICRO_BATCH)
    )
    assert [str(output.processing_time)[11:16] for output in continuous.elements] == ["12:03", "12:05"]
    assert [str(output.processing_time)[11:16] for output in micro_batch.elements] == ["12:09", "12:09"]


def test_an_output_of_a_timer_of_processing_time_is_not_late() -> None:
    """Its event time is that of the element that set it, or the watermark, if that has passed the element."""
    for watermark, at in ((0, "12:02"), (7, "12:07")):
        timeline = (
            Timeline[Score]()
            .at(minute(1), score(2), watermark=minute(0))
            .at(minute(4), watermark=minute(watermark))
        )
        assert outputs(MICRO_BATCH.run(POINTS.process(HEARTBEAT), {SCORES: timeline}))[0][1] == at


def test_a_hold_keeps_an_output_on_time() -> None:
    """The watermark after a computation waits for its hold, so that an output at that time is on time."""
    timeline = Timeline[Score]().at(minute(1), score(1), watermark=minute(0))
    timeline = timeline.at(minute(2), watermark=minute(4)).at(minute(3), watermark=minute(6)).end(minute(9))
    held = POINTS.process(HOLDING)
    run = MICRO_BATCH.run(held, {SCORES: timeline})
    assert [str(reading.output)[11:16] for reading in run.watermarks[:3]] == ["12:00", "12:01", "12:06"]
    (pane,) = MICRO_BATCH.run(
        held.window(FixedWindows(MINUTE)).combine_per_key(Sum()), {SCORES: timeline}
    ).panes
    assert (pane.timing, f"{pane.window.start.datetime:%H:%M}") == (Timing.ON_TIME, "12:01")


def test_a_loop_of_timers_is_an_error() -> None:
    """Timers that are due at once without end are an error that names the computation and the key."""
    timeline = Timeline[Score]().at(minute(1), score(1), watermark=minute(2))
    with pytest.raises(
        ElementError, match=r"process\(loop\): more than 10,000 timers of the key 'a' .*one time"
    ):
        MICRO_BATCH.run(POINTS.process(LOOP), {SCORES: timeline})


def test_timers_at_later_times_are_no_loop() -> None:
    """A firing that sets a timer at a later time is progress: a batch of a year may fire more than 10,000 in a row."""
    beat: Computation[str, int, int, int] = Computation(
        initial=0,
        on_element=lambda n, seen, clocks: Transition(n, set=[EventTimer("beat", seen.event_time + MINUTE)]),
        on_timer=lambda n, timer, clocks: (
            Transition(n + 1, set=[EventTimer("beat", timer.at + MINUTE)])
            if n < 11_000
            else Transition(None, emit=[n])
        ),
    )
    records = [score(0), score(12_000)]
    run = ReferenceBatch().run(POINTS.process(beat), {SCORES: Timeline.batch(records, time=minute(0))})
    assert [output.value for output in run.elements] == [11_000]


@pytest.mark.parametrize(("computation", "error", "message"), FAULTS)
def test_a_failure_names_the_key_the_element_and_the_state(
    computation: Computation[str, int, int, int], error: type[FlowalgError], message: str
) -> None:
    """A transition that fails names the transform, the function, the element with its key, and the state."""
    timeline = Timeline[Score]().at(minute(1), score(1, 5), watermark=minute(0))
    with pytest.raises(
        error,
        match=rf"process\(.*{message}.*it received the element 5 \(int\) at .* of the key 'a'.*in the state 0",
    ):
        MICRO_BATCH.run(POINTS.process(computation), {SCORES: timeline})


@pytest.mark.parametrize(("computation", "error", "message"), FAULTS)
def test_a_failed_transition_changes_nothing(
    computation: Computation[str, int, int, int], error: type[FlowalgError], message: str
) -> None:
    """With dead letters an element on which a computation fails is a bad record, and nothing else happens."""
    timeline = Timeline[Score]().at(minute(1), score(1, 5), watermark=minute(0)).end(minute(2))
    run = Reference(dead_letters=True).run(POINTS.process(computation), {SCORES: timeline})
    (bad,) = run.bad_records
    assert bad.record == '{"key":"a","element":5,"event_time":"2024-01-01T12:01:00Z","state":0}'
    assert not run.elements


def test_a_failed_timer_has_fired() -> None:
    """A timer on which a computation fails is a bad record, and does not fire again; the state stays."""
    unlucky: Computation[str, int, int, int] = Computation(
        initial=0,
        on_element=lambda n, seen, clocks: Transition(
            n + 1, emit=[n], set=[EventTimer("end", seen.event_time + MINUTE)]
        ),
        on_timer=fails,
    )
    timeline = (
        Timeline[Score]()
        .at(minute(1), score(1), watermark=minute(2))
        .at(minute(2), score(5), watermark=minute(3))
    )
    run = Reference(dead_letters=True).run(POINTS.process(unlucky), {SCORES: timeline})
    assert [bad.record for bad in run.bad_records] == [
        '{"key":"a","timer":{"tag":"end","at":"2024-01-01T12:02:00+00:00"},"state":1}'
    ]
    assert [output.value for output in run.elements] == [0, 1]


def test_state_ends_with_its_key() -> None:
    """``None`` frees a key with its timers: its next element begins again."""
    twice: Computation[str, int, int, int] = Computation(
        initial=0,
        on_element=lambda n, seen, clocks: (
            Transition(None, emit=[n])
            if n
            else Transition(n + 1, emit=[n], set=[EventTimer("never", seen.event_time + MINUTE)])
        ),
        on_timer=fails,
    )
    timeline = (
        Timeline[Score]()
        .at(minute(1), score(1), score(1.1), watermark=minute(1))
        .at(minute(2), score(8), score(9), watermark=minute(8))
    )
    assert [
        output.value for output in MICRO_BATCH.run(POINTS.process(twice), {SCORES: timeline}).elements
    ] == [
        0,
        1,
        0,
        1,
    ]


def test_setting_a_tag_again_replaces_its_timer() -> None:
    """A key has one timer for a tag, of either kind; that of processing time fires when the input ends."""
    kinds: Computation[str, int, int, str] = Computation(
        initial=0,
        on_element=lambda n, seen, clocks: Transition(
            n + 1,
            set=[
                EventTimer("a", minute(5)) if n == 0 else ProcessingTimer("a", minute(20)),
                EventTimer("b", minute(5 + n)),
            ],
        ),
        on_timer=lambda n, timer, clocks: Transition(n, emit=[f"{timer.tag} {timer.at:%H:%M}"]),
    )
    timeline = Timeline[Score]().at(minute(1), score(1), score(2), watermark=minute(3)).end(minute(9))
    run = MICRO_BATCH.run(POINTS.process(kinds), {SCORES: timeline})
    assert [output.value for output in run.elements] == ["a 12:20", "b 12:06"]


def test_several_outputs_share_a_computation() -> None:
    """A computation that two outputs read runs once: its failures are reported once."""
    shared: PCollection[KV[str, int]] = POINTS.process(
        Computation(initial=0, on_element=fails, name="shared")
    )
    timeline = Timeline[Score]().at(minute(1), score(3), watermark=minute(2))
    runs = Reference(dead_letters=True).run(
        {"all": shared, "sums": shared.window(FixedWindows(MINUTE)).combine_per_key(Sum())},
        {SCORES: timeline},
    )
    assert len(runs.bad_records) == 1
