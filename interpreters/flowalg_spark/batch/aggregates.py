"""Combiners as aggregates of Spark, over the rows of a group or over partial results.

Their results and errors are those of the algebra's combiners, with any ANSI setting of the session.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from inspect import signature
from typing import Final, TypeAlias

from flowalg_columns.checks.values import nan_in, sum_overflows
from flowalg_columns.combiners import NativeAggregate, first_part, ranks_of
from pyspark.sql import types as T
from pyspark.sql.functions import max_by

from flowalg.combiners.collections import AllOf, AnyOf, ToList, TopN, ToSet
from flowalg.combiners.core import AnyCombiner, Count, Max, Mean, Min, Over, Sum
from flowalg.combiners.result_shapes import ORDERED
from flowalg.data.errors import ValueRangeError
from flowalg.data.shapes import (
    BOOLEAN,
    FLOAT,
    INTEGER,
    Nullable,
    Shape,
    contains_float,
)
from flowalg.lifting.tree.expressions import Expr, Param
from flowalg_spark.encoding import sql
from flowalg_spark.encoding.columns import Columns, nest
from flowalg_spark.encoding.schema import spark_type
from flowalg_spark.encoding.sql import Sql
from flowalg_spark.expressions import compile_scalar, floats
from flowalg_spark.expressions.errors import fail_for_element, fail_with

_SCALE: Final = 2.0**-64
"""The factor of scaled sums, which are not infinite for up to 2**64 finite values."""

_MAX_TOP_N: Final = 100_000 if "k" in signature(max_by).parameters else 0
"""The greatest ``n`` of ``TopN`` that Spark's ``max_by`` supports: none before Spark 4.2, where Python computes it."""


Native: TypeAlias = NativeAggregate[Sql]


def native_aggregate(combiner: AnyCombiner, argument: Columns, time: Sql, label: str) -> Native | None:
    """Returns the aggregate of a combiner over the values in ``argument``; ``None`` if only Python can compute it.

    ``time`` is the event time of a row, and ``label`` the transform that error messages name.
    """
    shape = argument.shape
    value = nest(argument)
    match combiner.combiner if isinstance(combiner, Over) else combiner:
        case Count():
            return _mergeable((sql.count(1),), (sql.sum,), first_part)
        case Sum() if shape == INTEGER:
            return _mergeable(
                (_exact_sum(value, label),), (lambda sums: _exact_sum(sums, label),), first_part
            )
        case Sum() if shape == FLOAT:
            return _mergeable(_float_sums(value), (sql.sum, sql.sum), _finite_total)
        case Mean() if shape == INTEGER:
            merges = (lambda sums: _exact_sum(sums, label), sql.sum)
            return _mergeable((_exact_sum(value, label), sql.count(1)), merges, _quotient)
        case Mean() if shape == FLOAT:
            return _mergeable((*_float_sums(value), sql.count(1)), (sql.sum,) * 3, _float_mean)
        case Min() if shape in ORDERED:
            return _mergeable((sql.min(_without_nan(value, shape, "Min", label)),), (sql.min,), first_part)
        case Max() if shape in ORDERED:
            return _mergeable((sql.max(_without_nan(value, shape, "Max", label)),), (sql.max,), first_part)
        case AnyOf() if shape == BOOLEAN:
            return _mergeable((sql.bool_or(value),), (sql.bool_or,), first_part)
        case AllOf() if shape == BOOLEAN:
            return _mergeable((sql.bool_and(value),), (sql.bool_and,), first_part)
        case TopN() as top:
            return _top_n(top, argument, label)
        case ToList():
            return _to_list(value, shape, time)
        case ToSet() if not isinstance(shape, Nullable) and not contains_float(shape):
            # collect_set ignores nulls. sort_array has the order of sets in the algebra.
            return NativeAggregate((sql.sort_array(sql.collect_set(value)),), None, first_part)
        case _:
            return None


def _mergeable(
    partials: tuple[Sql, ...],
    merges: tuple[Callable[[Sql], Sql], ...],
    finish: Callable[[tuple[Sql, ...]], Sql],
) -> Native:
    """Returns an aggregate whose columns of partial results merge independently."""
    return NativeAggregate(
        partials, lambda parts: tuple(merge(part) for merge, part in zip(merges, parts, strict=True)), finish
    )


def _quotient(parts: tuple[Sql, ...]) -> Sql:
    total, count = parts
    return total.cast("double") / count.cast("double")


def _float_sums(value: Sql) -> tuple[Sql, Sql]:
    """Returns the sum of floats, and their scaled sum, which is infinite only if the result is."""
    return sql.sum(value), sql.sum(value * _SCALE)


def _finite_total(sums: tuple[Sql, ...]) -> Sql:
    """Returns a sum of floats: where it is not finite, from the scaled sum, which has a greater range."""
    total, scaled, *_ = sums
    is_finite = sql.abs(total) < math.inf
    return sql.when(is_finite, total).otherwise(scaled * (1 / _SCALE))


def _float_mean(parts: tuple[Sql, ...]) -> Sql:
    return floats.canonical(_quotient((_finite_total(parts), parts[2])))


def _exact_sum(value: Sql, label: str) -> Sql:
    """Returns the sum of integers, which raises an error if it overflows."""
    overflow = fail_with(ValueRangeError, sum_overflows(label))
    return sql.coalesce(sql.try_sum(value), overflow)


def _without_nan(value: Sql, shape: Shape, name: str, label: str) -> Sql:
    """Returns the value, which raises an error if it is NaN."""
    return (
        value
        if shape != FLOAT
        else sql.when(sql.isnan(value), fail_for_element(nan_in(name, label))).otherwise(value)
    )


def _top_n(top: TopN[object], argument: Columns, label: str) -> Native | None:
    """Returns the aggregate for ``TopN``; ``None`` if Spark does not order the values by ``by`` as Python does."""
    ranks = ranks_of(top, Param(argument.shape))
    if ranks is None or top.n > _MAX_TOP_N:
        return None
    value = nest(argument)
    if top.by is None and argument.shape == FLOAT:
        # Spark orders NaN as the greatest value, so it is the first of the result.
        return NativeAggregate(
            (sql.max_by(value, value, top.n),), None, lambda parts: _with_first_not_nan(parts[0], label)
        )
    checked = [_rank(rank, argument, label) for rank in ranks]
    by = checked[0] if len(checked) == 1 else sql.struct(*checked)
    return NativeAggregate((sql.max_by(value, by, top.n),), None, first_part)


def _rank(rank: Expr, argument: Columns, label: str) -> Sql:
    """Returns one of the columns by which ``TopN`` orders values, which must not be NaN."""
    assert rank.shape is not None
    return _without_nan(compile_scalar(rank, argument), rank.shape, "TopN", label)


def _with_first_not_nan(values: Sql, label: str) -> Sql:
    """Returns ordered values, which raise an error if the first is NaN."""
    return sql.when(sql.isnan(sql.get(values, 0)), fail_for_element(nan_in("TopN", label))).otherwise(values)


def _to_list(value: Sql, shape: Shape, time: Sql) -> Native:
    """Returns the aggregate for ``ToList``: values in order of event time, then of the values."""
    pairs = sql.collect_list(sql.struct(time.alias("t"), value.alias("v")))
    listed = sql.transform(sql.array_sort(pairs), lambda pair: pair["v"])
    return NativeAggregate((listed.cast(T.ArrayType(spark_type(shape))),), None, first_part)
