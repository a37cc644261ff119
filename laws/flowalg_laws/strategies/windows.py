"""Window functions of all kinds, with sizes of a few minutes."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Final

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from flowalg import CalendarDays, FixedWindows, GlobalWindows, Sessions, SlidingWindows
from flowalg.windows import CalendarMonths, CalendarWeeks, WindowFn
from flowalg_laws.strategies.cached import cached
from flowalg_laws.strategies.times import durations


@cached
def fixed_windows() -> SearchStrategy[FixedWindows]:
    """Fixed windows of one to fifteen minutes, with any offset."""
    return st.integers(1, 15).flatmap(
        lambda size: st.integers(0, size - 1).map(
            lambda offset: FixedWindows(timedelta(minutes=size), timedelta(minutes=offset))
        )
    )


def _offset(key: object) -> timedelta:
    return timedelta(minutes=len(repr(key)) + (key == "b"))


@cached
def fixed_windows_by_key() -> SearchStrategy[FixedWindows]:
    """Fixed windows with a different offset for each key."""
    return durations().map(lambda size: FixedWindows(size, offset_by_key=_offset))


@cached
def sliding_windows() -> SearchStrategy[SlidingWindows]:
    """Sliding windows that overlap, touch, or leave gaps."""
    return st.builds(SlidingWindows, durations(), durations(2))


ENDLESS = SlidingWindows(timedelta(days=12_000_000), timedelta(days=3_000_000))
"""Windows longer than all of time: cut off at its bounds, several of them are one window."""


@cached
def sessions() -> SearchStrategy[Sessions]:
    """Sessions with gaps that merge few or all elements."""
    return st.builds(Sessions, durations())


def _zone(key: object) -> str:
    return "Asia/Kathmandu" if key == "b" else "UTC"


_CALENDARS: Final[tuple[Callable[[timedelta], WindowFn], ...]] = (
    lambda offset: CalendarDays("UTC", offset),
    lambda offset: CalendarWeeks("UTC", offset=offset),
    lambda offset: CalendarMonths("UTC", offset),
    lambda offset: CalendarDays("Asia/Kathmandu", timedelta(hours=5, minutes=45) + offset),
    lambda offset: CalendarDays("Asia/Tokyo"),
    lambda offset: CalendarDays(_zone, offset),
)


@cached
def calendars() -> SearchStrategy[WindowFn]:
    """Calendar windows. Most start at a minute of the first event times: of a Monday, the first of a month."""
    offsets = st.integers(0, 15).map(lambda minute: timedelta(minutes=minute))
    return st.sampled_from(_CALENDARS).flatmap(offsets.map)


@cached
def unmerging_windows() -> SearchStrategy[WindowFn]:
    """Window functions that do not merge windows."""
    return st.one_of(
        st.builds(GlobalWindows),
        fixed_windows(),
        sliding_windows(),
        fixed_windows_by_key(),
        calendars() | st.just(ENDLESS),
    )


@cached
def window_fns() -> SearchStrategy[WindowFn]:
    """Returns all window functions."""
    return st.one_of(
        st.builds(GlobalWindows),
        fixed_windows(),
        sliding_windows(),
        sessions(),
        fixed_windows_by_key(),
        calendars() | st.just(ENDLESS),
    )
