"""The scores of the programs with flowalg."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from attrs import frozen
from feed import BASE

from flowalg import Source

SECOND = timedelta(seconds=1)
START = datetime.fromtimestamp(BASE, UTC)


@frozen
class Score:
    """Points of a player."""

    player: str
    points: int
    at: datetime


scores = Source("scores", Score, event_time=lambda score: score.at)
points = scores.key_by(lambda score: score.player).map_values(lambda score: score.points)
