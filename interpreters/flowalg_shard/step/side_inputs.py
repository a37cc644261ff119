"""Elements beside what they read of a side input, for the elements of one shard (the rules are in ``flowalg.sides``).

Every shard hears all of the side, and a share of the elements; so a side must fit into the memory of a worker.
"""

from __future__ import annotations

import pickle
from collections.abc import Mapping, Sequence
from typing import Final

import polars as pl
from attrs import field, frozen

from flowalg.data.kv import KV
from flowalg.data.time import MAX_TIME, EventTime
from flowalg.pipeline.side_inputs import View, window_read
from flowalg.runs.panes import DropReason
from flowalg.windows.window import Window
from flowalg.windows.window_functions import WindowFn
from flowalg_shard.step.object_contents import KeptValue, ValueList
from flowalg_shard.step.window_assignment import assign_windows, assigned_in_columns
from flowalg_shard.tables.columns import END, EVENT_TIME, START, VALUE, WEIGHT
from flowalg_shard.tables.packing import stack

READ_START: Final = "__read_start"
READ_END: Final = "__read_end"
"""Of an element: the window of the side that it reads."""


@frozen
class SideStage:
    """A side input, compiled. ``fresh`` says that its elements are still to be assigned windows."""

    label: str
    view: View
    windows: WindowFn
    fresh: bool


@frozen
class SideState:
    """What a shard remembers: what the side's windows hold, what has been read, and the elements that wait."""

    lines: Mapping[Window, ValueList] = field(factory=dict)
    read: Mapping[Window, object] = field(factory=dict)
    waiting: pl.DataFrame = field(factory=pl.DataFrame)


@frozen
class LateForSide:
    """An element of the side that came when its window had been complete."""

    value: object
    window: Window

    reason = DropReason.CLOSED

    @property
    def key(self) -> object:
        """The key of a pair; of anything else itself."""
        return self.value.key if isinstance(self.value, KV) else self.value


@frozen
class Beside:
    """The elements that are done waiting, with ``READ_START``; and what each of these windows of the side comes to.

    ``hold`` is the least event time of those that still wait.
    """

    passed: pl.DataFrame
    readings: Mapping[EventTime, object]
    drops: tuple[LateForSide, ...]
    hold: EventTime


def read_side(
    stage: SideStage,
    state: SideState,
    elements: pl.DataFrame,
    side: pl.DataFrame,
    before: EventTime,
    watermark: EventTime,
) -> tuple[SideState, Beside]:
    """One instant: ``before`` and ``watermark`` are the side's own, before and after the instant.

    ``elements`` have an event time and whatever else is theirs; ``side`` has pickled values, event times and weights,
    and where it is not fresh the windows.
    """
    lines, drops = _absorbed(stage, state.lines, side, before)
    known = stack([state.waiting, _placed(stage.windows, elements)])
    if known.is_empty():
        return SideState(lines, state.read), Beside(known, {}, drops, MAX_TIME)
    done = pl.col(READ_END) <= watermark
    passed, waiting = known.filter(done), known.filter(~done)
    read = dict(state.read)
    readings: dict[EventTime, object] = {}
    for start, end in passed.select(READ_START, READ_END).unique().sort(READ_START).iter_rows():
        window = Window(end=EventTime(end), start=EventTime(start))
        if window not in read:
            read[window] = _reading(stage, window, lines.pop(window, ValueList()))
        readings[window.start] = read[window]
    hold = EventTime(waiting.select(pl.col(EVENT_TIME).min()).item()) if waiting.height else MAX_TIME
    return SideState(lines, read, waiting), Beside(passed.drop(READ_END), readings, drops, hold)


def _absorbed(
    stage: SideStage, lines: Mapping[Window, ValueList], side: pl.DataFrame, before: EventTime
) -> tuple[dict[Window, ValueList], tuple[LateForSide, ...]]:
    """What the side's windows hold with what has come, less what is late for a window that has been complete."""
    found = dict(lines)
    mine = set[Window]()
    drops = []
    columns = [VALUE, EVENT_TIME, WEIGHT, *(() if stage.fresh else (START, END))]
    for packed, point, weight, *bounds in side.select(columns).iter_rows() if side.height else ():
        value, time = pickle.loads(packed), EventTime(point)  # of our own making
        window = _window(stage.windows, time, bounds)
        if window.end > before:
            if window not in mine:
                mine.add(window)
                line = lines.get(window, ValueList())
                found[window] = ValueList([*line.values], line.unmatched_retractions)
            found[window].add(KeptValue(value, time, weight))
        else:
            drops.append(LateForSide(value, window))
    return found, tuple(drops)


def _window(windows: WindowFn, point: EventTime, bounds: Sequence[int]) -> Window:
    if not bounds:
        return window_read(windows, point)
    start, end = bounds
    return Window(end=EventTime(end), start=EventTime(start))


def _reading(stage: SideStage, window: Window, line: ValueList) -> object:
    values = [one.value for one in sorted(line.values, key=lambda one: one.event_time) if one.weight > 0]
    return stage.view.read(values, window)


def _placed(windows: WindowFn, elements: pl.DataFrame) -> pl.DataFrame:
    """The elements, each with the window of the side that it reads."""
    if elements.is_empty():
        return elements
    points = elements.select(pl.col(EVENT_TIME).unique())
    if assigned_in_columns(windows):
        known = assign_windows(windows, points)
    else:
        found = [window_read(windows, EventTime(point)) for point in points[EVENT_TIME].to_list()]
        bounds = {START: [one.start for one in found], END: [one.end for one in found]}
        known = points.with_columns(pl.Series(name, each, pl.Int64()) for name, each in bounds.items())
    named = known.rename({START: READ_START, END: READ_END})
    return elements.join(named, on=EVENT_TIME, how="left", maintain_order="left")


__all__ = ["READ_START", "Beside", "LateForSide", "SideStage", "SideState", "read_side"]
