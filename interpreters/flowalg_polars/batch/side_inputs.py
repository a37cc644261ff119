"""Side inputs over bounded data: a join on the window where that is a column, else Python with the whole side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import polars as pl
from attrs import define
from flowalg_columns.checks.shapes import shape_with_side
from flowalg_columns.checks.values import NO_SINGLETON
from flowalg_columns.layout import Branch, flatten_columns, layout_of
from flowalg_columns.notes import LiftingNote, note_of
from flowalg_columns.python.side_values import SideValues
from flowalg_columns.values import read_elements
from flowalg_shard.step.window_assignment import assigned_in_columns, window_bounds
from flowalg_shard.tables.columns import END, EVENT_TIME, START

from flowalg.data.errors import ElementError
from flowalg.data.shapes import Shape, TupleOf
from flowalg.data.time import EventTime
from flowalg.data.values import sort_by_time
from flowalg.elementwise.steps import Step
from flowalg.lifting.analysis import StepAnalysis, analyse
from flowalg.lifting.lookups import lookups_of, steps_on_mapping
from flowalg.pipeline.nodes import WithSide
from flowalg.pipeline.side_inputs import NO_DEFAULT, AsMap, LatestComplete, View, window_read
from flowalg.windows.calendars import Calendar
from flowalg.windows.window import Window
from flowalg.windows.window_functions import FixedWindows, GlobalWindows, WindowFn
from flowalg_polars.batch.flow import Flow
from flowalg_polars.batch.lookups import lower_lookups
from flowalg_polars.columns import nest, polars_type, unnest
from flowalg_polars.lowering.programs import ENGINE, compile_analyses
from flowalg_polars.lowering.python_steps import apply_to_pairs, frame_schema, to_arrow

_SIDE: Final = "__side"
_COUNT: Final = "__side_count"


def lower_side_input(node: WithSide, main: Flow, side: Flow, steps: tuple[Step, ...]) -> Flow:
    """Returns each element with the value that it reads from a side input, after the given steps.

    The newest complete value is that of the window before: an as-of join of the windows of the elements.
    """
    shape = shape_with_side(main.shape, side.shape, node.view)
    view, windows = node.view, node.side.windowing.strategy.windows
    single = view.view if isinstance(view, LatestComplete) else view
    analyses = analyse(steps, shape)
    if not _in_columns(windows):
        return _in_python(node, main, side, shape, analyses)
    start = window_bounds(windows)[0]
    at = start if node.side.windowing.fresh else pl.col(START)
    if isinstance(view, AsMap):
        lookups = lookups_of(analyses, shape)
        if lookups is not None:
            return lower_lookups(lookups, main, side, start, at)
    if isinstance(single, AsMap) or not _has_literal(single.default):
        return _in_python(node, main, side, shape, analyses)
    values = side.frame.select(at.alias(_SIDE), nest(side.element).alias(_VALUE))
    by_window = values.group_by(_SIDE).agg(pl.col(_VALUE).first(), pl.len().alias(_COUNT))
    if isinstance(view, LatestComplete):
        windows_read = main.frame.select(start.alias(_SIDE)).unique().sort(_SIDE)
        by_window = windows_read.join_asof(by_window.sort(_SIDE), on=_SIDE, allow_exact_matches=False)
    joined = main.frame.with_columns(start.alias(_SIDE)).join(by_window, on=_SIDE, how="left")
    read = shape.items[1]
    kind = polars_type(read)

    def check(columns: Sequence[pl.Series]) -> pl.Series:
        read_values, counts = columns
        most = counts.max()
        if isinstance(most, int) and most > 1:
            raise ElementError(f"as_singleton() has {most} values in a window; it must have one")
        if counts.null_count() and single.default is NO_DEFAULT:
            raise ElementError(NO_SINGLETON)
        return read_values

    default = pl.lit(None if single.default is NO_DEFAULT else single.default).cast(kind)
    value = pl.when(pl.col(_COUNT).is_null()).then(default).otherwise(pl.col(_VALUE).cast(kind))
    checked = pl.map_batches([value, pl.col(_COUNT)], check, return_dtype=kind, is_elementwise=True)
    columns = Branch(shape, (main.element, unnest(checked, read)))
    frame = joined.select(*flatten_columns(columns, shape), *main.meta)
    flow = Flow(frame, shape, main.meta, (*main.notes, *side.notes))
    return flow.after(compile_analyses(analyses, shape, main.meta))


_VALUE: Final = "__side_value"


def _in_columns(windows: WindowFn) -> bool:
    return isinstance(windows, GlobalWindows | FixedWindows | Calendar) and assigned_in_columns(windows)


def _has_literal(default: object) -> bool:
    """Returns whether a default can be a literal of a column; true without a default."""
    return default is NO_DEFAULT or default is None or isinstance(default, bool | int | float | str)


def _in_python(node: WithSide, main: Flow, side: Flow, shape: TupleOf, steps: Sequence[StepAnalysis]) -> Flow:
    """Returns each element with the value that it reads, after the steps; those on a mapping run in the same pass."""
    together, after, others = steps_on_mapping(steps, shape)
    fresh = node.side.windowing.fresh
    reader = SideReader(
        side.frame, side.shape, node.side.windowing.strategy.windows, fresh, node.view, side.meta
    )
    apply = _ReadInPython(reader, main.shape, after, tuple(step.step for step in together), main.meta)
    frame = main.frame.map_batches(
        apply,
        schema=frame_schema(after, main.meta),
        streamable=True,
    )
    notes = (
        LiftingNote("with_side", "a side input that has no columns", None, ENGINE),
        *(note_of(step, ENGINE) for step in together),
    )
    flow = Flow(frame, after, main.meta, (*main.notes, *side.notes, *notes))
    return flow.after(compile_analyses(others, after, main.meta))


@define
class SideReader:
    """The values of a side input by window, collected when an element first reads one."""

    frame: pl.LazyFrame
    shape: Shape
    windows: WindowFn
    fresh: bool
    view: View
    meta: tuple[str, ...]
    _known: SideValues | None = None

    def read(self, time: int) -> object:
        """Returns the value that an element with this event time reads."""
        if self._known is None:
            self._known = SideValues(self.view, self.windows, self._collected())
        return self._known.read(time)

    def _collected(self) -> dict[Window, list[object]]:
        rows = self.frame.collect(engine="in-memory")
        values = read_elements(layout_of(self.shape), to_arrow(rows, self.shape, self.meta))
        timed = zip(rows[EVENT_TIME].to_list(), values, strict=True)
        by_window: dict[Window, list[tuple[int, object]]] = {}
        for window, value in zip(self._windows(rows), timed, strict=True):
            by_window.setdefault(window, []).append(value)
        return {window: sort_by_time(timed) for window, timed in by_window.items()}

    def _windows(self, rows: pl.DataFrame) -> list[Window]:
        if self.fresh:
            return [window_read(self.windows, EventTime(time)) for time in rows[EVENT_TIME].to_list()]
        bounds = rows.select(START, END).rows()
        return [Window(EventTime(start), EventTime(end)) for start, end in bounds]


@define
class _ReadInPython:
    reader: SideReader
    main: Shape
    after: Shape
    steps: tuple[Step, ...]
    meta: tuple[str, ...]

    def __call__(self, rows: pl.DataFrame) -> pl.DataFrame:
        read = map(self.reader.read, rows[EVENT_TIME].to_list())
        return apply_to_pairs(rows, read, self.steps, (self.main, self.after), self.meta, "with_side")
