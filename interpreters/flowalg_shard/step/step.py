"""One instant at a grouping, for all keys of a shard at once: SEMANTICS section 5 over tables."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from flowalg.runs.panes import DropReason
from flowalg_shard.clocks.clocks import Clocks
from flowalg_shard.step.arrival import AFRESH, Arrived, arrive
from flowalg_shard.step.contents import Contents, contents_of
from flowalg_shard.step.panes import emit
from flowalg_shard.step.stage import Stage
from flowalg_shard.step.state import Emission, ShardState, bookkeeping, row_columns
from flowalg_shard.step.trigger_summary import SINCE
from flowalg_shard.tables.columns import (
    CHANGED,
    COUNT,
    DROPPED,
    NEW,
    PANES,
    PENDING,
    REASON,
    STANDS,
)
from flowalg_shard.tables.packing import stack


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
    if clocks.signals:
        table = table.with_columns(**automaton.signalled(clocks.signals))
    table = automaton.evaluate(table, stage.place[-1], clocks)
    known = ShardState(table, state.watermark, arrived.standing)
    after, panes, hold = emit(stage, contents, known, clocks)
    return after, Emission(panes, drops, hold)


def _absorbed(stage: Stage, contents: Contents, arrived: Arrived, clocks: Clocks) -> pl.DataFrame:
    """Steps 2 and 3: the windows that something has happened to, with their contents and triggers as they are now."""
    automaton, fields = stage.automaton, stage.automaton.fields.of_elements
    kept, seen = bookkeeping(stage), fields.columns(NEW)
    afresh: dict[str, pl.DataType] = {} if stage.merging is None else {AFRESH: pl.Boolean()}
    wanted = [*stage.place, *contents.columns, *kept, *seen, *afresh]
    rows = []
    if not arrived.touched.is_empty():
        rows.append(arrived.touched.with_columns(**_nothing(seen)).select(wanted))
    if not arrived.accepted.is_empty():
        now = {NEW + SINCE: pl.lit(clocks.processing_time, pl.Int64())} if fields.times else {}
        given = _nothing(kept | afresh) | now | {CHANGED: pl.lit(True)}
        rows.append(arrived.accepted.with_columns(**given).select(wanted))
    if not rows:
        return arrived.touched.clear()
    merged = [pl.col(CHANGED).any(), pl.col(PANES).max(), *(pl.col(name).max() for name in automaton.columns)]
    merged += [pl.col(name).fill_null(False).any() for name in (STANDS, AFRESH) if name in wanted]
    merged += [*fields.summed(NEW), *(fields.summed(PENDING) if stage.merging is not None else [])]
    table = contents.absorbed(pl.concat(rows), stage.place, merged)
    return _observed(stage, table)


def _nothing(columns: Mapping[str, pl.DataType]) -> dict[str, pl.Expr]:
    return {name: pl.lit(None, kind) for name, kind in columns.items()}


def _observed(stage: Stage, table: pl.DataFrame) -> pl.DataFrame:
    """Triggers that are new start, those of windows that have merged start afresh; then all observe what is new."""
    automaton, fields = stage.automaton, stage.automaton.fields.of_elements
    fresh = pl.col(PANES).is_null()
    if stage.merging is not None:
        fresh |= pl.col(AFRESH)
    started = _where(fresh, automaton.start())
    if started:
        table = table.with_columns(**started)
    if stage.merging is not None:
        table = table.with_columns(**_where(pl.col(AFRESH), automaton.observed(PENDING)))
        table = table.with_columns(**fields.merged(PENDING, NEW))
    seen = {PANES: pl.col(PANES).fill_null(0), **automaton.observed(NEW)}
    return table.select(**{name: seen.get(name, pl.col(name)) for name in row_columns(stage)})


def _where(condition: pl.Expr, columns: Mapping[str, pl.Expr]) -> dict[str, pl.Expr]:
    return {name: pl.when(condition).then(expr).otherwise(pl.col(name)) for name, expr in columns.items()}


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
    "step",
]
