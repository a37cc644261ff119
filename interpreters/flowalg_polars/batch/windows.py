"""Windows as columns: a row for each element and window."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from math import gcd
from typing import Final

import polars as pl
from attrs import evolve, frozen
from flowalg_columns.layout import key_and_value, layout_of, leaf_columns
from flowalg_columns.python.windows import AssignWindows, MergeWindows, Values
from flowalg_shard.step.window_assignment import (
    assigned_in_columns,
    end_from_start,
    window_bounds,
    without_repeated_starts,
)
from flowalg_shard.tables.columns import END, EVENT_TIME, START

from flowalg.data.shapes import Shape
from flowalg.data.time import MAX_TIME, MIN_TIME
from flowalg.windows.calendars import Calendar
from flowalg.windows.window_functions import (
    FixedWindows,
    GlobalWindows,
    Sessions,
    SlidingWindows,
    WindowFn,
    as_merging,
)
from flowalg_polars.batch.flow import Flow
from flowalg_polars.lowering.python_steps import arrow_schema, frame_schema, from_arrow, to_arrow

_MICROSECOND: Final = timedelta(microseconds=1)
ISLAND: Final = "__island"
"""The number of a session, in order of key and time."""


@frozen
class WindowedFlow:
    """A flow in windows: the columns that identify a window of a key, and the start and end of a window.

    ``start`` and ``end`` are expressions over the columns in ``by``. ``end`` is ``None`` if it depends on the latest
    event time in the window; ``end_of`` then computes it. With ``island``, rows are sorted by key and time, and one
    column numbers the windows of all keys.
    """

    flow: Flow
    by: tuple[str, ...]
    start: pl.Expr
    end: pl.Expr | None
    end_of: Callable[[pl.Expr], pl.Expr] | None = None
    island: bool = False


def assign_windows(
    flow: Flow, windows: WindowFn, *, fresh: bool, label: str, values: Values = Values.PLAIN
) -> WindowedFlow:
    """Returns a flow of pairs in windows; if not ``fresh``, elements keep the windows that they have.

    ``values`` says how those of the pairs lie. Errors of window functions have the ``label`` of the grouping.
    """
    if not fresh:
        by = () if isinstance(windows, GlobalWindows) else (START, END)
        return WindowedFlow(flow, by, pl.col(START), pl.col(END)) if by else _global(flow)
    match windows:
        case GlobalWindows():
            return _global(flow)
        case Sessions(gap=gap) if assigned_in_columns(windows):
            return _sessions(flow, gap // _MICROSECOND)
        case SlidingWindows() if assigned_in_columns(windows):
            return _sliding(flow, flow.frame, EVENT_TIME, windows)
        case FixedWindows() | Calendar() if assigned_in_columns(windows):
            start = window_bounds(windows)[0]
            spread = evolve(flow, frame=flow.frame.with_columns(start), meta=_with(flow.meta, START))
            return WindowedFlow(spread, (START,), pl.col(START), end_from_start(windows))
        case _:
            return _in_python(flow, windows, label, values)


def _with(meta: tuple[str, ...], *names: str) -> tuple[str, ...]:
    return (*meta, *(name for name in names if name not in meta))


def _global(flow: Flow) -> WindowedFlow:
    return WindowedFlow(flow, (), pl.lit(MIN_TIME, pl.Int64()), pl.lit(MAX_TIME, pl.Int64()))


def _sliding(flow: Flow, frame: pl.LazyFrame, point: str, windows: SlidingWindows) -> WindowedFlow:
    """Returns a row for each row and window that contains its point."""
    size, period = windows.size // _MICROSECOND, windows.period // _MICROSECOND
    start = latest_multiple(pl.col(point), windows.offset // _MICROSECOND, period)
    # Not a union of a pass for each overlap: Polars may compute the frame again in each.
    count = -(-size // period)
    numbers = pl.LazyFrame({_STARTED: range(count)}, schema={_STARTED: pl.Int64()})
    spread = frame.join(numbers, how="cross") if count > 1 else frame.with_columns(pl.lit(0).alias(_STARTED))
    spread = spread.with_columns((start - pl.col(_STARTED) * period).alias(_STARTED))
    if size % period:
        spread = spread.filter(pl.col(point) - pl.col(_STARTED) < size)
    named = without_repeated_starts(spread.drop(START, strict=False).rename({_STARTED: START}), windows)
    windowed = evolve(flow, frame=named, meta=_with(flow.meta, START))
    bounds = pl.col(START).clip(MIN_TIME, MAX_TIME), (pl.col(START) + size).clip(MIN_TIME, MAX_TIME)
    return WindowedFlow(windowed, (START,), *bounds)


_STARTED: Final = "__started"


def latest_multiple(point: pl.Expr, offset: int, every: int) -> pl.Expr:
    """Returns the latest ``offset + n * every`` at or before a point, in microseconds since the epoch."""
    return point - (point - offset).mod(every)


@frozen
class Slices:
    """The slices of sliding windows: time divided at every start and end of a window.

    A slice is aggregated once, and its result is merged in every window that has the slice.
    """

    windows: SlidingWindows

    @classmethod
    def of(cls, windows: WindowFn, *, fresh: bool) -> Slices | None:
        """Returns the slices of windows that overlap; ``None`` for other windows."""
        if fresh and isinstance(windows, SlidingWindows) and windows.size > windows.period:
            return cls(windows) if assigned_in_columns(windows) else None
        return None

    @property
    def start(self) -> pl.Expr:
        """The start of each element's slice."""
        size = gcd(self.windows.size // _MICROSECOND, self.windows.period // _MICROSECOND)
        return latest_multiple(pl.col(EVENT_TIME), self.windows.offset // _MICROSECOND, size)

    def spread(self, flow: Flow, slices: pl.LazyFrame) -> WindowedFlow:
        """Returns a row for each slice and window."""
        return _sliding(flow, slices.rename({START: _SLICE}), _SLICE, self.windows)


_SLICE: Final = "__slice"


def _sessions(flow: Flow, gap: int) -> WindowedFlow:
    """Returns a flow in sessions (gaps and islands): one starts where the key has no element within the gap before."""
    keys = key_columns(flow.shape)
    ordered = flow.frame.sort(*keys, EVENT_TIME)
    apart = pl.col(EVENT_TIME) - pl.col(EVENT_TIME).shift(1) > gap
    changed = [pl.col(key).ne_missing(pl.col(key).shift(1)) for key in keys]
    begins = pl.any_horizontal(apart, *changed).fill_null(True)
    islands = ordered.with_columns(begins.cum_sum().alias(ISLAND))
    windowed = evolve(flow, frame=islands)
    return WindowedFlow(
        windowed,
        (ISLAND,),
        pl.col(START),
        None,
        lambda latest: (latest + gap).clip(MIN_TIME, MAX_TIME),
        island=True,
    )


def _in_python(flow: Flow, windows: WindowFn, label: str, values: Values) -> WindowedFlow:
    """Returns a flow in windows that Python assigns and merges."""
    meta = _with(flow.meta, START, END)
    schema = arrow_schema(flow.shape, meta)
    assign = AssignWindows(label, layout_of(flow.shape), windows, schema, values)
    merging = as_merging(windows) is not None
    keys = key_columns(flow.shape)

    def assigned(rows: pl.DataFrame) -> pl.DataFrame:
        table = to_arrow(
            rows.with_columns(pl.lit(None, pl.Int64()).alias(n) for n in (START, END)), flow.shape, meta
        )
        batches = list(assign(table.to_batches()))
        frames = [from_arrow(batch, frame_schema(flow.shape, meta)) for batch in batches]
        return pl.concat(frames) if frames else pl.DataFrame(schema=frame_schema(flow.shape, meta))

    def merged(rows: pl.DataFrame) -> pl.DataFrame:
        ordered = rows.sort(keys) if keys else rows
        table = to_arrow(ordered, flow.shape, meta)
        merge = MergeWindows(label, key_and_value(layout_of(flow.shape))[0], windows, schema)
        frames = [from_arrow(batch, frame_schema(flow.shape, meta)) for batch in merge(table.to_batches())]
        return pl.concat(frames) if frames else rows

    frame = _map(flow.frame, assigned, flow.shape, meta, whole=False)
    if merging:
        frame = _map(frame, merged, flow.shape, meta, whole=True)
    return WindowedFlow(evolve(flow, frame=frame, meta=meta), (START, END), pl.col(START), pl.col(END))


def _map(
    frame: pl.LazyFrame,
    function: Callable[[pl.DataFrame], pl.DataFrame],
    shape: Shape,
    meta: tuple[str, ...],
    *,
    whole: bool,
) -> pl.LazyFrame:
    return frame.map_batches(
        function,
        schema=frame_schema(shape, meta),
        streamable=not whole,
    )


def key_columns(shape: Shape) -> tuple[str, ...]:
    """Returns the columns of the keys of pairs."""
    return leaf_columns(key_and_value(layout_of(shape))[0])
