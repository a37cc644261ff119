"""Merged windows that come apart when the elements that joined them are retracted (SEMANTICS section 5, step 2).

Where elements may be retractions, the row of a merged window has, besides its contents, a list of its proto-windows:
the windows that were assigned to its elements. Each has its contents, the number of its elements less the retracted
ones, whether it has changed, and the summary of the elements that it has observed; without what has been discarded. A
window without proto-windows is *vacant*: only the number of its panes is remembered, since its bounds may come again.
"""

from __future__ import annotations

from typing import Final

import polars as pl
from attrs import frozen

from flowalg.data.time import EventTime, ProcessingTime
from flowalg.windows.window_functions import MergingWindowFn
from flowalg_shard.contents.kinds import Contents, contents_of
from flowalg_shard.contents.stage import Stage
from flowalg_shard.step.merging import TO_END, TO_START, group_windows
from flowalg_shard.step.shard_state import retracts
from flowalg_shard.tables.columns import (
    CHANGED,
    END,
    HAS_CURRENT,
    MULTIPLICITY,
    NEW,
    OBSERVED,
    PANES,
    PENDING,
    PROTO_END,
    PROTO_START,
    PROTO_WINDOWS,
    RESTARTS,
    START,
)
from flowalg_shard.tables.joins import anti_join, semi_join

OWNER_START: Final = "__owner_start"
OWNER_END: Final = "__owner_end"
"""The bounds of the live window that had a proto-window before the instant."""

_ARRIVED: Final = "__arrived"
_OLD: Final = "__old"
_PARTS: Final = "__parts"
_MEMBERS: Final = "__members"
"""Of a window after the instant: whether elements arrive for it, whether it has proto-windows from before the instant,
whether some of them are parts of a window that has come apart, and the number of live windows that become it."""

_STAYS: Final = "__stays"
_ROW: Final = "__row"


@frozen
class Regrouped:
    """The windows of some keys, after their proto-windows have been partitioned again.

    ``rows`` are to be combined by the bounds of windows: what remains of former windows, and proto-windows.
    ``untouched`` are the rows of windows that stay as they are. ``staying`` has the bounds of the windows that stay,
    and those that they have now, ``ended`` the windows that have come apart, and ``expired`` the proto-windows whose
    elements are dropped.
    """

    rows: pl.DataFrame
    untouched: list[pl.DataFrame]
    staying: pl.DataFrame
    ended: pl.DataFrame
    expired: pl.DataFrame


def is_vacant() -> pl.Expr:
    """Returns whether a window holds nothing any more, so that its trigger has no meaning."""
    return pl.col(PROTO_WINDOWS).list.len() == 0


