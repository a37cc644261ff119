"""Triggers and their operators: expressions and the types that both checkers infer; checked, never run.

A parameter of type ``OnceTrigger`` or ``Trigger`` represents every class of that union.
"""

# pyright: strict

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import assert_type

from flowalg import (
    EVERY_INSTANT,
    GLOBAL_WINDOW,
    AfterDelay,
    AfterInactivity,
    Always,
    And,
    Arrivals,
    AtCount,
    AtElement,
    AtMeasure,
    AtPeriod,
    AtSignal,
    AtValue,
    AtWatermark,
    Combiner,
    Count,
    CustomTrigger,
    Max,
    Mean,
    Never,
    OnceTrigger,
    Or,
    OrFinally,
    ProcessingTime,
    Repeat,
    RepeatUntil,
    SequenceOf,
    Signal,
    Sum,
    Trigger,
    TriggerClocks,
    Window,
    describe,
    normalise,
)
from flowalg.data.time import Micros
from flowalg.triggers.syntax import Due, Measure, Predicate


def constructors() -> None:
    """The constructors of triggers."""
    assert_type(AtWatermark(), AtWatermark)
    assert_type(AtWatermark(percentile=0.9), AtWatermark)
    assert_type(AtCount(3), AtCount)
    assert_type(AtMeasure(lambda f: f.seats, 100), AtMeasure)
    assert_type(AtMeasure(len, 100), AtMeasure)
    assert_type(AtElement(lambda f: f.seats > 3), AtElement)
    assert_type(AtPeriod(timedelta(minutes=1), offset=timedelta(seconds=5)), AtPeriod)
    assert_type(AfterDelay(timedelta(minutes=1)), AfterDelay)
    assert_type(AfterInactivity(timedelta(minutes=1)), AfterInactivity)
    assert_type(AtSignal("flush"), AtSignal)
    assert_type(Signal("flush", ("red", 3), GLOBAL_WINDOW), Signal)
    assert_type(Never(), Never)
    assert_type(Always(), Always)
    assert_type(And(AtCount(1), AtWatermark() | Never()), And)
    assert_type(Or(AtCount(1), AtWatermark() & Always()), Or)
    assert_type(SequenceOf(AtCount(1), Repeat(AtCount(2))), SequenceOf)
    assert_type(Repeat(AtCount(1) >> AtCount(2)), Repeat)
    assert_type(OrFinally(Repeat(AtCount(1)), until=AtWatermark()), OrFinally)
    assert_type(RepeatUntil(AtCount(1), AtWatermark()), OrFinally)


def triggers_on_the_aggregate(trigger: AtValue) -> None:
    """The predicate has the result of the combiner as its argument."""
    assert_type(AtValue(Sum.of(lambda f: f.seats), lambda total: total > 100), AtValue)
    assert_type(AtValue(Count(), lambda count: count >= 3), AtValue)
    assert_type(AtValue(Mean(), lambda mean: mean > 0.5), AtValue)
    assert_type(AtValue(Max.of(lambda f: f.seats), lambda greatest: greatest > 9), AtValue)
    assert_type(AtValue(Sum(), lambda total: total > 1) & AtWatermark(), And)
    assert_type(trigger.combiner, Combiner[object, object, object])
    assert_type(trigger.predicate, Predicate)


def user_defined_triggers(trigger: CustomTrigger, clocks: TriggerClocks, arrivals: Arrivals) -> None:
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
    assert_type(trigger.zero, object)
    assert_type(trigger.add, Callable[..., object])
    assert_type(trigger.merge, Callable[..., object])
    assert_type(trigger.ready, Callable[..., bool])
    assert_type(trigger.due, Due | None)
    assert_type(clocks.processing_time, datetime)
    assert_type(clocks.watermark, datetime)
    assert_type(clocks.window_end, datetime)
    assert_type(clocks.arrivals, Arrivals)
    assert_type(arrivals.first, datetime)
    assert_type(arrivals.last, datetime)


def operators(once: OnceTrigger, other: OnceTrigger, trigger: Trigger) -> None:
    """Operators of once-triggers, and of all triggers."""
    assert_type(once & other, And)
    assert_type(once | other, Or)
    assert_type(trigger >> other, SequenceOf)
    assert_type(once >> trigger, SequenceOf)
    assert_type(trigger.repeat(), Repeat)
    assert_type(trigger.until(once), OrFinally)


def early_and_late(trigger: Trigger) -> None:
    """Early, on-time and late firings, as in the papers."""
    assert_type(AtWatermark().with_early_firings(trigger), SequenceOf)
    assert_type(AtWatermark().with_late_firings(trigger), SequenceOf)
    assert_type(SequenceOf(AtWatermark()).with_late_firings(trigger), SequenceOf)
    assert_type(AtWatermark().with_early_firings(trigger).with_late_firings(AtCount(1)), SequenceOf)


def leaves(
    count: AtCount,
    element: AtElement,
    measure: AtMeasure,
    signal: AtSignal,
    sent: Signal,
    watermark: AtWatermark,
) -> None:
    """The fields of triggers without parts."""
    assert_type(count.count, int)
    assert_type(element.predicate, Predicate)
    assert_type(measure.measure, Measure)
    assert_type(measure.amount, int)
    assert_type(signal.name, str)
    assert_type(sent.name, str)
    assert_type(sent.key, object)
    assert_type(sent.window, Window | None)
    assert_type(watermark.percentile, float | None)


def processing_time_triggers(
    period: AtPeriod, delay: AfterDelay, inactivity: AfterInactivity, first: ProcessingTime
) -> None:
    """Triggers by processing time."""
    assert_type(period.period, timedelta)
    assert_type(period.offset, timedelta)
    assert_type(period.deadline(first), ProcessingTime)
    assert_type(delay.delay, timedelta)
    assert_type(delay.delay_micros, Micros)
    assert_type(delay.deadline(first), ProcessingTime)
    assert_type(inactivity.gap, timedelta)
    assert_type(inactivity.gap_micros, Micros)
    assert_type(inactivity.deadline(first), ProcessingTime)


def composite_triggers(
    both: And, either: Or, sequence: SequenceOf, repeat: Repeat, limited: OrFinally
) -> None:
    """The parts of composite triggers."""
    assert_type(both.triggers, tuple[OnceTrigger, ...])
    assert_type(either.triggers, tuple[OnceTrigger, ...])
    assert_type(sequence.triggers, tuple[Trigger, ...])
    assert_type(repeat.trigger, Trigger)
    assert_type(limited.main, Trigger)
    assert_type(limited.until_, OnceTrigger)


def functions(trigger: Trigger) -> None:
    """Functions of triggers."""
    assert_type(normalise(trigger), Trigger)
    assert_type(describe(trigger), str)
