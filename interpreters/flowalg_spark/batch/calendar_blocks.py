"""Calendar windows of all time as a small table, which a join looks event times up in.

The windows are those that the calendar itself assigns, with the database of time zones of Python. It is asked about the
time around each change of the clocks; between two changes all days have the same length. The file of a zone has the
changes up to some year, and a rule for all later ones, which repeat every 400 years, as the days of the months do.
"""

from __future__ import annotations

import struct
from calendar import monthrange
from collections.abc import Iterator
from datetime import timedelta
from functools import lru_cache
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from typing import ClassVar, Final, TypeAlias
from zoneinfo import TZPATH, ZoneInfo

import pyarrow as pa
from attrs import define, field, frozen

from flowalg.data.time import EPOCH, MAX_TIME, MIN_TIME, EventTime
from flowalg.windows.calendars import Calendar, CalendarMonths, CalendarWeeks, windows_between

_SECOND: Final = 10**6
_DAY: Final = 86_400 * _SECOND
_CYCLE: Final = 146_097 * _DAY
"""400 years, after which the days of the months, and the weeks, repeat."""
_NEAR: Final = 2 * _DAY
"""Further than this from a change of the clocks, it does not matter to when a day starts."""
_FAR: Final = 40 * _DAY
"""More than a month: a window that ends before a change, or starts after it, is at most so far away."""
_SAMPLE: Final = 8 * _DAY
_CHANGES: Final = 800
"""The changes of a rule in 400 years: two in each."""

BLOCK: Final = "__block"
BEGIN: Final = "__begin"
LENGTH: Final = "__length"
"""The columns of the number of a block, and, with the number of a run in the block, of its start and length."""

Run: TypeAlias = tuple[int, int]
"""Windows of the same length that follow each other: the start of the first, and the length."""


@frozen
class CalendarBlocks:
    """The runs of windows in each block of time from ``first`` to ``last``: those from the one at its start.

    Earlier times are like those in the first ``before`` microseconds of the blocks, and later ones like those in the
    last ``after``: with windows of the same lengths.
    """

    first: int
    last: int
    before: int
    after: int
    blocks: tuple[tuple[Run, ...], ...]

    SIZE: ClassVar[int] = 2**42
    """The microseconds of a block: 51 days."""

    @property
    def most(self) -> int:
        """The most runs of a block."""
        return max(map(len, self.blocks))

    @property
    def table(self) -> pa.Table:
        """A row for each block, where ``MAX_TIME`` is the start of runs that it does not have."""
        columns = {BLOCK: pa.array(range(len(self.blocks)), pa.int64())}
        padding = ((int(MAX_TIME), 1),) * self.most
        rows = [(*runs, *padding)[: self.most] for runs in self.blocks]
        for number, runs in enumerate(zip(*rows, strict=True)):
            for name, values in zip((BEGIN, LENGTH), zip(*runs, strict=True), strict=True):
                columns[f"{name}{number}"] = pa.array(values, pa.int64())
        return pa.table(columns)


@lru_cache(maxsize=1_024)
def calendar_blocks(calendar: Calendar) -> CalendarBlocks | None:
    """Returns the blocks of a calendar of one zone; ``None`` if the changes of its clocks are not known."""
    assert isinstance(calendar.zone, str), "a calendar of one zone"
    clocks = _clocks(calendar.zone)
    if clocks is None:
        return None
    period = _period(calendar)
    before, after = period, max(period, _CYCLE if clocks.yearly else 0)
    first, last = clocks.first - _FAR - before, clocks.last + _FAR + after
    if not MIN_TIME < first - _FAR < last + _FAR < MAX_TIME:
        return None
    runs = _Runs(calendar)
    runs.add(first, first)
    for change in clocks.changes(until=last):
        runs.add(change - _NEAR, change + _NEAR)
    runs.add(last, last)
    return CalendarBlocks(first, last, before, after, tuple(runs.blocks(first, last)))


def _period(calendar: Calendar) -> int:
    """Returns after which time the lengths of windows repeat, of clocks that do not change."""
    match calendar:
        case CalendarMonths():
            return _CYCLE
        case CalendarWeeks():
            return 7 * _DAY
        case _:
            return _DAY


