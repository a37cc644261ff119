"""Event times at the scale of a window function, whose windows may last a microsecond or a month."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from itertools import product
from typing import Final
from zlib import crc32

from attrs import field, frozen
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from flowalg import FlowalgError, Window
from flowalg.data import MAX_TIME, MIN_TIME
from flowalg.data.time import EventTime, event_time
from flowalg.windows import WindowFn, WindowsByValue
from flowalg.windows.window_functions import as_merging, assign_windows, merged_windows
from flowalg_laws.kit.readings import START
from flowalg_laws.strategies.cached import cached
from flowalg_laws.strategies.times import event_times

_MINUTE: Final = 60_000_000
_START: Final = event_time(START)
_EARLY: Final = event_time(datetime(1900, 1, 1, tzinfo=UTC))
_FEW: Final = 6
"""The most event times of a set."""
_LONGEST: Final = 1024
"""The most windows in a row that are merged to find a limit of merging."""


@cached
def _steps() -> SearchStrategy[tuple[int, int]]:
    """Steps between event times: quarters of the length of a window, often a few of them, and microseconds more."""
    quarters = st.sampled_from((4, 2, 3, 1, 5, 6, 8)) | st.integers(4, 14).map(lambda power: 2**power)
    return st.tuples(quarters, st.sampled_from((0, 1, -1)))


@st.composite
def scaled_points(
    draw: DrawFn, windows: WindowFn, key: str, limit_of: Callable[[str, int], int | None]
) -> tuple[tuple[EventTime, ...], tuple[EventTime, ...]]:
    """Two sets of event times whose distances are of the order of the lengths of the windows.

    Some are rows from a bound of a window, and some lie around the epoch, before which the microseconds of event times
    are negative. If a row of windows is merged only up to some length, some sets are rows beyond it: ``limit_of`` is
    ``row_limit`` of these windows.
    """
    base = draw(event_times())
    length = draw(st.sampled_from(_lengths(windows, base, key)))
    last = max(
        base, MAX_TIME - 1 - length
    )  # after it, a function may compute the end of a window beyond all of time
    quarters, more = draw(_steps())
    step = max(1, length * quarters // 4 + more)
    if draw(st.sampled_from((False, True, False))):
        base = _before_the_epoch(draw(st.integers(0, 2 * _FEW)) * step)
    if draw(st.booleans()):
        base = draw(st.sampled_from(_bounds(windows, base, key)))
    limit = limit_of(key, length)
    if limit is not None and draw(st.booleans()):
        step = max(1, min(step, length))
        row = [base + number * step for number in range(limit * length * 2 // step)][: 2 * _LONGEST]
        cut = draw(st.integers(0, len(row)))
        first, second = row[:cut], row[cut:]
        if draw(st.booleans()):
            first, second = second, first
    else:
        times = st.lists(st.integers(0, 2 * _FEW).map(lambda number: base + number * step), max_size=_FEW)
        first, second = draw(times), draw(times)
    return _inside(first, last), _inside(second, last)


def neighbouring_points(
    windows: WindowFn, key: str
) -> Iterator[tuple[tuple[EventTime, ...], tuple[EventTime, ...]]]:
    """Yields two sets of event times in one row, in some orders: windows of neighbours merge, and others need not."""
    bound = _bounds(windows, _START, key)[0]
    for length in _lengths(windows, _START, key):
        last = max(_START, MAX_TIME - 1 - length)
        for unit in dict.fromkeys((merge_reach(windows, key, length), length)):
            for quarters, order in product((3, 4, 2), ((0, 1, 2, 3), (1, 0, 3, 2), (0, 2, 1, 3))):
                step = max(1, unit * quarters // 4)
                for start, cut in product((_START, bound, _before_the_epoch(2 * step)), (2, len(order))):
                    row = [start + number * step for number in order]
                    yield _inside(row[:cut], last), _inside(row[cut:], last)


def _before_the_epoch(distance: int) -> EventTime:
    """Returns an event time so many microseconds, and one more, before the epoch, but not before all calendars."""
    return EventTime(max(-distance - 1, _EARLY))


def _lengths(windows: WindowFn, point: EventTime, key: str) -> list[int]:
    """Returns the lengths of the windows of an element; a minute if there are none."""
    return sorted({window.end - window.start for window in _windows(windows, point, key)}) or [_MINUTE]


def _bounds(windows: WindowFn, point: EventTime, key: str) -> list[EventTime]:
    """Returns the starts and ends of the windows of an element that calendars have; its event time without any."""
    bounds = {bound for window in _windows(windows, point, key) for bound in (window.start, window.end)}
    return sorted(bound for bound in bounds if bound >= _EARLY) or [point]


def _windows(windows: WindowFn, point: EventTime, key: str) -> tuple[Window, ...]:
    """Returns the windows of an element; the laws raise the error of a function that raises here."""
    with suppress(FlowalgError):
        return tuple(assign_windows(windows, point, key, None))
    return ()


def merge_reach(windows: WindowFn, key: str, length: int) -> int:
    """Returns the greatest distance of two event times whose windows merge, or the length of a window if none do.

    It is found by bisection, as if windows that merge did so whenever they are closer.
    """
    merge = as_merging(windows)
    least, most = 0, length
    with suppress(FlowalgError):
        while merge is not None and least < most:
            distance = (least + most + 1) // 2
            pair = _inside((_START, _START + distance), max(_START, MAX_TIME - 1 - length))
            assigned = dict.fromkeys(
                window for point in pair for window in assign_windows(windows, point, key, None)
            )
            if len(merged_windows(merge, assigned)) > 1:
                most = distance - 1
            else:
                least = distance
    return least or length


def row_limit(windows: WindowFn, key: str, length: int) -> int | None:
    """Returns a number of windows, each of which overlaps the next, that are more than one window after merging.

    Returns ``None`` if windows do not merge, or if any number of them seems to become one.
    """
    merge = as_merging(windows)
    count = 2
    with suppress(FlowalgError):
        while merge is not None and count <= _LONGEST:
            steps = (_START + number * max(1, length * 3 // 4) for number in range(count))
            row = _inside(steps, max(_START, MAX_TIME - 1 - length))
            assigned = dict.fromkeys(
                window for point in row for window in assign_windows(windows, point, key, None)
            )
            if len(merged_windows(merge, assigned)) > 1:
                return count
            count *= 2
    return None


@frozen
class _WindowsOfValues(WindowsByValue):
    """Windows of elements that have one of some values, which depends only on their event time."""

    values: Sequence[object] = field(kw_only=True)

    def assign(self, point: EventTime, key: object, value: object) -> tuple[Window, ...]:
        """Returns the windows of an element, whatever value is given."""
        return super().assign(point, key, self.values[crc32(str(point).encode()) % len(self.values)])


def with_values(windows: WindowsByValue, values: Sequence[object]) -> WindowsByValue:
    """Returns windows whose elements have these values, for the laws, which know elements without values."""
    return _WindowsOfValues(windows.name, windows.assign_with, windows.merge_with, values=values)


def _inside(points: Iterable[int], last: int = MAX_TIME - 1) -> tuple[EventTime, ...]:
    return tuple(EventTime(min(max(point, MIN_TIME), last)) for point in points)
