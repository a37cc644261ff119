"""The conformance suite finds faults: an interpreter with one deliberate mistake fails, by the name of the job."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TypeVar, cast

import pytest
from attrs import evolve, frozen
from flowalg_laws.conformance import JOBS, check_interpreter, examine_interpreter
from flowalg_reference import Reference, ReferenceBatch

from flowalg import (
    Accumulation,
    Change,
    EventTime,
    Interpreter,
    Mode,
    Pane,
    PCollection,
    Run,
    Source,
    Timeline,
    Timing,
    UnsupportedError,
)
from flowalg.analysis.capabilities import Capabilities
from flowalg.analysis.features import Feature, features_of
from flowalg.pipeline.structure import last_grouping
from flowalg.runs.inputs import AnySource
from flowalg.runs.panes import PaneInfo

pytestmark = pytest.mark.long

MICRO_BATCHES = Reference(Mode.MICRO_BATCH)
EVERYTHING = MICRO_BATCHES.capabilities
A = TypeVar("A")
Panes = tuple[Pane[object], ...]


Timelines = Mapping[Source[object], Timeline[object]]


def as_they_are(pipeline: PCollection[object], timelines: Timelines) -> Timelines:
    """The timelines that an interpreter is given."""
    del pipeline
    return timelines


@frozen
class Faulty:
    """An interpreter with deliberate faults: in what it runs on, and in what it gives."""

    spoil: Callable[[Run[object]], Run[object]] = lambda run: run
    replace: Callable[[PCollection[object], Timelines], Timelines] = as_they_are
    engine: Interpreter = MICRO_BATCHES
    capabilities: Capabilities = EVERYTHING

    def run(self, pipeline: PCollection[A], inputs: Mapping[AnySource, Timeline[object]]) -> Run[A]:
        """The run of the engine, spoilt."""
        timelines = self.replace(pipeline, cast("Timelines", inputs))
        return cast("Run[A]", self.spoil(self.engine.run(pipeline, timelines)))


def with_panes(change: Callable[[Panes], Panes]) -> Interpreter:
    """The reference, with something done to its panes."""
    return Faulty(lambda run: evolve(run, panes=change(run.panes)))


def failed(interpreter: Interpreter, *, generated: int = 0) -> Mapping[str, str]:
    """The jobs that fail, with the reasons."""
    return examine_interpreter(interpreter, ordered=True, generated=generated).failed


def telling(change: Callable[[PaneInfo], PaneInfo]) -> Callable[[Panes], Panes]:
    """Panes with changed pane information."""
    return lambda panes: tuple(evolve(pane, info=change(pane.info)) for pane in panes)


@pytest.mark.parametrize(
    ("fault", "job", "message"),
    [
        (lambda panes: panes[:-1], "fixed windows", r"missing:    14: \+b=8 \[10, 15\) on_time 0"),
        (lambda panes: (*panes, *panes[-1:]), "fixed windows", r"unexpected: 14: \+b=8 \[10, 15\)"),
        (
            telling(lambda info: evolve(info, index=info.index + 1)),
            "every two elements",
            r"unexpected: 11: \+a=4 \[0, 5\) early 1",
        ),
        (
            lambda panes: tuple(one for one in panes if one.change is Change.VALUE),
            "what is late corrects",
            r"missing:    13: -a=4 \[0, 5\) late 0",
        ),
        (
            telling(lambda info: evolve(info, timing=Timing.ON_TIME)),
            "early, on time and late",
            r"missing:    10: \+a=1 \[0, 5\) early 0",
        ),
        (
            telling(lambda info: evolve(info, is_last=False)),
            "a minute of lateness",
            r"missing:    13: \+a=10 \[0, 5\) late 1 last",
        ),
        (
            telling(lambda info: evolve(info, is_first=True)),
            "fixed windows",
            r"missing:    13: \+a=10 \[0, 5\) late 1 \(watermark 6\)",
        ),
        (
            lambda panes: tuple(evolve(one, event_time=one.window.last_instant) for one in panes),
            "panes at their earliest",
            r"missing:    12: \+a=4 \[0, 5\) on_time 0 at 0",
        ),
        (
            telling(lambda info: evolve(info, watermark=cast("EventTime", int(info.watermark)))),
            "fixed windows",
            r"on_time 0: watermark must be of type EventTime; got \d+ \(int\)",
        ),
        (lambda panes: panes[::-1], "fixed windows", r"out of order: 14: \+b=8"),
    ],
    ids=["drops a pane", "says one twice", "shifts indices", "forgets retractions", "calls all on time",
         "calls none the last", "calls all the first", "forgets pane times", "unwraps watermarks", "loses the order"],
)  # fmt: skip
def test_wrong_panes_are_caught(fault: Callable[[Panes], Panes], job: str, message: str) -> None:
    """Wrong panes fail by the reference and by the transcript, with the lines that differ."""
    assert re.search(message, failed(with_panes(fault))[job])


def test_generated_pipelines_catch_it_too() -> None:
    """Generated pipelines find wrong panes too, with the smallest pipeline and replay as readable text."""
    report = examine_interpreter(with_panes(lambda panes: panes[:-1]), jobs=(), generated=20)
    (found,) = report.failed.values()
    assert len(found.splitlines()) < 15
    assert (
        "> combine_per_key(Sum)\nwindow: one global window, whenever the watermark passes, retracting"
        in found
    )
    assert "missing:    0: +a=0 always on_time 0" in found


def test_drops_that_nobody_mentions_are_caught() -> None:
    """An interpreter that reports drops fails if they are wrong."""
    found = failed(Faulty(lambda run: evolve(run, dropped=())))
    assert "missing:    1 of a [0, 5) expired" in found["a minute of lateness"]
    assert "drops are not those of the reference" in found["a sum per key"]


def test_an_interpreter_may_say_nothing_of_drops() -> None:
    """An interpreter without a report of drops is judged by its panes only."""
    quiet = Faulty(lambda run: evolve(run, dropped=()))
    check_interpreter(quiet, ordered=True, drops=False, generated=20)


def test_the_oracle_catches_what_the_reference_shares() -> None:
    """A wrong value that the reference shares fails by plain Python, in a batch and in the final values of a stream."""

    def halve(pipeline: PCollection[object], timelines: Timelines) -> Timelines:
        del pipeline
        return {source: Timeline(timeline.instants[:1]) for source, timeline in timelines.items()}

    batch = ReferenceBatch()
    halved = Faulty(replace=halve, engine=batch, capabilities=batch.capabilities)
    assert "the final result is not the batch result" in failed(halved)["a sum per key"]
    assert "the final result" in failed(with_panes(lambda panes: panes[:-1]))["two sources as one"]


def test_a_stale_declaration_is_caught() -> None:
    """A feature that is declared missing and runs, even correctly, is a failure that names the feature."""
    shy = Capabilities("shy", {Feature.SESSIONS: "not yet", Feature.AT_COUNT: "never"})
    report = examine_interpreter(Faulty(capabilities=shy), ordered=True)
    wrong = "ran, but uses features that are declared missing: sessions (not yet); the declaration is stale"
    assert report.failed["sessions that touch merge"] == wrong
    assert not report.rejected
    with pytest.raises(AssertionError, match="shy: .* jobs ran, 0 were rejected as declared") as caught:
        check_interpreter(Faulty(capabilities=shy), ordered=True)
    assert wrong in str(caught.value)


@pytest.mark.parametrize("feature", [one for one in Feature if one is not Feature.STREAMING])
def test_each_declaration_is_held_to(feature: Feature) -> None:
    """Any feature that is declared missing and runs is a failure, also for interpreters without streams."""
    able = Capabilities("one short", {feature: "a reason"})
    jobs = [job for job in JOBS if feature in job.features]
    report = examine_interpreter(Faulty(capabilities=able), jobs=jobs)
    assert report.failed.keys() == {job.name for job in jobs}
    assert all(
        f"{feature.description} (a reason); the declaration is stale" in why for why in report.failed.values()
    )


def test_an_undeclared_refusal_is_caught() -> None:
    """A feature that is not declared missing and is refused is a failure."""

    def refuse(pipeline: PCollection[object], timelines: Timelines) -> Timelines:
        if Feature.SESSIONS in features_of(pipeline):
            raise UnsupportedError("no sessions here")
        return timelines

    wrong = "was rejected, but all features that it uses are supported: no sessions here"
    assert failed(Faulty(replace=refuse))["sessions that touch merge"] == wrong
    told_so = Capabilities("picky", {Feature.SESSIONS: "it is picky"})
    picky = Faulty(replace=refuse, capabilities=told_so)
    report = check_interpreter(picky, ordered=True, generated=20)
    assert report.rejected["sessions that touch merge"] == (Feature.SESSIONS,)


def test_a_crash_is_no_refusal() -> None:
    """An error of another kind than a refusal is a failure, declared or not."""

    def stumble(pipeline: PCollection[object], timelines: Timelines) -> Timelines:
        if last_grouping(pipeline.node).windowed_by.strategy.accumulation is Accumulation.DISCARDING:
            raise ValueError("oh")
        return timelines

    assert failed(Faulty(replace=stumble))["discarding"] == "raised ValueError: oh"
    declared = Capabilities("clumsy", {Feature.DISCARDING: "why not"})
    found = failed(Faulty(replace=stumble, capabilities=declared))["discarding"]
    assert (
        found
        == "uses discarding panes (why not), so it must raise UnsupportedError, but it raised ValueError: oh"
    )


def test_a_declaration_that_no_job_exercises_is_caught() -> None:
    """A declaration that no job exercises is a failure."""
    able = Capabilities("one job", {Feature.SESSIONS: "not yet"})
    report = examine_interpreter(Faulty(capabilities=able), jobs=())
    assert not report.passed
    assert str(report).endswith("SESSIONS is declared missing, but no job uses it: sessions")
