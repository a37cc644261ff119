"""Sessions that are merged before they meet the windows of the state: one row for each island of elements of a key.

Every element starts as a window of its own, so a dense stream would look up, join and sort one window for each element.
Merging is associative, so windows that overlap or touch can merge in any order. Two conditions keep the result that of
single elements: no closed window could drop one of them, and none of them is expired, since a drop names the window of
its element.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import polars as pl

from flowalg.data.time import EventTime
from flowalg.windows.window_functions import Sessions
from flowalg_shard.contents.columns import ColumnContents
from flowalg_shard.contents.stage import Stage
from flowalg_shard.tables.columns import END, START
from flowalg_shard.tables.packing import stack

_ISLAND: Final = "__island"


def merges_islands(stage: Stage) -> bool:
    """Returns whether sessions may merge before they meet the windows of the state."""
    return (
        isinstance(stage.merging, Sessions)
        and stage.combiner is None
        and not stage.retractions
        and not stage.automaton.finishes
        and not stage.automaton.accumulates
    )


def merge_islands(
    stage: Stage, table: pl.DataFrame, keys: Sequence[str], extra: Sequence[pl.Expr], before: EventTime
) -> pl.DataFrame:
    """Returns a row for each island of windows of a key, with ``extra`` aggregates, and expired windows as they are.

    ``before`` is the watermark before the instant.
    """
    limit = stage.expired_up_to(before)
    expired = table.clear() if limit is None else table.filter(pl.col(END) <= limit)
    windows = table if limit is None else table.filter(pl.col(END) > limit)
    if windows.height < 2:
        return table
    ordered = windows.sort(*keys, START)
    island = number_islands(keys, windows).set_sorted().alias(_ISLAND)
    bounds = [pl.col(START).min(), pl.col(END).max()]
    firsts = [pl.col(key).first() for key in keys]
    aggregates = [*firsts, *bounds, *extra]
    merged = ColumnContents(stage).combine(ordered.with_columns(island), [_ISLAND], aggregates, adjacent=True)
    return stack([expired, merged.select(table.columns)])


def number_islands(keys: Sequence[str], windows: pl.DataFrame) -> pl.Expr:
    """Returns the number of the island of each window: windows of a key that overlap or touch have the same number.

    The expression is for the windows in the order of their keys and starts.
    """
    changed = [pl.col(key).ne_missing(pl.col(key).shift(1)) for key in keys]
    apart = pl.col(START) > _reached(windows, keys)
    return pl.any_horizontal(apart, *changed).fill_null(True).cum_sum()


_BEYOND: Final = 2**64
"""More than the distance of any two ends."""


def _reached(windows: pl.DataFrame, keys: Sequence[str]) -> pl.Expr:
    """Returns the end that the windows of a key before a window have reached, in order of their start."""
    lengths = windows.select(pl.col(END) - pl.col(START)).to_series()
    if lengths.min() == lengths.max():
        return pl.col(END).shift(1)
    if not keys:
        return pl.col(END).cum_max().shift(1)
    # The greatest end so far of each key: where a new key begins, all ends are further by more than any earlier one.
    changed = pl.any_horizontal(pl.col(key).ne_missing(pl.col(key).shift(1)) for key in keys)
    offset = changed.cum_sum().cast(pl.Int128()) * _BEYOND
    return (offset + pl.col(END)).cum_max().shift(1) - offset
