"""Steps 1 and 2 of an instant: assign windows, drop elements, merge windows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import polars as pl
from attrs import field, frozen

from flowalg.data.time import EventTime, ProcessingTime
from flowalg.runs.panes import DropReason
from flowalg.windows.window_functions import MergingWindowFn
from flowalg_shard.contents.stage import Stage
from flowalg_shard.step.bundle import aggregate_summary, keeps_event_times
from flowalg_shard.step.islands import merge_islands, merges_islands
from flowalg_shard.step.merging import MEMBERS, TO_END, TO_START, merge_windows
from flowalg_shard.step.proto_windows import regroup
from flowalg_shard.step.shard_state import RANK, ShardState, retracts
from flowalg_shard.tables.columns import CHANGED, COUNT, END, HAS_CURRENT, PANES, POINT, RESTARTS, START
from flowalg_shard.tables.joins import anti_join, semi_join
from flowalg_shard.tables.packing import stack
from flowalg_shard.triggers.automaton import CLOSED

_FEW: Final = 4
"""The windows for each row of the bundle up to which combining all windows is faster than a lookup."""

_ROW: Final = "__row"
_CLOSED_START: Final = "__closed_start"
_CLOSED_END: Final = "__closed_end"


@frozen
class ArrivedElements:
    """The elements of an instant and the windows that they join.

    ``touched`` has the rows of the windows to combine, with their new bounds, in the order in which their contents are
    merged. ``accepted`` has the rows of the bundle, with the new bounds of their windows; where merged windows come
    apart, it has all rows to combine. Where windows merge, ``RESTARTS`` marks the touched windows whose trigger
    restarts. ``untouched`` has the rows of all other windows. ``ended_panes`` are the current panes of windows that
    have come apart.
    """

    untouched: pl.DataFrame
    touched: pl.DataFrame
    accepted: pl.DataFrame
    current_panes: pl.DataFrame
    dropped: tuple[tuple[DropReason, pl.DataFrame], ...]
    ended_panes: pl.DataFrame = field(factory=pl.DataFrame)


def arrive(stage: Stage, state: ShardState, bundle: pl.DataFrame, now: ProcessingTime) -> ArrivedElements:
    """Performs steps 1 and 2 for a bundle that arrives at a processing time."""
    if bundle.is_empty():
        return _nothing_accepted(state, bundle, [])
    strategy = stage.merging
    if merges_islands(stage):
        counted = [pl.col(COUNT).sum(), *aggregate_summary(stage)]
        bundle = merge_islands(stage, bundle, stage.keys, counted, state.watermark)
    if strategy is None:
        return _assign(stage, state, bundle)
    if stage.unmerges:
        return _regroup(stage, strategy, state, bundle, now)
    return _merge(stage, strategy, state, bundle)


def _assign(stage: Stage, state: ShardState, bundle: pl.DataFrame) -> ArrivedElements:
    """Windows that do not merge: each element joins its assigned window."""
    window_key, windows = list(stage.window_key), state.windows
    expired, accepted = _divide(stage, bundle, state.watermark)
    dropped = [(DropReason.EXPIRED, expired)]
    if stage.automaton.finishes and not windows.is_empty():
        closed = windows.filter(pl.col(CLOSED)).select(window_key)
        dropped.append((DropReason.CLOSED, semi_join(accepted, closed, window_key)))
        accepted = anti_join(accepted, closed, window_key)
    if windows.is_empty():
        return ArrivedElements(windows, windows, accepted, state.current_panes, tuple(dropped))
    if stage.combiner is None and windows.height <= _FEW * accepted.height:
        return ArrivedElements(windows.clear(), windows, accepted, state.current_panes, tuple(dropped))
    touched = semi_join(windows, accepted, window_key)
    return ArrivedElements(
        anti_join(windows, accepted, window_key), touched, accepted, state.current_panes, tuple(dropped)
    )


def _divide(stage: Stage, bundle: pl.DataFrame, before: EventTime) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Returns the rows of expired windows, of which there mostly are none, and the others."""
    limit, least = stage.expired_up_to(before), bundle[END].min()
    assert isinstance(least, int), "windows end"
    if limit is None or least > limit:
        return bundle.clear(), bundle
    expired = bundle[END] <= limit
    return bundle.filter(expired), bundle.filter(~expired)


