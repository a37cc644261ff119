"""The once-triggers at the leaves of a trigger, and what their user-defined functions return for a value."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

from flowalg.data.errors import ElementError, format_value
from flowalg.data.values import MAX_INTEGER
from flowalg.elementwise.functions import user_function_error
from flowalg.triggers.syntax import (
    And,
    AtElement,
    AtMeasure,
    AtValue,
    CustomTrigger,
    OnceTrigger,
    Or,
    OrFinally,
    Repeat,
    SequenceOf,
    Trigger,
)

DataDrivenTrigger: TypeAlias = AtMeasure | AtElement | AtValue | CustomTrigger
"""Once-triggers that depend on the values of elements."""


def leaves(trigger: Trigger) -> Iterator[OnceTrigger]:
    """Yields the once-triggers at the leaves of a trigger."""
    match trigger:
        case And(triggers=parts) | Or(triggers=parts):
            for part in parts:
                yield from leaves(part)
        case SequenceOf(triggers=members):
            for member in members:
                yield from leaves(member)
        case Repeat(trigger=inner):
            yield from leaves(inner)
        case OrFinally(main=main, until_=until):
            yield from leaves(main)
            yield from leaves(until)
        case _:
            yield trigger


def measure_of(leaf: AtMeasure, value: object) -> int:
    """Returns the measure of a value.

    Raises ``UserFunctionError`` if the function raises, and ``ElementError`` unless it returns a non-negative int.
    """
    amount = _call("AtMeasure", leaf.measure, value)
    if isinstance(amount, bool) or not isinstance(amount, int) or not 0 <= amount <= MAX_INTEGER:
        raise _invalid("AtMeasure", amount, value, "a non-negative int")
    return amount


def satisfies(leaf: AtElement, value: object) -> bool:
    """Returns whether a value satisfies the predicate.

    Raises ``UserFunctionError`` if the function raises, and ``ElementError`` unless it returns a bool.
    """
    answer = _call("AtElement", leaf.predicate, value)
    if not isinstance(answer, bool):
        raise _invalid("AtElement", answer, value, "a bool")
    return answer


def _call(trigger: str, f: Callable[[object], object], value: object) -> object:
    try:
        return f(value)
    except Exception as cause:
        raise user_function_error(trigger, f, value, cause) from cause


def _invalid(trigger: str, result: object, value: object, valid: str) -> ElementError:
    return ElementError(
        f"{trigger} gave {format_value(result)} for {format_value(value)}; it must be {valid}"
    )
