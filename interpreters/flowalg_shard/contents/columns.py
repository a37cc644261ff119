"""The contents of windows as columns, for built-in combiners: lift, pre-combine, merge, extract.

Results and errors are those of the algebra's combiners: the result of a sum of integers is exact or raises an error,
and ``Min``, ``Max`` and ``TopN`` raise an error for NaN. A sum is a column of 64 bits, or of 128 bits in the rare table
that has a greater one, so that no error depends on how elements are divided. A sum of floats is two columns
(``tables/floats.py``). ``TopN``, ``ToList`` and ``ToSet`` have lists of their values (``lists.py``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, assert_never

import polars as pl
from attrs import frozen

from flowalg.combiners.collections import AllOf, AnyOf, ToList, TopN, ToSet
from flowalg.combiners.core import Count, Max, Mean, Min, Sum
from flowalg.combiners.quantiles import Quantile, Quantiles
from flowalg.data.errors import ElementError, ValueRangeError
from flowalg.data.values import MAX_INTEGER, MIN_INTEGER
from flowalg.windows.strategy import Accumulation
from flowalg_shard.contents.buckets import lift_bucket, merge_buckets, quantiles_of, require_finite
from flowalg_shard.contents.lists import (
    as_emitted,
    distinct_values,
    lift_distinct,
    lift_timed,
    pairs_of,
    selected_of,
    sorted_values,
)
from flowalg_shard.contents.stage import RESULT, TOP_RANK, TOP_VALUE, AggregateColumn, Stage
from flowalg_shard.tables.columns import CHANGED, EARLIEST, EVENT_TIME, LATEST, SIZE, WEIGHT
from flowalg_shard.tables.floats import finite_total, scale, without_negative_zeros
from flowalg_shard.tables.lists import concat


@frozen
class ColumnContents:
    """Contents as columns: one or two accumulators for each aggregate, and further columns.

    ``SIZE`` is the number of values minus that of retractions, if elements may be retractions. ``EARLIEST`` and
    ``LATEST`` exist if panes carry event times of elements.
    """

    stage: Stage

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns in bundles and in state."""
        accumulators = (name for column in self.stage.aggregates for name in column.accumulators)
        size = (SIZE,) if self.stage.retractions else ()
        times = (EARLIEST, LATEST) if self.stage.keeps_times else ()
        return (*accumulators, *size, *times)

    @property
    def nested(self) -> list[pl.Expr]:
        """The columns with types that do not depend on the values, to be nested in lists."""
        wide = {name for column in self.stage.aggregates for name in _integer_sums(column)}
        return [pl.col(name).cast(pl.Int128()) if name in wide else pl.col(name) for name in self.columns]

    def lift(self, rows: pl.DataFrame) -> list[pl.Expr]:
        """Returns the columns of single elements, before they are combined."""
        check_ordered(rows, self.stage.aggregates, self.stage.label)
        weight = pl.col(WEIGHT) if self.stage.retractions else pl.lit(1)
        columns = [expr for column in self.stage.aggregates for expr in lift_column(column, weight)]
        if self.stage.retractions:
            weighted = [self._weighted(rows, name) for name in self._sums]
            others = [expr for expr in columns if expr.meta.output_name() not in self._sums]
            columns = [*others, *weighted, pl.col(WEIGHT).cast(pl.Int64()).alias(SIZE)]
        if self.stage.keeps_times:
            columns += [pl.col(EVENT_TIME).alias(EARLIEST), pl.col(EVENT_TIME).alias(LATEST)]
        return columns

    @property
    def _sums(self) -> tuple[str, ...]:
        """The accumulators that are sums. If elements may be retractions, all accumulators are."""
        return tuple(
            name
            for column in self.stage.aggregates
            if isinstance(column.combiner, Sum | Count | Mean | AnyOf | AllOf)
            for name in column.accumulators
        )

    @property
    def _lists(self) -> tuple[str, ...]:
        """The accumulators that are lists."""
        return tuple(
            column.result
            for column in self.stage.aggregates
            if isinstance(column.combiner, Quantile | Quantiles | TopN | ToList | ToSet)
        )

    def _weighted(self, rows: pl.DataFrame, name: str) -> pl.Expr:
        lifts = {
            expr.meta.output_name(): expr
            for column in self.stage.aggregates
            for expr in lift_column(column, pl.lit(1))
        }
        value = lifts[name]
        type_ = rows.select(value).schema[name]
        if type_ == pl.Int64() and rows.select(value.min()).item() == MIN_INTEGER:
            value = value.cast(pl.Int128())
        return value * pl.col(WEIGHT).cast(pl.Int64())

    def combine(
        self,
        table: pl.DataFrame | pl.LazyFrame,
        group: Sequence[str],
        extra: Sequence[pl.Expr],
        *,
        adjacent: bool = False,
    ) -> pl.DataFrame:
        """Returns one row for each group: its merged contents, with ``extra`` aggregates.

        The rows of a group may be ``adjacent``.
        """
        others = list(extra)
        if self.stage.retractions:
            others.append(pl.col(SIZE).sum())
        if self.stage.keeps_times:
            others += [pl.col(EARLIEST).min(), pl.col(LATEST).max()]
        return combine_columns(table, list(group), self.stage.aggregates, others, adjacent=adjacent)

    precombine = combine
    absorb = combine

    def without_nulls(self, table: pl.DataFrame) -> pl.DataFrame:
        """Returns the table with the contents of no values where contents are null."""
        empty = {name: pl.col(name).fill_null(0) for name in self._sums}
        empty |= {name: pl.col(name).fill_null([]) for name in self._lists}
        return table.with_columns(**empty)

    @property
    def is_empty(self) -> pl.Expr:
        """Whether all values were retracted, where elements may be retractions."""
        return pl.col(SIZE) == 0

    @property
    def has_value(self) -> pl.Expr:
        """Whether a window has a value to emit: it is not empty, or under ``DISCARDING`` it has changes."""
        discards = self.stage.strategy.mode is Accumulation.DISCARDING
        if self.stage.retractions:
            signed = all(isinstance(column.combiner, Sum | Count) for column in self.stage.aggregates)
            return pl.lit(True) if discards and signed else pl.col(SIZE) > 0
        return pl.col(CHANGED) if discards else pl.lit(True)

    @property
    def total(self) -> bool:
        """Whether the combiners have a result for no values."""
        return all(
            isinstance(column.combiner, Sum | Count | AnyOf | AllOf | TopN | ToList | ToSet)
            for column in self.stage.aggregates
        )

    def results(self, table: pl.DataFrame) -> list[pl.Expr | pl.Series]:
        """Returns the results of accumulators as columns; raises ``ValueRangeError`` for too large sums."""
        for name in (name for column in self.stage.aggregates for name in _integer_sums(column)):
            if table.schema[name] == pl.Int128():
                _check_range(table, name, self.stage.window_key, self.stage.label)
        if self.stage.join is not None:
            list_results = selected_of if self.stage.join.kind.selects else pairs_of
            return [list_results(self.stage.join, table, self._lists).alias(RESULT)]
        return [_extract(column, table) for column in self.stage.aggregates]

    def discard(self, table: pl.DataFrame, emitted: str) -> pl.DataFrame:
        """Returns the table with empty contents where the column ``emitted`` is true.

        A join keeps its values there, for their pairs with later ones.
        """
        if self.stage.join is not None:
            table = table.with_columns(as_emitted(table, name, emitted) for name in self._lists)
        types = table.schema
        empty = {
            name: pl.lit(0 if name in self._sums or name == SIZE else None, types[name])
            for name in self.columns
            if name not in self._lists
        }
        if self.stage.join is None:
            empty |= {name: pl.col(name).list.head(0) for name in self._lists}
        return table.with_columns(
            pl.when(emitted).then(expr).otherwise(pl.col(name)).alias(name) for name, expr in empty.items()
        )


