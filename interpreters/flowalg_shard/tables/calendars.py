"""Calendar windows in columns: a look-up in the windows that the event times of a batch can be in.

The calendar itself assigns these windows, by a few calls for each block of time that has an event time. So every engine
has the same meaning and the same database of time zones, that of Python; no engine converts local times.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Final

import polars as pl

from flowalg.windows.calendars import Calendar, windows_between
from flowalg.windows.window import Window, clamp
from flowalg_shard.tables.columns import END, START

_BLOCK: Final = 2**36
"""The microseconds of a block of time: 19 hours."""

_DENSE: Final = 64
"""Event times in so many times fewer blocks, all in a row, are looked up without a search for their blocks."""


def calendar_bounds(
    calendars: Sequence[Calendar],
    points: pl.Series,
    bounds: Sequence[str] = (START, END),
    *,
    numbers: pl.Series | None = None,
) -> pl.DataFrame:
    """Returns the bounds of the window of each event time, ``START`` or ``END`` or both.

    Each calendar has one zone. If there are several, ``numbers`` has the number of the calendar of each event time.
    """
    occurring, blocks = _numbered(points // _BLOCK)
    windows: list[Window] = []
    firsts: list[int] = []  # for each calendar and block, the number of the window at the start of the block
    for calendar in calendars:
        for block in occurring:
            own = _windows_of(calendar, block)
            follows = bool(firsts) and windows[-1] == own[0]
            firsts.append(len(windows) - follows)
            windows.extend(own[follows:])
    table = pl.DataFrame(
        {START: [window.start for window in windows], END: [window.end for window in windows]},
        schema={START: pl.Int64(), END: pl.Int64()},
    )
    if numbers is not None:
        blocks += numbers * len(occurring)
    at = pl.Series(firsts, dtype=pl.UInt32()).gather(blocks)
    while (ended := table[END].gather(at) <= points).any():
        at += ended.cast(pl.UInt32())
    return table.select(bounds)[at]


def _numbered(blocks: pl.Series) -> tuple[Sequence[int], pl.Series]:
    """Returns the blocks that occur, in order, perhaps with some between them, and the number of each in these."""
    first, last = blocks.min(), blocks.max()
    if not isinstance(first, int) or not isinstance(last, int):
        return (), blocks
    if (last - first) * _DENSE < blocks.len():
        return range(first, last + 1), blocks - first
    occurring = blocks.unique().sort()
    return occurring.to_list(), occurring.search_sorted(blocks).cast(pl.Int64())


@lru_cache(maxsize=65_536)
def _windows_of(calendar: Calendar, block: int) -> tuple[Window, ...]:
    """Returns the windows that have event times in a block."""
    first = block * _BLOCK
    return windows_between(calendar, clamp(first), clamp(first + _BLOCK - 1))
