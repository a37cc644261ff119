"""Points and durations: small whole minutes, so that ties, boundaries and coincidences are common."""

from __future__ import annotations

from datetime import datetime, timedelta

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from flowalg.data.time import EventTime, event_time
from flowalg_laws.kit.readings import START
from flowalg_laws.strategies.cached import kept

MAX_MINUTE = 40


def point(minute: int) -> datetime:
    """Some minutes after the start."""
    return START + timedelta(minutes=minute)


@kept
def minutes(low: int = 0, high: int = MAX_MINUTE) -> SearchStrategy[datetime]:
    """Points, whole minutes after the start."""
    return st.integers(low, high).map(point)


@kept
def durations(low: int = 1, high: int = 15) -> SearchStrategy[timedelta]:
    """Durations of whole minutes."""
    return st.integers(low, high).map(lambda minute: timedelta(minutes=minute))


@kept
def event_times(high: int = MAX_MINUTE) -> SearchStrategy[EventTime]:
    """Event times, whole minutes after the start."""
    return minutes(0, high).map(event_time)


@kept
def quantiles() -> SearchStrategy[float]:
    """Numbers strictly between 0 and 1, the usual ones first."""
    return st.sampled_from((0.5, 0.07, 0.9, 0.99)) | st.floats(0, 1, exclude_min=True, exclude_max=True)


__all__ = ["MAX_MINUTE", "durations", "event_times", "minutes", "point", "quantiles"]
