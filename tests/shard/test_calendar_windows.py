"""Calendar windows in columns are those of the calendar itself, which the reference assigns one element at a time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import polars as pl
import pytest
from flowalg_shard.step.window_assignment import end_from_start, window_bounds
from flowalg_shard.tables.calendars import calendar_bounds
from flowalg_shard.tables.columns import END, EVENT_TIME, START
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from flowalg import CalendarDays
from flowalg.data.time import MAX_TIME, MIN_TIME, EventTime, event_time
from flowalg.windows import CalendarMonths, CalendarWeeks
from flowalg.windows.calendars import Calendar, windows_between

ZONES = (
    "Africa/Casablanca",  # an hour back during Ramadan
    "America/Havana",  # clocks change at midnight
    "America/Juneau",  # a day twice, in 1867
    "Antarctica/Troll",  # clocks change by two hours
    "Asia/Kathmandu",
    "Asia/Manila",  # no 31 December 1844
    "Australia/Lord_Howe",  # clocks change by half an hour
    "Europe/Dublin",  # winter time is the exception
    "Pacific/Apia",  # no 30 December 2011
    "Pacific/Kwajalein",  # no 21 August 1993
    "UTC",
)
OFFSETS = st.just(timedelta(0)) | st.integers(0, 24 * 60 - 1).map(lambda minutes: timedelta(minutes=minutes))
AT_THREE = timedelta(hours=3)


def calendars() -> SearchStrategy[Calendar]:
    """Days, weeks and months of all zones, from any time of day."""
    zones = st.sampled_from(ZONES)
    return st.one_of(
        st.builds(CalendarDays, zones, OFFSETS),
        st.builds(CalendarWeeks, zones, st.integers(0, 6), OFFSETS),
        st.builds(CalendarMonths, zones, OFFSETS),
    )


def around(moment: str) -> list[EventTime]:
    """Event times in the days around a moment: a quarter of an hour apart, and a microsecond before and after."""
    base = event_time(datetime.fromisoformat(moment).replace(tzinfo=UTC))
    quarter = 15 * 60_000_000
    return [EventTime(base + number * quarter + more) for number in range(-200, 200) for more in (-1, 0, 1)]


CHANGES = (
    ("Pacific/Apia", "2011-12-30T10:00"),
    ("Pacific/Kwajalein", "1993-08-21T12:00"),
    ("America/Juneau", "1867-10-19T00:31"),
    ("Asia/Manila", "1844-12-31T15:56"),
    ("America/Havana", "2024-03-10T05:00"),
    ("America/Havana", "2024-11-03T05:00"),
    ("Africa/Casablanca", "2024-03-10T02:00"),
    ("Africa/Casablanca", "2024-04-14T02:00"),
    ("Asia/Kathmandu", "1985-12-31T18:30"),
    ("Australia/Lord_Howe", "2024-04-06T15:00"),
    ("Antarctica/Troll", "2024-03-31T01:00"),
)
"""A zone, and when its clocks change, in UTC."""

MOMENTS = st.one_of(
    st.datetimes(datetime(1840, 1, 1), datetime(2110, 1, 1), timezones=st.just(UTC)).map(event_time),
    st.integers(MIN_TIME, MAX_TIME - 1).map(EventTime),
    st.integers(0, 3 * 86_400_000_000).map(lambda after: EventTime(MIN_TIME + after)),
    st.integers(1, 3 * 86_400_000_000).map(lambda before: EventTime(MAX_TIME - before)),
    st.sampled_from([moment for _, moment in CHANGES]).flatmap(
        lambda moment: st.sampled_from(around(moment))
    ),
)


def expected(calendar: Calendar, points: list[EventTime]) -> list[tuple[EventTime, EventTime]]:
    """The bounds of the windows that the calendar assigns, one event time after the other."""
    windows = [window for point in points for window in calendar.assign(point, None)]
    return [(window.start, window.end) for window in windows]


@given(calendars(), st.lists(MOMENTS, max_size=30))
@example(CalendarDays("UTC"), [])
@example(CalendarMonths("UTC"), [EventTime(MAX_TIME - 1), MIN_TIME])
def test_windows_in_columns_are_those_of_the_calendar(calendar: Calendar, points: list[EventTime]) -> None:
    """Both bounds of each event time are those that the calendar assigns to it, in any order of time."""
    at_bounds = [
        EventTime(near)
        for start, end in expected(calendar, points)
        for near in (start, start - 1, end - 1, end)
        if MIN_TIME <= near < MAX_TIME
    ]
    times = [*points, *at_bounds]
    assert calendar_bounds((calendar,), pl.Series(times, dtype=pl.Int64())).rows() == expected(
        calendar, times
    )


@given(
    st.lists(calendars(), min_size=1, max_size=3),
    st.lists(st.tuples(MOMENTS, st.integers(0, 2)), max_size=30),
)
def test_every_event_time_has_the_windows_of_its_own_calendar(
    several: list[Calendar], timed: list[tuple[EventTime, int]]
) -> None:
    """With several calendars, each event time has the window that its own one assigns, also where two are equal."""
    own = [number % len(several) for _, number in timed]
    points = pl.Series([point for point, _ in timed], dtype=pl.Int64())
    bounds = calendar_bounds(several, points, numbers=pl.Series(own, dtype=pl.Int64()))
    pairs = zip(timed, own, strict=True)
    assert bounds.rows() == [expected(several[number], [point])[0] for (point, _), number in pairs]


@given(calendars(), st.integers(0, 3_000), MOMENTS)
def test_many_event_times_of_few_days_have_the_windows_of_the_calendar(
    calendar: Calendar, seconds: int, first: EventTime
) -> None:
    """Event times that are many for the days that they are in, which need no search for their blocks of time."""
    times = [EventTime(min(first + number * seconds * 1_000_000, MAX_TIME - 1)) for number in range(500)]
    assert calendar_bounds((calendar,), pl.Series(times, dtype=pl.Int64())).rows() == expected(
        calendar, times
    )


@pytest.mark.parametrize(("zone", "moment"), CHANGES)
def test_windows_in_columns_follow_every_change_of_the_clocks(zone: str, moment: str) -> None:
    """Around a change of the clocks, all days, weeks and months are those of the calendar, from any time of day."""
    times = around(moment)
    offsets = [timedelta(0), AT_THREE, timedelta(hours=23, minutes=45)]
    windows: list[CalendarDays | CalendarWeeks | CalendarMonths] = [
        CalendarDays(zone, offset) for offset in offsets
    ]
    windows += [CalendarWeeks(zone, first, AT_THREE) for first in range(7)]
    windows += [CalendarMonths(zone, offset) for offset in offsets]
    for calendar in windows:
        rows = pl.DataFrame({EVENT_TIME: times}, schema={EVENT_TIME: pl.Int64()})
        bounds = rows.select(window_bounds(calendar))
        assert bounds.rows() == expected(calendar, times)
        assert bounds.select(START).with_columns(end_from_start(calendar))[END].equals(bounds[END])


@given(calendars(), MOMENTS, st.integers(0, 100 * 86_400_000_000))
def test_the_windows_of_a_period_follow_each_other(calendar: Calendar, first: EventTime, length: int) -> None:
    """The windows of a period are without gaps, from that of its first to that of its last event time."""
    last = EventTime(min(first + length, MAX_TIME - 1))
    windows = windows_between(calendar, first, last)
    assert first in windows[0]
    assert last in windows[-1]
    assert all(one.end == other.start for one, other in pairwise(windows))
    assert windows == tuple(calendar.assign(window.start, None)[0] for window in windows)
