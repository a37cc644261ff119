"""Windowing strategies: which windows an element is in, and which windows merge (SEMANTICS section 3; DM 2.2).

A strategy is two functions: ``assign``, from an event time and a key to windows, and ``merge``, which divides windows
into groups that become one. Strategies that do not merge leave every window alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import Any, TypeAlias

from attrs import frozen

from flowalg.data.errors import ArgumentError, ElementError, format_value
from flowalg.data.time import EventTime, Micros, duration_of
from flowalg.elementwise.functions import user_function_error
from flowalg.windows.calendars import CalendarDays, CalendarMonths, CalendarWeeks
from flowalg.windows.window import GLOBAL_WINDOW, Window, clamp

# The keys are those of the grouping that windows will be for, whose type is not known here.
OffsetByKey: TypeAlias = Callable[[Any], timedelta]
"""How far a key's windows are shifted."""

Assign: TypeAlias = Callable[[EventTime, Any], Iterable[Window]]
"""The windows of an event time and a key."""


@frozen
class GlobalWindows:
    """Everything in one window, which ends when time does."""

    def assign(self, point: EventTime, key: object) -> tuple[Window, ...]:
        """The global window, whatever the event time."""
        return (GLOBAL_WINDOW,)

    def __str__(self) -> str:
        return "one global window"


@frozen
class FixedWindows:
    """Consecutive windows of one size (Dataflow Model, section 1.2: "fixed", also called tumbling).

    ``size`` is a positive duration; windows start at whole multiples of it after the Unix epoch plus ``offset``, a
    duration in ``[0, size)``, plus what ``offset_by_key`` gives for a key, so that not all keys come out at once. The
    windows that would reach over the bounds of time are cut off there.
    """

    size: timedelta
    offset: timedelta = timedelta(0)
    offset_by_key: OffsetByKey | None = None

    def __attrs_post_init__(self) -> None:
        size = duration_of("FixedWindows.size", self.size, allow_zero=False)
        if duration_of("FixedWindows.offset", self.offset, allow_zero=True) >= size:
            raise ArgumentError("FixedWindows.offset", self.offset, f"shorter than the size, {self.size}")
        if self.offset_by_key is not None and not callable(self.offset_by_key):
            raise ArgumentError(
                "FixedWindows.offset_by_key", self.offset_by_key, "a function from a key to a timedelta"
            )

    @property
    def size_micros(self) -> Micros:
        """The size in microseconds."""
        return duration_of("FixedWindows.size", self.size, allow_zero=False)

    @property
    def offset_micros(self) -> Micros:
        """The offset in microseconds."""
        return duration_of("FixedWindows.offset", self.offset, allow_zero=True)

    def assign(self, point: EventTime, key: object) -> tuple[Window, ...]:
        """The one window that contains the event time."""
        shift = self.offset_micros + (0 if self.offset_by_key is None else _offset(self.offset_by_key, key))
        start = point - (point - shift) % self.size_micros
        return (Window(end=clamp(start + self.size_micros), start=clamp(start)),)

    def __str__(self) -> str:
        shift = f" from {self.offset} on" if self.offset else ""
        return f"fixed windows of {self.size}{shift}{' by key' if self.offset_by_key else ''}"


@frozen
class SlidingWindows:
    """A window of one size at every period (Dataflow Model, section 1.2).

    They overlap where the period is shorter than the size, and leave gaps where it is longer: an event time in a gap
    is in no window. Law: with a period equal to the size these are ``FixedWindows``.
    """

    size: timedelta
    period: timedelta
    offset: timedelta = timedelta(0)

    def __attrs_post_init__(self) -> None:
        duration_of("SlidingWindows.size", self.size, allow_zero=False)
        period = duration_of("SlidingWindows.period", self.period, allow_zero=False)
        if duration_of("SlidingWindows.offset", self.offset, allow_zero=True) >= period:
            raise ArgumentError(
                "SlidingWindows.offset", self.offset, f"shorter than the period, {self.period}"
            )

    def assign(self, point: EventTime, key: object) -> tuple[Window, ...]:
        """Every window that contains the event time, the earliest first."""
        size = duration_of("size", self.size, allow_zero=False)
        period = duration_of("period", self.period, allow_zero=False)
        offset = duration_of("offset", self.offset, allow_zero=True)
        last = point - (point - offset) % period
        starts = range(last, point - size, -period)
        return tuple(Window(end=clamp(start + size), start=clamp(start)) for start in reversed(starts))

    def __str__(self) -> str:
        shift = f" from {self.offset} on" if self.offset else ""
        return f"sliding windows of {self.size} every {self.period}{shift}"


