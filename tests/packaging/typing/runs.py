"""The reference interpreter: expressions and the types that both checkers infer; checked, never run."""

# pyright: strict

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import assert_type

import flowalg_reference as reference
from flowalg_reference import (
    ArrivedElement,
    AwaitedCondition,
    Cause,
    Condition,
    DroppedElement,
    Explanation,
    KeyExplanation,
    KeyStatus,
    OutputExplanation,
    Reason,
    ReferenceRun,
    RunSpec,
    SetTimer,
    WatermarkHold,
    WatermarkReading,
    WhyNot,
)

from flowalg import (
    KV,
    Clocks,
    Count,
    EventTime,
    Mode,
    Observed,
    OnceTrigger,
    OutputElement,
    Pane,
    PCollection,
    ProcessingTime,
    Source,
    Timeline,
    Timer,
    Window,
)
from flowalg.analysis.capabilities import Capabilities
from tests.packaging.typing.records import Flight


def runs(
    totals: PCollection[KV[str, int]],
    flights: Source[Flight],
    names: Source[str],
    timeline: Timeline[Flight],
    other: Timeline[str],
) -> None:
    """Runs over timelines; the inputs may be a literal or a variable."""
    assert_type(reference.run(totals, {flights: timeline}), ReferenceRun[KV[str, int]])
    assert_type(reference.run(totals, {flights: timeline, names: other}), ReferenceRun[KV[str, int]])
    assert_type(reference.run(totals, {flights: timeline}, mode=Mode.MICRO_BATCH), ReferenceRun[KV[str, int]])
    of_one = {flights: timeline}
    assert_type(reference.run(totals, of_one), ReferenceRun[KV[str, int]])
    of_two = {flights: timeline, names: other}
    assert_type(reference.run(totals, of_two), ReferenceRun[KV[str, int]])


def batches(flights: Source[Flight], names: Source[str], flight: Flight, time: datetime) -> None:
    """Batches over bounded data."""
    by_length = flights.key_by(lambda f: len(f.origin)).combine_per_key(Count())
    assert_type(reference.run_batch(by_length, {flights: [flight]}), ReferenceRun[KV[int, int]])
    assert_type(
        reference.run_batch(by_length, {flights: [flight], names: iter("a")}), ReferenceRun[KV[int, int]]
    )
    of_one = {flights: [flight]}
    assert_type(reference.run_batch(by_length, of_one, time=time), ReferenceRun[KV[int, int]])


def limitations() -> None:
    """The limitations of the interpreter, as data."""
    assert_type(reference.CAPABILITIES, Capabilities)


def results(run: ReferenceRun[KV[str, int]], reading: WatermarkReading) -> None:
    """Panes, drops and watermarks of a run."""
    assert_type(run.panes, tuple[Pane[KV[str, int]], ...])
    assert_type([pane.value for pane in run.panes], list[int])
    assert_type({pane.key: pane.index for pane in run.panes}, dict[str, int])
    assert_type(run.dropped, tuple[DroppedElement, ...])
    assert_type(run.watermarks, tuple[WatermarkReading, ...])
    assert_type(run.spec, RunSpec)
    assert_type(reading.processing_time, ProcessingTime)
    assert_type(reading.input, EventTime)
    assert_type(reading.output, EventTime)


def questions(
    run: ReferenceRun[KV[str, int]], pane: Pane[KV[str, int]], window: Window, time: datetime
) -> None:
    """Explanations of a pane and of a missing pane."""
    assert_type(reference.explain_when(run, pane), Explanation[KV[str, int]])
    assert_type(reference.why_not(run, "a", window), WhyNot)
    assert_type(reference.why_not(run, "a", window, at=time), WhyNot)


def explanations(why: Explanation[KV[str, int]]) -> None:
    """The parts of an explanation."""
    assert_type(why.pane, Pane[KV[str, int]])
    assert_type(why.grouping, str)
    assert_type(why.key, object)
    assert_type(why.cause, Cause)
    assert_type([Cause.FIRED, Cause.EXPIRED, Cause.ENDED], list[Cause])
    assert_type(why.conditions, tuple[AwaitedCondition, ...])
    assert_type(why.previous_conditions, tuple[AwaitedCondition, ...])
    assert_type(why.last_evaluated, ProcessingTime | None)


