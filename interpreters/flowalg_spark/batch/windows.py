"""Window assignment in columns: a row for each element and window."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from math import gcd
from typing import Final, assert_never

from attrs import evolve, field, frozen
from flowalg_columns.layout import Layout, key_and_value, layout_of, leaf_columns
from flowalg_columns.names import SPAN
from flowalg_columns.python.windows import AssignWindows, CalendarWindows, MergeWindows, Values
from flowalg_shard.tables.columns import END, EVENT_TIME, START
from pyspark.sql import DataFrame
from pyspark.sql import types as T
from pyspark.sql.functions import broadcast

from flowalg.data.time import MAX_TIME, MIN_TIME
from flowalg.windows.calendars import Calendar
from flowalg.windows.window_functions import (
    CustomWindows,
    FixedWindows,
    GlobalWindows,
    Sessions,
    SlidingWindows,
    WindowFn,
    WindowsByValue,
    as_merging,
)
from flowalg_spark.batch.calendar_blocks import BEGIN, BLOCK, LENGTH, CalendarBlocks, calendar_blocks
from flowalg_spark.encoding import sql
from flowalg_spark.encoding.columns import col, select, where
from flowalg_spark.encoding.schema import arrow_schema
from flowalg_spark.encoding.sql import NULL, Sql
from flowalg_spark.lowering.flow import Flow, row_schema
from flowalg_spark.lowering.python_columns import arrow_column, in_rows

_MICROSECOND: Final = timedelta(microseconds=1)
_POINT: Final = "__point"
_AT: Final = "__at"
_WINDOW: Final = "__window"


@frozen
class WindowedFlow:
    """A flow in windows: the columns that identify a window of a key, and the start and end of a window.

    ``start`` and ``end`` are expressions over the columns in ``by``. ``end`` is ``None`` if it depends on the latest
    event time in the window; ``end_of`` then computes it. ``computed`` has the columns in ``by`` that the flow lacks.
    """

    flow: Flow
    by: tuple[str, ...]
    start: Sql
    end: Sql | None
    end_of: Callable[[Sql], Sql] | None = None
    computed: Mapping[str, Sql] = field(factory=dict)

    def column(self, name: str) -> Sql:
        """Returns a column in ``by``, from the flow or computed."""
        return self.computed[name] if name in self.computed else col(name)


def assign_windows(
    flow: Flow, windows: WindowFn, *, fresh: bool, label: str, values: Values = Values.PLAIN
) -> WindowedFlow:
    """Returns a flow of pairs in windows; if not ``fresh``, elements keep the windows that they have.

    ``values`` says how those of the pairs lie. Errors of window functions have the ``label`` of the grouping.
    """
    windowed = assign_windows_lazily(flow, windows, fresh=fresh, label=label, values=values)
    if not windowed.computed:
        return windowed
    return evolve(windowed, flow=flow.with_meta(**windowed.computed), computed={})


def has_window_expression(windows: WindowFn) -> bool:
    """Returns whether an element's windows are expressions of Spark over its event time."""
    match windows:
        case GlobalWindows() | FixedWindows(offset_by_key=None) | SlidingWindows():
            return True
        case _:
            return False


