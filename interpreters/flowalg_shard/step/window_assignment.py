"""Window assignment in columns: by arithmetic if possible, else by calls of the window function."""

from __future__ import annotations

from datetime import timedelta
from typing import Final, TypeVar

import polars as pl

from flowalg.data.errors import UnsupportedError
from flowalg.data.time import MAX_TIME, MIN_TIME, EventTime, Micros, duration_of
from flowalg.windows.calendars import CalendarDays, CalendarMonths, CalendarWeeks
from flowalg.windows.window_functions import FixedWindows, GlobalWindows, Sessions, SlidingWindows, WindowFn
from flowalg_shard.tables.columns import END, EVENT_TIME, START

Frame = TypeVar("Frame", pl.DataFrame, pl.LazyFrame)

_LONGEST: Final = 2**62
"""Durations below it can be added to points in time in 64 bits."""


def assigned_in_columns(windows: WindowFn) -> bool:
    """Whether ``assign_windows`` can assign these windows, from event times alone.

    Otherwise the user-defined function of an event time and a key must be called for each element.
    """
    match windows:
        case GlobalWindows() | CalendarDays() | CalendarWeeks() | CalendarMonths():
            return True
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
        case CalendarDays() | CalendarWeeks() | CalendarMonths():
            points = rows[EVENT_TIME].unique().sort()
            assigned = [windows.assign(EventTime(point), None)[0] for point in points.to_list()]
            bounds = pl.DataFrame(
                {
                    EVENT_TIME: points,
                    START: [window.start for window in assigned],
                    END: [window.end for window in assigned],
                },
                schema={EVENT_TIME: pl.Int64(), START: pl.Int64(), END: pl.Int64()},
            )
            return rows.join(bounds, on=EVENT_TIME, how="left", maintain_order="left")
        case _:
            return rows.with_columns(window_bounds(windows))


def has_bounds(windows: WindowFn) -> bool:
    """Whether ``window_bounds`` has the windows: each event time has one, by arithmetic."""
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
        case _:
            raise UnsupportedError(f"{windows} have no columns")


def end_of_fixed(windows: FixedWindows) -> pl.Expr:
    """Returns the end of a fixed window from its start, also for the first window, which starts at ``MIN_TIME``."""
    first = windows.assign(MIN_TIME, None)[0]
    end = (pl.col(START) + windows.size_micros).clip(MIN_TIME, MAX_TIME)
    return pl.when(pl.col(START) == MIN_TIME).then(pl.lit(first.end, pl.Int64())).otherwise(end)


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
