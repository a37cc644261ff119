"""The built-in combiners over columns: lift and pre-combine, merge, extract.

They give what the combiners of the algebra give, errors included: integer sums are exact or refused, and values
without a place in the order are refused rather than ignored.
"""

from __future__ import annotations

from typing import assert_never

import polars as pl

from flowalg.combiners import Count, Max, Mean, Min, Sum
from flowalg.errors import ElementError, ValueRangeError
from flowalg.values import MAX_INTEGER, MIN_INTEGER
from flowalg_shard.stage import AggregateColumn


def lifted(column: AggregateColumn) -> list[pl.Expr]:
    """The accumulator columns of single values, before anything is combined."""
    match column.combiner:
        case Count():
            return [pl.lit(1, pl.Int64).alias(column.result)]
        case Mean():
            total, count = column.accumulators
            return [pl.col(_argument(column)).alias(total), pl.lit(1, pl.Int64).alias(count)]
        case Sum() | Min() | Max():
            return [pl.col(_argument(column)).alias(column.result)]
    assert_never(column.combiner)


def _argument(column: AggregateColumn) -> str:
    assert column.argument is not None
    return column.argument


def combine(
    table: pl.DataFrame,
    group: list[str],
    columns: tuple[AggregateColumn, ...],
    extra: list[pl.Expr],
    label: str,
) -> pl.DataFrame:
    """One row for each group: accumulators merged, and ``extra`` aggregated beside them."""
    integer_sums = [name for column in columns for name in _integer_sums(column)]
    wide = [name for name in integer_sums if _may_overflow(table[name])]
    merged = [_merge(column, name, wide) for column in columns for name in column.accumulators]
    combined = table.group_by(group).agg(*merged, *extra)
    for name in wide:
        outside = combined.filter(~pl.col(name).is_between(MIN_INTEGER, MAX_INTEGER))
        if not outside.is_empty():
            key = outside.select(group).row(0, named=True)
            raise ValueRangeError(
                f"{label}: the sum {outside[name][0]} overflows 64 bits: integers must lie in [-2**63, 2**63); at {key}"
            )
    return combined.with_columns(pl.col(name).cast(pl.Int64) for name in wide)


def _integer_sums(column: AggregateColumn) -> tuple[str, ...]:
    match column.combiner:
        case Sum() | Mean():
            return () if column.floating else column.accumulators[:1]
        case Count() | Min() | Max():
            return ()
    assert_never(column.combiner)


def _may_overflow(values: pl.Series) -> bool:
    """Whether a sum of some of the values could need more than 64 bits."""
    low, high = values.min(), values.max()
    if not isinstance(low, int) or not isinstance(high, int):
        return False
    return max(-low, high) * len(values) > MAX_INTEGER


def _merge(column: AggregateColumn, name: str, wide: list[str]) -> pl.Expr:
    match column.combiner:
        case Sum() | Count() | Mean():
            return (pl.col(name).cast(pl.Int128) if name in wide else pl.col(name)).sum()
        case Min():
            return pl.col(name).min()
        case Max():
            return pl.col(name).max()
    assert_never(column.combiner)


def check_ordered(table: pl.DataFrame, columns: tuple[AggregateColumn, ...], label: str) -> None:
    """Raises ``ElementError`` when ``Min`` or ``Max`` is given NaN, which has no place in the order."""
    for column in columns:
        if (
            isinstance(column.combiner, Min | Max)
            and column.floating
            and table[_argument(column)].is_nan().any()
        ):
            raise ElementError(
                f"{label}: {type(column.combiner).__name__} was given nan, which has no place in an order"
            )


def extracted(column: AggregateColumn) -> pl.Expr:
    """The result column of accumulated values."""
    if isinstance(column.combiner, Mean):
        total, count = column.accumulators
        return (pl.col(total).cast(pl.Float64) / pl.col(count).cast(pl.Float64)).alias(column.result)
    return pl.col(column.result)


__all__ = ["check_ordered", "combine", "extracted", "lifted"]
