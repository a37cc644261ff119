"""Laws of window assignment."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from random import Random
from zoneinfo import ZoneInfo

import flowalg_reference as reference
import pytest
from flowalg_laws.strategies import fixed_windows, sliding_windows
from flowalg_laws.strategies.windows import ENDLESS
from hypothesis import given
from hypothesis import strategies as st

from flowalg import (
    CalendarDays,
    Count,
    EventTime,
    FixedWindows,
    GlobalWindows,
    Sessions,
    SlidingWindows,
    Window,
    event_time,
)
from flowalg.data import MAX_TIME, MIN_TIME
from flowalg.errors import ArgumentError, ElementError, UserFunctionError
from flowalg.windows import (
    GLOBAL_WINDOW,
    CalendarMonths,
    CalendarWeeks,
    CustomWindows,
    MergedWindow,
    WindowFn,
    WindowsByValue,
)
from flowalg.windows.window import span
from flowalg.windows.window_functions import assign_windows, merged_windows
from tests.support.scores import SCORES, Score, minute

MICROSECOND = timedelta(microseconds=1)
EVERY_POINT = st.integers(MIN_TIME, MAX_TIME - 1).map(EventTime)


@given(fixed_windows(), EVERY_POINT)
def test_an_assigned_window_contains_the_event_time(windows: FixedWindows, point: EventTime) -> None:
    """Law: every assigned window contains the event time, also at the bounds of time."""
    (window,) = windows.assign(point, None)
    assert point in window
    assert window.end not in window
    assert MIN_TIME <= window.start < window.end <= MAX_TIME


@given(fixed_windows(), EVERY_POINT, EVERY_POINT)
def test_fixed_windows_partition_time(windows: FixedWindows, earlier: EventTime, later: EventTime) -> None:
    """Any two event times share a fixed window, or their windows do not overlap."""
    (first,), (second,) = windows.assign(earlier, None), windows.assign(later, None)
    assert first == second or first.end <= second.start or second.end <= first.start


@given(fixed_windows())
def test_fixed_windows_start_at_the_offset(windows: FixedWindows) -> None:
    """A fixed window starts at the epoch plus the offset, and is as long as the size."""
    (window,) = windows.assign(EventTime(windows.offset_micros), None)
    assert (window.start, window.end - window.start) == (windows.offset_micros, windows.size_micros)


@given(EVERY_POINT)
def test_the_global_window_contains_every_event_time(point: EventTime) -> None:
    """There is one global window, and it contains every event time."""
    assert GlobalWindows().assign(point, None) == (GLOBAL_WINDOW,)
    assert point in GLOBAL_WINDOW


def test_windows_sort_by_end_then_start() -> None:
    """Windows are ordered by end, then by start, as panes of one instant are (SEMANTICS section 7)."""
    short = FixedWindows(timedelta(minutes=1)).assign(EventTime(0), None)[0]
    long = FixedWindows(timedelta(minutes=2)).assign(EventTime(0), None)[0]
    assert sorted([GLOBAL_WINDOW, long, short]) == [short, long, GLOBAL_WINDOW]


@given(sliding_windows(), EVERY_POINT)
def test_sliding_windows_are_all_that_contain_the_event_time(
    windows: SlidingWindows, point: EventTime
) -> None:
    """The assigned sliding windows are exactly those that contain the event time; their starts are a period apart."""
    assigned = windows.assign(point, None)
    size, period = windows.size // MICROSECOND, windows.period // MICROSECOND
    assert all(point in window for window in assigned)
    assert len(assigned) in (size // period, -(-size // period))
    inner = [window for window in assigned if window.start > MIN_TIME and window.end < MAX_TIME]
    assert all(b.start - a.start == period for a, b in pairwise(inner))


def test_windows_longer_than_all_of_time_are_one_window() -> None:
    """Windows that are equal once they are cut off at the bounds of time are assigned once."""
    after_1970 = Window(EventTime(0), MAX_TIME)
    assert ENDLESS.assign(EventTime(1), None) == (GLOBAL_WINDOW, after_1970)


@given(st.integers(1, 15), EVERY_POINT)
def test_fixed_windows_are_sliding_windows_whose_period_is_their_size(minutes: int, point: EventTime) -> None:
    """Law: fixed windows are sliding windows whose period is their size."""
    size = timedelta(minutes=minutes)
    assert SlidingWindows(size, size).assign(point, None) == FixedWindows(size).assign(point, None)


@given(st.lists(st.integers(0, 60), min_size=1), st.randoms())
def test_merging_sessions_is_order_independent_and_idempotent(starts: list[int], random: Random) -> None:
    """Law: sessions merge into the same groups in any order, and merged sessions do not merge again."""
    sessions = Sessions(timedelta(microseconds=5))
    protos = [sessions.assign(EventTime(start), None)[0] for start in starts]
    merged = sorted(span(group) for group in sessions.merge(protos))
    shuffled = random.sample(protos, len(protos))
    assert sorted(span(group) for group in sessions.merge(shuffled)) == merged
    assert sorted(span(group) for group in sessions.merge(merged)) == merged
    assert all(a.end < b.start for a, b in pairwise(sorted(merged, key=lambda window: window.start)))


def test_events_exactly_a_gap_apart_are_in_one_session() -> None:
    """Windows that touch merge: events exactly a gap apart are in one session (section 12)."""
    sessions = Sessions(timedelta(microseconds=5))
    touching = [sessions.assign(EventTime(start), None)[0] for start in (0, 5)]
    apart = [sessions.assign(EventTime(start), None)[0] for start in (0, 6)]
    assert [len(group) for group in sessions.merge(touching)] == [2]
    assert [len(group) for group in sessions.merge(apart)] == [1, 1]


CALENDARS: list[WindowFn] = [
    CalendarDays("America/New_York"),
    CalendarDays("America/Sao_Paulo"),
    CalendarDays("Pacific/Apia"),
    CalendarWeeks("Europe/Berlin", first_day=6),
    CalendarMonths("Asia/Kathmandu"),
    CalendarDays("Europe/Paris", offset=timedelta(hours=6)),
    CalendarDays("Europe/Paris", offset=timedelta(hours=2, minutes=30)),
    CalendarWeeks("America/Havana", 3, offset=timedelta(minutes=1)),
    CalendarMonths("Pacific/Apia", offset=timedelta(hours=23, minutes=59)),
]
ZONES = (
    "America/Toronto",
    "America/Sao_Paulo",
    "Africa/Cairo",
    "Australia/Lord_Howe",
    "Pacific/Apia",
    "Europe/Dublin",
)
OFFSETS = st.integers(0, 24 * 60 - 1).map(lambda minutes: timedelta(minutes=minutes))


@given(
    st.sampled_from(ZONES),
    OFFSETS,
    st.datetimes(datetime(1890, 1, 1), datetime(2040, 1, 1), timezones=st.just(UTC)),
)
def test_calendar_windows_follow_each_other_at_every_clock_change(
    zone: str, offset: timedelta, point: datetime
) -> None:
    """A day contains its event time and ends where the next one starts, whatever the offset and the clocks do."""
    for windows in (CalendarDays(zone, offset), CalendarWeeks(zone, 2, offset), CalendarMonths(zone, offset)):
        (window,) = windows.assign(event_time(point), None)
        (following,) = windows.assign(window.end, None)
        assert event_time(point) in window
        assert following.start == window.end
        assert windows.assign(window.start, None) == windows.assign(window.last_instant, None) == (window,)


@pytest.mark.parametrize(
    ("zone", "offset", "point", "start", "hours"),
    [
        ("Europe/Paris", timedelta(hours=6), "2023-03-25T14:00+01:00", "2023-03-25T06:00+01:00", 23),
        ("Europe/Paris", timedelta(hours=6), "2023-03-26T05:59+02:00", "2023-03-25T06:00+01:00", 23),
        ("Europe/Paris", timedelta(hours=6), "2023-03-26T06:00+02:00", "2023-03-26T06:00+02:00", 24),
        ("Europe/Paris", timedelta(hours=6), "2023-10-29T05:59+01:00", "2023-10-28T06:00+02:00", 25),
        ("Europe/Paris", timedelta(hours=2.5), "2023-03-26T03:00+02:00", "2023-03-26T03:00+02:00", 23.5),
        ("Europe/Paris", timedelta(hours=2.5), "2023-10-29T02:10+01:00", "2023-10-29T02:30+02:00", 25),
        ("America/Toronto", timedelta(0), "1919-03-31T00:45-04:00", "1919-03-31T00:30-04:00", 23.5),
    ],
)
def test_a_business_day_starts_at_its_time_of_day(
    zone: str, offset: timedelta, point: str, start: str, hours: float
) -> None:
    """A day with an offset starts at that local time, or at the change that skips it."""
    (window,) = CalendarDays(zone, offset).assign(event_time(datetime.fromisoformat(point)), None)
    assert window.start == event_time(datetime.fromisoformat(start))
    assert (window.end - window.start) / 3_600_000_000 == hours


@pytest.mark.parametrize("windows", CALENDARS, ids=str)
@given(point=EVERY_POINT)
def test_calendar_windows_contain_their_event_times(windows: WindowFn, point: EventTime) -> None:
    """Calendar windows contain their event times, at clock changes, on skipped days, and at the ends of time."""
    (window,) = assign_windows(windows, point, None, None)
    assert point in window
    assert assign_windows(windows, window.start, None, None) == (window,)
    assert assign_windows(windows, window.last_instant, None, None) == (window,)


@given(st.integers(0, 6), st.datetimes(datetime(2000, 1, 1), datetime(2030, 1, 1)))
def test_a_week_starts_on_its_first_day(first_day: int, local: datetime) -> None:
    """A calendar week starts at the midnight of its first day in its zone, and ends seven days later."""
    zone = ZoneInfo("Europe/Berlin")
    (window,) = CalendarWeeks("Europe/Berlin", first_day).assign(event_time(local.replace(tzinfo=zone)), None)
    for point in (window.start, window.end):
        bound = point.datetime.astimezone(zone)
        assert (bound.weekday(), bound.hour, bound.minute) == (first_day, 0, 0)


@pytest.mark.parametrize(("day", "hours"), [("2013-03-10", 23), ("2013-11-03", 25), ("2013-06-01", 24)])
def test_a_day_with_a_clock_change_has_23_or_25_hours(day: str, hours: int) -> None:
    """A day in New York ends at its midnight, not 24 hours after its start."""
    noon = datetime.fromisoformat(f"{day}T12:00").replace(tzinfo=ZoneInfo("America/New_York"))
    (window,) = CalendarDays("America/New_York").assign(event_time(noon), None)
    assert (window.end - window.start) / 3_600_000_000 == hours


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(1, 5)), min_size=2))
def test_windows_are_ordered_by_end_then_start(spans: list[tuple[int, int]]) -> None:
    """Panes of one instant fire in the order of windows, and all comparisons of windows agree with it."""
    windows = [Window(EventTime(start), EventTime(start + size)) for start, size in spans]
    assert sorted(windows) == sorted(windows, key=lambda window: (window.end, window.start))
    first, second = windows[:2]
    assert (first < second, first <= second) == (not first >= second, not first > second)
    assert (first == second) == (first <= second <= first)


def test_the_repr_of_a_window_evaluates_to_an_equal_window() -> None:
    """The ``repr`` of a window is Python code that makes an equal one."""
    window = Window(EventTime("2024-01-01T12:00:00Z"), MAX_TIME)
    assert eval(repr(window)) == window
    assert window == Window(start=window.start, end=window.end)


def test_a_user_defined_window_function_is_checked_when_called() -> None:
    """Invalid results of a user-defined window function are errors with the event time or the windows."""
    far = CustomWindows("far", lambda point, key: [Window(EventTime(point + 1), EventTime(point + 2))])
    with pytest.raises(
        ElementError, match="the result of far.assign must be Windows that contain 1970-01-01T00:00:00Z"
    ):
        far.assign(EventTime(0), None)
    lossy = CustomWindows("lossy", lambda point, key: [], lambda windows: [])
    with pytest.raises(ElementError, match="the result of lossy.merge must be a partition"):
        lossy.merge([GLOBAL_WINDOW])
    first, second = (Window(EventTime(start), EventTime(start + 2)) for start in (0, 1))
    shrinking = CustomWindows(
        "shrinking", lambda point, key: [], lambda windows: [MergedWindow(windows[0], windows)]
    )
    with pytest.raises(
        ElementError, match="the result of shrinking.merge must have windows that contain their parts"
    ):
        merged_windows(shrinking, [first, second])
    whole = CustomWindows(
        "whole",
        lambda point, key: [],
        lambda windows: [MergedWindow(GLOBAL_WINDOW, [one]) for one in windows],
    )
    with pytest.raises(
        ElementError, match="the result of whole.merge must have another window for each group"
    ):
        merged_windows(whole, [first, second])
    assert merged_windows(whole, [first]) == [MergedWindow(GLOBAL_WINDOW, (first,))]


def test_a_window_by_value_that_does_not_contain_the_event_time_is_an_error() -> None:
    """An element whose value says that it is elsewhere is an error that names the grouping and the function."""
    until_noon = WindowsByValue("until noon", lambda point, key, value: [Window(MIN_TIME, event_time(value))])
    times = SCORES.key_by(lambda s: s.team).map_values(lambda s: minute(s.points))
    counts = times.window(until_noon).combine_per_key(Count())
    (pane,) = reference.run_batch(counts, {SCORES: [Score("a", 3, minute(2))]}).panes
    assert pane.window == Window(MIN_TIME, event_time(minute(3)))
    with pytest.raises(
        ElementError,
        match=r"combine_per_key\(Count\): the result of until noon.assign must be Windows that contain 2024-01-01",
    ):
        reference.run_batch(counts, {SCORES: [Score("a", 3, minute(4))]})


def test_a_zone_by_key_is_that_of_the_windows_of_a_key() -> None:
    """A function as the zone gives the zone of each key; its error, and a name of no zone, are named."""
    windows = CalendarDays(lambda key: f"Europe/{key}", timedelta(hours=3))
    noon = event_time(datetime(2024, 3, 31, 12, tzinfo=UTC))
    for city in ("Berlin", "London"):
        assert windows.assign(noon, city) == CalendarDays(f"Europe/{city}", timedelta(hours=3)).assign(
            noon, None
        )
    assert str(windows) == "days in the zone of the key from 3:00:00"
    with pytest.raises(
        ArgumentError, match=r"the zone of a key must be the name of a time zone.*; got 'Europe/7'"
    ):
        windows.assign(noon, 7)
    failing = CalendarMonths(lambda key: key.zone)
    with pytest.raises(UserFunctionError, match=r"CalendarMonths.zone: <lambda> at .*AttributeError.*'k'"):
        failing.assign(noon, "k")


def test_an_offset_by_key_shifts_the_windows_of_a_key() -> None:
    """``offset_by_key`` shifts the windows of a key, so that not all keys fire at once."""
    shifted = FixedWindows(timedelta(minutes=10), offset_by_key=lambda key: timedelta(minutes=int(str(key))))
    starts = {key: shifted.assign(EventTime(0), key)[0].start // 60_000_000 for key in (0, 3)}
    assert starts == {0: 0, 3: -7}
    shifted_twice = FixedWindows(shifted.size, timedelta(minutes=2), shifted.offset_by_key)
    assert {key: shifted_twice.assign(EventTime(0), key)[0].start // 60_000_000 for key in (0, 3)} == {
        0: -8,
        3: -5,
    }
