"""The trigger automaton: the state of a trigger, when it is ready, and its state after it fires (SEMANTICS section 6).

A once-trigger is a predicate of the clocks and of the elements since it was set, so its state is a summary of these
elements. The state of a composite trigger says which once-triggers observe elements at present.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from attrs import evolve, field, frozen

from flowalg.data.time import ProcessingTime
from flowalg.runs.clocks import Clocks
from flowalg.triggers.leaf import Leaf, Seen
from flowalg.triggers.syntax import And, OnceTrigger, Or, OrFinally, Repeat, SequenceOf, Trigger, leaves
from flowalg.windows.window import Window

AnyLeaf: TypeAlias = Leaf[Any]
"""A leaf, whatever it keeps."""


@frozen
class TriggerSummary:
    """What a trigger needs to know of some changes: how many, their arrivals, and what its leaves keep of them.

    ``first`` and ``last`` are the processing times of the first and the last arrival, or ``None`` without one.
    ``merge`` is associative and commutative, with unit ``TriggerSummary()``.
    """

    count: int = 0
    first: ProcessingTime | None = None
    last: ProcessingTime | None = None
    kept: Mapping[AnyLeaf, object] = field(factory=dict)
    signals: frozenset[str] = frozenset()

    def merge(self, other: TriggerSummary) -> TriggerSummary:
        """Returns the summary of the elements of both."""
        firsts = [summary.first for summary in (self, other) if summary.first is not None]
        lasts = [summary.last for summary in (self, other) if summary.last is not None]
        both = self.kept.keys() & other.kept.keys()
        merged = {leaf: leaf.merge_kept(self.kept[leaf], other.kept[leaf]) for leaf in both}
        return TriggerSummary(
            self.count + other.count,
            min(firsts, default=None),
            max(lasts, default=None),
            {**self.kept, **other.kept, **merged},
            self.signals | other.signals,
        )

    def seen_by(self, leaf: AnyLeaf) -> Seen[Any]:
        """Returns what one leaf has observed."""
        return Seen(self.count, self.first, self.last, self.signals, self.kept.get(leaf))


@frozen
class OnceState:
    """The state of a once-trigger that has not fired: the summary of the elements since it was set."""

    summary: TriggerSummary = TriggerSummary()

    def observe(self, trigger: OnceTrigger, summary: TriggerSummary) -> OnceState:
        """Returns the state after the elements of an instant have been observed, all at once."""
        merged = self.summary.merge(summary)
        changed: list[AnyLeaf] = [leaf for leaf in leaves(trigger) if leaf in summary.kept]
        settled = {leaf: leaf.settle(merged.kept[leaf]) for leaf in changed}
        return OnceState(evolve(merged, kept={**merged.kept, **settled}))


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
    observing: Iterable[AnyLeaf], value: object, weight: int, time: ProcessingTime
) -> TriggerSummary:
    """Returns the summary of one change for the leaves of a trigger: of an element, or of a retraction (weight -1)."""
    kept = {leaf: leaf.keep(value, weight) for leaf in observing}
    return TriggerSummary(
        1, time, time, {leaf: of_leaf for leaf, of_leaf in kept.items() if of_leaf is not None}
    )


def initial_state(trigger: Trigger) -> TriggerState:
    """Returns the state of a trigger that has observed nothing."""
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
    """Returns the state after the elements of an instant have been observed. Only active parts of the trigger
    observe.
    """
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
    """Returns whether the trigger fires when its window is evaluated."""
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
    match trigger:
        case And(triggers=parts):
            return all(is_satisfied(part, state, window, clocks) for part in parts)
        case Or(triggers=parts):
            return any(is_satisfied(part, state, window, clocks) for part in parts)
        case _:
            return trigger.is_ready(state.summary.seen_by(trigger), clocks, window.end)


def fire(trigger: Trigger, state: TriggerState, window: Window, clocks: Clocks) -> TriggerState:
    """Returns the state after a ready trigger has fired."""
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
    """Returns the next processing time at which the trigger becomes ready without new elements; ``None`` if there is
    none.

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
    """Returns the processing time from which the predicate of a once-trigger holds, as far as processing time decides
    it.
    """
    match trigger:
        case And(triggers=parts):
            points = [_satisfied_from(part, state, window, clocks) for part in parts]
            decided = [point for point in points if point is not None]
            return max(decided) if len(decided) == len(points) else None
        case Or(triggers=parts):
            return _soonest(_satisfied_from(part, state, window, clocks) for part in parts)
        case _:
            deadline = trigger.deadline(state.summary.seen_by(trigger))
            if deadline is not None and deadline > clocks.processing_time:
                return deadline
            return clocks.processing_time if is_satisfied(trigger, state, window, clocks) else None


def _soonest(points: Iterable[ProcessingTime | None]) -> ProcessingTime | None:
    return min((point for point in points if point is not None), default=None)