def _merge(
    stage: Stage, strategy: MergingWindowFn, state: ShardState, bundle: pl.DataFrame
) -> ArrivedElements:
    """Windows that merge: elements inside a closed window are dropped, the others join the windows they overlap."""
    keys, window_key = list(stage.keys), list(stage.window_key)
    finished, windows, bundle, dropped = _drop_closed(stage, state.windows, bundle)
    if bundle.is_empty():
        return _nothing_accepted(state, bundle, dropped)
    if windows.is_empty():
        windows = _no_windows(bundle, window_key)
    of_keys, of_other_keys = semi_join(windows, bundle, keys), anti_join(windows, bundle, keys)
    targets = merge_windows(strategy, keys, of_keys, bundle)
    joining = bundle.join(targets, on=window_key, how="left", nulls_equal=True)
    expired = (pl.col(MEMBERS) == 0) & _is_expired(stage, TO_END, state.watermark)
    dropped.append((DropReason.EXPIRED, joining.filter(expired).select(bundle.columns)))
    joining = joining.filter(~expired)
    moving = of_keys.join(targets, on=window_key, how="left", nulls_equal=True)
    target = [*keys, TO_START, TO_END]
    joined_targets = joining.select(target).unique()
    several = pl.col(MEMBERS) > 1
    joined = semi_join(moving, joined_targets, target)
    merging = anti_join(moving.filter(several), joined_targets, target)
    untouched = anti_join(moving.filter(~several), joined_targets, target).select(of_keys.columns)
    touched = _move(stage, pl.concat([joined, merging]).sort(END, START), state.watermark)
    accepted = joining.with_columns(pl.col(TO_START).alias(START), pl.col(TO_END).alias(END))
    accepted = accepted.drop(TO_START, TO_END, MEMBERS)
    _, finished, current_panes = _replace(finished, accepted, state.current_panes, window_key)
    current_panes = _move_current_panes(stage, current_panes, targets)
    parts = [part for part in (of_other_keys, untouched, finished) if not part.is_empty()]
    remaining = pl.concat(parts) if parts else state.windows.clear()
    return ArrivedElements(remaining, touched, accepted, current_panes, tuple(dropped))


def _regroup(
    stage: Stage, strategy: MergingWindowFn, state: ShardState, bundle: pl.DataFrame, now: ProcessingTime
) -> ArrivedElements:
    """Windows that merge, and that come apart: as ``_merge``, with the proto-windows of the keys partitioned again."""
    keys, window_key = list(stage.keys), list(stage.window_key)
    finished, windows, bundle, dropped = _drop_closed(stage, state.windows, bundle)
    if bundle.is_empty():
        return _nothing_accepted(state, bundle, dropped)
    of_keys, of_other_keys = windows, windows
    if not windows.is_empty():
        of_keys, of_other_keys = semi_join(windows, bundle, keys), anti_join(windows, bundle, keys)
    regrouped = regroup(stage, strategy, of_keys, bundle, state.watermark, now)
    dropped.append((DropReason.EXPIRED, semi_join(bundle, regrouped.expired, window_key)))
    rows = regrouped.rows
    replaced, finished, current_panes = _replace(finished, rows, state.current_panes, window_key)
    if not replaced.is_empty():
        # The new window continues the indices of the one that it replaces.
        rows = pl.concat([rows, replaced.select(*window_key, PANES)], how="diagonal_relaxed")
    ended_panes = current_panes.clear()
    if not current_panes.is_empty() and not regrouped.ended.is_empty():
        ended_panes = semi_join(current_panes, regrouped.ended, window_key)
        current_panes = anti_join(current_panes, regrouped.ended, window_key)
    current_panes = _move_current_panes(stage, current_panes, regrouped.staying)
    untouched = stack([of_other_keys, *regrouped.untouched, finished])
    return ArrivedElements(untouched, untouched.clear(), rows, current_panes, tuple(dropped), ended_panes)


def _nothing_accepted(
    state: ShardState, bundle: pl.DataFrame, dropped: list[tuple[DropReason, pl.DataFrame]]
) -> ArrivedElements:
    return ArrivedElements(state.windows, state.windows.clear(), bundle, state.current_panes, tuple(dropped))


