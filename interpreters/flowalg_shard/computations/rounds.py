"""Rounds of a computation: in a round, many keys observe their next elements at once, in columns.

A round is one query over the states of the keys, with an element of each. The keys are in descending order of the
numbers of their elements, so each round has a prefix of the keys. A key is left to Python, from its state before the
instant, if it has more elements than there are rounds of ``FEWEST`` keys, if its state is not in columns, or if one of
its expressions fails.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl
from attrs import frozen

from flowalg.data.time import MAX_TIME, MIN_TIME, EventTime
from flowalg.runs.clocks import Clocks
from flowalg_shard.computations.columns import LATE, NOW, WATERMARK, TransitionColumns
from flowalg_shard.computations.kept_keys import (
    CAUSE,
    DUE_TIME,
    DUE_WATERMARK,
    FORM,
    IN_COLUMNS,
    KEPT_HOLD,
    NEVER,
    OF_CLOCK,
    POINT,
    STATE_IN_COLUMNS,
    TAG,
    TIMER,
    TIMERS,
    is_due,
)
from flowalg_shard.computations.stage import ComputationStage
from flowalg_shard.tables.columns import EVENT_TIME, WEIGHT
from flowalg_shard.tables.joins import anti_join
from flowalg_shard.tables.packing import stack

FEWEST: Final = 100
"""A round with fewer elements than this takes longer than Python does for them."""

_RUNS, _NUMBER, _COUNT = "__runs", "__number", "__count"
_POSITION, _RANK, _SLOT = "__position", "__rank", "__slot"
_FREED, _DROPPED, _FAILED = "__freed", "__dropped", "__failed"

Numbers: TypeAlias = npt.NDArray[np.int64]


@frozen
class Remainder:
    """The states and the elements that are left to Python, the keys that are done, and the outputs of rounds."""

    key_states: pl.DataFrame
    ready: pl.DataFrame
    done: pl.DataFrame
    outputs: pl.DataFrame


def observe_in_rounds(
    stage: ComputationStage,
    key_states: pl.DataFrame,
    ready: pl.DataFrame,
    before: EventTime,
    now: Clocks,
) -> Remainder:
    """Moves keys on in columns, as far as that is possible; ``ready`` is in the order of observation."""
    nothing = Remainder(key_states, ready, pl.DataFrame(), pl.DataFrame())
    columns = stage.in_columns
    if columns is None or stage.initial is None or stage.in_order:
        return nothing
    if ready.height < FEWEST or (ready[WEIGHT] < 0).any():
        return nothing
    by = list(stage.identity)
    runs = ready.select(pl.struct(by).rle().alias(_RUNS)).unnest(_RUNS).unnest("value")
    counts = runs["len"].to_numpy().astype(np.int64)
    sizes = _sizes(counts)
    most = int((sizes >= FEWEST).sum())
    known = (
        runs.select(*by, pl.col("len").alias(_COUNT)).with_row_index(_NUMBER).filter(pl.col(_COUNT) <= most)
    )
    keys = _with_states(stage, known, key_states, stage.initial)
    if keys.is_empty():
        return nothing
    numbers = keys[_NUMBER].to_numpy()
    sizes = _sizes(counts[numbers])
    elements = ready[_in_rounds(counts, numbers, sizes)].with_columns(
        (pl.col(EVENT_TIME) < before).alias(LATE),
        pl.lit(now.processing_time, pl.Int64()).alias(NOW),
        pl.lit(before, pl.Int64()).alias(WATERMARK),
    )
    after, emitted = _run_rounds(stage, columns, keys, elements, sizes.tolist())
    succeeded = after.filter(~pl.col(_FAILED))
    named = keys.select(*by, _POSITION).join(succeeded, on=_POSITION, how="inner", maintain_order="left")
    done = _written(stage, columns, named, key_states)
    untouched = anti_join(key_states, named, by) if key_states.height else key_states
    return Remainder(
        stack([untouched, done.filter(is_due(now))]),
        anti_join(ready, named, by),
        done.filter(~is_due(now)),
        _outputs(stage, emitted, named),
    )


def _sizes(counts: Numbers) -> Numbers:
    """Returns the number of keys in each round, given the number of elements of each key."""
    return np.bincount(counts)[::-1].cumsum()[::-1][1:]


def _in_rounds(counts: Numbers, numbers: Numbers, sizes: Numbers) -> Numbers:
    """Returns the rows of elements round by round, each in the order of some keys.

    ``counts`` are the numbers of elements of all keys, in the order of the rows; ``numbers`` are the positions of these
    keys among all, by descending counts, and ``sizes`` their rounds.
    """
    position = np.full(len(counts), -1)
    position[numbers] = np.arange(len(numbers))
    rank = np.arange(counts.sum()) - np.repeat(counts.cumsum() - counts, counts)
    of_row = np.repeat(position, counts)
    (rows,) = np.nonzero(of_row >= 0)
    ordered = np.empty(len(rows), np.int64)
    ordered[(sizes.cumsum() - sizes)[rank[rows]] + of_row[rows]] = rows
    return ordered


def _initial_name(number: int) -> str:
    return f"__initial_{number}"


def _with_states(
    stage: ComputationStage, keys: pl.DataFrame, key_states: pl.DataFrame, first: pl.DataFrame
) -> pl.DataFrame:
    """Returns the keys whose states are in columns, by descending numbers of elements, each with its position.

    ``first`` is the state of a key before its first element.
    """
    assert stage.state is not None, "the state has columns"
    by, names = list(stage.identity), list(stage.state.columns)
    tables = [keys.join(first, how="cross")]
    if key_states.height:
        tables = [anti_join(tables[0], key_states, by)]
        in_columns = key_states.filter((pl.col(FORM) == IN_COLUMNS) & (pl.col(KEPT_HOLD) == MAX_TIME))
        if in_columns.height:
            known = in_columns.select(*by, *names)
            tables.append(keys.join(known, on=by, how="inner", nulls_equal=True))
    initial = first.rename({name: _initial_name(number) for number, name in enumerate(names)})
    columns = [*by, _NUMBER, _COUNT, *names]
    united = pl.concat([table.select(columns) for table in tables], how="vertical_relaxed")
    return (
        united.join(initial, how="cross")
        .sort(_COUNT, descending=True)
        .with_columns(pl.int_range(pl.len(), dtype=pl.Int64()).alias(_POSITION))
    )


def _touched(number: int) -> str:
    return f"__touched_{number}"


def _point(number: int) -> str:
    return f"__point_{number}"


def _cause(number: int) -> str:
    return f"__cause_{number}"


def _run_rounds(
    stage: ComputationStage,
    columns: TransitionColumns,
    keys: pl.DataFrame,
    elements: pl.DataFrame,
    sizes: Sequence[int],
) -> tuple[pl.DataFrame, list[pl.DataFrame]]:
    """Returns the keys after all rounds, whose sizes are given, and the outputs of each round."""
    assert stage.state is not None, "the state has columns"
    names = stage.state.columns
    fresh = [pl.lit(False).alias(name) for name in (_FREED, _DROPPED, _FAILED)]
    for number in range(len(columns.timers)):
        fresh.append(pl.lit(False).alias(_touched(number)))
        fresh += [pl.lit(None, pl.Int64()).alias(name) for name in (_point(number), _cause(number))]
    initial = [_initial_name(number) for number in range(len(names))]
    current = keys.select(_POSITION, *names, *initial, *fresh)
    kept = current.columns
    observed = _observed(stage, columns)
    offset, finished, emitted = 0, list[pl.DataFrame](), list[pl.DataFrame]()
    for rank, size in enumerate(sizes):
        finished.append(current.slice(size))
        table = pl.concat([current.head(size), elements.slice(offset, size)], how="horizontal")
        moved = table.lazy().select(observed).collect()
        for slot in range(len(columns.outputs)):
            present = moved.filter(pl.col(f"__present_{slot}"))
            if present.height:
                values = [
                    pl.col(f"__output_{slot}_{part}").alias(name)
                    for part, name in enumerate(stage.output.columns)
                ]
                emitted.append(
                    present.select(
                        _POSITION, EVENT_TIME, pl.lit(rank).alias(_RANK), pl.lit(slot).alias(_SLOT), *values
                    )
                )
        current = moved.select(kept)
        offset += size
    return pl.concat([*finished, current], how="vertical_relaxed"), emitted


def _observed(stage: ComputationStage, columns: TransitionColumns) -> list[pl.Expr]:
    """Returns the columns of keys after they have observed an element, and those of their outputs."""
    assert stage.state is not None, "the state has columns"
    is_invalid = [timer.point > MAX_TIME for timer in columns.timers]
    for timer in columns.timers:
        is_invalid.append(timer.point < (pl.col(EVENT_TIME) if timer.of_event else MIN_TIME))
    if columns.fails is not None:
        is_invalid.append(columns.fails)
    states = [
        pl.when(columns.freed).then(pl.col(_initial_name(number))).otherwise(state).alias(name)
        for number, (name, state) in enumerate(zip(stage.state.columns, columns.state, strict=True))
    ]
    after: list[pl.Expr] = [
        pl.col(_POSITION),
        pl.col(EVENT_TIME),
        *states,
        *(pl.col(_initial_name(number)) for number in range(len(states))),
        columns.freed.alias(_FREED),
        (pl.col(_DROPPED) | columns.freed).alias(_DROPPED),
        pl.any_horizontal(pl.col(_FAILED), *(part.fill_null(False) for part in is_invalid)).alias(_FAILED),
    ]
    for number, timer in enumerate(columns.timers):
        for name, value in ((_point(number), timer.point), (_cause(number), pl.col(EVENT_TIME))):
            left = pl.when(~columns.freed).then(pl.col(name))
            after.append(pl.when(timer.touched).then(value).otherwise(left).alias(name))
        after.append((pl.col(_touched(number)) | timer.touched).alias(_touched(number)))
    for slot, output in enumerate(columns.outputs):
        after.append(output.present.alias(f"__present_{slot}"))
        after += [value.alias(f"__output_{slot}_{part}") for part, value in enumerate(output.values)]
    return after


def _written(
    stage: ComputationStage, columns: TransitionColumns, keys: pl.DataFrame, key_states: pl.DataFrame
) -> pl.DataFrame:
    """Returns the table of the keys that have a state, with their timers."""
    assert stage.state is not None, "the state has columns"
    left = keys.filter(~pl.col(_FREED))
    timers = _timers(stage, columns, left, key_states)
    is_event = ~pl.col(OF_CLOCK)
    lists = timers.group_by(_POSITION).agg(
        pl.struct(TAG, OF_CLOCK, POINT, CAUSE).alias(TIMERS),
        pl.min_horizontal(pl.col(POINT).filter(is_event).min(), pl.lit(MAX_TIME, pl.Int64())).alias(
            DUE_WATERMARK
        ),
        pl.col(POINT).filter(~is_event).min().fill_null(NEVER).alias(DUE_TIME),
    )
    joined = left.join(lists, on=_POSITION, how="left", maintain_order="left")
    return joined.select(
        *stage.identity,
        *stage.state.columns,
        *STATE_IN_COLUMNS,
        pl.col(TIMERS).cast(pl.List(TIMER)),
        pl.col(DUE_WATERMARK).fill_null(NEVER),
        pl.col(DUE_TIME).fill_null(NEVER),
    )


def _timers(
    stage: ComputationStage, columns: TransitionColumns, keys: pl.DataFrame, key_states: pl.DataFrame
) -> pl.DataFrame:
    """Returns the timers of keys: those that were set before and are left, and those that are set now."""
    tables = [
        keys.filter(pl.col(_point(number)).is_not_null()).select(
            _POSITION,
            pl.lit(timer.tag).alias(TAG),
            pl.lit(not timer.of_event).alias(OF_CLOCK),
            pl.col(_point(number)).alias(POINT),
            pl.col(_cause(number)).alias(CAUSE),
        )
        for number, timer in enumerate(columns.timers)
    ]
    if key_states.height:
        old = key_states.select(*stage.identity, TIMERS).drop_nulls(TIMERS).explode(TIMERS).unnest(TIMERS)
        replaced = pl.any_horizontal(
            pl.col(_DROPPED),
            *(
                (pl.col(TAG) == timer.tag) & pl.col(_touched(number))
                for number, timer in enumerate(columns.timers)
            ),
        )
        joined = old.join(keys, on=list(stage.identity), how="inner", nulls_equal=True)
        tables.append(joined.filter(~replaced).select(_POSITION, TAG, OF_CLOCK, POINT, CAUSE))
    kinds = {_POSITION: pl.Int64(), **{field.name: field.dtype for field in TIMER.fields}}
    return pl.concat([pl.DataFrame(schema=kinds), *tables])


def _outputs(stage: ComputationStage, emitted: Sequence[pl.DataFrame], keys: pl.DataFrame) -> pl.DataFrame:
    """Returns the outputs of keys, each in order."""
    if not emitted:
        return pl.DataFrame()
    values = pl.concat(emitted, how="vertical_relaxed").sort(_POSITION, _RANK, _SLOT)
    named = values.join(keys.select(*stage.keys, _POSITION), on=_POSITION, how="inner", maintain_order="left")
    return named.select(*stage.keys, *stage.output.columns, EVENT_TIME)
