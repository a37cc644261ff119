"""Points in time: two types, whole microseconds, and no guesses about time zones."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flowalg import MAX_TIME, MIN_TIME, ArgumentError, FixedWindows, Timeline
from flowalg.data.time import event_time
from tests.support.scores import Score, minute

POINTS = st.datetimes(
    datetime(1, 1, 4), datetime(9999, 12, 29), timezones=st.just(UTC) | st.just(timezone(timedelta(hours=9)))
)


@given(POINTS)
def test_points_survive_the_round_trip(point: datetime) -> None:
    """A datetime is its number of microseconds, in every time zone and far from the epoch."""
    assert event_time(point).datetime == point


@given(POINTS, POINTS)
def test_points_keep_their_order(one: datetime, other: datetime) -> None:
    """Earlier datetimes have smaller numbers."""
    assert (event_time(one) < event_time(other)) == (one < other)


def test_a_naive_datetime_is_refused() -> None:
    """A naive datetime is an error that says what to write instead."""
    with pytest.raises(
        ArgumentError,
        match=r"time must be a timezone-aware datetime, such as .*; got datetime.*: it is naive",
    ):
        Timeline[Score]().at(datetime(2024, 1, 1))


def test_a_point_out_of_range_is_refused() -> None:
    """A point after the end of time is an error."""
    with pytest.raises(ArgumentError, match="must be a point between"):
        event_time(datetime(9999, 12, 31, tzinfo=UTC))


def test_the_bounds_are_shown_in_words() -> None:
    """The bounds of time are shown as words, not as dates."""
    assert (str(MIN_TIME), str(MAX_TIME)) == ("start of time", "end of time")
    assert str(event_time(minute(0))) == "2024-01-01T12:00:00Z"


@pytest.mark.parametrize("size", [timedelta(0), timedelta(seconds=-1)])
def test_a_window_size_must_be_positive(size: timedelta) -> None:
    """A zero or negative size is an error with the argument, the value, its type and an example."""
    with pytest.raises(
        ArgumentError,
        match=r"FixedWindows.size must be a positive timedelta, such as .*; got .* \(timedelta\)",
    ):
        FixedWindows(size)


def test_an_offset_is_shorter_than_the_size() -> None:
    """An offset of a whole size or more is an error."""
    with pytest.raises(ArgumentError, match="FixedWindows.offset"):
        FixedWindows(timedelta(minutes=1), timedelta(minutes=1))


def test_a_size_is_a_timedelta() -> None:
    """A bare number is not a valid size, since it has no unit."""
    with pytest.raises(
        ArgumentError, match=r"FixedWindows.size must be a positive timedelta, such as .*; got 60 \(int\)"
    ):
        FixedWindows(60)  # type: ignore[arg-type]
