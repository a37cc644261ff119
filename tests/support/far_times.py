"""Rows with times and days that Arrow's columns hold and Python does not, with the reasons for which they are bad."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import Any, Final

import pyarrow as pa
from attrs import frozen

from flowalg import FixedWindows, Source

NOON: Final = 1_704_110_400_000_000
"""Noon of 2024-01-01 in UTC, in microseconds since the epoch."""
FAR: Final = 253_402_336_799_000_000
"""10:00 of the day after the last day of Python, in microseconds since the epoch."""


@frozen
class Span:
    """A record with times and days that are not its event time."""

    key: str
    at: datetime
    until: datetime | None
    day: date | None
    seen: list[datetime]


SPANS: Final = Source("spans", Span, event_time=lambda span: span.at)
LISTED: Final = SPANS.key_by(lambda span: span.key).window(FixedWindows(timedelta(days=1))).group_by_key()

_US: Final = pa.timestamp("us", tz="UTC")


def table() -> pa.Table:
    """Returns a good row, and one row for each field that is out of range."""
    columns: dict[str, pa.Array[Any]] = {
        "key": pa.array(["good", "at", "until", "day", "seen"]),
        "at": pa.array([NOON, FAR, NOON, NOON, NOON], pa.int64()).cast(_US),
        "until": pa.array([None, None, FAR, None, None], pa.int64()).cast(_US),
        "day": pa.array([5, None, None, 10_000_000, None], pa.int32()).cast(pa.date32()),
        "seen": pa.array([[NOON], [], [], [], [FAR]], pa.list_(pa.int64())).cast(pa.list_(_US)),
    }
    return pa.table(columns)


ERRORS: Final = {
    field: f"source 'spans': {path} must be in the years 1 to 9999 of UTC; got, in {unit} since the epoch, {value}"
    for field, path, unit, value in (
        ("at", "at", "microseconds", FAR),
        ("until", "until", "microseconds", FAR),
        ("day", "day", "days", 10_000_000),
        ("seen", "seen[…]", "microseconds", FAR),
    )
}
"""The error of each bad row, by its key."""
