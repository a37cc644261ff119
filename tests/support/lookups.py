"""Pipelines that look keys up in a mapping, a side input; ``LIFTED`` are columns of a batch, ``IN_PYTHON`` are not."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

from attrs import frozen

from flowalg import KV, CalendarDays, FixedWindows, Max, PCollection, Source
from flowalg.pipeline import SideInput
from tests.support.scores import SCORES, Score


@frozen
class Best:
    """The best score of a team, and the team that it follows."""

    points: int
    team: str


RIVALS = Source("others", Score, event_time=lambda score: score.at)
FIVE = FixedWindows(timedelta(minutes=5))

most = RIVALS.key_by(lambda score: score.team).map_values(lambda score: score.points).window(FIVE)
points: SideInput[Mapping[str, int]] = most.combine_per_key(Max()).as_map()
bests: SideInput[Mapping[str, Best]] = (
    most.combine_per_key(Max()).map_values(lambda points: Best(points, "of " + str(points))).as_map()
)
odd: SideInput[Mapping[int, int | None]] = (
    RIVALS.key_by(lambda score: score.points)
    .map_values(lambda score: score.points if score.points % 20 else None)
    .window(FIVE)
    .combine_per_key(Max.of(lambda points: points or 0))
    .map_values(lambda points: points if points % 20 else None)
    .as_map()
)
TWICE: SideInput[Mapping[str, int]] = most.as_map()
by_day: SideInput[Mapping[str, int]] = (
    most.window(CalendarDays("UTC", timedelta(hours=12, minutes=5))).combine_per_key(Max()).as_map()
)
"""The best points of days that start five minutes after noon."""
thirds: SideInput[Mapping[float, int]] = (
    RIVALS.map(lambda score: KV(str(score.points), score.points))
    .combine_per_key(Max())
    .map(lambda pair: KV(pair.value / 3, pair.value))
    .as_map()
)


def either(score: Score, mapping: Mapping[str, int]) -> int:
    """Returns a value that a branch looks up, or another."""
    if score.team in mapping:
        return mapping[score.team]
    return mapping.get("a", -1)


def listed(score: Score, mapping: Mapping[str, int]) -> list[tuple[str, int | None]]:
    """Returns two values, of which one may be missing."""
    return [(score.team, mapping.get(score.team)), ("b", mapping.get("b"))]


LIFTED: dict[str, PCollection[object]] = {
    "get": SCORES.map_with(points, lambda score, mapping: (score, mapping.get(score.team))),
    "get with a default": SCORES.map_with(
        points, lambda score, mapping: (score, mapping.get(score.team, -1))
    ),
    "get by day": SCORES.map_with(by_day, lambda score, mapping: (score, mapping.get(score.team))),
    "in": SCORES.filter_with(points, lambda score, mapping: score.team in mapping),
    "not in": SCORES.filter_with(points, lambda score, mapping: score.team not in mapping),
    "a branch": SCORES.map_with(points, either),
    "a record": SCORES.map_with(bests, lambda score, mapping: (score.at, mapping.get(score.team))),
    "a field of a record": SCORES.filter_with(bests, lambda score, mapping: score.team in mapping).map_with(
        bests, lambda score, mapping: mapping[score.team].team + score.team
    ),
    "a computed key": SCORES.map_with(
        odd, lambda score, mapping: (score, mapping.get(score.points % 7 * 10, -1))
    ),
    "a constant key": SCORES.map_with(
        points, lambda score, mapping: (score, mapping.get("c"), "a" in mapping)
    ),
    "a flat_map": SCORES.flat_map_with(points, listed),
    "steps after it": SCORES.map_with(points, lambda score, mapping: (score, mapping.get(score.team, 0)))
    .filter(lambda pair: pair[1] > 0)
    .map(lambda pair: pair[1] + pair[0].points),
}

IN_PYTHON: dict[str, PCollection[object]] = {
    "the size": SCORES.map_with(points, lambda score, mapping: (score, len(mapping))),
    "a key that may fail": SCORES.filter(lambda score: score.points != 0).map_with(
        odd, lambda score, mapping: mapping.get(60 // score.points)
    ),
    "a float as key": SCORES.map_with(thirds, lambda score, mapping: mapping.get(score.points / 3)),
    "a key found by another": SCORES.map_with(
        odd, lambda score, mapping: mapping.get(mapping.get(score.points, 0) or 0)
    ),
    "the mapping itself": SCORES.with_side(points)
    .map(lambda pair: (pair[0], pair[1]))
    .map(lambda pair: pair[1].get(pair[0].team)),
}
