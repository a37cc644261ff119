"""Elements paired with the values of a side input, for one shard (rules: ``flowalg.pipeline.side_inputs``).

The side is broadcast to all shards, and each shard has a share of the elements. So a side must fit in the memory of a
worker.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Final

import polars as pl
from attrs import field, frozen

from flowalg.data.shapes import Shape
from flowalg.data.time import MAX_TIME, MIN_TIME, EventTime, ProcessingTime
from flowalg.data.values import sort_by_time
from flowalg.pipeline.nodes import WithSide, shape_read
from flowalg.pipeline.side_inputs import AsMap, Lateness, LatestComplete, Singleton, View, window_read
from flowalg.pipeline.structure import lateness_of_readers
from flowalg.runs.panes import Change, DroppedElement, DropReason, dropped_key
from flowalg.serialization.stored import read, store_value
from flowalg.windows.window import Window
from flowalg.windows.window_functions import WindowFn
from flowalg_shard.contents.objects import KeptValue, ValueList, remaining
from flowalg_shard.step.window_assignment import assign_windows, assigned_in_columns
from flowalg_shard.tables.columns import CHANGE, END, EVENT_TIME, START, VALUE, WEIGHT
from flowalg_shard.tables.packing import stack

READ_START: Final = "__read_start"
READ_END: Final = "__read_end"
"""The window of the side that an element reads."""


@frozen
class SideStage:
    """A compiled side input. If ``fresh`` it assigns windows; otherwise its elements bring their windows.

    ``lateness`` is that of the elements that read it, and ``shape`` that of what they read.
    """

    label: str
    view: View
    windows: WindowFn
    fresh: bool
    lateness: Lateness | None
    shape: Shape | None

    @classmethod
    def of(cls, node: WithSide) -> SideStage:
        """Returns the side input of a node."""
        effective = node.side.windowing
        lateness = lateness_of_readers(node)
        shape = shape_read(node.view, node.side.shape)
        return cls(node.label, node.view, effective.strategy.windows, effective.fresh, lateness, shape)

    @property
    def time_read(self) -> str:
        """The column with the watermark of the side at which an element can read it."""
        return READ_START if isinstance(self.view, LatestComplete) else READ_END

    def horizon(self, watermark: EventTime) -> EventTime:
        """Returns the least event time that elements which are not too late may have, at a watermark."""
        return MIN_TIME if self.lateness is None else self.lateness.horizon(watermark)


@frozen
class Watermarks:
    """The watermarks of the elements and of the side."""

    elements: EventTime
    side: EventTime


@frozen
class SideState:
    """The state of a shard: the contents of side windows, the values that elements read of others, waiting elements.

    The contents are a bag of stored values with their event times, weights and windows. Stored values are of windows
    that elements have read; for ``LatestComplete`` of all complete ones, in order.
    """

    contents: pl.DataFrame = field(factory=pl.DataFrame)
    values: Mapping[Window, bytes] = field(factory=dict)
    waiting: pl.DataFrame = field(factory=pl.DataFrame)

    @property
    def windows(self) -> int:
        """The number of windows, open and complete ones."""
        return len(_windows_in(self.contents, START, END)) + len(self.values)


@frozen
class LateElement:
    """An element that a side input dropped: of the side, for a window that was complete, or one that was to read it.

    ``window`` is that of the side which contains its event time, and ``before`` the watermark of its input before the
    instant. The elements that read are of input 0, and those of the side of input 1.
    """

    value: object
    window: Window
    reason: DropReason
    event_time: EventTime
    before: EventTime
    change: Change
    input: int = 0

    @property
    def key(self) -> object:
        """The key, if the value is a pair; otherwise the value."""
        return dropped_key(self.value)

    def dropped(self, stage: str, time: ProcessingTime) -> DroppedElement:
        """Returns the element as data, dropped at a processing time by a stage with a label."""
        return DroppedElement(
            self.key,
            self.window,
            self.reason,
            time,
            self.value,
            self.event_time,
            self.before,
            self.change,
            stage,
            input=self.input,
        )


@frozen
class SideDrops:
    """The late elements of the side, and the elements that were too late to read it, with their window of the side.

    The side is that of all shards, and the elements are those of one. ``before`` is the watermark of the elements
    before the instant.
    """

    side: tuple[LateElement, ...] = ()
    elements: pl.DataFrame = field(factory=pl.DataFrame)
    before: EventTime = MIN_TIME

    def __bool__(self) -> bool:
        return bool(self.side) or not self.elements.is_empty()

    @property
    def counts(self) -> Counter[str]:
        """Their number by reason."""
        of_side = Counter(late.reason.value for late in self.side)
        return of_side + Counter({DropReason.EXPIRED.value: self.elements.height})

    def late_elements(self, values: Iterable[object]) -> list[LateElement]:
        """Returns the elements that were too late, given their values."""
        if self.elements.is_empty():
            return []
        change = pl.col(CHANGE) if CHANGE in self.elements.columns else pl.lit(Change.VALUE.value)
        facts = self.elements.select(READ_START, READ_END, EVENT_TIME, change.alias(CHANGE)).iter_rows()
        return [
            LateElement(
                value,
                Window(EventTime(start), EventTime(end)),
                DropReason.EXPIRED,
                EventTime(time),
                self.before,
                Change(sign),
            )
            for value, (start, end, time, sign) in zip(values, facts, strict=True)
        ]


@frozen
class SideOutput:
    """The elements that have finished waiting, with ``READ_START``, and the value of each side window they read.

    ``hold`` is the earliest event time of the elements that still wait.
    """

    passed: pl.DataFrame
    values: Mapping[EventTime, object]
    drops: SideDrops
    hold: EventTime


def read_side(
    stage: SideStage,
    state: SideState,
    elements: pl.DataFrame,
    side: pl.DataFrame,
    before: Watermarks,
    now: Watermarks,
) -> tuple[SideState, SideOutput]:
    """Advances by one instant; ``before`` and ``now`` are the watermarks before and after it.

    ``elements`` have an event time and any other columns. ``side`` has stored values, event times and weights, and
    windows unless it is fresh.
    """
    contents, late = _absorb(stage, state.contents, side, before.side)
    arrived = _with_window(stage.windows, elements, READ_START, READ_END)
    in_time, expired = _divided(arrived, pl.col(EVENT_TIME) >= stage.horizon(before.elements))
    candidates = stack([state.waiting, in_time])
    passed, waiting = _divided(candidates, pl.col(stage.time_read) <= now.side)
    horizon = stage.horizon(now.elements)
    read = _windows_in(passed, READ_START, READ_END)
    match stage.view:
        case LatestComplete() as view:
            closed, open_windows = _divided(contents, pl.col(END) <= now.side)
            complete = _with_complete_windows(stage, view, by_window(closed), state.values)
            values = _latest_values(stage, view, complete, read)
            after = SideState(open_windows, _from_newest_before(complete, horizon), waiting)
        case view:
            parts = by_window(contents)
            values, complete = _values_of_windows(stage, view, parts, state.values, read)
            awaited = {*_windows_in(waiting, READ_START, READ_END)}
            kept = [part for window, part in parts.items() if window.end > horizon or window in awaited]
            needed = {window: stored for window, stored in complete.items() if window.end > horizon}
            after = SideState(stack(kept), needed, waiting)
    hold = EventTime(waiting.select(pl.col(EVENT_TIME).min()).item()) if waiting.height else MAX_TIME
    output = SideOutput(
        passed.drop(READ_END, strict=False), values, SideDrops(late, expired, before.elements), hold
    )
    return after, output


def _values_of_windows(
    stage: SideStage,
    view: Singleton | AsMap,
    contents: dict[Window, pl.DataFrame],
    stored: Mapping[Window, bytes],
    windows: Sequence[Window],
) -> tuple[dict[EventTime, object], dict[Window, bytes]]:
    """Returns the values of complete windows, by their start, and stored; takes the windows from the contents."""
    complete = dict(stored)
    values: dict[EventTime, object] = {}
    for window in windows:
        if window in complete:
            values[window.start] = _read(stage.shape, complete[window])
        else:
            value = view.read(_values(contents.pop(window, pl.DataFrame())), window)
            values[window.start], complete[window] = value, store_value(stage.label, _VALUE, value)
    return values, complete


def _with_complete_windows(
    stage: SideStage,
    view: LatestComplete,
    closed: Mapping[Window, pl.DataFrame],
    stored: Mapping[Window, bytes],
) -> dict[Window, bytes]:
    """Returns what is known after each complete window, in order, given the contents of those that are complete now."""
    complete = dict(stored)
    newest = _read(stage.shape, complete[max(complete)]) if closed and complete else view.initial
    for window in sorted(closed):
        values = _values(closed[window])
        if values:
            newest = view.update(newest, values, window)
            complete[window] = store_value(stage.label, _VALUE, newest)
    return complete


def _latest_values(
    stage: SideStage, view: LatestComplete, complete: Mapping[Window, bytes], windows: Iterable[Window]
) -> dict[EventTime, object]:
    """Returns what elements in some windows read, by the start of the window."""
    values, ends = [*complete.values()], [window.end for window in complete]

    def stored_before(start: EventTime) -> object:
        number = bisect_right(ends, start)
        return _read(stage.shape, values[number - 1]) if number else view.initial

    return {window.start: view.read(stored_before(window.start), window) for window in windows}


_VALUE: Final = "a value of its side input"


@lru_cache(maxsize=4)
def _read(shape: Shape | None, stored: bytes) -> object:
    """Returns a stored value, the same one in each instant that reads it.

    It depends on the ``shape`` too: in one process, a query may be started again with a new class of the same name.
    """
    del shape
    return read(stored, object)


def _from_newest_before(complete: Mapping[Window, bytes], horizon: EventTime) -> dict[Window, bytes]:
    """Returns the complete windows without those that end before the newest which ends at or before the horizon."""
    first = max((window.end for window in complete if window.end <= horizon), default=MIN_TIME)
    return {window: value for window, value in complete.items() if window.end >= first}


def _divided(rows: pl.DataFrame, condition: pl.Expr) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Returns the rows for which a condition is true, and the others. A table without rows may lack its columns."""
    return (rows, rows) if rows.is_empty() else (rows.filter(condition), rows.filter(~condition))