@frozen
class Sessions:
    """Periods of activity of a key, ended by a gap (Dataflow Model, section 1.2).

    An element opens ``[t, t + gap)``, and windows of a key that overlap or touch are one: two events exactly one gap
    apart belong to one session. Unaligned: each key has its own.
    """

    gap: timedelta

    def __attrs_post_init__(self) -> None:
        duration_of("Sessions.gap", self.gap, allow_zero=False)

    def assign(self, point: EventTime, key: object) -> tuple[Window, ...]:
        """The window that the element opens."""
        gap = duration_of("Sessions.gap", self.gap, allow_zero=False)
        return (Window(end=clamp(point + gap), start=point),)

    def merge(self, windows: Iterable[Window]) -> list[list[Window]]:
        """Groups of windows that overlap or touch, in order of time."""
        groups: list[list[Window]] = []
        end = None
        for window in sorted(windows, key=lambda one: (one.start, one.end)):
            if end is not None and window.start <= end:
                groups[-1].append(window)
                end = max(end, window.end)
            else:
                groups.append([window])
                end = window.end
        return groups

    def __str__(self) -> str:
        return f"sessions with a gap of {self.gap}"


@frozen
class CustomWindows:
    """A strategy of the user's own: any ``assign``, and a ``merge`` where windows merge.

    ``assign(event_time, key)`` gives the windows of an element; it must depend on nothing else, and every window must
    contain the event time. ``merge(windows)`` gives the groups of windows that become one, each window in exactly
    one group; a group becomes the smallest window that spans it. Both are checked wherever they are called.
    ``flowalg_laws.check_window_fn`` checks the laws.
    """

    name: str
    assign_with: Assign
    merge_with: Callable[[tuple[Window, ...]], Iterable[Iterable[Window]]] | None = None

    def __attrs_post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise ArgumentError("CustomWindows.name", self.name, "a non-empty str")
        if not callable(self.assign_with):
            raise ArgumentError(
                "CustomWindows.assign_with",
                self.assign_with,
                "a function from an event time and a key to windows",
            )
        if self.merge_with is not None and not callable(self.merge_with):
            raise ArgumentError(
                "CustomWindows.merge_with", self.merge_with, "a function to groups of windows, or None"
            )

    def assign(self, point: EventTime, key: object) -> tuple[Window, ...]:
        """The windows that the user's function gives, each once."""
        try:
            windows = tuple(dict.fromkeys(self.assign_with(point, key)))
        except Exception as cause:
            raise user_function_error(f"{self.name}.assign", self.assign_with, (point, key), cause) from cause
        for window in windows:
            if not isinstance(window, Window) or point not in window:
                raise ElementError(
                    f"{self.name}.assign gave {format_value(window)}; it must be a Window that contains {point}"
                )
        return windows

    def merge(self, windows: Iterable[Window]) -> list[list[Window]]:
        """The groups that the user's function gives, checked to be a partition."""
        known = tuple(windows)
        if self.merge_with is None:
            return [[one] for one in known]
        try:
            groups = [list(group) for group in self.merge_with(known)]
        except Exception as cause:
            raise user_function_error(f"{self.name}.merge", self.merge_with, known, cause) from cause
        if sorted(one for group in groups for one in group) != sorted(known):
            raise ElementError(
                f"{self.name}.merge gave {format_value(groups)}; it must divide {format_value(known)} into groups"
            )
        return groups

    def __str__(self) -> str:
        return self.name


Merging: TypeAlias = Sessions | CustomWindows
"""Strategies whose windows merge."""

WindowFn: TypeAlias = (
    GlobalWindows
    | FixedWindows
    | SlidingWindows
    | Sessions
    | CalendarDays
    | CalendarWeeks
    | CalendarMonths
    | CustomWindows
)
"""Every windowing strategy."""


def merging(windows: WindowFn) -> Merging | None:
    """The strategy, if its windows merge."""
    if isinstance(windows, Sessions):
        return windows
    if isinstance(windows, CustomWindows) and windows.merge_with is not None:
        return windows
    return None


def _offset(offset_by_key: OffsetByKey, key: object) -> Micros:
    try:
        shift = offset_by_key(key)
    except Exception as cause:
        raise user_function_error("FixedWindows.offset_by_key", offset_by_key, key, cause) from cause
    return duration_of("the offset of a key", shift, allow_zero=True)


__all__ = [
    "CustomWindows",
    "FixedWindows",
    "GlobalWindows",
    "Merging",
    "Sessions",
    "SlidingWindows",
    "WindowFn",
    "merging",
]
