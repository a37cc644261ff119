"""Elements paired with the values of a side input, for one shard (rules: ``flowalg.pipeline.side_inputs``).

The side is broadcast to all shards, and each shard has a share of the elements. So a side must fit in the memory of a
worker.
"""

from __future__ import annotations

import pickle
from collections.abc import Mapping, Sequence
from typing import Final

import polars as pl
from attrs import field, frozen

from flowalg.data.time import MAX_TIME, EventTime
from flowalg.pipeline.side_inputs import View, window_read
from flowalg.runs.panes import DropReason, dropped_key
from flowalg.windows.window import Window
from flowalg.windows.window_functions import WindowFn
from flowalg_shard.step.object_contents import KeptValue, ValueList
from flowalg_shard.step.window_assignment import assign_windows, assigned_in_columns
from flowalg_shard.tables.columns import END, EVENT_TIME, START, VALUE, WEIGHT
from flowalg_shard.tables.packing import stack

READ_START: Final = "__read_start"
READ_END: Final = "__read_end"
"""The window of the side that an element reads."""


@frozen
class SideStage:
    """A compiled side input. If ``fresh`` it assigns windows; otherwise its elements bring their windows."""

    label: str
    view: View
    windows: WindowFn
    fresh: bool


@frozen
class SideState:
    """The state of a shard: the contents of open side windows, the values of complete ones, and waiting elements."""

    contents: Mapping[Window, ValueList] = field(factory=dict)
    values: Mapping[Window, object] = field(factory=dict)
    waiting: pl.DataFrame = field(factory=pl.DataFrame)


@frozen
class LateSideElement:
    """An element of the side that arrived after its window was complete."""

    value: object
    window: Window

    reason = DropReason.CLOSED

    @property
    def key(self) -> object:
        """The key, if the value is a pair; otherwise the value."""
        return dropped_key(self.value)


@frozen
class SideOutput:
    """The elements that have finished waiting, with ``READ_START``, and the value of each side window they read.

    ``hold`` is the earliest event time of the elements that still wait.
    """

    passed: pl.DataFrame
    values: Mapping[EventTime, object]
    drops: tuple[LateSideElement, ...]
    hold: EventTime


def read_side(
    stage: SideStage,
    state: SideState,
    elements: pl.DataFrame,
    side: pl.DataFrame,
    before: EventTime,
    watermark: EventTime,
) -> tuple[SideState, SideOutput]:
    """Advances by one instant; ``before`` and ``watermark`` are the watermark of the side before and after it.

    ``elements`` have an event time and any other columns. ``side`` has pickled values, event times and weights, and
    windows unless it is fresh.
    """
    contents, drops = _absorb(stage, state.contents, side, before)
    known = stack([state.waiting, _with_read_window(stage.windows, elements)])
    if known.is_empty():
        return SideState(contents, state.values), SideOutput(known, {}, drops, MAX_TIME)
    is_complete = pl.col(READ_END) <= watermark
    passed, waiting = known.filter(is_complete), known.filter(~is_complete)
    complete = dict(state.values)
    values: dict[EventTime, object] = {}
    for start, end in passed.select(READ_START, READ_END).unique().sort(READ_START).iter_rows():
        window = Window(EventTime(start), EventTime(end))
        if window not in complete:
            complete[window] = _value(stage, window, contents.pop(window, ValueList()))
        values[window.start] = complete[window]
    hold = EventTime(waiting.select(pl.col(EVENT_TIME).min()).item()) if waiting.height else MAX_TIME
    return SideState(contents, complete, waiting), SideOutput(passed.drop(READ_END), values, drops, hold)


def _absorb(
    stage: SideStage, contents: Mapping[Window, ValueList], side: pl.DataFrame, before: EventTime
) -> tuple[dict[Window, ValueList], tuple[LateSideElement, ...]]:
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
                after[window] = ValueList([*values.values], values.unmatched_retractions)
            after[window].add(KeptValue(value, time, weight))
        else:
            drops.append(LateSideElement(value, window))
    return after, tuple(drops)


def _window(windows: WindowFn, point: EventTime, bounds: Sequence[int]) -> Window:
    if not bounds:
        return window_read(windows, point)
    start, end = bounds
    return Window(EventTime(start), EventTime(end))


def _value(stage: SideStage, window: Window, contents: ValueList) -> object:
    ordered = sorted(contents.values, key=lambda kept: kept.event_time)
    return stage.view.read([kept.value for kept in ordered if kept.weight > 0], window)


def _with_read_window(windows: WindowFn, elements: pl.DataFrame) -> pl.DataFrame:
    """Returns the elements with the windows of the side that they read."""
    if elements.is_empty():
        return elements
    points = elements.select(pl.col(EVENT_TIME).unique())
    if assigned_in_columns(windows):
        known = assign_windows(windows, points)
    else:
        read = [window_read(windows, EventTime(point)) for point in points[EVENT_TIME].to_list()]
        bounds = {START: [window.start for window in read], END: [window.end for window in read]}
        known = points.with_columns(pl.Series(name, times, pl.Int64()) for name, times in bounds.items())
    named = known.rename({START: READ_START, END: READ_END})
    return elements.join(named, on=EVENT_TIME, how="left", maintain_order="left")


__all__ = ["READ_START", "LateSideElement", "SideOutput", "SideStage", "SideState", "read_side"]
