"""Describes triggers in English: ``every minute until the watermark passes, then at every late element``."""

from __future__ import annotations

from flowalg.triggers.leaf import Leaf
from flowalg.triggers.syntax import (
    And,
    AtWatermark,
    OnceTrigger,
    Or,
    OrFinally,
    Repeat,
    SequenceOf,
    Trigger,
    require_trigger,
)


def describe(trigger: Trigger) -> str:
    """Returns a one-line description of when a trigger fires."""
    require_trigger("trigger", trigger)
    match trigger:
        case SequenceOf(triggers=triggers):
            is_late = [any(map(_ends_on_time, triggers[:number])) for number in range(len(triggers))]
            return ", then ".join(
                _describe_part(trigger, after) for trigger, after in zip(triggers, is_late, strict=True)
            )
        case Repeat(trigger=inner):
            return _repeated(inner, "")
        case OrFinally(main=main, until_=until):
            return f"{describe(main)} until {_condition(until)}"
        case Leaf(when=when):
            return when
        case _:
            return f"when {_condition(trigger)}"


def _describe_part(trigger: Trigger, late: bool) -> str:
    return _repeated(trigger.trigger, "late ") if late and isinstance(trigger, Repeat) else describe(trigger)


def _ends_on_time(trigger: Trigger) -> bool:
    """Returns whether a trigger ends when the watermark passes, which makes the firings after it late."""
    return isinstance(trigger, AtWatermark) or (
        isinstance(trigger, OrFinally) and isinstance(trigger.until_, AtWatermark)
    )


def _repeated(trigger: Trigger, late: str) -> str:
    match trigger:
        case Leaf():
            return trigger.whenever(late)
        case Repeat(trigger=inner):
            return _repeated(inner, late)
        case SequenceOf() | OrFinally():
            return f"repeatedly ({describe(trigger)})"
        case _:
            return f"whenever {_condition(trigger)}"


def _condition(trigger: OnceTrigger) -> str:
    if isinstance(trigger, And | Or):
        junction = " and " if isinstance(trigger, And) else " or "
        return junction.join(map(_parenthesize, trigger.triggers))
    return trigger.condition


def _parenthesize(trigger: OnceTrigger) -> str:
    compound = isinstance(trigger, And | Or) and len(trigger.triggers) > 1
    return f"({_condition(trigger)})" if compound else _condition(trigger)


def count_of(number: int, noun: str) -> str:
    """Formats a number with its noun: ``1 choice``, ``44 choices``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
