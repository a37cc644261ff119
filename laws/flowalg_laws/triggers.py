"""The laws of triggers (SEMANTICS section 13), each as two triggers that give the same panes on every timeline.

Their equality is observational: ``Or(a, b)`` and ``Or(b, a)`` are different values with one meaning.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import TypeAlias

from flowalg.triggers import (
    AfterDelay,
    Always,
    And,
    AtCount,
    AtPeriod,
    Never,
    OnceTrigger,
    Or,
    OrFinally,
    Repeat,
    SequenceOf,
    Trigger,
)
from flowalg_laws.equation import Equation

OnceLaw: TypeAlias = Callable[[OnceTrigger, OnceTrigger, OnceTrigger], Equation[Trigger]]
TriggerLaw: TypeAlias = Callable[[Trigger, Trigger, Trigger, OnceTrigger, OnceTrigger], Equation[Trigger]]
NumberLaw: TypeAlias = Callable[[int, int], Equation[Trigger]]


def and_commutes(a: OnceTrigger, b: OnceTrigger, c: OnceTrigger) -> Equation[Trigger]:
    """``a & b = b & a``."""
    return Equation(And(a, b), And(b, a))


def or_commutes(a: OnceTrigger, b: OnceTrigger, c: OnceTrigger) -> Equation[Trigger]:
    """``a | b = b | a``."""
    return Equation(Or(a, b), Or(b, a))


def and_associates(a: OnceTrigger, b: OnceTrigger, c: OnceTrigger) -> Equation[Trigger]:
    """``(a & b) & c = a & (b & c) = And(a, b, c)``."""
    return Equation(And(And(a, b), c), And(a, b, c))


def or_associates(a: OnceTrigger, b: OnceTrigger, c: OnceTrigger) -> Equation[Trigger]:
    """``(a | b) | c = a | (b | c) = Or(a, b, c)``."""
    return Equation(Or(Or(a, b), c), Or(a, b, c))


def and_is_idempotent(a: OnceTrigger, b: OnceTrigger, c: OnceTrigger) -> Equation[Trigger]:
    """``a & a = a``."""
    return Equation(And(a, a), a)


def or_is_idempotent(a: OnceTrigger, b: OnceTrigger, c: OnceTrigger) -> Equation[Trigger]:
    """``a | a = a``."""
    return Equation(Or(a, a), a)


def and_absorbs(a: OnceTrigger, b: OnceTrigger, c: OnceTrigger) -> Equation[Trigger]:
    """``a & (a | b) = a``."""
    return Equation(And(a, Or(a, b)), a)


def or_absorbs(a: OnceTrigger, b: OnceTrigger, c: OnceTrigger) -> Equation[Trigger]:
    """``a | (a & b) = a``."""
    return Equation(Or(a, And(a, b)), a)


def and_distributes(a: OnceTrigger, b: OnceTrigger, c: OnceTrigger) -> Equation[Trigger]:
    """``a & (b | c) = (a & b) | (a & c)``."""
    return Equation(And(a, Or(b, c)), Or(And(a, b), And(a, c)))


def or_distributes(a: OnceTrigger, b: OnceTrigger, c: OnceTrigger) -> Equation[Trigger]:
    """``a | (b & c) = (a | b) & (a | c)``."""
    return Equation(Or(a, And(b, c)), And(Or(a, b), Or(a, c)))


def never_is_the_unit_of_or(a: OnceTrigger, b: OnceTrigger, c: OnceTrigger) -> Equation[Trigger]:
    """``a | Never() = a``."""
    return Equation(Or(a, Never()), a)


def never_annihilates_and(a: OnceTrigger, b: OnceTrigger, c: OnceTrigger) -> Equation[Trigger]:
    """``a & Never() = Never()``."""
    return Equation(And(a, Never()), Never())


def always_is_the_unit_of_and(a: OnceTrigger, b: OnceTrigger, c: OnceTrigger) -> Equation[Trigger]:
    """``a & Always() = a``."""
    return Equation(And(a, Always()), a)


def always_annihilates_or(a: OnceTrigger, b: OnceTrigger, c: OnceTrigger) -> Equation[Trigger]:
    """``a | Always() = Always()``."""
    return Equation(Or(a, Always()), Always())


def or_finally_of_once(a: OnceTrigger, b: OnceTrigger, c: OnceTrigger) -> Equation[Trigger]:
    """``OrFinally(a, b) = a | b`` for once-triggers."""
    return Equation(OrFinally(a, b), Or(a, b))


ONCE_LAWS: tuple[OnceLaw, ...] = (
    and_commutes,
    or_commutes,
    and_associates,
    or_associates,
    and_is_idempotent,
    or_is_idempotent,
    and_absorbs,
    or_absorbs,
    and_distributes,
    or_distributes,
    never_is_the_unit_of_or,
    never_annihilates_and,
    always_is_the_unit_of_and,
    always_annihilates_or,
    or_finally_of_once,
)
"""The laws of the lattice of once-triggers."""


def sequence_of_one(t: Trigger, u: Trigger, v: Trigger, a: OnceTrigger, b: OnceTrigger) -> Equation[Trigger]:
    """``SequenceOf(t) = t``."""
    return Equation(SequenceOf(t), t)


def sequence_associates(
    t: Trigger, u: Trigger, v: Trigger, a: OnceTrigger, b: OnceTrigger
) -> Equation[Trigger]:
    """``SequenceOf(SequenceOf(t, u), v) = SequenceOf(t, SequenceOf(u, v)) = SequenceOf(t, u, v)``."""
    return Equation(SequenceOf(SequenceOf(t, u), v), SequenceOf(t, SequenceOf(u, v)))


def nothing_follows_repeat(
    t: Trigger, u: Trigger, v: Trigger, a: OnceTrigger, b: OnceTrigger
) -> Equation[Trigger]:
    """``SequenceOf(Repeat(t), u) = Repeat(t)``."""
    return Equation(SequenceOf(Repeat(t), u), Repeat(t))


def repeat_is_idempotent(
    t: Trigger, u: Trigger, v: Trigger, a: OnceTrigger, b: OnceTrigger
) -> Equation[Trigger]:
    """``Repeat(Repeat(t)) = Repeat(t)``."""
    return Equation(Repeat(Repeat(t)), Repeat(t))


def repeat_unfolds(t: Trigger, u: Trigger, v: Trigger, a: OnceTrigger, b: OnceTrigger) -> Equation[Trigger]:
    """``Repeat(t) = SequenceOf(t, Repeat(t))``."""
    return Equation(Repeat(t), SequenceOf(t, Repeat(t)))


def repeat_of_twice(t: Trigger, u: Trigger, v: Trigger, a: OnceTrigger, b: OnceTrigger) -> Equation[Trigger]:
    """``Repeat(SequenceOf(t, t)) = Repeat(t)``."""
    return Equation(Repeat(SequenceOf(t, t)), Repeat(t))


def never_limits_nothing(
    t: Trigger, u: Trigger, v: Trigger, a: OnceTrigger, b: OnceTrigger
) -> Equation[Trigger]:
    """``OrFinally(t, Never()) = t``."""
    return Equation(OrFinally(t, Never()), t)


def limits_join(t: Trigger, u: Trigger, v: Trigger, a: OnceTrigger, b: OnceTrigger) -> Equation[Trigger]:
    """``OrFinally(OrFinally(t, a), b) = OrFinally(t, a | b)``."""
    return Equation(OrFinally(OrFinally(t, a), b), OrFinally(t, Or(a, b)))


TRIGGER_LAWS: tuple[TriggerLaw, ...] = (
    sequence_of_one,
    sequence_associates,
    nothing_follows_repeat,
    repeat_is_idempotent,
    repeat_unfolds,
    repeat_of_twice,
    never_limits_nothing,
    limits_join,
)
"""The laws of sequences, repetition and limits."""


def both_counts(m: int, n: int) -> Equation[Trigger]:
    """``AtCount(m) & AtCount(n) = AtCount(max(m, n))``."""
    return Equation(And(AtCount(m), AtCount(n)), AtCount(max(m, n)))


def either_count(m: int, n: int) -> Equation[Trigger]:
    """``AtCount(m) | AtCount(n) = AtCount(min(m, n))``."""
    return Equation(Or(AtCount(m), AtCount(n)), AtCount(min(m, n)))


def both_delays(m: int, n: int) -> Equation[Trigger]:
    """``AfterDelay(m) & AfterDelay(n) = AfterDelay(max(m, n))``."""
    one, other = AfterDelay(timedelta(minutes=m)), AfterDelay(timedelta(minutes=n))
    return Equation(And(one, other), AfterDelay(timedelta(minutes=max(m, n))))


def either_delay(m: int, n: int) -> Equation[Trigger]:
    """``AfterDelay(m) | AfterDelay(n) = AfterDelay(min(m, n))``."""
    one, other = AfterDelay(timedelta(minutes=m)), AfterDelay(timedelta(minutes=n))
    return Equation(Or(one, other), AfterDelay(timedelta(minutes=min(m, n))))


def both_periods(m: int, n: int) -> Equation[Trigger]:
    """``AtPeriod(m) & AtPeriod(m * n) = AtPeriod(m * n)``: one period divides the other."""
    short, long = AtPeriod(timedelta(minutes=m)), AtPeriod(timedelta(minutes=m * n))
    return Equation(And(short, long), long)


def either_period(m: int, n: int) -> Equation[Trigger]:
    """``AtPeriod(m) | AtPeriod(m * n) = AtPeriod(m)``."""
    short, long = AtPeriod(timedelta(minutes=m)), AtPeriod(timedelta(minutes=m * n))
    return Equation(Or(short, long), short)


NUMBER_LAWS: tuple[NumberLaw, ...] = (
    both_counts,
    either_count,
    both_delays,
    either_delay,
    both_periods,
    either_period,
)
"""The laws of counts, delays and periods, over two positive numbers."""

__all__ = ["NUMBER_LAWS", "ONCE_LAWS", "TRIGGER_LAWS", "NumberLaw", "OnceLaw", "TriggerLaw"]