def questions_about_computations(
    run: ReferenceRun[KV[str, int]], output: OutputElement[KV[str, int]], time: datetime
) -> None:
    """Explanations of an output of a computation, and of what a key waits for."""
    assert_type(reference.explain_when(run, output), OutputExplanation[KV[str, int]])
    assert_type(reference.why_not(run, "a"), KeyExplanation)
    assert_type(reference.why_not(run, "a", at=time), KeyExplanation)


def explanations_of_outputs(why: OutputExplanation[KV[str, int]]) -> None:
    """The parts of the explanation of an output."""
    assert_type(why.output, OutputElement[KV[str, int]])
    assert_type(why.computation, str)
    assert_type(why.key, object)
    assert_type(why.cause, ArrivedElement | SetTimer)
    assert_type(why.clocks, Clocks)
    assert_type(why.state, object)
    assert_type(why.next_state, object)


def events(arrived: ArrivedElement, timer: SetTimer) -> None:
    """The parts of the events of a computation."""
    assert_type(arrived.observed, Observed[object, object])
    assert_type(arrived.arrival, ProcessingTime)
    assert_type(arrived.retraction, bool)
    assert_type(timer.timer, Timer)
    assert_type(timer.clock, str)
    assert_type(timer.origin, str)
    assert_type(timer.set_by, ArrivedElement | Timer)
    assert_type(timer.set_at, ProcessingTime)


def keys(found: KeyExplanation) -> None:
    """The parts of the explanation of what a key waits for."""
    assert_type(found.computation, str)
    assert_type(found.key, object)
    assert_type(found.processing_time, ProcessingTime)
    assert_type(found.watermark, EventTime)
    assert_type(found.status, KeyStatus)
    assert_type([KeyStatus.WAITING, KeyStatus.FREED], list[KeyStatus])
    assert_type(found.state, object)
    assert_type(found.timers, tuple[SetTimer, ...])
    assert_type(found.waiting, tuple[ArrivedElement, ...])
    assert_type(found.next_watermark, EventTime | None)
    assert_type(found.next_time, ProcessingTime | None)
    assert_type(found.key_hold, EventTime | None)
    assert_type(found.outputs, int)
    assert_type(found.last_output, ProcessingTime | None)
    assert_type(found.drops, tuple[DroppedElement, ...])
    assert_type(found.failures, tuple[str, ...])
    assert_type(found.hold, WatermarkHold | None)


def answers(
    found: WhyNot, awaited: AwaitedCondition, condition: Condition, hold: WatermarkHold, spec: RunSpec
) -> None:
    """The parts of the explanation of a missing pane."""
    assert_type(found.grouping, str)
    assert_type(found.key, object)
    assert_type(found.window, Window)
    assert_type(found.processing_time, ProcessingTime)
    assert_type(found.watermark, EventTime)
    assert_type(found.reason, Reason)
    assert_type([Reason.NO_ELEMENTS, Reason.DROPPED], list[Reason])
    assert_type(found.panes, tuple[Pane[object], ...])
    assert_type(found.drops, tuple[DroppedElement, ...])
    assert_type(found.conditions, tuple[AwaitedCondition, ...])
    assert_type(found.next_deadline, ProcessingTime | None)
    assert_type(found.hold, WatermarkHold | None)
    assert_type(found.open_windows, tuple[Window, ...])
    assert_type(awaited.path, tuple[str, ...])
    assert_type(awaited.condition, Condition)
    assert_type(list(awaited.lines()), list[str])
    assert_type(condition.trigger, OnceTrigger)
    assert_type(condition.satisfied, bool)
    assert_type(condition.progress, str)
    assert_type(condition.parts, tuple[Condition, ...])
    assert_type(list(condition.lines()), list[str])
    assert_type(hold.event_time, EventTime)
    assert_type(hold.description, str)
    assert_type(hold.source, str | None)
    assert_type(hold.partition, str | None)
    assert_type(hold.window, Window | None)
    assert_type(spec.pipeline, PCollection[object])
    assert_type(spec.timelines, Mapping[str, Timeline[object]])
    assert_type(spec.mode, Mode)
    assert_type(spec.dead_letters, bool)
