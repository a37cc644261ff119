"""Combiners keep the laws that pre-combination relies on, and refuse values that they cannot combine."""

from __future__ import annotations

import math
from functools import reduce
from typing import TypeVar

import pytest
from flowalg_laws import check_combiner
from hypothesis import given
from hypothesis import strategies as st

from flowalg import AllOf, AnyOf, Count, ElementError, Max, Mean, Min, Sum, ValueRangeError
from flowalg.combiners.core import product

A = TypeVar("A")

SMALL = st.integers(-(2**40), 2**40)
FLOATS = st.floats(-1e9, 1e9)
ROUNDING = 1e-4
"""Some 25 values of at most 1e9 come to 2.5e10, of which each addition may lose a part of 1.1e-16."""


def test_integer_combiners_keep_the_laws() -> None:
    """Sum, Count, Mean, Min and Max over integers are commutative monoids, exactly."""
    check_combiner(Sum[int](), SMALL)
    check_combiner(Count(), SMALL)
    check_combiner(Mean(), SMALL)
    check_combiner(Min[int](), SMALL)
    check_combiner(Max[int](), SMALL)


def test_float_combiners_keep_the_laws_up_to_rounding() -> None:
    """Float addition is not associative, so sums and means agree only closely."""
    check_combiner(Sum[float](), FLOATS, equal=lambda a, b: math.isclose(a, b, rel_tol=0, abs_tol=ROUNDING))
    check_combiner(Min[float](), FLOATS)


def test_several_at_once_keep_the_laws() -> None:
    """The product of several combiners is a commutative monoid."""
    parts = product((Count(), Min(), Max()))  # type: ignore[arg-type]
    check_combiner(parts, SMALL)


def combined(combiner: object, values: list[A]) -> object:
    """The result of a combiner for some values."""
    one = product((combiner,))  # type: ignore[arg-type]
    return one.extract(reduce(one.add, values, one.zero()))


@given(st.lists(SMALL, min_size=1))
def test_they_combine_what_plain_python_does(values: list[int]) -> None:
    """Each combiner equals the plain Python expression of the same result."""
    assert combined(Sum(), values) == sum(values)
    assert combined(Count(), values) == len(values)
    assert combined(Mean(), values) == float(sum(values)) / float(len(values))
    assert combined(Min(), values) == min(values)
    assert combined(Max(), values) == max(values)


@given(st.lists(st.text(max_size=2), min_size=1), st.lists(st.booleans()))
def test_texts_and_truths_combine_as_in_plain_python(texts: list[str], truths: list[bool]) -> None:
    """Combiners of texts and bools equal plain Python; for no values, AnyOf is false and AllOf is true."""
    assert combined(Min(), texts) == min(texts)
    assert combined(Max(), texts) == max(texts)
    assert combined(AnyOf(), truths) == any(truths)
    assert combined(AllOf(), truths) == all(truths)


def test_a_sum_that_needs_more_than_64_bits_is_an_error() -> None:
    """A sum of more than 64 bits is an error, and never wraps."""
    with pytest.raises(ValueRangeError, match=r"9223372036854775808, which overflows 64 bits"):
        Sum[int]().merge(2**63 - 1, 1)


@pytest.mark.parametrize("combiner", [Min(), Max()])
@pytest.mark.parametrize("value", [None, math.nan])
def test_what_has_no_order_is_refused(combiner: Min[float | None], value: float | None) -> None:
    """``Min`` and ``Max`` refuse NaN and None, which would make the result depend on the order of arrival."""
    with pytest.raises(ElementError, match="must not be None or NaN"):
        combiner.add(combiner.zero(), value)


@pytest.mark.parametrize("value", ["3", True, None])
def test_sums_take_numbers_only(value: object) -> None:
    """Sums refuse text, bools and None, with the value and its type."""
    with pytest.raises(
        ElementError, match=r"the input of Sum must be an int or a float; got .* \((str|bool|NoneType)\)"
    ):
        Sum[int]().add(0, value)  # type: ignore[arg-type]