def regroup(
    stage: Stage,
    strategy: MergingWindowFn,
    windows: pl.DataFrame,
    bundle: pl.DataFrame,
    before: EventTime,
    now: ProcessingTime,
) -> Regrouped:
    """Partitions the proto-windows of the keys of a bundle again, after they have absorbed its elements.

    ``windows`` are those of these keys, without the closed ones. A live window *stays* if its proto-windows are still
    in one group that covers it; any other has come apart. ``before`` is the watermark before the instant.
    """
    keys, window_key, contents = list(stage.keys), list(stage.window_key), contents_of(stage)
    owner, target = [*keys, OWNER_START, OWNER_END], [*keys, TO_START, TO_END]
    has_windows = not windows.is_empty()
    live = windows.filter(~is_vacant()) if has_windows else windows
    protos = _absorb(stage, contents, _explode(stage, live), bundle, now)
    is_gone = (pl.col(MULTIPLICITY) == 0) & contents.is_empty
    gone, held = protos.filter(is_gone), group_windows(strategy, keys, protos.filter(~is_gone))

    homes = held.filter(pl.col(OWNER_START).is_not_null()).select(*owner, TO_START, TO_END).unique()
    covered = (pl.col(TO_START) <= pl.col(OWNER_START)) & (pl.col(TO_END) >= pl.col(OWNER_END))
    staying = homes.filter(pl.len().over(owner) == 1, covered)
    leaving = gone.join(staying, on=owner, how="inner", nulls_equal=True)
    held = held.join(
        staying.with_columns(pl.lit(True).alias(_STAYS)).drop(TO_START, TO_END),
        on=owner,
        how="left",
        nulls_equal=True,
    )
    is_old = pl.col(OWNER_START).is_not_null()
    is_part = is_old & pl.col(_STAYS).is_null()
    held = held.with_columns(is_part.alias(_PARTS), is_old.alias(_OLD))
    staying = staying.rename({OWNER_START: START, OWNER_END: END})

    targets = held.group_by(target).agg(pl.col(_ARRIVED, _PARTS, _OLD).any())
    targets = _flag(targets, target, _ARRIVED, leaving)
    targets = targets.join(
        staying.group_by(target).agg(pl.len().alias(_MEMBERS)), on=target, how="left", nulls_equal=True
    )
    targets = targets.with_columns(pl.col(_MEMBERS).fill_null(0))
    ended = anti_join(live, staying, window_key) if has_windows else live
    limit = stage.expired_up_to(before)
    is_expired = pl.lit(False) if limit is None else ~pl.col(_OLD) & (pl.col(TO_END) <= limit)
    expired = semi_join(held, targets.filter(is_expired), target).select(window_key)
    is_touched = pl.col(_ARRIVED) | pl.col(_PARTS) | (pl.col(_MEMBERS) > 1)
    touched = targets.filter(~is_expired, is_touched)

    rows = [_arriving(stage, contents, held, touched), _leaving(stage, leaving, touched)]
    untouched: list[pl.DataFrame] = []
    if has_windows:
        moved = live.join(staying, on=window_key, how="inner", nulls_equal=True)
        remaining = semi_join(moved, touched, target)
        bounds = touched.select(*keys, pl.col(TO_START).alias(START), pl.col(TO_END).alias(END))
        vacant = windows.filter(is_vacant())
        untouched = [
            anti_join(moved, touched, target).select(windows.columns),
            anti_join(vacant, bounds, window_key),
        ]
        rows += [
            _remaining(stage, remaining, touched, before),
            _places(stage, remaining),
            _places(stage, semi_join(vacant, bounds, window_key)),
            _places(stage, ended),
        ]
    return Regrouped(pl.concat(rows, how="diagonal_relaxed"), untouched, staying, ended, expired)


def _flag(targets: pl.DataFrame, target: list[str], name: str, rows: pl.DataFrame) -> pl.DataFrame:
    """Returns the windows, with a column set to true for those of some rows."""
    flagged = rows.select(target).unique().with_columns(pl.lit(True).alias(_STAYS))
    joined = targets.join(flagged, on=target, how="left", nulls_equal=True)
    return joined.with_columns(pl.col(name) | pl.col(_STAYS).fill_null(False)).drop(_STAYS)


def _explode(stage: Stage, live: pl.DataFrame) -> pl.DataFrame:
    """Returns the proto-windows of live windows, with the bounds of these."""
    if live.is_empty():
        return pl.DataFrame()
    owners = live.select(
        *stage.keys, pl.col(START).alias(OWNER_START), pl.col(END).alias(OWNER_END), PROTO_WINDOWS
    )
    return owners.explode(PROTO_WINDOWS).unnest(PROTO_WINDOWS).rename({PROTO_START: START, PROTO_END: END})


