"""Laws of combiners: a commutative monoid of accumulators, and a group if the combiner can subtract.

Accumulators are compared by their extracted results.
"""

from __future__ import annotations

from typing import TypeAlias

from flowalg.combiners.core import Combiner, Group
from flowalg_laws.kit.equation import Equation
from flowalg_laws.kit.law import Law, law

SomeCombiner: TypeAlias = Combiner[object, object, object]


@law
def merge_is_associative(
    combiner: SomeCombiner, a: object, b: object, c: object, value: object
) -> Equation[object]:
    """``merge(merge(a, b), c) = merge(a, merge(b, c))``.

    Source: Dataflow Model, section 2.2.2; SEMANTICS 8.

    Relied on by: pre-combination per bundle and partition, and merging windows.
    """
    return Equation(
        combiner.extract(combiner.merge(combiner.merge(a, b), c)),
        combiner.extract(combiner.merge(a, combiner.merge(b, c))),
    )


@law
def merge_is_commutative(
    combiner: SomeCombiner, a: object, b: object, c: object, value: object
) -> Equation[object] | None:
    """``merge(a, b) = merge(b, a)``.

    Where: the combiner is not ordered, as ``ToList`` is.

    Source: SEMANTICS 8.

    Relied on by: Spark, whose rows are unordered.
    """
    if combiner.is_ordered:
        return None
    return Equation(combiner.extract(combiner.merge(a, b)), combiner.extract(combiner.merge(b, a)))


@law
def zero_is_the_unit(
    combiner: SomeCombiner, a: object, b: object, c: object, value: object
) -> Equation[object]:
    """``merge(zero(), a) = a``.

    Source: SEMANTICS 8.

    Relied on by: partitions without elements.
    """
    return Equation(combiner.extract(combiner.merge(combiner.zero(), a)), combiner.extract(a))


@law
def zero_is_the_unit_on_the_right(
    combiner: SomeCombiner, a: object, b: object, c: object, value: object
) -> Equation[object]:
    """``merge(a, zero()) = a``.

    Source: SEMANTICS 8.

    Relied on by: partitions without elements.
    """
    return Equation(combiner.extract(combiner.merge(a, combiner.zero())), combiner.extract(a))


@law
def adding_merges_a_single_value(
    combiner: SomeCombiner, a: object, b: object, c: object, value: object
) -> Equation[object]:
    """``add(a, v) = merge(a, add(zero(), v))``.

    Source: SEMANTICS 8 and 13.

    Relied on by: pre-combination, which adds values to a separate accumulator and merges it later.
    """
    alone = combiner.add(combiner.zero(), value)
    return Equation(combiner.extract(combiner.add(a, value)), combiner.extract(combiner.merge(a, alone)))


@law
def extraction_has_no_side_effects(
    combiner: SomeCombiner, a: object, b: object, c: object, value: object
) -> Equation[object]:
    """``extract(a)`` is a function of ``a``; ``extract``, ``merge`` and ``add`` do not modify their accumulators.

    Source: SEMANTICS 8.

    Relied on by: accumulating panes, which extract repeatedly.
    """
    before = combiner.extract(a)
    combiner.add(combiner.merge(a, b), value)
    return Equation(before, combiner.extract(a))


@law
def subtracting_undoes_adding(
    combiner: SomeCombiner, a: object, b: object, c: object, value: object
) -> Equation[object] | None:
    """``subtract(add(a, v), v) = a``.

    Where: the combiner is a group.

    Source: Dataflow Model, section 2.3 ("uncombine"); SEMANTICS 8.

    Relied on by: groupings that receive retractions.
    """
    if not isinstance(combiner, Group):
        return None
    return Equation(combiner.extract(combiner.subtract(combiner.add(a, value), value)), combiner.extract(a))


@law
def discarding_shows_nothing_again(
    combiner: SomeCombiner, a: object, b: object, c: object, value: object
) -> Equation[object] | None:
    """``extract(discard(a)) = extract(zero())``.

    Where: the combiner has a result for no values.

    Source: SEMANTICS 8.

    Relied on by: discarding panes, which show what no pane has shown.
    """
    if not combiner.has_empty_result:
        return None
    return Equation(combiner.extract(combiner.discard(a)), combiner.extract(combiner.zero()))


COMBINER_LAWS: tuple[Law[[SomeCombiner, object, object, object, object], object], ...] = (
    merge_is_associative,
    merge_is_commutative,
    zero_is_the_unit,
    zero_is_the_unit_on_the_right,
    adding_merges_a_single_value,
    extraction_has_no_side_effects,
    subtracting_undoes_adding,
    discarding_shows_nothing_again,
)
"""All laws of combiners: over three accumulators of some values each, and one more value."""
