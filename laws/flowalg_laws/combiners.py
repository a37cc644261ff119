"""The laws of combiners: a commutative monoid on accumulators, with a lift (SEMANTICS section 8).

Groupings rely on them to pre-combine per partition and bundle, in any order and division.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias, TypeVar

from flowalg.combiners import Combiner
from flowalg_laws.equation import Equation

A = TypeVar("A")
Acc = TypeVar("Acc")
B = TypeVar("B")

CombinerLaw: TypeAlias = Callable[[Combiner[A, Acc, B], Acc, Acc, Acc, A], Equation[B]]
"""A law over three accumulators and one value; its sides are extracted results."""


def merge_is_associative(combiner: Combiner[A, Acc, B], a: Acc, b: Acc, c: Acc, value: A) -> Equation[B]:
    """``merge(merge(a, b), c) = merge(a, merge(b, c))``."""
    return Equation(
        combiner.extract(combiner.merge(combiner.merge(a, b), c)),
        combiner.extract(combiner.merge(a, combiner.merge(b, c))),
    )


def merge_is_commutative(combiner: Combiner[A, Acc, B], a: Acc, b: Acc, c: Acc, value: A) -> Equation[B]:
    """``merge(a, b) = merge(b, a)``."""
    return Equation(combiner.extract(combiner.merge(a, b)), combiner.extract(combiner.merge(b, a)))


def zero_is_the_unit(combiner: Combiner[A, Acc, B], a: Acc, b: Acc, c: Acc, value: A) -> Equation[B]:
    """``merge(zero(), a) = a``."""
    return Equation(combiner.extract(combiner.merge(combiner.zero(), a)), combiner.extract(a))


def adding_is_merging_one(combiner: Combiner[A, Acc, B], a: Acc, b: Acc, c: Acc, value: A) -> Equation[B]:
    """``add(a, v) = merge(a, add(zero(), v))``: pre-combination changes nothing."""
    alone = combiner.add(combiner.zero(), value)
    return Equation(combiner.extract(combiner.add(a, value)), combiner.extract(combiner.merge(a, alone)))


COMBINER_LAWS = (merge_is_associative, merge_is_commutative, zero_is_the_unit, adding_is_merging_one)
"""Every law of a combiner."""

__all__ = [
    "COMBINER_LAWS",
    "CombinerLaw",
    "adding_is_merging_one",
    "merge_is_associative",
    "merge_is_commutative",
    "zero_is_the_unit",
]
