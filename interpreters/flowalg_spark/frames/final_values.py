"""The final values of panes: a query over the panes of a stream or a batch, or over a stored table of them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Final

from flowalg_columns.panes import METRICS_COLUMN, RESERVED_COLUMNS, identifying_columns
from pyspark.sql import DataFrame

from flowalg.data.errors import ArgumentError
from flowalg.runs.panes import Change
from flowalg_spark.encoding import sql
from flowalg_spark.encoding.columns import col, select, where

_LATEST: Final = "__latest"
_RETRACTED: Final = "__retracted"


def final_values(panes: DataFrame, *, by: Sequence[str] | None = None) -> DataFrame:
    """Returns the latest value of each key and window that is not retracted, with ``window`` and ``event_time``.

    ``panes`` is the result of ``compile``, or a table that a sink has stored of it, with or without drops. Pairs are
    identified by their ``key``; for other elements, ``by`` names the columns that identify an element within its
    window. It may be empty if each window has one value.

    Under ``ACCUMULATING`` the result has the last pane, under ``RETRACTING`` the current one (so a session that merged
    into a larger one is absent), and under ``DISCARDING`` only the last increment. If a step after the last grouping
    maps a pane to several elements, the result has all of them. Raises ``ArgumentError`` for a frame without the
    columns of panes, and for invalid columns in ``by``.

    Example::

        final_values(spark.read.parquet("panes")).show()  # the current values of what a stream has written
    """
    if not isinstance(panes, DataFrame):
        raise ArgumentError("panes", panes, "a DataFrame of panes")
    key_columns = identifying_columns(panes.columns, by)
    elements = [name for name in panes.columns if name not in RESERVED_COLUMNS]
    index, of_window = col("pane")["index"], [*map(col, key_columns), col("window")]
    retracted = sql.when(col("change") == Change.RETRACTION.value, index)
    latest = {_LATEST: sql.max(index), _RETRACTED: sql.max(retracted)}
    ranked = select(
        filter_panes(panes), "*", *(of.over(by=of_window).alias(name) for name, of in latest.items())
    )
    is_current = (index == col(_LATEST)) & (col(_RETRACTED).is_null() | (col(_RETRACTED) < col(_LATEST)))
    return select(where(ranked, is_current), *map(col, elements), "window", "event_time")


def filter_panes(frame: DataFrame) -> DataFrame:
    """Returns the rows that are panes, without drops and metrics."""
    conditions = (col(name).is_null() for name in ("drop", METRICS_COLUMN) if name in frame.columns)
    return reduce(where, conditions, frame)
