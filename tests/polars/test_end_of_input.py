"""The end of the input at computations: the horizon, last firings, and holds (SEMANTICS section 17)."""

from __future__ import annotations

from datetime import timedelta

import pytest
from attrs import evolve
from flowalg_laws.strategies.computations import FILLING
from flowalg_polars import PolarsBatch, PolarsStreaming, streaming
from flowalg_polars.streaming import Records, StreamInput
from flowalg_polars.streaming.operators import Cluster
from flowalg_reference import Reference, ReferenceBatch

from flowalg import (
    BoundedOutOfOrderness,
    Computation,
    FixedWindows,
    Interpreter,
    Mode,
    Source,
    Sum,
    Timeline,
    flatten,
)
from flowalg.computations import Clocks, EventTimer, Observed, ProcessingTimer, Timer, Transition
from tests.support.scores import POINTS, SCORES, Score, minute

MINUTE = timedelta(minutes=1)
STREAMS: list[Interpreter] = [
    Reference(Mode.MICRO_BATCH),
    Reference(),
    PolarsStreaming(),
    PolarsStreaming(Cluster(2, 3, True), mode=Mode.CONTINUOUS),
    PolarsStreaming(generate_watermarks=True),
]
BATCHES: list[Interpreter] = [ReferenceBatch(), PolarsBatch(), PolarsBatch(dead_letters=True)]
RECORDS = [Score("a", 1, minute(0.5)), Score("a", 2, minute(3.2)), Score("b", 7, minute(6.5))]
DAY = Timeline.from_records(
    SCORES, RECORDS, processing_time=lambda score: score.at, watermark=BoundedOutOfOrderness(MINUTE)
)


@pytest.mark.parametrize("engine", [*STREAMS, *BATCHES], ids=str)
def test_silent_minutes_are_filled_up_to_the_last_element(engine: Interpreter) -> None:
    """A timer that always sets the next one ends after the last element of any key, in batches and streams alike."""
    run = engine.run(POINTS.process(FILLING, in_order=True), {SCORES: DAY})
    emitted = [
        (element.key, f"{element.event_time.datetime:%H:%M}", element.value) for element in run.elements
    ]
    of_a = [("a", f"12:0{at}", {1: 1, 4: 2}.get(at, 0)) for at in range(1, 8)]
    assert sorted(emitted) == [*of_a, ("b", "12:07", 7)]


OTHERS = Source("others", Score, event_time=lambda score: score.at)


@pytest.mark.parametrize("engine", [*STREAMS, *BATCHES], ids=str)
@pytest.mark.parametrize("last", [0, 1])
def test_the_horizon_is_after_the_elements_of_all_sources(engine: Interpreter, last: int) -> None:
    """Silent minutes are filled up to the last element of any source that the computation reads."""
    others = OTHERS.key_by(lambda score: score.team).map_values(lambda score: score.points)
    records = [Score("a", 1, minute(0.5))], [Score("b", 7, minute(3.5))]
    inputs = {
        source: Timeline.from_records(
            source, scores, processing_time=lambda score: score.at, watermark=BoundedOutOfOrderness(MINUTE)
        )
        for source, scores in zip((SCORES, OTHERS), records[:: 1 if last else -1], strict=True)
    }
    run = engine.run(flatten(POINTS, others).process(FILLING, in_order=True), inputs)
    emitted = [(element.key, f"{element.event_time.datetime:%H:%M}") for element in run.elements]
    assert sorted(emitted) == [("a", f"12:0{at}") for at in range(1, 5)] + [("b", "12:04")]


