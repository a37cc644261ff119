"""Windows as columns: each element in the windows of a strategy, one row for each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from math import gcd
from typing import Final, assert_never

from attrs import evolve, field, frozen
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.window import Window as Over

from flowalg.data.time import MAX_TIME, MIN_TIME
from flowalg.windows.calendars import CalendarDays, CalendarMonths, CalendarWeeks
from flowalg.windows.window_functions import (
    CustomWindows,
    FixedWindows,
    GlobalWindows,
    Sessions,
    SlidingWindows,
    WindowFn,
    as_merging,
)
from flowalg_spark.batch.python_windows import PythonMerging, PythonWindows
from flowalg_spark.encoding.layout import Layout, layout_of, named, pair_of, places
from flowalg_spark.encoding.meta import END, EVENT_TIME, SPAN, START
from flowalg_spark.encoding.schema import arrow_schema
from flowalg_spark.lowering.flow import Flow, row_schema

_MICROSECOND: Final = timedelta(microseconds=1)
_POINT: Final = "__point"


@frozen
class Placed:
    """A flow in windows: the columns that tell a key's windows apart, and where a window starts and ends.

    ``start`` and ``end`` are expressions of the columns in ``by``. There is no ``end`` where it depends on the latest
    event time in the window, by ``end_of``. Of the columns in ``by`` the flow may lack some, which are ``computed``.
    """

    flow: Flow
    by: tuple[str, ...]
    start: Column
    end: Column | None
    end_of: Callable[[Column], Column] | None = None
    computed: Mapping[str, Column] = field(factory=dict)

    def column(self, name: str) -> Column:
        """A column of ``by``, as the flow has it or as it is computed."""
        return self.computed[name] if name in self.computed else named(name)


def placed(flow: Flow, windows: WindowFn, *, fresh: bool) -> Placed:
    """The elements of a flow of pairs in windows; those that keep the windows they came in, if not ``fresh``."""
    found = placed_by(flow, windows, fresh=fresh)
    if not found.computed:
        return found
    return evolve(found, flow=flow.with_meta(**found.computed), computed={})


def by_expression(windows: WindowFn) -> bool:
    """Whether an element's windows follow from its event time by Spark's own expressions."""
    match windows:
        case GlobalWindows() | FixedWindows(offset_by_key=None) | SlidingWindows():
            return True
        case _:
            return False


def placed_by(flow: Flow, windows: WindowFn, *, fresh: bool) -> Placed:
    """The same, but what tells fixed windows apart is still to be computed: a grouping can do so itself."""
    if not fresh:
        return _kept(flow, windows)
    point = named(EVENT_TIME)
    match windows:
        case GlobalWindows():
            # Nothing else reads the event times then, and a bad one must not pass because nobody looked.
            seen = evolve(flow, frame=flow.frame.filter(point.isNotNull()))
            return Placed(seen, (), _long(MIN_TIME), _long(MAX_TIME))
        case FixedWindows(offset_by_key=None):
            start = {START: fixed_start(windows)}
            return Placed(flow, (START,), named(START), _fixed_end(windows), computed=start)
        case SlidingWindows():
            return _sliding(flow, windows)
        case Sessions(gap=gap):
            return _sessions(flow, gap // _MICROSECOND)
        case CalendarDays() | CalendarWeeks() | CalendarMonths() | FixedWindows() | CustomWindows():
            return _in_python(flow, windows)
    assert_never(windows)


def _kept(flow: Flow, windows: WindowFn) -> Placed:
    """The windows that elements came in. Where a start has one end, Spark need not look at both.

    So a grouping or join by them finds the rows where the grouping before has put them, and shuffles nothing.
    """
    match windows:
        case GlobalWindows():
            return Placed(flow, (), _long(MIN_TIME), _long(MAX_TIME))
        case FixedWindows(offset_by_key=None):
            return Placed(flow, (SPAN if SPAN in flow.meta else START,), named(START), _fixed_end(windows))
        case _:
            return Placed(flow, (START, END), named(START), named(END))


def _long(micros: int) -> Column:
    return F.expr(_number(micros))


def _number(micros: int) -> str:
    """The same in text. A whole expression in text is one call of the JVM, and not one for each of its parts."""
    return f"CAST({micros:d} AS BIGINT)"


def _clamped(point: Column) -> Column:
    return F.greatest(F.least(point, _long(MAX_TIME)), _long(MIN_TIME))


def _cut_off(start: str) -> Column:
    """A window's start, which is no later than an element, but may lie before the beginning of time."""
    return F.expr(f"greatest({start}, {_number(MIN_TIME)})")


def _latest(point: str, offset: int, every: int) -> str:
    """The latest at or before a point of those that lie ``every`` so many microseconds, ``offset`` from the epoch."""
    return f"{point} - pmod({point} - {_number(offset)}, {_number(every)})"


