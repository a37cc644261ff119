"""One instant at a computation, for the keys of one shard (SEMANTICS section 17).

The state is a table with a row for each key: its columns, pickled contents, and when it is due by a clock. An instant
unpickles the keys that elements arrive for, and those that are due; all others stay as they are.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Sequence
from functools import cached_property
from heapq import heapify, heappop, heappush
from itertools import groupby
from typing import Final, TypeAlias

import polars as pl
from attrs import define, evolve, field, frozen

from flowalg.computations.calls import (
    MOST_FIRINGS,
    Calls,
    Effect,
    FailedTransition,
    KeyState,
    PendingTimer,
)
from flowalg.computations.computation import AnyComputation, Late
from flowalg.computations.transition import EventTimer, ProcessingTimer
from flowalg.data.errors import format_value
from flowalg.data.kv import KV
from flowalg.data.time import MAX_TIME, EventTime, ProcessingTime
from flowalg.data.values import same, sort_key
from flowalg.pipeline.nodes import Process
from flowalg.runs.bad_records import BadRecord, bad_call
from flowalg.runs.clocks import Clocks
from flowalg.runs.panes import DropReason
from flowalg.windows.window import Window
from flowalg_shard.step.side_inputs import LateElement
from flowalg_shard.step.stage import RESULT
from flowalg_shard.tables.columns import CONTENTS, END, EVENT_TIME, START, VALUE, WEIGHT
from flowalg_shard.tables.joins import anti_join, semi_join
from flowalg_shard.tables.packing import stack

DUE_WATERMARK: Final = "__due_watermark"
DUE_TIME: Final = "__due_time"
KEPT_HOLD: Final = "__kept_hold"
"""The watermark and the processing time at which a key is due without new elements, and its hold."""

NEVER: Final = 2**63 - 1


@frozen
class ComputationStage:
    """A compiled computation; ``keys`` are the columns of the key."""

    label: str
    keys: tuple[str, ...]
    computation: AnyComputation
    in_order: bool
    late: Late
    dead_letters: bool = False

    @classmethod
    def of(cls, node: Process, keys: tuple[str, ...], *, dead_letters: bool) -> ComputationStage:
        """The stage of a node."""
        return cls(node.label, keys, node.computation, node.in_order, node.late, dead_letters)

    @cached_property
    def calls(self) -> Calls:
        """The functions of the computation."""
        return Calls(self.computation, self.label)


@frozen
class Arrived:
    """An element of a key: its event time, its weight, its value, and the bounds of its window."""

    time: EventTime
    weight: int
    value: object
    bounds: tuple[int, int]

    @property
    def window(self) -> Window:
        """Its window, if it is dropped."""
        start, end = self.bounds
        return Window(EventTime(start), EventTime(end))


@frozen
class Kept:
    """The contents of a key: its state, if it has one, and in order the elements that wait for the watermark."""

    key: object
    known: KeyState | None
    waiting: tuple[Arrived, ...] = ()

    @property
    def due_watermark(self) -> int:
        """The watermark at which a timer fires, or the first waiting element has been passed."""
        timers = self.known.timers.values() if self.known else ()
        times = [each.point for each in timers if isinstance(each.timer, EventTimer)]
        return min([*times, *(each.time + 1 for each in self.waiting)], default=NEVER)

    @property
    def due_time(self) -> int:
        """The processing time at which a timer fires."""
        timers = self.known.timers.values() if self.known else ()
        times = (each.point for each in timers if isinstance(each.timer, ProcessingTimer))
        return min(times, default=NEVER)

    @property
    def hold(self) -> int:
        """The event time at which it holds the watermark."""
        return MAX_TIME if self.known is None or self.known.hold is None else self.known.hold


@frozen
class ComputationOutput:
    """The output of an instant: the key, the event time and the pickled value of each output, drops and bad records."""

    outputs: pl.DataFrame
    drops: tuple[LateElement, ...]
    bad_records: tuple[BadRecord, ...]


def compute(
    stage: ComputationStage, kept: pl.DataFrame, rows: pl.DataFrame, before: EventTime, now: Clocks
) -> tuple[pl.DataFrame, ComputationOutput]:
    """Advances the keys of a table by one instant; returns the table after it, and the output.

    ``rows`` have the columns of the key, an event time, a weight, a pickled pair, and the window of the element.
    ``before`` is the watermark before the instant.
    """
    touched, untouched = _divided(stage, kept, rows, now)
    keys: dict[object, Kept] = {}
    row_of: dict[object, int] = {}
    for row, contents in enumerate(touched[CONTENTS].to_list() if touched.height else ()):
        known: Kept = pickle.loads(contents)  # trusted: pickled by this module
        keys[known.key], row_of[known.key] = known, row
    drops: list[LateElement] = []
    arrived: dict[object, list[Arrived]] = {}
    for row, (pair, element) in enumerate(_elements(rows), start=touched.height):
        row_of.setdefault(pair.key, row)
        if element.time < before and stage.late is Late.DROP:
            drops.append(LateElement(pair, element.window, DropReason.LATE))
        else:
            arrived.setdefault(pair.key, []).append(element)
    runs = [
        _KeyRun.of(stage, keys.get(key, Kept(key, None)), arrived.get(key, ()), before, now)
        for key in sorted({**keys, **arrived}, key=sort_key)
    ]
    columns = stack([table.select(stage.keys) for table in (touched, rows) if table.height])
    after = [run.kept for run in runs if run.kept.known is not None or run.kept.waiting]
    outputs = [(row_of[run.key], point, value) for run in runs for point, value in run.outputs]
    table = pl.DataFrame(
        {
            EVENT_TIME: pl.Series([point for _, point, _ in outputs], dtype=pl.Int64()),
            RESULT: pl.Series([pickle.dumps(value) for *_, value in outputs], dtype=pl.Binary()),
        }
    )
    return (
        stack([untouched, _table(stage, columns, [row_of[each.key] for each in after], after)]),
        ComputationOutput(
            _beside(columns, [row for row, *_ in outputs], table),
            (*drops, *(drop for run in runs for drop in run.drops)),
            tuple(bad for run in runs for bad in run.bad_records),
        ),
    )


def _divided(
    stage: ComputationStage, kept: pl.DataFrame, rows: pl.DataFrame, now: Clocks
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Returns the keys that are due or that elements arrive for, and the others."""
    if kept.is_empty():
        return kept, kept
    is_due = (pl.col(DUE_WATERMARK) <= now.watermark) | (pl.col(DUE_TIME) <= now.processing_time)
    due, others = kept.filter(is_due), kept.filter(~is_due)
    if rows.is_empty():
        return due, others
    touched = semi_join(others, rows, stage.keys)
    return stack([due, touched]), anti_join(others, rows, stage.keys)


