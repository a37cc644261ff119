"""Rounding to digits in Polars is that of Python, also of floats next to the middle of two decimals."""

from __future__ import annotations

import polars as pl
from flowalg_columns.layout import Leaf
from flowalg_polars.expressions import compile_scalar
from hypothesis import given
from hypothesis import strategies as st

from flowalg.data.shapes import FLOAT
from flowalg.lifting.operations.numbers import round_to_digits
from flowalg.lifting.tree.expressions import Param
from tests.support.lifting.middles import digits, middles


@given(number=digits, floats=st.lists(middles, min_size=50, max_size=50))
def test_floats_near_the_middle_are_rounded_as_in_python(number: int, floats: list[float]) -> None:
    """Exact middles go to the even decimal, and a float just beside one to the nearer decimal."""
    column, failure = compile_scalar(round_to_digits(Param(FLOAT), number, "here"), Leaf(FLOAT, pl.col("a")))
    assert failure is None
    rounded = pl.DataFrame({"a": floats}).select(column.alias("rounded"))["rounded"].to_list()
    assert list(map(repr, rounded)) == [repr(round(of, number)) for of in floats]
