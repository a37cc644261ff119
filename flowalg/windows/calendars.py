"""Calendar windows in a time zone: days, weeks and months (SEMANTICS section 3).

A day starts at midnight in the zone, or at another time of day (its ``offset``): at the first instant at which clocks
show this time or a later one. So the day of a daylight-saving transition has 23 or 25 hours, and where a transition
skips the time, the day starts with the transition.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from attrs import frozen

from flowalg.data.errors import ArgumentError
from flowalg.data.time import MAX_TIME, MIN_TIME, EventTime, duration_of
from flowalg.windows.window import Window, clamp

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_DAY: Final = timedelta(days=1)


def _zone(argument: str, zone: str) -> ZoneInfo:
    try:
        return ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError, TypeError, OSError) as unknown:
        valid = "the name of a time zone, such as 'Europe/Berlin'"
        raise ArgumentError(argument, zone, valid) from unknown


def _offset(argument: str, offset: timedelta) -> None:
    duration_of(argument, offset, allow_zero=True)
    if offset >= _DAY:
        raise ArgumentError(argument, offset, "a time of day: less than 24 hours")


def _instant(shown: datetime, zone: ZoneInfo, fold: int) -> int:
    """Returns the instant of a local time, by the offset before a change of the clocks (0) or after it (1)."""
    offset = shown.replace(tzinfo=zone, fold=fold).utcoffset() or timedelta(0)
    return (shown.replace(tzinfo=UTC) - _EPOCH - offset) // _MICROSECOND


def _shown(point: int, zone: ZoneInfo) -> datetime:
    return (_EPOCH + point * _MICROSECOND).astimezone(zone).replace(tzinfo=None)


@lru_cache(maxsize=65_536)
def _start(day: date, zone: ZoneInfo, offset: timedelta) -> EventTime:
    """Returns the first instant at which clocks in a zone show the start of a day, or a later time."""
    start = datetime(day.year, day.month, day.day) + offset
    first, before = _instant(start, zone, 0), _instant(start, zone, 1)
    # A time that clocks show twice has its first instant here. If they skip it, the change is between the two instants.
    while first - before > 1:
        middle = (before + first) // 2
        before, first = (middle, first) if _shown(middle, zone) < start else (before, middle)
    return clamp(first)


def _window(first: date | None, after: date | None, zone: ZoneInfo, offset: timedelta) -> tuple[Window, ...]:
    """Returns the window from day ``first`` up to day ``after``; ``None`` is beyond the bounds of time."""
    start = MIN_TIME if first is None else _start(first, zone, offset)
    end = MAX_TIME if after is None else _start(after, zone, offset)
    return (Window(start, end),)


def _day_of(point: EventTime, zone: ZoneInfo, offset: timedelta) -> date:
    day = (point.datetime.astimezone(zone).replace(tzinfo=None) - offset).date()
    following = _add_days(day, 1)  # which has begun if the clocks have gone back since
    return day if following is None or point < _start(following, zone, offset) else following


@frozen
class CalendarDays:
    """Calendar days in a time zone, given by its name in the IANA database.

    With an ``offset`` they start at that time of day instead of midnight: a business day from six o'clock is
    ``CalendarDays("Europe/Berlin", offset=timedelta(hours=6))``.

    Example:

    >>> [str(window) for window in CalendarDays("Europe/Berlin").assign(event_time(noon(3)), "red")]
    ['[2023-12-31T23:00:00Z, 2024-01-01T23:00:00Z)']
    """

    zone: str
    offset: timedelta = timedelta(0)

    def __attrs_post_init__(self) -> None:
        _zone("CalendarDays.zone", self.zone)
        _offset("CalendarDays.offset", self.offset)

    def assign(self, point: EventTime, key: object) -> tuple[Window, ...]:
        """Returns the day that contains the event time."""
        zone = _zone("CalendarDays.zone", self.zone)
        day = _day_of(point, zone, self.offset)
        return _window(day, _add_days(day, 1), zone, self.offset)

    def __str__(self) -> str:
        return f"days in {self.zone}{_from(self.offset)}"


@frozen
class CalendarWeeks:
    """Calendar weeks in a time zone; ``first_day`` is their first day, from 0 for Monday to 6 for Sunday.

    With an ``offset`` they start at that time of their first day.
    """

    zone: str
    first_day: int = 0
    offset: timedelta = timedelta(0)

    def __attrs_post_init__(self) -> None:
        _zone("CalendarWeeks.zone", self.zone)
        _offset("CalendarWeeks.offset", self.offset)
        if type(self.first_day) is not int or self.first_day not in range(7):
            valid = "an int from 0 (Monday) to 6 (Sunday)"
            raise ArgumentError("CalendarWeeks.first_day", self.first_day, valid)

    def assign(self, point: EventTime, key: object) -> tuple[Window, ...]:
        """Returns the week that contains the event time."""
        zone = _zone("CalendarWeeks.zone", self.zone)
        day = _day_of(point, zone, self.offset)
        since = (day.weekday() - self.first_day) % 7
        return _window(_add_days(day, -since), _add_days(day, 7 - since), zone, self.offset)

    def __str__(self) -> str:
        return f"weeks in {self.zone}{_from(self.offset)}"


@frozen
class CalendarMonths:
    """Calendar months in a time zone; with an ``offset`` they start at that time of their first day."""

    zone: str
    offset: timedelta = timedelta(0)

    def __attrs_post_init__(self) -> None:
        _zone("CalendarMonths.zone", self.zone)
        _offset("CalendarMonths.offset", self.offset)

    def assign(self, point: EventTime, key: object) -> tuple[Window, ...]:
        """Returns the month that contains the event time."""
        zone = _zone("CalendarMonths.zone", self.zone)
        first = _day_of(point, zone, self.offset).replace(day=1)
        after = _add_days(first, 32)
        return _window(first, None if after is None else after.replace(day=1), zone, self.offset)

    def __str__(self) -> str:
        return f"months in {self.zone}{_from(self.offset)}"


def _from(offset: timedelta) -> str:
    return f" from {offset}" if offset else ""


def _add_days(day: date, days: int) -> date | None:
    """Returns the day ``days`` later; ``None`` if it is out of the range of dates."""
    try:
        return day + timedelta(days=days)
    except OverflowError:
        return None
