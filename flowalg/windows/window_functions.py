"""Window functions: the windows of an element, and which windows merge (SEMANTICS section 3; DM section 2.2).

A window function consists of ``assign``, from an event time and a key to windows, and ``merge``, which partitions
windows into groups that become one window each. Window functions without ``merge`` leave each window as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import Any, TypeAlias

from attrs import field, frozen

from flowalg.data.closed import Closed
from flowalg.data.durations import duration_in_words, length_in_words
from flowalg.data.errors import ArgumentError, ElementError, format_value, require_name
from flowalg.data.time import MAX_TIME, MIN_TIME, EventTime, Micros, duration_of
from flowalg.elementwise.functions import user_function_error
from flowalg.windows.calendars import Calendar, CalendarDays, CalendarMonths, CalendarWeeks
from flowalg.windows.window import GLOBAL_WINDOW, Window, clamp, covers, span

# The keys are those of the grouping, whose type is not known here.
OffsetByKey: TypeAlias = Callable[[Any], timedelta]
"""The offset of the windows of a key."""

Assign: TypeAlias = Callable[[EventTime, Any], Iterable[Window]]
"""The windows of an event time and a key."""

AssignByValue: TypeAlias = Callable[[EventTime, Any, Any], Iterable[Window]]
"""The windows of an event time, a key and a value."""


def _tuple_of(windows: Iterable[Window]) -> tuple[Window, ...]:
    return tuple(windows)


@frozen
class MergedWindow:
    """Windows that merge, and the window that they become, which contains all of them."""

    window: Window
    parts: tuple[Window, ...] = field(converter=_tuple_of)

    def __attrs_post_init__(self) -> None:
        if not isinstance(self.window, Window):
            raise ArgumentError("MergedWindow.window", self.window, "a Window")
        if not self.parts or not all(isinstance(part, Window) for part in self.parts):
            raise ArgumentError("MergedWindow.parts", self.parts, "one or more Windows")


Merge: TypeAlias = Callable[[tuple[Window, ...]], Iterable[Iterable[Window] | MergedWindow]]
"""The groups of windows that merge. Without a ``MergedWindow``, a group becomes the smallest window that spans it."""


class _BuiltIn(Closed):
    """Windows that engines assign by themselves."""

    __slots__ = ()

    _instead = "none: CustomWindows(...) takes functions"


@frozen
class GlobalWindows(_BuiltIn):
    """Assigns all elements to one window, which ends at the end of time."""

    def assign(self, point: EventTime, key: object) -> tuple[Window, ...]:
        """Returns the global window."""
        return (GLOBAL_WINDOW,)

    def __str__(self) -> str:
        return "one global window"


@frozen
class FixedWindows(_BuiltIn):
    """Consecutive windows of equal size, also called tumbling (Dataflow Model, section 1.2).

    ``size`` is a positive duration. Windows start at multiples of ``size`` after the Unix epoch plus ``offset``, a
    duration in ``[0, size)``, plus the result of ``offset_by_key`` for the key, which spreads the firings of many
    keys. Windows are cut off at the bounds of time.

    Example:

    >>> [str(window) for window in FixedWindows(10 * MINUTE).assign(event_time(noon(3)), "red")]
    ['[2024-01-01T12:00:00Z, 2024-01-01T12:10:00Z)']
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
        """Returns the window that contains the event time."""
        shift = self.offset_micros + (0 if self.offset_by_key is None else _offset(self.offset_by_key, key))
        start = point - (point - shift) % self.size_micros
        return (Window(clamp(start), clamp(start + self.size_micros)),)

    def __str__(self) -> str:
        shift = f" from {duration_in_words(self.offset)} on" if self.offset else ""
        return (
            f"fixed windows of {length_in_words(self.size)}{shift}{' by key' if self.offset_by_key else ''}"
        )


