"""Windows that merge: which windows of a key become one in an instant (SEMANTICS sections 3 and 5, step 2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import polars as pl

from flowalg.data.time import EventTime
from flowalg.windows.window import Window
from flowalg.windows.window_functions import MergingWindowFn, Sessions
from flowalg_shard.tables.columns import END, START

TO_START: Final = "__to_start"
TO_END: Final = "__to_end"
MEMBERS: Final = "__members"
"""The window that a window becomes part of, and how many live ones that is made of."""

_LIVE: Final = "__live"
_GROUP: Final = "__group"


def merged_windows(
    strategy: MergingWindowFn, keys: Sequence[str], live: pl.DataFrame, arriving: pl.DataFrame
) -> pl.DataFrame:
    """Where each window goes: a row for each window of each key, with ``TO_START``, ``TO_END`` and ``MEMBERS``.

    ``live`` has the windows that there are, ``arriving`` those of new elements; both have keys, start and end.
    """
    place = [*keys, START, END]
    both = pl.concat(
        [
            live.select(*place, pl.lit(True).alias(_LIVE)),
            arriving.select(*place, pl.lit(False).alias(_LIVE)),
        ]
    )
    windows = both.group_by(place).agg(pl.col(_LIVE).any()).sort(place)
    session = isinstance(strategy, Sessions)
    numbered = _touching(keys, windows) if session else _by_function(strategy, keys, windows)
    return numbered.with_columns(
        pl.col(START).min().over(_GROUP).alias(TO_START),
        pl.col(END).max().over(_GROUP).alias(TO_END),
        pl.col(_LIVE).cast(pl.Int64()).sum().over(_GROUP).alias(MEMBERS),
    ).drop(_LIVE, _GROUP)


def _touching(keys: Sequence[str], windows: pl.DataFrame) -> pl.DataFrame:
    """Sorted windows, numbered so that those of a key that overlap or touch have one number."""
    reached = pl.col(END).cum_max().shift(1)
    before = reached.over(list(keys)) if keys else reached
    apart = (pl.col(START) > before).fill_null(True)
    return windows.with_columns(apart.cum_sum().alias(_GROUP))


def _by_function(strategy: MergingWindowFn, keys: Sequence[str], windows: pl.DataFrame) -> pl.DataFrame:
    """Sorted windows, numbered as the user's own function groups them, a key at a time."""
    numbers: list[int] = []
    number = 0
    parts = windows.partition_by(list(keys), maintain_order=True) if keys else [windows]
    for part in parts:
        ours = [
            Window(end=EventTime(end), start=EventTime(start))
            for start, end in part.select(START, END).rows()
        ]
        known: dict[Window, int] = {}
        for group in strategy.merge(ours):
            number += 1
            known.update(dict.fromkeys(group, number))
        numbers += [known[one] for one in ours]
    return pl.concat(parts).with_columns(pl.Series(_GROUP, numbers, pl.Int64()))


__all__ = ["MEMBERS", "TO_END", "TO_START", "merged_windows"]
