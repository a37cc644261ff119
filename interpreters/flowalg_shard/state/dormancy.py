"""Dormant windows: re-evaluating them is a no-op until elements arrive, the watermark advances, or a timer is due.

Law: a step leaves a dormant window unchanged and emits nothing for it, unless elements arrive for it or a clock reaches
its next evaluation. So a step needs the active windows only.
"""

from __future__ import annotations

from typing import Final

import polars as pl

from flowalg.data.time import MAX_TIME
from flowalg.runs.clocks import Clocks
from flowalg.runs.signals import name_of
from flowalg_shard.contents.stage import Stage
from flowalg_shard.step.groups import errors_in_stage
from flowalg_shard.step.panes import with_holds
from flowalg_shard.step.proto_windows import is_vacant
from flowalg_shard.step.shard_state import ShardState
from flowalg_shard.tables.columns import CHANGED, END
from flowalg_shard.tables.queries import compute
from flowalg_shard.triggers.automaton import FIRES

NEXT_WATERMARK: Final = "__next_watermark"
NEXT_TIME: Final = "__next_time"
"""The watermark, and the processing time, at which a window must be evaluated again."""

NEVER: Final = 2**63 - 1
ALWAYS: Final = -(2**63)

_LONG: Final = 2**62
"""A lateness of at least this is unlimited; a shorter one can be added to the end of a window in 64 bits."""


def with_wakeups(stage: Stage, state: ShardState, clocks: Clocks) -> pl.DataFrame:
    """Returns the windows after an instant with ``NEXT_WATERMARK``, ``NEXT_TIME`` and ``HOLD``."""
    with errors_in_stage(stage):
        return _with_wakeups(stage, state, clocks)


def _with_wakeups(stage: Stage, state: ShardState, clocks: Clocks) -> pl.DataFrame:
    automaton, table = stage.automaton, state.windows
    again = compute(automaton.evaluate(table.lazy(), END, clocks))
    moved = [again[name].ne_missing(table[name]) for name in automaton.columns]
    changes = again[FIRES] & table[CHANGED]
    for has_moved in moved:
        changes |= again[FIRES] & has_moved
    restless = automaton.is_restless(clocks)
    if restless is not None:
        changes |= table.select(restless=restless)["restless"]
    deadline = automaton.next_deadline(table, END, clocks)
    due = pl.lit(NEVER, pl.Int64()) if deadline is None else deadline.fill_null(NEVER)
    next_watermark = (
        pl.when(changes, ~is_vacant() if stage.unmerges else True)
        .then(pl.lit(ALWAYS, pl.Int64()))
        .otherwise(_next_watermark(stage, clocks))
    )
    return with_holds(stage, table, state.current_panes).with_columns(
        next_watermark.alias(NEXT_WATERMARK), due.alias(NEXT_TIME)
    )


def _next_watermark(stage: Stage, clocks: Clocks) -> pl.Expr:
    """Returns the watermark at which the window ends, or expires if it has ended; at the latest the end of time.

    One that has expired is vacant, and is freed with an open window of its key.
    """
    lateness = stage.strategy.lateness_micros
    last = pl.lit(MAX_TIME, pl.Int64())
    expires = last if lateness is None or lateness >= _LONG else pl.col(END) + lateness
    if stage.unmerges:
        expires = pl.when(expires > clocks.watermark).then(expires).otherwise(last)
    return pl.min_horizontal(
        pl.when(pl.col(END) > clocks.watermark).then(pl.col(END)).otherwise(expires), last
    )


def greatest_watermark(clocks: Clocks) -> int:
    """Returns the greatest watermark that may make a window due, including percentile watermarks."""
    return max((clocks.watermark, *clocks.percentiles.values()))


def activates_all(stage: Stage, clocks: Clocks) -> bool:
    """Returns whether a signal of the instant is one that the trigger waits for."""
    names = set(map(name_of, clocks.signals))
    return any(name in names for _, name in stage.automaton.summary.signals)
