"""Columns of lists as tables of their items, and back."""

from __future__ import annotations

from typing import Final

import polars as pl

ROW: Final = "__row"
"""The number of the row whose list has an item."""


def concat(name: str) -> pl.Expr:
    """Returns the aggregate of a column of lists: one list of all items."""
    return pl.col(name).explode().drop_nulls()


def items_of(table: pl.DataFrame, name: str) -> pl.DataFrame:
    """Returns a row for each item of the lists in a column, which are structs, with the number of its row."""
    numbered = table.select(pl.int_range(pl.len()).alias(ROW), name)
    return numbered.explode(name, empty_as_null=False).unnest(name)


def implode(items: pl.DataFrame, name: str, height: int) -> pl.Series:
    """Returns the column of lists of items, which are in the order of their rows, of a table of some height."""
    lists = items.group_by(ROW, maintain_order=True).agg(name)
    if lists.height == height:
        return lists[name]
    rows = pl.select(pl.int_range(height).alias(ROW))
    return rows.join(lists, on=ROW, how="left", maintain_order="left")[name].fill_null([])