def lift_column(column: AggregateColumn, weight: pl.Expr) -> list[pl.Expr]:
    """Returns the accumulator columns of single values, before they are combined; sums are without the weight."""
    match column.combiner:
        case Count():
            return [pl.lit(1, pl.Int64).alias(column.result)]
        case Mean():
            return [*_lift_sum(column), pl.lit(1, pl.Int64).alias(column.accumulators[-1])]
        case Sum():
            return _lift_sum(column)
        case AnyOf():
            return [pl.col(_argument(column)).cast(pl.Int64).alias(column.result)]
        case AllOf():
            return [(~pl.col(_argument(column))).cast(pl.Int64).alias(column.result)]
        case Min() | Max():
            return [pl.col(_argument(column)).alias(column.result)]
        case Quantile(relative_error=error) | Quantiles(relative_error=error):
            return [lift_bucket(pl.col(_argument(column)), error, weight).alias(column.result)]
        case TopN():
            return [pl.concat_list(_argument(column)).alias(column.result)]
        case ToList():
            return [lift_timed(pl.col(_argument(column)), column.side).alias(column.result)]
        case ToSet():
            return [lift_distinct(pl.col(_argument(column))).alias(column.result)]
    assert_never(column.combiner)


def _lift_sum(column: AggregateColumn) -> list[pl.Expr]:
    value, total = pl.col(_argument(column)), column.accumulators[0]
    scaled = [] if column.scaled is None else [scale(value).alias(column.scaled)]
    return [value.alias(total), *scaled]


