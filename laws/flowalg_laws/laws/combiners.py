"""Laws of combiners: a commutative monoid of accumulators, and a group if the combiner can subtract.

Accumulators are compared by their extracted results.
"""

from __future__ import annotations

from typing import Final

from flowalg.combiners.core import AnyCombiner, Group
from flowalg_laws.kit.equation import Equation
from flowalg_laws.kit.law import Law, law
from flowalg_laws.kit.storing import stored
from flowalg_laws.kit.structures import MONOID, Model, Operation, has_an_inverse, is_commutative, laws_of


def _merge(combiner: AnyCombiner, a: object, b: object, c: object, value: object) -> Model[object, object]:
    return Model(combiner.merge, (a, b, c), combiner.extract, (combiner.zero(),))


def _unordered_merge(
    combiner: AnyCombiner, a: object, b: object, c: object, value: object
) -> Model[object, object] | None:
    return None if combiner.is_ordered else _merge(combiner, a, b, c, value)


MERGE: Final = Operation(
    "merge", "merge", _merge, "Dataflow Model, section 2.2.2; SEMANTICS 8", constants=("zero()",)
)
UNORDERED: Final = Operation(
    "merge",
    "merge",
    _unordered_merge,
    "SEMANTICS 8",
    condition="the combiner is not ordered, as ``ToList`` is",
)


def _merge_of_single_values(
    combiner: AnyCombiner, a: object, b: object, c: object, value: object
) -> Model[object, object] | None:
    if not isinstance(combiner, Group):
        return None
    added, subtracted = combiner.add(combiner.zero(), value), combiner.subtract(combiner.zero(), value)
    return Model(combiner.merge, (a, added, c), combiner.extract, (combiner.zero(),), subtracted)


INVERTIBLE: Final = Operation(
    "merge",
    "merge",
    _merge_of_single_values,
    'Dataflow Model, section 2.3 ("uncombine"); SEMANTICS 8',
    condition="the combiner is a group, and ``b`` is an added value, and ``-b`` the same value subtracted",
    inverse="-b",
)


@law
def adding_merges_a_single_value(
    combiner: AnyCombiner, a: object, b: object, c: object, value: object
) -> Equation[object]:
    """``add(a, v) = merge(a, add(zero(), v))``.

    Source: SEMANTICS 8 and 13.

    Relied on by: pre-combination, which adds values to a separate accumulator and merges it later.
    """
    alone = combiner.add(combiner.zero(), value)
    return Equation(combiner.extract(combiner.add(a, value)), combiner.extract(combiner.merge(a, alone)))


@law
def timed_values_are_added(
    combiner: AnyCombiner, a: object, b: object, c: object, value: object
) -> Equation[object]:
    """``add_timed(a, [(t, v), (t, v)]) = add(add(a, v), v)``.

    Source: SEMANTICS 8.

    Relied on by: engines, which call either one.
    """
    timed = combiner.add_timed(a, [(0, value), (0, value)])
    return Equation(combiner.extract(timed), combiner.extract(combiner.add(combiner.add(a, value), value)))


@law
def extraction_has_no_side_effects(
    combiner: AnyCombiner, a: object, b: object, c: object, value: object
) -> Equation[object]:
    """``extract(a)`` is a function of ``a``; ``extract``, ``merge`` and ``add`` do not modify their accumulators.

    Source: SEMANTICS 8.

    Relied on by: accumulating panes, which extract repeatedly.
    """
    before = combiner.extract(a)
    combiner.add(combiner.merge(a, b), value)
    return Equation(before, combiner.extract(a))


@law
def subtracting_merges_a_negative(
    combiner: AnyCombiner, a: object, b: object, c: object, value: object
) -> Equation[object] | None:
    """``subtract(a, v) = merge(a, subtract(zero(), v))``.

    Where: the combiner is a group, and ``v`` is a value of ``a``.

    Source: SEMANTICS 8.

    Relied on by: pre-combination of retractions, and discarding panes of values that are retracted later.
    """
    if not isinstance(combiner, Group):
        return None
    b = combiner.add(b, value)
    alone = combiner.subtract(combiner.zero(), value)
    subtracted = combiner.subtract(combiner.merge(a, b), value)
    return Equation(
        combiner.extract(subtracted), combiner.extract(combiner.merge(a, combiner.merge(b, alone)))
    )


@law
def accumulators_can_be_stored(
    combiner: AnyCombiner, a: object, b: object, c: object, value: object
) -> Equation[object]:
    """``merge(a, b)`` is the same if ``zero()``, ``a`` and ``b`` are stored and read again.

    Source: SEMANTICS 8.

    Relied on by: the state of streams, and Spark.
    """
    what = f"an accumulator of {combiner.title}"
    zero, stored_a, stored_b = (stored(what, part) for part in (combiner.zero(), a, b))
    merged = combiner.merge(combiner.merge(zero, stored_a), stored_b)
    return Equation(combiner.extract(merged), combiner.extract(combiner.merge(a, b)))


@law
def discarding_shows_nothing_again(
    combiner: AnyCombiner, a: object, b: object, c: object, value: object
) -> Equation[object] | None:
    """``extract(discard(a)) = extract(zero())``.

    Where: the combiner has a result for no values.

    Source: SEMANTICS 8.

    Relied on by: discarding panes, which show what no pane has shown.
    """
    if not combiner.has_empty_result:
        return None
    return Equation(combiner.extract(combiner.discard(a)), combiner.extract(combiner.zero()))


COMBINER_LAWS: tuple[Law[[AnyCombiner, object, object, object, object], object], ...] = (
    *laws_of(
        MERGE,
        *MONOID,
        relied_on_by={
            "is_associative": "pre-combination per bundle and partition, and merging windows",
            "has_a_left_unit": "partitions without elements",
            "has_a_right_unit": "partitions without elements",
        },
    ),
    *laws_of(UNORDERED, is_commutative, relied_on_by={"is_commutative": "Spark, whose rows are unordered"}),
    adding_merges_a_single_value,
    timed_values_are_added,
    extraction_has_no_side_effects,
    subtracting_merges_a_negative,
    *laws_of(
        INVERTIBLE,
        has_an_inverse,
        relied_on_by={"has_an_inverse": "groupings that receive retractions"},
    ),
    accumulators_can_be_stored,
    discarding_shows_nothing_again,
)
"""All laws of combiners: over three accumulators of some values each, and one more value."""
