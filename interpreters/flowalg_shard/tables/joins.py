"""Joins of tables by columns that may be null."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl


def semi_join(table: pl.DataFrame, other: pl.DataFrame, on: Sequence[str]) -> pl.DataFrame:
    """Returns the rows with a match in the other table; without columns, all rows if it has any."""
    if not on:
        return table.clear() if other.is_empty() else table
    return table.join(other, on=on, how="semi", nulls_equal=True)


def anti_join(table: pl.DataFrame, other: pl.DataFrame, on: Sequence[str]) -> pl.DataFrame:
    """Returns the rows without a match in the other table; without columns, no rows if it has any."""
    if not on:
        return table if other.is_empty() else table.clear()
    return table.join(other, on=on, how="anti", nulls_equal=True)
