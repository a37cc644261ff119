"""A pipeline that can be written as JSON: each of its functions has a name at the top level of a module."""

from __future__ import annotations

from datetime import datetime, timedelta

from attrs import frozen

from flowalg import AtCount, AtPeriod, AtWatermark, Count, FixedWindows, Source, Sum


@frozen
class Score:
    """A team's points, when they were made."""

    team: str
    points: int
    at: datetime


@frozen
class Standing:
    """What a team has come to."""

    points: int
    scores: int


def when(score: Score) -> datetime:
    """When it happened."""
    return score.at


def team_of(score: Score) -> str:
    """Who made it."""
    return score.team


def points_of(score: Score) -> int:
    """How much it was."""
    return score.points


MINUTE = timedelta(minutes=1)
SCORES = Source("scores", Score, event_time=when)
STANDINGS = (
    SCORES.key_by(team_of)
    .window(
        FixedWindows(2 * MINUTE),
        trigger=AtWatermark().with_early_firings(AtPeriod(MINUTE)).with_late_firings(AtCount(1)),
        allowed_lateness=5 * MINUTE,
    )
    .combine_per_key(Sum.of(points_of), Count(), into=Standing)
)
