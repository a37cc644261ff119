"""The state of a shard between instants, and the output of an instant."""

from __future__ import annotations

from functools import cached_property
from typing import Final

import polars as pl
from attrs import field, frozen

from flowalg.data.errors import FlowalgError
from flowalg.data.time import MAX_TIME, MIN_TIME, EventTime
from flowalg.runs.panes import DropReason
from flowalg.windows.strategy import Accumulation
from flowalg_shard.contents.kinds import Contents, contents_of
from flowalg_shard.contents.stage import Stage
from flowalg_shard.step.groups import errors_in_stage
from flowalg_shard.tables.columns import (
    CHANGED,
    COUNT,
    DROP_COUNT,
    DROP_REASON,
    HAS_CURRENT,
    PANES,
    PENDING,
    PROTO_WINDOWS,
)
from flowalg_shard.tables.packing import stack

RANK: Final = "__rank"
PANE_START: Final = "__pane_start"
PANE_END: Final = "__pane_end"
"""Of a current pane: its rank among those of its window, and the bounds of the window when it was emitted."""


@frozen
class ShardState:
    """The state of a shard: its windows, their current panes, and the watermark of the last instant.

    ``windows`` has a row for each window: key, bounds, contents, whether it has unemitted changes, the number of panes,
    the summary of pending elements if windows merge, the state of the trigger, and the proto-windows if merged windows
    may come apart. ``current_panes`` has a row for
    each pane that was emitted and not retracted, under ``RETRACTING``. Tables without rows may lack their columns.
    """

    windows: pl.DataFrame = field(factory=pl.DataFrame)
    watermark: EventTime = MIN_TIME
    current_panes: pl.DataFrame = field(factory=pl.DataFrame)


@frozen(eq=False)
class Late:
    """The elements that an instant dropped, as rows of its bundle, by reason.

    ``before`` is the watermark before the instant.
    """

    stage: Stage
    rows: tuple[tuple[DropReason, pl.DataFrame], ...]
    before: EventTime

    @property
    def count(self) -> int:
        """The number of elements."""
        return sum(int(rows[COUNT].sum()) for _, rows in self.rows if not rows.is_empty())

    @cached_property
    def table(self) -> pl.DataFrame:
        """A row for all elements of a key and window with one reason: their number and combined value, if it exists."""
        with errors_in_stage(self.stage):
            return stack([self._combined(reason, rows) for reason, rows in self.rows])

    def _combined(self, reason: DropReason, rows: pl.DataFrame) -> pl.DataFrame:
        if rows.is_empty():
            return pl.DataFrame()
        stage = self.stage.of_drops
        contents = contents_of(stage)
        merged = contents.absorb(rows, stage.window_key, [pl.col(COUNT).sum()])
        merged = merged.with_columns(pl.lit(True).alias(CHANGED)).with_columns(
            contents.has_value.alias(CHANGED)
        )
        emitted, failed = _extract(contents, merged.filter(CHANGED))
        without_value = pl.concat([merged.filter(~pl.col(CHANGED)), failed]).select(*stage.window_key, COUNT)
        with_value = emitted.select(*stage.window_key, *stage.results, COUNT)
        return (
            pl.concat([with_value, without_value], how="diagonal")
            .with_columns(pl.lit(reason.value).alias(DROP_REASON))
            .rename({COUNT: DROP_COUNT})
        )


def _extract(contents: Contents, rows: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Returns the rows with the results of their contents, and those whose contents have none: an error of no pane."""
    try:
        return rows.with_columns(contents.results(rows)), rows.clear()
    except FlowalgError:
        if rows.height == 1:
            nothing = rows.clear()
            return nothing.with_columns(contents.results(nothing)), rows
    middle = rows.height // 2
    first, second = _extract(contents, rows.head(middle)), _extract(contents, rows.tail(-middle))
    return pl.concat([first[0], second[0]]), pl.concat([first[1], second[1]])


@frozen
class Emission:
    """The output of an instant: panes (key, window, results and pane columns), and late elements.

    ``hold`` is the earliest event time of the panes of pending changes; the output watermark waits for it
    (``Clocks.with_hold``).
    """

    panes: pl.DataFrame
    late: Late
    hold: EventTime = MAX_TIME

    @property
    def drops(self) -> pl.DataFrame:
        """The late elements: a row for each key, window and reason."""
        return self.late.table


def retracts(stage: Stage) -> bool:
    """Returns whether a pane is retracted when the next one replaces it."""
    return stage.strategy.mode is Accumulation.RETRACTING


def bookkeeping_columns(stage: Stage) -> dict[str, pl.DataType]:
    """Returns the columns of a window besides its key, bounds and contents, with their types."""
    pending = stage.automaton.summary.of_elements.columns(PENDING) if stage.merging is not None else {}
    current: dict[str, pl.DataType] = {HAS_CURRENT: pl.Boolean()} if retracts(stage) else {}
    panes: dict[str, pl.DataType] = {CHANGED: pl.Boolean(), PANES: pl.Int64()}
    return {**panes, **current, **pending, **stage.automaton.columns}


def state_columns(stage: Stage) -> list[str]:
    """Returns all columns of a window, in order."""
    protos = [PROTO_WINDOWS] if stage.unmerges else []
    return [*stage.window_key, *contents_of(stage).columns, *bookkeeping_columns(stage), *protos]
