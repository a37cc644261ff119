"""Laws of triggers: each consists of two triggers that emit the same panes on every timeline.

Equality is observational: ``Or(a, b)`` and ``Or(b, a)`` are different values with the same meaning. The laws also hold
for merging windows, because a trigger does not depend on what other windows observed: a merged window restarts its
trigger on its unemitted elements.
"""

from __future__ import annotations

from datetime import timedelta
from typing import NewType

from attrs import frozen

from flowalg.combiners.core import Count, Max, Sum
from flowalg.triggers.syntax import (
    AfterDelay,
    AfterInactivity,
    Always,
    And,
    AtCount,
    AtElement,
    AtMeasure,
    AtPeriod,
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
from flowalg_laws.kit.equation import Equality, Equation
from flowalg_laws.kit.law import Law, law

Small = NewType("Small", int)
"""A small positive number of elements or minutes."""


@law
def and_commutes(a: OnceTrigger, b: OnceTrigger) -> Equation[Trigger]:
    """``a & b = b & a``.

    Source: conjunction of predicates (SEMANTICS 6).

    Relied on by: `normalise`, which sorts.
    """
    return Equation(And(a, b), And(b, a))


@law
def or_commutes(a: OnceTrigger, b: OnceTrigger) -> Equation[Trigger]:
    """``a | b = b | a``.

    Source: disjunction of predicates (SEMANTICS 6).

    Relied on by: `normalise`, which sorts.
    """
    return Equation(Or(a, b), Or(b, a))


@law
def and_associates(a: OnceTrigger, b: OnceTrigger, c: OnceTrigger) -> Equation[Trigger]:
    """``(a & b) & c = a & (b & c)``.

    Source: conjunction of predicates (SEMANTICS 6).

    Relied on by: `&` without parentheses.
    """
    return Equation(And(And(a, b), c), And(a, And(b, c)))


@law
def or_associates(a: OnceTrigger, b: OnceTrigger, c: OnceTrigger) -> Equation[Trigger]:
    """``(a | b) | c = a | (b | c)``.

    Source: disjunction of predicates (SEMANTICS 6).

    Relied on by: `|` without parentheses.
    """
    return Equation(Or(Or(a, b), c), Or(a, Or(b, c)))


@law
def and_is_flat(a: OnceTrigger, b: OnceTrigger, c: OnceTrigger) -> Equation[Trigger]:
    """``(a & b) & c = And(a, b, c)``.

    Source: conjunction of predicates (SEMANTICS 6).

    Relied on by: `normalise`, which flattens.
    """
    return Equation(And(And(a, b), c), And(a, b, c))


@law
def or_is_flat(a: OnceTrigger, b: OnceTrigger, c: OnceTrigger) -> Equation[Trigger]:
    """``(a | b) | c = Or(a, b, c)``.

    Source: disjunction of predicates (SEMANTICS 6).

    Relied on by: `normalise`, which flattens.
    """
    return Equation(Or(Or(a, b), c), Or(a, b, c))


@law
def and_is_idempotent(a: OnceTrigger) -> Equation[Trigger]:
    """``a & a = a``.

    Source: the lattice of once-triggers (SEMANTICS 13).

    Relied on by: `normalise`, which drops repetitions.
    """
    return Equation(And(a, a), a)


@law
def or_is_idempotent(a: OnceTrigger) -> Equation[Trigger]:
    """``a | a = a``.

    Source: the lattice of once-triggers (SEMANTICS 13).

    Relied on by: `normalise`, which drops repetitions.
    """
    return Equation(Or(a, a), a)


@law
def and_absorbs(a: OnceTrigger, b: OnceTrigger) -> Equation[Trigger]:
    """``a & (a | b) = a``.

    Source: the lattice of once-triggers (SEMANTICS 13).

    Relied on by: `normalise`, which absorbs.
    """
    return Equation(And(a, Or(a, b)), a)


@law
def or_absorbs(a: OnceTrigger, b: OnceTrigger) -> Equation[Trigger]:
    """``a | (a & b) = a``.

    Source: the lattice of once-triggers (SEMANTICS 13).

    Relied on by: `normalise`, which absorbs.
    """
    return Equation(Or(a, And(a, b)), a)


@law
def and_distributes(a: OnceTrigger, b: OnceTrigger, c: OnceTrigger) -> Equation[Trigger]:
    """``a & (b | c) = (a & b) | (a & c)``.

    Source: the lattice of once-triggers is distributive (SEMANTICS 13).
    """
    return Equation(And(a, Or(b, c)), Or(And(a, b), And(a, c)))


@law
def or_distributes(a: OnceTrigger, b: OnceTrigger, c: OnceTrigger) -> Equation[Trigger]:
    """``a | (b & c) = (a | b) & (a | c)``.

    Source: the lattice of once-triggers is distributive (SEMANTICS 13).
    """
    return Equation(Or(a, And(b, c)), And(Or(a, b), Or(a, c)))


@law
def never_is_the_unit_of_or(a: OnceTrigger) -> Equation[Trigger]:
    """``a | Never() = a``.

    Source: `Never` is the bottom of the lattice (SEMANTICS 6).

    Relied on by: `normalise`, which drops units.
    """
    return Equation(Or(a, Never()), a)


@law
def never_annihilates_and(a: OnceTrigger) -> Equation[Trigger]:
    """``a & Never() = Never()``.

    Source: `Never` is the bottom of the lattice (SEMANTICS 6).

    Relied on by: `normalise`, which returns a zero at once.
    """
    return Equation(And(a, Never()), Never())


@law
def always_is_the_unit_of_and(a: OnceTrigger) -> Equation[Trigger]:
    """``a & Always() = a``.

    Source: `Always` is the top of the lattice (SEMANTICS 6).

    Relied on by: `normalise`, which drops units.
    """
    return Equation(And(a, Always()), a)


@law
def always_annihilates_or(a: OnceTrigger) -> Equation[Trigger]:
    """``a | Always() = Always()``.

    Source: `Always` is the top of the lattice (SEMANTICS 6).

    Relied on by: `normalise`, which returns a zero at once.
    """
    return Equation(Or(a, Always()), Always())


@law
def or_finally_of_once(a: OnceTrigger, b: OnceTrigger) -> Equation[Trigger]:
    """``OrFinally(a, b) = a | b``.

    Where: both are once-triggers.

    Source: SEMANTICS 13.

    Relied on by: `normalise`.
    """
    return Equation(OrFinally(a, b), Or(a, b))


@law
def either_watermark() -> Equation[Trigger]:
    """``AtWatermark(percentile=q) | AtWatermark() = AtWatermark(percentile=q)``.

    A percentile watermark is never behind the watermark.

    Source: MillWheel, section 7.2; found here.
    """
    return Equation(Or(AtWatermark(0.5), AtWatermark()), AtWatermark(0.5))


@law
def both_watermarks() -> Equation[Trigger]:
    """``AtWatermark(percentile=q) & AtWatermark() = AtWatermark()``.

    Source: MillWheel, section 7.2; found here.
    """
    return Equation(And(AtWatermark(0.5), AtWatermark()), AtWatermark())


@law
def a_sequence_of_one(t: Trigger) -> Equation[Trigger]:
    """``SequenceOf(t) = t``.

    Source: SEMANTICS 13.

    Relied on by: `normalise`, and early and late firings with a part left out.
    """
    return Equation(SequenceOf(t), t)


@law
def sequences_associate(t: Trigger, u: Trigger, v: Trigger) -> Equation[Trigger]:
    """``SequenceOf(SequenceOf(t, u), v) = SequenceOf(t, SequenceOf(u, v))``.

    Source: SEMANTICS 13.

    Relied on by: `>>` without parentheses.
    """
    return Equation(SequenceOf(SequenceOf(t, u), v), SequenceOf(t, SequenceOf(u, v)))


@law
def sequences_are_flat(t: Trigger, u: Trigger, v: Trigger) -> Equation[Trigger]:
    """``SequenceOf(SequenceOf(t, u), v) = SequenceOf(t, u, v)``.

    Source: SEMANTICS 13.

    Relied on by: `>>`, and `normalise`, which flattens.
    """
    return Equation(SequenceOf(SequenceOf(t, u), v), SequenceOf(t, u, v))


@law
def nothing_follows_repeat(t: Trigger, u: Trigger) -> Equation[Trigger]:
    """``SequenceOf(Repeat(t), u) = Repeat(t)``.

    Source: SEMANTICS 13.

    Relied on by: `normalise`, which drops unreachable triggers.
    """
    return Equation(SequenceOf(Repeat(t), u), Repeat(t))


@law
def repeat_is_idempotent(t: Trigger) -> Equation[Trigger]:
    """``Repeat(Repeat(t)) = Repeat(t)``.

    Source: SEMANTICS 13.

    Relied on by: `normalise`.
    """
    return Equation(Repeat(Repeat(t)), Repeat(t))


@law
def repeat_unfolds(t: Trigger) -> Equation[Trigger]:
    """``Repeat(t) = SequenceOf(t, Repeat(t))``.

    Source: SEMANTICS 13. It fails where trigger states merge component by component.

    Relied on by: `normalise`, which folds.
    """
    return Equation(Repeat(t), SequenceOf(t, Repeat(t)))


@law
def repeat_of_twice(t: Trigger) -> Equation[Trigger]:
    """``Repeat(SequenceOf(t, t)) = Repeat(t)``.

    Source: SEMANTICS 13.

    Relied on by: `normalise`, which folds.
    """
    return Equation(Repeat(SequenceOf(t, t)), Repeat(t))


@law
def repeat_of_a_repeating_end(t: Trigger, u: Trigger) -> Equation[Trigger]:
    """``Repeat(SequenceOf(t, Repeat(u))) = SequenceOf(t, Repeat(u))``.

    A trigger that never finishes is not reset.

    Source: found here.

    Relied on by: `normalise`.
    """
    return Equation(Repeat(SequenceOf(t, Repeat(u))), SequenceOf(t, Repeat(u)))


@law
def never_does_not_limit(t: Trigger) -> Equation[Trigger]:
    """``OrFinally(t, Never()) = t``.

    Source: SEMANTICS 13.

    Relied on by: `normalise`.
    """
    return Equation(OrFinally(t, Never()), t)


@law
def always_limits_immediately(t: Trigger) -> Equation[Trigger]:
    """``OrFinally(t, Always()) = Always()``.

    Source: found here.

    Relied on by: `normalise`.
    """
    return Equation(OrFinally(t, Always()), Always())


@law
def limits_join(t: Trigger, a: OnceTrigger, b: OnceTrigger) -> Equation[Trigger]:
    """``OrFinally(OrFinally(t, a), b) = OrFinally(t, a | b)``.

    Source: SEMANTICS 13.

    Relied on by: `normalise`.
    """
    return Equation(OrFinally(OrFinally(t, a), b), OrFinally(t, Or(a, b)))


@law
def repeat_until_itself(a: OnceTrigger) -> Equation[Trigger]:
    """``OrFinally(Repeat(a), a) = a``: the limit is ready when the limited trigger is.

    Source: found here.
    """
    return Equation(OrFinally(Repeat(a), a), a)


@law
def repeat_of_never() -> Equation[Trigger]:
    """``Repeat(Never()) = Never()``.

    Source: found here.
    """
    return Equation(Repeat(Never()), Never())


@law
def an_impossible_limit_does_not_limit(t: Trigger) -> Equation[Trigger]:
    """``OrFinally(t, AtWatermark(percentile=q) & Never()) = t``.

    An engine may evaluate the left side whenever a percentile watermark moves, and the right side only when its windows
    change.

    Source: found here.

    Relied on by: engines, which do not evaluate dormant windows.
    """
    return Equation(OrFinally(t, And(AtWatermark(0.5), Never())), t)


@law
def a_ready_part_keeps_its_window_active(a: OnceTrigger) -> Equation[Trigger]:
    """``t = OrFinally(t, AtWatermark(percentile=q) & Never())``, where ``t = AtWatermark() >> AtWatermark() >> a``.

    After its first part has fired, the second part is ready at once and fires in the next instant, even if no element
    arrives.

    Source: SEMANTICS 6; found here in this form.

    Relied on by: engines, which do not evaluate dormant windows.
    """
    t = SequenceOf(AtWatermark(), AtWatermark(), a)
    return Equation(t, OrFinally(t, And(AtWatermark(0.5), Never())))


@law
def early_firings_repeat_until_the_watermark(t: Trigger) -> Equation[Trigger]:
    """``AtWatermark().with_early_firings(t) = OrFinally(Repeat(t), AtWatermark())``.

    Source: Streaming 102; SEMANTICS 6.
    """
    return Equation(AtWatermark().with_early_firings(t), OrFinally(Repeat(t), AtWatermark()))


@law
def late_firings_repeat_after_the_watermark(t: Trigger) -> Equation[Trigger]:
    """``AtWatermark().with_late_firings(t) = SequenceOf(AtWatermark(), Repeat(t))``.

    Source: Streaming 102; SEMANTICS 6.
    """
    return Equation(AtWatermark().with_late_firings(t), SequenceOf(AtWatermark(), Repeat(t)))


@law
def the_default_is_a_pane_for_every_late_element() -> Equation[Trigger]:
    """``AtWatermark().with_late_firings(AtCount(1)) = Repeat(AtWatermark())``.

    This holds for sessions too: a session that grows beyond the watermark is early again, and waits for the watermark.
    It holds for corrections too: `AtCount` observes retractions, so a late one fires as a late element does.

    Source: Streaming 102; found here in this form.

    Relied on by: readers of the default trigger.
    """
    return Equation(AtWatermark().with_late_firings(AtCount(1)), Repeat(AtWatermark()))


@law
def late_firings_follow_early_ones(t: Trigger, u: Trigger) -> Equation[Trigger]:
    """``w.with_early_firings(t).with_late_firings(u) = SequenceOf(OrFinally(Repeat(t), w), Repeat(u))``.

    Where: ``w`` is `AtWatermark()`.

    Source: Streaming 102; SEMANTICS 6.
    """
    return Equation(
        AtWatermark().with_early_firings(t).with_late_firings(u),
        SequenceOf(OrFinally(Repeat(t), AtWatermark()), Repeat(u)),
    )


def _delay(minutes: int) -> AfterDelay:
    return AfterDelay(timedelta(minutes=minutes))


def _inactivity(minutes: int) -> AfterInactivity:
    return AfterInactivity(timedelta(minutes=minutes))


def _period(minutes: int) -> AtPeriod:
    return AtPeriod(timedelta(minutes=minutes))


@law
def both_counts(m: Small, n: Small) -> Equation[Trigger]:
    """``AtCount(m) & AtCount(n) = AtCount(max(m, n))``.

    Source: SEMANTICS 13.

    Relied on by: `normalise`, which keeps one count.
    """
    return Equation(And(AtCount(m), AtCount(n)).repeat(), AtCount(max(m, n)).repeat())


@law
def either_count(m: Small, n: Small) -> Equation[Trigger]:
    """``AtCount(m) | AtCount(n) = AtCount(min(m, n))``.

    Source: SEMANTICS 13.

    Relied on by: `normalise`, which keeps one count.
    """
    return Equation(Or(AtCount(m), AtCount(n)).repeat(), AtCount(min(m, n)).repeat())


@law
def both_delays(m: Small, n: Small) -> Equation[Trigger]:
    """``AfterDelay(m) & AfterDelay(n) = AfterDelay(max(m, n))``.

    Source: SEMANTICS 13.

    Relied on by: `normalise`, which keeps one delay.
    """
    return Equation(And(_delay(m), _delay(n)).repeat(), _delay(max(m, n)).repeat())


@law
def either_delay(m: Small, n: Small) -> Equation[Trigger]:
    """``AfterDelay(m) | AfterDelay(n) = AfterDelay(min(m, n))``.

    Source: SEMANTICS 13.

    Relied on by: `normalise`, which keeps one delay.
    """
    return Equation(Or(_delay(m), _delay(n)).repeat(), _delay(min(m, n)).repeat())


@law
def both_inactivities(m: Small, n: Small) -> Equation[Trigger]:
    """``AfterInactivity(m) & AfterInactivity(n) = AfterInactivity(max(m, n))``.

    Source: the lattice of once-triggers is pointwise (SEMANTICS 6 and 15); found here.

    Relied on by: `normalise`, which keeps one gap.
    """
    return Equation(And(_inactivity(m), _inactivity(n)).repeat(), _inactivity(max(m, n)).repeat())


@law
def either_inactivity(m: Small, n: Small) -> Equation[Trigger]:
    """``AfterInactivity(m) | AfterInactivity(n) = AfterInactivity(min(m, n))``.

    Source: the lattice of once-triggers is pointwise (SEMANTICS 6 and 15); found here.

    Relied on by: `normalise`, which keeps one gap.
    """
    return Equation(Or(_inactivity(m), _inactivity(n)).repeat(), _inactivity(min(m, n)).repeat())


@law
def inactivity_implies_a_delay(m: Small, n: Small) -> Equation[Trigger]:
    """``AfterDelay(m) & AfterInactivity(m + n) = AfterInactivity(m + n)``.

    The last element is not before the first.

    Source: found here.
    """
    return Equation(And(_delay(m), _inactivity(m + n)).repeat(), _inactivity(m + n).repeat())


@frozen
class AtLeast:
    """A predicate of numbers that is monotone."""

    bound: int

    def __call__(self, value: int) -> bool:
        """Returns whether a value has reached the bound."""
        return value >= self.bound


@frozen
class OneOf:
    """A predicate of numbers that is not monotone."""

    numbers: frozenset[int]

    def __call__(self, value: int) -> bool:
        """Returns whether a value is one of the numbers."""
        return value in self.numbers


def magnitude(value: int) -> int:
    """Returns the absolute value."""
    return abs(value)


def add_magnitude(total: int, value: int) -> int:
    """Adds the absolute value of a value."""
    return total + abs(value)


def add(left: int, right: int) -> int:
    """Adds two totals."""
    return left + right


@law
def either_value(m: Small, n: Small) -> Equation[Trigger]:
    """``AtValue(c, p) | AtValue(c, q) = AtValue(c, p or q)``.

    Source: latching commutes with disjunction (SEMANTICS 15); found here.
    """
    either = AtValue(Sum(), OneOf(frozenset((m, n))))
    apart = Or(AtValue(Sum(), OneOf(frozenset((m,)))), AtValue(Sum(), OneOf(frozenset((n,)))))
    return Equation(apart.repeat(), either.repeat())


@law
def a_count_is_a_value(n: Small) -> Equation[Trigger]:
    """``AtCount(n) = AtValue(Count(), at least n)``.

    Where: nothing upstream retracts. A retraction is a change, of which `AtCount` counts one more, and it leaves
    one value less.

    Source: SEMANTICS 15; found here.
    """
    return Equation(AtCount(n).repeat(), AtValue(Count(), AtLeast(n)).repeat(), of_corrections=False)


@law
def an_element_is_a_greatest_value(n: Small) -> Equation[Trigger]:
    """``AtElement(at least n) = AtValue(Max(), at least n)``.

    Where: nothing upstream retracts. `AtElement` observes retractions, and a `Max` that cannot subtract does not.

    Source: SEMANTICS 15; found here.
    """
    greatest = AtValue(Max(), AtLeast(n))
    return Equation(AtElement(AtLeast(n)).repeat(), greatest.repeat(), of_corrections=False)


@law
def a_measure_is_a_value(n: Small) -> Equation[Trigger]:
    """``AtMeasure(f, n) = AtValue(Sum.of(f), at least n)``.

    Where: nothing upstream retracts.

    Source: SEMANTICS 15; found here.
    """
    total = AtValue(Sum.of(magnitude), AtLeast(n))
    return Equation(AtMeasure(magnitude, n).repeat(), total.repeat(), of_corrections=False)


@law
def a_measure_is_user_defined(n: Small) -> Equation[Trigger]:
    """``AtMeasure(f, n) = CustomTrigger(zero=0, add=plus f, merge=plus, ready=at least n)``.

    Where: nothing upstream retracts. A user-defined trigger does not observe retractions.

    Source: SEMANTICS 15; found here.
    """
    custom = CustomTrigger(zero=0, add=add_magnitude, merge=add, ready=AtLeast(n))
    return Equation(AtMeasure(magnitude, n).repeat(), custom.repeat(), of_corrections=False)


@law
def both_periods(m: Small, n: Small) -> Equation[Trigger]:
    """``AtPeriod(m) & AtPeriod(m * n) = AtPeriod(m * n)``.

    Where: one period divides the other, and neither has an offset.

    Source: SEMANTICS 13.

    Relied on by: `normalise`.
    """
    return Equation(And(_period(m), _period(m * n)).repeat(), _period(m * n).repeat())


@law
def either_period(m: Small, n: Small) -> Equation[Trigger]:
    """``AtPeriod(m) | AtPeriod(m * n) = AtPeriod(m)``.

    Where: one period divides the other, and neither has an offset.

    Source: SEMANTICS 13.

    Relied on by: `normalise`.
    """
    return Equation(Or(_period(m), _period(m * n)).repeat(), _period(m).repeat())


@law
def always_counts_to_one() -> Equation[Trigger]:
    """``Always() = AtCount(1)``.

    Where: it is the whole trigger. A window exists because an element or a retraction arrived. Inside other triggers
    the two differ: a part that becomes active later may find a window without changes.

    Source: SEMANTICS 13.
    """
    return Equation(Always(), AtCount(1), equality=Equality.WHOLE)


@law
def early_firings_of_never_have_no_effect(t: Trigger) -> Equation[Trigger]:
    """``AtWatermark().with_early_firings(Never()).with_late_firings(t) = AtWatermark().with_late_firings(t)``.

    Source: found here; ``Never`` repeats as itself, and does not limit.
    """
    early = AtWatermark().with_early_firings(Never())
    return Equation(early.with_late_firings(t), AtWatermark().with_late_firings(t))


LATTICE_LAWS: tuple[Law[..., Trigger], ...] = (
    and_commutes,
    or_commutes,
    and_associates,
    or_associates,
    and_is_flat,
    or_is_flat,
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
    either_watermark,
    both_watermarks,
    both_counts,
    either_count,
    both_delays,
    either_delay,
    both_inactivities,
    either_inactivity,
    inactivity_implies_a_delay,
    either_value,
    a_count_is_a_value,
    an_element_is_a_greatest_value,
    a_measure_is_a_value,
    a_measure_is_user_defined,
    both_periods,
    either_period,
)
"""Laws of once-triggers, a distributive lattice. Both sides may be used wherever a once-trigger may."""

COMPOSITION_LAWS: tuple[Law[..., Trigger], ...] = (
    an_impossible_limit_does_not_limit,
    a_ready_part_keeps_its_window_active,
    early_firings_repeat_until_the_watermark,
    late_firings_repeat_after_the_watermark,
    the_default_is_a_pane_for_every_late_element,
    late_firings_follow_early_ones,
    a_sequence_of_one,
    sequences_associate,
    sequences_are_flat,
    nothing_follows_repeat,
    repeat_is_idempotent,
    repeat_unfolds,
    repeat_of_twice,
    repeat_of_a_repeating_end,
    never_does_not_limit,
    always_limits_immediately,
    limits_join,
    repeat_until_itself,
    repeat_of_never,
    early_firings_of_never_have_no_effect,
    always_counts_to_one,
)
"""Laws of sequences, repetition and limits."""


TRIGGER_LAWS: tuple[Law[..., Trigger], ...] = (*LATTICE_LAWS, *COMPOSITION_LAWS)
"""All laws of triggers."""
