"""Triggers and their operators: expressions and the types that both checkers infer; checked, never run.

A parameter of type ``OnceTrigger`` or ``Trigger`` represents every class of that union.
"""

# pyright: strict

from __future__ import annotations

from datetime import timedelta
from typing import assert_type

from flowalg import (
    AtCount,
    AtWatermark,
    Count,
    Max,
    Mean,
    Repeat,
    SequenceOf,
    Sum,
)
from flowalg.triggers import (
    EVERY_INSTANT,
    AfterDelay,
    Always,
    And,
    AtElement,
    AtMeasure,
    AtValue,
    CustomTrigger,
    Never,
    OnceTrigger,
    Or,
    Trigger,
)


def constructors() -> None:
    """Triggers of plain functions, and of composed triggers."""
    assert_type(AtMeasure(lambda f: f.seats, 100), AtMeasure)
    assert_type(AtElement(lambda f: f.seats > 3), AtElement)
    assert_type(And(AtCount(1), AtWatermark() | Never()), And)
    assert_type(Or(AtCount(1), AtWatermark() & Always()), Or)
    assert_type(Repeat(AtCount(1) >> AtCount(2)), Repeat)


def triggers_on_the_aggregate() -> None:
    """The predicate has the result of the combiner as its argument."""
    assert_type(AtValue(Sum.of(lambda f: f.seats), lambda total: total > 100), AtValue)
    assert_type(AtValue(Count(), lambda count: count >= 3), AtValue)
    assert_type(AtValue(Mean(), lambda mean: mean > 0.5), AtValue)
    assert_type(AtValue(Max.of(lambda f: f.seats), lambda greatest: greatest > 9), AtValue)
    assert_type(AtValue(Sum(), lambda total: total > 1) & AtWatermark(), And)


def user_defined_triggers() -> None:
    """The types of functions follow from the summary; ``ready`` receives clocks if the trigger has a ``due``."""
    assert_type(
        CustomTrigger(
            zero=0,
            add=lambda total, f: total + f.seats,
            merge=lambda a, b: a + b,
            ready=lambda total: total > 9,
        ),
        CustomTrigger,
    )
    assert_type(
        CustomTrigger(
            zero=0,
            add=lambda total, f: total + 1,
            merge=lambda a, b: a + b,
            ready=lambda total, clocks: total > 9 or clocks.watermark >= clocks.window_end,
            due=lambda total, arrivals: arrivals.last + timedelta(minutes=total),
        ),
        CustomTrigger,
    )
    assert_type(
        CustomTrigger(
            zero=0,
            add=lambda total, f: total + 1,
            merge=lambda a, b: a + b,
            ready=lambda total, clocks: total > clocks.processing_time.hour,
            due=EVERY_INSTANT,
        ),
        CustomTrigger,
    )


def operators(once: OnceTrigger, other: OnceTrigger, trigger: Trigger) -> None:
    """Operators of once-triggers, and of all triggers."""
    assert_type(once & other, And)
    assert_type(once | other, Or)
    assert_type(trigger >> other, SequenceOf)
    assert_type(once >> trigger, SequenceOf)


def leaves(delay: AfterDelay) -> None:
    """A leaf reads what it has kept."""
    delay.keep("text", 1)
    delay.merge_kept(None, None)
