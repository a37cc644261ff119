"""The time of a micro-batch, which must not be a constant in the code that Spark generates.

Each micro-batch would have different code, which is compiled again and runs cold: a filter and a map over four million
rows take half as long again.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from flowalg_spark.encoding.columns import col


def time_in_bundles() -> Column:
    """Returns the time of the micro-batch in microseconds, in an array. Spark interprets ``zip_with``; rows are few."""
    time = F.array(F.current_timestamp())
    return F.zip_with(time, time, lambda now, _: F.unix_micros(now))


def time_in_rows(frame: DataFrame) -> Column:
    """Returns the time of the micro-batch in microseconds, for any number of rows of a frame.

    Code refers to an array, unlike to a number, by reference. Spark does not know which of two equal items a row takes,
    unless the frame has no column that can be null: then the time is a constant.
    """
    now = F.unix_micros(F.current_timestamp())
    nullable = [field.name for field in frame.schema if field.nullable]
    return F.get(F.array(now, now), col(nullable[0]).isNull().cast("int")) if nullable else now
