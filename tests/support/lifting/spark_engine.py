"""Evaluates the lifted expressions of functions of an edge row in Spark, many at a time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import pyarrow as pa
from flowalg_columns.values import decode
from flowalg_spark.encoding import sql
from flowalg_spark.encoding.columns import col, frame_columns, nest, select
from flowalg_spark.encoding.sql import Sql
from flowalg_spark.expressions import Fallible, compile_expression
from pyspark.sql import DataFrame, SparkSession

from flowalg.data.shapes import Shape
from flowalg.lifting.tree.expressions import Expr
from tests.support.lifting.edge_functions import EDGE, table_of
from tests.support.lifting.rows import Edge

AT_ROW: Final = "at_row"


def frame_of(spark: SparkSession, rows: Sequence[Edge]) -> DataFrame:
    """Returns the rows as a frame that a source would read."""
    table = table_of(rows)
    return spark.createDataFrame(table.append_column(AT_ROW, pa.array(range(len(rows)), pa.int64())))


def column_of(expression: Expr) -> Sql:
    """Returns the value of an expression in one column, with structs for its records and tuples."""
    return nest(compile_expression(expression, frame_columns(EDGE)))


def spark_results(
    frame: DataFrame, expressions: Sequence[Expr], skipped: Sequence[frozenset[int]]
) -> list[list[object]]:
    """Returns Spark's result of each expression in every row, in one query; None in the rows that are skipped."""
    columns = []
    for number, (expression, rows) in enumerate(zip(expressions, skipped, strict=True)):
        column = column_of(expression)
        if rows:
            column = sql.when(~col(AT_ROW).is_in(*rows), column)
        columns.append(column.alias(f"c{number}"))
    table = select(frame, *columns, col(AT_ROW)).orderBy(AT_ROW).toArrow()
    results = []
    for number, (expression, rows) in enumerate(zip(expressions, skipped, strict=True)):
        assert expression.shape is not None
        shape = expression.shape
        values: Sequence[object] = table.column(f"c{number}").to_pylist()
        decoded: list[object] = [
            None if row in rows else decode(value, shape) for row, value in enumerate(values)
        ]
        results.append(decoded)
    return results


def fallible_results(
    frame: DataFrame, fallible: Sequence[tuple[Fallible, Shape]]
) -> list[list[tuple[bool, object]]]:
    """Returns for each expression whether it fails in each row, and its result where it does not, in one query."""
    columns = []
    for number, (compiled, _) in enumerate(fallible):
        fails = sql.coalesce(compiled.fails, False)
        columns += [fails.alias(f"f{number}"), nest(compiled.columns).alias(f"c{number}")]
    table = select(frame, *columns, col(AT_ROW)).orderBy(AT_ROW).toArrow()
    results = []
    for number, (_, shape) in enumerate(fallible):
        pairs: Iterable[tuple[bool, object]] = zip(
            *(table.column(f"{kind}{number}").to_pylist() for kind in "fc"), strict=True
        )
        results.append([(fails, None if fails else decode(value, shape)) for fails, value in pairs])
    return results
