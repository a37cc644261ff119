"""Jobs about windows: each window function, and merging."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from itertools import pairwise

from attrs import evolve

from flowalg import (
    FOREVER,
    KV,
    Accumulation,
    CalendarDays,
    EventTime,
    FixedWindows,
    GlobalWindows,
    Sessions,
    SlidingWindows,
    Window,
    event_time,
)
from flowalg.data import MAX_TIME
from flowalg.windows import CalendarMonths, CalendarWeeks, CustomWindows, MergedWindow, WindowsByValue
from flowalg_laws.conformance.jobs.feeds import SOME, always, feed, key, sum_in_windows
from flowalg_laws.conformance.jobs.job import Answer, Span, fixed, grouped, job, minutes
from flowalg_laws.kit.readings import START, VALUES, Reading
from flowalg_laws.strategies.windows import ENDLESS

MINUTE = timedelta(minutes=1)


def sums(readings: list[Reading], spans: Callable[[Reading], Iterable[Span]]) -> Answer:
    """Returns the sum of each key and window."""
    for name, window, group in grouped(readings, key, spans):
        yield KV(name, sum(reading.value for reading in group)), window


def number(reading: Reading) -> float:
    """Returns the event time of a reading, in minutes after the start."""
    return (reading.at - START) / MINUTE


@job(
    sum_in_windows(),
    SOME,
    panes="""
        12: +a=4 [0, 5) on_time 0
        12: +b=2 [0, 5) on_time 0
        13: +a=10 [0, 5) late 1
        14: +a=19 [0, 5) late 2
        14: +a=5 [5, 10) on_time 0
        14: +b=11 [5, 10) on_time 0
        14: +b=8 [10, 15) on_time 0
    """,
)
def fixed_windows(readings: list[Reading]) -> Answer:
    """A pane when the watermark passes, and a pane for each batch of late elements."""
    return sums(readings, lambda reading: [fixed(reading.at, 5)])


@job(sum_in_windows(windows=GlobalWindows()), SOME, ends=False, panes="")
def a_stream_without_an_end(readings: list[Reading]) -> Answer:
    """Without an end of the input, windows that the watermark has not passed stay buffered."""
    return sums(readings, always)


@job(
    sum_in_windows(windows=SlidingWindows(6 * MINUTE, 3 * MINUTE)),
    SOME,
    panes="""
        11: +a=1 [-3, 3) on_time 0
        11: +b=2 [-3, 3) on_time 0
        13: +a=7 [-3, 3) late 1
        13: +a=10 [0, 6) on_time 0
        13: +b=2 [0, 6) on_time 0
        14: +a=19 [0, 6) late 1
        14: +a=17 [3, 9) on_time 0
        14: +b=11 [3, 9) on_time 0
        14: +a=5 [6, 12) on_time 0
        14: +b=11 [6, 12) on_time 0
        14: +b=8 [9, 15) on_time 0
        14: +b=8 [12, 18) on_time 0
    """,
)
def sliding_windows_that_overlap(readings: list[Reading]) -> Answer:
    """An element in two windows."""

    def spans(reading: Reading) -> list[Span]:
        starts = [3 * n for n in range(-2, 10) if 3 * n <= number(reading) < 3 * n + 6]
        return [minutes(start, start + 6) for start in starts]

    return sums(readings, spans)


@job(
    sum_in_windows(windows=SlidingWindows(2 * MINUTE, 4 * MINUTE)),
    SOME,
    panes="""
        11: +a=1 [0, 2) on_time 0
        11: +b=2 [0, 2) on_time 0
        13: +a=3 [4, 6) on_time 0
        14: +b=7 [8, 10) on_time 0
        14: +b=8 [12, 14) on_time 0
    """,
)
def sliding_windows_with_gaps(readings: list[Reading]) -> Answer:
    """An element with an event time in a gap is in no window: it is in no result and is not dropped."""
    return sums(
        readings, lambda reading: [minutes(n, n + 2) for n in range(0, 20, 4) if n <= number(reading) < n + 2]
    )


@job(sum_in_windows(windows=ENDLESS), SOME)
def windows_longer_than_all_of_time(readings: list[Reading]) -> Answer:
    """Sliding windows that are equal at the bounds of time count an element once."""
    since_1970 = (datetime(1970, 1, 1, tzinfo=UTC), MAX_TIME.datetime)
    return sums(readings, lambda reading: [None, since_1970])


def shift(key: object) -> timedelta:
    """Returns an offset of two minutes for ``b``, and none for other keys."""
    return 2 * MINUTE if key == "b" else 0 * MINUTE


@job(
    sum_in_windows(windows=FixedWindows(5 * MINUTE, offset_by_key=shift)),
    SOME,
    panes="""
        11: +b=2 [-3, 2) on_time 0
        12: +a=4 [0, 5) on_time 0
        13: +a=10 [0, 5) late 1
        14: +a=19 [0, 5) late 2
        14: +b=4 [2, 7) on_time 0
        14: +a=5 [5, 10) on_time 0
        14: +b=7 [7, 12) on_time 0
        14: +b=8 [12, 17) on_time 0
    """,
)
def windows_shifted_by_key(readings: list[Reading]) -> Answer:
    """Fixed windows with another offset for one of the keys."""
    return sums(readings, lambda reading: [fixed(reading.at, 5, 2 if reading.key == "b" else 0)])


def split_into_sessions(readings: Iterable[Reading], gap: float) -> list[list[Reading]]:
    """Groups readings into sessions: neighbours are at most a gap apart."""
    runs: list[list[Reading]] = []
    for reading in sorted(readings, key=number):
        if runs and number(reading) - number(runs[-1][-1]) <= gap:
            runs[-1].append(reading)
        else:
            runs.append([reading])
    return runs


@job(
    sum_in_windows(windows=Sessions(3 * MINUTE), accumulation=Accumulation.ACCUMULATING),
    SOME,
    panes="""
        11: +a=1 [0, 3) on_time 0
        11: +b=2 [1, 4) on_time 0
        14: +a=24 [0, 10) on_time 0
        14: +b=11 [6, 11) on_time 0
        14: +b=8 [13, 16) on_time 0
    """,
)
def sessions_that_touch_merge(readings: list[Reading]) -> Answer:
    """Two events exactly one gap apart are in the same session; a late event joins the sessions on both sides."""
    for name in ("a", "b"):
        for run in split_into_sessions((reading for reading in readings if reading.key == name), 3):
            window = minutes(number(run[0]), number(run[-1]) + 3)
            yield KV(name, sum(reading.value for reading in run)), window


LONG = feed(
    "130: a=1@70, a=2@100",
    "3000: a=3@1500",
    "45000: a=4@2950, b=5@43000",
    "45001: b=6@44650",
)
"""A span of more than a month."""


def zoned(reading: Reading) -> datetime:
    """Returns the event time of a reading in Tokyo, nine hours ahead of UTC all year."""
    return reading.at.astimezone(UTC) + timedelta(hours=9)


def back(local: datetime) -> datetime:
    """Returns the point in time of a local time in Tokyo."""
    return local - timedelta(hours=9)


@job(
    sum_in_windows(windows=CalendarDays("Asia/Tokyo")),
    LONG,
    panes="""
        3000: +a=3 [-540, 900) on_time 0
        45000: +a=3 [900, 2340) on_time 0
        45000: +a=4 [2340, 3780) on_time 0
        45001: +b=5 [42660, 44100) on_time 0
        45001: +b=6 [44100, 45540) on_time 0
    """,
)
def calendar_days_of_a_zone(readings: list[Reading]) -> Answer:
    """Days begin at midnight in the time zone."""

    def day(reading: Reading) -> list[Span]:
        midnight = zoned(reading).replace(hour=0, minute=0, second=0, microsecond=0)
        return [(back(midnight), back(midnight + timedelta(days=1)))]

    return sums(readings, day)


def zone_of(key: object) -> str:
    """Returns the zone of a key: Tokyo for ``b``."""
    return "Asia/Tokyo" if key == "b" else "UTC"


@job(sum_in_windows(windows=CalendarDays(zone_of)), LONG)
def calendar_days_of_the_zone_of_a_key(readings: list[Reading]) -> Answer:
    """Days begin at midnight in the time zone of their key."""

    def day(reading: Reading) -> list[Span]:
        shift = timedelta(hours=9 if reading.key == "b" else 0)
        midnight = (reading.at + shift).replace(hour=0, minute=0, second=0, microsecond=0) - shift
        return [(midnight, midnight + timedelta(days=1))]

    return sums(readings, day)


@job(
    sum_in_windows(windows=CalendarWeeks("UTC")),
    LONG,
    panes="""
        45000: +a=10 [0, 10080) on_time 0
        45001: +b=11 [40320, 50400) on_time 0
    """,
)
def calendar_weeks(readings: list[Reading]) -> Answer:
    """Weeks begin on Mondays; the first day of 2024 is a Monday."""
    week = 7 * 24 * 60
    return sums(readings, lambda reading: [fixed(reading.at, week)])


@job(
    sum_in_windows(windows=CalendarMonths("UTC")),
    LONG,
    panes="""
        45001: +a=10 [0, 44640) on_time 0
        45001: +b=5 [0, 44640) on_time 0
        45001: +b=6 [44640, 86400) on_time 0
    """,
)
def calendar_months(readings: list[Reading]) -> Answer:
    """Months have different lengths."""
    month, after = datetime(2024, 2, 1, tzinfo=UTC), datetime(2024, 3, 1, tzinfo=UTC)
    return sums(readings, lambda reading: [(START, month) if reading.at < month else (month, after)])


def doubling(point: EventTime, key: object) -> list[Window]:
    """Windows of one, two, four, eight … minutes after the start."""
    origin, minute = event_time(START), 60_000_000
    size = 1
    while point >= origin + (2 * size - 1) * minute:
        size *= 2
    first = EventTime(origin + (size - 1) * minute)
    return [Window(first, EventTime(first + size * minute))]


@job(
    sum_in_windows(windows=CustomWindows("doubling windows", doubling)),
    SOME,
    panes="""
        11: +a=1 [0, 1) on_time 0
        11: +b=2 [1, 3) on_time 0
        13: +a=6 [1, 3) late 0
        14: +a=12 [3, 7) on_time 0
        14: +b=4 [3, 7) on_time 0
        14: +a=5 [7, 15) on_time 0
        14: +b=15 [7, 15) on_time 0
    """,
)
def user_defined_windows(readings: list[Reading]) -> Answer:
    """A user-defined function from an event time to windows."""
    bounds = [0, 1, 3, 7, 15, 31]

    def spans(reading: Reading) -> list[Span]:
        return [minutes(a, b) for a, b in pairwise(bounds) if a <= number(reading) < b]

    return sums(readings, spans)


def around(point: EventTime, key: object) -> list[Window]:
    """One minute."""
    return [Window(point, EventTime(point + 60_000_000))]


def within_fives(windows: tuple[Window, ...]) -> list[list[Window]]:
    """Merges windows that begin in the same five minutes."""
    groups: dict[int, list[Window]] = {}
    for window in windows:
        groups.setdefault(window.start // 300_000_000, []).append(window)
    return list(groups.values())


@job(
    sum_in_windows(
        windows=CustomWindows("bursts", around, within_fives), accumulation=Accumulation.ACCUMULATING
    ),
    SOME,
    panes="""
        11: +b=2 [1, 2) on_time 0
        12: +a=4 [0, 5) on_time 0
        13: +a=10 [0, 5) late 1
        14: +a=19 [0, 5) late 2
        14: +a=5 [7, 8) on_time 0
        14: +b=11 [6, 9) on_time 0
        14: +b=8 [13, 14) on_time 0
    """,
)
def user_defined_merging_windows(readings: list[Reading]) -> Answer:
    """A user-defined merge function: windows that begin in the same five minutes merge."""
    for name, _, group in grouped(readings, key, lambda reading: [fixed(reading.at, 5)]):
        window = minutes(min(map(number, group)), max(map(number, group)) + 1)
        yield KV(name, sum(reading.value for reading in group)), window


def to_six_minutes(windows: tuple[Window, ...]) -> list[MergedWindow]:
    """Merges windows that begin in the same five minutes, to windows of six minutes."""
    five = 300_000_000
    return [
        MergedWindow(Window(start, EventTime(start + five + 60_000_000)), group)
        for group in map(tuple, within_fives(windows))
        for start in [EventTime(group[0].start // five * five)]
    ]


@job(
    sum_in_windows(windows=CustomWindows("six minutes", around, to_six_minutes)),
    SOME,
    panes="""
        13: +a=10 [0, 6) on_time 0
        13: +b=2 [0, 6) on_time 0
        14: -a=10 [0, 6) late 0
        14: +a=19 [0, 6) late 1
        14: +a=5 [5, 11) on_time 0
        14: +b=11 [5, 11) on_time 0
        14: +b=8 [10, 16) on_time 0
    """,
)
def merged_windows_of_a_function(readings: list[Reading]) -> Answer:
    """A merge function says which window its groups become."""
    for name, window, group in grouped(readings, key, lambda reading: [fixed(reading.at, 5)]):
        assert window is not None
        yield KV(name, sum(reading.value for reading in group)), (window[0], window[1] + MINUTE)


def to_next_multiple(point: EventTime, key: object, value: int) -> list[Window]:
    """Returns the window from an event time to the next multiple of the value, in minutes, after the start."""
    origin, minute = event_time(START), 60_000_000
    size = max(1, value) * minute
    return [Window(point, EventTime(origin + ((point - origin) // size + 1) * size))]


BY_VALUE = VALUES.window(WindowsByValue("to the next multiple", to_next_multiple), allowed_lateness=FOREVER)


def overlapping(windows: tuple[Window, ...]) -> list[list[Window]]:
    """Merges windows that overlap or touch."""
    return Sessions(timedelta(minutes=1)).merge(windows)


def until_multiple(reading: Reading) -> tuple[float, float]:
    """Returns the bounds of the window of a reading, in minutes."""
    at, size = number(reading), max(1, reading.value)
    return at, (at // size + 1) * size


@job(
    sum_in_windows(windows=WindowsByValue("to the next multiple", to_next_multiple)),
    SOME,
    panes="""
        11: +a=1 [0, 1) on_time 0
        11: +b=2 [1, 2) on_time 0
        13: +a=6 [2, 6) on_time 0
        13: +a=3 [4, 6) on_time 0
        14: +b=4 [6, 8) on_time 0
        14: +a=9 [3, 9) on_time 0
        14: +a=5 [7, 10) on_time 0
        14: +b=7 [8, 14) on_time 0
        14: +b=8 [13, 16) on_time 0
    """,
)
def windows_by_value(readings: list[Reading]) -> Answer:
    """The value of an element determines the end of its window."""
    return sums(readings, lambda reading: [minutes(*until_multiple(reading))])


@job(
    sum_in_windows(windows=WindowsByValue("to the next multiple", to_next_multiple, overlapping)),
    SOME,
)
def merging_windows_by_value(readings: list[Reading]) -> Answer:
    """Windows by value merge as other windows do."""
    for name in ("a", "b"):
        rows = sorted((until_multiple(r), r.value) for r in readings if r.key == name)
        start, end, total = *rows[0][0], 0
        for (first, last), value in rows:
            if first > end:
                yield KV(name, total), minutes(start, end)
                start, end, total = first, last, 0
            end, total = max(end, last), total + value
        yield KV(name, total), minutes(start, end)


@job(
    BY_VALUE.co_group_by_key(BY_VALUE.map_values(lambda value: value + 1)),
    SOME,
)
def a_co_group_in_windows_by_value(readings: list[Reading]) -> Answer:
    """In a co-group each value determines its own window."""
    tagged = [(0, reading) for reading in readings]
    tagged += [(1, evolve(reading, value=reading.value + 1)) for reading in readings]
    for name, window, group in grouped(
        tagged, lambda row: row[1].key, lambda row: [minutes(*until_multiple(row[1]))]
    ):
        left, right = ([reading.value for which, reading in group if which == side] for side in (0, 1))
        yield KV(name, (left, right)), window


JOBS = (
    fixed_windows,
    a_stream_without_an_end,
    sliding_windows_that_overlap,
    sliding_windows_with_gaps,
    windows_longer_than_all_of_time,
    windows_shifted_by_key,
    sessions_that_touch_merge,
    calendar_days_of_a_zone,
    calendar_days_of_the_zone_of_a_key,
    calendar_weeks,
    calendar_months,
    user_defined_windows,
    user_defined_merging_windows,
    merged_windows_of_a_function,
    windows_by_value,
    merging_windows_by_value,
    a_co_group_in_windows_by_value,
)
