"""The time of a micro-batch, which must not be a constant in the code that Spark generates.

Each micro-batch would have different code, which is compiled again and runs cold: a filter and a map over four million
rows take half as long again.
"""

from __future__ import annotations

from pyspark.sql import DataFrame

from flowalg_spark.encoding import sql
from flowalg_spark.encoding.columns import col
from flowalg_spark.encoding.sql import Sql


def now() -> Sql:
    """Returns the time of the micro-batch in microseconds, as a constant."""
    return sql.unix_micros(sql.current_timestamp())


def time_in_bundles() -> Sql:
    """Returns the time of the micro-batch in microseconds, in an array. Spark interprets ``zip_with``; rows are few."""
    time = sql.array(sql.current_timestamp())
    return sql.zip_with(time, time, lambda at, _: sql.unix_micros(at))


def time_in_rows(frame: DataFrame) -> Sql:
    """Returns the time of the micro-batch in microseconds, for any number of rows of a frame.

    Code refers to an array, unlike to a number, by reference. Spark does not know which of two equal items a row takes,
    unless the frame has no column that can be null: then the time is a constant.
    """
    nullable = [field.name for field in frame.schema if field.nullable]
    return sql.get(sql.array(now(), now()), col(nullable[0]).is_null().cast("int")) if nullable else now()