def _absorb(
    stage: Stage, contents: Contents, held: pl.DataFrame, bundle: pl.DataFrame, now: ProcessingTime
) -> pl.DataFrame:
    """Returns the proto-windows after they have absorbed a bundle."""
    window_key, summary = list(stage.window_key), stage.automaton.summary.of_elements
    before: dict[str, pl.DataType] = {OWNER_START: pl.Int64(), OWNER_END: pl.Int64(), CHANGED: pl.Boolean()}
    before |= summary.columns(OBSERVED)
    arrivals = {NEW + name: pl.lit(now, pl.Int64()) for name in summary.arrivals}
    nothing = {name: pl.lit(None, type_) for name, type_ in before.items()}
    arriving = bundle.with_columns(**nothing, **arrivals, **{_ARRIVED: pl.lit(True)}).select(
        *window_key, *contents.columns, MULTIPLICITY, _ARRIVED, *before, *summary.columns(NEW)
    )
    joined = (
        arriving
        if held.is_empty()
        else pl.concat([semi_join(held, arriving, window_key), arriving], how="diagonal_relaxed")
    )
    absorbed = contents.absorb(
        joined,
        window_key,
        [
            pl.col(MULTIPLICITY).sum(),
            pl.col(OWNER_START, OWNER_END).max(),
            pl.col(_ARRIVED, CHANGED).fill_null(False).any(),
            *summary.aggregate(OBSERVED),
            *summary.aggregate(NEW),
        ],
    )
    absorbed = summary.merge_groups(summary.merge_groups(absorbed, OBSERVED), NEW)
    if held.is_empty():
        return absorbed
    others = anti_join(held, arriving, window_key).with_columns(pl.lit(False).alias(_ARRIVED))
    return pl.concat([absorbed, others], how="diagonal_relaxed")


def _arriving(stage: Stage, contents: Contents, held: pl.DataFrame, touched: pl.DataFrame) -> pl.DataFrame:
    """Returns the proto-windows of windows that are touched, in order. What parts hold is pending."""
    target = [*stage.keys, TO_START, TO_END]
    summary = stage.automaton.summary.of_elements
    begins = (pl.col(_MEMBERS) != 1) | pl.col(_PARTS)
    restarts = touched.select(*target, begins.alias(RESTARTS))
    protos = held.join(restarts, on=target, how="inner", nulls_equal=True).sort(END, START)
    pending = {
        PENDING + name.removeprefix(OBSERVED): pl.when(_PARTS).then(pl.col(name))
        for name in summary.columns(OBSERVED)
    }
    after = summary.merge_accumulators(protos, OBSERVED, NEW)
    accumulated = [pl.lit(after[OBSERVED + name]) for name, _ in summary.accumulating]
    proto = [
        pl.col(START).alias(PROTO_START),
        pl.col(END).alias(PROTO_END),
        *contents.nested,
        MULTIPLICITY,
        (pl.col(_ARRIVED) | pl.col(CHANGED)).alias(CHANGED),
        *(expr.alias(name) for name, expr in summary.merge(OBSERVED, NEW).items()),
        *accumulated,
    ]
    return protos.select(
        *stage.keys,
        pl.col(TO_START).alias(START),
        pl.col(TO_END).alias(END),
        *contents.columns,
        (pl.col(_ARRIVED) | (pl.col(_PARTS) & pl.col(CHANGED))).alias(CHANGED),
        RESTARTS,
        *summary.columns(NEW),
        pl.struct(proto).alias(PROTO_WINDOWS),
        **pending,
    )


def _leaving(stage: Stage, leaving: pl.DataFrame, touched: pl.DataFrame) -> pl.DataFrame:
    """Returns what the windows that stay observe of proto-windows that have become empty."""
    target = [*stage.keys, TO_START, TO_END]
    observed = stage.automaton.summary.of_elements.columns(NEW)
    return semi_join(leaving, touched, target).select(
        *stage.keys,
        pl.col(TO_START).alias(START),
        pl.col(TO_END).alias(END),
        pl.lit(True).alias(CHANGED),
        *observed,
    )