def assign_windows_lazily(
    flow: Flow, windows: WindowFn, *, fresh: bool, label: str, values: Values = Values.PLAIN
) -> WindowedFlow:
    """As ``assign_windows``, but the start of a fixed window is left to the grouping, as a ``computed`` column."""
    if not fresh:
        return _existing_windows(flow, windows)
    point = col(EVENT_TIME)
    match windows:
        case GlobalWindows():
            # Nothing else reads the event times, and Spark would not compute the check of a column that is not read.
            checked = evolve(flow, frame=where(flow.frame, point.is_not_null()))
            return WindowedFlow(checked, (), sql.long(MIN_TIME), sql.long(MAX_TIME))
        case FixedWindows(offset_by_key=None):
            start = {START: fixed_start(windows)}
            return WindowedFlow(flow, (START,), col(START), _fixed_end(windows), computed=start)
        case SlidingWindows():
            return _assign_sliding(flow, windows)
        case Sessions(gap=gap):
            return _assign_sessions(flow, gap // _MICROSECOND)
        case Calendar(by_key=False):
            return _assign_calendar(flow, windows)
        case Calendar() | FixedWindows() | CustomWindows() | WindowsByValue():
            return _assign_in_python(flow, windows, label, values)
    assert_never(windows)


def _existing_windows(flow: Flow, windows: WindowFn) -> WindowedFlow:
    """Returns a flow in the windows that its elements have. Windows whose start determines the end need one column.

    A grouping or join by these columns uses the partitions of the previous grouping, without a shuffle.
    """
    match windows:
        case GlobalWindows():
            return WindowedFlow(flow, (), sql.long(MIN_TIME), sql.long(MAX_TIME))
        case FixedWindows(offset_by_key=None):
            return WindowedFlow(
                flow, (SPAN if SPAN in flow.meta else START,), col(START), _fixed_end(windows)
            )
        case _:
            return WindowedFlow(flow, (START, END), col(START), col(END))


def _clamp(point: Sql) -> Sql:
    return sql.greatest(sql.least(point, sql.long(MAX_TIME)), sql.long(MIN_TIME))


def _clamp_start(start: Sql) -> Sql:
    """Returns a window's start, at or after ``MIN_TIME``."""
    return sql.greatest(start, sql.long(MIN_TIME))


def _latest_multiple(point: Sql, offset: int, every: int) -> Sql:
    """Returns the latest ``offset + n * every`` at or before a point, in microseconds since the epoch."""
    return point - sql.pmod(point - sql.long(offset), sql.long(every))


def fixed_start(windows: FixedWindows) -> Sql:
    """Returns the start of the fixed window of an element's event time."""
    return _clamp_start(_latest_multiple(col(EVENT_TIME), windows.offset_micros, windows.size_micros))


def _fixed_end(windows: FixedWindows) -> Sql:
    """Returns the end of a fixed window from its start, also for the first window, which starts at ``MIN_TIME``."""
    first = windows.assign(MIN_TIME, None)[0]
    end = _clamp(col(START) + sql.long(windows.size_micros))
    return sql.when(col(START) == sql.long(MIN_TIME), sql.long(first.end)).otherwise(end)


def _assign_sliding(flow: Flow, windows: SlidingWindows) -> WindowedFlow:
    """Returns a row for each element and window."""
    started = flow.with_meta(**{START: NULL})
    return _sliding_windows(
        evolve(started, frame=_explode_windows(started.frame, EVENT_TIME, windows)), windows
    )


def _sliding_windows(flow: Flow, windows: SlidingWindows) -> WindowedFlow:
    end = col(START) + sql.long(windows.size // _MICROSECOND)
    return WindowedFlow(flow, (START,), _clamp_start(col(START)), sql.least(end, sql.long(MAX_TIME)))


def _explode_windows(frame: DataFrame, point: str, windows: SlidingWindows) -> DataFrame:
    """Returns a row for each window of a point: the latest start, and those before it whose window has the point."""
    size, period = windows.size // _MICROSECOND, windows.period // _MICROSECOND
    last = _latest_multiple(col(point), windows.offset // _MICROSECOND, period)
    count = -(-size // period)
    starts = sql.explode(sql.array(*(last - sql.long(number * period) for number in range(count))))
    others = [col(name) for name in frame.columns if name != START]
    exploded = select(frame, *others, col(point).alias(_POINT), starts.alias(START))
    if size % period:
        exploded = where(exploded, col(_POINT) - col(START) < sql.long(size))
    repeated = windows.repeated_starts
    if repeated:
        lowest, highest = sql.long(repeated.start), sql.long(repeated.stop - 1)
        exploded = where(exploded, ~col(START).between(lowest, highest))
    return select(exploded, *map(col, frame.columns))


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
            return cls(windows)
        return None

    @property
    def start(self) -> Sql:
        """The start of each element's slice."""
        size = gcd(self.windows.size // _MICROSECOND, self.windows.period // _MICROSECOND)
        return _latest_multiple(col(EVENT_TIME), self.windows.offset // _MICROSECOND, size)

    def spread(self, flow: Flow, slices: DataFrame) -> tuple[DataFrame, WindowedFlow]:
        """Returns a row for each slice and window, and the windows."""
        return _explode_windows(slices, START, self.windows), _sliding_windows(flow, self.windows)


def _assign_sessions(flow: Flow, gap: int) -> WindowedFlow:
    """Returns a flow in sessions (gaps and islands): one starts where the key has no element within the gap before."""
    point = col(EVENT_TIME)
    key = [col(name) for name in leaf_columns(key_layout(flow))]
    previous = sql.lag(point).over(by=key, order=point)
    starts = sql.when(previous.is_null() | (point > previous + sql.long(gap)), point)
    with_starts = flow.with_meta(**{START: starts})
    running = "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"
    start = sql.last(col(START), True).over(by=key, order=point, frame=running)
    islands = with_starts.with_meta(**{START: start})
    return WindowedFlow(islands, (START,), col(START), None, lambda latest: _clamp(latest + sql.long(gap)))


def calendar_bounds(frame: DataFrame, calendar: Calendar) -> tuple[DataFrame, Mapping[str, Sql]]:
    """Returns the start and the end of the calendar window of each element, from the frame with more columns.

    They are looked up in a table of the windows of all time, or by Python if it does not know this table.
    """
    blocks = calendar_blocks(calendar)
    if blocks is None:
        struct = T.StructType([T.StructField(name, T.LongType()) for name in (START, END)])
        window = arrow_column(CalendarWindows(calendar), struct, [col(EVENT_TIME)])
        with_window = in_rows(frame).select("*", window.alias(_WINDOW))
        return with_window, {name: col(_WINDOW)[name] for name in (START, END)}
    first, last = sql.long(blocks.first), sql.long(blocks.last)
    point, at = col(EVENT_TIME), col(_AT)
    earlier = first + sql.pmod(point - first, sql.long(blocks.before))
    later = last - sql.long(blocks.after) + sql.pmod(point - last, sql.long(blocks.after))
    similar = sql.when(point < first, earlier).when(point >= last, later).otherwise(point)
    table = frame.sparkSession.createDataFrame(blocks.table)
    block = (at - first).div(sql.long(CalendarBlocks.SIZE)) == col(BLOCK)
    # Each time is in a block. Of an inner join, Spark would first filter by whether it is, and compute it twice.
    joined = select(frame, "*", similar.alias(_AT)).join(broadcast(table), block.column, "left")
    begin, length = (_of_last(at, blocks.most, name) for name in (BEGIN, LENGTH))
    start = begin + (at - begin).div(length) * length
    return joined, {START: _clamp_start(start + (point - at)), END: _clamp(start + length + (point - at))}


def _of_last(at: Sql, count: int, name: str) -> Sql:
    """Returns a column of the last run of a block that has begun at a time."""
    value = col(f"{name}0")
    for number in range(1, count):
        value = sql.when(at >= col(f"{BEGIN}{number}"), col(f"{name}{number}")).otherwise(value)
    return value


def _assign_calendar(flow: Flow, calendar: Calendar) -> WindowedFlow:
    frame, bounds = calendar_bounds(flow.frame, calendar)
    windowed = evolve(flow, frame=frame).with_meta(**bounds)
    return WindowedFlow(windowed, (START, END), col(START), col(END))


def _assign_in_python(flow: Flow, windows: WindowFn, label: str, values: Values) -> WindowedFlow:
    """Returns a flow in windows that Python assigns and merges, over Arrow batches."""
    spread = flow.with_meta(**{START: NULL, END: NULL})
    schema = arrow_schema(row_schema(spread.shape, spread.meta))
    layout = key_layout(flow)
    assign = AssignWindows(label, layout_of(flow.shape), windows, schema, values)
    assigned = spread.map_in_arrow(assign, spread.shape)
    if as_merging(windows) is not None:
        key = [col(name).column for name in leaf_columns(layout)]
        by_key = assigned.frame.repartition(*key).sortWithinPartitions(*key)
        merged = MergeWindows(label, layout, windows, schema)
        assigned = evolve(assigned, frame=by_key).map_in_arrow(merged, spread.shape)
    return WindowedFlow(assigned, (START, END), col(START), col(END))


def key_layout(flow: Flow) -> Layout:
    """Returns the layout of the keys of a flow of pairs."""
    return key_and_value(layout_of(flow.shape))[0]
