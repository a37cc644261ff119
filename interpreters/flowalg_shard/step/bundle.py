"""Pre-combining: the bundle that an input partition sends to each shard of a grouping."""

from __future__ import annotations

import polars as pl

from flowalg.windows.window_functions import Sessions
from flowalg_shard.contents.columns import LARGE, ColumnContents
from flowalg_shard.contents.kinds import contents_of
from flowalg_shard.contents.stage import Stage
from flowalg_shard.step.groups import errors_in_stage, implied_bounds
from flowalg_shard.step.islands import merges_islands
from flowalg_shard.step.window_assignment import assign_windows, has_bounds, window_bounds
from flowalg_shard.tables.columns import (
    COUNT,
    EVENT_TIME,
    KEEP,
    MULTIPLICITY,
    NEW,
    POINT,
    SHARD,
    WEIGHT,
)
from flowalg_shard.triggers.leaves import COUNT as SUMMARY_COUNT


def precombine(stage: Stage, rows: pl.DataFrame, *, alone: bool = False) -> pl.DataFrame:
    """Returns a row for each shard, key and window: the contents, trigger summary and number of its elements.

    ``rows`` has the key columns of the stage, the shard, the event time and ``KEEP``. It has the argument columns of
    the aggregates; or, for a combiner over objects, ``VALUE`` with pickled values. It has ``WEIGHT`` if elements may be
    retractions, ``START`` and ``END`` if elements bring their windows, and for each data-driven trigger ``NEW`` plus
    its name (``evaluate_leaf``).

    A bundle that stays in the process, ``alone``, is smaller only where that saves time.

    Law: pre-combining per partition and merging later equals combining at once.
    """
    with errors_in_stage(stage):
        return _precombine(stage, rows, alone=alone)


def _precombine(stage: Stage, rows: pl.DataFrame, *, alone: bool) -> pl.DataFrame:
    elements = rows if rows[KEEP].all() else rows.filter(pl.col(KEEP))
    if elements.is_empty():
        return pl.DataFrame()
    contents, summary = contents_of(stage), stage.automaton.summary.of_elements
    window_key = [SHARD, *stage.window_key]
    observed = [pl.col(NEW + name) for name, _ in summary.data]
    if summary.counts:
        observed.append(pl.lit(1, pl.Int64()).alias(NEW + SUMMARY_COUNT))
    counted = [pl.len().cast(pl.Int64()).alias(COUNT), *aggregate_summary(stage)]
    if stage.unmerges:
        observed.append(pl.col(WEIGHT).cast(pl.Int64()).alias(MULTIPLICITY))
        counted.append(pl.col(MULTIPLICITY).sum())
    if keeps_event_times(stage):
        observed.append(pl.col(EVENT_TIME).alias(POINT))
        window_key.append(POINT)
    columns = [*(name for name in window_key if name != POINT), *contents.lift(elements), *observed]
    assigned = in_windows(stage, elements.lazy()).select(columns)
    islands, large = merges_islands(stage), elements.height >= LARGE
    if alone and (islands or (isinstance(contents, ColumnContents) and stage.merging is None and not large)):
        # The step combines all elements of a window or session, so combining them here would only cost time.
        return assigned.with_columns(pl.lit(1, pl.Int64()).alias(COUNT)).collect()
    if large and isinstance(contents, ColumnContents):
        # One query of Polars' streaming engine, which assigns windows and groups without tables in between.
        implied = _implied(stage, elements)
        identity = [name for name in window_key if name not in implied]
        combined = summary.merge_groups(
            contents.precombine(assigned.drop(list(implied)), identity, counted), NEW
        )
        return combined.select(
            *(implied.get(name, pl.col(name)).alias(name) for name in window_key), pl.exclude(window_key)
        )
    table = assigned.collect()
    if table.is_empty():
        return pl.DataFrame()
    return summary.merge_groups(contents.precombine(table, window_key, counted), NEW)


def _implied(stage: Stage, elements: pl.DataFrame) -> dict[str, pl.Expr]:
    """Returns the columns of shard and window that the others imply, as expressions of these."""
    implied = implied_bounds(stage)
    shards = elements[SHARD]
    if shards.min() == shards.max():
        implied[SHARD] = pl.lit(shards[0], pl.Int32())
    return implied


def in_windows(stage: Stage, elements: pl.LazyFrame) -> pl.LazyFrame:
    """Returns the elements in their windows."""
    if not stage.fresh or stage.preassigned:
        return elements
    windows = stage.strategy.windows
    if has_bounds(windows):
        return elements.with_columns(window_bounds(windows))
    return assign_windows(windows, elements.collect()).lazy()


def keeps_event_times(stage: Stage) -> bool:
    """Returns whether a bundle has a row for each event time in a window, since a closed window drops elements by event
    time.

    False for sessions, since a proto-session starts at its event time.
    """
    return stage.merging is not None and not isinstance(stage.merging, Sessions)


def aggregate_summary(stage: Stage) -> list[pl.Expr]:
    """Returns the trigger summary of a group of rows, without the arrivals, which are equal for a whole instant."""
    summary = stage.automaton.summary.of_elements
    arrivals = {NEW + name for name in summary.arrivals}
    return [expr for expr in summary.aggregate(NEW) if expr.meta.output_name() not in arrivals]
