"""The elements of a flow as trees of Spark columns, which ``flowalg_columns.layout`` names."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, TypeAlias

from flowalg_columns.layout import Expressions, Tree
from pyspark.sql import DataFrame, SparkSession

from flowalg_spark.encoding import sql
from flowalg_spark.encoding.sql import Sql, quoted

Columns: TypeAlias = Tree[Sql]
"""A tree of column expressions."""

CASE_SENSITIVE: Final = "spark.sql.caseSensitive"
"""Spark's setting for whether names of columns that differ in case only are two."""


def same_column(name: str, session: SparkSession) -> str:
    """Returns what is equal for names that a session takes for one column: by default it ignores case."""
    is_case_sensitive = str(session.conf.get(CASE_SENSITIVE, "false")).lower() == "true"
    return name if is_case_sensitive else name.lower()


def col(name: str) -> Sql:
    """Returns the column with exactly this name, dots and backticks included."""
    return Sql(quoted(name))


EXPRESSIONS: Final = Expressions[Sql](
    col,
    lambda parts: sql.struct(*parts),
    lambda column, name: column[name],
    sql.timestamp_micros,
    sql.unix_micros,
)
"""The expressions of Spark."""

columns_of: Final = EXPRESSIONS.columns_of
frame_columns: Final = EXPRESSIONS.frame_columns
unnest: Final = EXPRESSIONS.unnest
nest: Final = EXPRESSIONS.nest


def select(frame: DataFrame, *columns: Sql | str) -> DataFrame:
    """Returns a frame with these columns, or texts of SQL, by one call of the JVM."""
    return frame.selectExpr(*map(str, columns))


def where(frame: DataFrame, condition: Sql) -> DataFrame:
    """Returns the rows of a frame for which a condition is true."""
    return frame.filter(str(condition))


def aggregate(frame: DataFrame, keys: Iterable[Sql], aggregates: Iterable[Sql]) -> DataFrame:
    """Returns a row with the keys and the aggregates for each group of rows."""
    return frame.groupBy(*(key.column for key in keys)).agg(*(of_rows.column for of_rows in aggregates))
