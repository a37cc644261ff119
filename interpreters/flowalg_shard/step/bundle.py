"""What one input partition of a batch sends to the shards of a grouping: its elements, pre-combined."""

from __future__ import annotations

import polars as pl

from flowalg.windows.window_functions import Sessions
from flowalg_shard.step.contents import contents_of
from flowalg_shard.step.stage import Stage
from flowalg_shard.step.trigger_summary import COUNT as SEEN_COUNT
from flowalg_shard.step.trigger_summary import SINCE
from flowalg_shard.step.windows import placed
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
    """One row per shard, key and window: the contents of the rows' elements, what triggers see, and how many they are.

    ``rows`` has the stage's key columns, the shard, the event time and ``KEEP``; the argument columns of its
    aggregates, or ``VALUE`` with pickled values for a combiner of objects, and then ``ARRIVAL`` where the order of the
    rows is not that of arrival. Where retractions come it has ``WEIGHT``, for each leaf of the trigger that looks at
    values ``NEW`` and its name (``seen_in``), and ``START`` and ``END`` where elements bring their windows. Law:
    what is pre-combined per partition and merged later equals what is combined at once.
    """
    elements = rows.filter(pl.col(KEEP))
    if elements.is_empty():
        return pl.DataFrame()
    contents, fields = contents_of(stage), stage.automaton.fields.of_elements
    place = [SHARD, *stage.place]
    if stage.fresh and not stage.by_row:
        elements = placed(stage.strategy.windows, elements)
    given = pl.col(WEIGHT) > 0 if stage.retractions else pl.lit(True)
    seen = [pl.col(NEW + name) for name, _ in fields.data]
    if fields.counts:
        seen.append(given.cast(pl.Int64()).alias(NEW + SEEN_COUNT))
    if points_matter(stage):
        seen.append(pl.col(EVENT_TIME).alias(POINT))
        place.append(POINT)
    assigned = elements.select(*(name for name in place if name != POINT), *contents.lifted(elements), *seen)
    if assigned.is_empty():
        return pl.DataFrame()
    counted = [pl.len().cast(pl.Int64()).alias(COUNT), *summary_of_group(stage)]
    return contents.precombined(assigned, place, counted)


def points_matter(stage: Stage) -> bool:
    """Whether a bundle must tell apart the event times of one window: where what is closed is told by them.

    A session starts with its element.
    """
    return stage.merging is not None and not isinstance(stage.merging, Sessions)


def summary_of_group(stage: Stage) -> list[pl.Expr]:
    """What triggers see of all rows of a group; since when is the same for all that comes in an instant."""
    fields = stage.automaton.fields.of_elements
    return [expr for expr in fields.summed(NEW) if expr.meta.output_name() != NEW + SINCE]


__all__ = ["points_matter", "precombine", "summary_of_group"]
