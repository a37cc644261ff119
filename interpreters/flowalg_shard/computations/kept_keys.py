"""What a computation keeps between instants: a table with a row for each key, and one with the elements that wait.

A state whose shape is known is in columns, if it is exactly of that shape; any other state is a stored object.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from typing import Final

import polars as pl
from attrs import field, frozen

from flowalg.computations.calls import KeyState, PendingTimer
from flowalg.computations.transition import EventTimer, ProcessingTimer
from flowalg.data.errors import format_value
from flowalg.data.time import MAX_TIME, EventTime
from flowalg.runs.clocks import Clocks
from flowalg.serialization.stored import NOT_DATA, read, store
from flowalg_shard.computations.stage import ComputationStage
from flowalg_shard.tables.columns import CONTENTS, EVENT_TIME, WEIGHT
from flowalg_shard.tables.times import read_datetimes

DUE_WATERMARK: Final = "__due_watermark"
DUE_TIME: Final = "__due_time"
KEPT_HOLD: Final = "__kept_hold"
"""The watermark and the processing time at which a key is due without new elements, and its hold.

Every key with a timer is due at the end of time.
"""

FORM: Final = "__form"
"""The form of the state of a key."""

WITHOUT_STATE: Final = 0
IN_COLUMNS: Final = 1
AS_OBJECT: Final = 2
"""A key has no state if it only has elements that wait."""

TIMERS: Final = "__timers"
TAG: Final = "tag"
OF_CLOCK: Final = "of_clock"
POINT: Final = "point"
CAUSE: Final = "cause"
"""The timers of a key: the tag, whether it is of processing time, when it fires, and the event time of its cause."""

TIMER: Final = pl.Struct({TAG: pl.String(), OF_CLOCK: pl.Boolean(), POINT: pl.Int64(), CAUSE: pl.Int64()})
NEVER: Final = 2**63 - 1

STATE_IN_COLUMNS: Final = (
    pl.lit(IN_COLUMNS, pl.Int8()).alias(FORM),
    pl.lit(None, pl.Binary()).alias(CONTENTS),
    pl.lit(MAX_TIME, pl.Int64()).alias(KEPT_HOLD),
)
"""The columns of a key whose state is in columns, and which has no hold."""


def is_due(now: Clocks) -> pl.Expr:
    """Returns whether a key is due without new elements."""
    return (pl.col(DUE_WATERMARK) <= now.watermark) | (pl.col(DUE_TIME) <= now.processing_time)


@frozen
class Kept:
    """The keys of a shard between instants, and the elements that wait for the watermark. Each of these has a key."""

    keys: pl.DataFrame = field(factory=pl.DataFrame)
    waiting: pl.DataFrame = field(factory=pl.DataFrame)


@frozen
class WaitingElement:
    """An element that waits for the watermark, in order."""

    event_time: EventTime
    weight: int
    value: object


@frozen
class KeptKey:
    """The key, its state with the hold and the timers, if it has a state, and the elements that wait."""

    key: object
    key_state: KeyState | None
    waiting: tuple[WaitingElement, ...]


def read_kept(stage: ComputationStage, kept: Kept) -> Iterator[KeptKey]:
    """Yields what is kept of each key as values of Python."""
    waiting: dict[object, list[WaitingElement]] = {}
    if kept.waiting.height:
        keys, values = stage.key.read(kept.waiting), stage.value.read(kept.waiting)
        facts = kept.waiting.select(EVENT_TIME, WEIGHT).iter_rows()
        for key, (time, weight), value in zip(keys, facts, values, strict=True):
            waiting.setdefault(key, []).append(WaitingElement(EventTime(time), weight, value))
    if kept.keys.height:
        for key, key_state in zip(stage.key.read(kept.keys), read_states(stage, kept.keys), strict=True):
            yield KeptKey(key, key_state, tuple(waiting.get(key, ())))


def read_states(stage: ComputationStage, keys: pl.DataFrame) -> list[KeyState | None]:
    """Returns the state of each key, ``None`` for a key without one."""
    forms, holds = keys[FORM].to_list(), keys[KEPT_HOLD].to_list()
    timers = _read_timers(keys[TIMERS])
    in_columns: Iterator[object] = iter(())
    if stage.state is not None and IN_COLUMNS in forms:
        in_columns = iter(stage.state.read(keys.filter(pl.col(FORM) == IN_COLUMNS)))
    states: list[KeyState | None] = []
    stored = iter(keys[CONTENTS].drop_nulls().to_list())
    for form, hold, key_timers in zip(forms, holds, timers, strict=True):
        if form == WITHOUT_STATE:
            states.append(None)
            continue
        state = next(in_columns) if form == IN_COLUMNS else _read(stage, next(stored))
        states.append(KeyState(state, None if hold == MAX_TIME else EventTime(hold), key_timers))
    return states


def _read_timers(series: pl.Series) -> list[dict[str, PendingTimer]]:
    """Returns the timers of each key by tag."""
    timers: list[dict[str, PendingTimer]] = [{} for _ in range(len(series))]
    if series.null_count() == len(series):
        return timers
    rows = pl.DataFrame({TIMERS: series}).with_row_index("row").drop_nulls().explode(TIMERS).unnest(TIMERS)
    columns = (rows[name].to_list() for name in ("row", TAG, OF_CLOCK, POINT, CAUSE))
    for row, tag, of_clock, point, cause, at in zip(*columns, read_datetimes(rows[POINT]), strict=True):
        timer = ProcessingTimer(tag, at) if of_clock else EventTimer(tag, at)
        timers[row][tag] = PendingTimer(timer, point, cause)
    return timers


def write_states(
    stage: ComputationStage, keys: pl.DataFrame, names: Sequence[object], states: Sequence[KeyState]
) -> pl.DataFrame:
    """Returns the table of some keys with their states; ``names`` are the keys as values, for messages.

    Raises ``ElementError`` for a state that cannot be stored.
    """
    values = [key_state.state for key_state in states]
    exact = [True] * len(values)
    if stage.state is None:
        exact = [False] * len(values)
    elif not stage.state.is_exact(values):
        exact = [stage.state.is_exact([value]) for value in values]
    columns: list[pl.Series] = []
    if stage.state is not None:
        columns = stage.state.write([value for value, fits in zip(values, exact, strict=True) if fits], "")
        if not all(exact):
            columns = [_spread(column, exact) for column in columns]
    packed = [
        None if fits else _store(stage, name, value)
        for name, value, fits in zip(names, values, exact, strict=True)
    ]
    forms = [IN_COLUMNS if fits else AS_OBJECT for fits in exact]
    holds = [MAX_TIME if key_state.hold is None else key_state.hold for key_state in states]
    return keys.select(stage.identity).with_columns(
        *columns,
        pl.Series(FORM, forms, pl.Int8()),
        pl.Series(CONTENTS, packed, pl.Binary()),
        pl.Series(KEPT_HOLD, holds, pl.Int64()),
        *_write_timers(states),
    )


def write_single_timers(
    stage: ComputationStage, rows: pl.DataFrame, state: pl.Expr, tag: str
) -> pl.DataFrame:
    """Returns the table of keys in rows with ``POINT`` and ``CAUSE``, whose only timer is one of event time.

    The state is a column of the shape that the stage knows.
    """
    assert stage.state is not None, "the state has columns"
    (name,) = stage.state.columns
    timer = pl.struct(pl.lit(tag).alias(TAG), pl.lit(False).alias(OF_CLOCK), POINT, CAUSE)
    return rows.select(
        *stage.identity,
        state.alias(name),
        *STATE_IN_COLUMNS,
        pl.concat_list(timer).alias(TIMERS),
        pl.col(POINT).alias(DUE_WATERMARK),
        pl.lit(NEVER, pl.Int64()).alias(DUE_TIME),
    )


SINGLE_TIMER: Final = tuple(pl.col(TIMERS).list.first().struct.field(name) for name in (POINT, CAUSE))
"""``POINT`` and ``CAUSE`` of the only timer of a key."""


def _spread(column: pl.Series, present: list[bool]) -> pl.Series:
    """Returns a column with nulls where a value is not present."""
    is_present = pl.Series(present)
    positions = pl.select(pl.when(is_present).then(is_present.cast(pl.Int64()).cum_sum() - 1)).to_series()
    return column.gather(positions)


def _read(stage: ComputationStage, stored: bytes) -> object:
    if stage.computation.pickled_state:
        return pickle.loads(stored)  # as the computation asks for
    return read(stored, object)


def _store(stage: ComputationStage, key: object, state: object) -> bytes:
    try:
        return pickle.dumps(state) if stage.computation.pickled_state else store(state)
    except (*NOT_DATA, pickle.PicklingError) as error:
        raise stage.calls.unstorable(key, format_value(state), error) from error


def _write_timers(states: Sequence[KeyState]) -> list[pl.Series]:
    """Returns the columns of timers, and of when they are due."""
    due_watermark, due_time = [NEVER] * len(states), [NEVER] * len(states)
    rows: list[tuple[int, str, bool, int, int]] = []
    for row, key_state in enumerate(states):
        for tag, (timer, point, cause) in key_state.timers.items():
            of_clock = type(timer) is ProcessingTimer
            due = due_time if of_clock else due_watermark
            due[row] = min(due[row], point)
            due_watermark[row] = min(due_watermark[row], MAX_TIME)
            rows.append((row, tag, of_clock, point, cause))
    return [
        _timer_lists(rows, len(states)),
        pl.Series(DUE_WATERMARK, due_watermark, pl.Int64()),
        pl.Series(DUE_TIME, due_time, pl.Int64()),
    ]


def _timer_lists(rows: list[tuple[int, str, bool, int, int]], count: int) -> pl.Series:
    """Returns the list of timers of each of ``count`` keys, which are numbered; null without timers."""
    if not rows:
        return pl.Series(TIMERS, [None] * count, pl.List(TIMER))
    number, *fields = zip(*rows, strict=True)
    kinds = {field.name: field.dtype for field in TIMER.fields}
    flat = pl.DataFrame(
        [
            pl.Series("row", number, pl.Int64()),
            *(
                pl.Series(name, items, kind)
                for (name, kind), items in zip(kinds.items(), fields, strict=True)
            ),
        ]
    )
    lists = flat.group_by("row", maintain_order=True).agg(pl.struct(list(kinds)).alias(TIMERS))
    every_key = pl.DataFrame({"row": pl.int_range(count, dtype=pl.Int64(), eager=True)})
    return every_key.join(lists, on="row", how="left", maintain_order="left")[TIMERS]


def with_waiting(stage: ComputationStage, keys: pl.DataFrame, waiting: pl.DataFrame) -> Kept:
    """Returns keys with the elements that wait, for which they are due when the watermark has passed the first one."""
    if waiting.is_empty():
        return Kept(keys)
    by = stage.identity
    first = waiting.group_by(by).agg((pl.col(EVENT_TIME).min() + 1).alias(_PASSED))
    joined = keys.join(first, on=by, how="full", coalesce=True, nulls_equal=True)
    due = joined.with_columns(
        pl.col(FORM).fill_null(WITHOUT_STATE),
        pl.min_horizontal(DUE_WATERMARK, _PASSED).alias(DUE_WATERMARK),
        pl.col(DUE_TIME).fill_null(NEVER),
        pl.col(KEPT_HOLD).fill_null(MAX_TIME),
    )
    return Kept(due.select(keys.columns), waiting)


_PASSED: Final = "__passed"
