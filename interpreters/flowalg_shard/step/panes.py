"""Steps 5 and 6 of an instant: which windows say something, what they say, and what is left of them."""

from __future__ import annotations

from typing import Final

import polars as pl

from flowalg.data.time import MAX_TIME, EventTime
from flowalg.runs.panes import Change, Timing
from flowalg.windows.strategy import Accumulation, OnTimeBehavior, TimestampCombiner
from flowalg_shard.clocks.clocks import Clocks
from flowalg_shard.step.automaton import CLOSED, FIRES
from flowalg_shard.step.contents import Contents
from flowalg_shard.step.stage import Stage
from flowalg_shard.step.state import PANE_END, PANE_START, RANK, ShardState, retracts, row_columns
from flowalg_shard.tables.columns import (
    CHANGE,
    CHANGED,
    EARLIEST,
    END,
    EVENT_TIME,
    INDEX,
    IS_FIRST,
    IS_LAST,
    LATEST,
    PANES,
    PENDING,
    POSITION,
    STANDS,
    START,
    TIMING,
)

SHOWS: Final = "__shows"
GIVES: Final = "__gives"
SHOWN: Final = "__shown"
EXPIRES: Final = "__expires"
HOLD: Final = "__hold"

AT_START: Final = "__at_start"
AT_END: Final = "__at_end"
"""The window in whose turn a pane comes: a retraction carries another one where windows have merged."""

_LAST: Final = 2**62


def emit(
    stage: Stage, contents: Contents, state: ShardState, clocks: Clocks
) -> tuple[ShardState, pl.DataFrame, EventTime]:
    """The state, the panes and the hold after an instant, of windows whose triggers have been evaluated.

    ``state.watermark`` is what the watermark was before it.
    """
    table = _decided(stage, contents, state.table, state.watermark, clocks)
    said = contents.extracted(table.filter(SHOWN)).with_columns(
        pane_time(stage).alias(EVENT_TIME), pl.col(PANES).alias(INDEX)
    )
    panes = said.select(*_about(stage, Change.VALUE), pl.col(IS_LAST), *_turn(stage, pl.lit(_LAST)))
    standing = state.standing
    if retracts(stage):
        taken, standing = _taken_back(stage, table, standing)
        panes = pl.concat([*([] if taken is None else [taken]), panes])
        standing = _now_standing(stage, said.filter(~pl.col(EXPIRES)), standing)
    table = _moved_on(stage, contents, table.filter(~pl.col(EXPIRES)))
    hold = _hold(stage, table, standing)
    return ShardState(table, clocks.watermark, standing), panes, hold


def _decided(
    stage: Stage, contents: Contents, table: pl.DataFrame, before: EventTime, clocks: Clocks
) -> pl.DataFrame:
    """Which windows expire, and which of them say something, with a value or without."""
    limit = stage.expiring(clocks.watermark)
    expires = pl.lit(False) if limit is None else pl.col(END) <= limit
    may = pl.lit(True) if clocks.watermark == MAX_TIME else pl.col(FIRES) | expires
    closed = pl.col(CLOSED) if stage.automaton.finishes else pl.lit(False)
    shows, gives = may & pl.col(CHANGED), contents.gives
    if stage.strategy.on_time_behavior is OnTimeBehavior.ALWAYS:
        passed = (pl.col(END) > before) & (pl.col(END) <= clocks.watermark)
        insists = pl.col(FIRES) & passed
        shows = may & (pl.col(CHANGED) | insists)
        if stage.strategy.accumulation is Accumulation.DISCARDING and contents.total:
            gives = gives | (insists & ~pl.col(CHANGED))
    return table.with_columns(
        shows.alias(SHOWS),
        (shows & gives).alias(SHOWN),
        expires.alias(EXPIRES),
        (expires | closed).alias(IS_LAST),
        timing(before, clocks.watermark).alias(TIMING),
    )


def _about(stage: Stage, change: Change) -> list[pl.Expr]:
    """What a pane says, but for whether it is the last."""
    return [
        *map(pl.col, (*stage.place, *stage.results, EVENT_TIME)),
        pl.lit(change.value).alias(CHANGE),
        pl.col(TIMING),
        pl.col(INDEX),
        (pl.col(INDEX) == 0).alias(IS_FIRST),
    ]


def _turn(stage: Stage, position: pl.Expr) -> list[pl.Expr]:
    """When a pane comes within its instant; without retractions its window says that."""
    if not retracts(stage):
        return []
    return [
        pl.col(START).alias(AT_START),
        pl.col(END).alias(AT_END),
        position.cast(pl.Int64()).alias(POSITION),
    ]


