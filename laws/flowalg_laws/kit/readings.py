"""The records of generated timelines, and the collections made of them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final, NewType

from attrs import evolve, frozen

from flowalg import KV, PCollection, Source, Timeline
from flowalg.data.time import MAX_TIME, event_time
from flowalg.runs import Instant

START: Final = datetime(2024, 1, 1, tzinfo=UTC)
"""The start of generated time; all generated times are whole minutes after it."""


@frozen
class Reading:
    """A small record: a key, a value, its event time and its processing time."""

    key: str
    value: int
    at: datetime
    seen: datetime


def event_time_of(reading: Reading) -> datetime:
    """Returns the event time. A named function, like those below, so that pipelines over readings can be serialized."""
    return reading.at


def key_of(reading: Reading) -> str:
    """Returns the key."""
    return reading.key


def value_of(reading: Reading) -> int:
    """Returns the value."""
    return reading.value


READINGS = Source("readings", Reading, event_time=event_time_of)
"""The source of generated timelines."""

VALUES: PCollection[KV[str, int]] = READINGS.key_by(key_of).map_values(value_of)
"""The values of the readings by key."""

DenseTimeline = NewType("DenseTimeline", Timeline[Reading])
"""A timeline of one key whose elements lie within minutes of each other and arrive one or two at a time."""

EndedTimeline = NewType("EndedTimeline", Timeline[Reading])
"""A timeline whose input has ended."""


def without_late_elements(timeline: Timeline[Reading]) -> Timeline[Reading]:
    """Returns a timeline whose watermark waits for all later elements, so that it has passed none when it arrives."""
    waiting, least = list[Instant[Reading]](), MAX_TIME
    for instant in reversed(timeline.instants):
        waiting.insert(0, evolve(instant, watermark=min(instant.watermark, least)))
        least = min([least, *(event_time(reading.at) for reading in instant.elements)])
    return evolve(timeline, instants=tuple(waiting))
