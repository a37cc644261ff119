"""Steps 5 and 6 of an instant: the windows that emit, their panes and retractions, and the windows that remain."""

from __future__ import annotations

from typing import Final

import polars as pl

from flowalg.data.metadata import Timing
from flowalg.data.time import MAX_TIME, EventTime
from flowalg.runs.clocks import Clocks
from flowalg.runs.panes import Change
from flowalg.windows.strategy import Accumulation, OnTimeBehavior, TimestampCombiner
from flowalg_shard.contents.kinds import Contents
from flowalg_shard.contents.stage import Stage
from flowalg_shard.step.proto_windows import discard, is_vacant, overlapped, vacate
from flowalg_shard.step.shard_state import PANE_END, PANE_START, RANK, ShardState, retracts, state_columns
from flowalg_shard.tables import columns
from flowalg_shard.tables.queries import compute
from flowalg_shard.triggers.automaton import CLOSED, FIRES

EMITS: Final = "__emits"
EMITS_VALUE: Final = "__emits_value"
EXPIRES: Final = "__expires"
RETURNS: Final = "__returns"
HOLD: Final = "__hold"

ORDER_START: Final = "__order_start"
ORDER_END: Final = "__order_end"
"""The window by which panes are ordered. After a merge, a retraction carries another window."""

_LAST: Final = 2**62
_NUMBER: Final = "__number"


def emit(
    stage: Stage,
    contents: Contents,
    windows: pl.LazyFrame,
    before: ShardState,
    clocks: Clocks,
    ended_panes: pl.DataFrame,
) -> tuple[ShardState, pl.DataFrame, EventTime]:
    """Returns the state, the panes and the hold after an instant, for windows whose triggers have been evaluated.

    ``before`` has the watermark before the instant, and the current panes. ``ended_panes`` are those of windows that
    have come apart.
    """
    table = _decide(stage, contents, windows, before.watermark, clocks)
    values = table.filter(EMITS_VALUE)
    emitted = values.lazy().with_columns(contents.results(values))
    current_panes = before.current_panes
    if retracts(stage):
        emitted = compute(emitted).lazy()
        ended = _retract_ended(stage, table, ended_panes, before.watermark, clocks)
        retracted, current_panes = _retract(stage, table, current_panes)
        panes = pl.concat([*retracted, *ended, compute(_value_panes(stage, emitted))])
        current_panes = _with_emitted(stage, emitted.filter(~pl.col(EXPIRES)), current_panes)
    else:
        panes = compute(_value_panes(stage, emitted))
    if stage.unmerges:
        remaining = _reset_emitted(stage, contents, table.filter(~pl.col(EXPIRES) | pl.col(RETURNS)).lazy())
        table = _without_expired(stage, remaining, clocks)
    else:
        table = _reset_emitted(stage, contents, table.lazy().filter(~pl.col(EXPIRES)))
    hold = _hold(stage, table, current_panes)
    return ShardState(table, clocks.watermark, current_panes), panes, hold


def _value_panes(stage: Stage, emitted: pl.LazyFrame) -> pl.LazyFrame:
    return emitted.select(
        *_pane_columns(stage, Change.VALUE), pl.col(columns.IS_LAST), *_order_columns(stage, pl.lit(_LAST))
    )


def _decide(
    stage: Stage, contents: Contents, windows: pl.LazyFrame, before: EventTime, clocks: Clocks
) -> pl.DataFrame:
    """Returns the windows with columns for whether they expire, emit anything and emit a value, and those of a pane.

    Where merged windows come apart, ``RETURNS`` says that the bounds of an expired window may come again.
    """
    expires, final = _expires(stage, clocks.watermark), _expires(stage, clocks.watermark)
    if stage.unmerges:
        table = compute(windows)
        windows = table.lazy().with_columns(_returns(stage, table, table, expires).alias(RETURNS))
        final &= ~pl.col(RETURNS)
    may_emit = pl.lit(True) if clocks.watermark == MAX_TIME else pl.col(FIRES) | expires
    closed = pl.col(CLOSED) if stage.automaton.finishes else pl.lit(False)
    emits, has_value = may_emit & pl.col(columns.CHANGED), contents.has_value
    if stage.strategy.on_time_behavior is OnTimeBehavior.ALWAYS:
        passed = (pl.col(columns.END) > before) & (pl.col(columns.END) <= clocks.watermark)
        forced = pl.col(FIRES) & passed
        emits = may_emit & (pl.col(columns.CHANGED) | forced)
        if stage.strategy.mode is Accumulation.DISCARDING and contents.total:
            has_value = has_value | (forced & ~pl.col(columns.CHANGED))
    decided = windows.with_columns(
        emits.alias(EMITS),
        (emits & has_value).alias(EMITS_VALUE),
        expires.alias(EXPIRES),
        (final | closed).alias(columns.IS_LAST),
        timing(before, clocks.watermark).alias(columns.TIMING),
        pane_event_time(stage).alias(columns.EVENT_TIME),
        pl.col(columns.PANES).alias(columns.INDEX),
    )
    return compute(decided)