def _taken_back(
    stage: Stage, table: pl.DataFrame, standing: pl.DataFrame
) -> tuple[pl.DataFrame | None, pl.DataFrame]:
    """Retractions of what stands for the windows that say something, and what goes on standing."""
    if standing.is_empty():
        return None, standing
    place = list(stage.place)
    speaking = table.filter(SHOWS).select(*place, SHOWN, IS_LAST, TIMING)
    falls = standing.join(speaking, on=place, how="inner", nulls_equal=True)
    final = pl.col(RANK) == pl.col(RANK).max().over(place)
    taken = falls.with_columns((pl.col(IS_LAST) & ~pl.col(SHOWN) & final).alias(IS_LAST)).select(
        *_about(stage, Change.RETRACTION), pl.col(IS_LAST), *_turn(stage, pl.col(RANK))
    )
    bounds = falls.select(PANE_START, PANE_END)
    taken = taken.with_columns(bounds[PANE_START].alias(START), bounds[PANE_END].alias(END))
    silent = table.filter(~pl.col(SHOWS) & ~pl.col(EXPIRES)).select(place)
    return taken, standing.join(silent, on=place, how="semi", nulls_equal=True)


def _now_standing(stage: Stage, said: pl.DataFrame, standing: pl.DataFrame) -> pl.DataFrame:
    """What stands, and the panes that have just been said."""
    new = said.select(
        *stage.place,
        pl.col(START).alias(PANE_START),
        pl.col(END).alias(PANE_END),
        EVENT_TIME,
        INDEX,
        *stage.results,
        pl.lit(0, pl.Int64()).alias(RANK),
    )
    return new if standing.is_empty() else pl.concat([standing, new])


def _moved_on(stage: Stage, contents: Contents, table: pl.DataFrame) -> pl.DataFrame:
    """What is left of the windows that are kept: nothing new in those that have said it."""
    mode = stage.strategy.accumulation
    discards = mode is Accumulation.DISCARDING
    # What was taken back to nothing is said too, except by what shows changes: that waits for something to show.
    done = pl.col(SHOWN if discards else SHOWS)
    fields = stage.automaton.fields.of_elements
    pending = fields.nothing(PENDING) if stage.merging is not None else {}
    if discards and table[SHOWN].any():
        table = contents.discarded(table, SHOWN)
    stands = {STANDS: pl.when(SHOWS).then(pl.col(SHOWN)).otherwise(pl.col(STANDS))} if retracts(stage) else {}
    after = {
        CHANGED: pl.col(CHANGED) & ~done,
        PANES: pl.col(PANES) + pl.col(SHOWN).cast(pl.Int64()),
        **stands,
        **{name: pl.when(done).then(expr).otherwise(pl.col(name)) for name, expr in pending.items()},
    }
    return table.select(**{name: after.get(name, pl.col(name)) for name in row_columns(stage)})


def with_holds(stage: Stage, table: pl.DataFrame, standing: pl.DataFrame) -> pl.DataFrame:
    """The windows with the least event time that panes for what is pending would carry, if anything is (section 9).

    Retractions of what stands are among those panes.
    """
    point = pane_time(stage)
    if not standing.is_empty():
        place = list(stage.place)
        earliest = standing.group_by(place).agg(pl.col(EVENT_TIME).min().alias(HOLD))
        table = table.join(earliest, on=place, how="left", nulls_equal=True, maintain_order="left")
        point = pl.min_horizontal(point, HOLD)
    return table.with_columns(pl.when(CHANGED).then(point).alias(HOLD))


def _hold(stage: Stage, table: pl.DataFrame, standing: pl.DataFrame) -> EventTime:
    """The least event time that any window holds back."""
    least = with_holds(stage, table, standing)[HOLD].min()
    assert least is None or isinstance(least, int)
    return MAX_TIME if least is None else EventTime(least)


def pane_time(stage: Stage) -> pl.Expr:
    """The event time that the next pane of a window carries (section 7)."""
    last_instant = pl.col(END) - 1
    match stage.strategy.timestamp_combiner:
        case TimestampCombiner.END_OF_WINDOW:
            return last_instant
        case TimestampCombiner.EARLIEST:
            return pl.coalesce(EARLIEST, last_instant)
        case TimestampCombiner.LATEST:
            return pl.coalesce(LATEST, last_instant)


def timing(before: EventTime, after: EventTime) -> pl.Expr:
    """Early, on time or late, by the watermark before an instant and after it (section 7)."""
    return (
        pl.when(pl.col(END) > after)
        .then(pl.lit(Timing.EARLY.value))
        .when(pl.col(END) > before)
        .then(pl.lit(Timing.ON_TIME.value))
        .otherwise(pl.lit(Timing.LATE.value))
    )


__all__ = ["AT_END", "AT_START", "HOLD", "emit", "pane_time", "timing", "with_holds"]
