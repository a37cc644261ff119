"""The trigger automaton: what a trigger has seen, when it is ready, and what becomes of it when it fires.

SEMANTICS section 6. A once-trigger is a predicate of what has been seen since it was set, and of the clocks; so its
state is just what it has seen. The rest of the automaton says which of them are watching.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias, assert_never

from attrs import evolve, field, frozen

from flowalg.data.errors import ElementError, format_value
from flowalg.data.time import ProcessingTime
from flowalg.data.values import MAX_INTEGER
from flowalg.elementwise.functions import user_function_error
from flowalg.triggers.syntax import (
    AfterDelay,
    Always,
    And,
    AtCount,
    AtElement,
    AtMeasure,
    AtPeriod,
    AtSignal,
    AtWatermark,
    Never,
    OnceTrigger,
    Or,
    OrFinally,
    Repeat,
    SequenceOf,
    Trigger,
)
from flowalg.windows.window import Window
from flowalg_reference.elements import Clocks

Leaf: TypeAlias = AtMeasure | AtElement


@frozen
class Seen:
    """A summary of some elements: how many, since when, and what the data-driven leaves make of them.

    ``merge`` is associative and commutative, with unit ``Seen()``.
    """

    count: int = 0
    since: ProcessingTime | None = None
    measures: Mapping[AtMeasure, int] = field(factory=dict)
    satisfied: frozenset[AtElement] = frozenset()
    signals: frozenset[str] = frozenset()

    def merge(self, other: Seen) -> Seen:
        """The summary of both."""
        times = [one.since for one in (self, other) if one.since is not None]
        leaves = {*self.measures, *other.measures}
        measures = {leaf: self.measures.get(leaf, 0) + other.measures.get(leaf, 0) for leaf in leaves}
        return Seen(
            self.count + other.count,
            min(times, default=None),
            measures,
            self.satisfied | other.satisfied,
            self.signals | other.signals,
        )


@frozen
class Watching:
    """A once-trigger that has not fired, and what it has seen since it was set."""

    seen: Seen = Seen()


@frozen
class InSequence:
    """Which member of a sequence is active, and its state."""

    active: int
    state: TriggerState


@frozen
class Repeating:
    """The state of what is repeated."""

    state: TriggerState


@frozen
class Limited:
    """The state of an ``OrFinally``: of its main trigger, and what its limit has seen from the start."""

    state: TriggerState
    limit: Watching


@frozen
class Finished:
    """A trigger that will not fire again."""


TriggerState: TypeAlias = Watching | InSequence | Repeating | Limited | Finished


def leaves(trigger: Trigger) -> Iterator[OnceTrigger]:
    """The once-triggers at the leaves of a trigger."""
    match trigger:
        case And(triggers=parts) | Or(triggers=parts) | SequenceOf(triggers=parts):
            for part in parts:
                yield from leaves(part)
        case Repeat(trigger=inner):
            yield from leaves(inner)
        case OrFinally(main=main, until_=until):
            yield from leaves(main)
            yield from leaves(until)
        case _:
            yield trigger


def seen_of(data: tuple[Leaf, ...], value: object, weight: int, time: ProcessingTime) -> Seen:
    """What one element is to a trigger with these data-driven leaves. A retraction only says that it came."""
    if weight < 0:
        return Seen(since=time)
    measures = {leaf: _measured(leaf, value) for leaf in data if isinstance(leaf, AtMeasure)}
    satisfied = frozenset(leaf for leaf in data if isinstance(leaf, AtElement) and _satisfies(leaf, value))
    return Seen(1, time, measures, satisfied)


def _measured(leaf: AtMeasure, value: object) -> int:
    try:
        amount = leaf.measure(value)
    except Exception as cause:
        raise user_function_error("AtMeasure", leaf.measure, value, cause) from cause
    if isinstance(amount, bool) or not isinstance(amount, int) or not 0 <= amount <= MAX_INTEGER:
        raise ElementError(
            f"AtMeasure gave {format_value(amount)} for {format_value(value)}; it must be a non-negative int"
        )
    return amount


def _satisfies(leaf: AtElement, value: object) -> bool:
    try:
        answer = leaf.predicate(value)
    except Exception as cause:
        raise user_function_error("AtElement", leaf.predicate, value, cause) from cause
    if not isinstance(answer, bool):
        raise ElementError(
            f"AtElement gave {format_value(answer)} for {format_value(value)}; it must be a bool"
        )
    return answer


def start(trigger: Trigger) -> TriggerState:
    """The state of a trigger that has seen nothing yet."""
    match trigger:
        case SequenceOf(triggers=parts):
            return InSequence(0, start(parts[0]))
        case Repeat(trigger=inner):
            return Repeating(start(inner))
        case OrFinally(main=main):
            return Limited(start(main), Watching())
        case _:
            return Watching()


def observe(state: TriggerState, seen: Seen) -> TriggerState:
    """The state after elements have been observed; only what is active observes."""
    match state:
        case Watching(seen=before):
            return Watching(before.merge(seen))
        case InSequence(state=inner) | Repeating(state=inner):
            return evolve(state, state=observe(inner, seen))
        case Limited(state=inner, limit=limit):
            return Limited(observe(inner, seen), Watching(limit.seen.merge(seen)))
        case Finished():
            return state
    assert_never(state)


def ready(trigger: Trigger, state: TriggerState, window: Window, clocks: Clocks) -> bool:
    """Whether the trigger fires if its window is evaluated now."""
    match trigger, state:
        case SequenceOf(triggers=parts), InSequence(active=active, state=inner):
            return ready(parts[active], inner, window, clocks)
        case Repeat(trigger=repeated), Repeating(state=inner):
            return ready(repeated, inner, window, clocks)
        case OrFinally(main=main, until_=until), Limited(state=inner, limit=limit):
            return holds(until, limit.seen, window, clocks) or ready(main, inner, window, clocks)
        case _, Watching(seen=seen) if isinstance(trigger, OnceTrigger):
            return holds(trigger, seen, window, clocks)
        case _:
            return False


def holds(trigger: OnceTrigger, seen: Seen, window: Window, clocks: Clocks) -> bool:
    """The predicate of a once-trigger."""
    match trigger:
        case AtWatermark(percentile=percentile):
            return clocks.percentile(percentile) >= window.end
        case AtCount(count=count):
            return seen.count >= count
        case AtMeasure(amount=amount):
            return seen.measures.get(trigger, 0) >= amount
        case AtElement():
            return trigger in seen.satisfied
        case AtPeriod() | AfterDelay():
            return seen.since is not None and clocks.processing_time >= trigger.deadline(seen.since)
        case AtSignal(name=name):
            return name in seen.signals
        case Never():
            return False
        case Always():
            return True
        case And(triggers=parts):
            return all(holds(part, seen, window, clocks) for part in parts)
        case Or(triggers=parts):
            return any(holds(part, seen, window, clocks) for part in parts)
    assert_never(trigger)


def fire(trigger: Trigger, state: TriggerState, window: Window, clocks: Clocks) -> TriggerState:
    """The state after a ready trigger has fired."""
    match trigger, state:
        case SequenceOf(triggers=parts), InSequence(active=active, state=inner):
            after = fire(parts[active], inner, window, clocks)
            if not isinstance(after, Finished):
                return InSequence(active, after)
            last = active + 1 == len(parts)
            return Finished() if last else InSequence(active + 1, start(parts[active + 1]))
        case Repeat(trigger=repeated), Repeating(state=inner):
            after = fire(repeated, inner, window, clocks)
            return Repeating(start(repeated) if isinstance(after, Finished) else after)
        case OrFinally(main=main, until_=until), Limited(state=inner, limit=limit):
            if holds(until, limit.seen, window, clocks):
                return Finished()
            after = fire(main, inner, window, clocks)
            return Finished() if isinstance(after, Finished) else Limited(after, limit)
        case _:
            return Finished()


def due(trigger: Trigger, state: TriggerState, window: Window, clocks: Clocks) -> ProcessingTime | None:
    """When, after now, a trigger becomes ready by itself, if nothing but the processing time goes on; else ``None``.

    It is when all of a once-trigger becomes ready, and not when a part of it does: equal ones are due at equal times.
    """
    match trigger, state:
        case SequenceOf(triggers=parts), InSequence(active=active, state=inner):
            return due(parts[active], inner, window, clocks)
        case Repeat(trigger=repeated), Repeating(state=inner):
            return due(repeated, inner, window, clocks)
        case OrFinally(main=main, until_=until), Limited(state=inner, limit=limit):
            return _soonest((due(until, limit, window, clocks), due(main, inner, window, clocks)))
        case _, Watching(seen=seen) if isinstance(trigger, OnceTrigger):
            point = _holds_at(trigger, seen, window, clocks)
            return point if point is not None and point > clocks.processing_time else None
        case _:
            return None


def _holds_at(trigger: OnceTrigger, seen: Seen, window: Window, clocks: Clocks) -> ProcessingTime | None:
    """From when on the predicate of a once-trigger holds, as far as processing time decides it."""
    match trigger:
        case AtPeriod() | AfterDelay():
            return None if seen.since is None else trigger.deadline(seen.since)
        case And(triggers=parts):
            points = [_holds_at(part, seen, window, clocks) for part in parts]
            known = [point for point in points if point is not None]
            return max(known) if len(known) == len(points) else None
        case Or(triggers=parts):
            return _soonest(_holds_at(part, seen, window, clocks) for part in parts)
        case _:
            return clocks.processing_time if holds(trigger, seen, window, clocks) else None


def _soonest(points: Iterable[ProcessingTime | None]) -> ProcessingTime | None:
    return min((point for point in points if point is not None), default=None)


__all__ = [
    "Finished",
    "InSequence",
    "Leaf",
    "Limited",
    "Repeating",
    "Seen",
    "TriggerState",
    "Watching",
    "due",
    "fire",
    "holds",
    "leaves",
    "observe",
    "ready",
    "seen_of",
    "start",
]
