"""The trigger automaton: the state of a trigger, when it is ready, and its state after it fires (SEMANTICS section 6).

A once-trigger is a predicate of the clocks and of the elements since it was set, so its state is a summary of these
elements. The state of a composite trigger says which once-triggers observe elements at present.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias, assert_never

from attrs import field, frozen

from flowalg.data.time import ProcessingTime
from flowalg.runs.clocks import Clocks
from flowalg.triggers.accumulation import (
    Accumulated,
    AccumulatingTrigger,
    accumulate,
    due_of,
    holds,
    is_custom_ready,
    merge_accumulated,
)
from flowalg.triggers.leaves import DataDrivenTrigger, leaves, measure_of, satisfies
from flowalg.triggers.syntax import (
    AfterDelay,
    AfterInactivity,
    Always,
    And,
    AtCount,
    AtElement,
    AtMeasure,
    AtPeriod,
    AtSignal,
    AtValue,
    AtWatermark,
    CustomTrigger,
    Never,
    OnceTrigger,
    Or,
    OrFinally,
    Repeat,
    SequenceOf,
    Trigger,
)
from flowalg.windows.window import Window


@frozen
class TriggerSummary:
    """What a trigger needs to know of some changes: how many, their arrivals, the results of data-driven triggers.

    ``first`` and ``last`` are the processing times of the first and the last arrival, or ``None`` without one.
    ``merge`` is associative and commutative, with unit ``TriggerSummary()``.
    """

    count: int = 0
    first: ProcessingTime | None = None
    last: ProcessingTime | None = None
    measures: Mapping[AtMeasure, int] = field(factory=dict)
    satisfied: frozenset[AtElement] = frozenset()
    signals: frozenset[str] = frozenset()
    accumulated: Mapping[AccumulatingTrigger, Accumulated] = field(factory=dict)

    def merge(self, other: TriggerSummary) -> TriggerSummary:
        """The summary of the elements of both."""
        firsts = [each.first for each in (self, other) if each.first is not None]
        lasts = [each.last for each in (self, other) if each.last is not None]
        measured = {*self.measures, *other.measures}
        measures = {leaf: self.measures.get(leaf, 0) + other.measures.get(leaf, 0) for leaf in measured}
        both = self.accumulated.keys() & other.accumulated.keys()
        merged = {
            leaf: merge_accumulated(leaf, self.accumulated[leaf], other.accumulated[leaf]) for leaf in both
        }
        return TriggerSummary(
            self.count + other.count,
            min(firsts, default=None),
            max(lasts, default=None),
            measures,
            self.satisfied | other.satisfied,
            self.signals | other.signals,
            {**self.accumulated, **other.accumulated, **merged},
        )


@frozen
class OnceState:
    """The state of a once-trigger that has not fired: the summary of the elements since it was set.

    ``latched`` has the leaves whose predicate has held of the combined value after some instant.
    """

    summary: TriggerSummary = TriggerSummary()
    latched: frozenset[AtValue] = frozenset()

    def observe(self, trigger: OnceTrigger, summary: TriggerSummary) -> OnceState:
        """The state after the elements of an instant have been observed, all at once."""
        known = self.summary.merge(summary)
        held = (
            leaf
            for leaf in leaves(trigger)
            if isinstance(leaf, AtValue)
            and leaf not in self.latched
            and leaf in summary.accumulated
            and holds(leaf, known.accumulated[leaf])
        )
        return OnceState(known, self.latched.union(held))


@frozen
class SequenceState:
    """The state of a ``SequenceOf``: the index of its active member, and the state of that member."""

    active: int
    state: TriggerState


@frozen
class RepeatState:
    """The state of a ``Repeat``: that of the repeated trigger."""

    state: TriggerState


@frozen
class OrFinallyState:
    """The state of an ``OrFinally``: that of its main trigger, and that of its limit, which observes from the start."""

    state: TriggerState
    until: OnceState


@frozen
class Finished:
    """The state of a trigger that will not fire again."""


TriggerState: TypeAlias = OnceState | SequenceState | RepeatState | OrFinallyState | Finished


def summarize(
    data: tuple[DataDrivenTrigger, ...], value: object, weight: int, time: ProcessingTime
) -> TriggerSummary:
    """The summary of one change, for a trigger with these data-driven leaves.

    A retraction (weight -1) counts as a value does, but it is subtracted from combined values.
    """
    accumulating = [leaf for leaf in data if isinstance(leaf, AccumulatingTrigger)]
    kept = {leaf: accumulate(leaf, value, weight) for leaf in accumulating}
    accumulated = {leaf: each for leaf, each in kept.items() if each is not None}
    measures = {leaf: measure_of(leaf, value) for leaf in data if isinstance(leaf, AtMeasure)}
    satisfied = frozenset(leaf for leaf in data if isinstance(leaf, AtElement) and satisfies(leaf, value))
    return TriggerSummary(1, time, time, measures, satisfied, accumulated=accumulated)


def initial_state(trigger: Trigger) -> TriggerState:
    """The state of a trigger that has observed nothing."""
    match trigger:
        case SequenceOf(triggers=parts):
            return SequenceState(0, initial_state(parts[0]))
        case Repeat(trigger=inner):
            return RepeatState(initial_state(inner))
        case OrFinally(main=main):
            return OrFinallyState(initial_state(main), OnceState())
        case _:
            return OnceState()


def observe(trigger: Trigger, state: TriggerState, summary: TriggerSummary) -> TriggerState:
    """The state after the elements of an instant have been observed. Only active parts of the trigger observe."""
    match trigger, state:
        case SequenceOf(triggers=parts), SequenceState(active=active, state=inner):
            return SequenceState(active, observe(parts[active], inner, summary))
        case Repeat(trigger=repeated), RepeatState(state=inner):
            return RepeatState(observe(repeated, inner, summary))
        case OrFinally(main=main, until_=until), OrFinallyState(state=inner, until=limit):
            return OrFinallyState(observe(main, inner, summary), limit.observe(until, summary))
        case _, OnceState() if isinstance(trigger, OnceTrigger):
            return state.observe(trigger, summary)
        case _:
            return state


def is_ready(trigger: Trigger, state: TriggerState, window: Window, clocks: Clocks) -> bool:
    """Whether the trigger fires when its window is evaluated."""
    match trigger, state:
        case SequenceOf(triggers=parts), SequenceState(active=active, state=inner):
            return is_ready(parts[active], inner, window, clocks)
        case Repeat(trigger=repeated), RepeatState(state=inner):
            return is_ready(repeated, inner, window, clocks)
        case OrFinally(main=main, until_=until), OrFinallyState(state=inner, until=limit):
            return is_satisfied(until, limit, window, clocks) or is_ready(main, inner, window, clocks)
        case _, OnceState() if isinstance(trigger, OnceTrigger):
            return is_satisfied(trigger, state, window, clocks)
        case _:
            return False


def is_satisfied(trigger: OnceTrigger, state: OnceState, window: Window, clocks: Clocks) -> bool:
    """Evaluate the predicate of a once-trigger."""
    summary = state.summary
    match trigger:
        case AtWatermark(percentile=percentile):
            return clocks.percentile(percentile) >= window.end
        case AtCount(count=count):
            return summary.count >= count
        case AtMeasure(amount=amount):
            return summary.measures.get(trigger, 0) >= amount
        case AtElement():
            return trigger in summary.satisfied
        case AtPeriod() | AfterDelay() | AfterInactivity():
            deadline = deadline_of(trigger, summary)
            return deadline is not None and clocks.processing_time >= deadline
        case AtValue():
            return trigger in state.latched
        case CustomTrigger():
            return _is_custom_ready(trigger, summary, window, clocks)
        case AtSignal(name=name):
            return name in summary.signals
        case Never():
            return False
        case Always():
            return True
        case And(triggers=parts):
            return all(is_satisfied(part, state, window, clocks) for part in parts)
        case Or(triggers=parts):
            return any(is_satisfied(part, state, window, clocks) for part in parts)
    assert_never(trigger)


def _is_custom_ready(trigger: CustomTrigger, summary: TriggerSummary, window: Window, clocks: Clocks) -> bool:
    due = due_time(trigger, summary)
    if due is None or clocks.processing_time < due or summary.first is None or summary.last is None:
        return False
    return is_custom_ready(
        trigger,
        summary.accumulated[trigger],
        summary.first,
        summary.last,
        clocks.processing_time,
        clocks.watermark,
        window.end,
    )


def due_time(trigger: CustomTrigger, summary: TriggerSummary) -> ProcessingTime | None:
    """The processing time before which a user-defined trigger is not ready; ``None`` if it needs another element."""
    observed = summary.accumulated.get(trigger)
    if observed is None or summary.first is None or summary.last is None:
        return None
    return due_of(trigger, observed, summary.first, summary.last)


def deadline_of(
    trigger: AtPeriod | AfterDelay | AfterInactivity, summary: TriggerSummary
) -> ProcessingTime | None:
    """The processing time from which a timed trigger is ready, or ``None`` before the first arrival."""
    arrival = summary.last if isinstance(trigger, AfterInactivity) else summary.first
    return None if arrival is None else trigger.deadline(arrival)


def fire(trigger: Trigger, state: TriggerState, window: Window, clocks: Clocks) -> TriggerState:
    """The state after a ready trigger has fired."""
    match trigger, state:
        case SequenceOf(triggers=parts), SequenceState(active=active, state=inner):
            after = fire(parts[active], inner, window, clocks)
            if not isinstance(after, Finished):
                return SequenceState(active, after)
            last = active + 1 == len(parts)
            return Finished() if last else SequenceState(active + 1, initial_state(parts[active + 1]))
        case Repeat(trigger=repeated), RepeatState(state=inner):
            after = fire(repeated, inner, window, clocks)
            return RepeatState(initial_state(repeated) if isinstance(after, Finished) else after)
        case OrFinally(main=main, until_=until), OrFinallyState(state=inner, until=limit):
            if is_satisfied(until, limit, window, clocks):
                return Finished()
            after = fire(main, inner, window, clocks)
            return Finished() if isinstance(after, Finished) else OrFinallyState(after, limit)
        case _:
            return Finished()


def next_deadline(
    trigger: Trigger, state: TriggerState, window: Window, clocks: Clocks
) -> ProcessingTime | None:
    """The next processing time at which the trigger becomes ready without new elements; ``None`` if there is none.

    A once-trigger has one deadline: when all of it becomes ready, not when a part of it does. So equal triggers have
    equal deadlines.
    """
    match trigger, state:
        case SequenceOf(triggers=parts), SequenceState(active=active, state=inner):
            return next_deadline(parts[active], inner, window, clocks)
        case Repeat(trigger=repeated), RepeatState(state=inner):
            return next_deadline(repeated, inner, window, clocks)
        case OrFinally(main=main, until_=until), OrFinallyState(state=inner, until=limit):
            at_limit = next_deadline(until, limit, window, clocks)
            return _soonest((at_limit, next_deadline(main, inner, window, clocks)))
        case _, OnceState() if isinstance(trigger, OnceTrigger):
            point = _satisfied_from(trigger, state, window, clocks)
            return point if point is not None and point > clocks.processing_time else None
        case _:
            return None


def _satisfied_from(
    trigger: OnceTrigger, state: OnceState, window: Window, clocks: Clocks
) -> ProcessingTime | None:
    """The processing time from which the predicate of a once-trigger holds, as far as processing time decides it."""
    match trigger:
        case AtPeriod() | AfterDelay() | AfterInactivity():
            return deadline_of(trigger, state.summary)
        case CustomTrigger() if is_waiting(trigger, state.summary, clocks):
            return due_time(trigger, state.summary)
        case And(triggers=parts):
            points = [_satisfied_from(part, state, window, clocks) for part in parts]
            known = [point for point in points if point is not None]
            return max(known) if len(known) == len(points) else None
        case Or(triggers=parts):
            return _soonest(_satisfied_from(part, state, window, clocks) for part in parts)
        case _:
            return clocks.processing_time if is_satisfied(trigger, state, window, clocks) else None


def is_waiting(trigger: CustomTrigger, summary: TriggerSummary, clocks: Clocks) -> bool:
    """Whether a user-defined trigger waits for the time at which it is due."""
    due = due_time(trigger, summary)
    return due is not None and due > clocks.processing_time


def _soonest(points: Iterable[ProcessingTime | None]) -> ProcessingTime | None:
    return min((point for point in points if point is not None), default=None)
