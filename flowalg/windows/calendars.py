"""Windows of the calendar in a time zone: days, weeks and months (SEMANTICS section 3).

Their ends are midnights of the zone, so a day on which the clocks change is 23 or 25 hours long. Where a midnight
does not exist, because the clocks are put forward at it, the day starts at the first instant that does.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from attrs import frozen

from flowalg.data.errors import ArgumentError
from flowalg.data.time import MAX_TIME, MIN_TIME, EventTime, to_datetime
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
    """The first instant of a day in a zone."""
    local = datetime(day.year, day.month, day.day, tzinfo=zone)
    offset = local.utcoffset() or timedelta(0)
    naive = datetime(day.year, day.month, day.day, tzinfo=UTC)
    return clamp((naive - _EPOCH - offset) // _MICROSECOND)


def _window(first: date | None, after: date | None, zone: ZoneInfo) -> tuple[Window, ...]:
    """The window from its first day up to the day after its last; ``None`` lies beyond the bounds of time."""
    start = MIN_TIME if first is None else _midnight(first, zone)
    end = MAX_TIME if after is None else _midnight(after, zone)
    return (Window(end=end, start=start),)


def _day_of(point: EventTime, zone: ZoneInfo) -> date:
    return to_datetime(point).astimezone(zone).date()


@frozen
class CalendarDays:
    """Days in a time zone, by its name in the IANA database."""

    zone: str

    def __attrs_post_init__(self) -> None:
        _zone("CalendarDays.zone", self.zone)

    def assign(self, point: EventTime, key: object) -> tuple[Window, ...]:
        """The day that holds the event time."""
        zone = _zone("CalendarDays.zone", self.zone)
        day = _day_of(point, zone)
        return _window(day, _moved(day, 1), zone)

    def __str__(self) -> str:
        return f"days in {self.zone}"


@frozen
class CalendarWeeks:
    """Weeks in a time zone; ``first_day`` is the day that they start on, from 0 for Monday to 6 for Sunday."""

    zone: str
    first_day: int = 0

    def __attrs_post_init__(self) -> None:
        _zone("CalendarWeeks.zone", self.zone)
        if type(self.first_day) is not int or self.first_day not in range(7):
            valid = "an int from 0 (Monday) to 6 (Sunday)"
            raise ArgumentError("CalendarWeeks.first_day", self.first_day, valid)

    def assign(self, point: EventTime, key: object) -> tuple[Window, ...]:
        """The week that holds the event time."""
        zone = _zone("CalendarWeeks.zone", self.zone)
        day = _day_of(point, zone)
        since = (day.weekday() - self.first_day) % 7
        return _window(_moved(day, -since), _moved(day, 7 - since), zone)

    def __str__(self) -> str:
        return f"weeks in {self.zone}"


@frozen
class CalendarMonths:
    """Months in a time zone."""

    zone: str

    def __attrs_post_init__(self) -> None:
        _zone("CalendarMonths.zone", self.zone)

    def assign(self, point: EventTime, key: object) -> tuple[Window, ...]:
        """The month that holds the event time."""
        zone = _zone("CalendarMonths.zone", self.zone)
        first = _day_of(point, zone).replace(day=1)
        after = _moved(first, 32)
        return _window(first, None if after is None else after.replace(day=1), zone)

    def __str__(self) -> str:
        return f"months in {self.zone}"


def _moved(day: date, days: int) -> date | None:
    """A day some days later or earlier; ``None`` beyond what a date can be."""
    try:
        return day + timedelta(days=days)
    except OverflowError:
        return None


__all__ = ["CalendarDays", "CalendarMonths", "CalendarWeeks"]
