"""Elements paired with the values of a side input, for one shard (rules: ``flowalg.pipeline.side_inputs``).

The side is broadcast to all shards, and each shard has a share of the elements. So a side must fit in the memory of a
worker.
"""

from __future__ import annotations

import pickle
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, TypeAlias

import polars as pl
from attrs import field, frozen

from flowalg.data.time import MAX_TIME, MIN_TIME, EventTime
from flowalg.data.values import sort_by_time
from flowalg.pipeline.nodes import WithSide
from flowalg.pipeline.side_inputs import AsMap, Lateness, LatestComplete, Singleton, View, window_read
from flowalg.pipeline.structure import lateness_of_readers
from flowalg.runs.panes import DropReason, dropped_key
from flowalg.windows.window import Window
from flowalg.windows.window_functions import WindowFn
from flowalg_shard.contents.objects import KeptValue, ValueList, remaining
from flowalg_shard.step.window_assignment import assign_windows, assigned_in_columns
from flowalg_shard.tables.columns import END, EVENT_TIME, START, VALUE, WEIGHT
from flowalg_shard.tables.packing import stack

READ_START: Final = "__read_start"
READ_END: Final = "__read_end"
"""The window of the side that an element reads."""


@frozen
class SideStage:
    """A compiled side input. If ``fresh`` it assigns windows; otherwise its elements bring their windows.

    ``lateness`` is that of the elements that read it.
    """

    label: str
    view: View
    windows: WindowFn
    fresh: bool
    lateness: Lateness | None

    @classmethod
    def of(cls, node: WithSide) -> SideStage:
        """The side input of a node."""
        effective = node.side.windowing
        lateness = lateness_of_readers(node)
        return cls(node.label, node.view, effective.strategy.windows, effective.fresh, lateness)

    @property
    def time_read(self) -> str:
        """The column with the watermark of the side at which an element can read it."""
        return READ_START if isinstance(self.view, LatestComplete) else READ_END

    def horizon(self, watermark: EventTime) -> EventTime:
        """The least event time that elements which are not too late may have, at a watermark."""
        return MIN_TIME if self.lateness is None else self.lateness.horizon(watermark)


@frozen
class Watermarks:
    """The watermarks of the elements and of the side."""

    elements: EventTime
    side: EventTime


@frozen
class SideState:
    """The state of a shard: the contents of side windows, the values that elements read of others, waiting elements.

    Values are of windows that elements have read; for ``LatestComplete`` of all complete ones, in order.
    """

    contents: Mapping[Window, ValueList] = field(factory=dict)
    values: Mapping[Window, object] = field(factory=dict)
    waiting: pl.DataFrame = field(factory=pl.DataFrame)


PackedSide: TypeAlias = tuple[Mapping[Window, ValueList], Mapping[Window, object], bytes]
"""A ``SideState`` whose elements are packed."""


@frozen
class LateElement:
    """An element that a side input dropped: of the side, for a window that was complete, or one that was to read it.

    ``window`` is that of the side which contains its event time.
    """

    value: object
    window: Window
    reason: DropReason

    @property
    def key(self) -> object:
        """The key, if the value is a pair; otherwise the value."""
        return dropped_key(self.value)