def _windows_in(rows: pl.DataFrame, start: str, end: str) -> list[Window]:
    """Returns the windows whose bounds are in two columns, in order."""
    if rows.is_empty():
        return []
    bounds = rows.select(start, end).unique().sort(start, end)
    return [Window(EventTime(first), EventTime(last)) for first, last in bounds.iter_rows()]


def by_window(contents: pl.DataFrame) -> dict[Window, pl.DataFrame]:
    """Returns the rows of each window."""
    if contents.is_empty():
        return {}
    parts = contents.partition_by(START, END, maintain_order=True, as_dict=True)
    return {Window(EventTime(start), EventTime(end)): part for (start, end), part in parts.items()}


def _absorb(
    stage: SideStage, contents: pl.DataFrame, side: pl.DataFrame, before: EventTime
) -> tuple[pl.DataFrame, tuple[LateElement, ...]]:
    """Returns the contents of side windows with the new elements, and the late elements."""
    if side.is_empty():
        return contents, ()
    placed = _with_window(stage.windows, side, START, END) if stage.fresh else side
    rows = placed.select(VALUE, EVENT_TIME, WEIGHT, START, END)
    in_time, late = _divided(rows, pl.col(END) > before)
    after = stack([contents, in_time])
    if in_time.select((pl.col(WEIGHT) < 0).any()).item():
        after = _without_opposites(after)
    drops = late.select(VALUE, START, END, EVENT_TIME, WEIGHT).iter_rows()
    return after, tuple(
        LateElement(
            read(value, object),
            Window(EventTime(start), EventTime(end)),
            DropReason.CLOSED,
            EventTime(time),
            before,
            Change.of(weight),
            input=1,
        )
        for value, start, end, time, weight in drops
    )


