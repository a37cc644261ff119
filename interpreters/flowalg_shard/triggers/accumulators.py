"""The accumulators of ``AtValue`` and ``CustomTrigger`` as columns of stored objects; null without elements.

Python functions merge and evaluate them, for the windows that an instant touches.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial, reduce
from typing import Final, TypeAlias

import polars as pl

from flowalg.data.time import MIN_TIME, EventTime, ProcessingTime
from flowalg.runs.clocks import Clocks
from flowalg.serialization.stored import read, store_value
from flowalg.triggers.data_driven import Accumulated
from flowalg.triggers.syntax import AccumulatingTrigger, AtValue, CustomTrigger
from flowalg_shard.tables.rows import for_rows

Observed: TypeAlias = tuple[str, str, str]
"""The columns of what a trigger has observed: the accumulator, and the first and the last arrival."""


def accumulate_value(leaf: AccumulatingTrigger, value: object, weight: int) -> bytes | None:
    """Returns the accumulator of one element; ``None`` for a retraction that the trigger does not observe."""
    observed = leaf.keep(value, weight)
    return None if observed is None else _pack(observed)


def merge_columns(
    leaf: AccumulatingTrigger, table: pl.DataFrame, left: str, right: str, rows: pl.Series
) -> pl.Series:
    """Returns the left accumulators of a table, merged with the right ones in some rows."""
    merged = (
        _merge(leaf, (mine, other)) if merges else mine
        for mine, other, merges in zip(
            table[left].to_list(), table[right].to_list(), rows.to_list(), strict=True
        )
    )
    return pl.Series(left, for_rows(table, merged), pl.Binary())


def merge_lists(leaf: AccumulatingTrigger, table: pl.DataFrame, lists: str) -> pl.Series:
    """Returns the merger of each list of accumulators in a column of a table."""
    merged = (_merge(leaf, packed) for packed in table[lists].to_list())
    return pl.Series(lists, for_rows(table, merged), pl.Binary())


def evaluate_where(
    leaf: AccumulatingTrigger, table: pl.DataFrame, observed: str, rows: pl.Series
) -> pl.Series:
    """Returns whether the predicate holds of each accumulator of a table, for some rows; null for the others."""
    predicate = leaf.holds if isinstance(leaf, AtValue) else partial(_holds_alone, leaf)
    results = (
        predicate(_unpack(packed)) if evaluated and packed is not None else None
        for packed, evaluated in zip(table[observed].to_list(), rows.to_list(), strict=True)
    )
    return pl.Series(for_rows(table, results), dtype=pl.Boolean())


def due_where(leaf: CustomTrigger, table: pl.DataFrame, observed: Observed, rows: pl.Series) -> pl.Series:
    """Returns the processing times before which a trigger is not ready, for some rows; null for the others."""
    columns = (*(table[name].to_list() for name in observed), rows.to_list())
    results = (
        leaf.due_time(_unpack(packed), ProcessingTime(first), ProcessingTime(last))
        if evaluated and packed is not None
        else None
        for packed, first, last, evaluated in zip(*columns, strict=True)
    )
    return pl.Series(for_rows(table, results), dtype=pl.Int64())


def ready_where(
    leaf: CustomTrigger,
    table: pl.DataFrame,
    observed: Observed,
    end: str,
    rows: pl.Series,
    clocks: Clocks,
) -> pl.Series:
    """Returns whether a trigger that depends on the clocks is ready, for the rows in which it is due."""
    now, watermark = clocks.processing_time, clocks.watermark
    columns = (*(table[name].to_list() for name in (*observed, end)), rows.to_list())
    results = (
        due
        and packed is not None
        and leaf.holds(
            _unpack(packed),
            ProcessingTime(first),
            ProcessingTime(last),
            now,
            watermark,
            EventTime(until),
        )
        for packed, first, last, until, due in zip(*columns, strict=True)
    )
    return pl.Series(for_rows(table, results), dtype=pl.Boolean())


def _holds_alone(leaf: CustomTrigger, kept: Accumulated) -> bool:
    """Returns whether a trigger without ``due`` is ready, which does not depend on the clocks."""
    return leaf.holds(kept, _START, _START, _START, MIN_TIME, MIN_TIME)


_START: Final = ProcessingTime(MIN_TIME)


def _merge(leaf: AccumulatingTrigger, parts: Iterable[bytes | None]) -> bytes | None:
    packed = [part for part in parts if part is not None]
    if len(packed) < 2:
        return packed[0] if packed else None
    return _pack(reduce(leaf.merge_kept, map(_unpack, packed)))


def _pack(observed: Accumulated) -> bytes:
    return store_value("a user-defined trigger", "its accumulator", (observed.accumulator, observed.size))


def _unpack(packed: bytes) -> Accumulated:
    accumulator, size = read(packed, tuple)
    return Accumulated(accumulator, size)
