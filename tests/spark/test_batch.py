"""Spark batch beyond the conformance suite: several outputs, sides that Python reads, sets and split.

This family catches faults of what users call on compiled frames, and of what the engine does with values on the way.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from enum import Enum
from itertools import cycle

import attrs
import flowalg_reference
import pytest
from attrs import frozen
from flowalg_laws.conformance.drawing import full_line
from flowalg_spark import batch
from pyspark.sql import DataFrame, SparkSession
from returns.result import Failure, Result, Success

from flowalg import (
    KV,
    ArgumentError,
    CalendarDays,
    Count,
    CustomWindows,
    FixedWindows,
    Max,
    Pane,
    PCollection,
    Sessions,
    SlidingWindows,
    Source,
    Sum,
    ToSet,
    UnboundSourceError,
    UnsupportedError,
    Window,
    WindowFn,
)
from flowalg.data.time import EventTime
from flowalg.pipeline.structure import sources_of
from tests.support.scores import NOON, POINTS, SCORES, Score
from tests.support.spark_replay import table_of

MINUTE = timedelta(minutes=1)
SOME = [
    Score(team, points, NOON + minutes * MINUTE)
    for team, points, minutes in (
        ("a", 3, 0),
        ("b", 4, 1),
        ("a", 5, 4),
        ("c", 7, 6),
        ("a", -2, 7),
        ("b", 9, 13),
        ("b", 9, 13),
        ("a", 0, 1500),
    )
]
OTHERS = Source("others", Score, event_time=lambda s: s.at)
MORE = [Score(team, 10 * points, at) for team, points, at in ((s.team, s.points, s.at) for s in SOME[2:7])]


def frame_of(spark: SparkSession, scores: list[Score], partitions: int = 3) -> DataFrame:
    """Scores as a frame of some partitions."""
    return spark.createDataFrame(table_of(Score, scores)).drop("end_of_input").repartition(partitions)


def agrees(spark: SparkSession, pipeline: PCollection[object]) -> tuple[Pane[object], ...]:
    """The panes of a pipeline over the sources that it reads, which are those of the reference."""
    known: dict[Source[object], list[Score]] = {SCORES: SOME, OTHERS: MORE}
    read = [node.name for node in sources_of(pipeline.node)]
    records = {source: some for source, some in known.items() if source.name in read}
    wanted = flowalg_reference.run_batch(pipeline, records, time=NOON).panes
    frames = {source: frame_of(spark, some) for source, some in records.items()}
    found = batch.run(pipeline, frames, time=NOON)
    assert sorted(map(full_line, found)) == sorted(map(full_line, wanted))
    return found


DAY = timedelta(days=1) // timedelta(microseconds=1)


def day_of(at: EventTime, key: object) -> list[Window]:
    """A window of one's own, for every key the same."""
    start = at - at % DAY
    return [Window(EventTime(start), EventTime(start + DAY))]


SIDES: list[WindowFn] = [
    FixedWindows(5 * MINUTE),
    CalendarDays("Europe/Berlin"),
    SlidingWindows(10 * MINUTE, 10 * MINUTE),
    CustomWindows("days", day_of),
]
MAINS: list[WindowFn] = [Sessions(3 * MINUTE), SlidingWindows(10 * MINUTE, 5 * MINUTE)]


def beside(both: tuple[tuple[Score, Mapping[str, int]], int]) -> KV[str, tuple[int, int]]:
    """What an element reads of a map and of a number."""
    (score, most), total = both
    return KV(score.team, (most.get(score.team, 0), total))


@pytest.mark.parametrize(("main", "side"), list(zip(cycle(MAINS), SIDES, strict=False)), ids=str)
def test_any_windows_beside_any_others(spark: SparkSession, main: WindowFn, side: WindowFn) -> None:
    """An element reads its window of the side by its event time, whatever windows it goes into itself."""
    values = OTHERS.key_by(lambda s: s.team).map_values(lambda s: s.points).window(side)
    most = values.combine_per_key(Max()).as_map()
    total = values.map(lambda pair: pair.value).combine_globally(Sum()).as_singleton(default=-1)
    pairs = SCORES.with_side(most).with_side(total).map(beside).window(main)
    agrees(spark, pairs.combine_per_key(ToSet()))