def _without_opposites(rows: pl.DataFrame) -> pl.DataFrame:
    """Returns the contents without values beside their retractions of the same event time, as far as bytes tell."""
    by = [VALUE, EVENT_TIME, START, END]
    positive = pl.col(WEIGHT) > 0
    cancelled = pl.min_horizontal(positive.sum().over(by), (~positive).sum().over(by))
    return rows.filter(pl.int_range(pl.len()).over([*by, WEIGHT]) >= cancelled)


def _values(rows: pl.DataFrame) -> list[object]:
    """Returns the values in the rows of a window, in order."""
    if rows.is_empty():
        return []
    contents = ValueList()
    for value, time, weight in rows.select(VALUE, EVENT_TIME, WEIGHT).iter_rows():
        contents.add(KeptValue(read(value, object), EventTime(time), weight))
    return sort_by_time(
        (kept.event_time, kept.value) for kept in remaining(contents.values) if kept.weight > 0
    )


def _with_window(windows: WindowFn, rows: pl.DataFrame, start: str, end: str) -> pl.DataFrame:
    """Returns rows with the window of the side that contains their event time, in two columns."""
    if rows.is_empty():
        return rows
    points = rows.select(pl.col(EVENT_TIME).unique())
    if assigned_in_columns(windows):
        assigned = assign_windows(windows, points)
    else:
        read = [window_read(windows, EventTime(point)) for point in points[EVENT_TIME].to_list()]
        bounds = {START: [window.start for window in read], END: [window.end for window in read]}
        assigned = points.with_columns(pl.Series(name, times, pl.Int64()) for name, times in bounds.items())
    named = assigned.rename({START: start, END: end})
    return rows.join(named, on=EVENT_TIME, how="left", maintain_order="left")
