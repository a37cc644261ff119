"""The live windows of a shard as a table for people."""

from __future__ import annotations

from typing import Final

import polars as pl

from flowalg.data.time import MAX_TIME
from flowalg_shard.state.dormancy import ALWAYS, NEVER, NEXT_TIME, NEXT_WATERMARK
from flowalg_shard.state.window_store import WindowStore
from flowalg_shard.step.proto_windows import is_vacant
from flowalg_shard.tables.columns import CHANGED, END, PANES, PROTO_WINDOWS, START
from flowalg_shard.tables.packing import stack

OWN_COLUMNS: Final = ("stage", "shard", START, END, "panes", "pending", "next_watermark", "next_time")
"""The columns besides those of the key."""


def live_windows(label: str, shard: int, store: WindowStore) -> pl.DataFrame:
    """Returns a row for each key and window of a shard of a stage, with times in microseconds.

    ``panes`` is the number of panes that it has emitted, and ``pending`` whether it has unemitted changes.
    ``next_watermark`` and ``next_time`` are when it is due if no element arrives; null: never, or in every instant.
    """
    tables = []
    for part in store.parts:
        part.segment.wake_up_windows()
        windows = part.windows
        if PROTO_WINDOWS in windows.columns:
            windows = windows.filter(~is_vacant())
        if windows.is_empty():
            continue
        hashed = part.segment.hashed
        key = [pl.col(name).alias(name.replace("/", ".")) for name in hashed if name not in (START, END)]
        has_next_watermark = (pl.col(NEXT_WATERMARK) != ALWAYS) & (pl.col(NEXT_WATERMARK) < MAX_TIME)
        tables.append(
            windows.select(
                pl.lit(label).alias("stage"),
                pl.lit(shard, pl.Int32()).alias("shard"),
                *key,
                START,
                END,
                pl.col(PANES).alias("panes"),
                pl.col(CHANGED).alias("pending"),
                pl.when(has_next_watermark).then(pl.col(NEXT_WATERMARK)).alias("next_watermark"),
                pl.when(pl.col(NEXT_TIME) != NEVER).then(pl.col(NEXT_TIME)).alias("next_time"),
            )
        )
    return stack(tables)
