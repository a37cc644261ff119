"""Steps 1 and 2 of an instant: which elements are refused, and which windows the others and the live ones become."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import polars as pl
from attrs import frozen

from flowalg.data.time import EventTime
from flowalg.runs.panes import DropReason
from flowalg.windows.window_functions import MergingWindowFn
from flowalg_shard.step.automaton import CLOSED
from flowalg_shard.step.bundle import points_matter
from flowalg_shard.step.merging import MEMBERS, TO_END, TO_START, merged_windows
from flowalg_shard.step.stage import Stage
from flowalg_shard.step.state import RANK, ShardState, retracts
from flowalg_shard.tables.columns import CHANGED, END, PANES, POINT, STANDS, START

AFRESH: Final = "__afresh"

_FEW: Final = 4
"""Up to so many windows for each row of a bundle, columns are combined faster than those windows are looked up."""

_ROW: Final = "__row"
_CLOSED_START: Final = "__closed_start"
_CLOSED_END: Final = "__closed_end"


@frozen
class Arrived:
    """An instant's elements beside the windows that they meet.

    ``touched`` are the rows of windows that are to be combined, with the bounds that they have now, in the order in
    which their contents follow each other; ``accepted`` are the rows of the bundle, with these bounds too. Where
    windows merge, ``AFRESH`` says of a touched row that its trigger starts again. ``rest`` are the rows of windows to
    which nothing happens.
    """

    rest: pl.DataFrame
    touched: pl.DataFrame
    accepted: pl.DataFrame
    standing: pl.DataFrame
    refused: tuple[tuple[DropReason, pl.DataFrame], ...]


def arrive(stage: Stage, state: ShardState, bundle: pl.DataFrame) -> Arrived:
    """Assign, drop and merge."""
    if bundle.is_empty():
        return Arrived(state.table, state.table.clear(), bundle, state.standing, ())
    strategy = stage.merging
    return _place(stage, state, bundle) if strategy is None else _merge(stage, strategy, state, bundle)


def _place(stage: Stage, state: ShardState, bundle: pl.DataFrame) -> Arrived:
    """Windows that do not merge: an element meets the window that it was assigned."""
    place, cells = list(stage.place), state.table
    expired = _expired(stage, END, state.watermark)
    refused = [(DropReason.EXPIRED, bundle.filter(expired))]
    accepted = bundle.filter(~expired)
    if stage.automaton.finishes and not cells.is_empty():
        closed = cells.filter(pl.col(CLOSED)).select(place)
        refused.append((DropReason.CLOSED, _semi(accepted, closed, place)))
        accepted = _anti(accepted, closed, place)
    if cells.is_empty():
        return Arrived(cells, cells, accepted, state.standing, tuple(refused))
    if stage.combiner is None and cells.height <= _FEW * accepted.height:
        return Arrived(cells.clear(), cells, accepted, state.standing, tuple(refused))
    touched = _semi(cells, accepted, place)
    return Arrived(_anti(cells, accepted, place), touched, accepted, state.standing, tuple(refused))


def _merge(stage: Stage, strategy: MergingWindowFn, state: ShardState, bundle: pl.DataFrame) -> Arrived:
    """Windows that merge: an element inside a closed one is refused, the others join what they overlap."""
    keys, place, cells = list(stage.keys), list(stage.place), state.table
    refused: list[tuple[DropReason, pl.DataFrame]] = []
    shut = cells.clear()
    if stage.automaton.finishes and not cells.is_empty():
        shut, cells = cells.filter(pl.col(CLOSED)), cells.filter(~pl.col(CLOSED))
        inside = _inside(stage, bundle, shut)
        refused.append((DropReason.CLOSED, bundle.filter(inside)))
        bundle = bundle.filter(~inside)
    if bundle.is_empty():
        return Arrived(state.table, state.table.clear(), bundle, state.standing, tuple(refused))
    if cells.is_empty():
        cells = _no_windows(bundle, place)
    near, far = (_semi(cells, bundle, keys), _anti(cells, bundle, keys)) if keys else (cells, cells.clear())
    goes = merged_windows(strategy, keys, near, bundle)
    joining = bundle.join(goes, on=place, how="left", nulls_equal=True)
    expired = (pl.col(MEMBERS) == 0) & _expired(stage, TO_END, state.watermark)
    refused.append((DropReason.EXPIRED, joining.filter(expired).select(bundle.columns)))
    joining = joining.filter(~expired)
    moving = near.join(goes, on=place, how="left", nulls_equal=True)
    target = [*keys, TO_START, TO_END]
    met = joining.select(target).unique()
    several = pl.col(MEMBERS) > 1
    joined = _semi(moving, met, target)
    together = _anti(moving.filter(several), met, target)
    rest = _anti(moving.filter(~several), met, target).select(near.columns)
    touched = _moved(stage, pl.concat([joined, together]).sort(END, START), state.watermark)
    accepted = joining.with_columns(pl.col(TO_START).alias(START), pl.col(TO_END).alias(END))
    accepted = accepted.drop(TO_START, TO_END, MEMBERS)
    standing = state.standing
    if not shut.is_empty():
        # A window that has finished gives way to one that is born with its very bounds.
        gone, shut = _semi(shut, accepted, place), _anti(shut, accepted, place)
        standing = standing if standing.is_empty() else _anti(standing, gone, place)
    standing = _standing_moved(stage, standing, goes)
    untouched = [one for one in (far, rest, shut) if not one.is_empty()]
    left = pl.concat(untouched) if untouched else state.table.clear()
    return Arrived(left, touched, accepted, standing, tuple(refused))


def _moved(stage: Stage, moving: pl.DataFrame, before: EventTime) -> pl.DataFrame:
    """The rows of windows in their new bounds: what starts afresh, and what counts its panes from 0 again."""
    if CHANGED not in moving.columns:
        return moving.drop(TO_START, TO_END, MEMBERS).clear()
    several = pl.col(MEMBERS) > 1
    grown = (pl.col(START) != pl.col(TO_START)) | (pl.col(END) != pl.col(TO_END)) | several
    reopened = grown & (pl.col(END) <= before) & (pl.col(TO_END) > before)
    changed = pl.col(CHANGED) | (several & pl.col(STANDS)) if retracts(stage) else pl.col(CHANGED)
    return moving.with_columns(
        (several | reopened).alias(AFRESH),
        pl.when(grown).then(0).otherwise(pl.col(PANES)).alias(PANES),
        changed.alias(CHANGED),
        pl.col(TO_START).alias(START),
        pl.col(TO_END).alias(END),
    ).drop(TO_START, TO_END, MEMBERS)


def _standing_moved(stage: Stage, standing: pl.DataFrame, goes: pl.DataFrame) -> pl.DataFrame:
    """The panes that stand, with the bounds that their windows have now, in the order of these before."""
    if standing.is_empty():
        return standing
    place = list(stage.place)
    ordered = standing.sort(END, START, RANK).with_columns(pl.int_range(pl.len()).alias(RANK))
    moved = ordered.join(goes, on=place, how="left", nulls_equal=True)
    return moved.with_columns(
        pl.coalesce(TO_START, START).alias(START), pl.coalesce(TO_END, END).alias(END)
    ).select(standing.columns)


def _no_windows(bundle: pl.DataFrame, place: Sequence[str]) -> pl.DataFrame:
    return bundle.select(place).clear()


def _inside(stage: Stage, bundle: pl.DataFrame, closed: pl.DataFrame) -> pl.Series:
    """Of each row of the bundle whether its event time lies in a closed window of its key."""
    point = pl.col(POINT) if points_matter(stage) else pl.col(START)
    keys = list(stage.keys)
    numbered = bundle.select(*keys, point.alias(POINT)).with_row_index(_ROW)
    bounds = closed.select(*keys, pl.col(START).alias(_CLOSED_START), pl.col(END).alias(_CLOSED_END))
    pairs = (
        numbered.join(bounds, on=keys, how="inner", nulls_equal=True)
        if keys
        else numbered.join(bounds, how="cross")
    )
    hit = pairs.filter((pl.col(_CLOSED_START) <= pl.col(POINT)) & (pl.col(POINT) < pl.col(_CLOSED_END)))
    return numbered[_ROW].is_in(hit[_ROW].unique().to_list())


def _expired(stage: Stage, end: str, watermark: EventTime) -> pl.Expr:
    limit = stage.expiring(watermark)
    return pl.lit(False) if limit is None else pl.col(end) <= limit


def _semi(table: pl.DataFrame, other: pl.DataFrame, on: list[str]) -> pl.DataFrame:
    """The rows that have a partner."""
    return table.join(other, on=on, how="semi", nulls_equal=True)


def _anti(table: pl.DataFrame, other: pl.DataFrame, on: list[str]) -> pl.DataFrame:
    """The rows that have none."""
    return table.join(other, on=on, how="anti", nulls_equal=True)


__all__ = ["AFRESH", "Arrived", "arrive"]
