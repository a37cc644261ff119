"""Sums of floats in columns: finite where the sum of all values is, from state of every version.

These tests catch a sum that stays infinite.
"""

from __future__ import annotations

import sys

import polars as pl
from flowalg_shard.contents.columns import ColumnContents
from flowalg_shard.contents.stage import Stage, aggregate_columns
from flowalg_shard.tables.packing import stack
from hypothesis import given
from hypothesis import strategies as st

from flowalg import Mean, Sum
from flowalg.combiners import together
from flowalg.combiners.core import require_combiner
from flowalg.data.shapes import FLOAT
from flowalg.pipeline.nodes import DEFAULT_WINDOWING

COMBINER = require_combiner("it", together(Sum[float](), Mean()))
STAGE = Stage("sums", ("k",), aggregate_columns(COMBINER, (FLOAT, FLOAT)), DEFAULT_WINDOWING.strategy)
CONTENTS = ColumnContents(STAGE)
LARGEST = sys.float_info.max
SHARES = st.sampled_from([LARGEST, -LARGEST, 1e300, -1e300, 0.0])


def contents_of(values: list[float]) -> pl.DataFrame:
    """Returns the contents of the only window of a key with some values."""
    rows = pl.DataFrame({"k": ["a"] * len(values), "a0": values, "a1": values})
    return CONTENTS.combine(rows.select("k", *CONTENTS.lift(rows)), ["k"], [])


def results_of(contents: pl.DataFrame) -> tuple[object, ...]:
    """Returns the sum and the mean."""
    return contents.with_columns(CONTENTS.results(contents)).select("r0", "r1").row(0)


@given(st.lists(st.lists(SHARES, min_size=1, max_size=5), min_size=1, max_size=4))
def test_a_sum_is_infinite_only_if_that_of_all_values_is(parts: list[list[float]]) -> None:
    """However values are divided, the sum is that of whole numbers of the same size."""
    merged = CONTENTS.absorb(stack(list(map(contents_of, parts))), ["k"], [])
    values = [value for part in parts for value in part]
    total = sum(int(value) for value in values)
    float_sum, mean = results_of(merged)
    assert isinstance(float_sum, float)
    assert isinstance(mean, float)
    if abs(total) > LARGEST:
        assert float_sum == mean == (float("inf") if total > 0 else float("-inf"))
    else:
        assert abs(float_sum - total) <= 1e-12 * LARGEST
        assert mean == float_sum / len(values)
