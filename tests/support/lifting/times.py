"""Points in time, dates and durations."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from typing import Final

from tests.support.lifting.family import Family

HOUR: Final = timedelta(hours=1)
NOON: Final = datetime(2024, 1, 1, 12, tzinfo=UTC)
ELSEWHERE: Final = datetime(2024, 1, 1, 12, tzinfo=timezone(timedelta(hours=-5)))

FAMILIES: Final = (
    Family(
        "Points in time",
        "In UTC, as elements have them, whatever the time zone of the session. Results outside the years 1 to "
        "9999 fail. A captured datetime in another zone can be compared and subtracted. `replace` takes constant "
        "clock fields, and a day up to 28, and `strftime` the directives of numbers.",
        (
            lambda e: e.at,
            lambda e: e.at.year,
            lambda e: e.at.month,
            lambda e: e.at.day,
            lambda e: e.at.hour,
            lambda e: e.at.minute,
            lambda e: e.at.second,
            lambda e: e.at.microsecond,
            lambda e: e.at.hour * 60 + e.at.minute,
            lambda e: e.at.date(),
            lambda e: e.at.date().isoformat(),
            lambda e: e.at.weekday(),
            lambda e: e.at.isoweekday(),
            lambda e: e.at.toordinal(),
            lambda e: e.at.timestamp(),
            lambda e: e.at + HOUR,
            lambda e: HOUR + e.at,
            lambda e: e.at - timedelta(days=3, seconds=1),
            lambda e: e.at + e.d,
            lambda e: e.at - e.d,
            lambda e: (e.at + e.d) - e.d,
            lambda e: (e.at + HOUR).hour,
            lambda e: e.at - e.until,
            lambda e: (e.at - e.until).total_seconds(),
            lambda e: e.at - ELSEWHERE,
            lambda e: e.at < e.until,
            lambda e: e.at >= NOON,
            lambda e: e.at == ELSEWHERE,
            lambda e: e.at != e.until,
            lambda e: max(e.at, e.until),
            lambda e: e.at + timedelta(seconds=e.x % 1000),
            lambda e: e.at + timedelta(hours=e.x),
            lambda e: e.at.replace(minute=0, second=0, microsecond=0),
            lambda e: e.at.replace(hour=23),
            lambda e: e.at.replace(day=1, hour=0, minute=0, second=0, microsecond=0),
            lambda e: NOON if e.b else e.at,
            lambda e: datetime(2024, 3, 1, tzinfo=UTC),
            lambda e: NOON.hour + e.x % 5,
            lambda e: e.at.strftime("%Y-%m-%d %H:%M:%S.%f"),
            lambda e: f"{e.at:%d/%m/%y at 100%%}",
        ),
    ),
    Family(
        "Dates",
        "Adding a duration to a date adds its whole days, rounded down.",
        (
            lambda e: e.day,
            lambda e: e.day.year * 12 + e.day.month,
            lambda e: e.day.day,
            lambda e: e.day.weekday(),
            lambda e: e.day.isoweekday(),
            lambda e: e.day.toordinal(),
            lambda e: e.day.isoformat(),
            lambda e: f"on {e.day}",
            lambda e: e.day + timedelta(days=1),
            lambda e: e.day - HOUR,
            lambda e: e.day + e.d,
            lambda e: e.day - e.end,
            lambda e: (e.day - e.end).days,
            lambda e: e.day < e.end,
            lambda e: e.day == date(2024, 2, 29),
            lambda e: e.day.replace(day=1),
            lambda e: date(1999, 12, 31),
            lambda e: e.day.strftime("%d.%m.%Y, %H h"),
        ),
    ),
    Family(
        "Durations",
        "In microseconds; a stored result must fit 64 bits. `*` and `//` by integers, `//`, `%` and `/` by "
        "durations.",
        (
            lambda e: e.d,
            lambda e: e.d + e.p,
            lambda e: e.d - e.p,
            lambda e: (e.d + e.p) - e.p,
            lambda e: -e.d,
            lambda e: abs(e.d),
            lambda e: e.d * 3,
            lambda e: e.x * HOUR,
            lambda e: e.d // 7,
            lambda e: e.d // e.p,
            lambda e: e.d % e.p,
            lambda e: e.d / e.p,
            lambda e: e.d / HOUR,
            lambda e: e.d // timedelta(minutes=1),
            lambda e: e.d < e.p,
            lambda e: e.d == HOUR,
            lambda e: e.d.days,
            lambda e: e.d.seconds,
            lambda e: e.d.microseconds,
            lambda e: e.d.total_seconds(),
            lambda e: timedelta(minutes=e.x % 100, seconds=5),
            lambda e: (e.d + e.d if e.b else e.p) - e.d,
            lambda e: min(e.d, e.p),
        ),
    ),
)
