"""The conditions that a trigger waits for: whether each is satisfied, and its progress."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from attrs import frozen

from flowalg.runs.clocks import Clocks
from flowalg.triggers.syntax import And, OnceTrigger, Or, OrFinally, Repeat, SequenceOf, Trigger
from flowalg.windows.window import Window
from flowalg_reference.trigger_state import (
    OnceState,
    OrFinallyState,
    RepeatState,
    SequenceState,
    TriggerState,
    is_satisfied,
)


@frozen
class Condition:
    """One condition of a trigger: whether it is satisfied, and its progress as text.

    ``parts`` are the conditions of an ``And`` or ``Or``.
    """

    trigger: OnceTrigger
    satisfied: bool
    progress: str
    parts: tuple[Condition, ...] = ()

    def lines(self) -> Iterator[str]:
        """The condition as a tree of text, with ``[x]`` in front of what is satisfied."""
        yield f"[{'x' if self.satisfied else ' '}] {self.progress}"
        for part in self.parts:
            for line in part.lines():
                yield f"    {line}"


@frozen
class AwaitedCondition:
    """A condition that a trigger waits for, and its path in the trigger, such as ``("repeated", "member 2 of 3")``."""

    path: tuple[str, ...]
    condition: Condition

    def lines(self) -> Iterator[str]:
        """The path, and the condition indented below it."""
        indent = ""
        if self.path:
            yield f"{', '.join(self.path)}:"
            indent = "    "
        for line in self.condition.lines():
            yield f"{indent}{line}"


def awaited_conditions(
    trigger: Trigger, state: TriggerState, window: Window, clocks: Clocks, path: tuple[str, ...] = ()
) -> Iterator[AwaitedCondition]:
    """The conditions that a trigger waits for; none if it has finished."""
    match trigger, state:
        case SequenceOf(triggers=parts), SequenceState(active=active, state=inner):
            member = f"member {active + 1} of {len(parts)}"
            yield from awaited_conditions(parts[active], inner, window, clocks, (*path, member))
        case Repeat(trigger=repeated), RepeatState(state=inner):
            yield from awaited_conditions(repeated, inner, window, clocks, (*path, "repeated"))
        case OrFinally(main=main, until_=until), OrFinallyState(state=inner, until=limit):
            yield from awaited_conditions(main, inner, window, clocks, path)
            yield AwaitedCondition((*path, "until"), evaluate_condition(until, limit, window, clocks))
        case _, OnceState() if isinstance(trigger, OnceTrigger):
            yield AwaitedCondition(path, evaluate_condition(trigger, state, window, clocks))
        case _:
            return


def format_conditions(conditions: Iterable[AwaitedCondition]) -> Iterator[str]:
    """The conditions as indented lines of text."""
    for awaited in conditions:
        for line in awaited.lines():
            yield f"  {line}"


def evaluate_condition(trigger: OnceTrigger, state: OnceState, window: Window, clocks: Clocks) -> Condition:
    """Returns the condition of a once-trigger, for its state and the clocks."""
    parts: tuple[Condition, ...] = ()
    if isinstance(trigger, And | Or):
        parts = tuple(evaluate_condition(part, state, window, clocks) for part in trigger.triggers)
        progress = "all of" if isinstance(trigger, And) else "any of"
    else:
        progress = trigger.progress(state.summary.seen_by(trigger), clocks, window.end)
    return Condition(trigger, is_satisfied(trigger, state, window, clocks), progress, parts)
