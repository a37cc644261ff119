"""Points in time and durations: small whole minutes, which make ties and boundary cases frequent."""

from __future__ import annotations

from datetime import datetime, timedelta

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from flowalg.data.time import EventTime, event_time
from flowalg_laws.kit.readings import START
from flowalg_laws.strategies.cached import cached

MAX_MINUTE = 40

CROWDED = 5
"""The last minute of event times whose windows have many elements, often late ones."""


def point(minute: int) -> datetime:
    """Returns the point some minutes after the start."""
    return START + timedelta(minutes=minute)


@cached
def minutes(low: int = 0, high: int = MAX_MINUTE) -> SearchStrategy[datetime]:
    """Points in time, whole minutes after the start."""
    return st.integers(low, high).map(point)


@cached
def durations(low: int = 1, high: int = 15) -> SearchStrategy[timedelta]:
    """Durations of whole minutes."""
    return st.integers(low, high).map(lambda minute: timedelta(minutes=minute))


@cached
def event_times(high: int = MAX_MINUTE) -> SearchStrategy[EventTime]:
    """Event times, whole minutes after the start."""
    return minutes(0, high).map(event_time)


@cached
def quantiles() -> SearchStrategy[float]:
    """Numbers strictly between 0 and 1, common quantiles first."""
    return st.sampled_from((0.5, 0.07, 0.9, 0.99)) | st.floats(0, 1, exclude_min=True, exclude_max=True)