def spread(values: Iterable[tuple[int, Mapping[str, int]]]) -> list[int]:
    """A combiner's look into mappings that have come through a shuffle."""
    return sorted(number + sum(most.values()) for number, most in values)


def test_a_mapping_lies_in_columns_where_it_must(spark: SparkSession) -> None:
    """An element that still holds a mapping is grouped, and the mapping comes back as it was."""
    most = OTHERS.key_by(lambda s: s.team).map_values(lambda s: s.points).combine_per_key(Max()).as_map()
    held = SCORES.map(lambda s: s.points).with_side(most).key_by(lambda pair: pair[0] % 2, result=int)
    agrees(spark, held.group_by_key().map_values(spread))


def test_a_side_comes_to_every_partition(spark: SparkSession) -> None:
    """However many partitions there are, empty ones and those of one row included, and where the side is empty."""
    many = [Score("a", number, NOON) for number in range(40)]
    most = OTHERS.key_by(lambda s: s.team).map_values(lambda s: s.points).combine_per_key(Max()).as_map()
    found = SCORES.filter_with(most, lambda s, known: s.team in known).map(lambda s: s.points)
    sums = found.combine_globally(Sum())
    for partitions in (1, 7, 60):
        frames = {SCORES: frame_of(spark, many, partitions), OTHERS: frame_of(spark, MORE)}
        assert [pane.element for pane in batch.run(sums, frames)] == [sum(range(40))]
    assert batch.run(sums, {SCORES: frame_of(spark, many), OTHERS: frame_of(spark, [])}) == ()


def test_a_side_read_wrongly_says_what_the_reference_says(spark: SparkSession) -> None:
    """Two values under one key are an error that names both the key and the window."""
    twice = OTHERS.key_by(lambda s: s.team).map_values(lambda s: s.points).as_map()
    counts = SCORES.map_with(
        twice, lambda s, known: KV(s.team, len(known)), result=KV[str, int]
    ).combine_per_key(Sum())
    with pytest.raises(
        Exception, match=r"as_map\(\) has .* under 'a' \(str\) in .*; each key must have one value"
    ):
        batch.run(counts, {SCORES: frame_of(spark, SOME), OTHERS: frame_of(spark, MORE)})


class Colour(Enum):
    """Two colours, whose names sort otherwise than their values."""

    RED = 1
    BLUE = 2


@frozen
class Tagged:
    """Sets of everything that sorts."""

    tags: frozenset[str]
    colours: frozenset[Colour]
    maybe: frozenset[int | None]
    pairs: frozenset[tuple[int, str]]
    inner: frozenset[frozenset[int]]
    mutable: set[float]
    at: datetime


TAGGED = Source("tagged", Tagged, event_time=lambda one: one.at)
SETS = [
    Tagged(
        frozenset({"é", "z", "", "日本", "\U0001f600", "\uffff"}),
        frozenset(Colour),
        frozenset({None, 3, -(2**63)}),
        frozenset({(2, "a"), (1, "b"), (1, "")}),
        frozenset({frozenset({2, 1}), frozenset[int](), frozenset({3})}),
        {float("inf"), -0.0, 1.5},
        NOON,
    ),
    Tagged(frozenset(), frozenset(), frozenset(), frozenset(), frozenset(), set(), NOON),
]


def test_sets_come_back_equal(spark: SparkSession) -> None:
    """Of their own class, from a frame, through Python, a shuffle and a file."""
    frame = spark.createDataFrame(table_of(Tagged, SETS))
    through = TAGGED.map(lambda one: attrs.evolve(one), result=Tagged)
    for pipeline in (
        TAGGED.key_by(lambda one: 0).group_by_key(),
        through.key_by(lambda one: 0).group_by_key(),
    ):
        (pane,) = batch.run(pipeline, {TAGGED: frame})
        found = sorted(pane.element.value, key=lambda one: len(one.tags), reverse=True)
        assert found == SETS
        assert {type(one.mutable) for one in found} == {set}
        assert {type(one.tags) for one in found} == {frozenset}


