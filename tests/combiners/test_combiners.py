"""Combiners satisfy the laws that pre-combination needs, and raise errors for values that they cannot combine."""

from __future__ import annotations

import math
from decimal import Context, Decimal, localcontext
from functools import reduce
from random import Random
from typing import TypeVar, cast

import pytest
from flowalg_laws import check_combiner
from hypothesis import given
from hypothesis import strategies as st

from flowalg import Count, Max, Mean, Min, Quantile, Sum
from flowalg.combiners import AllOf, AnyOf, ToSet, Variance
from flowalg.combiners.core import Group, product
from flowalg.errors import ElementError, ValueRangeError

A = TypeVar("A")

SMALL = st.integers(-(2**40), 2**40)
FLOATS = st.floats(-1e9, 1e9)


def test_integer_combiners_satisfy_the_laws() -> None:
    """Sum, Count, Mean, Min and Max over integers are commutative monoids, exactly."""
    check_combiner(Sum[int](), SMALL)
    check_combiner(Count(), SMALL)
    check_combiner(Mean(), SMALL)
    check_combiner(Min[int](), SMALL)
    check_combiner(Max[int](), SMALL)


def test_float_combiners_satisfy_the_laws() -> None:
    """Sums and means of floats satisfy the laws exactly, although float addition is not associative."""
    check_combiner(Sum[float](), FLOATS)
    check_combiner(Mean(), FLOATS)
    check_combiner(Min[float](), FLOATS)


DECIMALS = st.decimals(-(10**18), 10**18, places=18) | st.decimals(-100, 100, places=2)


def test_decimal_combiners_satisfy_the_laws() -> None:
    """Sums, means and variances of decimals satisfy the laws exactly, whatever the decimal context."""
    with localcontext(Context(prec=3)):
        check_combiner(Sum[Decimal](), DECIMALS)
        check_combiner(Mean[Decimal](), DECIMALS)
        check_combiner(Variance(), DECIMALS)
        check_combiner(Quantile(0.5), DECIMALS)
        check_combiner(ToSet[Decimal](), DECIMALS)


@pytest.mark.parametrize(
    ("values", "mean"),
    [
        (["1", "2", "2"], "1.666666666666666667"),
        (["0.000000000000000001", "0.000000000000000002"], "0.000000000000000002"),
        (["0.000000000000000001", "0"], "0"),
        (["-0.000000000000000001", "0"], "0"),
        (["-0.000000000000000003", "0"], "-0.000000000000000002"),
        (["-1", "0", "0"], "-0.333333333333333333"),
        (["1E+2", "100.00"], "100"),
    ],
)
def test_a_mean_of_decimals_is_rounded_half_even(values: list[str], mean: str) -> None:
    """The mean of decimals is rounded once, at 18 places, to the even digit where two are equally near."""
    combined = combine(Mean[Decimal](), list(map(Decimal, values)))
    assert repr(combined) == repr(Decimal(mean))


def test_a_float_and_a_decimal_are_not_added() -> None:
    """A sum of a float and a Decimal is an error, as in Python, in any order."""
    for values in ([1.5, Decimal(1)], [Decimal(1), 2, 1.5]):
        with pytest.raises(ElementError, match="a float and a Decimal cannot be added"):
            combine(Sum(), values)


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
        Sum[int]().extract(Sum[int]().merge(2**63 - 1, 1))


@given(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=6), st.randoms())
def test_an_error_of_a_sum_depends_only_on_its_values(values: list[int], random: Random) -> None:
    """A sum that fits in 64 bits is returned, even if partial sums exceed 64 bits."""
    total = Sum[int]()
    shuffled = random.sample(values, len(values))
    accumulator = reduce(total.add, shuffled, total.zero())
    assert reduce(total.subtract, values, accumulator) == 0
    if -(2**63) <= sum(values) < 2**63:
        assert total.extract(accumulator) == sum(values)


EXTREMES = st.floats() | st.sampled_from((1e17, 1.0, -1e17, math.inf, -math.inf, math.nan, 5e-324, 1.7e308))


@given(st.lists(EXTREMES, max_size=6), st.lists(EXTREMES, max_size=6), st.randoms())
def test_a_retracted_float_leaves_no_trace(kept: list[float], retracted: list[float], random: Random) -> None:
    """Sums, means and variances after values were retracted are those of the others, whatever was added before."""
    changes = [(value, 1) for value in kept] + [(value, weight) for value in retracted for weight in (1, -1)]
    random.shuffle(changes)
    for group in (Sum[float](), Mean(), Variance()):
        combiner = cast("Group[float, object, float]", group)
        accumulator = combiner.zero()
        for value, weight in changes:
            accumulator = (
                combiner.add(accumulator, value) if weight > 0 else combiner.subtract(accumulator, value)
            )
        assert accumulator == reduce(combiner.add, kept, combiner.zero())


@given(st.lists(st.floats(-1e300, 1e300), min_size=1, max_size=9))
def test_a_sum_of_floats_is_rounded_once(values: list[float]) -> None:
    """The sum of floats is the float that is closest to the exact sum."""
    total = Sum[float]()
    assert total.extract(reduce(total.add, values, total.zero())) == math.fsum(values)


def test_results_beyond_the_largest_float_are_infinite() -> None:
    """A sum or variance beyond the largest float is infinite, and NaN if opposite infinities meet."""
    total, variance = Sum[float](), Variance()
    assert total.extract(reduce(total.add, (1.7e308, 1.7e308), total.zero())) == math.inf
    assert total.extract(reduce(total.add, (-1.7e308, -1.7e308), total.zero())) == -math.inf
    assert math.isnan(total.extract(reduce(total.add, (math.inf, -math.inf), total.zero())))
    assert total.extract(reduce(total.add, (-math.inf, 1.0), total.zero())) == -math.inf
    assert variance.extract(reduce(variance.add, (1.7e308, -1.7e308), variance.zero())) == math.inf
    assert math.isnan(variance.extract(variance.add(variance.zero(), math.inf)))


def test_nan_is_one_value_of_a_set() -> None:
    """A set has one NaN, although NaN does not equal itself."""
    distinct = ToSet[float]()
    values = distinct.extract(reduce(distinct.add, (float("nan"), float("nan"), 1.0), distinct.zero()))
    assert len(values) == 2


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
        ElementError,
        match=r"the input of Sum must be an int, a float or a Decimal; got .* \((str|bool|NoneType)\)",
    ):
        Sum[int]().add(0, value)  # type: ignore[arg-type]
