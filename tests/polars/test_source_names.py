"""A source is known by its name: two different ones of one name would read each other's records."""

from __future__ import annotations

from datetime import datetime, timedelta

import polars as pl
import pytest
from attrs import frozen
from flowalg_polars import PolarsBatch, PolarsStreaming, batch, streaming
from flowalg_polars.streaming import Frames, StreamInput
from flowalg_reference import Reference, ReferenceBatch

from flowalg import BoundedOutOfOrderness, Count, Interpreter, PCollection, Source, Timeline, flatten
from flowalg.data import INGRESS_TIME
from flowalg.errors import ArgumentError
from tests.support.scores import NOON, SCORES, Score

LATER = Source("scores", Score, event_time=lambda score: score.at + timedelta(hours=1))


@frozen
class Level:
    """A record of another class."""

    level: int


LEVELS = Source("scores", Level, event_time=INGRESS_TIME)
TIMELINE = Timeline.batch([Score("a", 1, NOON)], time=NOON)
ENGINES: tuple[Interpreter, ...] = (Reference(), ReferenceBatch(), PolarsBatch(), PolarsStreaming())


@pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: type(engine).__name__)
@pytest.mark.parametrize(
    ("other", "part"),
    [
        (LATER.map(lambda score: score.team), "event time"),
        (LEVELS.map(lambda record: str(record.level)), "record"),
    ],
    ids=["event time", "record"],
)
def test_two_different_sources_of_a_run_do_not_have_one_name(
    engine: Interpreter, other: PCollection[str], part: str
) -> None:
    """No engine reads the records of one with the event time of the other, in one output or in two."""
    teams = SCORES.map(lambda score: score.team)
    match = f"'scores'.*: the pipeline reads two sources of this name, which differ in their {part}"
    with pytest.raises(ArgumentError, match=match):
        engine.run(flatten(teams, other), {SCORES: TIMELINE})
    with pytest.raises(ArgumentError, match=match):
        engine.run({"teams": teams, "other": other.combine_globally(Count())}, {SCORES: TIMELINE})


def test_frames_are_bound_to_one_source() -> None:
    """It holds for the frames of a batch and of a stream too."""
    both = flatten(SCORES, LATER)
    frame = pl.DataFrame({"team": ["a"], "points": [1], "at": [NOON]})
    with pytest.raises(ArgumentError, match="two sources of this name"):
        batch.run(both, {SCORES: frame})
    policy = BoundedOutOfOrderness(timedelta(0))
    with pytest.raises(ArgumentError, match="two sources of this name"):
        list(streaming.batches(both, {SCORES: StreamInput(Frames([frame]), policy)}))


def test_a_source_that_is_built_twice_is_one_source() -> None:
    """Equal sources are one: of the same name, record and function."""

    def at(score: Score) -> datetime:
        return score.at

    first, second = (Source("twice", Score, event_time=at) for _ in range(2))
    run = ReferenceBatch().run(flatten(first, second), {first: TIMELINE})
    assert len(run.elements) == 2
