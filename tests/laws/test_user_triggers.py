"""User-defined triggers: a fault in a function is an error that names the part, alike in all engines."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from random import random, randrange
from time import time_ns

import pytest
from attrs import define, field
from flowalg_laws import READINGS, VALUES, Reading, apply_windowing, check_trigger
from flowalg_laws.strategies.times import point
from flowalg_polars import PolarsStreaming
from flowalg_reference import Reference
from hypothesis import strategies as st

from flowalg import (
    FOREVER,
    AtWatermark,
    FlowalgError,
    GlobalWindows,
    Interpreter,
    Max,
    Mode,
    Sessions,
    Sum,
    Timeline,
)
from flowalg.errors import ArgumentError, ElementError, UserFunctionError
from flowalg.triggers import (
    EVERY_INSTANT,
    Arrivals,
    AtElement,
    AtMeasure,
    AtValue,
    CustomTrigger,
    OnceTrigger,
    TriggerClocks,
    describe,
)
from flowalg.windows import WindowingStrategy

ENGINES = (Reference(Mode.MICRO_BATCH), PolarsStreaming())


def plus(total: int, value: int) -> int:
    """Adds a value, or two sums."""
    return total + value


def fails(*arguments: object) -> bool:
    """A function that always raises."""
    raise LookupError(f"{len(arguments)} arguments")


def three(*arguments: object) -> bool:
    """A function that returns no bool."""
    return 3  # type: ignore[return-value]  # the fault


def naive(total: int, arrivals: Arrivals) -> datetime:
    """A time without a zone."""
    return datetime(2024, 1, 1)  # the fault


def is_positive(total: int) -> bool:
    """Returns whether a sum is positive."""
    return total > 0


def always(total: int, clocks: TriggerClocks) -> bool:
    """A predicate that always holds."""
    return True


def custom(
    add: Callable[[int, int], int] = plus,
    merge: Callable[[int, int], int] = plus,
    ready: Callable[[int], bool] = is_positive,
) -> CustomTrigger:
    """Returns a trigger at a positive sum, or one with a fault."""
    return CustomTrigger(zero=0, add=add, merge=merge, ready=ready)


def timed(due: Callable[[int, Arrivals], datetime | None]) -> CustomTrigger:
    """Returns a trigger that is ready when it is due."""
    return CustomTrigger(zero=0, add=plus, merge=plus, ready=always, due=due)


@define
class Values:
    """A summary that can be modified."""

    values: list[int] = field(factory=list)

    def __hash__(self) -> int:
        return 0


def both(left: Values, right: Values) -> Values:
    """Returns the values of both summaries."""
    return Values(sorted([*left.values, *right.values]))


def with_value(summary: Values, value: int) -> Values:
    """Returns a summary with one more value."""
    return both(summary, Values([value]))


def grows(summary: Values) -> bool:
    """Modifies the summary."""
    summary.values.append(1)
    return len(summary.values) > 1


FAULTS: list[tuple[OnceTrigger, type[FlowalgError], str]] = [
    (AtValue(Sum(), fails), UserFunctionError, "AtValue.predicate: .* raised LookupError: 1 arguments"),
    (
        AtValue(Sum(), three),
        ElementError,
        r"AtValue.predicate gave 3 \(int\) for 3 \(int\); it must be a bool",
    ),
    (custom(add=fails), UserFunctionError, "CustomTrigger.add: .* raised LookupError"),
    (custom(merge=fails), UserFunctionError, "CustomTrigger.merge: .* raised LookupError"),
    (custom(ready=fails), UserFunctionError, "CustomTrigger.ready: .* raised LookupError"),
    (
        custom(ready=three),
        ElementError,
        r"CustomTrigger.ready gave 3 \(int\) for 3 \(int\); it must be a bool",
    ),
    (timed(fails), UserFunctionError, "CustomTrigger.due: .* raised LookupError"),  # type: ignore[arg-type]
    (timed(naive), ArgumentError, "the result of CustomTrigger.due must be a timezone-aware datetime"),
    (
        CustomTrigger(zero=0, add=plus, merge=plus, ready=three, due=EVERY_INSTANT),
        ElementError,
        "CustomTrigger.ready gave 3",
    ),
]


@pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.capabilities.interpreter)
@pytest.mark.parametrize(("trigger", "error", "message"), FAULTS)
def test_a_fault_is_an_error_that_names_the_part(
    engine: Interpreter, trigger: OnceTrigger, error: type[FlowalgError], message: str
) -> None:
    """A function of a trigger that raises, or whose result has the wrong type, is an error that names its part."""
    two = (Reading("a", 1, point(0), point(1)), Reading("a", 2, point(0), point(1)))
    strategy = WindowingStrategy(GlobalWindows(), trigger.repeat())
    timeline = Timeline[Reading]().at(point(1), *two)
    with pytest.raises(error, match=message):
        engine.run(apply_windowing(VALUES, strategy).combine_per_key(Sum()), {READINGS: timeline})


@pytest.mark.long
@pytest.mark.parametrize(
    ("trigger", "message"),
    [
        (custom(merge=max), r"does not hold for CustomTrigger\(.*merge"),
        (custom(add=lambda total, value: 2 * total + value), r"does not hold for CustomTrigger\("),
        (
            CustomTrigger(zero=1, add=plus, merge=plus, ready=is_positive),
            r"does not hold for CustomTrigger\(",
        ),
        (custom(ready=three), "CustomTrigger.ready gave 3"),
        (timed(naive), "the result of CustomTrigger.due"),
        (AtValue(Max(), three), "AtValue.predicate gave 3"),
    ],
)
@pytest.mark.usefixtures("unshrunk")
def test_a_fault_is_found_by_its_law(trigger: OnceTrigger, message: str) -> None:
    """``check_trigger`` finds summaries that are no commutative monoid, and functions that return the wrong type."""
    with pytest.raises((AssertionError, FlowalgError), match=message):
        check_trigger(trigger.repeat(), st.integers(-9, 9))


@pytest.mark.parametrize(
    "trigger",
    [
        AtElement(lambda value: random() < 0.5),
        AtMeasure(lambda value: time_ns() % 7, 3),
        AtValue(Sum(), lambda total: random() < 0.5),
        AtValue(Sum(), lambda total: time_ns() % 2 == 0),
        CustomTrigger(zero=Values(), add=with_value, merge=both, ready=grows),
        timed(lambda total, arrivals: datetime.now(UTC)),
        timed(lambda total, arrivals: arrivals.last + timedelta(seconds=randrange(6))),
    ],
    ids=describe,
)
@pytest.mark.usefixtures("unshrunk")
def test_a_function_that_is_not_pure_is_found(trigger: OnceTrigger) -> None:
    """``check_trigger`` finds functions that read a clock, draw a number or modify a summary, in every leaf."""
    with pytest.raises(AssertionError, match="a function returns other results for the same arguments"):
        check_trigger(trigger.repeat(), st.integers(-9, 9))


def test_correct_triggers_satisfy_their_laws() -> None:
    """Triggers whose summaries are commutative monoids satisfy the laws, also as parts of other triggers."""
    check_trigger((custom() & AtValue(Sum(), is_positive)).repeat().until(AtWatermark()), st.integers(-9, 9))


def one(total: int) -> bool:
    """Returns whether a sum is one."""
    return total == 1


@pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.capabilities.interpreter)
def test_a_merged_window_does_not_inherit_a_latch(engine: Interpreter) -> None:
    """A predicate that held in a session is evaluated again when it merges, on all pending elements as one bundle."""
    trigger = (AtValue(Sum(), one) & AtWatermark()).repeat()
    strategy = WindowingStrategy(Sessions(timedelta(minutes=2)), trigger, allowed_lateness=FOREVER)
    sums = apply_windowing(VALUES, strategy).combine_per_key(Sum())
    apart = (
        Timeline[Reading]()
        .at(point(1), Reading("a", 1, point(0), point(1)))
        .at(point(2), Reading("a", 1, point(4), point(2)))
    )
    bridged = apart.at(point(3), Reading("a", 1, point(2), point(3)))
    early = [
        pane.value for pane in engine.run(sums, {READINGS: apart.at(point(4), watermark=point(9))}).panes
    ]
    assert early == [1, 1]
    assert not engine.run(sums, {READINGS: bridged.at(point(4), watermark=point(9))}).panes
