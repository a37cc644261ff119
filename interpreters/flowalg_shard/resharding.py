"""Resharding: the state of a stage, divided into another number of shards."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import polars as pl

from flowalg_shard.operators import OperatorState, pack_side, unpack_side
from flowalg_shard.state.window_store import KEY_HASH, Segment, WindowStore
from flowalg_shard.step.side_inputs import SideState
from flowalg_shard.tables.columns import END, SHARD, START
from flowalg_shard.tables.packing import stack

Route: TypeAlias = Callable[[Sequence[pl.Expr]], pl.Expr]
"""Returns the new shard of a row, as the column ``SHARD``, given the columns of its key."""


def reshard(states: Sequence[OperatorState], shards: int, route: Route) -> list[OperatorState]:
    """Returns the state of a stage in another number of shards, in which each key is where ``route`` sends it.

    The clocks are the same in all shards, and so are the windows of a side input. The elements that wait for a side
    input may be in any shard.
    """
    clocks = states[0].input_clocks
    if any(state.side_input for state in states):
        return [OperatorState(clocks, side_input=side) for side in _reshard_sides(states, shards)]
    return [OperatorState(clocks, store) for store in _reshard_windows(states, shards, route)]


def _reshard_windows(states: Sequence[OperatorState], shards: int, route: Route) -> list[WindowStore]:
    """Returns the windows, or the keys of a computation, by the shard of their key; each in one segment."""
    parts = [part for state in states for part in state.windows.parts]
    for part in parts:
        part.segment.wake_up_windows()
    windows, panes = (
        stack([table.drop(KEY_HASH, strict=False) for table in tables])
        for tables in ([part.windows for part in parts], [part.current_panes for part in parts])
    )
    if windows.is_empty() and panes.is_empty():
        return [WindowStore()] * shards
    hashed = parts[0].segment.hashed
    key = [pl.col(name) for name in hashed if name not in (START, END)]
    divided = zip(_divide(windows, shards, route(key)), _divide(panes, shards, route(key)), strict=True)
    return [
        WindowStore()
        if own.is_empty()
        else WindowStore().append(Segment(hashed, own, current, pl.DataFrame()))
        for own, current in divided
    ]


def _divide(table: pl.DataFrame, shards: int, shard: pl.Expr) -> list[pl.DataFrame]:
    """Returns the rows of each shard, in order."""
    if table.is_empty():
        return [table] * shards
    numbers = table.with_columns(shard)[SHARD]
    return [table.filter(numbers == number) for number in range(shards)]


def _reshard_sides(states: Sequence[OperatorState], shards: int) -> list[bytes]:
    """Returns the states of a side input: all of its windows for each shard, and a share of the waiting elements.

    A shard moves a complete window from the contents to the values when one of its elements reads it first.
    """
    sides = [unpack_side(state) for state in states]
    values = {window: value for side in sides for window, value in side.values.items()}
    contents = {
        window: each for side in sides for window, each in side.contents.items() if window not in values
    }
    ordered = {window: values[window] for window in sorted(values)}
    waiting = stack([side.waiting for side in sides])
    return [
        pack_side(
            SideState(contents, ordered, waiting.gather_every(shards, number) if waiting.height else waiting)
        )
        for number in range(shards)
    ]


__all__ = ["Route", "reshard"]
