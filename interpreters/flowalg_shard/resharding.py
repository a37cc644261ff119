"""Resharding: the state of a stage, divided into other shards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from flowalg_shard.operators import OperatorState, pack_side, unpack_side
from flowalg_shard.placement.key_hash import shards_of
from flowalg_shard.state.window_store import KEY_HASH, Segment, WindowStore
from flowalg_shard.step.side_inputs import SideState, by_window
from flowalg_shard.tables.columns import END, SHARD, START
from flowalg_shard.tables.packing import stack


def reshard(states: Sequence[OperatorState], shards: Sequence[int]) -> list[OperatorState]:
    """Returns the state of a stage in the shards with the ids ``shards``, each key in the shard of its hash.

    The clocks are the same in all shards, and so are the windows of a side input. The elements that wait for a side
    input may be in any shard.
    """
    clocks = states[0].input_clocks
    if any(state.side_input for state in states):
        return [OperatorState(clocks, side_input=side) for side in _reshard_sides(states, len(shards))]
    return [OperatorState(clocks, store) for store in _reshard_windows(states, shards)]


def count_misplaced(states: Mapping[int, OperatorState]) -> int:
    """Returns how many windows, or keys of a computation, are in another shard than that of their hash.

    ``states`` are those of all shards, by id.
    """
    parts = [(shard, part) for shard, state in states.items() for part in state.windows.parts]
    if not parts:
        return 0
    key = _key_of(parts[0][1].segment)
    rows = stack(
        [
            part.windows.with_columns(pl.lit(shard, pl.Int32()).alias(SHARD)).select(*key, SHARD)
            for shard, part in parts
        ]
    )
    return int((_place(rows, key, sorted(states)) != rows[SHARD]).sum())


def _key_of(segment: Segment) -> list[str]:
    """Returns the names of the columns of the key."""
    return [name for name in segment.hashed if name not in (START, END)]


def _place(rows: pl.DataFrame, key: Sequence[str], shards: Sequence[int]) -> pl.Series:
    """Returns the id of the shard of each row; ``shards`` are the ids of all shards, in order."""
    return pl.Series(shards, dtype=pl.Int32()).gather(shards_of(rows, key, len(shards)))


def _reshard_windows(states: Sequence[OperatorState], shards: Sequence[int]) -> list[WindowStore]:
    """Returns the windows, or the keys of a computation, by the shard of their key; each in one segment."""
    parts = [part for state in states for part in state.windows.parts]
    windows, panes = whole_tables(*states)
    if windows.is_empty() and panes.is_empty():
        return [WindowStore()] * len(shards)
    hashed, key = parts[0].segment.hashed, _key_of(parts[0].segment)
    divided = zip(*(_divide(table, key, shards) for table in (windows, panes)), strict=True)
    return [
        WindowStore()
        if own.is_empty()
        else WindowStore().append(Segment(hashed, own, current, pl.DataFrame()))
        for own, current in divided
    ]


def whole_tables(*states: OperatorState) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Returns all windows of some shards, or the keys of a computation, and their current panes or waiting elements."""
    parts = [part for state in states for part in state.windows.parts]
    for part in parts:
        part.segment.wake_up_windows()
    windows, panes = (
        stack([table.drop(KEY_HASH, strict=False) for table in tables])
        for tables in ([part.windows for part in parts], [part.current_panes for part in parts])
    )
    return windows, panes


def _divide(table: pl.DataFrame, key: Sequence[str], shards: Sequence[int]) -> list[pl.DataFrame]:
    """Returns the rows of each shard, in order."""
    if table.is_empty():
        return [table] * len(shards)
    placed = _place(table, key, shards)
    return [table.filter(placed == shard) for shard in shards]


def _reshard_sides(states: Sequence[OperatorState], shards: int) -> list[bytes]:
    """Returns the states of a side input: all of its windows for each shard, and a share of the waiting elements.

    A shard moves a complete window from the contents to the values when one of its elements reads it first.
    """
    sides = [unpack_side(state) for state in states]
    values = {window: value for side in sides for window, value in side.values.items()}
    contents = {
        window: part
        for side in sides
        for window, part in by_window(side.contents).items()
        if window not in values
    }
    ordered = {window: values[window] for window in sorted(values)}
    kept = stack([*contents.values()])
    waiting = stack([side.waiting for side in sides])
    return [
        pack_side(
            SideState(
                kept,
                ordered,
                waiting.gather_every(shards, number) if waiting.height else waiting,
            )
        )
        for number in range(shards)
    ]
