"""Scores of teams, as in the papers. All functions have names, so the pipeline can be written as JSON."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import flowalg_reference as reference
from attrs import frozen

from flowalg import (
    KV,
    AtCount,
    AtPeriod,
    AtWatermark,
    Count,
    FixedWindows,
    PCollection,
    Source,
    Sum,
    Timeline,
    ptransform,
)


@frozen
class Score:
    """Points of a team, and the time at which it scored them."""

    team: str
    points: int
    at: datetime


@frozen
class Standing:
    """The points of a team, and the number of its scores."""

    points: int
    scores: int


def when(score: Score) -> datetime:
    """The event time of a score."""
    return score.at


def team_of(score: Score) -> str:
    """The team of a score."""
    return score.team


def points_of(score: Score) -> int:
    """The points of a score."""
    return score.points


MINUTE = timedelta(minutes=1)


@ptransform(name="in two minutes")
def in_two_minutes(scores: PCollection[KV[str, Score]]) -> PCollection[KV[str, Score]]:
    """The windows of the standings, with early and late panes."""
    return scores.window(
        FixedWindows(2 * MINUTE),
        trigger=AtWatermark().with_early_firings(AtPeriod(MINUTE)).with_late_firings(AtCount(1)),
        allowed_lateness=5 * MINUTE,
    )


@ptransform
def standings(scores: PCollection[KV[str, Score]]) -> PCollection[KV[str, Standing]]:
    """The points of each team, and the number of its scores."""
    return scores.combine_per_key(Sum.of(points_of), Count(), into=Standing)


SCORES = Source("scores", Score, event_time=when)
STANDINGS = SCORES.key_by(team_of).apply(in_two_minutes >> standings)


def at(minute: float) -> datetime:
    """A time, in minutes after noon."""
    return datetime(2015, 1, 1, 12, tzinfo=UTC) + minute * MINUTE


TIMELINE = (
    Timeline[Score]()
    .at(at(1.5), Score("red", 5, at(0.5)), watermark=at(0))
    .at(at(2.5), Score("blue", 7, at(1)), watermark=at(0.5))
    .at(at(3.5), Score("red", 3, at(3)), watermark=at(2))
    .at(at(5.5), Score("red", 9, at(1.5)))  # late
    .at(at(9.5), Score("blue", 2, at(8.5)), watermark=at(8))
    .end(at(10.5))
)
"""Five scores, in the order in which they are observed."""


def main() -> None:
    """Prints each standing when its pane fires."""
    for pane in reference.run(STANDINGS, {SCORES: TIMELINE}).panes:
        clock = pane.processing_time.datetime
        start, end = pane.window.start.datetime, pane.window.end.datetime
        standing = f"{pane.value.points:>2} points, {pane.value.scores} scores"
        print(
            f"{clock:%H:%M:%S}  {pane.key:<4}  {start:%H:%M} to {end:%H:%M}  {standing}  {pane.timing.value}"
        )


if __name__ == "__main__":
    main()