def _elements(rows: pl.DataFrame) -> Iterable[tuple[KV[object, object], Arrived]]:
    if rows.is_empty():
        return
    for packed, time, weight, start, end in rows.select(VALUE, EVENT_TIME, WEIGHT, START, END).iter_rows():
        pair: KV[object, object] = pickle.loads(packed)  # trusted: pickled by the engine
        yield pair, Arrived(EventTime(time), weight, pair.value, (start, end))


def _table(
    stage: ComputationStage, columns: pl.DataFrame, rows: Sequence[int], kept: Sequence[Kept]
) -> pl.DataFrame:
    """Returns the rows of keys after an instant; a state that cannot be stored is an error that names it."""
    packed = []
    for each in kept:
        try:
            packed.append(pickle.dumps(each))
        except Exception as error:
            state = format_value(each.known.state if each.known else None)
            raise stage.calls.unstorable(each.key, state, error) from error
    table = pl.DataFrame(
        {
            CONTENTS: pl.Series(packed, dtype=pl.Binary()),
            DUE_WATERMARK: pl.Series([each.due_watermark for each in kept], dtype=pl.Int64()),
            DUE_TIME: pl.Series([each.due_time for each in kept], dtype=pl.Int64()),
            KEPT_HOLD: pl.Series([each.hold for each in kept], dtype=pl.Int64()),
        }
    )
    return _beside(columns, rows, table)


def _beside(keys: pl.DataFrame, rows: Sequence[int], table: pl.DataFrame) -> pl.DataFrame:
    """Returns the keys of some rows beside a table."""
    return pl.DataFrame() if not rows else keys[list(rows)].hstack(table) if keys.width else table


_Due: TypeAlias = tuple[int, str]
"""The time and the tag of a timer."""


