"""The buckets of quantiles in columns are those of the algebra's combiner, for each number."""

from __future__ import annotations

import math
import sys

import polars as pl
import pytest
from flowalg_shard.contents.buckets import BUCKET, lift_bucket, require_finite
from hypothesis import given
from hypothesis import strategies as st

from flowalg import Quantile
from flowalg.errors import ElementError

LEAST = sys.float_info.min
ERRORS = st.sampled_from([1e-6, 0.01, 0.3, 0.999])
EDGES = (
    0.0,
    5e-324,
    LEAST,
    -LEAST,
    math.nextafter(LEAST, 0),
    sys.float_info.max,
    1.0,
    math.nextafter(2.0, 0),
)
FLOATS = st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from(EDGES)
INTEGERS = st.integers(-(2**63), 2**63 - 1)


@given(st.lists(FLOATS, min_size=1) | st.lists(INTEGERS, min_size=1), ERRORS)
def test_a_number_has_the_bucket_of_the_combiner(numbers: list[float], relative_error: float) -> None:
    """Zero, subnormal numbers, bounds of buckets and integers that no float is equal to have the same bucket."""
    combiner = Quantile(0.5, relative_error=relative_error)
    lists = pl.DataFrame({"a": numbers}).select(a=lift_bucket(pl.col("a"), relative_error, pl.lit(1)))
    assert lists["a"].list.first().struct.field(BUCKET).to_list() == [
        bucket for number in numbers for bucket, _ in combiner.add((), number)
    ]


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_a_number_that_is_not_finite_is_an_error(number: float) -> None:
    """The message is that of the combiner, after the label of the stage."""
    with pytest.raises(ElementError) as of_combiner:
        Quantile(0.5).add((), number)
    with pytest.raises(ElementError) as of_columns:
        require_finite(pl.Series([1.0, number]), "Quantile", "sums")
    assert str(of_columns.value) == f"sums: {of_combiner.value}"
