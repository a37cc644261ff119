"""The windows that receive a signal: all windows, those of one key, or one of them."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from operator import and_

import polars as pl

from flowalg.runs.signals import AnySignal, name_of
from flowalg_shard.contents.stage import Stage
from flowalg_shard.tables.columns import END, START


def windows_reached(stage: Stage, table: pl.DataFrame, signals: Iterable[AnySignal]) -> dict[str, pl.Expr]:
    """Returns which windows receive a signal, by the names that the trigger of the stage waits for."""
    awaited = {name for _, name in stage.automaton.summary.signals}
    reached: dict[str, pl.Expr] = {}
    for signal in signals:
        name = name_of(signal)
        if name in awaited:
            reached[name] = reached.get(name, pl.lit(False)) | _reached(stage, table, signal)
    return reached


def _reached(stage: Stage, table: pl.DataFrame, signal: AnySignal) -> pl.Expr:
    if isinstance(signal, str):
        return pl.lit(True)
    key = stage.key_codec.encode(signal.key)
    if key is None:
        return pl.lit(False)
    conditions = [
        pl.col(name).eq_missing(pl.lit(column.cast(table.schema[name])))
        for name, column in zip(stage.keys, key, strict=True)
    ]
    if signal.window is not None:
        conditions += [pl.col(START) == signal.window.start, pl.col(END) == signal.window.end]
    return reduce(and_, conditions, pl.lit(True))
