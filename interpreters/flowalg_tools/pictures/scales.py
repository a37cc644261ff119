"""Time axes: ranges, ticks and their labels."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Final

from attrs import frozen

from flowalg.data.time import EPOCH, MAX_TIME, MIN_TIME, EventTime, event_time

SECOND: Final = 1_000_000
MINUTE: Final = 60 * SECOND
HOUR: Final = 60 * MINUTE
DAY: Final = 24 * HOUR
_YEAR: Final = 366 * DAY
_MONDAY: Final = 4 * DAY

_STEPS: Final = (
    *(factor * 10**power for power in range(6) for factor in (1, 2, 5)),
    *(count * SECOND for count in (1, 2, 5, 10, 15, 30)),
    *(count * MINUTE for count in (1, 2, 5, 10, 15, 30)),
    *(count * HOUR for count in (1, 2, 3, 6, 12)),
    *(count * DAY for count in (1, 2, 7, 14)),
)
_MONTHS: Final = (1, 3, 6, *(12 * factor * 10**power for power in range(4) for factor in (1, 2, 5)))


@frozen
class Range:
    """The times from ``first`` to ``last``, in microseconds since the epoch; ``first`` is before ``last``."""

    first: int
    last: int

    @classmethod
    def around(cls, points: Iterable[int]) -> Range:
        """Returns the range of the points with a margin on either side, within the bounds of time."""
        values = list(points) or [0]
        first, last = min(values), max(values)
        margin = max((last - first) // 30, 1) if last > first else 30 * SECOND
        return cls(max(first - margin, MIN_TIME), min(last + margin, MAX_TIME))

    @property
    def length(self) -> int:
        """Its length in microseconds."""
        return self.last - self.first

    def __contains__(self, point: int) -> bool:
        return self.first <= point <= self.last

    def fraction(self, point: int) -> float:
        """Returns the position of a point, from 0 to 1; points outside of the range are at its ends."""
        return min(max((point - self.first) / self.length, 0.0), 1.0)


@frozen
class Tick:
    """A tick: its position, from 0 to 1, and its label of one or two lines."""

    fraction: float
    label: str


@frozen
class Ticks:
    """The ticks of an axis, and their common date, if there is one."""

    ticks: tuple[Tick, ...]
    date: str

    def axis_label(self, axis: str) -> str:
        """Returns the label of the axis: its name, the time zone, and the date."""
        return f"{axis} (UTC), {self.date}" if self.date else f"{axis} (UTC)"


def choose_ticks(span: Range, most: int) -> Ticks:
    """At most some 2 to ``most`` ticks, at round times; those of long ranges at days, months or years."""
    step = next((step for step in _STEPS if span.length // step < most), None)
    points = list(_multiples(span, step)) if step is not None else list(_months(span, most))
    if step is None or step >= DAY:
        short = span.length < _YEAR * most and step is not None
        return Ticks(tuple(_date_ticks(span, points, short)), "")
    days = {point // DAY for point in (span.first, span.last)}
    if len(days) == 1:
        return Ticks(
            tuple(Tick(span.fraction(point), _clock(point, step)) for point in points), _day(span.first)
        )
    return Ticks(tuple(_time_ticks(span, points, step)), "")


def round_step(length: int, most: int) -> int:
    """Returns the smallest round duration of which at most ``most`` make up a length, in microseconds."""
    fitting = (step for step in _STEPS if -(-length // step) <= most)
    return next(fitting, -(-length // (most * DAY)) * DAY)


def core_range(points: Sequence[int]) -> tuple[int, int]:
    """Returns the first and the last of the points, without outliers.

    Otherwise a clock that is years off would make all other points coincide.
    """
    ordered = sorted(points)
    if len(ordered) < 20:
        return ordered[0], ordered[-1]
    low, high = ordered[len(ordered) // 20], ordered[-1 - len(ordered) // 20]
    room = 5 * max(high - low, SECOND)
    inside = ordered[_before(ordered, low - room) : bisect_right(ordered, high + room)]
    return inside[0], inside[-1]


def _before(ordered: Sequence[int], point: int) -> int:
    return bisect_right(ordered, point - 1)


def _multiples(span: Range, step: int) -> Iterator[int]:
    shift = _MONDAY if step % (7 * DAY) == 0 else 0
    first = -(-(span.first - shift) // step) * step + shift
    yield from range(first, span.last + 1, step)


def _months(span: Range, most: int) -> Iterator[int]:
    start, end = _date(span.first), _date(span.last)
    months = (end.year - start.year) * 12 + end.month - start.month
    step = next((step for step in _MONTHS if months // step < most), _MONTHS[-1])
    first = -(-(start.year * 12 + start.month - 1) // step) * step
    for month in range(first, end.year * 12 + end.month, step):
        if 12 < month < 12 * 9999:
            point = event_time(EPOCH.replace(year=month // 12, month=month % 12 + 1))
            if point in span:
                yield point


def _date_ticks(span: Range, points: Sequence[int], short: bool) -> Iterator[Tick]:
    """Labels of days have the year if it changes; those of months and years always have it."""
    for before, point in zip((None, *points), points, strict=False):
        date = _date(point)
        if not short:
            yield Tick(span.fraction(point), f"{date:%b} {date.year}")
            continue
        new = before is None or _date(before).year != date.year
        yield Tick(span.fraction(point), f"{date.day} {date:%b}" + (f"\n{date.year}" if new else ""))


def _time_ticks(span: Range, points: Sequence[int], step: int) -> Iterator[Tick]:
    """Labels of times have the date if it changes."""
    for before, point in zip((None, *points), points, strict=False):
        date = _date(point)
        new = before is None or before // DAY != point // DAY
        yield Tick(
            span.fraction(point), _clock(point, step) + (f"\n{date.day} {date:%b} {date.year}" if new else "")
        )


def _clock(point: int, step: int) -> str:
    date = _date(point)
    if step % MINUTE == 0:
        return f"{date:%H:%M}"
    if step % SECOND == 0:
        return f"{date:%H:%M:%S}"
    return f"{date:%H:%M:%S.%f}" if step % 1000 else f"{date:%H:%M:%S.%f}"[:-3]


def _day(point: int) -> str:
    date = _date(point)
    return f"{date.day} {date:%B} {date.year}"


def _date(point: int) -> datetime:
    return EventTime(point).datetime
