"""Trigger summaries as columns: what a trigger needs to know of some elements (SEMANTICS section 6).

The columns of a summary share a prefix, so that a row can hold several: of the elements of a bundle, of pending
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
    AtCount,
    AtElement,
    AtMeasure,
    AtPeriod,
    AtSignal,
    Trigger,
)

COUNT: Final = "count"
SINCE: Final = "since"


@frozen
class SummaryColumns:
    """The columns of a summary: those that some triggers need, and no others.

    ``data`` has the data-driven triggers, each with its column name.
    """

    counts: bool
    times: bool
    data: tuple[tuple[str, DataDrivenTrigger], ...]
    signals: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, trigger: Trigger) -> SummaryColumns:
        """The columns that a trigger needs. Raises ``UnsupportedError`` for an amount that needs more than 64 bits."""
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
            tuple((f"data{number}", leaf) for number, leaf in enumerate(data)),
            tuple((f"signal{number}", name) for number, name in enumerate(names)),
        )

    def restricted_to(self, trigger: Trigger) -> SummaryColumns:
        """The columns that a part of the trigger needs, under the same names."""
        part = SummaryColumns.of(trigger)
        data, signals = {leaf for _, leaf in part.data}, {name for _, name in part.signals}
        return SummaryColumns(
            part.counts,
            part.times,
            tuple(pair for pair in self.data if pair[1] in data),
            tuple(pair for pair in self.signals if pair[1] in signals),
        )

    @property
    def of_elements(self) -> SummaryColumns:
        """The columns that elements contribute to. Signals are observed by triggers, and never pending."""
        return SummaryColumns(self.counts, self.times, self.data, ())

    def columns(self, prefix: str) -> dict[str, pl.DataType]:
        """The columns, with their types."""
        found: dict[str, pl.DataType] = {}
        if self.counts:
            found[prefix + COUNT] = pl.Int64()
        if self.times:
            found[prefix + SINCE] = pl.Int64()
        for name, leaf in self.data:
            found[prefix + name] = pl.Int64() if isinstance(leaf, AtMeasure) else pl.Boolean()
        for name, _ in self.signals:
            found[prefix + name] = pl.Boolean()
        return found

    def empty(self, prefix: str) -> dict[str, pl.Expr]:
        """The summary of no elements: the unit of the monoid."""
        return {
            name: pl.lit(None, kind)
            if name == prefix + SINCE
            else pl.lit(False if kind == pl.Boolean() else 0, kind)
            for name, kind in self.columns(prefix).items()
        }

    def merge(self, one: str, other: str) -> dict[str, pl.Expr]:
        """The summary of two in a row, under the prefix of the first; null is the unit."""
        found: dict[str, pl.Expr] = {}
        if self.counts:
            found[one + COUNT] = _number(one + COUNT) + _number(other + COUNT)
        if self.times:
            found[one + SINCE] = pl.min_horizontal(one + SINCE, other + SINCE)
        for name, leaf in self.data:
            if isinstance(leaf, AtMeasure):
                found[one + name] = _capped(_wide(one + name) + _wide(other + name), leaf)
            else:
                found[one + name] = _flag(one + name) | _flag(other + name)
        return found

    def aggregate(self, prefix: str) -> list[pl.Expr]:
        """The summary of all rows of a group."""
        found: list[pl.Expr] = []
        if self.counts:
            found.append(pl.col(prefix + COUNT).sum())
        if self.times:
            found.append(pl.col(prefix + SINCE).min())
        for name, leaf in self.data:
            if isinstance(leaf, AtMeasure):
                found.append(_capped(_wide(prefix + name).sum(), leaf))
            else:
                found.append(_flag(prefix + name).any())
        return found

    def with_signals(self, prefix: str, given: Iterable[str]) -> dict[str, pl.Expr]:
        """The columns of the signals that have been given."""
        heard = set(given)
        return {prefix + column: pl.lit(True) for column, name in self.signals if name in heard}


def evaluate_leaf(leaf: DataDrivenTrigger, value: object) -> int | bool:
    """The contribution of a value to a data-driven trigger: its measure, capped at the amount, or its predicate.

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
    """Amounts before addition: each fits 64 bits, their sum may not."""
    return _number(name).cast(pl.Int128())


def _capped(total: pl.Expr, leaf: AtMeasure) -> pl.Expr:
    """At most the amount of the trigger, which changes no result and fits 64 bits."""
    return pl.min_horizontal(total, pl.lit(leaf.amount, pl.Int128())).cast(pl.Int64())


__all__ = ["COUNT", "SINCE", "SummaryColumns", "evaluate_leaf"]
