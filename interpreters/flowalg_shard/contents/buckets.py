"""Quantiles in columns: an accumulator is a list of buckets with their counts, as that of the algebra's combiners."""

from __future__ import annotations

from typing import Final

import polars as pl

from flowalg.combiners.quantiles import Quantile, Quantiles, buckets_in_octave, middle_of, rank_of
from flowalg.data.errors import ElementError, format_value
from flowalg_shard.tables.lists import ROW, implode, items_of

BUCKET: Final = "bucket"
COUNT: Final = "count"
"""The fields of an item of a list."""

_FRACTION_BITS: Final = 52
_LEAST: Final = 1 << _FRACTION_BITS
"""The bits of the least positive float that does not count as zero, as an integer."""
_TOTAL: Final = "__total"
_AFTER: Final = "__after"


def require_finite(values: pl.Series, name: str, label: str) -> None:
    """Raises ``ElementError`` for a float that a combiner of a name does not accept."""
    if values.dtype.is_float() and not (is_finite := values.is_finite()).all():
        got = format_value(values.filter(~is_finite)[0])
        raise ElementError(f"{label}: the input of {name} must be finite; got {got}")


def bucket_of(value: pl.Expr, relative_error: float) -> pl.Expr:
    """Returns the bucket of a finite number.

    Buckets divide each power of two alike, so the bucket is in the bits of the float above those of its fraction.
    """
    number = value.cast(pl.Float64())
    bits = number.abs().reinterpret(dtype=pl.Int64())
    width = _LEAST // buckets_in_octave(relative_error)
    size = (bits - _LEAST).floordiv(width) + 1
    return pl.when(bits < _LEAST).then(0).when(number < 0).then(-size).otherwise(size).alias(BUCKET)


def lift_bucket(value: pl.Expr, relative_error: float, weight: pl.Expr) -> pl.Expr:
    """Returns the list of the bucket of a single value, or of its retraction by the weight."""
    count = weight.cast(pl.Int64()).alias(COUNT)
    return pl.concat_list(pl.struct(bucket_of(value, relative_error), count))


def merge_buckets(table: pl.DataFrame, name: str) -> pl.Series:
    """Returns the lists in a column with one item for each bucket, in order; no count is zero."""
    items = items_of(table, name).group_by(ROW, BUCKET).agg(pl.col(COUNT).sum())
    items = items.filter(pl.col(COUNT) != 0).sort(ROW, BUCKET)
    return implode(items.select(ROW, pl.struct(BUCKET, COUNT).alias(name)), name, table.height)


def quantiles_of(table: pl.DataFrame, name: str, combiner: Quantile | Quantiles) -> pl.Series:
    """Returns the quantiles of the values in the lists of a column, each of which has some.

    A negative count, from an early retraction, does not count.
    """
    held = items_of(table, name).filter(pl.col(COUNT) > 0).with_columns(pl.col(COUNT).cast(pl.Int64()))
    counted = held.with_columns(
        pl.col(COUNT).sum().over(ROW).alias(_TOTAL), pl.col(COUNT).cum_sum().over(ROW).alias(_AFTER)
    )
    quantiles = (combiner.q,) if isinstance(combiner, Quantile) else combiner.qs
    found = [_values_at(counted, quantile, combiner.relative_error) for quantile in quantiles]
    if isinstance(combiner, Quantile):
        return found[0].alias(name)
    return pl.DataFrame({str(number): part for number, part in enumerate(found)}).select(
        pl.concat_list(pl.all()).alias(name)
    )[name]


def _values_at(counted: pl.DataFrame, quantile: float, relative_error: float) -> pl.Series:
    """Returns the value at a quantile of each list, by the first bucket with more values up to it than the rank."""
    totals = counted[_TOTAL].unique()
    ranks = [rank_of(quantile, total) for total in totals]
    rank = pl.col(_TOTAL).replace_strict(totals, ranks, return_dtype=pl.Int64())
    buckets = (
        counted.filter(pl.col(_AFTER) > rank).group_by(ROW).agg(pl.col(BUCKET).first()).sort(ROW)[BUCKET]
    )
    distinct = buckets.unique()
    middles = [middle_of(bucket, relative_error) for bucket in distinct]
    return buckets.replace_strict(distinct, middles, return_dtype=pl.Float64()).cast(pl.Float64())
