"""One instant at a grouping, for all keys of a shard at once: SEMANTICS section 5 over tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import polars as pl

from flowalg.runs.clocks import Clocks
from flowalg_shard.contents.kinds import Contents, contents_of
from flowalg_shard.contents.stage import Stage
from flowalg_shard.step.arrival import ArrivedElements, arrive
from flowalg_shard.step.groups import errors_in_stage, implied_bounds
from flowalg_shard.step.panes import emit
from flowalg_shard.step.proto_windows import combine_rows, is_vacant
from flowalg_shard.step.shard_state import (
    Emission,
    Late,
    ShardState,
    bookkeeping_columns,
    retracts,
    state_columns,
)
from flowalg_shard.step.signals import windows_reached
from flowalg_shard.tables.columns import (
    CHANGED,
    END,
    HAS_CURRENT,
    NEW,
    PANES,
    PENDING,
    RESTARTS,
)
from flowalg_shard.tables.packing import stack
from flowalg_shard.tables.queries import compute, unite
from flowalg_shard.triggers.automaton import FIRES

_ROW: Final = "__row"

_OF_WINDOW: Final[dict[str, pl.DataType]] = {_ROW: pl.UInt32()}
_RESTARTS: Final[dict[str, pl.DataType]] = {RESTARTS: pl.Boolean()}


def step(
    stage: Stage, state: ShardState, bundles: list[pl.DataFrame], clocks: Clocks
) -> tuple[ShardState, Emission]:
    """Returns the state and the emission after one instant.

    ``bundles`` are results of ``precombine``, in any order and division. ``clocks`` are the clocks after the elements
    of the instant, and its signals.
    """
    with errors_in_stage(stage):
        return _step(stage, state, bundles, clocks)


def _step(
    stage: Stage, state: ShardState, bundles: list[pl.DataFrame], clocks: Clocks
) -> tuple[ShardState, Emission]:
    contents = contents_of(stage)
    arrived = arrive(stage, state, stack(bundles), clocks.processing_time)
    late = Late(stage, arrived.dropped, state.watermark)
    changed = _absorb(stage, contents, arrived, clocks)
    untouched = [] if arrived.untouched.is_empty() else [arrived.untouched.lazy()]
    windows = [*untouched, *([] if changed is None else [changed])]
    if not windows:
        return ShardState(watermark=clocks.watermark), Emission(pl.DataFrame(), late)
    table = unite(windows)
    if clocks.signals:
        observed = compute(table)
        reached = windows_reached(stage, observed, clocks.signals)
        table = observed.lazy().with_columns(**stage.automaton.observe_signals(reached))
    after, panes, hold = emit(
        stage,
        contents,
        _evaluate(stage, table, clocks),
        ShardState(watermark=state.watermark, current_panes=arrived.current_panes),
        clocks,
        arrived.ended_panes,
    )
    return after, Emission(panes, late, hold)


def _evaluate(stage: Stage, table: pl.LazyFrame, clocks: Clocks) -> pl.LazyFrame:
    """Performs the first half of step 5: returns the windows, with whether they fire, after ready triggers have fired.

    A vacant window has no trigger.
    """
    automaton = stage.automaton
    if not stage.unmerges:
        return automaton.evaluate(table, END, clocks)
    windows = compute(table)
    held, vacant = windows.filter(~is_vacant()), windows.filter(is_vacant())
    evaluated = automaton.evaluate(held.lazy(), END, clocks)
    return unite([evaluated, vacant.lazy().with_columns(pl.lit(False).alias(FIRES))])


def _absorb(
    stage: Stage, contents: Contents, arrived: ArrivedElements, clocks: Clocks
) -> pl.LazyFrame | None:
    """Performs steps 2 and 3: returns the windows that change, if any do, with new contents and trigger states."""
    if stage.unmerges:
        return _combine_regrouped(stage, arrived.accepted)
    summary = stage.automaton.summary.of_elements
    observed = summary.columns(NEW)
    implied = implied_bounds(stage)
    group = [name for name in stage.window_key if name not in implied]
    one_each = stage.merging is None
    own = {CHANGED: pl.Boolean()} | (_OF_WINDOW if one_each else bookkeeping_columns(stage) | _RESTARTS)
    names = [*group, *contents.columns, *own, *observed]
    rows = []
    if not arrived.touched.is_empty():
        numbered = {_ROW: pl.int_range(pl.len(), dtype=pl.UInt32())} if one_each else {}
        rows.append(_named(arrived.touched.lazy(), names, numbered | _nulls(observed)))
    if not arrived.accepted.is_empty():
        now = {NEW + name: pl.lit(clocks.processing_time, pl.Int64()) for name in summary.arrivals}
        initial = _nulls(own) | now | {CHANGED: pl.lit(True)}
        rows.append(_named(arrived.accepted.lazy(), names, initial))
    if not rows:
        return None
    together = compute(unite(rows))
    table = contents.absorb(together, group, [*_merged(stage), *summary.aggregate(NEW)])
    table = summary.merge_groups(table, NEW)
    if one_each:
        return _observe(stage, table.lazy().with_columns(**_kept(stage, arrived.touched), **implied))
    return _observe(stage, summary.merge_groups(table, PENDING).lazy())


def _combine_regrouped(stage: Stage, rows: pl.DataFrame) -> pl.LazyFrame | None:
    """As ``_absorb``, where merged windows come apart."""
    if rows.is_empty():
        return None
    summary = stage.automaton.summary.of_elements
    own = bookkeeping_columns(stage) | _RESTARTS | summary.columns(NEW)
    missing = {name: expr for name, expr in _nulls(own).items() if name not in rows.columns}
    aggregates = [*_merged(stage), *summary.aggregate(NEW)]
    table = combine_rows(stage, rows.with_columns(**missing), aggregates)
    return _observe(stage, summary.merge_groups(summary.merge_groups(table, NEW), PENDING).lazy())


def _merged(stage: Stage) -> list[pl.Expr]:
    """Returns the aggregates over a window's rows: of one window at most, unless windows merge."""
    changed = pl.col(CHANGED).any()
    if stage.merging is None:
        return [changed, pl.col(_ROW).max()]
    flags = [HAS_CURRENT, RESTARTS] if retracts(stage) else [RESTARTS]
    return [
        changed,
        pl.col(PANES).max(),
        *(pl.col(name).drop_nulls().first() for name in stage.automaton.columns),
        *(pl.col(name).fill_null(False).any() for name in flags),
        *stage.automaton.summary.of_elements.aggregate(PENDING),
    ]


