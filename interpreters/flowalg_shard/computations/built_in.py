"""Deduplication and tuples in columns: the outputs and states of their functions, without a call for each element."""

from __future__ import annotations

import polars as pl

from flowalg.computations.calls import LAST_TIME
from flowalg.computations.library import FORGET, REST, EmitEvery, EmitFirst
from flowalg.data.time import MAX_TIME, MIN_TIME, EventTime
from flowalg_shard.computations.kept_keys import CAUSE, POINT, SINGLE_TIMER, write_single_timers
from flowalg_shard.computations.stage import ComputationStage
from flowalg_shard.tables.columns import EVENT_TIME
from flowalg_shard.tables.joins import anti_join

_END, _ITEM, _NUMBER, _SIZE = "__end_of_id", "__item", "__number", "__size"


def run_deduplication(
    stage: ComputationStage,
    first: EmitFirst,
    key_states: pl.DataFrame,
    ready: pl.DataFrame,
    watermark: EventTime,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Returns the ids that are kept after an instant, and the elements that are the first ones of their ids."""
    by, emitted = stage.identity, ready
    ids = [key_states.select(*by, *SINGLE_TIMER)] if key_states.width else []
    if ready.width:
        end = pl.min_horizontal(pl.col(EVENT_TIME) + first.micros, pl.lit(MAX_TIME, pl.Int64()))
        timed = ready.with_columns(end.alias(POINT), pl.col(EVENT_TIME).alias(CAUSE))
        if stage.in_order:
            emitted = _first_in_order(stage, ids, timed)
        else:
            emitted = timed.unique(by, keep="first", maintain_order=True)
            emitted = anti_join(emitted, key_states, by) if key_states.height else emitted
        ids.append(emitted.select(*by, POINT, CAUSE))
    left = pl.concat(ids, how="vertical_relaxed").unique(by, keep="last").filter(pl.col(POINT) > watermark)
    outputs = (
        emitted.select(*stage.keys, *stage.value.columns, EVENT_TIME) if emitted.height else pl.DataFrame()
    )
    return write_single_timers(stage, left, pl.lit(True), FORGET), outputs


def _first_in_order(stage: ComputationStage, ids: list[pl.DataFrame], timed: pl.DataFrame) -> pl.DataFrame:
    """Returns the elements that are not before the end of their id, which the last one of these has set."""
    by = list(stage.identity)
    numbered = timed.select(*by, EVENT_TIME, pl.col(POINT).alias(_END), pl.struct(by).rle_id().alias(_NUMBER))
    kept_ids = ids[0] if ids else timed.clear()
    with_known = numbered.join(kept_ids, on=by, how="left", nulls_equal=True, maintain_order="left")
    columns = with_known.select(_NUMBER, pl.col(POINT).fill_null(MIN_TIME), EVENT_TIME, _END)
    rows, number, end = list[int](), -1, 0
    for row, (of_id, known_end, time, next_end) in enumerate(columns.iter_rows()):
        if of_id != number:
            number, end = of_id, known_end
        if time >= end:
            rows.append(row)
            end = next_end
    return timed[rows]


def run_tuples(
    stage: ComputationStage,
    every: EmitEvery,
    key_states: pl.DataFrame,
    ready: pl.DataFrame,
    watermark: EventTime,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Returns the elements that are kept after an instant, and the lists that are full; at the end all of them."""
    assert stage.state is not None, "the values have a shape"
    by, (state,) = stage.identity, stage.state.columns
    tables = []
    if key_states.width:
        kept = key_states.select(*by, SINGLE_TIMER[1].alias(EVENT_TIME), pl.col(state).alias(_ITEM))
        tables.append(kept.explode(_ITEM))
    if ready.width:
        tables.append(ready.select(*by, EVENT_TIME, stage.value.nested.alias(_ITEM)))
    items = pl.concat(tables, how="vertical_relaxed")
    number = pl.int_range(pl.len(), dtype=pl.Int64()).over(by) // every.size
    lists = (
        items.with_columns(number.alias(_NUMBER))
        .group_by(*by, _NUMBER, maintain_order=True)
        .agg(_ITEM, pl.len().alias(_SIZE), pl.first(EVENT_TIME).alias(CAUSE), pl.last(EVENT_TIME))
        .sort(*by, _NUMBER)
    )
    is_full = pl.col(_SIZE) == every.size
    rest = lists.filter(~is_full).with_columns(pl.lit(MAX_TIME, pl.Int64()).alias(POINT))
    ended = watermark >= MAX_TIME
    if ended:
        at_the_end = pl.lit(LAST_TIME, pl.Int64())
        emitted = lists.with_columns(
            pl.when(is_full).then(EVENT_TIME).otherwise(at_the_end).alias(EVENT_TIME)
        )
    else:
        emitted = lists.filter(is_full)
    (value,) = stage.output.columns
    return (
        write_single_timers(stage, rest.clear() if ended else rest, pl.col(_ITEM), REST),
        emitted.select(*stage.keys, pl.col(_ITEM).alias(value), EVENT_TIME)
        if emitted.height
        else pl.DataFrame(),
    )
