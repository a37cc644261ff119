"""The laws of window assignment."""

from __future__ import annotations

from datetime import timedelta

from flowalg_laws.strategies import fixed_windows
from hypothesis import given
from hypothesis import strategies as st

from flowalg import GLOBAL_WINDOW, MAX_TIME, MIN_TIME, EventTime, FixedWindows, GlobalWindows

EVERY_POINT = st.integers(MIN_TIME, MAX_TIME - 1).map(EventTime)


@given(fixed_windows(), EVERY_POINT)
def test_an_assigned_window_contains_the_event_time(windows: FixedWindows, point: EventTime) -> None:
    """Law: every assigned window contains the event time, at the ends of time too."""
    (window,) = windows.assign(point, None)
    assert point in window
    assert MIN_TIME <= window.start < window.end <= MAX_TIME


@given(fixed_windows(), EVERY_POINT, EVERY_POINT)
def test_fixed_windows_partition_time(windows: FixedWindows, one: EventTime, other: EventTime) -> None:
    """Two event times share a window, or their windows do not overlap."""
    (first,), (second,) = windows.assign(one, None), windows.assign(other, None)
    assert first == second or first.end <= second.start or second.end <= first.start


@given(fixed_windows())
def test_windows_start_at_the_offset(windows: FixedWindows) -> None:
    """A window starts at the epoch plus the offset, and is as long as the size."""
    (window,) = windows.assign(EventTime(windows.offset_micros), None)
    assert (window.start, window.end - window.start) == (windows.offset_micros, windows.size_micros)


@given(EVERY_POINT)
def test_the_global_window_holds_everything(point: EventTime) -> None:
    """There is one global window, and it contains every event time."""
    assert GlobalWindows().assign(point, None) == (GLOBAL_WINDOW,)
    assert point in GLOBAL_WINDOW


def test_windows_sort_by_end_then_start() -> None:
    """The order of panes of one instant (SEMANTICS section 7)."""
    short = FixedWindows(timedelta(minutes=1)).assign(EventTime(0), None)[0]
    long = FixedWindows(timedelta(minutes=2)).assign(EventTime(0), None)[0]
    assert sorted([GLOBAL_WINDOW, long, short]) == [short, long, GLOBAL_WINDOW]
