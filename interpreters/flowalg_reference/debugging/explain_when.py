"""Why a pane came when it did: a run, gone through again and asked."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum, unique
from typing import Generic, TypeVar

from attrs import frozen

from flowalg.data.errors import ArgumentError
from flowalg.data.time import ProcessingTime, show
from flowalg.runs.panes import Change, Pane
from flowalg.windows.window import covers
from flowalg_reference.debugging.conditions import Watched, told, watched
from flowalg_reference.operators import Operators
from flowalg_reference.run import Run, driven, origin_of
from flowalg_reference.trace import Evaluation
from flowalg_reference.trigger_state import fire, ready

A = TypeVar("A")
A_co = TypeVar("A_co", covariant=True)


@unique
class Cause(Enum):
    """What made a window emit."""

    FIRED = "the trigger fired"
    EXPIRED = "the window expired, so that it showed what was left"
    ENDED = "the input ended, so that the window showed what was left"


@frozen
class Explanation(Generic[A_co]):
    """Why a pane came when it did.

    ``watched`` are the clauses that the trigger was waiting for, as they stood when the pane came, and ``waited`` as
    they stood when the window was looked at before; none if that was the first time.
    """

    pane: Pane[A_co]
    grouping: str
    key: object
    cause: Cause
    watched: tuple[Watched, ...]
    waited: tuple[Watched, ...]
    looked_at: ProcessingTime | None

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        info = self.pane.info
        what = f"{info.timing.value.replace('_', '-')} pane {info.index}"
        if info.change is Change.RETRACTION:
            what = f"retraction of pane {info.index}"
        yield f"{self.grouping}: the {what} of {self.key!r} in {self.pane.window}"
        yield f"came at {show(info.processing_time)}, with the watermark at {show(info.watermark)},"
        yield f"because {self.cause.value}:" if self.watched else f"because {self.cause.value}."
        yield from told(self.watched)
        if self.waited and self.looked_at is not None:
            yield f"Before that it was looked at at {show(self.looked_at)}, and waited for:"
            yield from told(self.waited)


def explain_when(run: Run[A], pane: Pane[A]) -> Explanation[A]:
    """Why a pane of a run came when it did: which clauses of the trigger held, and what the clocks read.

    Raises ``ArgumentError`` for a pane that is none of the run's.
    """
    origin = origin_of(run)
    number = _number_of(run, pane)
    evaluations: list[Evaluation] = []
    again = driven(origin, Operators(evaluations.append))
    info = again.panes[number].info
    at = next(i for i, one in enumerate(evaluations) if any(element.info is info for element in one.gave))
    found = evaluations[at]
    before = next((one for one in reversed(evaluations[:at]) if _is_part_of(one, found)), None)
    return Explanation(
        pane,
        found.rules.label,
        found.key,
        _cause(found),
        _watched(found),
        () if before is None else _watched(before, after=True),
        None if before is None else before.clocks.processing_time,
    )


def _number_of(run: Run[A], pane: Pane[A]) -> int:
    same = (i for i, one in enumerate(run.panes) if one is pane)
    equal = (i for i, one in enumerate(run.panes) if one == pane)
    number = next(same, next(equal, None))
    if number is None:
        raise ArgumentError("pane", pane, "one of the panes of the run")
    return number


def _is_part_of(one: Evaluation, whole: Evaluation) -> bool:
    """Whether an evaluation was of the same window, or of one that has become part of it."""
    return one.rules is whole.rules and one.key == whole.key and covers(whole.window, one.window)


def _cause(one: Evaluation) -> Cause:
    if ready(one.rules.strategy.trigger, one.state, one.window, one.clocks):
        return Cause.FIRED
    return Cause.EXPIRED if one.rules.expired(one.window, one.clocks.watermark) else Cause.ENDED


def _watched(one: Evaluation, *, after: bool = False) -> tuple[Watched, ...]:
    """What the trigger was waiting for in an evaluation; what it waited for ``after`` that."""
    trigger, state = one.rules.strategy.trigger, one.state
    if after and ready(trigger, state, one.window, one.clocks):
        state = fire(trigger, state, one.window, one.clocks)
    return tuple(watched(trigger, state, one.window, one.clocks))


__all__ = ["Cause", "Explanation", "explain_when"]