@frozen
class SideDrops:
    """The late elements of the side, and the elements that were too late to read it, with their window of the side.

    The side is that of all shards, and the elements are those of one.
    """

    side: tuple[LateElement, ...] = ()
    elements: pl.DataFrame = field(factory=pl.DataFrame)

    def __bool__(self) -> bool:
        return bool(self.side) or not self.elements.is_empty()

    @property
    def counts(self) -> Counter[str]:
        """Their number by reason."""
        of_side = Counter(late.reason.value for late in self.side)
        return of_side + Counter({DropReason.EXPIRED.value: self.elements.height})

    def late_elements(self, values: Iterable[object]) -> list[LateElement]:
        """The elements that were too late, given their values."""
        if self.elements.is_empty():
            return []
        bounds = self.elements.select(READ_START, READ_END).iter_rows()
        return [
            LateElement(value, Window(EventTime(start), EventTime(end)), DropReason.EXPIRED)
            for value, (start, end) in zip(values, bounds, strict=True)
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

    ``elements`` have an event time and any other columns. ``side`` has pickled values, event times and weights, and
    windows unless it is fresh.
    """
    contents, late = _absorb(stage, state.contents, side, before.side)
    arrived = _with_read_window(stage.windows, elements)
    in_time, expired = _divided(arrived, pl.col(EVENT_TIME) >= stage.horizon(before.elements))
    candidates = stack([state.waiting, in_time])
    passed, waiting = _divided(candidates, pl.col(stage.time_read) <= now.side)
    horizon = stage.horizon(now.elements)
    match stage.view:
        case LatestComplete() as view:
            complete = _with_complete_windows(view, contents, state.values, now.side)
            values = _latest_values(view, complete, _windows_read(passed))
            after = SideState(contents, _from_newest_before(complete, horizon), waiting)
        case view:
            complete = dict(state.values)
            values = _values_of_windows(view, contents, complete, _windows_read(passed))
            awaited = {*_windows_read(waiting)}
            after = SideState(
                {
                    window: value_list
                    for window, value_list in contents.items()
                    if window.end > horizon or window in awaited
                },
                {window: value for window, value in complete.items() if window.end > horizon},
                waiting,
            )
    hold = EventTime(waiting.select(pl.col(EVENT_TIME).min()).item()) if waiting.height else MAX_TIME
    output = SideOutput(passed.drop(READ_END, strict=False), values, SideDrops(late, expired), hold)
    return after, output


def _values_of_windows(
    view: Singleton | AsMap,
    contents: dict[Window, ValueList],
    complete: dict[Window, object],
    windows: Sequence[Window],
) -> dict[EventTime, object]:
    """Returns the values of complete windows, by their start; moves them from the contents to the complete ones."""
    for window in windows:
        if window not in complete:
            complete[window] = view.read(_values(contents.pop(window, ValueList())), window)
    return {window.start: complete[window] for window in windows}


def _with_complete_windows(
    view: LatestComplete,
    contents: dict[Window, ValueList],
    stored: Mapping[Window, object],
    watermark: EventTime,
) -> dict[Window, object]:
    """Returns what is known after each complete window, in order; takes the windows from the contents."""
    complete = dict(stored)
    newest = complete[max(complete)] if complete else view.initial
    for window in sorted(window for window in contents if window.end <= watermark):
        values = _values(contents.pop(window))
        if values:
            complete[window] = newest = view.update(newest, values, window)
    return complete


def _latest_values(
    view: LatestComplete, complete: Mapping[Window, object], windows: Iterable[Window]
) -> dict[EventTime, object]:
    """Returns what elements in some windows read, by the start of the window."""
    values, ends = [view.initial, *complete.values()], [window.end for window in complete]
    return {window.start: view.read(values[bisect_right(ends, window.start)], window) for window in windows}


def _from_newest_before(complete: Mapping[Window, object], horizon: EventTime) -> dict[Window, object]:
    """Returns the complete windows without those that end before the newest which ends at or before the horizon."""
    first = max((window.end for window in complete if window.end <= horizon), default=MIN_TIME)
    return {window: value for window, value in complete.items() if window.end >= first}


def _divided(rows: pl.DataFrame, condition: pl.Expr) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Returns the rows for which a condition is true, and the others. A table without rows may lack its columns."""
    return (rows, rows) if rows.is_empty() else (rows.filter(condition), rows.filter(~condition))


def _windows_read(rows: pl.DataFrame) -> list[Window]:
    """Returns the windows of the side that elements read, in order."""
    if rows.is_empty():
        return []
    bounds = rows.select(READ_START, READ_END).unique().sort(READ_START)
    return [Window(EventTime(start), EventTime(end)) for start, end in bounds.iter_rows()]


def _absorb(
    stage: SideStage, contents: Mapping[Window, ValueList], side: pl.DataFrame, before: EventTime
) -> tuple[dict[Window, ValueList], tuple[LateElement, ...]]:
    """Returns the contents of side windows with the new elements, and the late elements."""
    after = dict(contents)
    copied = set[Window]()
    drops = []
    columns = [VALUE, EVENT_TIME, WEIGHT, *(() if stage.fresh else (START, END))]
    for packed, point, weight, *bounds in side.select(columns).iter_rows() if side.height else ():
        value, time = pickle.loads(packed), EventTime(point)  # trusted: pickled by the engine
        window = _window(stage.windows, time, bounds)
        if window.end > before:
            if window not in copied:
                copied.add(window)
                values = contents.get(window, ValueList())
                after[window] = ValueList([*values.values], values.retractions)
            after[window].add(KeptValue(value, time, weight))
        else:
            drops.append(LateElement(value, window, DropReason.CLOSED))
    return after, tuple(drops)


def _window(windows: WindowFn, point: EventTime, bounds: Sequence[int]) -> Window:
    if not bounds:
        return window_read(windows, point)
    start, end = bounds
    return Window(EventTime(start), EventTime(end))


def _values(contents: ValueList) -> list[object]:
    return sort_by_time(
        (kept.event_time, kept.value) for kept in remaining(contents.values) if kept.weight > 0
    )


def _with_read_window(windows: WindowFn, elements: pl.DataFrame) -> pl.DataFrame:
    """Returns the elements with the windows of the side that they read."""
    if elements.is_empty():
        return elements
    points = elements.select(pl.col(EVENT_TIME).unique())
    if assigned_in_columns(windows):
        assigned = assign_windows(windows, points)
    else:
        read = [window_read(windows, EventTime(point)) for point in points[EVENT_TIME].to_list()]
        bounds = {START: [window.start for window in read], END: [window.end for window in read]}
        assigned = points.with_columns(pl.Series(name, times, pl.Int64()) for name, times in bounds.items())
    named = assigned.rename({START: READ_START, END: READ_END})
    return elements.join(named, on=EVENT_TIME, how="left", maintain_order="left")
