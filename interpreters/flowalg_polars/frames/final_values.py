"""The final values of panes: a query over the panes of a stream or a batch, or over a stored table of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import polars as pl
from flowalg_columns.panes import RESERVED_COLUMNS, identifying_columns

from flowalg.data.errors import ArgumentError
from flowalg.runs.panes import Change

_INDEX: Final = "__index_of_pane"
_LATEST: Final = "__latest_index"
_RETRACTED: Final = "__retracted_index"


def final_values(panes: pl.LazyFrame | pl.DataFrame, *, by: Sequence[str] | None = None) -> pl.LazyFrame:
    """Returns the latest value of each key and window that is not retracted, with ``window`` and ``event_time``.

    ``panes`` is the result of ``compile``, or a table that a sink has stored of it, with or without drops. Pairs are
    identified by their ``key``; for other elements, ``by`` names the columns that identify an element within its
    window. It may be empty if each window has one value.

    Under ``ACCUMULATING`` the result has the last pane, under ``RETRACTING`` the current one (so a session that merged
    into a larger one is absent), and under ``DISCARDING`` only the last increment. If a step after the last grouping
    maps a pane to several elements, the result has all of them. Raises ``ArgumentError`` for a frame without the
    columns of panes, and for invalid columns in ``by``.
    """
    columns = _columns_of(panes)
    key_columns = [*identifying_columns(columns, by), "window"]
    elements = [name for name in columns if name not in RESERVED_COLUMNS]
    rows = panes.lazy().filter(pl.col("pane").is_not_null())
    indexed = rows.with_columns(pl.col("pane").struct.field("index").alias(_INDEX))
    retracted = pl.col(_INDEX).filter(pl.col("change") == Change.RETRACTION.value)
    latest = indexed.group_by(key_columns).agg(
        pl.col(_INDEX).max().alias(_LATEST), retracted.max().alias(_RETRACTED)
    )
    joined = indexed.join(latest, on=key_columns, how="left", nulls_equal=True)
    current = (pl.col(_INDEX) == pl.col(_LATEST)) & (
        pl.col(_RETRACTED).is_null() | (pl.col(_RETRACTED) < pl.col(_LATEST))
    )
    return joined.filter(current).select(*elements, "window", "event_time")


def _columns_of(panes: object) -> list[str]:
    if isinstance(panes, pl.DataFrame):
        return panes.columns
    if isinstance(panes, pl.LazyFrame):
        return panes.collect_schema().names()
    raise ArgumentError("panes", panes, "a LazyFrame or DataFrame of panes")