def _argument(column: AggregateColumn) -> str:
    assert column.argument is not None
    return column.argument


def combine_columns(
    table: pl.DataFrame | pl.LazyFrame,
    group: list[str],
    columns: tuple[AggregateColumn, ...],
    extra: list[pl.Expr],
    *,
    adjacent: bool = False,
) -> pl.DataFrame:
    """Returns one row for each group: merged accumulators, with ``extra`` aggregates.

    Large tables are grouped by Polars' streaming engine, which is faster there unless groups are adjacent rows.
    """
    integer_sums = [name for column in columns for name in _integer_sums(column)]
    wide = _wide_sums(table, integer_sums)
    merge = [_merge(column, name, wide) for column in columns for name in column.accumulators]
    if isinstance(table, pl.LazyFrame) or (table.height >= STREAMED and not adjacent):
        combined = table.lazy().group_by(group).agg(*merge, *extra).collect(engine="streaming")
    else:
        combined = table.group_by(group).agg(*merge, *extra)
    buckets = [column.result for column in columns if isinstance(column.combiner, Quantile | Quantiles)]
    combined = (
        combined.with_columns(merge_buckets(combined, name) for name in buckets) if buckets else combined
    )
    fits = [name for name in wide if _outside(combined, name).is_empty()]
    return combined.with_columns(pl.col(name).cast(pl.Int64) for name in fits) if fits else combined


def _outside(table: pl.DataFrame, name: str) -> pl.DataFrame:
    """Returns the rows in which a sum needs more than 64 bits."""
    return table.filter(~pl.col(name).is_between(MIN_INTEGER, MAX_INTEGER))


def _check_range(table: pl.DataFrame, name: str, group: Sequence[str], label: str) -> None:
    """Raises ``ValueRangeError`` if a sum needs more than 64 bits."""
    outside = _outside(table, name)
    if not outside.is_empty():
        key = outside.select(group).row(0, named=True)
        raise ValueRangeError(
            f"{label}: the sum {outside[name][0]} overflows 64 bits: integers must lie in [-2**63, 2**63); at {key}"
        )


def _wide_sums(table: pl.DataFrame | pl.LazyFrame, sums: list[str]) -> list[str]:
    """Returns the sums that may need more than 64 bits for some rows of the table, or that have such values."""
    if not sums:
        return []
    if isinstance(table, pl.LazyFrame):
        table = table.select(sums).collect(engine="streaming")
    return [name for name in sums if _may_overflow(table[name])]


LARGE: Final = 150_000
"""The number of rows from which combining elements before the step is faster, in a query of the streaming engine."""

STREAMED: Final = 50_000
"""The number of rows from which the streaming engine groups faster."""


