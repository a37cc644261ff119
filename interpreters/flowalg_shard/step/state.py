"""What a shard remembers between instants, and what an instant gives."""

from __future__ import annotations

from typing import Final

import polars as pl
from attrs import field, frozen

from flowalg.data.time import MAX_TIME, MIN_TIME, EventTime
from flowalg.windows.strategy import Accumulation
from flowalg_shard.step.contents import contents_of
from flowalg_shard.step.stage import Stage
from flowalg_shard.tables.columns import CHANGED, PANES, PENDING, STANDS

RANK: Final = "__rank"
PANE_START: Final = "__pane_start"
PANE_END: Final = "__pane_end"
"""Of a pane that stands: its place among those of its window, and the window that it was emitted for."""


@frozen
class ShardState:
    """What a shard remembers: its windows, the panes that stand, and the watermark as of the last instant.

    ``table`` has a row for each window: key, bounds, contents, whether anything is new since the last pane and how
    many panes there were, what is pending where windows merge, and the state of the trigger. ``standing`` has a row
    for each pane that was emitted and not taken back, where panes retract. Tables without rows may lack their columns.
    """

    table: pl.DataFrame = field(factory=pl.DataFrame)
    watermark: EventTime = MIN_TIME
    standing: pl.DataFrame = field(factory=pl.DataFrame)


@frozen
class Emission:
    """What an instant gives: panes (keys, window, results, and what a pane says of itself), and drops.

    A row of ``drops`` stands for all elements that one key and window refused in this instant: how many, and
    what they would have come to. ``hold`` is the least event time that a pane still to come for what is pending would
    carry: the watermark behind the grouping waits for it (``Clocks.held``).
    """

    panes: pl.DataFrame
    drops: pl.DataFrame
    hold: EventTime = MAX_TIME


def retracts(stage: Stage) -> bool:
    """Whether its panes are taken back when they are replaced."""
    return stage.strategy.accumulation is Accumulation.RETRACTING


def bookkeeping(stage: Stage) -> dict[str, pl.DataType]:
    """The columns of a window's row beside its place and its contents, with their types."""
    pending = stage.automaton.fields.of_elements.columns(PENDING) if stage.merging is not None else {}
    stands: dict[str, pl.DataType] = {STANDS: pl.Boolean()} if retracts(stage) else {}
    panes: dict[str, pl.DataType] = {CHANGED: pl.Boolean(), PANES: pl.Int64()}
    return {**panes, **stands, **pending, **stage.automaton.columns}


def row_columns(stage: Stage) -> list[str]:
    """All columns of a window's row, in order."""
    return [*stage.place, *contents_of(stage).columns, *bookkeeping(stage)]


__all__ = [
    "PANE_END",
    "PANE_START",
    "RANK",
    "Emission",
    "ShardState",
    "bookkeeping",
    "retracts",
    "row_columns",
]