def _replace(
    finished: pl.DataFrame, arriving: pl.DataFrame, current_panes: pl.DataFrame, window_key: list[str]
) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """Replaces finished windows by new windows that have their exact bounds.

    Returns the replaced windows, the other finished windows, and the current panes of all windows but the replaced.
    """
    if finished.is_empty():
        return finished, finished, current_panes
    replaced, others = semi_join(finished, arriving, window_key), anti_join(finished, arriving, window_key)
    if not current_panes.is_empty():
        current_panes = anti_join(current_panes, replaced, window_key)
    return replaced, others, current_panes


def _drop_closed(
    stage: Stage, windows: pl.DataFrame, bundle: pl.DataFrame
) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame, list[tuple[DropReason, pl.DataFrame]]]:
    """Returns the closed windows, the other windows, the elements outside of closed windows, and those inside."""
    if not stage.automaton.finishes or windows.is_empty():
        return windows.clear(), windows, bundle, []
    closed = windows.filter(pl.col(CLOSED))
    inside = _inside(stage, bundle, closed)
    dropped = [(DropReason.CLOSED, bundle.filter(inside))]
    return closed, windows.filter(~pl.col(CLOSED)), bundle.filter(~inside), dropped


def _move(stage: Stage, moving: pl.DataFrame, before: EventTime) -> pl.DataFrame:
    """Returns the rows of windows with their new bounds. A window that grows counts its panes from 0 again."""
    if CHANGED not in moving.columns:
        return moving.drop(TO_START, TO_END, MEMBERS).clear()
    several = pl.col(MEMBERS) > 1
    grown = (pl.col(START) != pl.col(TO_START)) | (pl.col(END) != pl.col(TO_END))
    reopened = grown & (pl.col(END) <= before) & (pl.col(TO_END) > before)
    changed = pl.col(CHANGED) | (several & pl.col(HAS_CURRENT)) if retracts(stage) else pl.col(CHANGED)
    return moving.with_columns(
        (several | reopened).alias(RESTARTS),
        pl.when(grown).then(0).otherwise(pl.col(PANES)).alias(PANES),
        changed.alias(CHANGED),
        pl.col(TO_START).alias(START),
        pl.col(TO_END).alias(END),
    ).drop(TO_START, TO_END, MEMBERS)


def _move_current_panes(stage: Stage, current_panes: pl.DataFrame, targets: pl.DataFrame) -> pl.DataFrame:
    """Returns the current panes with the new bounds of their windows, ranked by their former windows."""
    if current_panes.is_empty():
        return current_panes
    window_key = list(stage.window_key)
    ordered = current_panes.sort(END, START, RANK).with_columns(pl.int_range(pl.len()).alias(RANK))
    moved = ordered.join(targets, on=window_key, how="left", nulls_equal=True)
    return moved.with_columns(
        pl.coalesce(TO_START, START).alias(START), pl.coalesce(TO_END, END).alias(END)
    ).select(current_panes.columns)


def _no_windows(bundle: pl.DataFrame, window_key: Sequence[str]) -> pl.DataFrame:
    return bundle.select(window_key).clear()


def _inside(stage: Stage, bundle: pl.DataFrame, closed: pl.DataFrame) -> pl.Series:
    """Returns for each row of the bundle whether its event time is in a closed window of its key."""
    point = pl.col(POINT) if keeps_event_times(stage) else pl.col(START)
    keys = list(stage.keys)
    numbered = bundle.select(*keys, point.alias(POINT)).with_row_index(_ROW)
    bounds = closed.select(*keys, pl.col(START).alias(_CLOSED_START), pl.col(END).alias(_CLOSED_END))
    pairs = (
        numbered.join(bounds, on=keys, how="inner", nulls_equal=True)
        if keys
        else numbered.join(bounds, how="cross")
    )
    hits = pairs.filter((pl.col(_CLOSED_START) <= pl.col(POINT)) & (pl.col(POINT) < pl.col(_CLOSED_END)))
    return numbered[_ROW].is_in(hits[_ROW].unique().to_list())


def _is_expired(stage: Stage, end: str, watermark: EventTime) -> pl.Expr:
    limit = stage.expired_up_to(watermark)
    return pl.lit(False) if limit is None else pl.col(end) <= limit
