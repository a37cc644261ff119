"""Window merging: the windows of a key that merge in an instant (SEMANTICS section 3, and section 5, step 2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import polars as pl

from flowalg.data.time import EventTime
from flowalg.windows.window import Window
from flowalg.windows.window_functions import MergingWindowFn, Sessions, merged_windows
from flowalg_shard.step.islands import number_islands
from flowalg_shard.tables.columns import END, START
from flowalg_shard.tables.rows import for_rows

TO_START: Final = "__to_start"
TO_END: Final = "__to_end"
MEMBERS: Final = "__members"
"""The bounds of the window that a window merges into, and the number of live windows that merge into it."""

_LIVE: Final = "__live"
_GROUP: Final = "__group"


def merge_windows(
    strategy: MergingWindowFn, keys: Sequence[str], live: pl.DataFrame, arriving: pl.DataFrame
) -> pl.DataFrame:
    """Returns for each window of each key the window that it merges into: ``TO_START``, ``TO_END`` and ``MEMBERS``.

    ``live`` has the existing windows, ``arriving`` those of new elements; both have keys, start and end.
    """
    window_key = [*keys, START, END]
    both = pl.concat(
        [
            live.select(*window_key, pl.lit(True).alias(_LIVE)),
            arriving.select(*window_key, pl.lit(False).alias(_LIVE)),
        ]
    )
    windows = both.group_by(window_key).agg(pl.col(_LIVE).any())
    members = pl.col(_LIVE).cast(pl.Int64()).sum().over(_GROUP).alias(MEMBERS)
    return group_windows(strategy, keys, windows, members).drop(_LIVE)


def group_windows(
    strategy: MergingWindowFn, keys: Sequence[str], windows: pl.DataFrame, *extra: pl.Expr
) -> pl.DataFrame:
    """Returns the windows of each key with the window that each merges into: ``TO_START`` and ``TO_END``.

    ``extra`` are expressions over a group, which is ``_GROUP``.
    """
    windows = windows.sort(*keys, START, END)
    bounds = [pl.col(START).min().over(_GROUP).alias(TO_START), pl.col(END).max().over(_GROUP).alias(TO_END)]
    if windows.is_empty():
        grouped = windows.with_columns(pl.lit(0).alias(_GROUP))
    elif isinstance(strategy, Sessions):
        grouped = windows.with_columns(number_islands(keys, windows).alias(_GROUP))
    else:
        grouped, bounds = _group_by_function(strategy, keys, windows), []
    return grouped.with_columns(*bounds, *extra).drop(_GROUP)


def _group_by_function(strategy: MergingWindowFn, keys: Sequence[str], windows: pl.DataFrame) -> pl.DataFrame:
    """Returns sorted windows with a group number and merged bounds, by the user-defined merge function of each key."""
    numbers: list[tuple[int, Window]] = []
    number = 0
    parts = windows.partition_by(list(keys), maintain_order=True) if keys else [windows]
    of_keys = [
        [Window(EventTime(start), EventTime(end)) for start, end in part.select(START, END).rows()]
        for part in parts
    ]
    firsts = pl.concat([part.head(1) for part in parts]).drop(START, END)
    merged_of_keys = for_rows(firsts, (merged_windows(strategy, assigned) for assigned in of_keys))
    for assigned, groups in zip(of_keys, merged_of_keys, strict=True):
        group_of: dict[Window, tuple[int, Window]] = {}
        for merged in groups:
            number += 1
            group_of.update(dict.fromkeys(merged.parts, (number, merged.window)))
        numbers += [group_of[window] for window in assigned]
    return pl.concat(parts).with_columns(
        pl.Series(_GROUP, [group for group, _ in numbers], pl.Int64()),
        pl.Series(TO_START, [window.start for _, window in numbers], pl.Int64()),
        pl.Series(TO_END, [window.end for _, window in numbers], pl.Int64()),
    )
