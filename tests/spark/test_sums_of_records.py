"""Sums in Spark's frames: exactly one member of a row is set, and the texts of bad records are those of other engines.

These tests catch a row with two members, or with none, that passes as one of them.
"""

from __future__ import annotations

import polars as pl
import pytest
from flowalg_polars import batch as local
from flowalg_spark.batch import run
from pyspark.sql import DataFrame, SparkSession

from flowalg.errors import ElementError
from tests.core.test_sums import BY_QUERY, FRAME, SOURCE, Model, Seen
from tests.support.scores import NOON

TYPES = (
    "value struct<sighting: struct<query: string, rate: long, before: struct<str: string, "
    "Model: struct<query: string, rate: double>>>, Model: struct<query: string, rate: double>>"
)


def frame_of(spark: SparkSession, rows: list[int]) -> DataFrame:
    """Returns some rows of the frame; the fifth is null."""
    values = [*(row["value"] for row in FRAME.to_dicts()), None]
    return spark.createDataFrame([(values[row],) for row in rows], TYPES)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (2, r"exactly one of value\.\{Model, sighting\} must not be null; got 2"),
        (3, r"exactly one of value\.\{Model, sighting\} must not be null; got 0"),
        (4, r"value must be of type Model \| Seen; got null"),
    ],
)
def test_a_row_has_exactly_one_member(spark: SparkSession, row: int, message: str) -> None:
    """Another row fails the query, also if a filter would drop it."""
    for pipeline in (BY_QUERY, SOURCE.filter(lambda event: isinstance(event, Seen)), SOURCE.only(Model)):
        with pytest.raises(ElementError, match=message):
            run(pipeline, {SOURCE: frame_of(spark, [0, 1, row])}, time=NOON)


def test_bad_records_are_those_of_the_local_engine(spark: SparkSession) -> None:
    """A row with two members, one without, and a null are bad records, with the same error and text."""
    rows = [0, 1, 2, 3, 4]
    on_spark = run(BY_QUERY, {SOURCE: frame_of(spark, rows)}, dead_letters=True, time=NOON)
    data = local.run(BY_QUERY, {SOURCE: pl.concat([FRAME, FRAME.clear(1)])}, dead_letters=True, time=NOON)
    assert sorted(on_spark.bad_records) == sorted(data.bad_records)
    assert len(on_spark.bad_records) == 3
    assert on_spark.panes == data.panes
