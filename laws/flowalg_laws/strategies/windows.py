"""Windowing strategies: every kind, of a few minutes."""

from __future__ import annotations

from datetime import timedelta

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from flowalg import CalendarDays, FixedWindows, GlobalWindows, Sessions, SlidingWindows, WindowFn
from flowalg_laws.strategies.cached import kept
from flowalg_laws.strategies.times import durations


@kept
def fixed_windows() -> SearchStrategy[FixedWindows]:
    """Fixed windows of one to fifteen minutes, with any offset."""
    return st.integers(1, 15).flatmap(
        lambda size: st.integers(0, size - 1).map(
            lambda offset: FixedWindows(timedelta(minutes=size), timedelta(minutes=offset))
        )
    )


def _phase(key: object) -> timedelta:
    return timedelta(minutes=len(repr(key)) + (key == "b"))


@kept
def phased_windows() -> SearchStrategy[FixedWindows]:
    """Fixed windows that differ between keys."""
    return durations().map(lambda size: FixedWindows(size, offset_by_key=_phase))


@kept
def sliding_windows() -> SearchStrategy[SlidingWindows]:
    """Sliding windows that overlap, touch, or leave gaps."""
    return st.builds(SlidingWindows, durations(), durations(2))


@kept
def sessions() -> SearchStrategy[Sessions]:
    """Sessions with a gap that may join few or all of the events."""
    return st.builds(Sessions, durations())


@kept
def unmerging_windows() -> SearchStrategy[WindowFn]:
    """Every kind of windows that does not merge."""
    return st.one_of(
        st.builds(GlobalWindows),
        fixed_windows(),
        sliding_windows(),
        phased_windows(),
        st.sampled_from(("UTC", "Asia/Tokyo")).map(CalendarDays),
    )


@kept
def window_fns() -> SearchStrategy[WindowFn]:
    """Every kind of windows."""
    return st.one_of(
        st.builds(GlobalWindows),
        fixed_windows(),
        sliding_windows(),
        sessions(),
        phased_windows(),
        st.sampled_from(("UTC", "Asia/Tokyo")).map(CalendarDays),
    )


__all__ = [
    "fixed_windows",
    "phased_windows",
    "sessions",
    "sliding_windows",
    "unmerging_windows",
    "window_fns",
]
