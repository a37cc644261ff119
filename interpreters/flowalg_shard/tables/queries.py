"""Queries over tables that are in memory. One query of several operations costs less than as many queries of one."""

from __future__ import annotations

from collections.abc import Collection

import polars as pl


def compute(query: pl.LazyFrame) -> pl.DataFrame:
    """Returns the rows of a query. It may be called inside a function of ``map_batches``.

    It uses the in-memory engine. ``collect`` defaults to the streaming engine, which would deadlock: all of its
    threads may be blocked in such functions.
    """
    return query.collect(engine="in-memory")


def unite(queries: Collection[pl.LazyFrame]) -> pl.LazyFrame:
    """Returns the rows of several queries of one schema, but for the width of integers."""
    return pl.concat(queries, how="vertical_relaxed") if len(queries) > 1 else next(iter(queries))


def without(table: pl.DataFrame, names: Collection[str]) -> pl.DataFrame:
    """Returns a table without some columns. It costs less than ``drop``, which runs a query."""
    return pl.DataFrame([column for column in table.get_columns() if column.name not in names])
