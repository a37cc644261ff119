"""What panes come to in the end: a view of the panes of a stream or a batch, wherever they are stored."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.window import Window as Over

from flowalg.data.errors import ArgumentError
from flowalg.runs.panes import Change
from flowalg_spark.encoding.layout import col

METRICS_COLUMN: Final = "stage_metrics"
"""The column of what stages tell of themselves."""

PANE_COLUMNS: Final = ("window", "event_time", "change", "pane")
"""The columns of what a pane says of itself."""

RESERVED_COLUMNS: Final = (*PANE_COLUMNS, "drop", METRICS_COLUMN)
"""The columns of a frame of panes that are not the element's."""

_TOP: Final = "__top"
_GONE: Final = "__gone"


def final_values(panes: DataFrame, *, by: Sequence[str] | None = None) -> DataFrame:
    """The latest value of each key and window that is not taken back: the element, ``window`` and ``event_time``.

    ``panes`` is what ``compile`` gives, or what a sink has stored of it, drops included. Pairs are told apart by their
    ``key``; for other elements ``by`` names the columns that tell those of one window apart, none of them where each
    window has one value.

    Under ``ACCUMULATING`` that is the last pane, under ``RETRACTING`` the one that stands (so a session that has
    become part of a larger one is gone), and under ``DISCARDING`` only what came last. A pane that a step after the
    last grouping has made several elements of gives all of them. Raises ``ArgumentError`` for a frame that is none of
    panes, and for columns that it does not have.
    """
    apart = _apart(panes, by)
    elements = [name for name in panes.columns if name not in RESERVED_COLUMNS]
    index = F.col("pane").getField("index")
    of_window = Over.partitionBy(*map(col, apart), F.col("window"))
    taken_back = F.when(F.col("change") == F.lit(Change.RETRACTION.value), index)
    judged = filter_panes(panes).select(
        "*", F.max(index).over(of_window).alias(_TOP), F.max(taken_back).over(of_window).alias(_GONE)
    )
    stands: Column = (index == col(_TOP)) & (col(_GONE).isNull() | (col(_GONE) < col(_TOP)))
    return judged.filter(stands).select(*map(col, elements), "window", "event_time")


def filter_panes(frame: DataFrame) -> DataFrame:
    """The rows that are panes, of a frame that may have others."""
    others = (F.col(name).isNull() for name in ("drop", METRICS_COLUMN) if name in frame.columns)
    return reduce(DataFrame.filter, others, frame)


def _apart(panes: object, by: Sequence[str] | None) -> tuple[str, ...]:
    """The columns of the element that tell the values of one window apart."""
    if not isinstance(panes, DataFrame):
        raise ArgumentError("panes", panes, "a DataFrame of panes")
    columns = panes.columns
    lacks = [name for name in PANE_COLUMNS if name not in columns]
    if lacks:
        raise ArgumentError(
            "panes", columns, f"a DataFrame of panes, which has the columns {', '.join(lacks)} too"
        )
    if by is None:
        if "key" not in columns:
            raise ArgumentError(
                "by",
                by,
                "the columns that tell the values of one window apart, for elements that are no pairs",
            )
        return ("key",)
    elements = [name for name in columns if name not in RESERVED_COLUMNS]
    if isinstance(by, str) or any(name not in elements for name in by):
        raise ArgumentError(
            "by", by, f"names of columns of the element, of which there are {', '.join(elements)}"
        )
    return tuple(by)


__all__ = ["METRICS_COLUMN", "PANE_COLUMNS", "RESERVED_COLUMNS", "filter_panes", "final_values"]
