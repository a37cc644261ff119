"""Values that windows keep as lists in columns, each with its event time, and the pairs of a join.

The order of a list is that of SEMANTICS section 8: by event time, then by value. So values are kept in any order, and
are sorted when they are emitted. A value of a join also has the start of the window that has emitted its pairs with all
other values of that window; null if none has. No two windows of a key that merge later have the same start.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import polars as pl

from flowalg.pipeline.co_group import Join
from flowalg.pipeline.joins import JoinKind
from flowalg.windows.strategy import TimestampCombiner
from flowalg_shard.tables.columns import EVENT_TIME, SIDE, START
from flowalg_shard.tables.lists import ROW, implode, items_of

ITEM: Final = "value"
TIME: Final = "time"
EMITTED: Final = "emitted"
"""The fields of an item of a list."""

_RIGHT: Final = "__right_"
_LEFT_POSITION: Final = "__left_position"
_RIGHT_POSITION: Final = "__right_position"
_PAIR: Final = "__pair"


def lift_timed(value: pl.Expr, side: int | None) -> pl.Expr:
    """Returns the list of a single value, with its event time; null on rows of another ``side``."""
    emitted = [] if side is None else [pl.lit(None, pl.Int64()).alias(EMITTED)]
    item = pl.concat_list(pl.struct(value.alias(ITEM), pl.col(EVENT_TIME).alias(TIME), *emitted))
    return item if side is None else pl.when(pl.col(SIDE) == side).then(item)


def lift_distinct(value: pl.Expr) -> pl.Expr:
    """Returns the list of a single value, which may be null."""
    return pl.concat_list(pl.struct(value.alias(ITEM)))


def sorted_values(table: pl.DataFrame, name: str, *, timed: bool) -> pl.Series:
    """Returns the values of each list, by event time and then by value; in pairs with their times if ``timed``."""
    items = items_of(table, name).sort(ROW, TIME, ITEM)
    if timed:
        items = items.select(ROW, pl.struct(pl.col(ITEM).alias("_1"), pl.col(TIME).alias("_2")).alias(ITEM))
    return implode(items, ITEM, table.height).alias(name)


def distinct_values(table: pl.DataFrame, name: str) -> pl.Series:
    """Returns the distinct values of each list, in order."""
    return implode(items_of(table, name).unique([ROW, ITEM]).sort(ROW, ITEM), ITEM, table.height).alias(name)


def as_emitted(table: pl.DataFrame, name: str, emitted: str) -> pl.Series:
    """Returns the lists in a column, where windows in which ``emitted`` is true have emitted all pairs."""
    items = items_of(table, name)
    start, marked = (table[column].gather(items[ROW]) for column in (START, emitted))
    emitted_by = pl.when(marked).then(start).otherwise(EMITTED).alias(EMITTED)
    kept = items.select(ROW, pl.struct(ITEM, TIME, emitted_by).alias(name))
    return implode(kept, name, table.height)


def pairs_of(join: Join, table: pl.DataFrame, names: Sequence[str]) -> pl.Series:
    """Returns the pairs of the values in two columns of lists which no window has emitted, in the order of ``Join``."""
    # Of equal left values the new ones come first.
    left, right = (items_of(table, name).sort(ROW, TIME, ITEM, EMITTED) for name in names)
    left = left.with_row_index(_LEFT_POSITION)
    right = right.with_row_index(_RIGHT_POSITION).rename(lambda name: name if name == ROW else _RIGHT + name)
    is_new = pl.col(EMITTED).is_null()
    new, old = left.filter(is_new), left.filter(~is_new)
    parts = [new.join(right, on=ROW, how="inner", maintain_order="left_right")]
    if not old.is_empty():
        parts += _pairs_of_old(old, right)
    if join.kind.keeps_left:
        parts.append(left.join(pl.concat(parts), on=_LEFT_POSITION, how="anti"))
    if join.kind.keeps_right:
        parts.append(right.join(new, on=ROW, how="anti"))
    pairs = parts[0]
    if len(parts) > 1:
        pairs = pl.concat(parts, how="diagonal").sort(ROW, _LEFT_POSITION, _RIGHT + _RIGHT_POSITION)
    items = [pl.col(ITEM).alias("_1"), pl.col(_RIGHT + ITEM).alias("_2")]
    if join.times is not None:
        chosen = pl.min_horizontal if join.times is TimestampCombiner.EARLIEST else pl.max_horizontal
        items.append(pl.from_epoch(chosen(TIME, _RIGHT + TIME), "us").dt.replace_time_zone("UTC").alias("_3"))
    return implode(pairs.select(ROW, pl.struct(items).alias(_PAIR)), _PAIR, table.height)


def selected_of(join: Join, table: pl.DataFrame, names: Sequence[str]) -> pl.Series:
    """Returns the left values that a join selects, of two columns of lists. A semi join emits each in one pane only."""
    left, right = (items_of(table, name) for name in names)
    if join.kind is JoinKind.SEMI:
        # Those of a window that had a right value have been emitted.
        matched = left.join(right, on=ROW, how="semi")
        chosen = matched.join(right, on=[ROW, EMITTED], how="anti")
    else:
        chosen = left.join(right, on=ROW, how="anti")
    item = pl.col(ITEM)
    if join.times is not None:
        time = pl.from_epoch(TIME, "us").dt.replace_time_zone("UTC")
        item = pl.struct(item.alias("_1"), time.alias("_2"))
    return implode(chosen.sort(ROW, TIME, ITEM).select(ROW, item.alias(_PAIR)), _PAIR, table.height)


def _pairs_of_old(old: pl.DataFrame, right: pl.DataFrame) -> list[pl.DataFrame]:
    """Returns the pairs that left values of earlier panes have with other right values than those of their panes.

    So a pane costs as much as its new pairs, unless windows have merged.
    """
    emitted_right = pl.col(_RIGHT + EMITTED)
    pairs = [old.join(right.filter(emitted_right.is_null()), on=ROW, how="inner")]
    old_right = right.filter(emitted_right.is_not_null())
    emitted_by = pl.concat([old.select(ROW, EMITTED), old_right.select(ROW, emitted_right.alias(EMITTED))])
    several = emitted_by.unique().group_by(ROW).len().filter(pl.col("len") > 1)
    if not several.is_empty():
        merged = old.join(several, on=ROW, how="semi").join(old_right, on=ROW, how="inner")
        pairs.append(merged.filter(pl.col(EMITTED) != emitted_right))
    return pairs
