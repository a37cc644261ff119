"""Window assignment in columns: by arithmetic, or by a search in the windows of a calendar."""

from __future__ import annotations

from datetime import timedelta
from typing import Final, TypeVar

import polars as pl

from flowalg.data.errors import UnsupportedError
from flowalg.data.time import MAX_TIME, MIN_TIME, Micros, duration_of
from flowalg.windows.calendars import Calendar
from flowalg.windows.window_functions import FixedWindows, GlobalWindows, Sessions, SlidingWindows, WindowFn
from flowalg_shard.tables.calendars import calendar_bounds
from flowalg_shard.tables.columns import END, EVENT_TIME, START

Frame = TypeVar("Frame", pl.DataFrame, pl.LazyFrame)

_LONGEST: Final = 2**62
"""Durations below it can be added to points in time in 64 bits."""


def assigned_in_columns(windows: WindowFn) -> bool:
    """Returns whether ``assign_windows`` can assign these windows, from event times alone.

    Otherwise the user-defined function of an event time and a key must be called for each element.
    """
    match windows:
        case GlobalWindows():
            return True
        case Calendar(by_key=by_key):
            return not by_key
        case FixedWindows(size=size, offset_by_key=offset_by_key):
            return offset_by_key is None and _micros(size) < _LONGEST
        case SlidingWindows(size=size, period=period):
            return _micros(size) < _LONGEST and _micros(period) < _LONGEST
        case Sessions(gap=gap):
            return _micros(gap) < _LONGEST
        case _:
            return False


def assign_windows(windows: WindowFn, rows: pl.DataFrame) -> pl.DataFrame:
    """Returns the rows with the windows of their event times: a row for each window."""
    match windows:
        case SlidingWindows():
            return _sliding(windows, rows)
        case Calendar():
            return rows.with_columns(calendar_bounds((windows,), rows[EVENT_TIME]))
        case _:
            return rows.with_columns(window_bounds(windows))


def has_bounds(windows: WindowFn) -> bool:
    """Returns whether ``window_bounds`` has the windows, by arithmetic: each event time has one."""
    return isinstance(windows, GlobalWindows | FixedWindows | Sessions) and assigned_in_columns(windows)


def window_bounds(windows: WindowFn) -> list[pl.Expr]:
    """Returns the window of each event time, as two columns; raises ``UnsupportedError`` for other window functions."""
    point = pl.col(EVENT_TIME)
    match windows:
        case GlobalWindows():
            return [pl.lit(MIN_TIME, pl.Int64()).alias(START), pl.lit(MAX_TIME, pl.Int64()).alias(END)]
        case FixedWindows():
            size, offset = windows.size_micros, windows.offset_micros
            return _bounds(point - (point - offset).mod(size), size)
        case Sessions(gap=gap):
            return _bounds(point, _micros(gap))
        case Calendar():
            return [_of_calendar(windows, EVENT_TIME, bound) for bound in (START, END)]
        case _:
            raise UnsupportedError(f"{windows} have no columns")


def end_from_start(windows: FixedWindows | Calendar) -> pl.Expr:
    """Returns the end of a window from its start, also for the first window, which starts at ``MIN_TIME``."""
    if not isinstance(windows, FixedWindows):
        return _of_calendar(windows, START, END)
    first = windows.assign(MIN_TIME, None)[0]
    end = (pl.col(START) + windows.size_micros).clip(MIN_TIME, MAX_TIME)
    return pl.when(pl.col(START) == MIN_TIME).then(pl.lit(first.end, pl.Int64())).otherwise(end)


def _of_calendar(calendar: Calendar, point: str, bound: str) -> pl.Expr:
    """Returns a bound of the calendar window of a point in time."""

    def bound_of(points: pl.Series) -> pl.Series:
        return calendar_bounds((calendar,), points, (bound,))[bound]

    return pl.col(point).map_batches(bound_of, pl.Int64(), is_elementwise=True).alias(bound)


def _sliding(windows: SlidingWindows, rows: pl.DataFrame) -> pl.DataFrame:
    """Returns a row for every window that contains the event time, the earliest first; none in a gap."""
    size, period = _micros(windows.size), _micros(windows.period)
    offset = duration_of("SlidingWindows.offset", windows.offset, allow_zero=True)
    point = pl.col(EVENT_TIME)
    last = point - (point - offset).mod(period)
    # The first start is the least start after ``point - size``, a whole number of periods before the last.
    first = last - (last - (point - size) - 1).floordiv(period) * period
    starts = pl.int_ranges(first, last + 1, period).alias(START)
    exploded = rows.with_columns(starts).filter(pl.col(START).list.len() > 0).explode(START)
    return without_repeated_starts(exploded, windows).with_columns(_bounds(pl.col(START), size))


def without_repeated_starts(rows: Frame, windows: SlidingWindows) -> Frame:
    """Returns the rows of windows that differ within the bounds of time; ``START`` has their starts before clipping."""
    repeated = windows.repeated_starts
    if not repeated:
        return rows
    return rows.filter(~pl.col(START).is_between(repeated.start, repeated.stop - 1))


def _bounds(start: pl.Expr, size: Micros) -> list[pl.Expr]:
    """Returns a window from its start and its size, clipped to the bounds of time."""
    return [
        start.clip(MIN_TIME, MAX_TIME).alias(START),
        (start + size).clip(MIN_TIME, MAX_TIME).alias(END),
    ]


def _micros(duration: timedelta) -> Micros:
    return duration_of("a duration", duration, allow_zero=False)