def _expires(stage: Stage, watermark: EventTime) -> pl.Expr:
    limit = stage.expired_up_to(watermark)
    return pl.lit(False) if limit is None else pl.col(columns.END) <= limit


def _returns(stage: Stage, rows: pl.DataFrame, table: pl.DataFrame, expires: pl.Expr) -> pl.Series:
    """Returns whether a window expires while an open one of its key overlaps it, so that its bounds may come again."""
    number, expiring = pl.int_range(pl.len()).alias(_NUMBER), rows.filter(expires)
    mask = pl.repeat(False, rows.height, dtype=pl.Boolean(), eager=True)
    if expiring.is_empty():
        return mask
    hits = overlapped(stage, expiring, table.filter(~expires, ~is_vacant()))
    return mask.scatter(rows.select(number.filter(expires))[_NUMBER].filter(hits), True)


def _without_expired(stage: Stage, table: pl.DataFrame, clocks: Clocks) -> pl.DataFrame:
    """Returns the windows without expired ones, of which the number of panes stays while their bounds may return."""
    expires = _expires(stage, clocks.watermark)
    if not table.select(expires.any()).item():
        return table
    vacant = table.filter(expires, pl.col(columns.PANES) > 0).with_columns(**vacate(stage))
    table = table.filter(~expires)
    returning = vacant.filter(overlapped(stage, vacant, table.filter(~is_vacant())))
    return pl.concat([table, returning.select(table.columns)])


def _pane_columns(stage: Stage, change: Change) -> list[pl.Expr]:
    """Returns the columns of a pane, except ``IS_LAST``."""
    return [
        *map(pl.col, (*stage.window_key, *stage.results, columns.EVENT_TIME)),
        pl.lit(change.value).alias(columns.CHANGE),
        pl.col(columns.TIMING),
        pl.col(columns.INDEX),
        (pl.col(columns.INDEX) == 0).alias(columns.IS_FIRST),
    ]


def _order_columns(stage: Stage, position: pl.Expr) -> list[pl.Expr]:
    """Returns the columns that order panes within an instant. Without retractions only the window orders them."""
    if not retracts(stage):
        return []
    return [
        pl.col(columns.START).alias(ORDER_START),
        pl.col(columns.END).alias(ORDER_END),
        position.cast(pl.Int64()).alias(columns.POSITION),
    ]


def _retract(
    stage: Stage, table: pl.DataFrame, current_panes: pl.DataFrame
) -> tuple[list[pl.DataFrame], pl.DataFrame]:
    """Returns the retractions of the current panes of windows that emit, and the panes that stay current."""
    if current_panes.is_empty():
        return [], current_panes
    window_key = list(stage.window_key)
    decisions = table.lazy().select(*window_key, EMITS, EMITS_VALUE, EXPIRES, columns.IS_LAST, columns.TIMING)
    decided = compute(current_panes.lazy().join(decisions, on=window_key, how="inner", nulls_equal=True))
    # Only a merged window has several current panes.
    one_each = stage.merging is None
    final = pl.lit(True) if one_each else pl.col(RANK) == pl.col(RANK).max().over(window_key)
    is_last = (pl.col(columns.IS_LAST) & ~pl.col(EMITS_VALUE) & final).alias(columns.IS_LAST)
    of_window = pl.col(PANE_START).alias(columns.START), pl.col(PANE_END).alias(columns.END)
    retracted = (
        decided.lazy()
        .filter(EMITS)
        .with_columns(is_last)
        .select(
            *_pane_columns(stage, Change.RETRACTION),
            pl.col(columns.IS_LAST),
            *_order_columns(stage, pl.col(RANK)),
            PANE_START,
            PANE_END,
        )
        .with_columns(of_window)
        .drop(PANE_START, PANE_END)
    )
    stays = decided.lazy().filter(~pl.col(EMITS) & ~pl.col(EXPIRES)).select(current_panes.columns)
    return [compute(retracted)], compute(stays)


def _retract_ended(
    stage: Stage, table: pl.DataFrame, ended_panes: pl.DataFrame, before: EventTime, clocks: Clocks
) -> list[pl.DataFrame]:
    """Returns the retractions of windows that have come apart, in the order of their own windows, before any value."""
    if ended_panes.is_empty():
        return []
    window_key, expires = list(stage.window_key), _expires(stage, clocks.watermark)
    emits = (pl.col(EMITS_VALUE) | (pl.col(EMITS) & pl.col(columns.HAS_CURRENT))).alias(EMITS)
    ended = ended_panes.join(table.select(*window_key, emits), on=window_key, how="left", nulls_equal=True)
    ended = ended.with_columns(_returns(stage, ended, table, expires).alias(RETURNS))
    final = pl.col(RANK) == pl.col(RANK).max().over(window_key)
    more = pl.col(EMITS).fill_null(False) | pl.col(RETURNS)
    return [
        ended.with_columns(timing(before, clocks.watermark).alias(columns.TIMING))
        .with_columns((expires & final & ~more).alias(columns.IS_LAST))
        .with_columns(pl.col(PANE_START).alias(columns.START), pl.col(PANE_END).alias(columns.END))
        .select(
            *_pane_columns(stage, Change.RETRACTION),
            pl.col(columns.IS_LAST),
            *_order_columns(stage, pl.col(RANK) - _LAST),
        )
    ]


