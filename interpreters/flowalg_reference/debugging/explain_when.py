"""Why an output was emitted when it was, from a recorded replay: a pane by an evaluation, an element by a call."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum, unique
from typing import Generic, TypeVar, overload

from attrs import frozen

from flowalg.data.errors import ArgumentError
from flowalg.data.time import ProcessingTime
from flowalg.data.views import HasView
from flowalg.runs.output import OutputElement
from flowalg.runs.panes import Change, Pane
from flowalg.windows.window import covers
from flowalg_reference.debugging.conditions import AwaitedCondition, awaited_conditions, format_conditions
from flowalg_reference.debugging.explain_output import OutputExplanation, explain_output
from flowalg_reference.debugging.recorded_runs import recording_of
from flowalg_reference.debugging.recording import Recording
from flowalg_reference.run import ReferenceRun, spec_of
from flowalg_reference.trace import Evaluation
from flowalg_reference.trigger_state import fire, is_ready

A = TypeVar("A")
A_co = TypeVar("A_co", covariant=True)


@unique
class Cause(Enum):
    """Why a window emitted a pane."""

    FIRED = "the trigger fired"
    CAME_APART = "the window came apart: elements that had merged it were retracted"
    EXPIRED = "the window expired and emitted its pending changes"
    ENDED = "the input ended and the window emitted its pending changes"


@frozen
class Explanation(HasView, Generic[A_co]):
    """Why a pane was emitted when it was.

    ``conditions`` are those that the trigger was waiting for when the pane was emitted, and ``previous_conditions``
    those after the evaluation before, at ``last_evaluated``; empty and ``None`` if there was none.
    """

    pane: Pane[A_co]
    grouping: str
    key: object
    cause: Cause
    conditions: tuple[AwaitedCondition, ...]
    previous_conditions: tuple[AwaitedCondition, ...]
    last_evaluated: ProcessingTime | None

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        info = self.pane.info
        what = f"{info.timing.value.replace('_', '-')} pane {info.index}"
        if info.change is Change.RETRACTION:
            what = f"retraction of pane {info.index}"
        yield f"{self.grouping}: the {what} of {self.key!r} in {self.pane.window}"
        yield f"was emitted at {info.processing_time}, with the watermark at {info.watermark},"
        yield f"because {self.cause.value}:" if self.conditions else f"because {self.cause.value}."
        yield from format_conditions(self.conditions)
        if self.previous_conditions and self.last_evaluated is not None:
            yield f"At its previous evaluation, at {self.last_evaluated}, it was waiting for:"
            yield from format_conditions(self.previous_conditions)


@overload
def explain_when(run: ReferenceRun[A], output: Pane[A]) -> Explanation[A]: ...
@overload
def explain_when(run: ReferenceRun[A], output: OutputElement[A]) -> OutputExplanation[A]: ...
def explain_when(
    run: ReferenceRun[A], output: Pane[A] | OutputElement[A]
) -> Explanation[A] | OutputExplanation[A]:
    """Explain why an output of a run was emitted when it was.

    For a pane, these are the trigger's conditions and the clocks. For an element of a computation, it is the element
    that it observed or the timer that fired, with the clocks and the state. Raises ``ArgumentError`` for an output that
    is not in the run or that nothing has emitted but a source, and for a run of another engine.
    """
    recording = recording_of(spec_of(run))
    if isinstance(output, OutputElement):
        recorded, effect = recording.elements[_position(run.elements, output)]
        return explain_output(recording, recorded, effect, output)
    return explain_pane(recording, recording.panes[_position(run.panes, output)], output)


def explain_pane(recording: Recording, recorded: Pane[object], pane: Pane[A]) -> Explanation[A]:
    """Returns the explanation of a pane that a recording has as ``recorded``."""
    evaluation = recording.evaluation_of(recorded)
    earlier = reversed(recording.evaluations_before(recorded))
    previous = next((candidate for candidate in earlier if covers(evaluation.window, candidate.window)), None)
    return Explanation(
        pane,
        evaluation.spec.label,
        evaluation.key,
        _cause(evaluation),
        _conditions(evaluation),
        () if previous is None else _conditions(previous, after=True),
        None if previous is None else previous.clocks.processing_time,
    )


def _position(outputs: Sequence[object], output: object) -> int:
    """Returns the position of an output in the run: of the same object, or else of an equal one."""
    same = (i for i, candidate in enumerate(outputs) if candidate is output)
    equal = (i for i, candidate in enumerate(outputs) if candidate == output)
    position = next(same, next(equal, None))
    if position is None:
        raise ArgumentError("output", output, "one of the panes or elements of the run")
    return position


def _cause(evaluation: Evaluation) -> Cause:
    spec, clocks = evaluation.spec, evaluation.clocks
    if evaluation.vacant:
        return Cause.CAME_APART
    if is_ready(spec.strategy.trigger, evaluation.trigger_state, evaluation.window, clocks):
        return Cause.FIRED
    return Cause.EXPIRED if spec.expired(evaluation.window, clocks.watermark) else Cause.ENDED


def _conditions(evaluation: Evaluation, *, after: bool = False) -> tuple[AwaitedCondition, ...]:
    """Returns the conditions that the trigger was waiting for at an evaluation, or ``after`` it."""
    trigger, state = evaluation.spec.strategy.trigger, evaluation.trigger_state
    if evaluation.vacant:
        return ()
    if after and is_ready(trigger, state, evaluation.window, evaluation.clocks):
        state = fire(trigger, state, evaluation.window, evaluation.clocks)
    return tuple(awaited_conditions(trigger, state, evaluation.window, evaluation.clocks))
