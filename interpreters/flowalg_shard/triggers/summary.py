"""Trigger summaries as columns: the properties of elements that a trigger depends on (SEMANTICS section 6).

The columns of a summary have a common prefix. A row can have several summaries: of the elements of a bundle, of pending
elements, and of the elements since each once-trigger was set. Law: summaries are a commutative monoid; null is its
unit.
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl
from attrs import frozen

from flowalg.data.errors import UnsupportedError
from flowalg.data.values import MAX_INTEGER
from flowalg.triggers.syntax import (
    AccumulatingTrigger,
    AtElement,
    AtMeasure,
    AtSignal,
    AtValue,
    CustomTrigger,
    DataDrivenTrigger,
    Trigger,
    leaves,
)
from flowalg_shard.triggers.accumulators import accumulate_value, merge_columns, merge_lists
from flowalg_shard.triggers.leaves import COUNT, FIRST, LAST, columns_of


@frozen
class SummaryColumns:
    """The columns of a summary: those that some triggers need, and no others.

    ``counts`` is the number of changes, retractions included, ``first`` and ``last`` the processing times of the first
    and the last arrival. ``data`` has the data-driven triggers, each with its column name.
    """

    counts: bool
    first: bool
    last: bool
    data: tuple[tuple[str, DataDrivenTrigger], ...]
    signals: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, trigger: Trigger) -> SummaryColumns:
        """Returns the columns that a trigger needs; raises ``UnsupportedError`` for an amount of more than 64 bits."""
        distinct_leaves = tuple(dict.fromkeys(leaves(trigger)))
        data = [leaf for leaf in distinct_leaves if isinstance(leaf, DataDrivenTrigger)]
        columns = frozenset[str]().union(*map(columns_of, distinct_leaves))
        for leaf in data:
            if isinstance(leaf, AtMeasure) and leaf.amount > MAX_INTEGER:
                raise UnsupportedError(
                    f"AtMeasure.amount is {leaf.amount}, which needs more than 64 bits; only the reference "
                    "interpreter runs it"
                )
        names = dict.fromkeys(leaf.name for leaf in distinct_leaves if isinstance(leaf, AtSignal))
        return cls(
            COUNT in columns,
            FIRST in columns,
            LAST in columns,
            tuple((f"data{number}", leaf) for number, leaf in enumerate(data)),
            tuple((f"signal{number}", name) for number, name in enumerate(names)),
        )

    def restricted_to(self, trigger: Trigger) -> SummaryColumns:
        """Returns the columns that a part of the trigger needs, under the same names."""
        part = SummaryColumns.of(trigger)
        data, signals = {leaf for _, leaf in part.data}, {name for _, name in part.signals}
        return SummaryColumns(
            part.counts,
            part.first,
            part.last,
            tuple(pair for pair in self.data if pair[1] in data),
            tuple(pair for pair in self.signals if pair[1] in signals),
        )

    @property
    def of_elements(self) -> SummaryColumns:
        """The columns that elements contribute to. Signals are observed by triggers, and never pending."""
        return SummaryColumns(self.counts, self.first, self.last, self.data, ())

    @property
    def accumulating(self) -> tuple[tuple[str, AccumulatingTrigger], ...]:
        """The triggers that accumulate values, each with its column name."""
        return tuple((name, leaf) for name, leaf in self.data if isinstance(leaf, AccumulatingTrigger))

    @property
    def arrivals(self) -> tuple[str, ...]:
        """The columns of arrivals, which are equal for all elements of an instant."""
        return tuple(name for name, used in ((FIRST, self.first), (LAST, self.last)) if used)

    def columns(self, prefix: str) -> dict[str, pl.DataType]:
        """Returns the columns, with their types."""
        types: dict[str, pl.DataType] = {}
        if self.counts:
            types[prefix + COUNT] = pl.Int64()
        types |= {prefix + name: pl.Int64() for name in self.arrivals}
        for name, leaf in self.data:
            types[prefix + name] = type_of(leaf)
        for name, _ in self.signals:
            types[prefix + name] = pl.Boolean()
        return types

    def empty(self, prefix: str) -> dict[str, pl.Expr]:
        """Returns the summary of no elements: the unit of the monoid."""
        return {
            name: pl.lit(None, type_)
            if name.removeprefix(prefix) in (FIRST, LAST) or type_ == pl.Binary()
            else pl.lit(False if type_ == pl.Boolean() else 0, type_)
            for name, type_ in self.columns(prefix).items()
        }

    def merge(self, first: str, second: str) -> dict[str, pl.Expr]:
        """Returns the merger of two summaries in a row, under the prefix of the first; null is the unit.

        Accumulators, which are objects, are left to ``merge_accumulators``.
        """
        merged: dict[str, pl.Expr] = {}
        if self.counts:
            merged[first + COUNT] = _number(first + COUNT) + _number(second + COUNT)
        if self.first:
            merged[first + FIRST] = pl.min_horizontal(first + FIRST, second + FIRST)
        if self.last:
            merged[first + LAST] = pl.max_horizontal(first + LAST, second + LAST)
        for name, leaf in self.data:
            if isinstance(leaf, AtMeasure):
                merged[first + name] = _capped(_wide(first + name) + _wide(second + name), leaf)
            elif isinstance(leaf, AtElement):
                merged[first + name] = _flag(first + name) | _flag(second + name)
        return merged

    def aggregate(self, prefix: str) -> list[pl.Expr]:
        """Returns the summary of all rows of a group, with lists of accumulators (``merge_groups``)."""
        aggregates: list[pl.Expr] = []
        if self.counts:
            aggregates.append(pl.col(prefix + COUNT).sum())
        if self.first:
            aggregates.append(pl.col(prefix + FIRST).min())
        if self.last:
            aggregates.append(pl.col(prefix + LAST).max())
        for name, leaf in self.data:
            if isinstance(leaf, AtMeasure):
                aggregates.append(_capped(_wide(prefix + name).sum(), leaf))
            elif isinstance(leaf, AtElement):
                aggregates.append(_flag(prefix + name).any())
            else:
                aggregates.append(pl.col(prefix + name).drop_nulls())
        return aggregates

    def merge_groups(self, table: pl.DataFrame, prefix: str) -> pl.DataFrame:
        """Returns groups with accumulators in place of the lists of accumulators that ``aggregate`` gave."""
        merged = [merge_lists(leaf, table, prefix + name) for name, leaf in self.accumulating]
        return table.with_columns(merged) if merged else table

    def merge_accumulators(
        self, table: pl.DataFrame, first: str, second: str, where: pl.Expr | None = None
    ) -> pl.DataFrame:
        """Returns the table with accumulators at ``first`` merged with those at ``second``, in all rows or in some."""
        for name, leaf in self.accumulating:
            both = pl.col(second + name).is_not_null()
            rows = table.select(rows=both if where is None else both & where)["rows"]
            table = table.with_columns(merge_columns(leaf, table, first + name, second + name, rows))
        return table

    def with_signals(self, prefix: str, reached: Mapping[str, pl.Expr]) -> dict[str, pl.Expr]:
        """Returns the columns of the signals that have been received; ``reached`` says where, by name."""
        return {
            prefix + column: _flag(prefix + column) | reached[name]
            for column, name in self.signals
            if name in reached
        }


def type_of(leaf: DataDrivenTrigger) -> pl.DataType:
    """Returns the type of a data-driven trigger's column."""
    match leaf:
        case AtMeasure():
            return pl.Int64()
        case AtElement():
            return pl.Boolean()
        case AtValue() | CustomTrigger():
            return pl.Binary()


