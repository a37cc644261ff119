"""One instant at a computation, for the keys of one shard (SEMANTICS section 17).

The state is a table with a row for each key, with when it is due by a clock. An instant reads the keys that elements
arrive for, and those that are due; all others stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain, islice, repeat
from typing import TypeAlias, cast

import polars as pl
from attrs import frozen

from flowalg.computations.calls import LAST_TIME
from flowalg.computations.library import EmitEvery, EmitFirst, built_in, dropped_before
from flowalg.computations.transition import Clocks as ReadClocks
from flowalg.computations.transition import observe_all
from flowalg.data.collector import pause_collector
from flowalg.data.kv import KV
from flowalg.data.time import MAX_TIME, MIN_TIME, EventTime
from flowalg.runs.bad_records import BadRecord
from flowalg.runs.clocks import Clocks
from flowalg.runs.panes import Change, DropReason
from flowalg.windows.window import Window
from flowalg_shard.computations.built_in import run_deduplication, run_tuples
from flowalg_shard.computations.kept_keys import (
    FORM,
    WITHOUT_STATE,
    Kept,
    is_due,
    read_states,
    with_waiting,
    write_states,
)
from flowalg_shard.computations.key_run import Element, KeyRun
from flowalg_shard.computations.rounds import observe_in_rounds
from flowalg_shard.computations.settling import settle
from flowalg_shard.computations.stage import ONLY_KEY, ComputationStage
from flowalg_shard.step.side_inputs import LateElement
from flowalg_shard.tables.columns import END, EVENT_TIME, START, WEIGHT
from flowalg_shard.tables.joins import anti_join, semi_join
from flowalg_shard.tables.packing import stack
from flowalg_shard.tables.times import read_datetimes


@frozen
class ComputationOutput:
    """The output of an instant: the key, the value and the event time of each output, drops and bad records.

    ``unfired`` is the number of timers that firings at the end of the input have set.
    """

    outputs: pl.DataFrame
    drops: tuple[LateElement, ...] = ()
    bad_records: tuple[BadRecord, ...] = ()
    unfired: int = 0


def compute(
    stage: ComputationStage, kept: Kept, rows: pl.DataFrame, before: EventTime, now: Clocks
) -> tuple[Kept, ComputationOutput]:
    """Advances the keys of a shard by one instant; returns them after it, and the output.

    ``rows`` have the columns of the key and the value, an event time, a weight, and the window of the element.
    ``before`` is the watermark before the instant.
    """
    if not stage.keys and rows.height:
        rows = rows.with_columns(pl.lit(0, pl.Int8()).alias(ONLY_KEY))
    touched, untouched = _divide(stage, kept, rows, now)
    late = pl.DataFrame()
    if rows.height and (limit := dropped_before(stage.computation, stage.late, before)) > MIN_TIME:
        is_late = pl.col(EVENT_TIME) < limit
        late, rows = rows.filter(is_late), rows.filter(~is_late)
    elements = stack([touched.waiting, rows])
    if touched.keys.is_empty() and elements.is_empty():
        return kept, ComputationOutput(pl.DataFrame(), _dropped(stage, late, before))
    ready, waiting, corrections = settle(stage, elements), pl.DataFrame(), pl.DataFrame()
    if stage.in_order and ready.height:
        passed = pl.col(EVENT_TIME) < now.watermark
        ready, waiting = ready.filter(passed), ready.filter(~passed)
        ready, corrections = ready.filter(pl.col(WEIGHT) > 0), ready.filter(pl.col(WEIGHT) < 0)
    key_states = touched.keys.filter(pl.col(FORM) != WITHOUT_STATE) if touched.keys.height else touched.keys
    keys, outputs, bad_records, unfired = _run(stage, key_states, ready, before, now)
    after = with_waiting(stage, keys, waiting)
    return (
        Kept(stack([untouched.keys, after.keys]), stack([untouched.waiting, after.waiting])),
        ComputationOutput(
            outputs,
            (*_dropped(stage, late, before), *_dropped(stage, corrections, before)),
            bad_records,
            unfired,
        ),
    )


def _divide(stage: ComputationStage, kept: Kept, rows: pl.DataFrame, now: Clocks) -> tuple[Kept, Kept]:
    """Returns the keys that are due or that elements arrive for, and the others."""
    keys, waiting = kept.keys, kept.waiting
    if keys.is_empty():
        return kept, kept
    touched, others = keys.filter(is_due(now)), keys.filter(~is_due(now))
    if rows.height and others.height:
        arrived = semi_join(others, rows, stage.identity)
        touched, others = stack([touched, arrived]), anti_join(others, rows, stage.identity)
    if waiting.is_empty():
        return Kept(touched), Kept(others)
    if touched.is_empty():
        return Kept(), kept
    return (
        Kept(touched, semi_join(waiting, touched, stage.identity)),
        Kept(others, anti_join(waiting, touched, stage.identity)),
    )


def _dropped(stage: ComputationStage, rows: pl.DataFrame, before: EventTime) -> tuple[LateElement, ...]:
    """Returns rows as late elements; ``before`` is the watermark before the instant."""
    if rows.is_empty():
        return ()
    facts = rows.select(START, END, EVENT_TIME, WEIGHT).iter_rows()
    pairs = map(KV, stage.key.read(rows), stage.value.read(rows))
    return tuple(
        LateElement(
            pair,
            Window(EventTime(start), EventTime(end)),
            DropReason.LATE,
            EventTime(time),
            before,
            Change.of(weight),
        )
        for pair, (start, end, time, weight) in zip(pairs, facts, strict=True)
    )


_COUNT, _POSITION = "__count", "__position"

_After: TypeAlias = tuple[pl.DataFrame, pl.DataFrame, tuple[BadRecord, ...], int]
"""The keys after an instant, the outputs, bad records, and the number of unfired timers."""


def _run(
    stage: ComputationStage, key_states: pl.DataFrame, ready: pl.DataFrame, before: EventTime, now: Clocks
) -> _After:
    """Returns the keys after an instant, and what it gave."""
    match built_in(stage.computation):
        case EmitFirst() as first:
            return *run_deduplication(stage, first, key_states, ready, now.watermark), (), 0
        case EmitEvery() as every:
            return *run_tuples(stage, every, key_states, ready, now.watermark), (), 0
        case None:
            pass
    left = observe_in_rounds(stage, key_states, ready, before, now)
    if left.done.width and left.key_states.is_empty() and left.ready.is_empty():
        return left.done, left.outputs, (), 0
    with pause_collector():
        keys, outputs, bad, unfired = _run_functions(stage, left.key_states, left.ready, before, now)
    if left.done.height:
        keys = stack([left.done, keys])
    return keys, stack([left.outputs, outputs]), bad, unfired


def _run_functions(
    stage: ComputationStage, key_states: pl.DataFrame, ready: pl.DataFrame, before: EventTime, now: Clocks
) -> _After:
    """Returns the keys after their functions have observed elements and timers, and what they gave."""
    groups = _groups(stage, key_states, ready)
    keys, counts, positions = stage.key.read(groups), groups[_COUNT].to_list(), groups[_POSITION].to_list()
    states = read_states(stage, key_states) if key_states.height else []
    elements = iter(_elements(stage, ready, chain.from_iterable(map(repeat, keys, counts)), before))
    time = now.processing_time.datetime
    has_ended = now.watermark >= MAX_TIME
    reached = _horizon(before, now) if has_ended else now.watermark
    clocks_before, clocks = ReadClocks(time, before.datetime), ReadClocks(time, reached.datetime)
    runs = []
    for key, count, position in zip(keys, counts, positions, strict=True):
        run = KeyRun(stage, key, None if position is None else states[position], time)
        key_elements = islice(elements, count)
        if stage.in_order:
            run.observe_in_order(key_elements)
        else:
            run.observe(key_elements, clocks_before)
        run.fire(reached, now.processing_time, clocks)
        if has_ended:
            run.fire_at_end(reached)
        runs.append(run)
    left = [(row, run.key, run.key_state) for row, run in enumerate(runs) if run.key_state is not None]
    after = write_states(
        stage, groups[[row for row, *_ in left]], [key for _, key, _ in left], [state for *_, state in left]
    )
    bad = tuple(bad for run in runs for bad in run.bad_records)
    return after, _outputs(stage, groups, runs), bad, sum(run.unfired for run in runs)


def _horizon(before: EventTime, now: Clocks) -> EventTime:
    """Returns the last watermark before the end of time: the horizon, or that of before if it is later."""
    horizon = EventTime(min(now.horizon, LAST_TIME))
    return horizon if before >= MAX_TIME else max(before, horizon)


def _groups(stage: ComputationStage, key_states: pl.DataFrame, ready: pl.DataFrame) -> pl.DataFrame:
    """Returns the keys in order, each with the number of its elements, and its row among those with a state."""
    by, tables = stage.identity, []
    if ready.width:
        counts = pl.len().cast(pl.Int64()).alias(_COUNT), pl.lit(None, pl.Int64()).alias(_POSITION)
        tables.append(ready.group_by(by).agg(counts))
    if key_states.width:
        row = pl.int_range(pl.len(), dtype=pl.Int64()).alias(_POSITION)
        tables.append(key_states.select(*by, pl.lit(0, pl.Int64()).alias(_COUNT), row))
    united = pl.concat(tables, how="vertical_relaxed").group_by(by)
    return united.agg(pl.col(_COUNT).sum(), pl.col(_POSITION).max()).sort(by)


def _elements(
    stage: ComputationStage, ready: pl.DataFrame, keys: Iterable[object], before: EventTime
) -> Iterable[Element]:
    """Returns elements as functions receive them, with their event times and weights."""
    if ready.is_empty():
        return ()
    series = ready[EVENT_TIME]
    late = repeat(False) if stage.in_order else (series < before).to_list()
    columns = (keys, stage.value.read(ready), read_datetimes(series), late)
    # Plain ints, which are made faster.
    times = cast("list[EventTime]", series.to_list())
    return zip(times, ready[WEIGHT].to_list(), observe_all(columns, ready.height), strict=True)


def _outputs(stage: ComputationStage, groups: pl.DataFrame, runs: Sequence[KeyRun]) -> pl.DataFrame:
    """Returns the outputs of keys: the key, the value and the event time of each."""
    outputs = [(row, time, value) for row, run in enumerate(runs) for time, value in run.outputs]
    if not outputs:
        return pl.DataFrame()
    rows, times, values = zip(*outputs, strict=True)
    return groups[list(rows)].select(
        *stage.keys,
        *stage.output.write(list(values), f"the result of {stage.label}"),
        pl.Series(EVENT_TIME, times, pl.Int64()),
    )