def _remaining(stage: Stage, moved: pl.DataFrame, touched: pl.DataFrame, before: EventTime) -> pl.DataFrame:
    """Returns what windows that stay bring with them to their new bounds: the trigger, current panes, and changes."""
    target = [*stage.keys, TO_START, TO_END]
    merged = moved.join(touched.select(*target, _MEMBERS), on=target, how="inner", nulls_equal=True)
    grown = (pl.col(START) != pl.col(TO_START)) | (pl.col(END) != pl.col(TO_END))
    reopened = grown & (pl.col(END) <= before) & (pl.col(TO_END) > before)
    several = pl.col(_MEMBERS) > 1
    changed = pl.col(CHANGED) | (several & pl.col(HAS_CURRENT)) if retracts(stage) else pl.col(CHANGED)
    pending = stage.automaton.summary.of_elements.columns(PENDING)
    return merged.select(
        *stage.keys,
        pl.col(TO_START).alias(START),
        pl.col(TO_END).alias(END),
        changed,
        reopened.alias(RESTARTS),
        *([HAS_CURRENT] if retracts(stage) else []),
        *pending,
        *stage.automaton.columns,
    )


def _places(stage: Stage, windows: pl.DataFrame) -> pl.DataFrame:
    """Returns what stays at the bounds of windows: the number of panes."""
    return windows.select(*stage.window_key, PANES)


def combine_rows(stage: Stage, rows: pl.DataFrame, extra: list[pl.Expr]) -> pl.DataFrame:
    """Returns a row for each window of a regrouping, with ``extra`` aggregates; not for vacant ones without panes."""
    held = pl.col(PROTO_WINDOWS).drop_nulls()
    table = contents_of(stage).absorb(rows, stage.window_key, [*extra, held])
    table = table.with_columns(pl.col(RESTARTS) | is_vacant())
    return table.filter(~is_vacant() | (pl.col(PANES) > 0))


def overlapped(stage: Stage, windows: pl.DataFrame, others: pl.DataFrame) -> pl.Series:
    """Returns for each window whether one of ``others`` with its key overlaps it."""
    numbered = windows.select(*stage.window_key).with_row_index(_ROW)
    bounds = others.select(*stage.keys, pl.col(START).alias(OWNER_START), pl.col(END).alias(OWNER_END))
    pairs = (
        numbered.join(bounds, on=stage.keys, how="inner", nulls_equal=True)
        if stage.keys
        else numbered.join(bounds, how="cross")
    )
    hits = pairs.filter((pl.col(OWNER_START) < pl.col(END)) & (pl.col(START) < pl.col(OWNER_END)))
    return numbered.select(pl.col(_ROW).is_in(hits[_ROW].unique().implode()))[_ROW]


def vacate(stage: Stage) -> dict[str, pl.Expr]:
    """Returns the columns that make windows vacant: they hold nothing, and their trigger has not begun."""
    nothing = {CHANGED: pl.lit(False), PROTO_WINDOWS: pl.col(PROTO_WINDOWS).list.head(0)}
    return nothing | stage.automaton.initial_state()


def discard(stage: Stage, table: pl.DataFrame, emitted: str) -> pl.DataFrame:
    """Returns the windows with discarded proto-windows where the column ``emitted`` is true, without empty ones."""
    contents, summary = contents_of(stage), stage.automaton.summary.of_elements
    chosen = table.filter(pl.col(emitted))
    if chosen.is_empty():
        return table
    window_key = list(stage.window_key)
    rows = chosen.select(*window_key, emitted, PROTO_WINDOWS).explode(PROTO_WINDOWS).unnest(PROTO_WINDOWS)
    fields = [name for name in rows.columns if name not in (*window_key, emitted)]
    kept = (
        contents.discard(rows, emitted)
        .with_columns(pl.lit(False).alias(CHANGED), **summary.empty(OBSERVED))
        .filter((pl.col(MULTIPLICITY) != 0) | ~contents.is_empty)
        .group_by(window_key)
        .agg(pl.struct(fields).alias(PROTO_WINDOWS))
    )
    joined = chosen.drop(PROTO_WINDOWS).join(kept, on=window_key, how="left", nulls_equal=True)
    discarded = joined.with_columns(pl.col(PROTO_WINDOWS).fill_null([])).select(table.columns)
    return pl.concat([table.filter(~pl.col(emitted)), discarded])