def test_equal_sets_are_one_key(spark: SparkSession) -> None:
    """Whatever the order and repetitions of the arrays that they come from."""
    rows = [(["b", "a"],), (["a", "b", "a"],), (["a"],), ([],)]
    words = Source("words", Words, event_time=lambda one: NOON)
    counts = words.key_by(lambda one: one.words).combine_per_key(Count())
    found = {pane.element.key: pane.element.value for pane in batch.run(counts, {words: arrays(spark, rows)})}
    assert found == {frozenset("ab"): 2, frozenset("a"): 1, frozenset(): 1}


@frozen
class Words:
    """A set alone."""

    words: frozenset[str]


def arrays(spark: SparkSession, rows: list[tuple[list[str]]]) -> DataFrame:
    """Arrays that are no sets yet."""
    return spark.createDataFrame(rows, "words array<string>")


def judged(score: Score) -> Result[KV[str, int], str]:
    """Annotated with both of its types."""
    return Success(KV(score.team, score.points)) if score.points > 0 else Failure(score.team)


def test_both_parts_of_a_split(spark: SparkSession) -> None:
    """Their types are those of the annotation, or those that are said."""
    good, bad = SCORES.split(judged)
    agrees(spark, good.combine_per_key(Sum()))
    agrees(spark, bad.key_by(lambda team: team).combine_per_key(Count()))
    said, refused = SCORES.split(
        lambda s: Success(s.points) if s.points else Failure(s), result=int, failure=Score
    )
    agrees(spark, said.combine_globally(Sum()))
    agrees(spark, refused.key_by(lambda s: s.team).combine_per_key(Count()))


def test_a_split_of_unknown_types_asks_for_them(spark: SparkSession) -> None:
    """When the pipeline is compiled, by the name of the argument that would say it."""
    good, bad = SCORES.split(lambda s: Success(s) if s.points else Failure(s.team))
    for part, argument in ((good, "result"), (bad, "failure")):
        message = (
            rf"split\(<lambda> at .*: Spark cannot know the type of its result; say it with {argument}=…"
        )
        with pytest.raises(UnsupportedError, match=message):
            batch.compile(part.combine_globally(Count()), {SCORES: frame_of(spark, SOME)})


def test_several_outputs_are_one_query(spark: SparkSession) -> None:
    """Each is what it is alone; a source that only one reads is bound, and what they share is shuffled once."""
    per_minute = POINTS.window(FixedWindows(MINUTE)).combine_per_key(Sum())
    most = per_minute.map(lambda pair: pair.value).combine_globally(Max())
    others = OTHERS.key_by(lambda s: s.team).combine_per_key(Count())
    inputs = {SCORES: frame_of(spark, SOME), OTHERS: frame_of(spark, MORE)}
    found = batch.run_all((per_minute, most, others), inputs, time=NOON)
    assert found == (
        batch.run(per_minute, {SCORES: inputs[SCORES]}, time=NOON),
        batch.run(most, {SCORES: inputs[SCORES]}, time=NOON),
        batch.run(others, {OTHERS: inputs[OTHERS]}, time=NOON),
    )
    assert [len(panes) for panes in found] == [7, 7, 3]
    with pytest.raises(UnboundSourceError, match="'others' is not bound"):
        batch.run_all((per_minute, others), {SCORES: inputs[SCORES]})
    with pytest.raises(
        ArgumentError, match=r"pipelines must be one or more PCollections, in a tuple or list; got \[\]"
    ):
        batch.compile_all([], inputs)
    with pytest.raises(ArgumentError, match="pipeline 2 must be a PCollection; got 3"):
        batch.compile_all([most, 3], inputs)  # type: ignore[arg-type]  # a fault on purpose
