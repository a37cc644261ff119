"""Trigger summaries as columns: the properties of elements that a trigger depends on (SEMANTICS section 6).

The columns of a summary have a common prefix. A row can have several summaries: of the elements of a bundle, of pending
elements, and of the elements since each once-trigger was set. Law: summaries are a commutative monoid; null is its
unit.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import polars as pl
from attrs import frozen

from flowalg.data.errors import UnsupportedError
from flowalg.data.values import MAX_INTEGER
from flowalg.triggers.leaves import DataDrivenTrigger, leaves, measure_of, satisfies
from flowalg.triggers.syntax import (
    AfterDelay,
    AfterInactivity,
    AtCount,
    AtElement,
    AtMeasure,
    AtPeriod,
    AtSignal,
    Trigger,
)

COUNT: Final = "count"
FIRST: Final = "first"
LAST: Final = "last"


@frozen
class SummaryColumns:
    """The columns of a summary: those that some triggers need, and no others.

    ``counts`` is the number of elements, ``first`` and ``last`` the processing times of the first and the last arrival.
    ``data`` has the data-driven triggers, each with its column name.
    """

    counts: bool
    first: bool
    last: bool
    data: tuple[tuple[str, DataDrivenTrigger], ...]
    signals: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, trigger: Trigger) -> SummaryColumns:
        """Returns the columns that a trigger needs; raises ``UnsupportedError`` for an amount of more than 64 bits."""
        known = tuple(dict.fromkeys(leaves(trigger)))
        data = [leaf for leaf in known if isinstance(leaf, AtMeasure | AtElement)]
        for leaf in data:
            if isinstance(leaf, AtMeasure) and leaf.amount > MAX_INTEGER:
                raise UnsupportedError(
                    f"AtMeasure.amount is {leaf.amount}, which needs more than 64 bits; only the reference "
                    "interpreter runs it"
                )
        names = dict.fromkeys(leaf.name for leaf in known if isinstance(leaf, AtSignal))
        return cls(
            any(isinstance(leaf, AtCount) for leaf in known),
            any(isinstance(leaf, AtPeriod | AfterDelay) for leaf in known),
            any(isinstance(leaf, AfterInactivity) for leaf in known),
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
            types[prefix + name] = pl.Int64() if isinstance(leaf, AtMeasure) else pl.Boolean()
        for name, _ in self.signals:
            types[prefix + name] = pl.Boolean()
        return types

    def empty(self, prefix: str) -> dict[str, pl.Expr]:
        """Returns the summary of no elements: the unit of the monoid."""
        return {
            name: pl.lit(None, type_)
            if name.removeprefix(prefix) in (FIRST, LAST)
            else pl.lit(False if type_ == pl.Boolean() else 0, type_)
            for name, type_ in self.columns(prefix).items()
        }

    def merge(self, first: str, second: str) -> dict[str, pl.Expr]:
        """Returns the merger of two summaries in a row, under the prefix of the first; null is the unit."""
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
            else:
                merged[first + name] = _flag(first + name) | _flag(second + name)
        return merged

    def aggregate(self, prefix: str) -> list[pl.Expr]:
        """Returns the summary of all rows of a group."""
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
            else:
                aggregates.append(_flag(prefix + name).any())
        return aggregates

    def with_signals(self, prefix: str, signals: Iterable[str]) -> dict[str, pl.Expr]:
        """Returns the columns of the signals that have been received."""
        received = set(signals)
        return {prefix + column: pl.lit(True) for column, name in self.signals if name in received}


def evaluate_leaf(leaf: DataDrivenTrigger, value: object) -> int | bool:
    """Returns the contribution of a value to a data-driven trigger: its measure, capped at the amount, or predicate.

    Raises ``UserFunctionError`` when the user-defined function raises, and ``ElementError`` for an invalid result.
    """
    if isinstance(leaf, AtElement):
        return satisfies(leaf, value)
    return min(measure_of(leaf, value), leaf.amount)


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


__all__ = ["COUNT", "FIRST", "LAST", "SummaryColumns", "evaluate_leaf"]
