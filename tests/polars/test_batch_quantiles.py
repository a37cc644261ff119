"""Quantiles in batches of the local engine, which count values by bucket, against the combiner in Python."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import polars as pl
import pytest
from attrs import frozen
from flowalg_polars import batch
from hypothesis import given
from hypothesis import strategies as st

from flowalg import Count, FixedWindows, Quantile, Source
from flowalg.combiners import Quantiles
from flowalg.errors import ElementError

NOON = datetime(2024, 1, 1, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
NUMBERS = st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from([0.0, 5e-324, 1.0, -1.0])
SHARES = st.sampled_from([0, 0.29, 0.5, 1])


@frozen
class Measured:
    """A number of a key at a time."""

    key: str
    number: float
    whole: int
    at: datetime


MEASURED = Source("measured", Measured, event_time=lambda m: m.at)
WINDOWED = MEASURED.key_by(lambda m: m.key).window(FixedWindows(MINUTE))


def frame_of(rows: list[tuple[str, float, int, int]]) -> pl.LazyFrame:
    """Returns rows of a key, two numbers, and the minute."""
    columns = {
        "key": [key for key, _, _, _ in rows],
        "number": [number for _, number, _, _ in rows],
        "whole": [whole for _, _, whole, _ in rows],
        "at": [NOON + minute * MINUTE for _, _, _, minute in rows],
    }
    types = {"key": pl.String(), "number": pl.Float64(), "whole": pl.Int64(), "at": pl.Datetime("us", "UTC")}
    return pl.LazyFrame(columns, schema=types)


@given(
    st.lists(
        st.tuples(st.sampled_from("ab"), NUMBERS, st.integers(-(2**63), 2**63 - 1), st.integers(0, 1)),
        min_size=1,
    ),
    SHARES,
    st.sampled_from([0.01, 0.5]),
)
def test_quantiles_of_a_group_are_those_of_the_combiner(
    rows: list[tuple[str, float, int, int]], share: float, error: float
) -> None:
    """Each key and window has the quantiles of its values, beside other results, in any order of the rows."""
    one = Quantile(share, relative_error=error)
    several = Quantiles((1, share, 0), relative_error=error)
    pipeline = WINDOWED.combine_per_key(
        Quantile.of(lambda m: m.number, share, relative_error=error),
        Quantiles.of(lambda m: m.whole, (1, share, 0), relative_error=error),
        Count(),
    )
    expected = {}
    for key, minute in {(key, minute) for key, _, _, minute in rows}:
        group = [row for row in rows if (row[0], row[3]) == (key, minute)]
        buckets, whole = one.zero(), several.zero()
        for _, number, integer, _ in group:
            buckets, whole = one.add(buckets, number), several.add(whole, integer)
        expected[key, NOON + minute * MINUTE] = (one.extract(buckets), several.extract(whole), len(group))
    panes = batch.compile(pipeline, {MEASURED: frame_of(rows)}).collect()
    found = panes.select("key", pl.col("window").struct.field("start"), "value").rows()
    assert {(key, start): tuple(value.values()) for key, start, value in found} == expected


def test_a_number_that_is_not_finite_fails_the_batch() -> None:
    """The message names the combiner and the number."""
    pipeline = WINDOWED.combine_per_key(Quantile.of(lambda m: m.number, 0.5))
    rows = [("a", 1.0, 0, 0), ("a", float("nan"), 0, 0)]
    with pytest.raises(ElementError, match=r"the input of Quantile must be finite; got nan \(float\)"):
        batch.compile(pipeline, {MEASURED: frame_of(rows)}).collect()