def _integer_sums(column: AggregateColumn) -> tuple[str, ...]:
    match column.combiner:
        case Sum() | Mean():
            return () if column.floating else column.accumulators[:1]
        case (
            Count()
            | Min()
            | Max()
            | AnyOf()
            | AllOf()
            | Quantile()
            | Quantiles()
            | TopN()
            | ToList()
            | ToSet()
        ):
            return ()
    assert_never(column.combiner)


def _may_overflow(values: pl.Series) -> bool:
    """Returns whether a sum of some of the values may need more than 64 bits, or a value does."""
    low, high = values.min(), values.max()
    if not isinstance(low, int) or not isinstance(high, int):
        return False
    return values.dtype != pl.Int64() or max(-low, high) * len(values) > MAX_INTEGER


def _merge(column: AggregateColumn, name: str, wide: list[str]) -> pl.Expr:
    match column.combiner:
        case Sum() | Count() | Mean() | AnyOf() | AllOf():
            return (pl.col(name).cast(pl.Int128) if name in wide else pl.col(name)).sum()
        case Min():
            return pl.col(name).min()
        case Max():
            return pl.col(name).max()
        case TopN(n=n):
            entries = pl.col(name).explode().drop_nulls()
            return entries.sort_by(entries.struct.field(TOP_RANK), descending=True, maintain_order=True).head(
                n
            )
        case ToList() | Quantile() | Quantiles():
            return concat(name)
        case ToSet():
            return concat(name).unique()
    assert_never(column.combiner)


def check_ordered(table: pl.DataFrame, columns: tuple[AggregateColumn, ...], label: str) -> None:
    """Raises ``ElementError`` if ``Min``, ``Max`` or ``TopN`` receives NaN, and a quantile what is not finite."""
    for column in columns:
        if isinstance(column.combiner, Quantile | Quantiles):
            require_finite(table[_argument(column)], type(column.combiner).__name__, label)
        if not isinstance(column.combiner, Min | Max | TopN) or not column.floating:
            continue
        compared = table[_argument(column)]
        if isinstance(column.combiner, TopN):
            compared = compared.struct.field(TOP_RANK)
        if compared.is_nan().any():
            raise ElementError(
                f"{label}: the input of {type(column.combiner).__name__} must not be None or NaN; got nan"
            )


def _extract(column: AggregateColumn, table: pl.DataFrame) -> pl.Expr | pl.Series:
    """Returns the result column of an aggregate, from a table of its accumulators."""
    if isinstance(column.combiner, ToList):
        return sorted_values(table, column.result, timed=column.timed)
    if isinstance(column.combiner, ToSet):
        return distinct_values(table, column.result)
    if isinstance(column.combiner, Quantile | Quantiles):
        return quantiles_of(table, column.result, column.combiner)
    return extract_column(column)


def extract_column(column: AggregateColumn) -> pl.Expr:
    """Returns the result column of an aggregate that is an expression of its accumulators."""
    if isinstance(column.combiner, Mean):
        total, count = _total(column), pl.col(column.accumulators[-1])
        # For a constant count, Polars would multiply by its reciprocal, which rounds twice.
        counts = count.cast(pl.Float64) + total.is_null().cast(pl.Float64)
        return without_negative_zeros(total.cast(pl.Float64) / counts).alias(column.result)
    if isinstance(column.combiner, Sum):
        return _total(column).cast(pl.Float64 if column.floating else pl.Int64)
    if isinstance(column.combiner, AnyOf):
        return pl.col(column.result) > 0
    if isinstance(column.combiner, AllOf):
        return pl.col(column.result) <= 0
    if isinstance(column.combiner, TopN):
        return pl.col(column.result).list.eval(pl.element().struct.field(TOP_VALUE))
    return pl.col(column.result)


def _total(column: AggregateColumn) -> pl.Expr:
    """Returns a sum, from its accumulators."""
    total = pl.col(column.accumulators[0])
    return total if column.scaled is None else finite_total(total, pl.col(column.scaled)).alias(column.result)
