"""Lookups in the mapping of a side input: a join on the window and the key, for each key."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import polars as pl
from flowalg_columns.checks.values import several_values
from flowalg_columns.layout import key_and_value

from flowalg.data.errors import ElementError
from flowalg.lifting.lookups import Lookups
from flowalg_polars.batch.flow import Flow
from flowalg_polars.columns import nest
from flowalg_polars.lowering.lookups import KEY, VALUE, look_up
from flowalg_polars.lowering.programs import compile_analyses

_SIDE: Final = "__side"
_COUNT: Final = "__side_count"
_MOST: Final = "__side_most"


def lower_lookups(lookups: Lookups, main: Flow, side: Flow, read: pl.Expr, start: pl.Expr) -> Flow:
    """Returns the elements after steps that look keys up; ``read`` is the start of the window that they read.

    ``start`` is that of the side's own windows. A key with several values in a window that is read fails.
    """
    key, value = key_and_value(side.element)
    pairs = side.frame.select(start.alias(_SIDE), nest(key).alias(KEY), nest(value).alias(VALUE))
    counts = pairs.group_by(_SIDE, KEY).agg(pl.len().alias(_COUNT))
    most = counts.group_by(_SIDE).agg(
        pl.col(_COUNT).max(), pl.col(KEY).sort_by(_COUNT).last().cast(pl.String()).alias(_MOST)
    )
    frame = main.frame.with_columns(read.alias(_SIDE)).join(most, on=_SIDE, how="left")
    # A key with several values would repeat elements. A filter fails first, also if no later step reads the value.
    has_one_value = pl.map_batches(
        [pl.col(_COUNT), pl.col(_MOST)], _require_one_value, return_dtype=pl.Boolean(), is_elementwise=True
    )
    frame = frame.filter(has_one_value)
    joined = look_up(frame, pairs, lookups, main.element, _SIDE, main.meta, in_order=False)
    flow = Flow(joined, lookups.shape, main.meta, (*main.notes, *side.notes))
    return flow.after(compile_analyses(lookups.steps, lookups.shape, main.meta))


def _require_one_value(columns: Sequence[pl.Series]) -> pl.Series:
    counts, keys = columns
    several = (counts > 1).arg_max()
    if several is not None and counts[several] > 1:
        raise ElementError(several_values(counts[several], keys[several]))
    return pl.repeat(True, len(counts), dtype=pl.Boolean(), eager=True)
