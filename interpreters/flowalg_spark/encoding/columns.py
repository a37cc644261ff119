"""The elements of a flow as trees of Spark columns, which ``flowalg_columns.layout`` names."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, TypeAlias

from flowalg_columns.layout import Branch, Layout, Leaf, Tree, layout_of, leaf_columns, parts_of
from pyspark.sql import DataFrame, SparkSession

from flowalg.data.shapes import RecordOf, Shape, TupleOf
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


def columns_of(layout: Layout, column_of: Callable[[str], Sql] = col) -> Columns:
    """Returns the columns of a layout; ``column_of`` maps a name to its column."""
    match layout:
        case Leaf(shape=shape, column=name):
            return Leaf(shape, column_of(name))
        case Branch(shape=shape, parts=parts):
            return Branch(shape, tuple(columns_of(part, column_of) for part in parts))


def unnest(column: Sql, shape: Shape) -> Columns:
    """Converts one column, with structs for records and tuples, to a tree."""
    if isinstance(shape, RecordOf | TupleOf):
        return Branch(shape, tuple(unnest(column[name], part) for name, part in parts_of(shape)))
    return Leaf(shape, column)


def frame_columns(shape: Shape, column_of: Callable[[str], Sql] = col) -> Columns:
    """Returns an element's columns in a user's frame: one for each field of a record, otherwise ``value``."""
    if isinstance(shape, RecordOf):
        return Branch(shape, tuple(unnest(column_of(field.name), field.shape) for field in shape.fields))
    return unnest(column_of("value"), shape)


def nest(columns: Columns) -> Sql:
    """Converts a tree to one column, with structs for its branches."""
    match columns:
        case Leaf(column=column):
            return column
        case Branch(shape=shape, parts=parts):
            names = (name for name, _ in parts_of(shape))
            return sql.struct(*(nest(part).alias(name) for name, part in zip(names, parts, strict=True)))


def flatten_columns(columns: Columns, shape: Shape) -> list[Sql]:
    """Returns the columns of a tree, named by the layout of its shape."""
    names = leaf_columns(layout_of(shape))
    return [column.alias(name) for name, column in zip(names, leaf_columns(columns), strict=True)]


def select(frame: DataFrame, *columns: Sql | str) -> DataFrame:
    """Returns a frame with these columns, or texts of SQL, by one call of the JVM."""
    return frame.selectExpr(*map(str, columns))


def where(frame: DataFrame, condition: Sql) -> DataFrame:
    """Returns the rows of a frame for which a condition is true."""
    return frame.filter(str(condition))


def aggregate(frame: DataFrame, keys: Iterable[Sql], aggregates: Iterable[Sql]) -> DataFrame:
    """Returns a row with the keys and the aggregates for each group of rows."""
    return frame.groupBy(*(key.column for key in keys)).agg(*(of_rows.column for of_rows in aggregates))
