"""The pipelines of a mobile game, after the running example of Streaming 102: four questions about the same scores.

Players score for their team, some of them offline, so that scores arrive late. The pipelines build on each other: the
total of each player, the score of each team per hour, a leader board that shows partial results and corrects them, and
statistics that leave out robots, which score far more than the mean player.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from random import Random
from typing import Final

import flowalg_reference as reference
from attrs import frozen

from flowalg import (
    Accumulation,
    AtPeriod,
    AtWatermark,
    BoundedOutOfOrderness,
    FixedWindows,
    GlobalWindows,
    Max,
    Mean,
    Min,
    Repeat,
    Sessions,
    Source,
    Sum,
    Timeline,
)


@frozen
class Score:
    """Points of a player, the time of the score, and the time at which the server received it."""

    player: str
    team: str
    points: int
    at: datetime
    received: datetime


MINUTE: Final = timedelta(minutes=1)
HOUR: Final = timedelta(hours=1)

scores = Source("scores", Score, event_time=lambda score: score.at)
points_of_players = scores.key_by(lambda score: score.player).map_values(lambda score: score.points)
points_of_teams = scores.key_by(lambda score: score.team).map_values(lambda score: score.points)

player_totals = points_of_players.combine_per_key(Sum())
"""The points of each player, of all time: a batch job."""

hourly_team_scores = points_of_teams.window(FixedWindows(HOUR)).combine_per_key(Sum())
"""The points of each team per hour."""

team_board = points_of_teams.window(
    FixedWindows(HOUR),
    trigger=AtWatermark().with_early_firings(AtPeriod(5 * MINUTE)).with_late_firings(AtPeriod(10 * MINUTE)),
    accumulation=Accumulation.ACCUMULATING,
    allowed_lateness=2 * HOUR,
).combine_per_key(Sum())
"""The same, with partial results every five minutes and corrections every ten."""

player_board = points_of_players.window(
    GlobalWindows(), trigger=Repeat(AtPeriod(10 * MINUTE)), accumulation=Accumulation.ACCUMULATING
).combine_per_key(Sum())
"""The points of each player so far, every ten minutes."""

half_hourly = points_of_players.window(
    FixedWindows(HOUR / 2), trigger=AtWatermark(), allowed_lateness=timedelta(0)
).combine_per_key(Sum())
mean_score = (
    half_hourly.map(lambda total: float(total.value)).combine_globally(Mean()).as_singleton(default=0.0)
)
robots = half_hourly.filter_with(mean_score, lambda total, mean: total.value > 2.5 * mean).as_map()
"""The players that score far more than the mean in half an hour, with their points."""

honest_team_scores = (
    scores.filter_with(robots, lambda score, robots: score.player not in robots)
    .key_by(lambda score: score.team)
    .map_values(lambda score: score.points)
    .window(FixedWindows(HOUR))
    .combine_per_key(Sum())
)
"""The points of each team per hour, without those of robots."""

session_minutes = (
    scores.key_by(lambda score: score.player)
    .map_values(lambda score: score.at)
    .window(Sessions(5 * MINUTE), accumulation=Accumulation.RETRACTING)
    .combine_per_key(Min(), Max(), into=lambda first, last: (last - first) / MINUTE)
    .map(lambda session: session.value)
    .window(FixedWindows(HOUR))
    .combine_globally(Mean())
)
"""The mean length of a session in minutes, per hour in which sessions end. Sessions that grow are retracted first."""


def clock(minute: float) -> datetime:
    """A time, in minutes after six in the evening."""
    return datetime(2024, 5, 6, 18, tzinfo=UTC) + minute * MINUTE


def play() -> list[Score]:
    """Two hours of scores: of three players in each of three teams, and of one robot."""
    random, played = Random(2016), []
    for team in ("azure", "coral", "olive"):
        for number in (1, 2, 3):
            begins = random.uniform(0, 30)
            for minute in range(0, 100, random.choice((3, 4, 7))):
                delay = random.choice((0.2, 0.5, 1, 2, 45 if minute < 20 else 3))
                when = begins + minute * (0.8 if number == 3 else 0.3)
                points = random.randint(1, 10)
                played.append(Score(f"{team}-{number}", team, points, clock(when), clock(when + delay)))
    for second in range(0, 3600, 20):
        played.append(Score("robot", "olive", 10, clock(second / 60), clock(second / 60 + 0.1)))
    return sorted(played, key=lambda score: score.received)


SCORES: Final = play()
TIMELINE: Final = Timeline.from_records(
    scores,
    SCORES,
    processing_time=lambda score: score.received,
    watermark=BoundedOutOfOrderness(3 * MINUTE),
    every=MINUTE,
)


def main() -> None:
    """Prints the results of all pipelines: of batches, and of a stream of the same scores."""
    print("Totals of players:")
    for total in reference.run_batch(player_totals, {scores: SCORES}).panes:
        print(f"  {total.key:<8} {total.value:>5}")
    print("Teams by hour, with and without robots:")
    honest = {
        (pane.window, pane.key): pane.value
        for pane in reference.run_batch(honest_team_scores, {scores: SCORES}).panes
    }
    for pane in reference.run_batch(hourly_team_scores, {scores: SCORES}).panes:
        honest_score = honest.get((pane.window, pane.key), 0)
        print(f"  {pane.window.start.datetime:%H:%M}  {pane.key:<8} {pane.value:>5} {honest_score:>5}")
    print("The leader board of the first hour:")
    for pane in reference.run(team_board, {scores: TIMELINE}).panes:
        if pane.window.start.datetime == clock(0):
            time = pane.processing_time.datetime
            print(f"  {time:%H:%M}  {pane.key:<8} {pane.value:>5}  {pane.timing.value}")
    print("The three players with the most points after half an hour:")
    board = reference.run(player_board, {scores: TIMELINE}).panes
    points = {pane.key: pane.value for pane in board if pane.processing_time.datetime <= clock(30)}
    for player, best in sorted(points.items(), key=lambda pair: -pair[1])[:3]:
        print(f"  {player:<8} {best:>5}")
    print("Minutes in a session, by the hour of its end:")
    for mean in reference.run_batch(session_minutes, {scores: SCORES}).panes:
        print(f"  {mean.window.start.datetime:%H:%M}  {mean.element:.1f}")


if __name__ == "__main__":
    main()
