"""Calendar windows in a time zone: days, weeks and months (SEMANTICS section 3).

A day starts at midnight in the zone, or at another time of day (its ``offset``): at the first instant at which clocks
show this time or a later one. So the day of a daylight-saving transition has 23 or 25 hours, and where a transition
skips the time, the day starts with the transition.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from typing import Any, Final, TypeAlias
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from attrs import evolve, frozen

from flowalg.data.closed import Closed
from flowalg.data.errors import ArgumentError
from flowalg.data.time import MAX_TIME, MIN_TIME, EventTime, duration_of
from flowalg.elementwise.functions import user_function_error
from flowalg.windows.window import Window, clamp

# The keys are those of the grouping, whose type is not known here.
ZoneByKey: TypeAlias = Callable[[Any], str]
"""The time zone of the windows of a key."""

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


class Calendar(Closed):
    """The calendar windows of a zone, or of the zone of each key: they follow each other, and have whole days."""

    __slots__ = ()

    _instead = "none: CustomWindows(...) takes functions"

    zone: str | ZoneByKey
    offset: timedelta

    def __attrs_post_init__(self) -> None:
        cls = type(self).__name__
        if not callable(self.zone):
            _zone(f"{cls}.zone", self.zone)
        _offset(f"{cls}.offset", self.offset)

    def assign(self, point: EventTime, key: object) -> tuple[Window, ...]:
        """Returns the window that contains the event time."""
        zone = ZoneInfo(self.zone_of(key))
        first, after = self._days(_day_of(point, zone, self.offset))
        return _window(first, after, zone, self.offset)

    @property
    def by_key(self) -> bool:
        """Whether the zone depends on the key."""
        return not isinstance(self.zone, str)

    def zone_of(self, key: object) -> str:
        """Returns the name of the zone of a key; raises ``ArgumentError`` if there is no such zone."""
        if isinstance(self.zone, str):
            return self.zone
        try:
            zone = self.zone(key)
        except Exception as cause:
            transform = f"{type(self).__name__}.zone"
            raise user_function_error(transform, self.zone, key, cause) from cause
        return _zone("the zone of a key", zone).key

    def in_zone(self, zone: str) -> Calendar:
        """Returns these windows in one zone."""
        raise NotImplementedError

    def _days(self, day: date) -> tuple[date | None, date | None]:
        """Returns the first day of the window with a day, and the day after it; ``None`` beyond the range of dates."""
        raise NotImplementedError

    def _in_words(self, days: str) -> str:
        zone = "the zone of the key" if self.by_key else self.zone
        return f"{days} in {zone}{f' from {self.offset}' if self.offset else ''}"


@frozen
class CalendarDays(Calendar):
    """Calendar days in a time zone, given by its name in the IANA database.

    With an ``offset`` they start at that time of day instead of midnight: a business day from six o'clock is
    ``CalendarDays("Europe/Berlin", offset=timedelta(hours=6))``. The zone may also be a function from the key to its
    name: ``CalendarDays(lambda shop: shop.zone)``.

    Example:

    >>> [str(window) for window in CalendarDays("Europe/Berlin").assign(event_time(noon(3)), "red")]
    ['[2023-12-31T23:00:00Z, 2024-01-01T23:00:00Z)']
    """

    zone: str | ZoneByKey
    offset: timedelta = timedelta(0)

    def in_zone(self, zone: str) -> CalendarDays:
        """Returns these windows in one zone."""
        return evolve(self, zone=zone)

    def _days(self, day: date) -> tuple[date | None, date | None]:
        return day, _add_days(day, 1)

    def __str__(self) -> str:
        return self._in_words("days")


@frozen
class CalendarWeeks(Calendar):
    """Calendar weeks in a time zone; ``first_day`` is their first day, from 0 for Monday to 6 for Sunday.

    With an ``offset`` they start at that time of their first day.
    """

    zone: str | ZoneByKey
    first_day: int = 0
    offset: timedelta = timedelta(0)

    def __attrs_post_init__(self) -> None:
        Calendar.__attrs_post_init__(self)
        if type(self.first_day) is not int or self.first_day not in range(7):
            valid = "an int from 0 (Monday) to 6 (Sunday)"
            raise ArgumentError("CalendarWeeks.first_day", self.first_day, valid)

    def in_zone(self, zone: str) -> CalendarWeeks:
        """Returns these windows in one zone."""
        return evolve(self, zone=zone)

    def _days(self, day: date) -> tuple[date | None, date | None]:
        since = (day.weekday() - self.first_day) % 7
        return _add_days(day, -since), _add_days(day, 7 - since)

    def __str__(self) -> str:
        return self._in_words("weeks")


@frozen
class CalendarMonths(Calendar):
    """Calendar months in a time zone; with an ``offset`` they start at that time of their first day."""

    zone: str | ZoneByKey
    offset: timedelta = timedelta(0)

    def in_zone(self, zone: str) -> CalendarMonths:
        """Returns these windows in one zone."""
        return evolve(self, zone=zone)

    def _days(self, day: date) -> tuple[date | None, date | None]:
        first = day.replace(day=1)
        after = _add_days(first, 32)
        return first, None if after is None else after.replace(day=1)

    def __str__(self) -> str:
        return self._in_words("months")


def windows_between(calendar: Calendar, first: EventTime, last: EventTime) -> tuple[Window, ...]:
    """Returns the windows that contain event times from the first to the last, in order: they follow each other.

    They are those of one zone, not of that of a key.
    """
    windows = [*calendar.assign(first, None)]
    while windows[-1].end <= last and windows[-1].end < MAX_TIME:
        windows += calendar.assign(windows[-1].end, None)
    return tuple(windows)


def _add_days(day: date, days: int) -> date | None:
    """Returns the day ``days`` later; ``None`` if it is out of the range of dates."""
    try:
        return day + timedelta(days=days)
    except OverflowError:
        return None