@define
class _Runs:
    """Runs of windows of a calendar that follow each other, in order, up to ``end``."""

    calendar: Calendar
    runs: list[Run] = field(factory=list)
    end: int | None = None

    def add(self, first: int, last: int) -> None:
        """Adds the windows up to the one with the last time. From ``end`` to the first time no clocks change."""
        for window in windows_between(self.calendar, EventTime(first), EventTime(last)):
            if self.end is not None and window.start > self.end:
                self._skip(self.end, window.start)
            if self.end is None or window.start == self.end:
                self._append(window.start, window.end - window.start)

    def _skip(self, start: int, end: int) -> None:
        """Adds the windows between two times, without a change of the clocks."""
        if not isinstance(self.calendar, CalendarMonths):
            length = _period(self.calendar)
            assert (end - start) % length == 0, "between changes of the clocks windows are equally long"
            self._append(start, length)
            self.end = end
            return
        middle = (EPOCH + timedelta(microseconds=start + 15 * _DAY)).date()
        month = middle.year * 12 + middle.month - 1
        while start < end:
            length = monthrange(month // 12, month % 12 + 1)[1] * _DAY
            self._append(start, length)
            start, month = start + length, month + 1
        assert start == end, "between changes of the clocks months have whole days"

    def _append(self, start: int, length: int) -> None:
        if not self.runs or self.runs[-1][1] != length:
            self.runs.append((start, length))
        self.end = start + length

    def blocks(self, first: int, last: int) -> Iterator[tuple[Run, ...]]:
        """Yields the runs in each block."""
        at = 0
        for start in range(first, last, CalendarBlocks.SIZE):
            while at + 1 < len(self.runs) and self.runs[at + 1][0] <= start:
                at += 1
            after = at + 1
            while after < len(self.runs) and self.runs[after][0] < start + CalendarBlocks.SIZE:
                after += 1
            yield tuple(self.runs[at:after])


@frozen
class _Clocks:
    """When the clocks of a zone change: at some times, and then, by a rule, at ``yearly`` ones in each 400 years."""

    times: tuple[int, ...]
    yearly: tuple[int, ...]

    @property
    def first(self) -> int:
        """The first change."""
        return self.times[0] if self.times else 0

    @property
    def last(self) -> int:
        """The time from which all changes are by the rule."""
        return self.times[-1] if self.times else 0

    def changes(self, *, until: int) -> Iterator[int]:
        """Yields the changes until a time."""
        yield from self.times
        for cycle in range(2):
            yield from (later for time in self.yearly if (later := time + cycle * _CYCLE) <= until)


@lru_cache(maxsize=1_024)
def _clocks(name: str) -> _Clocks | None:
    """Returns when the clocks of a zone change; ``None`` if it is not known for sure."""
    data = _zone_file(name)
    if data is None:
        return None
    seconds, has_rule = _read_zone(data)
    zone = ZoneInfo(name)
    low, high = MIN_TIME + _FAR, MAX_TIME - _FAR
    times = tuple(time for second in seconds if MIN_TIME - _FAR < (time := second * _SECOND) < high)
    if times and times[0] < low:
        return None
    constant = pairwise((low, *times, *(() if has_rule else (high,))))
    if any(_offset(zone, begin) != _offset(zone, end - 1) for begin, end in constant):
        return None
    if not has_rule:
        return _Clocks(times, ())
    if not times or times[-1] + 2 * _CYCLE > high:
        return None
    begin = times[-1] + _SECOND
    yearly = tuple(_changes_between(zone, begin, begin + _CYCLE))
    return _Clocks(times, yearly) if len(yearly) == _CHANGES else None


def _changes_between(zone: ZoneInfo, begin: int, end: int) -> Iterator[int]:
    """Yields the changes of clocks that are further apart than a sample."""
    earlier, before = begin, _offset(zone, begin)
    for time in (*range(begin + _SAMPLE, end, _SAMPLE), end):
        now = _offset(zone, time)
        if now != before:
            low, high = earlier, time
            while high - low > _SECOND:
                middle = low + (high - low) // _SECOND // 2 * _SECOND
                low, high = (low, middle) if _offset(zone, middle) != before else (middle, high)
            yield high
        earlier, before = time, now


def _offset(zone: ZoneInfo, point: int) -> timedelta | None:
    """Returns by how much the clocks of a zone are ahead of UTC."""
    return (EPOCH + timedelta(microseconds=point)).astimezone(zone).utcoffset()


def _zone_file(name: str) -> bytes | None:
    """Returns the file that ``ZoneInfo`` reads for a zone, if there is one: of the system, else of ``tzdata``."""
    for folder in TZPATH:
        path = Path(folder, name)
        if path.is_file():
            return path.read_bytes()
    try:
        return files("tzdata").joinpath("zoneinfo", *name.split("/")).read_bytes()
    except (ImportError, OSError):
        return None


_HEADER: Final = struct.Struct(">4sc15x6l")
"""The head of a part of a zone's file (RFC 8536): the magic word, the version and six counts."""


def _read_zone(data: bytes) -> tuple[tuple[int, ...], bool]:
    """Returns the times at which clocks change, in seconds, and whether a rule goes on after them."""
    _, version, utc, standard, leaps, times, types, letters = _HEADER.unpack_from(data)
    wide = version != b"\0"
    start = _HEADER.size
    if wide:
        start += times * 5 + types * 6 + letters + leaps * 8 + standard + utc
        _, _, utc, standard, leaps, times, types, letters = _HEADER.unpack_from(data, start)
        start += _HEADER.size
    size = 8 if wide else 4
    changes = struct.unpack_from(f">{times}{'q' if wide else 'l'}", data, start)
    end = start + times * (size + 1) + types * 6 + letters + leaps * (size + 4) + standard + utc
    return changes, wide and b"," in data[end:]
