"""Describes triggers in English: ``every minute until the watermark passes, then at every late element``."""

from __future__ import annotations

from datetime import timedelta
from typing import assert_never

from flowalg.data.durations import duration_in_words, length_in_words
from flowalg.data.errors import describe_function
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
        case Never():
            return "never"
        case Always():
            return "at once"
        case _:
            return f"when {_condition(trigger)}"


def _describe_part(trigger: Trigger, late: bool) -> str:
    return _repeated(trigger.trigger, "late ") if late and isinstance(trigger, Repeat) else describe(trigger)


def _ends_on_time(trigger: Trigger) -> bool:
    """Whether a trigger ends when the watermark passes, which makes the firings after it late."""
    return isinstance(trigger, AtWatermark) or (
        isinstance(trigger, OrFinally) and isinstance(trigger.until_, AtWatermark)
    )


def _repeated(trigger: Trigger, late: str) -> str:
    match trigger:
        case AtPeriod(period=period, offset=offset):
            return f"every {duration_in_words(period)}" + (
                f" from {duration_in_words(offset)} on" if offset else ""
            )
        case AtCount(count=1):
            return f"at every {late}element"
        case AtCount(count=count):
            return f"at every {count} {late}elements"
        case Never():
            return "never"
        case Always():
            return "at every evaluation with late elements" if late else "at every evaluation"
        case AtWatermark() if late:
            return "with every batch of late elements"
        case AtWatermark():
            return f"whenever {_condition(trigger)}"
        case Repeat(trigger=inner):
            return _repeated(inner, late)
        case SequenceOf() | OrFinally():
            return f"repeatedly ({describe(trigger)})"
        case _:
            return f"whenever {_condition(trigger)}"


def _condition(trigger: OnceTrigger) -> str:
    match trigger:
        case AtWatermark(percentile=None):
            return "the watermark passes"
        case AtWatermark(percentile=percentile):
            return f"the {percentile:.4g} watermark passes"
        case AtCount(count=1):
            return "an element has arrived"
        case AtCount(count=count):
            return f"{count} elements have arrived"
        case AtMeasure(measure=measure, amount=amount):
            return f"the sum of {describe_function(measure)} reaches {amount}"
        case AtElement(predicate=predicate):
            return f"an element satisfies {describe_function(predicate)}"
        case AtPeriod(period=period):
            return f"the next {duration_in_words(period)} begins"
        case AfterDelay(delay=delay):
            return f"{_describe_delay(delay)} since the first element"
        case AfterInactivity(gap=gap):
            return f"no element has arrived for {length_in_words(gap)}"
        case AtValue(combiner=combiner, predicate=predicate):
            return f"the {combiner.title} of the elements satisfies {describe_function(predicate)}"
        case CustomTrigger(ready=ready):
            return f"the summary satisfies {describe_function(ready)}"
        case AtSignal(name=name):
            return f"the signal {name!r} arrives"
        case Never():
            return "never"
        case Always():
            return "at once"
        case And(triggers=triggers):
            return " and ".join(_parenthesize(trigger) for trigger in triggers)
        case Or(triggers=triggers):
            return " or ".join(_parenthesize(trigger) for trigger in triggers)
    assert_never(trigger)


def _describe_delay(delay: timedelta) -> str:
    if not delay:
        return "no time has passed"
    amount = length_in_words(delay)
    return f"{amount} {'have' if amount[0].isdigit() else 'has'} passed"


def _parenthesize(trigger: OnceTrigger) -> str:
    compound = isinstance(trigger, And | Or) and len(trigger.triggers) > 1
    return f"({_condition(trigger)})" if compound else _condition(trigger)


def count_of(number: int, noun: str) -> str:
    """Formats a number with its noun: ``1 choice``, ``44 choices``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
