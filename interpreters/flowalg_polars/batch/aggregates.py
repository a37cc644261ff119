"""Combiners as aggregates of Polars, over the rows of a group or over partial results.

Their results and errors are those of the algebra's combiners.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import polars as pl
from flowalg_columns.checks.values import nan_in, sum_overflows
from flowalg_columns.combiners import NativeAggregate, first_part, ranks_of
from flowalg_shard.contents.buckets import (
    BUCKET,
    COUNT,
    bucket_of,
    merge_buckets,
    quantiles_of,
    require_finite,
)
from flowalg_shard.tables.columns import EVENT_TIME
from flowalg_shard.tables.floats import finite_total, scale, without_negative_zeros

from flowalg.combiners.collections import AllOf, AnyOf, ToList, TopN, ToSet
from flowalg.combiners.core import AnyCombiner, Count, Max, Mean, Min, Over, Sum
from flowalg.combiners.quantiles import Quantile, Quantiles
from flowalg.combiners.result_shapes import ORDERED
from flowalg.data.errors import ElementError, ValueRangeError
from flowalg.data.shapes import BOOLEAN, FLOAT, INTEGER, Scalar, Shape, contains_float
from flowalg.data.values import MAX_INTEGER, MIN_INTEGER
from flowalg.lifting.tree.expressions import Expr, Param
from flowalg_polars.columns import Columns, nest, polars_type
from flowalg_polars.lowering.failures import evaluate_scalar

Parts: TypeAlias = tuple[pl.Expr, ...]


Native: TypeAlias = NativeAggregate[pl.Expr]


def native_aggregate(combiner: AnyCombiner, argument: Columns, label: str) -> Native | None:
    """Returns the aggregate of a combiner over the values in ``argument``; ``None`` if only Python can compute it."""
    shape = argument.shape
    value = nest(argument)
    match combiner.combiner if isinstance(combiner, Over) else combiner:
        case Count():
            return NativeAggregate((pl.len().cast(pl.Int64()),), _sums, first_part)
        case Sum() if shape == INTEGER:
            return NativeAggregate((_exact(value),), _sums, lambda parts: _stored(parts[0], label))
        case Sum() if shape == FLOAT:
            return NativeAggregate(
                (value.sum(), scale(value).sum()), _sums, lambda parts: finite_total(parts[0], parts[1])
            )
        case Mean() if shape == INTEGER:
            return NativeAggregate(
                (_exact(value), pl.len().cast(pl.Int64())),
                _sums,
                lambda parts: _quotient((_stored(parts[0], label), parts[1])),
            )
        case Mean() if shape == FLOAT:
            return NativeAggregate(
                (value.sum(), scale(value).sum(), pl.len().cast(pl.Int64())),
                _sums,
                lambda parts: without_negative_zeros(_quotient((finite_total(parts[0], parts[1]), parts[2]))),
            )
        case Min() if shape in ORDERED:
            return NativeAggregate(
                (_without_nan(value, shape, "Min", label).min(),), lambda parts: (parts[0].min(),), first_part
            )
        case Max() if shape in ORDERED:
            return NativeAggregate(
                (_without_nan(value, shape, "Max", label).max(),), lambda parts: (parts[0].max(),), first_part
            )
        case AnyOf() if shape == BOOLEAN:
            return NativeAggregate((value.any(),), lambda parts: (parts[0].any(),), first_part)
        case AllOf() if shape == BOOLEAN:
            return NativeAggregate((value.all(),), lambda parts: (parts[0].all(),), first_part)
        case (Quantile() | Quantiles()) as quantiles if shape in (INTEGER, FLOAT):
            return _quantiles(quantiles, value, shape, label)
        case TopN() as top:
            return _top_n(top, argument, label)
        case ToList():
            return NativeAggregate((value.sort_by(pl.col(EVENT_TIME), value),), None, first_part)
        case ToSet() if isinstance(shape, Scalar) and not contains_float(shape):
            return NativeAggregate((value.unique(),), None, lambda parts: parts[0].list.sort())
        case _:
            return None


def _sums(parts: Parts) -> Parts:
    return tuple(part.sum() for part in parts)


def _exact(value: pl.Expr) -> pl.Expr:
    """Returns the sum of integers in 128 bits, which do not overflow."""
    return value.cast(pl.Int128()).sum()


def _stored(total: pl.Expr, label: str) -> pl.Expr:
    """Returns a sum as 64 bits; raises ``ValueRangeError`` if it does not fit."""

    def check(totals: pl.Series) -> pl.Series:
        low, high = totals.min(), totals.max()
        if isinstance(low, int) and isinstance(high, int) and not MIN_INTEGER <= low <= high <= MAX_INTEGER:
            raise ValueRangeError(sum_overflows(label))
        return totals.cast(pl.Int64())

    return total.map_batches(check, return_dtype=pl.Int64(), is_elementwise=True)


def _quotient(parts: Parts) -> pl.Expr:
    total, count = parts
    # For a constant count, Polars would multiply by its reciprocal, which rounds twice.
    counts = count.cast(pl.Float64()) + total.is_null().cast(pl.Float64())
    return total.cast(pl.Float64()) / counts


def _without_nan(value: pl.Expr, shape: Shape, combiner: str, label: str) -> pl.Expr:
    """Returns values, which must not be NaN."""

    def require(values: pl.Series) -> None:
        if values.is_nan().any():
            raise ElementError(nan_in(combiner, label))

    return _checked(value, shape, require)


def _checked(value: pl.Expr, shape: Shape, require: Callable[[pl.Series], None]) -> pl.Expr:
    """Returns values, of which floats must pass a check."""
    if shape != FLOAT:
        return value

    def check(values: pl.Series) -> pl.Series:
        require(values)
        return values

    return value.map_batches(check, return_dtype=pl.Float64(), is_elementwise=True)


def _quantiles(combiner: Quantile | Quantiles, value: pl.Expr, shape: Shape, label: str) -> Native:
    """Returns the aggregate that counts the values of each bucket."""

    def finish(counted: pl.Series) -> pl.Series:
        lists = pl.DataFrame({BUCKET: counted})
        return quantiles_of(lists.with_columns(merge_buckets(lists, BUCKET)), BUCKET, combiner)

    finite = _checked(value, shape, lambda values: require_finite(values, type(combiner).__name__, label))
    kind = pl.Float64() if isinstance(combiner, Quantile) else pl.List(pl.Float64())
    return NativeAggregate(
        (bucket_of(finite, combiner.relative_error).value_counts(name=COUNT),),
        None,
        lambda parts: parts[0].map_batches(finish, return_dtype=kind, is_elementwise=True),
    )


def _top_n(top: TopN[object], argument: Columns, label: str) -> Native | None:
    """Returns the aggregate for ``TopN``; ``None`` if Polars does not order the values by ``by`` as Python does."""
    ranks = ranks_of(top, Param(argument.shape))
    if ranks is None:
        return None
    value = nest(argument)
    checked = [_rank(rank, argument, label) for rank in ranks]
    if top.by is None:
        return NativeAggregate((checked[0].top_k(top.n).sort(descending=True),), None, first_part)
    return NativeAggregate((value.sort_by(checked, descending=True).head(top.n),), None, first_part)


def _rank(rank: Expr, argument: Columns, label: str) -> pl.Expr:
    """Returns one of the columns by which ``TopN`` orders values, which must not be NaN."""
    assert rank.shape is not None
    return _without_nan(evaluate_scalar(rank, argument, polars_type(rank.shape)), rank.shape, "TopN", label)
