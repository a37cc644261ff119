"""Calendar windows in a time zone: days, weeks and months (SEMANTICS section 3).

They end at midnight in the zone, so the day of a daylight-saving transition has 23 or 25 hours. Where a transition
skips midnight, the day starts at the first instant after it.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from attrs import frozen

from flowalg.data.errors import ArgumentError
from flowalg.data.time import MAX_TIME, MIN_TIME, EventTime
from flowalg.windows.window import Window, clamp

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)


def _zone(argument: str, zone: str) -> ZoneInfo:
    try:
        return ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError, TypeError, OSError) as unknown:
        valid = "the name of a time zone, such as 'Europe/Berlin'"
        raise ArgumentError(argument, zone, valid) from unknown


def _midnight(day: date, zone: ZoneInfo) -> EventTime:
    """Returns the first instant of a day in a zone."""
    local = datetime(day.year, day.month, day.day, tzinfo=zone)
    offset = local.utcoffset() or timedelta(0)
    naive = datetime(day.year, day.month, day.day, tzinfo=UTC)
    return clamp((naive - _EPOCH - offset) // _MICROSECOND)


def _window(first: date | None, after: date | None, zone: ZoneInfo) -> tuple[Window, ...]:
    """Returns the window from day ``first`` up to day ``after``; ``None`` is beyond the bounds of time."""
    start = MIN_TIME if first is None else _midnight(first, zone)
    end = MAX_TIME if after is None else _midnight(after, zone)
    return (Window(start, end),)


def _day_of(point: EventTime, zone: ZoneInfo) -> date:
    return point.datetime.astimezone(zone).date()


@frozen
class CalendarDays:
    """Calendar days in a time zone, given by its name in the IANA database.

    Example:

    >>> [str(window) for window in CalendarDays("Europe/Berlin").assign(event_time(noon(3)), "red")]
    ['[2023-12-31T23:00:00Z, 2024-01-01T23:00:00Z)']
    """

    zone: str

    def __attrs_post_init__(self) -> None:
        _zone("CalendarDays.zone", self.zone)

    def assign(self, point: EventTime, key: object) -> tuple[Window, ...]:
        """Returns the day that contains the event time."""
        zone = _zone("CalendarDays.zone", self.zone)
        day = _day_of(point, zone)
        return _window(day, _add_days(day, 1), zone)

    def __str__(self) -> str:
        return f"days in {self.zone}"


@frozen
class CalendarWeeks:
    """Calendar weeks in a time zone; ``first_day`` is their first day, from 0 for Monday to 6 for Sunday."""

    zone: str
    first_day: int = 0

    def __attrs_post_init__(self) -> None:
        _zone("CalendarWeeks.zone", self.zone)
        if type(self.first_day) is not int or self.first_day not in range(7):
            valid = "an int from 0 (Monday) to 6 (Sunday)"
            raise ArgumentError("CalendarWeeks.first_day", self.first_day, valid)

    def assign(self, point: EventTime, key: object) -> tuple[Window, ...]:
        """Returns the week that contains the event time."""
        zone = _zone("CalendarWeeks.zone", self.zone)
        day = _day_of(point, zone)
        since = (day.weekday() - self.first_day) % 7
        return _window(_add_days(day, -since), _add_days(day, 7 - since), zone)

    def __str__(self) -> str:
        return f"weeks in {self.zone}"


@frozen
class CalendarMonths:
    """Calendar months in a time zone."""

    zone: str

    def __attrs_post_init__(self) -> None:
        _zone("CalendarMonths.zone", self.zone)

    def assign(self, point: EventTime, key: object) -> tuple[Window, ...]:
        """Returns the month that contains the event time."""
        zone = _zone("CalendarMonths.zone", self.zone)
        first = _day_of(point, zone).replace(day=1)
        after = _add_days(first, 32)
        return _window(first, None if after is None else after.replace(day=1), zone)

    def __str__(self) -> str:
        return f"months in {self.zone}"


def _add_days(day: date, days: int) -> date | None:
    """Returns the day ``days`` later; ``None`` if it is out of the range of dates."""
    try:
        return day + timedelta(days=days)
    except OverflowError:
        return None


__all__ = ["CalendarDays", "CalendarMonths", "CalendarWeeks"]
