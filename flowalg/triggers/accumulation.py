"""What ``AtValue`` and ``CustomTrigger`` keep of the elements that they have observed, and when they are ready."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from attrs import frozen

from flowalg.combiners.subtraction import can_subtract, is_signed, subtract
from flowalg.data.errors import ElementError, format_value
from flowalg.data.time import MIN_TIME, EventTime, ProcessingTime, processing_time
from flowalg.elementwise.functions import user_function_error
from flowalg.triggers.syntax import AtValue, CustomTrigger
from flowalg.triggers.views import Arrivals, EveryInstant, TriggerClocks

AccumulatingTrigger: TypeAlias = AtValue | CustomTrigger
"""Once-triggers that accumulate the values of elements."""


@frozen
class Accumulated:
    """The accumulator of some elements. ``size`` is the number of values minus that of retractions."""

    accumulator: object
    size: int


def accumulate(leaf: AccumulatingTrigger, value: object, weight: int) -> Accumulated | None:
    """Returns what a trigger keeps of one element; ``None`` for a retraction that it does not observe.

    Raises ``UserFunctionError`` if a user-defined function raises.
    """
    match leaf:
        case CustomTrigger(zero=zero, add=add):
            return Accumulated(_call("CustomTrigger.add", add, zero, value), 1) if weight > 0 else None
        case AtValue(combiner=combiner):
            if weight > 0:
                return Accumulated(combiner.add(combiner.zero(), value), 1)
            if can_subtract(combiner):
                return Accumulated(subtract(combiner, combiner.zero(), value), -1)
            return None


def merge_accumulated(leaf: AccumulatingTrigger, left: Accumulated, right: Accumulated) -> Accumulated:
    """Returns what a trigger keeps of the elements of both. Law: associative and commutative."""
    match leaf:
        case CustomTrigger(merge=merge):
            merged = _call("CustomTrigger.merge", merge, left.accumulator, right.accumulator)
        case AtValue(combiner=combiner):
            merged = combiner.merge(left.accumulator, right.accumulator)
    return Accumulated(merged, left.size + right.size)


def holds(leaf: AtValue, observed: Accumulated) -> bool:
    """Whether the predicate holds of the combined value; false if retractions have left nothing to combine.

    Raises ``UserFunctionError`` if the predicate raises, and ``ElementError`` unless it returns a bool.
    """
    if observed.size <= 0 and not is_signed(leaf.combiner):
        return False
    value = leaf.combiner.extract(observed.accumulator)
    return _require_bool("AtValue.predicate", _call("AtValue.predicate", leaf.predicate, value), value)


def due_of(
    leaf: CustomTrigger, observed: Accumulated, first: ProcessingTime, last: ProcessingTime
) -> ProcessingTime | None:
    """Returns the processing time before which a trigger is not ready; ``None`` if only elements can make it ready.

    Raises ``UserFunctionError`` if ``due`` raises, and ``ArgumentError`` unless it returns an aware datetime or
    ``None``.
    """
    if leaf.due is None or isinstance(leaf.due, EveryInstant):
        return ProcessingTime(MIN_TIME)
    point = _call("CustomTrigger.due", leaf.due, observed.accumulator, _arrivals(first, last))
    return None if point is None else processing_time(point, argument="the result of CustomTrigger.due")  # type: ignore[arg-type]  # checked there


def is_custom_ready(
    leaf: CustomTrigger,
    observed: Accumulated,
    first: ProcessingTime,
    last: ProcessingTime,
    now: ProcessingTime,
    watermark: EventTime,
    end: EventTime,
) -> bool:
    """Whether ``ready`` holds, for a trigger that is due.

    Raises ``UserFunctionError`` if it raises, and ``ElementError`` unless it returns a bool.
    """
    arguments: tuple[object, ...] = (observed.accumulator,)
    if leaf.due is not None:
        clocks = TriggerClocks(now.datetime, watermark.datetime, end.datetime, _arrivals(first, last))
        arguments = (observed.accumulator, clocks)
    return _require_bool(
        "CustomTrigger.ready", _call("CustomTrigger.ready", leaf.ready, *arguments), observed.accumulator
    )


def _arrivals(first: ProcessingTime, last: ProcessingTime) -> Arrivals:
    return Arrivals(first.datetime, last.datetime)


def _call(part: str, f: Callable[..., object], *arguments: object) -> object:
    try:
        return f(*arguments)
    except Exception as cause:
        shown = arguments[0] if len(arguments) == 1 else arguments
        raise user_function_error(part, f, shown, cause) from cause


def _require_bool(part: str, result: object, value: object) -> bool:
    if not isinstance(result, bool):
        raise ElementError(f"{part} gave {format_value(result)} for {format_value(value)}; it must be a bool")
    return result
