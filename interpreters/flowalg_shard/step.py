"""One instant at a grouping, for all keys of a shard at once: SEMANTICS section 5 over tables."""

from __future__ import annotations

import polars as pl

from flowalg.panes import DropReason
from flowalg.time import ProcessingTime
from flowalg_shard.arrival import AFRESH, Arrived, arrive
from flowalg_shard.clocks import Clocks
from flowalg_shard.columns import (
    CHANGED,
    COUNT,
    DROPPED,
    NEW,
    PANES,
    PENDING,
    REASON,
    STANDS,
)
from flowalg_shard.contents import Contents, contents_of
from flowalg_shard.panes import emit
from flowalg_shard.seen import SINCE
from flowalg_shard.stage import Stage
from flowalg_shard.state import Emission, ShardState, bookkeeping, retracts, row_columns
from flowalg_shard.tables import stack


def step(
    stage: Stage, state: ShardState, bundles: list[pl.DataFrame], clocks: Clocks
) -> tuple[ShardState, Emission]:
    """The state and the emission after one instant.

    ``bundles`` come from ``precombine``, in any order and division; ``clocks`` are what both clocks read after the
    instant's elements, and the signals given in it.
    """
    arrived = arrive(stage, state, stack(bundles))
    contents = contents_of(stage)
    drops = stack([_drops(stage, contents, rows, reason) for reason, rows in arrived.refused])
    table = stack([arrived.rest, _absorbed(stage, contents, arrived, clocks)])
    if table.is_empty():
        return ShardState(watermark=clocks.watermark), Emission(pl.DataFrame(), drops)
    automaton = stage.automaton
    table = table.with_columns(**automaton.signalled(clocks.signals))
    table = automaton.evaluate(table, stage.place[-1], clocks)
    known = ShardState(table, state.watermark, arrived.standing)
    after, panes, hold = emit(stage, contents, known, clocks)
    return after, Emission(panes, drops, hold)


def next_deadline(stage: Stage, state: ShardState, now: ProcessingTime) -> ProcessingTime | None:
    """When, after ``now``, a trigger becomes ready by itself; ``None`` if none waits for processing time."""
    deadline = stage.automaton.next_deadline(now)
    if deadline is None or state.table.is_empty():
        return None
    soonest = state.table.select(deadline.min()).item()
    return None if soonest is None else ProcessingTime(soonest)


def _absorbed(stage: Stage, contents: Contents, arrived: Arrived, clocks: Clocks) -> pl.DataFrame:
    """Steps 2 and 3: the windows that something has happened to, with their contents and triggers as they are now."""
    automaton, fields = stage.automaton, stage.automaton.fields.of_elements
    kept, seen = bookkeeping(stage), fields.columns(NEW)
    own = [*stage.place, *contents.columns]
    rows = []
    if not arrived.touched.is_empty():
        nothing = {name: pl.lit(None, kind) for name, kind in seen.items()}
        rows.append(arrived.touched.with_columns(**nothing).select(*own, *kept, *seen, AFRESH))
    if not arrived.accepted.is_empty():
        nothing = {name: pl.lit(None, kind) for name, kind in (kept | {AFRESH: pl.Boolean()}).items()}
        now = {NEW + SINCE: pl.lit(clocks.processing_time, pl.Int64())} if fields.times else {}
        given = nothing | now | {CHANGED: pl.lit(True)}
        rows.append(arrived.accepted.with_columns(**given).select(*own, *kept, *seen, AFRESH))
    if not rows:
        return arrived.touched.clear()
    states = [pl.col(name).max() for name in automaton.columns]
    stands = [pl.col(STANDS).fill_null(False).any()] if retracts(stage) else []
    pending = fields.summed(PENDING) if stage.merging is not None else []
    others = [pl.col(CHANGED).any(), pl.col(PANES).max(), pl.col(AFRESH).fill_null(False).any()]
    table = contents.absorbed(
        pl.concat(rows), stage.place, [*others, *states, *stands, *pending, *fields.summed(NEW)]
    )
    afresh = pl.col(AFRESH) | pl.col(PANES).is_null()
    started = {
        name: pl.when(afresh).then(expr).otherwise(pl.col(name)) for name, expr in automaton.start().items()
    }
    table = table.with_columns(**started)
    if stage.merging is not None:
        caught_up = {
            name: pl.when(AFRESH).then(expr).otherwise(pl.col(name))
            for name, expr in automaton.observed(PENDING).items()
        }
        table = table.with_columns(**caught_up).with_columns(**fields.merged(PENDING, NEW))
    table = table.with_columns(pl.col(PANES).fill_null(0), **automaton.observed(NEW))
    return table.select(row_columns(stage))


def _drops(stage: Stage, contents: Contents, refused: pl.DataFrame, reason: DropReason) -> pl.DataFrame:
    """One row for each key and window that refused elements."""
    if refused.is_empty():
        return pl.DataFrame()
    merged = contents.absorbed(refused, stage.place, [pl.col(COUNT).sum()])
    told = merged.with_columns(pl.lit(True).alias(CHANGED)).with_columns(contents.gives.alias(CHANGED))
    shown = contents.extracted(told.filter(CHANGED))
    untold = told.filter(~pl.col(CHANGED)).select(*stage.place, COUNT)
    rows = shown.select(*stage.place, *stage.results, COUNT)
    return (
        pl.concat([rows, untold], how="diagonal")
        .with_columns(pl.lit(reason.value).alias(REASON))
        .rename({COUNT: DROPPED})
    )


__all__ = [
    "Emission",
    "ShardState",
    "next_deadline",
    "step",
]
