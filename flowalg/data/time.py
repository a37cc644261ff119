"""The two time domains, and the points that bound them (SEMANTICS section 1; Dataflow Model, section 2.1).

A point in time is an integer count of microseconds since the Unix epoch, UTC. Event time (when something
happened) and processing time (when the pipeline saw it) are different types, so that no function can be
handed one for the other. At the public API points come from timezone-aware ``datetime`` values and durations are
``timedelta`` values; floating-point seconds appear nowhere.
"""

from __future__ import annotations

import datetime as dt
from enum import Enum
from typing import Final, Self, TypeAlias

from flowalg.data.errors import ArgumentError

Micros: TypeAlias = int
"""A duration in whole microseconds."""

EPOCH: Final = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
MICROSECOND: Final = dt.timedelta(microseconds=1)


class Ingress(Enum):
    """The type of ``INGRESS_TIME``."""

    INGRESS_TIME = "ingress time"

    def __repr__(self) -> str:
        return "INGRESS_TIME"


INGRESS_TIME: Final = Ingress.INGRESS_TIME
"""As the ``event_time`` of a source: an element's event time is the processing time at which it arrives."""


class _Point(int):
    """A point in time: an int, the microseconds since the Unix epoch, that prints as a time.

    Made from such an int, or from ISO 8601 text with an offset, which is what ``repr`` prints. Arithmetic gives plain
    ints. Raises ``ArgumentError`` for anything else; the int itself is not checked to be in range.
    """

    __slots__ = ()

    def __new__(cls, point: int | str) -> Self:
        if type(point) is int or (isinstance(point, int) and not isinstance(point, bool)):
            return int.__new__(cls, point)
        return int.__new__(cls, _micros_of_text(cls.__name__, point))

    @property
    def datetime(self) -> dt.datetime:
        """The point as a timezone-aware datetime in UTC; raises ``ArgumentError`` for one that is out of range."""
        try:
            return EPOCH + dt.timedelta(microseconds=self)
        except OverflowError as far:
            raise ArgumentError("point", self, BETWEEN) from far

    def __str__(self) -> str:
        """ISO 8601 in UTC, or ``start of time`` / ``end of time`` at the bounds and beyond."""
        if self <= MIN_TIME:
            return "start of time"
        if self >= MAX_TIME:
            return "end of time"
        return _text(self.datetime)

    def __repr__(self) -> str:
        shown = repr(_text(self.datetime)) if MIN_TIME <= self <= MAX_TIME else int.__repr__(self)
        return f"{type(self).__name__}({shown})"


class EventTime(_Point):
    """When something happened: ``EventTime('2024-01-01T12:00:00Z')``, an int of microseconds since the epoch."""

    __slots__ = ()


class ProcessingTime(_Point):
    """When the pipeline saw something: an int of microseconds since the epoch, like ``EventTime``."""

    __slots__ = ()


def _text(point: dt.datetime) -> str:
    return point.isoformat().replace("+00:00", "Z")


def _micros_since_epoch(point: dt.datetime) -> int:
    return (point - EPOCH) // MICROSECOND


_FIRST: Final = dt.datetime(1, 1, 3, tzinfo=dt.UTC)
_LAST: Final = dt.datetime(9999, 12, 30, tzinfo=dt.UTC)
BETWEEN: Final = f"a point between {_text(_FIRST)} and {_text(_LAST)}"
"""What a point in time must be, as errors say it."""

MIN_TIME: Final = EventTime(_micros_since_epoch(_FIRST))
"""The beginning of time: 0001-01-03T00:00Z, two days inside ``datetime``'s range: printable in every zone."""

MAX_TIME: Final = EventTime(_micros_since_epoch(_LAST))
"""The end of time: 9999-12-30T00:00Z. A watermark there says that the input has ended."""


FIRST_MICROSECOND: Final = _micros_since_epoch(dt.datetime.min.replace(tzinfo=dt.UTC))
"""The first instant that a ``datetime`` in UTC can have, in microseconds since the epoch."""

LAST_MICROSECOND: Final = _micros_since_epoch(dt.datetime.max.replace(tzinfo=dt.UTC))
"""The last instant that a ``datetime`` in UTC can have, in microseconds since the epoch."""

FIRST_DAY: Final = (dt.date.min - EPOCH.date()).days
"""The first ``date``, in days since the epoch."""

LAST_DAY: Final = (dt.date.max - EPOCH.date()).days
"""The last ``date``, in days since the epoch."""


def require_point(argument: str, point: object, domain: type[EventTime | ProcessingTime]) -> None:
    """Raises ``ArgumentError`` unless the value is a point of that domain inside ``[MIN_TIME, MAX_TIME]``."""
    if not isinstance(point, domain):
        valid = "an EventTime, such as event_time(...) returns"
        if domain is ProcessingTime:
            valid = "a ProcessingTime, such as processing_time(...) returns"
        raise ArgumentError(argument, point, valid)
    if not MIN_TIME <= point <= MAX_TIME:
        raise ArgumentError(argument, point, BETWEEN)


def micros_of(argument: str, point: dt.datetime) -> int:
    """Returns the microseconds since the epoch of a timezone-aware point inside ``[MIN_TIME, MAX_TIME]``.

    Raises ``ArgumentError`` naming ``argument`` when the point is naive, not a datetime, or out of range.
    """
    if not isinstance(point, dt.datetime):
        raise ArgumentError(argument, point, "a timezone-aware datetime")
    if point.tzinfo is None or point.utcoffset() is None:
        raise ArgumentError(
            argument,
            point,
            "a timezone-aware datetime, such as datetime(2013, 1, 1, tzinfo=UTC)",
            why="it is naive; attach a time zone",
        )
    micros = _micros_since_epoch(point)
    if not MIN_TIME <= micros <= MAX_TIME:
        raise ArgumentError(argument, point, BETWEEN)
    return micros


def event_time(point: dt.datetime, *, argument: str = "event_time") -> EventTime:
    """Returns the event time of a timezone-aware datetime; raises ``ArgumentError`` for a naive or far one."""
    return EventTime(micros_of(argument, point))


def processing_time(point: dt.datetime, *, argument: str = "processing_time") -> ProcessingTime:
    """Returns the processing time of a timezone-aware datetime; raises ``ArgumentError`` for a naive or far one."""
    return ProcessingTime(micros_of(argument, point))


def _micros_of_text(argument: str, text: object) -> int:
    valid = "an int of microseconds since the epoch, or text such as '2024-01-01T12:00:00Z'"
    if not isinstance(text, str):
        raise ArgumentError(argument, text, valid)
    try:
        point = dt.datetime.fromisoformat(text)
    except ValueError as malformed:
        raise ArgumentError(argument, text, valid) from malformed
    if point.utcoffset() is None:
        raise ArgumentError(
            argument, text, valid, why="it has no offset from UTC, so it names no point in time"
        )
    return micros_of(argument, point)


def duration_of(argument: str, duration: dt.timedelta, *, allow_zero: bool) -> Micros:
    """Returns the microseconds of a duration that must be positive (or, with ``allow_zero``, not negative)."""
    valid = (
        "a timedelta of zero or more" if allow_zero else "a positive timedelta, such as timedelta(minutes=1)"
    )
    if not isinstance(duration, dt.timedelta):
        raise ArgumentError(argument, duration, valid)
    micros = duration // MICROSECOND
    if micros < 0 or (micros == 0 and not allow_zero):
        raise ArgumentError(argument, duration, valid)
    return micros
