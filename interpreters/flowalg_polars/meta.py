"""The Polars types of the metadata columns of elements."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import polars as pl
from flowalg_columns.names import PANE_TIME, WATERMARK
from flowalg_shard.tables.columns import (
    CHANGE,
    END,
    EVENT_TIME,
    INDEX,
    IS_FIRST,
    IS_LAST,
    PROCESSING_TIME,
    START,
    TIMING,
    WEIGHT,
)

from flowalg.runs.panes import Change

META_TYPES: Final[Mapping[str, pl.DataType]] = {
    EVENT_TIME: pl.Int64(),
    PROCESSING_TIME: pl.Int64(),
    START: pl.Int64(),
    END: pl.Int64(),
    CHANGE: pl.String(),
    TIMING: pl.String(),
    INDEX: pl.Int64(),
    IS_FIRST: pl.Boolean(),
    IS_LAST: pl.Boolean(),
    PANE_TIME: pl.Int64(),
    WATERMARK: pl.Int64(),
}
"""The types of the columns. Times are microseconds since the epoch."""


def union_meta(several: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    """Returns the metadata columns of a union: those of panes if any part has them."""
    return max(several, key=len)


def aligned(
    frame: pl.LazyFrame, own: tuple[str, ...], element: Sequence[str], meta: Sequence[str]
) -> pl.LazyFrame:
    """Returns a part of a union: the columns of its elements, and its metadata columns or nulls in their place."""
    columns = [pl.col(name) if name in own else pl.lit(None, META_TYPES[name]).alias(name) for name in meta]
    return frame.select(*element, *columns)


ELEMENT_META: Final = (EVENT_TIME,)
"""The metadata of an element that no grouping has emitted."""

OUTPUT_META: Final = (EVENT_TIME, PROCESSING_TIME)
"""The metadata of such an element in the output of a pipeline."""


def weight_of(meta: tuple[str, ...]) -> pl.Expr:
    """Returns the weight of a row: -1 for a retraction, else 1."""
    if CHANGE not in meta:
        return pl.lit(1, pl.Int8()).alias(WEIGHT)
    is_retraction = pl.col(CHANGE) == Change.RETRACTION.value
    return pl.when(is_retraction).then(-1).otherwise(1).cast(pl.Int8()).alias(WEIGHT)
