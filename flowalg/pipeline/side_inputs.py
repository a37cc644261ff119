"""Side inputs: elements of one collection read the window results of another (Dataflow Model, 2.1 and 2.2).

An element reads the window of the side input that contains its event time, when that window is complete: the element
waits until the watermark of the side input has passed the end of the window, and holds back the watermark downstream.
The value of a complete window never changes, so a retraction reads the same value as the pane that it retracts.

A side input that changes slowly is read differently: an element reads the newest values that were complete at its
event time, those of the windows before its own.

Elements that are later than the allowed lateness of their own windows are dropped, so values that only they could read
are freed.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from enum import Enum, auto
from typing import Final, TypeAlias, assert_never

from attrs import frozen

from flowalg.data.errors import ArgumentError, ElementError, format_value
from flowalg.data.time import MAX_TIME, MIN_TIME, EventTime, duration_of
from flowalg.elementwise.functions import require_keyed
from flowalg.windows.calendars import Calendar
from flowalg.windows.strategy import WindowingStrategy
from flowalg.windows.window import Window, clamp
from flowalg.windows.window_functions import (
    FixedWindows,
    SlidingWindows,
    WindowFn,
    WindowsByValue,
    are_by_key,
    as_merging,
    assign_windows,
)

Bounded: TypeAlias = FixedWindows | SlidingWindows | Calendar
"""The windows whose ends follow from their event times, within a known duration."""


class Missing(Enum):
    """No default."""

    NO_DEFAULT = auto()


NO_DEFAULT: Final = Missing.NO_DEFAULT

_REMEDY: Final = (
    "Combine them, or use Accumulation.RETRACTING where the panes of one window follow each other"
)


@frozen
class Singleton:
    """The only value of a window, or ``default`` if it has none."""

    default: object = NO_DEFAULT

    def read(self, values: Sequence[object], window: Window) -> object:
        """Returns the value that elements read of a complete window."""
        return _single(self.find(values, window))

    def find(self, values: Sequence[object], window: Window) -> object:
        """Returns the same, or ``Several``, which is an error for elements that read it."""
        match values:
            case [value]:
                return value
            case []:
                if self.default is NO_DEFAULT:
                    raise ElementError(
                        f"as_singleton() has no value in {window}, which an element reads; "
                        "set a default: as_singleton(default=...)"
                    )
                return self.default
            case _:
                return Several(
                    f"as_singleton() has {len(values)} values in {window}, {format_value(list(values))}; it must have "
                    f"one. {_REMEDY}"
                )


@frozen
class AsMap:
    """The mapping from keys to values of a window."""

    def read(self, values: Sequence[object], window: Window) -> dict[object, object]:
        """Returns the mapping that elements read of a complete window."""
        return _mapping(self.find(values, window))

    def find(self, values: Sequence[object], window: Window) -> dict[object, object]:
        """Returns the same with ``Several`` under the keys with more than one value."""
        mapping: dict[object, object] = {}
        for pair in (require_keyed(value, "as_map") for value in values):
            if pair.key in mapping:
                before = mapping[pair.key]
                if not isinstance(before, Several):
                    both = f"{format_value(before)} and {format_value(pair.value)}"
                    mapping[pair.key] = Several(
                        f"as_map() has {both} under {format_value(pair.key)} in {window}; each key must have one "
                        f"value. {_REMEDY}"
                    )
            else:
                mapping[pair.key] = pair.value
        return mapping


@frozen
class Several:
    """More than one value where there must be one: the message of the error for elements that read it."""

    message: str


def _single(value: object) -> object:
    """Returns a value; raises ``ElementError`` for several."""
    if isinstance(value, Several):
        raise ElementError(value.message)
    return value


def _mapping(mapping: dict[object, object]) -> dict[object, object]:
    """Returns a mapping; raises ``ElementError`` if a key has several values."""
    for value in mapping.values():
        _single(value)
    return mapping


@frozen
class LatestComplete:
    """The newest values that were complete at an element's time: of the windows that end at or before it.

    A singleton is that of the newest of these windows that has one. A mapping has the newest value of each key.
    """

    view: Singleton | AsMap

    @property
    def initial(self) -> object:
        """What elements read before any window is complete; ``NO_DEFAULT`` is an error."""
        return self.view.default if isinstance(self.view, Singleton) else {}

    def update(self, newest: object, values: Sequence[object], window: Window) -> object:
        """Returns what is known after a window, given what was known before it, and its values."""
        if not values:
            return newest
        if isinstance(self.view, Singleton):
            return self.view.find(values, window)
        assert isinstance(newest, dict), "elements read mappings"
        return {**newest, **self.view.find(values, window)}

    def read(self, newest: object, window: Window) -> object:
        """Returns what the elements in a window of the side input read, given what is known at its start."""
        if newest is NO_DEFAULT:
            raise ElementError(
                f"as_singleton().latest_complete() has no value before {window.start}, where an element in {window} "
                "reads it; set a default: as_singleton(default=...)"
            )
        return (
            _mapping(newest) if isinstance(newest, dict) and isinstance(self.view, AsMap) else _single(newest)
        )


View: TypeAlias = Singleton | AsMap | LatestComplete
"""The ways to read the values of windows."""


def time_read(view: View, window: Window) -> EventTime:
    """Returns the watermark of a side input at which elements in one of its windows can read it."""
    return window.start if isinstance(view, LatestComplete) else window.end


def require_readable(windows: WindowFn, view: View) -> None:
    """Raises ``ArgumentError`` unless each event time is in one window, the same for all keys."""
    match view:
        case Singleton():
            method = "as_singleton"
        case AsMap():
            method = "as_map"
        case LatestComplete(view=inner):
            require_readable(windows, inner)
            if not isinstance(windows, Bounded):
                valid = "windows that follow each other: fixed or calendar windows"
                raise ArgumentError("the windows of latest_complete()", windows, valid)
            return
        case _:
            assert_never(view)
    several = isinstance(windows, SlidingWindows) and windows.period != windows.size
    by_value = isinstance(windows, WindowsByValue)
    if several or are_by_key(windows) or by_value or as_merging(windows) is not None:
        raise ArgumentError(
            f"the windows of {method}()",
            windows,
            "windows that put each event time into one window, the same for all keys: "
            "global, fixed or calendar windows",
        )


def window_read(windows: WindowFn, point: EventTime) -> Window:
    """Returns the window of the side input that an element with this event time reads."""
    assigned = assign_windows(windows, point, None, None)
    if len(assigned) != 1:
        raise ElementError(
            f"{windows} puts the event time {point} into {format_value(list(assigned))}; a side input needs one window"
        )
    return assigned[0]


@frozen
class Lateness:
    """How late the elements that read a side input can be: by their windows, and by how long these accept elements."""

    windows: Bounded
    allowed: timedelta

    @classmethod
    def of(cls, strategy: WindowingStrategy) -> Lateness | None:
        """Returns the lateness of elements in the windows of a strategy; ``None`` if it has no bound."""
        windows, allowed = strategy.windows, strategy.allowed_lateness
        return (
            cls(windows, allowed) if isinstance(windows, Bounded) and isinstance(allowed, timedelta) else None
        )

    def horizon(self, watermark: EventTime) -> EventTime:
        """Returns the least event time that elements may have which are not too late: all windows of an earlier one
        expired.
        """
        ended = watermark - duration_of("allowed", self.allowed, allow_zero=True)
        if ended >= MAX_TIME:
            return MAX_TIME
        if ended <= MIN_TIME:
            return MIN_TIME
        match self.windows:
            case SlidingWindows() as windows:
                return _after_sliding_windows(windows, ended)
            case FixedWindows(size=size, offset_by_key=offset) if offset is not None:
                return _after_windows_of(size, ended)
            case Calendar(by_key=True):
                return _after_windows_of(_LONGEST_OF_CALENDARS, ended)
            case windows:
                (window,) = windows.assign(EventTime(ended), None)
                return window.start


_LONGEST_OF_CALENDARS: Final = timedelta(days=33)
"""At least the length of a calendar month with any changes of the clocks."""


def _after_sliding_windows(windows: SlidingWindows, ended: int) -> EventTime:
    """Returns the least event time whose newest window ends after a point, or in a gap, any window of their size with
    it.
    """
    size, period, offset = (
        duration_of(name, duration, allow_zero=name == "offset")
        for name, duration in (("size", windows.size), ("period", windows.period), ("offset", windows.offset))
    )
    newest = ended - size
    start = newest - (newest - offset) % period
    return max(clamp(start + min(size, period)), _after_windows_of(windows.size, ended))


def _after_windows_of(size: timedelta, ended: int) -> EventTime:
    """Returns the least event time that a window of a size may contain which ends after a point."""
    return clamp(ended - duration_of("size", size, allow_zero=False) + 1)
