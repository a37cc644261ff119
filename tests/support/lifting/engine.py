"""Evaluates functions of an edge row in Python, and their expressions in Spark, many at a time."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Final

import pyarrow as pa
from attrs import frozen
from flowalg_columns.arrow_types import arrow_type
from flowalg_columns.layout import parts_of
from flowalg_columns.values import decode, encode
from flowalg_spark.encoding.columns import frame_columns, nest
from flowalg_spark.expressions import compile_expression
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from flowalg.data.errors import FlowalgError
from flowalg.data.shapes import RecordOf, shape_of
from flowalg.data.values import canonicalize
from flowalg.elementwise.functions import Call
from flowalg.lifting.lift import lift
from flowalg.lifting.tree.expressions import Expr, Param
from flowalg.lifting.tree.intervals import MICROSECOND, STORED
from tests.support.lifting.family import EdgeFunction
from tests.support.lifting.rows import Edge

_EDGE = shape_of(Edge)
assert isinstance(_EDGE, RecordOf)
EDGE: Final[RecordOf] = _EDGE

AT_ROW: Final = "at_row"


def lift_edge_function(f: EdgeFunction) -> Expr:
    """Returns the lifted expression of a function of an ``Edge``."""
    return lift(Call(f), (Param(EDGE),))


@frozen
class Raised:
    """The outcome of a function without a valid result."""

    error: str


def python_result(f: EdgeFunction, row: Edge) -> object:
    """Returns the result of the function in Python, or ``Raised`` if it has no valid result."""
    try:
        value = canonicalize(f(row), "the result")
    except (ArithmeticError, IndexError, ValueError, FlowalgError) as error:
        return Raised(repr(error))
    if isinstance(value, timedelta) and value // MICROSECOND not in STORED:
        return Raised("a duration of more than 64 bits")
    return value


def frame_of(spark: SparkSession, rows: Sequence[Edge]) -> DataFrame:
    """Returns the rows as a frame that a source would read."""
    schema = pa.schema([(name, arrow_type(shape)) for name, shape in parts_of(EDGE)])
    table = pa.Table.from_pylist([encode(row, EDGE) for row in rows], schema=schema)  # type: ignore[misc]
    return spark.createDataFrame(table.append_column(AT_ROW, pa.array(range(len(rows)), pa.int64())))


def column_of(expression: Expr) -> Column:
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
            column = F.when(~F.col(AT_ROW).isin(*rows), column)
        columns.append(column.alias(f"c{number}"))
    table = frame.select(*columns, F.col(AT_ROW)).orderBy(AT_ROW).toArrow()
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
