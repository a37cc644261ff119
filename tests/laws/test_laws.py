"""Every law of the catalogue holds over generated triggers, windows, modes, latenesses, timelines and engines.

A fault that the papers' examples do not show breaks a law here, with a small counterexample.
"""

from __future__ import annotations

from functools import reduce

import pytest
from flowalg_laws import (
    CATALOGUE,
    COMBINER_LAWS,
    Equality,
    Equation,
    Law,
    check_law,
    combiners,
    law,
)
from flowalg_laws.kit.structures import is_commutative, is_idempotent, laws_of
from flowalg_laws.laws.triggers import SEQUENCE
from hypothesis import given
from hypothesis import strategies as st

from flowalg import Aggregate, AtCount
from flowalg.combiners.core import AnyCombiner, require_combiner
from flowalg.triggers import OnceTrigger, Trigger


def name_of(law: Law[..., object]) -> str:
    """Returns the name of a law, as a test id."""
    return law.name


@pytest.mark.parametrize(
    "law", [law for laws in CATALOGUE.values() for law in laws if law not in COMBINER_LAWS], ids=name_of
)
def test_both_sides_of_a_law_are_equal(law: Law[..., object]) -> None:
    """The two sides are equal; two triggers emit the same panes and drops, alone and inside other triggers.

    The laws of combiners are tested on each combiner, in tests of their own.
    """
    check_law(law)


@law
def a_count_of_2_equals_a_count_of_1() -> Equation[Trigger]:
    """``AtCount(2) = AtCount(1)``.

    Source: none; the law is false.
    """
    return Equation(AtCount(2), AtCount(1))


@law
def conjunctions_have_one_written_order(a: OnceTrigger, b: OnceTrigger) -> Equation[Trigger]:
    """``a & b == b & a``, compared as they are written.

    Source: none; the law is false.
    """
    return Equation(a & b, b & a, equality=Equality.EXACT)


@pytest.mark.long
@pytest.mark.parametrize(
    ("law", "message"),
    [
        (a_count_of_2_equals_a_count_of_1, "left emits"),
        (conjunctions_have_one_written_order, r"left:  And\("),
    ],
)
@pytest.mark.usefixtures("unshrunk")
def test_a_false_law_of_triggers_is_reported(law: Law[..., object], message: str) -> None:
    """A false law fails with a scenario that distinguishes the triggers; an exact equation fails with their forms."""
    with pytest.raises(AssertionError, match=f"(?s){law.name} does not hold.*{message}"):
        check_law(law)


@pytest.mark.long
@pytest.mark.parametrize("false", list(laws_of(SEQUENCE, is_commutative, is_idempotent)), ids=name_of)
@pytest.mark.usefixtures("unshrunk")
def test_a_structure_that_an_operation_lacks_is_reported(false: Law[..., object]) -> None:
    """A sequence of triggers is neither commutative nor idempotent."""
    with pytest.raises(AssertionError, match=f"{false.name} does not hold"):
        check_law(false)


@pytest.mark.parametrize("law", COMBINER_LAWS, ids=name_of)
@given(combiners(), *[st.lists(st.integers(-9, 9), min_size=1, max_size=5)] * 3, st.integers(-9, 9))
def test_laws_of_combiners_hold(
    law: Law[[AnyCombiner, object, object, object, object], object],
    combiner: Aggregate[int, object],
    first: list[int],
    second: list[int],
    third: list[int],
    value: int,
) -> None:
    """Every law of combiners holds for any combiner of integers and any of its accumulators."""
    whole = require_combiner("it", combiner)
    a, b, c = (reduce(whole.add, bag, whole.zero()) for bag in (first, second, third))
    assert law.holds(whole, a, b, c, value), (law, combiner)


def test_each_law_has_a_unique_name() -> None:
    """Each law has a unique name, a statement and a source."""
    laws = [law for family in CATALOGUE.values() for law in family]
    assert len({law.name for law in laws}) == len(laws)
    assert all(law.statement and law.source for law in laws)