def _kept(stage: Stage, windows: pl.DataFrame) -> dict[str, pl.Expr]:
    """Returns the number of panes and the state of the trigger, by the rows of windows; null in a new window."""
    kept = {name: type_ for name, type_ in bookkeeping_columns(stage).items() if name != CHANGED}
    if windows.is_empty():
        return _nulls(kept)
    return {name: pl.lit(windows[name]).gather(_ROW) for name in kept}


def _named(table: pl.LazyFrame, names: Sequence[str], new: Mapping[str, pl.Expr]) -> pl.LazyFrame:
    """Returns some columns of a table, of which some are new."""
    return table.select(**{name: new.get(name, pl.col(name)) for name in names})


def _nulls(columns: Mapping[str, pl.DataType]) -> dict[str, pl.Expr]:
    return {name: pl.lit(None, type_) for name, type_ in columns.items()}


def _observe(stage: Stage, table: pl.LazyFrame) -> pl.LazyFrame:
    """Starts new triggers, restarts those of merged windows, and lets all observe the new elements."""
    automaton, summary = stage.automaton, stage.automaton.summary.of_elements
    restarted = pl.col(RESTARTS) if stage.merging is not None else pl.col(PANES).is_null()
    if stage.merging is not None and not stage.unmerges:
        restarted |= pl.col(PANES).is_null()
    initial = _where(restarted, automaton.initial_state())
    if initial:
        table = table.with_columns(**initial)
    if stage.merging is not None:
        table = table.with_columns(**_where(pl.col(RESTARTS), automaton.observe(PENDING)))
        table = table.with_columns(**summary.merge(PENDING, NEW))
    observed = {PANES: pl.col(PANES).fill_null(0), **automaton.observe(NEW)}
    if automaton.accumulates:
        table, observed = _accumulate(stage, compute(table.with_columns(**observed))).lazy(), {}
    return _named(table, state_columns(stage), observed)


def _accumulate(stage: Stage, table: pl.DataFrame) -> pl.DataFrame:
    """Lets triggers absorb accumulators, all of an instant at once, and evaluates predicates of those that changed."""
    automaton, summary = stage.automaton, stage.automaton.summary.of_elements
    if stage.merging is not None:
        table = automaton.accumulate(table, PENDING, pl.col(RESTARTS))
        table = summary.merge_accumulators(table, PENDING, NEW)
    table = automaton.accumulate(table, NEW)

    def changed(name: str) -> pl.Expr:
        arrived = pl.col(NEW + name).is_not_null()
        return arrived if stage.merging is None else arrived | pl.col(RESTARTS)

    return automaton.evaluate_accumulators(table, changed)


def _where(condition: pl.Expr, columns: Mapping[str, pl.Expr]) -> dict[str, pl.Expr]:
    return {name: pl.when(condition).then(expr).otherwise(pl.col(name)) for name, expr in columns.items()}