def fixed_start(windows: FixedWindows) -> Column:
    """The start of the fixed window that an element's event time lies in."""
    return _cut_off(_latest(EVENT_TIME, windows.offset_micros, windows.size_micros))


def _fixed_end(windows: FixedWindows) -> Column:
    """The end of a fixed window from its start, also where the start was cut off at the beginning of time."""
    first = windows.assign(MIN_TIME, None)[0]
    lowest, highest = _number(MIN_TIME), _number(MAX_TIME)
    end = f"greatest(least({START} + {_number(windows.size_micros)}, {highest}), {lowest})"
    return F.expr(f"CASE WHEN {START} = {lowest} THEN {_number(first.end)} ELSE {end} END")


def _sliding(flow: Flow, windows: SlidingWindows) -> Placed:
    """A row for each window that an element is in."""
    started = flow.with_meta(**{START: F.lit(None)})
    return _in_each(evolve(started, frame=_exploded(started.frame, EVENT_TIME, windows)), windows)


def _in_each(flow: Flow, windows: SlidingWindows) -> Placed:
    end = named(START) + _long(windows.size // _MICROSECOND)
    return Placed(flow, (START,), _cut_off(START), F.least(end, _long(MAX_TIME)))


def _exploded(frame: DataFrame, point: str, windows: SlidingWindows) -> DataFrame:
    """A row for each window that a point is in: the latest start, and those before it that still reach the point."""
    size, period = windows.size // _MICROSECOND, windows.period // _MICROSECOND
    last = F.expr(_latest(point, windows.offset // _MICROSECOND, period))
    count = -(-size // period)
    starts = F.explode(F.array(*(last - _long(number * period) for number in range(count))))
    others = [named(name) for name in frame.columns if name != START]
    exploded = frame.select(*others, named(point).alias(_POINT), starts.alias(START))
    if size % period:
        exploded = exploded.filter(named(_POINT) - named(START) < _long(size))
    return exploded.select(*map(named, frame.columns))


@frozen
class Slices:
    """Sliding windows cut where any of them begins or ends, so that each is a few whole slices.

    What a slice comes to is computed once, and then goes to every window that the slice is in.
    """

    windows: SlidingWindows

    @classmethod
    def of(cls, windows: WindowFn, *, fresh: bool) -> Slices | None:
        """The slices of windows that overlap."""
        if fresh and isinstance(windows, SlidingWindows) and windows.size > windows.period:
            return cls(windows)
        return None

    @property
    def start(self) -> Column:
        """The start of each element's slice."""
        size = gcd(self.windows.size // _MICROSECOND, self.windows.period // _MICROSECOND)
        return F.expr(_latest(EVENT_TIME, self.windows.offset // _MICROSECOND, size))

    def spread(self, flow: Flow, slices: DataFrame) -> tuple[DataFrame, Placed]:
        """A row for each window that a slice is in, and how those windows are told apart."""
        return _exploded(slices, START, self.windows), _in_each(flow, self.windows)


def _sessions(flow: Flow, gap: int) -> Placed:
    """Gaps and islands: a session starts where nothing of the key came within the gap before."""
    point = named(EVENT_TIME)
    key = [named(name) for name in places(key_layout(flow))]
    in_time = Over.partitionBy(*key).orderBy(point)
    before = F.lag(point).over(in_time)
    starts = F.when(before.isNull() | (point > before + _long(gap)), point)
    opened = flow.with_meta(**{START: starts})
    running = in_time.rowsBetween(Over.unboundedPreceding, Over.currentRow)
    islands = opened.with_meta(**{START: F.last(named(START), ignorenulls=True).over(running)})
    return Placed(islands, (START,), named(START), None, lambda latest: _clamped(latest + _long(gap)))


def _in_python(flow: Flow, windows: WindowFn) -> Placed:
    """Windows that only Python can assign or merge, over Arrow batches."""
    spread = flow.with_meta(**{START: F.lit(None), END: F.lit(None)})
    schema = arrow_schema(row_schema(spread.shape, spread.meta))
    layout = key_layout(flow)
    assigned = spread.mapped_in_arrow(PythonWindows(layout, windows, schema), spread.shape)
    if as_merging(windows) is not None:
        key = [named(name) for name in places(layout)]
        by_key = assigned.frame.repartition(*key).sortWithinPartitions(*key)
        merged = PythonMerging(places(layout), windows, schema)
        assigned = evolve(assigned, frame=by_key).mapped_in_arrow(merged, spread.shape)
    return Placed(assigned, (START, END), named(START), named(END))


def key_layout(flow: Flow) -> Layout:
    """Where the keys of a flow of pairs lie."""
    return pair_of(layout_of(flow.shape))[0]


__all__ = ["Placed", "Slices", "by_expression", "fixed_start", "key_layout", "placed", "placed_by"]
