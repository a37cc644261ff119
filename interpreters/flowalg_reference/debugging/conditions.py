"""The conditions that a trigger is watching, whether each holds, and how far it has come."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import assert_never

from attrs import frozen

from flowalg.data.time import show
from flowalg.elementwise.functions import describe_function
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
from flowalg_reference.trigger_state import (
    InSequence,
    Limited,
    Repeating,
    Seen,
    TriggerState,
    Watching,
    holds,
)


@frozen
class Clause:
    """One condition of a trigger: whether it held, and how far it had come, in words.

    ``parts`` are those of an ``And`` or ``Or``.
    """

    trigger: OnceTrigger
    holds: bool
    progress: str
    parts: tuple[Clause, ...] = ()

    def lines(self) -> Iterator[str]:
        """The clause as a small tree, ``[x]`` before what held."""
        yield f"[{'x' if self.holds else ' '}] {self.progress}"
        for part in self.parts:
            for line in part.lines():
                yield f"    {line}"


@frozen
class Watched:
    """A clause that was being waited for, and where in its trigger: ``("repeated", "member 2 of 3", "until")``."""

    where: tuple[str, ...]
    clause: Clause

    def lines(self) -> Iterator[str]:
        """Where it is, and below it the clause."""
        indent = ""
        if self.where:
            yield f"{', '.join(self.where)}:"
            indent = "    "
        for line in self.clause.lines():
            yield f"{indent}{line}"


def watched(
    trigger: Trigger, state: TriggerState, window: Window, clocks: Clocks, where: tuple[str, ...] = ()
) -> Iterator[Watched]:
    """What a trigger is waiting for: nothing if it has finished."""
    match trigger, state:
        case SequenceOf(triggers=parts), InSequence(active=active, state=inner):
            place = f"member {active + 1} of {len(parts)}"
            yield from watched(parts[active], inner, window, clocks, (*where, place))
        case Repeat(trigger=repeated), Repeating(state=inner):
            yield from watched(repeated, inner, window, clocks, (*where, "repeated"))
        case OrFinally(main=main, until_=until), Limited(state=inner, limit=limit):
            yield from watched(main, inner, window, clocks, where)
            yield Watched((*where, "until"), clause_of(until, limit.seen, window, clocks))
        case _, Watching(seen=seen) if isinstance(trigger, OnceTrigger):
            yield Watched(where, clause_of(trigger, seen, window, clocks))
        case _:
            return


def told(clauses: Iterable[Watched]) -> Iterator[str]:
    """Clauses as lines of text."""
    for one in clauses:
        for line in one.lines():
            yield f"  {line}"


def clause_of(trigger: OnceTrigger, seen: Seen, window: Window, clocks: Clocks) -> Clause:
    """A once-trigger that has seen something, at what the clocks read."""
    parts: tuple[Clause, ...] = ()
    if isinstance(trigger, And | Or):
        parts = tuple(clause_of(part, seen, window, clocks) for part in trigger.triggers)
    return Clause(
        trigger, holds(trigger, seen, window, clocks), _progress(trigger, seen, window, clocks), parts
    )


def _progress(trigger: OnceTrigger, seen: Seen, window: Window, clocks: Clocks) -> str:
    match trigger:
        case AtWatermark(percentile=percentile):
            name = "the watermark" if percentile is None else f"the {percentile:.4g} watermark"
            reads = show(clocks.percentile(percentile))
            return f"{name} passes the end of the window, {show(window.end)}: it is at {reads}"
        case AtCount(count=count):
            return f"elements: {seen.count} of {count}"
        case AtMeasure(measure=measure, amount=amount):
            return f"{describe_function(measure)} adds up: {seen.measures.get(trigger, 0)} of {amount}"
        case AtElement(predicate=predicate):
            some = "one has" if trigger in seen.satisfied else "none has"
            return f"an element satisfies {describe_function(predicate)}: {some}"
        case AtPeriod() | AfterDelay():
            if seen.since is None:
                return "the time since the first element: none has come"
            first, due = show(seen.since), show(trigger.deadline(seen.since))
            return f"due at {due} (the first element came at {first}): it is {show(clocks.processing_time)}"
        case AtSignal(name=name):
            return f"the signal {name!r}: {'given' if name in seen.signals else 'not given'}"
        case Never():
            return "never"
        case Always():
            return "always"
        case And():
            return "all of"
        case Or():
            return "any of"
    assert_never(trigger)


__all__ = ["Clause", "Watched", "clause_of", "told", "watched"]
