"""Combiners satisfy the laws that pre-combination needs, and raise errors for values that they cannot combine."""

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
"""The sum of about 25 values of at most 1e9 is up to 2.5e10, and each addition may lose a part of 1.1e-16."""


def test_integer_combiners_satisfy_the_laws() -> None:
    """Sum, Count, Mean, Min and Max over integers are commutative monoids, exactly."""
    check_combiner(Sum[int](), SMALL)
    check_combiner(Count(), SMALL)
    check_combiner(Mean(), SMALL)
    check_combiner(Min[int](), SMALL)
    check_combiner(Max[int](), SMALL)


def test_float_combiners_satisfy_the_laws_up_to_rounding() -> None:
    """Float addition is not associative, so sums and means are equal only up to rounding."""
    check_combiner(Sum[float](), FLOATS, equal=lambda a, b: math.isclose(a, b, rel_tol=0, abs_tol=ROUNDING))
    check_combiner(Min[float](), FLOATS)


def test_a_product_of_combiners_satisfies_the_laws() -> None:
    """The product of several combiners is a commutative monoid."""
    parts = product((Count(), Min(), Max()))  # type: ignore[arg-type]
    check_combiner(parts, SMALL)


def combine(combiner: object, values: list[A]) -> object:
    """Returns the result of a combiner for some values."""
    single = product((combiner,))  # type: ignore[arg-type]
    return single.extract(reduce(single.add, values, single.zero()))


@given(st.lists(SMALL, min_size=1))
def test_combiners_equal_plain_python(values: list[int]) -> None:
    """Each combiner equals the plain Python expression of the same result."""
    assert combine(Sum(), values) == sum(values)
    assert combine(Count(), values) == len(values)
    assert combine(Mean(), values) == float(sum(values)) / float(len(values))
    assert combine(Min(), values) == min(values)
    assert combine(Max(), values) == max(values)


@given(st.lists(st.text(max_size=2), min_size=1), st.lists(st.booleans()))
def test_combiners_of_texts_and_bools_equal_plain_python(texts: list[str], bools: list[bool]) -> None:
    """Combiners of texts and bools equal plain Python; for no values, AnyOf is false and AllOf is true."""
    assert combine(Min(), texts) == min(texts)
    assert combine(Max(), texts) == max(texts)
    assert combine(AnyOf(), bools) == any(bools)
    assert combine(AllOf(), bools) == all(bools)


def test_a_sum_of_more_than_64_bits_is_an_error() -> None:
    """A sum of more than 64 bits is an error; it does not wrap."""
    with pytest.raises(ValueRangeError, match=r"9223372036854775808, which overflows 64 bits"):
        Sum[int]().merge(2**63 - 1, 1)


@pytest.mark.parametrize("combiner", [Min(), Max()])
@pytest.mark.parametrize("value", [None, math.nan])
def test_values_without_an_order_are_errors(combiner: Min[float | None], value: float | None) -> None:
    """``Min`` and ``Max`` raise an error for NaN and None, with which a result would depend on the order of arrival."""
    with pytest.raises(ElementError, match="must not be None or NaN"):
        combiner.add(combiner.zero(), value)


@pytest.mark.parametrize("value", ["3", True, None])
def test_values_of_a_sum_must_be_numbers(value: object) -> None:
    """Sums raise an error for text, bools and None, with the value and its type."""
    with pytest.raises(
        ElementError, match=r"the input of Sum must be an int or a float; got .* \((str|bool|NoneType)\)"
    ):
        Sum[int]().add(0, value)  # type: ignore[arg-type]
