"""The two time domains, and the points that bound them (SEMANTICS section 1; Dataflow Model, section 2.1).

A point in time is an integer count of microseconds since the Unix epoch, UTC. Event time (when something
happened) and processing time (when the pipeline saw it) are different types, so that no function can be
handed one for the other. At the public API points are timezone-aware ``datetime`` values and durations are
``timedelta`` values; floating-point seconds appear nowhere.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final, NewType, TypeAlias

from flowalg.data.errors import ArgumentError

EventTime = NewType("EventTime", int)
"""When something happened: microseconds since the Unix epoch, UTC."""

ProcessingTime = NewType("ProcessingTime", int)
"""When the pipeline saw something: microseconds since the Unix epoch, UTC."""

Micros: TypeAlias = int
"""A duration in whole microseconds."""

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)


def _micros_since_epoch(point: datetime) -> int:
    return (point - EPOCH) // _MICROSECOND


_FIRST: Final = datetime(1, 1, 3, tzinfo=UTC)
_LAST: Final = datetime(9999, 12, 30, tzinfo=UTC)

MIN_TIME: Final = EventTime(_micros_since_epoch(_FIRST))
"""The beginning of time: 0001-01-03T00:00Z, two days inside ``datetime``'s range: printable in every zone."""

MAX_TIME: Final = EventTime(_micros_since_epoch(_LAST))
"""The end of time: 9999-12-30T00:00Z. A watermark there says that the input has ended."""


_POINT: Final = "a point in microseconds since the epoch, as event_time(...) and processing_time(...) give it"


def require_point(argument: str, point: object) -> None:
    """Raises ``ArgumentError`` unless the value is a point in time inside ``[MIN_TIME, MAX_TIME]``."""
    if isinstance(point, bool) or not isinstance(point, int) or not MIN_TIME <= point <= MAX_TIME:
        raise ArgumentError(argument, point, _POINT)


def micros_of(argument: str, point: datetime) -> int:
    """The microseconds since the epoch of a timezone-aware point inside ``[MIN_TIME, MAX_TIME]``.

    Raises ``ArgumentError`` naming ``argument`` when the point is naive, not a datetime, or out of range.
    """
    if not isinstance(point, datetime):
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
        raise ArgumentError(argument, point, f"a point between {_FIRST.isoformat()} and {_LAST.isoformat()}")
    return micros


def event_time(point: datetime, *, argument: str = "event_time") -> EventTime:
    """The event time of a timezone-aware datetime; raises ``ArgumentError`` for a naive or far one."""
    return EventTime(micros_of(argument, point))


def processing_time(point: datetime, *, argument: str = "processing_time") -> ProcessingTime:
    """The processing time of a timezone-aware datetime; raises ``ArgumentError`` for a naive or far one."""
    return ProcessingTime(micros_of(argument, point))


def to_datetime(point: EventTime | ProcessingTime) -> datetime:
    """The UTC datetime of a point in either domain; raises ``ArgumentError`` for what is none."""
    if isinstance(point, bool) or not isinstance(point, int):
        raise ArgumentError("point", point, _POINT)
    try:
        return EPOCH + timedelta(microseconds=point)
    except OverflowError as far:
        raise ArgumentError("point", point, _POINT) from far


def duration_of(argument: str, duration: timedelta, *, allow_zero: bool) -> Micros:
    """The microseconds of a duration that must be positive (or, with ``allow_zero``, not negative)."""
    valid = (
        "a timedelta of zero or more" if allow_zero else "a positive timedelta, such as timedelta(minutes=1)"
    )
    if not isinstance(duration, timedelta):
        raise ArgumentError(argument, duration, valid)
    micros = duration // _MICROSECOND
    if micros < 0 or (micros == 0 and not allow_zero):
        raise ArgumentError(argument, duration, valid)
    return micros


def show(point: EventTime | ProcessingTime) -> str:
    """A point as a person reads it: ISO 8601 in UTC, or ``start of time`` / ``end of time`` at the bounds."""
    if point <= MIN_TIME:
        return "start of time"
    if point >= MAX_TIME:
        return "end of time"
    return to_datetime(point).isoformat().replace("+00:00", "Z")


__all__ = [
    "EPOCH",
    "MAX_TIME",
    "MIN_TIME",
    "EventTime",
    "Micros",
    "ProcessingTime",
    "duration_of",
    "event_time",
    "micros_of",
    "processing_time",
    "require_point",
    "show",
    "to_datetime",
]
