"""The records that generated timelines carry, and the collections made of them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final, NewType

from attrs import frozen

from flowalg import KV, PCollection, Source, Timeline

START: Final = datetime(2024, 1, 1, tzinfo=UTC)
"""Where generated time begins; all of it lies whole minutes after."""


@frozen
class Reading:
    """A small record: a key, a value, when it happened, and when it was seen."""

    key: str
    value: int
    at: datetime
    seen: datetime


def happened(reading: Reading) -> datetime:
    """When it happened. Named, like the functions below, so that pipelines over readings can be written down."""
    return reading.at


def key_of(reading: Reading) -> str:
    """Its key."""
    return reading.key


def value_of(reading: Reading) -> int:
    """Its value."""
    return reading.value


READINGS = Source("readings", Reading, event_time=happened)
"""The source that generated timelines belong to."""

VALUES: PCollection[KV[str, int]] = READINGS.key_by(key_of).map_values(value_of)
"""Its values by key."""

Crowd = NewType("Crowd", Timeline[Reading])
"""A timeline of one key, whose elements meet: they happened within minutes of each other, and come one by one."""

__all__ = ["READINGS", "START", "VALUES", "Crowd", "Reading", "happened", "key_of", "value_of"]
