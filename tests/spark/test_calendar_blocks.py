"""The table in which Spark looks calendar windows up: it must have those of Python's calendar, at all times."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import timedelta
from typing import Final
from zoneinfo import available_timezones

import pytest
from flowalg_spark.batch.calendar_blocks import CalendarBlocks, calendar_blocks

from flowalg.data.time import MAX_TIME, MIN_TIME, EventTime
from flowalg.windows import CalendarDays, CalendarMonths, CalendarWeeks
from flowalg.windows.calendars import Calendar
from tests.support.depth import a_few

DAY: Final = 86_400 * 10**6
CHANGING: Final = ("Europe/Berlin", "Africa/Casablanca", "Pacific/Apia", "America/Havana", "Europe/Dublin")
ZONES: Final = ("UTC", *CHANGING, *sorted(available_timezones() - {"UTC", *CHANGING}))


def looked_up(blocks: CalendarBlocks, point: int) -> tuple[int, int]:
    """Returns the bounds of the window of a time as Spark looks them up."""
    at = point
    if point < blocks.first:
        at = blocks.first + (point - blocks.first) % blocks.before
    elif point >= blocks.last:
        at = blocks.last - blocks.after + (point - blocks.last) % blocks.after
    runs = blocks.blocks[(at - blocks.first) // blocks.SIZE]
    begin, length = [run for run in runs if run[0] <= at][-1]
    start = begin + (at - begin) // length * length + point - at
    return max(start, MIN_TIME), min(start + length, MAX_TIME)


def times(blocks: CalendarBlocks, seed: str) -> Iterator[int]:
    """Yields times at the bounds of the table and of time, around ends of runs, and anywhere."""
    chance = random.Random(seed)
    for bound in (MIN_TIME, MAX_TIME, blocks.first, blocks.last, blocks.last - blocks.after):
        yield from (bound + number * DAY // 3 for number in range(-12, 13))
    ends = [begin for runs in blocks.blocks for begin, _ in runs]
    for end in chance.sample(ends, min(len(ends), 100)):
        yield from (end - 1, end, end + chance.randrange(-3 * DAY, 3 * DAY))
    yield from (chance.randrange(MIN_TIME, MAX_TIME) for _ in range(50))


def calendars(zone: str) -> Iterator[Calendar]:
    """Yields calendars of a zone: days, weeks and months, also from times of day that clocks skip or show twice."""
    yield CalendarDays(zone)
    yield CalendarDays(zone, timedelta(hours=2, minutes=30))
    yield CalendarWeeks(zone, 6, timedelta(microseconds=1))
    yield CalendarMonths(zone)


@pytest.mark.parametrize("zone", a_few(ZONES, 3))
def test_the_table_of_a_calendar_has_its_windows(zone: str) -> None:
    """At changes of the clocks, at the bounds of time and anywhere, the table has the window of the calendar."""
    for calendar in calendars(zone):
        blocks = calendar_blocks(calendar)
        assert blocks is not None, "the changes of the clocks of every zone are known"
        for point in times(blocks, str(calendar)):
            if MIN_TIME <= point < MAX_TIME:
                (window,) = calendar.assign(EventTime(point), None)
                assert looked_up(blocks, point) == (window.start, window.end), (str(calendar), point)
