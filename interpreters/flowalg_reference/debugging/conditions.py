"""The conditions that a trigger waits for: whether each is satisfied, and its progress."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import assert_never

from attrs import frozen

from flowalg.combiners.subtraction import is_signed
from flowalg.data.errors import describe_function, format_value
from flowalg.runs.clocks import Clocks
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
from flowalg_reference.trigger_state import (
    OnceState,
    OrFinallyState,
    RepeatState,
    SequenceState,
    TriggerState,
    TriggerSummary,
    due_time,
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
    """The condition of a once-trigger, for its state and the clocks."""
    parts: tuple[Condition, ...] = ()
    if isinstance(trigger, And | Or):
        parts = tuple(evaluate_condition(part, state, window, clocks) for part in trigger.triggers)
    return Condition(
        trigger,
        is_satisfied(trigger, state, window, clocks),
        _progress(trigger, state, window, clocks),
        parts,
    )


def _progress(trigger: OnceTrigger, state: OnceState, window: Window, clocks: Clocks) -> str:
    summary = state.summary
    match trigger:
        case AtWatermark(percentile=percentile):
            name = "the watermark" if percentile is None else f"the {percentile:.4g} watermark"
            reads = clocks.percentile(percentile)
            return f"{name} passes the end of the window, {window.end}: it is at {reads}"
        case AtCount(count=count):
            return f"elements: {summary.count} of {count}"
        case AtMeasure(measure=measure, amount=amount):
            return f"{describe_function(measure)} adds up: {summary.measures.get(trigger, 0)} of {amount}"
        case AtElement(predicate=predicate):
            some = "one has" if trigger in summary.satisfied else "none has"
            return f"an element satisfies {describe_function(predicate)}: {some}"
        case AtPeriod() | AfterDelay():
            if summary.first is None:
                return "the time since the first element: none has arrived"
            due = trigger.deadline(summary.first)
            return (
                f"due at {due} (the first element arrived at {summary.first}): it is {clocks.processing_time}"
            )
        case AfterInactivity():
            if summary.last is None:
                return "the time since the last element: none has arrived"
            due = trigger.deadline(summary.last)
            return (
                f"due at {due} (the last element arrived at {summary.last}): it is {clocks.processing_time}"
            )
        case AtValue(combiner=combiner, predicate=predicate):
            return f"{combiner.title} satisfies {describe_function(predicate)}: {_combined_value(trigger, state)}"
        case CustomTrigger(ready=ready):
            return f"{describe_function(ready)} holds of the summary: {_custom_progress(trigger, summary, clocks)}"
        case AtSignal(name=name):
            return f"the signal {name!r}: {'given' if name in summary.signals else 'not given'}"
        case Never():
            return "never"
        case Always():
            return "always"
        case And():
            return "all of"
        case Or():
            return "any of"
    assert_never(trigger)


def _combined_value(trigger: AtValue, state: OnceState) -> str:
    observed = state.summary.accumulated.get(trigger)
    if observed is None:
        return "nothing has arrived"
    if observed.size <= 0 and not is_signed(trigger.combiner):
        return "everything has been retracted"
    value = f"it is {format_value(trigger.combiner.extract(observed.accumulator))}"
    return f"it has, and {value}" if trigger in state.latched else value


def _custom_progress(trigger: CustomTrigger, summary: TriggerSummary, clocks: Clocks) -> str:
    observed = summary.accumulated.get(trigger)
    if observed is None:
        return "nothing has arrived"
    value, due = f"it is {format_value(observed.accumulator)}", due_time(trigger, summary)
    if due is None:
        return f"{value}, and not due before the next element"
    return (
        f"{value}, and due at {due}: it is {clocks.processing_time}"
        if due > clocks.processing_time
        else value
    )
