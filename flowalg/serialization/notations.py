"""Exact text notations of scalars: ISO 8601 points in UTC, ISO 8601 durations, decimals, base 64."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Final

from attrs import frozen

from flowalg.data.time import MAX_TIME, MIN_TIME, EventTime, ProcessingTime

_BOUNDS: Final[Mapping[int, str]] = {MIN_TIME: "MIN_TIME", MAX_TIME: "MAX_TIME"}
_DURATION: Final = re.compile(
    r"(-?)P(?:([0-9]+)D)?(?:T(?=[0-9])(?:([0-9]+)H)?(?:([0-9]+)M)?(?:([0-9]+)(?:\.([0-9]{1,6}))?S)?)?"
)


@frozen
class Notation:
    """The notation of a class of scalars; ``valid`` describes it. Both functions may raise ``ValueError``."""

    write: Callable[..., str]
    read: Callable[[str], object]
    valid: str


def format_duration(duration: timedelta) -> str:
    """Formats a duration in ISO 8601 to the microsecond: ``PT2M``, ``P1DT0.5S``, ``-PT1S``; zero is ``PT0S``."""
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


def parse_duration(text: str) -> timedelta:
    """Parses an ISO 8601 duration of days, hours, minutes and seconds; raises ``ValueError`` for other text."""
    match = _DURATION.fullmatch(text)
    if match is None or text.endswith("P"):
        raise ValueError(text)
    sign, days, hours, minutes, seconds, fraction = match.groups(default="0")
    total = ((int(days) * 24 + int(hours)) * 60 + int(minutes)) * 60 + int(seconds)
    micros = total * 1_000_000 + int(fraction.ljust(6, "0"))
    return timedelta(microseconds=-micros if sign == "-" else micros)


def _datetime_text(point: datetime) -> str:
    if point.utcoffset() is None:
        raise ValueError("it is naive; attach a time zone")
    return point.astimezone(UTC).isoformat().replace("+00:00", "Z")


def _datetime_from(text: str) -> datetime:
    point = datetime.fromisoformat(text)
    if point.utcoffset() is None:
        raise ValueError("it is naive; attach a time zone")
    return point.astimezone(UTC)


def _format_point(point: EventTime | ProcessingTime) -> str:
    """Formats a point in either time domain; the bounds of time are written as their names."""
    bound = _BOUNDS.get(point)
    return _datetime_text(point.datetime) if bound is None else bound


def _points(domain: type[EventTime | ProcessingTime]) -> Notation:
    """Returns the notation of the points of a time domain."""
    named = {name: domain(point) for point, name in _BOUNDS.items()}

    def parse(text: str) -> EventTime | ProcessingTime:
        return named[text] if text in named else domain(text)

    return Notation(
        _format_point,
        parse,
        "a point with a time zone, such as 2024-01-01T12:00:00Z, or MIN_TIME or MAX_TIME",
    )


def _bytes_text(value: bytes) -> str:
    return base64.b64encode(value).decode("ascii")


def _bytes_from(text: str) -> bytes:
    return base64.b64decode(text, validate=True)


def _float_from(text: str) -> float:
    """Parses a float that JSON lacks."""
    if text not in ("nan", "inf", "-inf"):
        raise ValueError(text)
    return float(text)


DURATION: Final = Notation(format_duration, parse_duration, "a duration, such as PT2M or P1DT0.5S")

NOTATIONS: Final[Mapping[type, Notation]] = {
    float: Notation(repr, _float_from, "'nan', 'inf' or '-inf'"),
    EventTime: _points(EventTime),
    ProcessingTime: _points(ProcessingTime),
    datetime: Notation(
        _datetime_text, _datetime_from, "a datetime with a time zone, such as 2024-01-01T12:00:00Z"
    ),
    date: Notation(date.isoformat, date.fromisoformat, "a day, such as 2024-01-01"),
    timedelta: DURATION,
    Decimal: Notation(str, Decimal, "a decimal number, such as 1.50"),
    bytes: Notation(_bytes_text, _bytes_from, "bytes in base 64"),
}
"""The notations of scalars that JSON lacks."""