def _with_emitted(stage: Stage, emitted: pl.LazyFrame, current_panes: pl.DataFrame) -> pl.DataFrame:
    """Returns the current panes with those that have just been emitted."""
    new = emitted.select(
        *stage.window_key,
        pl.col(columns.START).alias(PANE_START),
        pl.col(columns.END).alias(PANE_END),
        columns.EVENT_TIME,
        columns.INDEX,
        *stage.results,
        pl.lit(0, pl.Int64()).alias(RANK),
    )
    return compute(new if current_panes.is_empty() else pl.concat([current_panes.lazy(), new]))


def _reset_emitted(stage: Stage, contents: Contents, windows: pl.LazyFrame) -> pl.DataFrame:
    """Returns the windows that remain. Windows that have emitted have no changes left."""
    mode = stage.strategy.mode
    discards = mode is Accumulation.DISCARDING
    # A window whose values are all retracted is done too, except under DISCARDING, where its changes stay pending.
    done = pl.col(EMITS_VALUE if discards else EMITS)
    summary = stage.automaton.summary.of_elements
    pending = summary.empty(columns.PENDING) if stage.merging is not None else {}
    if discards:
        table = compute(windows)
        if table[EMITS_VALUE].any():
            table = contents.discard(table, EMITS_VALUE)
            table = discard(stage, table, EMITS_VALUE) if stage.unmerges else table
        windows = table.lazy()
    current = pl.when(EMITS).then(pl.col(EMITS_VALUE)).otherwise(pl.col(columns.HAS_CURRENT))
    after = {
        columns.CHANGED: pl.col(columns.CHANGED) & ~done,
        columns.PANES: pl.col(columns.PANES) + pl.col(EMITS_VALUE).cast(pl.Int64()),
        **({columns.HAS_CURRENT: current} if retracts(stage) else {}),
        **{name: pl.when(done).then(expr).otherwise(pl.col(name)) for name, expr in pending.items()},
    }
    return compute(windows.select(**{name: after.get(name, pl.col(name)) for name in state_columns(stage)}))


def with_holds(stage: Stage, table: pl.DataFrame, current_panes: pl.DataFrame) -> pl.DataFrame:
    """Returns the windows with ``HOLD``: the earliest event time of the panes of pending changes (section 9).

    These include retractions of current panes. Null means that the window has no pending changes.
    """
    event_time = pane_event_time(stage)
    if not current_panes.is_empty():
        window_key = list(stage.window_key)
        earliest = current_panes.group_by(window_key).agg(pl.col(columns.EVENT_TIME).min().alias(HOLD))
        table = table.join(earliest, on=window_key, how="left", nulls_equal=True, maintain_order="left")
        event_time = pl.min_horizontal(event_time, HOLD)
    return table.with_columns(pl.when(columns.CHANGED).then(event_time).alias(HOLD))


def _hold(stage: Stage, table: pl.DataFrame, current_panes: pl.DataFrame) -> EventTime:
    """Returns the least hold of all windows, which is that of windows with pending changes."""
    if table.is_empty() or not table[columns.CHANGED].any():
        return MAX_TIME
    if current_panes.is_empty():
        held = table.select(pl.when(columns.CHANGED).then(pane_event_time(stage)).alias(HOLD))
    else:
        held = with_holds(stage, table.filter(columns.CHANGED), current_panes)
    least = held[HOLD].min()
    assert isinstance(least, int), "a window has pending changes"
    return EventTime(least)


def pane_event_time(stage: Stage) -> pl.Expr:
    """Returns the event time of the next pane of a window (section 7)."""
    last_instant = pl.col(columns.END) - 1
    match stage.strategy.timestamp_combiner:
        case TimestampCombiner.END_OF_WINDOW:
            return last_instant
        case TimestampCombiner.EARLIEST:
            return pl.coalesce(columns.EARLIEST, last_instant)
        case TimestampCombiner.LATEST:
            return pl.coalesce(columns.LATEST, last_instant)


def timing(before: EventTime, after: EventTime) -> pl.Expr:
    """Returns the timing of a pane, from the watermark before an instant and after it (section 7)."""
    return (
        pl.when(pl.col(columns.END) > after)
        .then(pl.lit(Timing.EARLY.value))
        .when(pl.col(columns.END) > before)
        .then(pl.lit(Timing.ON_TIME.value))
        .otherwise(pl.lit(Timing.LATE.value))
    )
