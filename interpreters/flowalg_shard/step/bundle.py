"""Pre-combining: the bundle that an input partition sends to each shard of a grouping."""

from __future__ import annotations

import polars as pl

from flowalg.data.errors import errors_of
from flowalg.windows.window_functions import Sessions
from flowalg_shard.step.contents import contents_of
from flowalg_shard.step.stage import Stage
from flowalg_shard.step.trigger_summary import COUNT as SUMMARY_COUNT
from flowalg_shard.step.trigger_summary import SINCE
from flowalg_shard.step.window_assignment import assign_windows
from flowalg_shard.tables.columns import (
    COUNT,
    EVENT_TIME,
    KEEP,
    NEW,
    POINT,
    SHARD,
    WEIGHT,
)


def precombine(stage: Stage, rows: pl.DataFrame) -> pl.DataFrame:
    """Returns a row for each shard, key and window: the contents, trigger summary and number of its elements.

    ``rows`` has the key columns of the stage, the shard, the event time and ``KEEP``. It has the argument columns of
    the aggregates; or, for a combiner over objects, ``VALUE`` with pickled values, and ``ARRIVAL`` if rows are not in
    order of arrival. It has ``WEIGHT`` if elements may be retractions, ``START`` and ``END`` if elements bring their
    windows, and for each data-driven trigger ``NEW`` plus its name (``evaluate_leaf``).

    Law: pre-combining per partition and merging later equals combining at once.
    """
    with errors_of(stage.label):
        return _precombine(stage, rows)


def _precombine(stage: Stage, rows: pl.DataFrame) -> pl.DataFrame:
    elements = rows.filter(pl.col(KEEP))
    if elements.is_empty():
        return pl.DataFrame()
    contents, summary = contents_of(stage), stage.automaton.summary.of_elements
    window_key = [SHARD, *stage.window_key]
    if stage.fresh and not stage.preassigned:
        elements = assign_windows(stage.strategy.windows, elements)
    is_value = pl.col(WEIGHT) > 0 if stage.retractions else pl.lit(True)
    observed = [pl.col(NEW + name) for name, _ in summary.data]
    if summary.counts:
        observed.append(is_value.cast(pl.Int64()).alias(NEW + SUMMARY_COUNT))
    if keeps_event_times(stage):
        observed.append(pl.col(EVENT_TIME).alias(POINT))
        window_key.append(POINT)
    assigned = elements.select(
        *(name for name in window_key if name != POINT), *contents.lift(elements), *observed
    )
    if assigned.is_empty():
        return pl.DataFrame()
    counted = [pl.len().cast(pl.Int64()).alias(COUNT), *aggregate_summary(stage)]
    return contents.precombine(assigned, window_key, counted)


def keeps_event_times(stage: Stage) -> bool:
    """Whether a bundle has a row for each event time in a window, since a closed window drops elements by event time.

    False for sessions, since a proto-session starts at its event time.
    """
    return stage.merging is not None and not isinstance(stage.merging, Sessions)


def aggregate_summary(stage: Stage) -> list[pl.Expr]:
    """Returns the trigger summary of a group of rows, without the first arrival, which is equal for a whole instant."""
    summary = stage.automaton.summary.of_elements
    return [expr for expr in summary.aggregate(NEW) if expr.meta.output_name() != NEW + SINCE]


__all__ = ["aggregate_summary", "keeps_event_times", "precombine"]