@frozen
class SlidingWindows(_BuiltIn):
    """A window of equal size starts in every period (Dataflow Model, section 1.2).

    Windows overlap if the period is shorter than the size. If it is longer, there are gaps, and an event time in a
    gap is in no window. Law: with a period equal to the size these are ``FixedWindows``.

    Example:

    >>> for window in SlidingWindows(10 * MINUTE, period=5 * MINUTE).assign(event_time(noon(3)), "red"):
    ...     print(window)
    [2024-01-01T11:55:00Z, 2024-01-01T12:05:00Z)
    [2024-01-01T12:00:00Z, 2024-01-01T12:10:00Z)
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
        """Returns the windows that contain the event time, the earliest first."""
        size = duration_of("size", self.size, allow_zero=False)
        period = duration_of("period", self.period, allow_zero=False)
        offset = duration_of("offset", self.offset, allow_zero=True)
        last = point - (point - offset) % period
        starts = reversed(range(last, point - size, -period))
        repeated = self.repeated_starts
        return tuple(Window(clamp(start), clamp(start + size)) for start in starts if start not in repeated)

    @property
    def repeated_starts(self) -> range:
        """The starts of windows that cover all of time, as the window that starts a period later does.

        Cut off at the bounds of time, the two are one window.
        """
        size = duration_of("size", self.size, allow_zero=False)
        return range(MAX_TIME - size, MIN_TIME - duration_of("period", self.period, allow_zero=False) + 1)

    def __str__(self) -> str:
        shift = f" from {duration_in_words(self.offset)} on" if self.offset else ""
        return (
            f"sliding windows of {length_in_words(self.size)} every {duration_in_words(self.period)}{shift}"
        )


@frozen
class Sessions(_BuiltIn):
    """Periods of activity of a key, separated by gaps (Dataflow Model, section 1.2).

    An element opens ``[t, t + gap)``. Windows of a key that overlap or touch merge: two events exactly one gap apart
    belong to the same session. Sessions are unaligned: each key has its own.

    Example:

    >>> results(points.window(Sessions(2 * MINUTE)).combine_per_key(Sum()))
    [KV(key='red', value=5), KV(key='blue', value=7), KV(key='red', value=3)]
    >>> results(points.window(Sessions(3 * MINUTE)).combine_per_key(Sum()))
    [KV(key='blue', value=7), KV(key='red', value=8)]
    """

    gap: timedelta

    def __attrs_post_init__(self) -> None:
        duration_of("Sessions.gap", self.gap, allow_zero=False)

    def assign(self, point: EventTime, key: object) -> tuple[Window, ...]:
        """Returns the window that the element opens."""
        gap = duration_of("Sessions.gap", self.gap, allow_zero=False)
        return (Window(point, clamp(point + gap)),)

    def merge(self, windows: Iterable[Window]) -> list[list[Window]]:
        """Returns the groups of windows that overlap or touch, in order of time."""
        groups: list[list[Window]] = []
        end = None
        for window in sorted(windows, key=lambda window: (window.start, window.end)):
            if end is not None and window.start <= end:
                groups[-1].append(window)
                end = max(end, window.end)
            else:
                groups.append([window])
                end = window.end
        return groups

    def __str__(self) -> str:
        return f"sessions with a gap of {length_in_words(self.gap)}"


@frozen
class CustomWindows:
    """User-defined windows: any ``assign``, and ``merge`` if windows merge.

    ``assign(event_time, key)`` returns the windows of an element. It must depend only on its arguments, and each
    window must contain the event time. ``merge(windows)`` returns the groups of windows that merge, with each window
    in exactly one group; a group becomes the smallest window that spans it, or that of a ``MergedWindow``. Both results
    are checked at every call. ``flowalg_laws.check_window_fn`` checks the laws.

    Example:

    >>> NOON = event_time(noon(0))
    >>> def half(time: EventTime, key: object) -> list[Window]:
    ...     return [Window(MIN_TIME, NOON) if time < NOON else Window(NOON, MAX_TIME)]
    >>> results(points.window(CustomWindows("before and after noon", half)).combine_per_key(Sum()))
    [KV(key='blue', value=7), KV(key='red', value=8)]
    """

    name: str
    assign_with: Assign
    merge_with: Merge | None = None

    def __attrs_post_init__(self) -> None:
        _check_functions(self, "a function from an event time and a key to windows")

    def assign(self, point: EventTime, key: object) -> tuple[Window, ...]:
        """Returns the distinct windows that the user function returns."""
        return _assigned(self, point, (point, key))

    def merge(self, windows: Iterable[Window]) -> list[list[Window]]:
        """Returns the groups that the user function returns, which must be a partition."""
        return [list(merged.parts) for merged in _merged(self, tuple(windows))]

    def __str__(self) -> str:
        return self.name


@frozen
class WindowsByValue:
    """User-defined windows that depend on the value too (``AssignWindows``, Dataflow Model, section 2.2).

    ``assign(event_time, key, value)`` returns the windows of an element; otherwise they are as ``CustomWindows``. Each
    window must contain the event time, whatever the value says. A retraction has the value that it retracts, and so
    its windows. A side input cannot be in such windows.

    Example:

    >>> def twice_as_long_for_many_points(time: EventTime, team: str, points: int) -> list[Window]:
    ...     minutes = 2 if points > 4 else 1
    ...     return [Window(time, EventTime(time + minutes * 60_000_000))]
    >>> by_points = WindowsByValue("by points", twice_as_long_for_many_points)
    >>> [str(pair[1].end - pair[1].start) for pair in results(
    ...     points.window(by_points).combine_per_key(Sum()).with_window())]
    ['0:02:00', '0:02:00', '0:01:00']
    """

    name: str
    assign_with: AssignByValue
    merge_with: Merge | None = None

    def __attrs_post_init__(self) -> None:
        _check_functions(self, "a function from an event time, a key and a value to windows")

    def assign(self, point: EventTime, key: object, value: object) -> tuple[Window, ...]:
        """Returns the distinct windows that the user function returns."""
        return _assigned(self, point, (point, key, value))

    def merge(self, windows: Iterable[Window]) -> list[list[Window]]:
        """Returns the groups that the user function returns, which must be a partition."""
        return [list(merged.parts) for merged in _merged(self, tuple(windows))]

    def __str__(self) -> str:
        return self.name


def _check_functions(windows: CustomWindows | WindowsByValue, assigns: str) -> None:
    cls = type(windows).__name__
    require_name(f"{cls}.name", windows.name)
    if not callable(windows.assign_with):
        raise ArgumentError(f"{cls}.assign_with", windows.assign_with, assigns)
    if windows.merge_with is not None and not callable(windows.merge_with):
        valid = "a function to groups of windows, or None"
        raise ArgumentError(f"{cls}.merge_with", windows.merge_with, valid)


def _assigned(
    windows: CustomWindows | WindowsByValue, point: EventTime, arguments: tuple[object, ...]
) -> tuple[Window, ...]:
    """Returns the distinct windows that the user function returns for its arguments."""
    assign: Callable[..., Iterable[Window]] = windows.assign_with
    try:
        assigned = tuple(dict.fromkeys(assign(*arguments)))
    except Exception as cause:
        raise user_function_error(f"{windows.name}.assign", assign, arguments, cause) from cause
    for window in assigned:
        if not isinstance(window, Window) or point not in window:
            raise ElementError(
                f"the result of {windows.name}.assign must be Windows that contain {point}; got {format_value(window)}"
            )
    return assigned


def _merged(windows: CustomWindows | WindowsByValue, assigned: tuple[Window, ...]) -> list[MergedWindow]:
    """Returns the groups that the user function returns, each with its window."""
    if windows.merge_with is None:
        return [MergedWindow(window, (window,)) for window in assigned]
    try:
        groups = [
            group if isinstance(group, MergedWindow) else tuple(group)
            for group in windows.merge_with(assigned)
        ]
    except Exception as cause:
        raise user_function_error(f"{windows.name}.merge", windows.merge_with, assigned, cause) from cause
    parts = [list(group.parts if isinstance(group, MergedWindow) else group) for group in groups]
    if sorted(window for group in parts for window in group) != sorted(assigned):
        raise ElementError(
            f"the result of {windows.name}.merge must be a partition of {format_value(assigned)} into groups; "
            f"got {format_value(parts)}"
        )
    merged = [
        group if isinstance(group, MergedWindow) else MergedWindow(span(group), group)
        for group in groups
        if isinstance(group, MergedWindow) or group
    ]
    for group in merged:
        if not all(covers(group.window, part) for part in group.parts):
            raise ElementError(
                f"the result of {windows.name}.merge must have windows that contain their parts; "
                f"got {format_value(group)}"
            )
    if len({group.window for group in merged}) < len(merged):
        raise ElementError(
            f"the result of {windows.name}.merge must have another window for each group; got {format_value(merged)}"
        )
    return merged


def merged_windows(windows: MergingWindowFn, assigned: Iterable[Window]) -> list[MergedWindow]:
    """Returns the groups of windows that merge, each with the window that it becomes."""
    if isinstance(windows, Sessions):
        return [MergedWindow(span(group), group) for group in windows.merge(assigned)]
    return _merged(windows, tuple(assigned))


MergingWindowFn: TypeAlias = Sessions | CustomWindows | WindowsByValue
"""The window functions whose windows merge."""

WindowFn: TypeAlias = (
    GlobalWindows
    | FixedWindows
    | SlidingWindows
    | Sessions
    | CalendarDays
    | CalendarWeeks
    | CalendarMonths
    | CustomWindows
    | WindowsByValue
)
"""All window functions."""


def assign_windows(windows: WindowFn, point: EventTime, key: object, value: object) -> tuple[Window, ...]:
    """Returns the windows of an element."""
    if isinstance(windows, WindowsByValue):
        return windows.assign(point, key, value)
    return windows.assign(point, key)


def as_merging(windows: WindowFn) -> MergingWindowFn | None:
    """Returns the window function if its windows merge, else ``None``."""
    if isinstance(windows, Sessions):
        return windows
    if isinstance(windows, CustomWindows | WindowsByValue) and windows.merge_with is not None:
        return windows
    return None


def are_by_key(windows: WindowFn) -> bool:
    """Returns whether a user-defined function of the key shifts the windows, or chooses their zone."""
    match windows:
        case FixedWindows(offset_by_key=offset):
            return offset is not None
        case Calendar(by_key=by_key):
            return by_key
        case _:
            return False


def partition_time(windows: WindowFn) -> bool:
    """Returns whether each event time is in one window, the same for all keys; false where a user-defined function
    decides.
    """
    return isinstance(windows, GlobalWindows | FixedWindows | Calendar) and not are_by_key(windows)


def _offset(offset_by_key: OffsetByKey, key: object) -> Micros:
    try:
        shift = offset_by_key(key)
    except Exception as cause:
        raise user_function_error("FixedWindows.offset_by_key", offset_by_key, key, cause) from cause
    return duration_of("the offset of a key", shift, allow_zero=True)
