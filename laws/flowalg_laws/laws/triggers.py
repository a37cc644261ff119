"""Laws of triggers: each consists of two triggers that emit the same panes on every timeline.

Equality is observational: ``Or(a, b)`` and ``Or(b, a)`` are different values with the same meaning. The laws also hold
for merging windows, because a trigger does not depend on what other windows observed: a merged window restarts its
trigger on its unemitted elements.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Final, NewType

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
from flowalg_laws.kit.structures import (
    SEMIGROUP,
    VARIADIC,
    Action,
    Model,
    Operation,
    action,
    itself,
    lattice,
    laws_of,
)

Small = NewType("Small", int)
"""A small positive number of elements or minutes."""


def _conjunction(a: OnceTrigger, b: OnceTrigger, c: OnceTrigger) -> Model[OnceTrigger, Trigger]:
    return Model(And, (a, b, c), itself, (Always(), Never()))


def _disjunction(a: OnceTrigger, b: OnceTrigger, c: OnceTrigger) -> Model[OnceTrigger, Trigger]:
    return Model(Or, (a, b, c), itself, (Never(), Always()))


def _sequence(a: Trigger, b: Trigger, c: Trigger) -> Model[Trigger, Trigger]:
    return Model(SequenceOf, (a, b, c), itself)


_LATTICE: Final = "the lattice of once-triggers (SEMANTICS 6 and 13)"
AND: Final = Operation("and", "And", _conjunction, _LATTICE, "&", ("Always()", "Never()"))
OR: Final = Operation("or", "Or", _disjunction, _LATTICE, "|", ("Never()", "Always()"))
SEQUENCE: Final = Operation("sequence", "SequenceOf", _sequence, "SEMANTICS 13", ">>")


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
def always_limits_immediately(t: Trigger) -> Equation[Trigger]:
    """``OrFinally(t, Always()) = Always()``.

    Source: found here.

    Relied on by: `normalise`.
    """
    return Equation(OrFinally(t, Always()), Always())


def _limits(t: Trigger, a: OnceTrigger, b: OnceTrigger) -> Action[Trigger, OnceTrigger, Trigger]:
    return Action(OrFinally, t, a, b, Or, Never(), itself)


_LIMITS: Final = Action("OrFinally({}, {})".format, "t", "a", "b", "{} | {}".format, "Never()", str)


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


def _bounded(
    leaf: Callable[[int], OnceTrigger], written: str, one: str, more: str
) -> Iterator[Law[..., Trigger]]:
    """The laws of a trigger with a bound: the later of two is both, and the earlier is either."""

    def both(m: Small, n: Small) -> Equation[Trigger]:
        return Equation(And(leaf(m), leaf(n)).repeat(), leaf(max(m, n)).repeat())

    def either(m: Small, n: Small) -> Equation[Trigger]:
        return Equation(Or(leaf(m), leaf(n)).repeat(), leaf(min(m, n)).repeat())

    for sides, name, symbol, bound in (
        (both, f"both_{more}", "&", "max"),
        (either, f"either_{one}", "|", "min"),
    ):
        statement = f"``{written}(m) {symbol} {written}(n) = {written}({bound}(m, n))``"
        source = "the lattice of once-triggers is pointwise (SEMANTICS 6, 13 and 15)"
        yield Law(sides, name, statement, "", source, f"`normalise`, which keeps one {one}")


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
    *lattice(
        AND,
        OR,
        {
            "is_commutative": "`normalise`, which sorts",
            "is_associative": "`&` and `|` without parentheses",
            "is_flat": "`normalise`, which flattens",
            "is_idempotent": "`normalise`, which drops repetitions",
            "absorbs": "`normalise`, which absorbs",
            "has_a_right_unit": "`normalise`, which drops units",
            "has_a_zero": "`normalise`, which returns a zero at once",
        },
    ),
    or_finally_of_once,
    either_watermark,
    both_watermarks,
    *_bounded(AtCount, "AtCount", "count", "counts"),
    *_bounded(_delay, "AfterDelay", "delay", "delays"),
    *_bounded(_inactivity, "AfterInactivity", "inactivity", "inactivities"),
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
    *laws_of(
        SEQUENCE,
        *SEMIGROUP,
        *VARIADIC,
        relied_on_by={
            "is_associative": "`>>` without parentheses",
            "is_flat": "`>>`, and `normalise`, which flattens",
            "of_one_is_itself": "`normalise`, and early and late firings with a part left out",
        },
    ),
    nothing_follows_repeat,
    repeat_is_idempotent,
    repeat_unfolds,
    repeat_of_twice,
    repeat_of_a_repeating_end,
    *action("limit", _limits, _LIMITS, source="SEMANTICS 13", relied_on_by="`normalise`"),
    always_limits_immediately,
    repeat_until_itself,
    repeat_of_never,
    early_firings_of_never_have_no_effect,
    always_counts_to_one,
)
"""Laws of sequences, repetition and limits."""


TRIGGER_LAWS: tuple[Law[..., Trigger], ...] = (*LATTICE_LAWS, *COMPOSITION_LAWS)
"""All laws of triggers."""
