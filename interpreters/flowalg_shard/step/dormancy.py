"""Which windows rest: nothing comes of looking at them again before an element arrives or a clock gets so far.

Law: a step changes nothing of a window that rests, which nothing arrives for and which no clock wakes, and has no pane
of it; so a shard need look at the others alone.
"""

from __future__ import annotations

from typing import Final

import polars as pl

from flowalg.data.time import MAX_TIME
from flowalg_shard.clocks.clocks import Clocks
from flowalg_shard.step.automaton import FIRES
from flowalg_shard.step.panes import with_holds
from flowalg_shard.step.stage import Stage
from flowalg_shard.step.state import ShardState
from flowalg_shard.tables.columns import CHANGED, END

WAKES: Final = "__wakes"
DUE: Final = "__due"
"""The watermark, and the processing time, that a window rests until. It has ``HOLD`` beside them."""

NEVER: Final = 2**63 - 1
ALWAYS: Final = -(2**63)

_LONG: Final = 2**62
"""Lateness beyond it is for ever; a shorter one can be added to the end of a window in 64 bits."""


def with_rest(stage: Stage, state: ShardState, clocks: Clocks) -> pl.DataFrame:
    """The windows after an instant, each with until when it rests, and what it holds back."""
    automaton, table = stage.automaton, state.table
    again = automaton.evaluate(table, END, clocks)
    moves = [again[name].ne_missing(table[name]) for name in automaton.columns]
    restless = again[FIRES] & table[CHANGED]
    for one in moves:
        restless |= again[FIRES] & one
    deadline = automaton.next_deadline(END, clocks)
    due = pl.lit(NEVER, pl.Int64()) if deadline is None else deadline.fill_null(NEVER)
    wakes = pl.when(restless).then(pl.lit(ALWAYS, pl.Int64())).otherwise(_wakes(stage, clocks))
    return with_holds(stage, table, state.standing).with_columns(wakes.alias(WAKES), due.alias(DUE))


def _wakes(stage: Stage, clocks: Clocks) -> pl.Expr:
    """The watermark at which a window ends, or else expires; all are looked at when time ends."""
    lateness = stage.strategy.lateness_micros
    last = pl.lit(MAX_TIME, pl.Int64())
    expires = last if lateness is None or lateness >= _LONG else pl.col(END) + lateness
    return pl.min_horizontal(
        pl.when(pl.col(END) > clocks.watermark).then(pl.col(END)).otherwise(expires), last
    )


def furthest(clocks: Clocks) -> int:
    """The greatest of the watermarks, percentiles included, that a window may be looked at for."""
    return max((clocks.watermark, *clocks.percentiles.values()))


def wakes_all(stage: Stage, clocks: Clocks) -> bool:
    """Whether a signal was given that the trigger looks at."""
    return any(name in clocks.signals for _, name in stage.automaton.fields.signals)


__all__ = ["ALWAYS", "DUE", "NEVER", "WAKES", "furthest", "wakes_all", "with_rest"]
