"""Rows on which an expression fails: they fail the query with the error of the reference interpreter.

A failure is a text column, null on the rows that succeed. Polars computes both sides of a condition, so a failure is
data until it is known which rows are used.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl
from flowalg_columns.layout import Branch, Leaf

from flowalg.data.errors import ElementError, FlowalgError, UserFunctionError, ValueRangeError
from flowalg.lifting.tree.expressions import Build, Expr
from flowalg_polars.columns import Columns, polars_type
from flowalg_polars.expressions import compile_expression, compile_scalar


def error_of(message: str) -> FlowalgError:
    """Returns the error with the message of a failure."""
    if message.startswith("source "):
        return ElementError(message)
    return ValueRangeError(message) if "overflows 64 bits" in message else UserFunctionError(message)


def raise_first(failures: pl.Series) -> None:
    """Raises the error of the first row that failed."""
    if failures.null_count() < len(failures):
        raise error_of(str(failures.drop_nulls()[0]))


def require_success(value: pl.Expr, failure: pl.Expr | None, kind: pl.DataType) -> pl.Expr:
    """Returns a column that fails the query with the first failure."""
    if failure is None:
        return value

    def check(columns: Sequence[pl.Series]) -> pl.Series:
        values, failures = columns
        raise_first(failures)
        return values

    return pl.map_batches([value, failure], check, return_dtype=kind, is_elementwise=True)


def evaluate(expression: Expr, element: Columns) -> Columns:
    """Compiles an expression of an element to columns that fail the query where it fails."""
    if isinstance(expression, Build):
        return Branch(expression.shape, tuple(evaluate(part, element) for part in expression.parts))
    compiled = compile_expression(expression, element)
    return _guard(compiled.columns, compiled.failure)


def _guard(columns: Columns, failure: pl.Expr | None) -> Columns:
    match columns:
        case Leaf(shape=shape, column=column):
            return Leaf(shape, require_success(column, failure, polars_type(shape)))
        case Branch(shape=shape, parts=parts):
            return Branch(shape, tuple(_guard(part, failure) for part in parts))


def evaluate_scalar(expression: Expr, element: Columns, kind: pl.DataType) -> pl.Expr:
    """Compiles a scalar expression to one column of a type, which fails the query where the expression fails."""
    value, failure = compile_scalar(expression, element)
    return require_success(value, failure, kind)