@pytest.mark.parametrize("engine", [*STREAMS, *BATCHES], ids=str)
def test_a_timer_of_processing_time_fires_when_the_input_ends(engine: Interpreter) -> None:
    """What waits for an hour of processing time is emitted at the end, in a window near the data."""

    def start(number: int, seen: Observed[str, int], clocks: Clocks) -> Transition[int, int]:
        timer = ProcessingTimer("late", clocks.processing_time + 60 * MINUTE)
        return Transition(number + 1, set=[timer])

    def time_out(number: int, timer: Timer, clocks: Clocks) -> Transition[int, int]:
        assert clocks.input_ended
        return Transition(None, emit=[number])

    waiting = POINTS.process(Computation(initial=0, on_element=start, on_timer=time_out, result=int))
    run = engine.run(waiting.window(FixedWindows(10 * MINUTE)).combine_per_key(Sum()), {SCORES: DAY})
    panes = [(pane.key, f"{pane.window.start.datetime:%H:%M}", pane.value) for pane in run.panes]
    assert panes == [("a", "12:00", 2), ("b", "12:00", 1)]


@pytest.mark.parametrize("engine", [*STREAMS, *BATCHES], ids=str)
def test_a_hold_ends_with_the_input(engine: Interpreter) -> None:
    """A hold that is never released keeps no window pending once the input has ended."""
    holding: Computation[str, int, int, int] = Computation(
        initial=0,
        on_element=lambda number, seen, clocks: Transition(
            number + 1, emit=[seen.value], hold=seen.event_time
        ),
        result=int,
    )
    windowed = POINTS.process(holding, in_order=True).window(
        FixedWindows(10 * MINUTE), allowed_lateness=timedelta(0)
    )
    panes = engine.run(windowed.combine_per_key(Sum()), {SCORES: DAY}).panes
    assert [(pane.key, pane.value, pane.is_last) for pane in panes] == [("a", 3, True), ("b", 7, True)]


def order_at_end(state: str, timer: Timer, clocks: Clocks) -> Transition[str, str]:
    """Emits the tag of each timer; one clears the next, one sets another again, and one sets a new one."""
    fired = Transition(state + timer.tag, emit=[timer.tag])
    sets = {"c": [EventTimer("d", minute(999))], "e": [EventTimer("new", minute(999))]}
    return evolve(fired, set=sets.get(timer.tag, ()), clear=["b"] if timer.tag == "a" else ())


def set_all(state: str, seen: Observed[str, int], clocks: Clocks) -> Transition[str, str]:
    """Sets timers that are far beyond the horizon, and one of processing time."""
    timers = [EventTimer(tag, minute(60 + number)) for number, tag in enumerate("abcdef")]
    return Transition(state, set=[ProcessingTimer("clock", clocks.processing_time + 60 * MINUTE), *timers])


@pytest.mark.parametrize("engine", STREAMS[:4], ids=str)
def test_every_timer_fires_once_at_the_end(engine: Interpreter) -> None:
    """By time, those of processing time last; what is cleared or set by then does not fire."""
    last = Computation(initial="", on_element=set_all, on_timer=order_at_end, result=str)
    timeline = Timeline[Score]().at(minute(1), Score("a", 1, minute(1))).end(minute(2))
    run = engine.run(POINTS.process(last), {SCORES: timeline})
    assert sorted(element.value for element in run.elements) == ["a", "c", "clock", "e", "f"]
    assert run.unfired_timers == 2


@pytest.mark.parametrize("engine", BATCHES, ids=str)
def test_unfired_timers_are_counted_in_a_batch(engine: Interpreter) -> None:
    """Each once, however many outputs read the computation; without computations there are none."""
    filled = POINTS.process(FILLING, in_order=True)
    outputs = {"filled": filled, "all": filled.map_values(lambda value: value), "points": POINTS}
    assert engine.run(filled, {SCORES: DAY}).unfired_timers == 2
    assert engine.run(outputs, {SCORES: DAY}).unfired_timers == 2
    assert engine.run(POINTS, {SCORES: DAY}).unfired_timers == 0


def test_unfired_timers_are_counted_in_the_metrics_of_a_stream() -> None:
    """A stage counts the timers that were set when the input had ended."""
    stream = StreamInput(Records(RECORDS), BoundedOutOfOrderness(MINUTE))
    filled = POINTS.process(FILLING)
    batches = list(streaming.batches(filled, {SCORES: stream}, metrics=True, shards=2))
    assert sum(stage.unfired_timers for batch in batches for stage in batch.metrics) == 2
