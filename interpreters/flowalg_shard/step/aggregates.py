"""The built-in combiners over columns: lift and pre-combine, merge, extract.

They give what the combiners of the algebra give, errors included: integer sums are exact or refused, and values
without a place in the order are refused rather than ignored.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

import polars as pl
from attrs import frozen

from flowalg.combiners.core import Count, Max, Mean, Min, Sum
from flowalg.data.errors import ElementError, ValueRangeError
from flowalg.data.values import MAX_INTEGER, MIN_INTEGER
from flowalg.windows.strategy import Accumulation
from flowalg_shard.step.stage import AggregateColumn, Stage
from flowalg_shard.tables.columns import CHANGED, EARLIEST, EVENT_TIME, LATEST, SIZE, WEIGHT


@frozen
class InColumns:
    """Contents as columns: an accumulator or two for each aggregate, and what else a window must know of them.

    ``SIZE``, how many values there are less those taken back, is there where retractions come, and the earliest and
    latest event times where panes carry them.
    """

    stage: Stage

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns in bundles and in state."""
        accumulators = (name for column in self.stage.aggregates for name in column.accumulators)
        size = (SIZE,) if self.stage.retractions else ()
        times = (EARLIEST, LATEST) if self.stage.timed else ()
        return (*accumulators, *size, *times)

    def lifted(self, rows: pl.DataFrame) -> list[pl.Expr]:
        """The columns for single elements, before anything is combined."""
        check_ordered(rows, self.stage.aggregates, self.stage.label)
        found = [expr for column in self.stage.aggregates for expr in lifted(column)]
        if self.stage.retractions:
            taken = [self._weighted(rows, name) for name in self._sums]
            others = [expr for expr in found if expr.meta.output_name() not in self._sums]
            found = [*others, *taken, pl.col(WEIGHT).cast(pl.Int64()).alias(SIZE)]
        if self.stage.timed:
            found += [pl.col(EVENT_TIME).alias(EARLIEST), pl.col(EVENT_TIME).alias(LATEST)]
        return found

    @property
    def _sums(self) -> tuple[str, ...]:
        """The accumulators that are sums; where retractions come there are no others."""
        return tuple(
            name
            for column in self.stage.aggregates
            if isinstance(column.combiner, Sum | Count | Mean)
            for name in column.accumulators
        )

    def _weighted(self, rows: pl.DataFrame, name: str) -> pl.Expr:
        lifts = {expr.meta.output_name(): expr for column in self.stage.aggregates for expr in lifted(column)}
        value = lifts[name]
        kind = rows.select(value).schema[name]
        if kind == pl.Int64() and rows.select(value.min()).item() == MIN_INTEGER:
            value = value.cast(pl.Int128())
        return value * pl.col(WEIGHT).cast(pl.Int64())

    def combined(self, table: pl.DataFrame, group: Sequence[str], extra: Sequence[pl.Expr]) -> pl.DataFrame:
        """One row for each group: contents merged, and ``extra`` aggregated beside them."""
        others = list(extra)
        if self.stage.retractions:
            others.append(pl.col(SIZE).sum())
        if self.stage.timed:
            others += [pl.col(EARLIEST).min(), pl.col(LATEST).max()]
        return combine(table, list(group), self.stage.aggregates, others, self.stage.label)

    precombined = combined
    absorbed = combined

    @property
    def gives(self) -> pl.Expr:
        """Whether there is anything to say: what has come less what was taken back, or what has changed."""
        discards = self.stage.strategy.accumulation is Accumulation.DISCARDING
        if self.stage.retractions:
            signed = all(isinstance(one.combiner, Sum | Count) for one in self.stage.aggregates)
            return pl.lit(True) if discards and signed else pl.col(SIZE) > 0
        return pl.col(CHANGED) if discards else pl.lit(True)

    @property
    def total(self) -> bool:
        """Whether no values at all have a result."""
        return all(isinstance(one.combiner, Sum | Count) for one in self.stage.aggregates)

    def extracted(self, table: pl.DataFrame) -> pl.DataFrame:
        """The table with its results in place of its accumulators."""
        return table.with_columns(extracted(column) for column in self.stage.aggregates)

    def discarded(self, table: pl.DataFrame, shown: str) -> pl.DataFrame:
        """The table with nothing in the windows whose ``shown`` is true."""
        kinds = table.schema
        nothing = {
            name: pl.lit(0 if name in self._sums or name == SIZE else None, kinds[name])
            for name in self.columns
        }
        return table.with_columns(
            pl.when(shown).then(expr).otherwise(pl.col(name)).alias(name) for name, expr in nothing.items()
        )


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
    """Whether a sum of some of the values could need more than 64 bits, or one of them has more already."""
    low, high = values.min(), values.max()
    if not isinstance(low, int) or not isinstance(high, int):
        return False
    return values.dtype != pl.Int64() or max(-low, high) * len(values) > MAX_INTEGER


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
                f"{label}: the input of {type(column.combiner).__name__} must not be None or NaN; got nan"
            )


def extracted(column: AggregateColumn) -> pl.Expr:
    """The result column of accumulated values."""
    if isinstance(column.combiner, Mean):
        total, count = column.accumulators
        # Where all counts are known to be one number Polars would multiply by its reciprocal, which rounds twice.
        counts = pl.col(count).cast(pl.Float64) + pl.col(total).is_null().cast(pl.Float64)
        return (pl.col(total).cast(pl.Float64) / counts).alias(column.result)
    return pl.col(column.result)


__all__ = ["InColumns", "check_ordered", "combine", "extracted", "lifted"]
