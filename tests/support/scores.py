"""The records that most tests use."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from attrs import frozen

from flowalg import KV, PCollection, Source

NOON = datetime(2024, 1, 1, 12, tzinfo=UTC)


def minute(number: float) -> datetime:
    """Returns a time, in minutes after noon."""
    return NOON + timedelta(minutes=number)


@frozen
class Score:
    """The points of a team, and when they were scored."""

    team: str
    points: int
    at: datetime


SCORES = Source("scores", Score, event_time=lambda s: s.at)
POINTS: PCollection[KV[str, int]] = SCORES.key_by(lambda s: s.team).map_values(lambda s: s.points)