def evaluate_leaf(leaf: DataDrivenTrigger, value: object, weight: int = 1) -> int | bool | bytes | None:
    """Returns the contribution of a change to a data-driven trigger; ``None`` for a retraction that has none.

    A retraction contributes as a value does, but to accumulators: the measure of the value, capped at the amount, or
    whether the value satisfies the predicate. Raises ``UserFunctionError`` when the user-defined function raises, and
    ``ElementError`` for an invalid result.
    """
    match leaf:
        case AtValue() | CustomTrigger():
            return accumulate_value(leaf, value, weight)
        case AtElement():
            return leaf.keep(value, weight)
        case AtMeasure(amount=amount):
            return min(leaf.keep(value, weight), amount)


def _number(name: str) -> pl.Expr:
    return pl.col(name).fill_null(0)


def _flag(name: str) -> pl.Expr:
    return pl.col(name).fill_null(False)


def _wide(name: str) -> pl.Expr:
    """Returns amounts as 128-bit integers, since a sum of 64-bit amounts may not fit in 64 bits."""
    return _number(name).cast(pl.Int128())


def _capped(total: pl.Expr, leaf: AtMeasure) -> pl.Expr:
    """Returns a sum capped at the amount of the trigger, which does not change results and fits in 64 bits."""
    return pl.min_horizontal(total, pl.lit(leaf.amount, pl.Int128())).cast(pl.Int64())
