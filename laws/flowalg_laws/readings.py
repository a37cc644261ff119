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


READINGS = Source("readings", Reading, event_time=lambda reading: reading.at)
"""The source that generated timelines belong to."""

VALUES: PCollection[KV[str, int]] = READINGS.key_by(lambda reading: reading.key).map_values(
    lambda reading: reading.value
)
"""Its values by key."""

Crowd = NewType("Crowd", Timeline[Reading])
"""A timeline of one key, whose elements meet: they happened within minutes of each other, and come one by one."""

__all__ = ["READINGS", "START", "VALUES", "Crowd", "Reading"]