@define
class _KeyRun:
    """One instant of a key. Timers are two heaps, in which a timer that was replaced or cleared is ignored."""

    stage: ComputationStage
    key: object
    now: Clocks
    known: KeyState | None
    waiting: tuple[Arrived, ...] = ()
    by_watermark: list[_Due] = field(factory=list)
    by_clock: list[_Due] = field(factory=list)
    outputs: list[tuple[EventTime, object]] = field(factory=list)
    drops: list[LateElement] = field(factory=list)
    bad_records: list[BadRecord] = field(factory=list)

    @classmethod
    def of(
        cls, stage: ComputationStage, kept: Kept, arrived: Iterable[Arrived], before: EventTime, now: Clocks
    ) -> _KeyRun:
        """Runs an instant of a key."""
        run = cls(stage, kept.key, now, kept.known)
        if kept.known is not None:
            for pending in kept.known.timers.values():
                run._heap_of(pending).append((pending.point, pending.timer.tag))
            heapify(run.by_watermark)
            heapify(run.by_clock)
        elements = _settled([*kept.waiting, *arrived])
        if stage.in_order:
            ready = [element for element in elements if element.time < now.watermark]
            run.waiting = tuple(elements[len(ready) :])
            for element in ready:
                run._fire(element.time, None)
                run._observe(element, element.time)
        else:
            for element in elements:
                run._observe(element, before)
        run._fire(now.watermark, now.processing_time)
        return run

    @property
    def kept(self) -> Kept:
        """The contents of the key after the instant."""
        return Kept(self.key, self.known, self.waiting)

    def _heap_of(self, pending: PendingTimer) -> list[_Due]:
        return self.by_watermark if isinstance(pending.timer, EventTimer) else self.by_clock

    def _observe(self, element: Arrived, watermark: EventTime) -> None:
        if self.stage.in_order and element.weight < 0:
            pair = KV(self.key, element.value)
            self.drops.append(LateElement(pair, element.window, DropReason.LATE))
            return
        clocks, late = (self.now.processing_time, watermark), element.time < watermark
        value, time, weight = element.value, element.time, element.weight
        try:
            effect = self.stage.calls.observe(
                self.known, self.key, value, time, weight=weight, late=late, clocks=clocks
            )
        except FailedTransition as failure:
            self._fail(failure)
        else:
            self._apply(effect)

    def _fire(self, watermark: EventTime, time: ProcessingTime | None) -> None:
        """Fires the timers that are due at a watermark, and at a processing time if it is given."""
        for firings in range(MOST_FIRINGS + 1):
            pending = self._pop(watermark, time)
            if pending is None:
                return
            if firings == MOST_FIRINGS:
                raise self.stage.calls.too_many_firings(self.key)
            assert self.known is not None, "a timer has a state"
            timers = {tag: each for tag, each in self.known.timers.items() if each is not pending}
            self.known = evolve(self.known, timers=timers)
            stepwise = self.stage.in_order and isinstance(pending.timer, EventTimer)
            reached = EventTime(pending.point) if stepwise else watermark
            clocks = self.now.processing_time, reached
            try:
                effect = self.stage.calls.fire(self.known, self.key, pending, clocks)
            except FailedTransition as failure:
                self._fail(failure)
            else:
                self._apply(effect)

    def _pop(self, watermark: EventTime, time: ProcessingTime | None) -> PendingTimer | None:
        """Takes the next timer that is due from its heap."""
        for heap, limit in ((self.by_watermark, watermark), (self.by_clock, time)):
            while limit is not None and heap and heap[0][0] <= limit:
                point, tag = heappop(heap)
                pending = self.known.timers.get(tag) if self.known else None
                if pending and pending.point == point and self._heap_of(pending) is heap:
                    return pending
        return None

    def _apply(self, effect: Effect) -> None:
        before = self.known.timers if self.known else {}
        self.known = effect.after
        self.outputs += effect.outputs
        if effect.after is not None and effect.after.timers:
            for tag, pending in effect.after.timers.items():
                if before.get(tag) is not pending:
                    heappush(self._heap_of(pending), (pending.point, tag))

    def _fail(self, failure: FailedTransition) -> None:
        if not self.stage.dead_letters:
            raise failure.error from failure.__cause__
        self.bad_records.append(bad_call(self.stage.label, failure))


def _settled(elements: list[Arrived]) -> list[Arrived]:
    """Returns elements in their order, without values and retractions that cancel out."""

    def by_value(element: Arrived) -> tuple[object, ...]:
        return element.time, sort_key(element.value)

    ordered = sorted(elements, key=by_value)
    if all(element.weight > 0 for element in ordered):
        return ordered
    left: list[Arrived] = []
    for _, group in groupby(ordered, key=by_value):
        alike = list(group)
        while alike:
            equal = [each for each in alike if same(each.value, alike[0].value)]
            alike = [each for each in alike if not same(each.value, equal[0].value)]
            net = sum(each.weight for each in equal)
            left += [each for each in equal if each.weight * net > 0][: abs(net)]
    return sorted(left, key=lambda each: (each.time, each.weight, sort_key(each.value)))


__all__ = [
    "DUE_TIME",
    "DUE_WATERMARK",
    "KEPT_HOLD",
    "ComputationOutput",
    "ComputationStage",
    "Kept",
    "compute",
]
