"""Rounding to digits in Spark is that of Python, also of floats next to the middle of two decimals."""

from __future__ import annotations

from typing import Final, cast

import pyarrow as pa
from flowalg_columns.layout import Leaf
from flowalg_spark.encoding.columns import col, select
from flowalg_spark.expressions import compile_scalar
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from flowalg.data.shapes import FLOAT
from flowalg.lifting.operations.numbers import round_to_digits
from flowalg.lifting.tree.expressions import Param
from flowalg.lifting.tree.halves import MOST_DIGITS
from tests.support.lifting.middles import middles

NUMBERS: Final = range(MOST_DIGITS + 1)


@settings(max_examples=2)
@given(floats=st.lists(middles, min_size=200, max_size=200))
def test_floats_near_the_middle_are_rounded_as_in_python(spark: SparkSession, floats: list[float]) -> None:
    """Exact middles go to the even decimal, and a float just beside one to the nearer decimal."""
    rounded = [
        compile_scalar(round_to_digits(Param(FLOAT), number, "here"), Leaf(FLOAT, col("a"))).alias(
            f"c{number}"
        )
        for number in NUMBERS
    ]
    table = select(spark.createDataFrame(pa.table({"a": floats})), "a", *rounded).toArrow()
    originals = cast("list[float]", table.column("a").to_pylist())
    for number in NUMBERS:
        results = cast("list[float]", table.column(f"c{number}").to_pylist())
        wrong = [
            (of, got)
            for of, got in zip(originals, results, strict=True)
            if repr(round(of, number)) != repr(got)
        ]
        assert wrong == []
