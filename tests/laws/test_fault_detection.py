"""The conformance suite detects faults: an interpreter with a deliberate fault fails, by the name of the job."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import cast

import pytest
from attrs import evolve, frozen
from flowalg_laws.conformance import JOBS, check_interpreter, examine_interpreter
from flowalg_laws.kit.interpreters import with_dead_letters
from flowalg_reference import Reference, ReferenceBatch

from flowalg import (
    Accumulation,
    AtCount,
    EventTime,
    Interpreter,
    Mode,
    Outputs,
    Pane,
    PCollection,
    Run,
    Sessions,
    Timeline,
)
from flowalg.analysis.capabilities import Capabilities
from flowalg.analysis.features import AREA_OF, AnyFeature, Feature, describe_feature, features_of
from flowalg.errors import UnsupportedError
from flowalg.pipeline.structure import last_grouping
from flowalg.runs import Change, Output, OutputElement, Timing
from flowalg.runs.panes import PaneInfo
from tests.support.engines import Collections, Engine, Timelines

pytestmark = pytest.mark.long

MICRO_BATCHES = Reference(Mode.MICRO_BATCH)
EVERYTHING = MICRO_BATCHES.capabilities
Panes = tuple[Pane[object], ...]
Elements = tuple[OutputElement[object], ...]


def keep_timelines(pipeline: PCollection[object], timelines: Timelines) -> Timelines:
    """Returns the timelines unchanged."""
    del pipeline
    return timelines


@frozen
class Faulty(Engine):
    """An interpreter with deliberate faults: in its inputs, or in its results."""

    change: Callable[[Run[object]], Run[object]] = lambda run: run
    replace: Callable[[PCollection[object], Timelines], Timelines] = keep_timelines
    engine: Interpreter = MICRO_BATCHES
    capabilities: Capabilities = EVERYTHING
    dead_letters: bool = False

    @property
    def running(self) -> Interpreter:
        """The engine, with dead letters if they are wanted."""
        return with_dead_letters(self.engine) if self.dead_letters else self.engine

    def execute(self, outputs: PCollection[object] | Collections, inputs: Timelines) -> Run[object] | Outputs:
        """Returns the changed run of the engine, or its outputs, each changed like a run."""
        if isinstance(outputs, PCollection):
            return self.change(self.running.run(outputs, self.replace(outputs, inputs)))
        unchanged = self.running.run(outputs, inputs)
        changed = {
            name: self.change(Run(output.panes, unchanged.dropped, elements=output.elements))
            for name, output in unchanged.by_name.items()
        }
        dropped = next(iter(changed.values())).dropped
        by_name = {name: Output(run.panes, elements=run.elements) for name, run in changed.items()}
        return Outputs(by_name, dropped, outputs, bad_records=unchanged.bad_records)


def with_panes(change: Callable[[Panes], Panes]) -> Interpreter:
    """Returns the reference with changed panes."""
    return Faulty(lambda run: evolve(run, panes=change(run.panes)))


def failures(interpreter: Interpreter, *names: str) -> Mapping[str, str]:
    """Returns which of the jobs with these names fail, with the reasons."""
    jobs = [job for job in JOBS if job.name in names]
    return examine_interpreter(interpreter, ordered=True, jobs=jobs).failed


def failure(interpreter: Interpreter, name: str) -> str:
    """Returns why a job fails."""
    return failures(interpreter, name)[name]


def with_info(change: Callable[[PaneInfo], PaneInfo]) -> Callable[[Panes], Panes]:
    """Returns a function that changes the information of panes."""
    return lambda panes: tuple(evolve(pane, info=change(pane.info)) for pane in panes)


@pytest.mark.long
@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (lambda elements: elements[1:], r"missing:    11: a=6 @4"),
        (lambda elements: (*elements, elements[0]), r"unexpected: 11: a=6 @4"),
        (lambda elements: elements[::-1], r"out of order: 14: b=16 @13"),
        (
            lambda elements: tuple(
                evolve(element, event_time=elements[0].event_time) for element in elements
            ),
            r"missing:    11: b=8 @6",
        ),
    ],
    ids=["drops an element", "emits an element twice", "reverses the order", "changes event times"],
)
def test_wrong_elements_are_detected(fault: Callable[[Elements], Elements], message: str) -> None:
    """Wrong elements of a pipeline that groups nothing fail, alone and beside other outputs."""
    faulty = Faulty(lambda run: evolve(run, elements=fault(run.elements) if run.elements else ()))
    names = ("elements of a filter and a map", "panes beside elements")
    failed = failures(faulty, *names)
    assert all(re.search(message, failed[name]) for name in names)


@pytest.mark.long
@pytest.mark.parametrize(
    ("fault", "job", "message"),
    [
        (lambda panes: panes[:-1], "fixed windows", r"missing:    14: \+b=8 \[10, 15\) on_time 0"),
        (lambda panes: (*panes, *panes[-1:]), "fixed windows", r"unexpected: 14: \+b=8 \[10, 15\)"),
        (
            with_info(lambda info: evolve(info, index=info.index + 1)),
            "every two elements",
            r"unexpected: 11: \+a=4 \[0, 5\) early 1",
        ),
        (
            lambda panes: tuple(pane for pane in panes if pane.change is Change.VALUE),
            "late corrections",
            r"missing:    13: -a=4 \[0, 5\) late 0",
        ),
        (
            with_info(lambda info: evolve(info, timing=Timing.ON_TIME)),
            "early, on time and late",
            r"missing:    10: \+a=1 \[0, 5\) early 0",
        ),
        (
            with_info(lambda info: evolve(info, is_last=False)),
            "a minute of lateness",
            r"missing:    13: \+a=10 \[0, 5\) late 1 last",
        ),
        (
            with_info(lambda info: evolve(info, is_first=True)),
            "fixed windows",
            r"missing:    13: \+a=10 \[0, 5\) late 1 \(watermark 6\)",
        ),
        (
            lambda panes: tuple(evolve(pane, event_time=pane.window.last_instant) for pane in panes),
            "panes at the earliest event time",
            r"missing:    12: \+a=4 \[0, 5\) on_time 0 at 0",
        ),
        (
            with_info(lambda info: evolve(info, watermark=cast("EventTime", int(info.watermark)))),
            "fixed windows",
            r"on_time 0: watermark must be of type EventTime; got \d+ \(int\)",
        ),
        (lambda panes: panes[::-1], "fixed windows", r"out of order: 14: \+b=8"),
    ],
    ids=["drops a pane", "emits a pane twice", "shifts indices", "drops retractions", "makes all panes on time",
         "makes no pane the last", "makes all panes the first", "ignores timestamp combiners", "unwraps watermarks",
         "reverses the order"],
)  # fmt: skip
def test_wrong_panes_are_detected(fault: Callable[[Panes], Panes], job: str, message: str) -> None:
    """Wrong panes fail by the reference and by the transcript, with the lines that differ."""
    assert re.search(message, failure(with_panes(fault), job))


def test_generated_pipelines_detect_wrong_panes() -> None:
    """Generated pipelines detect wrong panes, with the smallest pipeline and replay as readable text."""
    report = examine_interpreter(with_panes(lambda panes: panes[:-1]), jobs=(), generated=20)
    (failure,) = report.failed.values()
    assert len(failure.splitlines()) < 15
    assert (
        "> combine_per_key(Sum)\nwindow: one global window, whenever the watermark passes, retracting"
        in failure
    )
    assert "missing:    0: +a=0 always on_time 0" in failure


def test_missing_drops_are_detected() -> None:
    """An interpreter that reports drops fails if they are wrong."""
    failed = failures(Faulty(lambda run: evolve(run, dropped=())), "a minute of lateness", "a sum per key")
    assert "missing:    14: 1 of a [0, 5) expired" in failed["a minute of lateness"]
    assert "drops are not those of the reference" in failed["a sum per key"]


@pytest.mark.long
def test_an_interpreter_need_not_report_drops() -> None:
    """An interpreter without a report of drops is judged by its panes only."""
    without_drops = Faulty(lambda run: evolve(run, dropped=()))
    check_interpreter(without_drops, ordered=True, drops=False, generated=20)


def test_the_oracle_detects_faults_of_the_reference() -> None:
    """A wrong value that the reference shares fails by plain Python, in a batch and in the final values of a stream."""

    def halve(pipeline: PCollection[object], timelines: Timelines) -> Timelines:
        del pipeline
        return {source: Timeline(timeline.instants[:1]) for source, timeline in timelines.items()}

    batch = ReferenceBatch()
    halved = Faulty(replace=halve, engine=batch, capabilities=batch.capabilities)
    assert "the final result is not the batch result" in failure(halved, "a sum per key")
    assert "the final result" in failure(with_panes(lambda panes: panes[:-1]), "a union of two sources")


@pytest.mark.long
def test_a_stale_declaration_is_detected() -> None:
    """A feature that is declared missing and runs, even correctly, is a failure that names the feature."""
    declared = Capabilities("shy", {Sessions: "not yet", AtCount: "never"})
    report = examine_interpreter(Faulty(capabilities=declared), ordered=True)
    wrong = "ran, but uses features that are declared missing: `Sessions` (not yet); the declaration is stale"
    assert report.failed["sessions that touch merge"] == wrong
    assert not report.rejected
    with pytest.raises(AssertionError, match="shy: .* jobs ran, 0 were rejected as declared") as caught:
        check_interpreter(Faulty(capabilities=declared), ordered=True)
    assert wrong in str(caught.value)


@pytest.mark.parametrize("feature", [feature for feature in AREA_OF if feature is not Feature.STREAMING])
def test_each_stale_declaration_is_detected(feature: AnyFeature) -> None:
    """Any feature that is declared missing and runs is a failure, also for interpreters without streams."""
    declared = Capabilities("one short", {feature: "a reason"})
    jobs = [job for job in JOBS if feature in job.features]
    report = examine_interpreter(Faulty(capabilities=declared), jobs=jobs)
    assert report.failed.keys() == {job.name for job in jobs}
    assert all(
        f"{describe_feature(feature)} (a reason); the declaration is stale" in why
        for why in report.failed.values()
    )


@pytest.mark.long
def test_an_undeclared_rejection_is_detected() -> None:
    """Rejecting a pipeline is a failure if all its features are declared as supported."""

    def reject_sessions(pipeline: PCollection[object], timelines: Timelines) -> Timelines:
        if Sessions in features_of(pipeline):
            raise UnsupportedError("no sessions here")
        return timelines

    wrong = "was rejected, but all features that it uses are supported: no sessions here"
    assert failure(Faulty(replace=reject_sessions), "sessions that touch merge") == wrong
    declared = Capabilities("picky", {Sessions: "it is picky"})
    rejecting = Faulty(replace=reject_sessions, capabilities=declared)
    report = check_interpreter(rejecting, ordered=True, generated=20)
    assert report.rejected["sessions that touch merge"] == (Sessions,)


@pytest.mark.long
def test_a_crash_is_not_a_rejection() -> None:
    """An error of another kind than a rejection is a failure, declared or not."""

    def raise_if_discarding(pipeline: PCollection[object], timelines: Timelines) -> Timelines:
        if last_grouping(pipeline.node).windowed_by.strategy.accumulation is Accumulation.DISCARDING:
            raise ValueError("oh")
        return timelines

    assert failure(Faulty(replace=raise_if_discarding), "discarding") == "raised ValueError: oh"
    declared = Capabilities("clumsy", {Accumulation.DISCARDING: "why not"})
    message = failure(Faulty(replace=raise_if_discarding, capabilities=declared), "discarding")
    assert (
        message
        == "uses discarding panes (why not), so it must raise UnsupportedError, but it raised ValueError: oh"
    )


def test_a_declaration_that_no_job_uses_is_detected() -> None:
    """A declaration of a feature that no job uses is a failure."""
    declared = Capabilities("one job", {Sessions: "not yet"})
    report = examine_interpreter(Faulty(capabilities=declared), jobs=())
    assert not report.passed
    assert str(report).endswith("`Sessions` is declared missing, but no job uses it")
