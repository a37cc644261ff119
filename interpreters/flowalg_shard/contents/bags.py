"""The contents of windows as bags of values in columns, where elements may be retractions that cannot be subtracted.

SEMANTICS section 7: a value with its event time counts 1, and its retraction -1. The values that remain are combined
again for each pane, as columns are (``ColumnContents``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import polars as pl
from attrs import evolve, frozen

from flowalg_shard.contents.columns import ColumnContents
from flowalg_shard.contents.stage import Stage
from flowalg_shard.tables.columns import EARLIEST, EVENT_TIME, HAS_VALUE, LATEST, SIDE, SIZE, VALUE, WEIGHT
from flowalg_shard.tables.lists import ROW, concat, implode, items_of

BAG: Final = "__bag"
_BALANCE: Final = "__balance"
_BEFORE: Final = "__before"


@frozen
class BagContents:
    """Contents as one column of lists, with columns for their properties that a step needs.

    An item has the value, its event time, the columns that the aggregates read of it, and its weight, which is never
    zero.
    """

    stage: Stage

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns in bundles and in state."""
        times = (EARLIEST, LATEST) if self.stage.keeps_times else ()
        return (BAG, HAS_VALUE, SIZE, *times)

    @property
    def nested(self) -> list[pl.Expr]:
        """The columns, to be nested in lists."""
        return [pl.col(name) for name in self.columns]

    @property
    def _arguments(self) -> tuple[str, ...]:
        return tuple(column.argument for column in self.stage.aggregates if column.argument is not None)

    @property
    def _value(self) -> tuple[str, ...]:
        """The columns that are equal for equal values."""
        is_co_group = any(column.side is not None for column in self.stage.aggregates)
        return (SIDE, *self._arguments) if is_co_group else (VALUE,)

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields of an item besides its weight."""
        return tuple(dict.fromkeys((*self._value, *self._arguments, EVENT_TIME)))

    def lift(self, rows: pl.DataFrame) -> list[pl.Expr]:
        """Returns the column of single elements that ``precombine`` reads."""
        return [pl.concat_list(pl.struct(*self.fields, pl.col(WEIGHT).cast(pl.Int64()))).alias(BAG)]

    def precombine(self, table: pl.DataFrame, group: Sequence[str], extra: Sequence[pl.Expr]) -> pl.DataFrame:
        """Returns one row for each group: the sum of its bags, with ``extra`` aggregates."""
        grouped = table.group_by(group, maintain_order=True).agg(concat(BAG), *extra)
        identity = [ROW, *self._value, EVENT_TIME]
        others = [name for name in self._arguments if name not in identity]
        items = items_of(grouped, BAG).group_by(identity).agg(pl.col(others).first(), pl.col(WEIGHT).sum())
        return self._with_bag(grouped, items.filter(pl.col(WEIGHT) != 0))

    absorb = precombine

    def _with_bag(self, table: pl.DataFrame, items: pl.DataFrame) -> pl.DataFrame:
        """Returns the table with bags of some items, and with the columns for their properties."""
        bags = items.sort(ROW).select(ROW, pl.struct(*self.fields, WEIGHT).alias(BAG))
        values = items.group_by(ROW, *self._value).agg(pl.col(WEIGHT).sum())
        facts = values.group_by(ROW).agg(
            (pl.col(WEIGHT) > 0).any().alias(HAS_VALUE), pl.col(WEIGHT).abs().sum().alias(SIZE)
        )
        if self.stage.keeps_times:
            times = items.group_by(ROW, EVENT_TIME).agg(pl.col(WEIGHT).sum()).filter(pl.col(WEIGHT) > 0)
            points = times.group_by(ROW).agg(
                pl.col(EVENT_TIME).min().alias(EARLIEST), pl.col(EVENT_TIME).max().alias(LATEST)
            )
            facts = facts.join(points, on=ROW, how="left")
        rows = table.select(pl.int_range(pl.len()).alias(ROW))
        described = rows.join(facts, on=ROW, how="left", maintain_order="left").drop(ROW)
        return table.with_columns(
            implode(bags, BAG, table.height),
            *described.with_columns(pl.col(HAS_VALUE).fill_null(False), pl.col(SIZE).fill_null(0)),
        )

    @property
    def is_empty(self) -> pl.Expr:
        """Whether all values were retracted, and no retraction waits for its value."""
        return pl.col(SIZE) == 0

    @property
    def has_value(self) -> pl.Expr:
        """Whether a window has a value to emit."""
        return pl.col(HAS_VALUE)

    @property
    def _in_columns(self) -> ColumnContents:
        return ColumnContents(evolve(self.stage, retractions=False, keeps_values=False))

    @property
    def total(self) -> bool:
        """Whether the combiners have a result for no values."""
        return self._in_columns.total

    def results(self, table: pl.DataFrame) -> list[pl.Expr | pl.Series]:
        """Returns the results of the values that remain, as columns of the table."""
        contents, results = self._in_columns, list(self.stage.results)
        values = self._remaining(table).filter(pl.col(WEIGHT) > 0)
        single = _repeat(values)
        lifted = single.select(ROW, *contents.lift(single))
        numbered = table.with_row_index(ROW).with_columns(pl.col(ROW).cast(pl.Int64()))
        identity = numbered.select(ROW, *self.stage.window_key)
        combined = identity.join(
            contents.combine(lifted, [ROW], []), on=ROW, how="left", maintain_order="left"
        )
        held = contents.without_nulls(combined)
        return [*held.with_columns(contents.results(held)).select(results).get_columns()]

    def _remaining(self, table: pl.DataFrame) -> pl.DataFrame:
        """Returns the items that remain when equal ones of any event time cancel out, the earliest first."""
        items = items_of(table, BAG)
        if (items[WEIGHT] > 0).all():
            return items
        sign = pl.col(WEIGHT).sign()
        size = pl.col(WEIGHT).abs()
        value = [ROW, *self._value]
        balance = (pl.col(WEIGHT).sum().over(value) * sign).clip(lower_bound=0)
        items = items.sort(EVENT_TIME, descending=True).with_columns(
            balance.alias(_BALANCE),
            (size.cum_sum().over([*value, sign.alias("__sign")]) - size).alias(_BEFORE),
        )
        # Of the items of the greater sign the latest remain, as many as there are more of them.
        left = (pl.col(_BALANCE) - pl.col(_BEFORE)).clip(0, size)
        return (
            items.with_columns((left * sign).alias(WEIGHT))
            .filter(pl.col(WEIGHT) != 0)
            .drop(_BALANCE, _BEFORE)
        )

    def discard(self, table: pl.DataFrame, emitted: str) -> pl.DataFrame:
        """Returns the table without the values where the column ``emitted`` is true; retractions wait there."""
        discarded = table.filter(pl.col(emitted))
        waiting = self._remaining(discarded).filter(pl.col(WEIGHT) < 0)
        return pl.concat([table.filter(~pl.col(emitted)), self._with_bag(discarded, waiting)])


def _repeat(items: pl.DataFrame) -> pl.DataFrame:
    """Returns each item as often as its weight says."""
    if items.is_empty() or items[WEIGHT].max() == 1:
        return items
    return items[pl.select(pl.int_range(items.height).repeat_by(items[WEIGHT]).explode()).to_series()]
