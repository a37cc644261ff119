"""Scalars as text, exactly: ISO 8601 points in UTC, ISO 8601 durations, decimal digits, base 64."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Final

from attrs import frozen

from flowalg.data.time import MAX_TIME, MIN_TIME, EventTime, event_time, to_datetime

_DURATION: Final = re.compile(
    r"(-?)P(?:([0-9]+)D)?(?:T(?=[0-9])(?:([0-9]+)H)?(?:([0-9]+)M)?(?:([0-9]+)(?:\.([0-9]{1,6}))?S)?)?"
)


@frozen
class Notation:
    """How a class of scalars is written and read; ``valid`` describes it. Both may raise ``ValueError``."""

    write: Callable[..., str]
    read: Callable[[str], object]
    valid: str


def duration_text(duration: timedelta) -> str:
    """A duration in ISO 8601, to the microsecond: ``PT2M``, ``P1DT0.5S``, ``-PT1S``; zero is ``PT0S``."""
    micros = duration // timedelta(microseconds=1)
    seconds, fraction = divmod(abs(micros), 1_000_000)
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    date_part = f"{days}D" if days else ""
    time_part = (f"{hours}H" if hours else "") + (f"{minutes}M" if minutes else "")
    if seconds or fraction or not (date_part or time_part):
        time_part += f"{seconds}.{fraction:06}".rstrip("0") + "S" if fraction else f"{seconds}S"
    return f"{'-' if micros < 0 else ''}P{date_part}{'T' if time_part else ''}{time_part}"


def duration_from(text: str) -> timedelta:
    """The duration of an ISO 8601 text in days, hours, minutes and seconds; ``ValueError`` for any other."""
    found = _DURATION.fullmatch(text)
    if found is None or text.endswith("P"):
        raise ValueError(text)
    sign, days, hours, minutes, seconds, fraction = found.groups(default="0")
    total = ((int(days) * 24 + int(hours)) * 60 + int(minutes)) * 60 + int(seconds)
    micros = total * 1_000_000 + int(fraction.ljust(6, "0"))
    return timedelta(microseconds=-micros if sign == "-" else micros)


def _datetime_text(point: datetime) -> str:
    if point.utcoffset() is None:
        raise ValueError("it is naive, so it names no point in time")
    return point.astimezone(UTC).isoformat().replace("+00:00", "Z")


def _datetime_from(text: str) -> datetime:
    point = datetime.fromisoformat(text)
    if point.utcoffset() is None:
        raise ValueError("it is naive, so it names no point in time")
    return point.astimezone(UTC)


def point_text(point: int) -> str:
    """A point of either time domain; the bounds of time go by their names."""
    if point in (MIN_TIME, MAX_TIME):
        return "MIN_TIME" if point == MIN_TIME else "MAX_TIME"
    return _datetime_text(to_datetime(EventTime(point)))


def point_from(text: str) -> int:
    """The point of a text."""
    if text in ("MIN_TIME", "MAX_TIME"):
        return MIN_TIME if text == "MIN_TIME" else MAX_TIME
    return event_time(_datetime_from(text))


def _bytes_text(value: bytes) -> str:
    return base64.b64encode(value).decode("ascii")


def _bytes_from(text: str) -> bytes:
    return base64.b64decode(text, validate=True)


POINT: Final = Notation(
    point_text, point_from, "a point in UTC, such as 2024-01-01T12:00:00Z, or MIN_TIME or MAX_TIME"
)

DURATION: Final = Notation(duration_text, duration_from, "a duration, such as PT2M or P1DT0.5S")

NOTATIONS: Final[Mapping[type, Notation]] = {
    datetime: Notation(_datetime_text, _datetime_from, "a point with a zone, such as 2024-01-01T12:00:00Z"),
    date: Notation(date.isoformat, date.fromisoformat, "a day, such as 2024-01-01"),
    timedelta: DURATION,
    Decimal: Notation(str, Decimal, "a decimal number, such as 1.50"),
    bytes: Notation(_bytes_text, _bytes_from, "bytes in base 64"),
}
"""The scalars that JSON does not have."""

__all__ = ["DURATION", "NOTATIONS", "POINT", "Notation", "duration_from", "duration_text"]
