"""Spark batch beyond the conformance suite: several outputs, side inputs in Python, sets and split.

These tests catch faults of the functions on compiled frames, and of the encoding of values within the engine.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from enum import Enum
from itertools import cycle
from typing import TypeVar

import attrs
import flowalg_reference
import pytest
from attrs import frozen
from flowalg_laws.conformance.drawing import full_line
from flowalg_spark import batch, collect, collect_elements
from pyspark.sql import DataFrame, SparkSession
from returns.result import Failure, Result, Success

from flowalg import (
    KV,
    CalendarDays,
    Count,
    FixedWindows,
    Max,
    Pane,
    PCollection,
    Sessions,
    SlidingWindows,
    Source,
    Sum,
    ToList,
    Window,
    flatten,
)
from flowalg.combiners import ToSet
from flowalg.data.time import MAX_TIME, MIN_TIME, EventTime
from flowalg.errors import ArgumentError, ElementError, UnboundSourceError, UnsupportedError
from flowalg.pipeline.structure import sources_of
from flowalg.windows import CalendarMonths, CalendarWeeks, CustomWindows, WindowFn
from tests.support import comprehensions
from tests.support.comprehensions import LINES, Line, line
from tests.support.depth import a_few
from tests.support.lookups import LIFTED, RIVALS
from tests.support.partial_calls import PARTIAL
from tests.support.scores import NOON, POINTS, SCORES, Score
from tests.support.spark_replay import table_of

A = TypeVar("A")
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
MORE = [Score(team, 10 * points, at) for team, points, at in ((s.team, s.points, s.at) for s in SOME[2:7])]


def frame_of(spark: SparkSession, scores: list[Score], partitions: int = 3) -> DataFrame:
    """Returns scores as a frame with so many partitions."""
    return spark.createDataFrame(table_of(Score, scores)).drop("end_of_input").repartition(partitions)


def assert_agrees(spark: SparkSession, pipeline: PCollection[object]) -> tuple[Pane[object], ...]:
    """Returns the panes of a pipeline over its sources, after a comparison with those of the reference."""
    all_records: dict[Source[object], list[Score]] = {SCORES: SOME, RIVALS: MORE}
    read = [node.name for node in sources_of(pipeline.node)]
    records = {source: scores for source, scores in all_records.items() if source.name in read}
    expected = flowalg_reference.run_batch(pipeline, records, time=NOON).panes
    frames = {source: frame_of(spark, scores) for source, scores in records.items()}
    panes = batch.run(pipeline, frames, time=NOON).panes
    assert sorted(map(full_line, panes)) == sorted(map(full_line, expected))
    return panes


DAY = timedelta(days=1) // timedelta(microseconds=1)


def day_of(at: EventTime, key: object) -> list[Window]:
    """Assigns a day, the same for every key."""
    start = at - at % DAY
    return [Window(EventTime(start), EventTime(start + DAY))]


SIDES: list[WindowFn] = [
    FixedWindows(5 * MINUTE),
    CalendarDays("Europe/Berlin"),
    SlidingWindows(10 * MINUTE, 10 * MINUTE),
    CustomWindows("days", day_of),
]
MAINS: list[WindowFn] = [Sessions(3 * MINUTE), SlidingWindows(10 * MINUTE, 5 * MINUTE)]


def read_sides(both: tuple[tuple[Score, Mapping[str, int]], int]) -> KV[str, tuple[int, int]]:
    """Returns the values that an element reads from a map and from a singleton."""
    (score, most), total = both
    return KV(score.team, (most.get(score.team, 0), total))


@pytest.mark.parametrize(("main", "side"), a_few(zip(cycle(MAINS), SIDES, strict=False), 1), ids=str)
def test_an_element_reads_the_side_at_its_event_time(
    spark: SparkSession, main: WindowFn, side: WindowFn
) -> None:
    """An element reads the window of the side at its event time, independent of the windows of the element."""
    values = RIVALS.key_by(lambda s: s.team).map_values(lambda s: s.points).window(side)
    most = values.combine_per_key(Max()).as_map()
    total = values.map(lambda pair: pair.value).combine_globally(Sum()).as_singleton(default=-1)
    pairs = SCORES.with_side(most).with_side(total).map(read_sides).window(main)
    assert_agrees(spark, pairs.combine_per_key(ToSet()))


BY_DAY: list[tuple[WindowFn, str]] = [
    (CalendarDays("Pacific/Apia", timedelta(hours=3)), "2011-12-30T10:00Z"),  # no 30 December
    (CalendarWeeks("America/Havana", 6), "2024-03-10T05:00Z"),  # no midnight
    (CalendarMonths("Asia/Kathmandu"), "1985-12-31T18:30Z"),  # a quarter of an hour forward
    (CalendarDays("Europe/Berlin"), "0001-01-05T00:00Z"),
    (CalendarDays("Europe/Berlin"), "9999-12-29T20:00Z"),
]


@pytest.mark.parametrize(("windows", "moment"), BY_DAY, ids=str)
def test_calendar_windows_follow_the_clocks(spark: SparkSession, windows: WindowFn, moment: str) -> None:
    """Around a change of the clocks and at the bounds of time, calendar windows are those of the reference."""
    change = datetime.fromisoformat(moment)
    around = [change + number * 7 * MINUTE for number in range(-4 * 60, 4 * 60)]
    scores = [Score("a", 1, at) for at in around if MIN_TIME.datetime <= at < MAX_TIME.datetime]
    pipeline = POINTS.window(windows).combine_per_key(Sum())
    expected = flowalg_reference.run_batch(pipeline, {SCORES: scores}, time=NOON).panes
    frames = {SCORES: frame_of(spark, scores)}
    assert sorted(map(full_line, batch.run(pipeline, frames, time=NOON).panes)) == sorted(
        map(full_line, expected)
    )


@pytest.mark.parametrize("form", a_few(LIFTED, 3))
def test_a_lookup_is_a_join(spark: SparkSession, form: str) -> None:
    """Each form of a lookup in a mapping has the values of the reference, and no function runs in Python."""
    pipeline = LIFTED[form].distinct()
    assert assert_agrees(spark, pipeline)
    frames = {SCORES: frame_of(spark, SOME), RIVALS: frame_of(spark, MORE)}
    assert "in Python" not in "\n".join(map(str, batch.compile(pipeline, frames).lifting))


def test_a_key_that_is_missing_raises_an_error(spark: SparkSession) -> None:
    """An index that the mapping lacks fails the query, with the function and ``KeyError``."""
    most = RIVALS.key_by(lambda s: s.team).map_values(lambda s: s.points).combine_per_key(Max()).as_map()
    read = SCORES.map_with(most, lambda s, maxima: maxima[s.team + "?"]).distinct()
    with pytest.raises(Exception, match=r"map_with\(<lambda> at .*KeyError"):
        batch.run(read, {SCORES: frame_of(spark, SOME), RIVALS: frame_of(spark, MORE)})


def assert_elements_agree(
    whole: PCollection[list[object]],
    frames: Mapping[Source[A], DataFrame],
    records: Mapping[Source[A], list[A]],
) -> None:
    """Compares the elements of a list, which have no order, with those of the reference."""
    [expected] = flowalg_reference.run_batch(whole, records, time=NOON).panes
    [pane] = batch.run(whole, frames, time=NOON).panes
    assert sorted(map(repr, pane.element)) == sorted(map(repr, expected.element))


COMPREHENSIONS = {**comprehensions.LIFTED, **comprehensions.IN_PYTHON}


@pytest.mark.parametrize("form", a_few(COMPREHENSIONS, 4))
def test_a_comprehension_has_the_items_of_the_reference(spark: SparkSession, form: str) -> None:
    """Each form of a comprehension in a ``flat_map`` has the items of the reference."""
    lines = [line("a, bb a", [3, -1, 4]), line("", []), line("bb. c", [5]), line("é", [1, 1])]
    whole = COMPREHENSIONS[form].combine_globally(ToList())
    frames = {LINES: spark.createDataFrame(table_of(Line, lines)).drop("end_of_input")}
    assert_elements_agree(whole, frames, {LINES: lines})
    ran = "\n".join(map(str, batch.compile(whole, frames).lifting))
    assert ("in Python" in ran) == (form in comprehensions.IN_PYTHON)


@pytest.mark.parametrize("form", a_few(PARTIAL, 3))
def test_a_map_with_calls_has_the_results_of_the_reference(spark: SparkSession, form: str) -> None:
    """A map of which Python computes parts has the results of the reference."""
    whole = PARTIAL[form].combine_globally(ToList())
    assert_elements_agree(whole, {SCORES: frame_of(spark, SOME)}, {SCORES: SOME})


def sums_of_maps(values: Iterable[tuple[int, Mapping[str, int]]]) -> list[int]:
    """Reads mappings after a shuffle."""
    return sorted(number + sum(most.values()) for number, most in values)


def test_a_mapping_passes_through_a_grouping(spark: SparkSession) -> None:
    """An element that contains a mapping is grouped, and the mapping is equal afterwards."""
    most = RIVALS.key_by(lambda s: s.team).map_values(lambda s: s.points).combine_per_key(Max()).as_map()
    with_map = SCORES.map(lambda s: s.points).with_side(most).key_by(lambda pair: pair[0] % 2, result=int)
    assert_agrees(spark, with_map.group_by_key().map_values(sums_of_maps))


def test_a_side_is_broadcast_to_every_partition(spark: SparkSession) -> None:
    """Every partition receives the side: with many partitions, empty partitions, and an empty side."""
    many = [Score("a", number, NOON) for number in range(40)]
    most = RIVALS.key_by(lambda s: s.team).map_values(lambda s: s.points).combine_per_key(Max()).as_map()
    points = SCORES.filter_with(most, lambda s, maxima: s.team in maxima).map(lambda s: s.points)
    sums = points.combine_globally(Sum())
    for partitions in (1, 7, 60):
        frames = {SCORES: frame_of(spark, many, partitions), RIVALS: frame_of(spark, MORE)}
        assert [pane.element for pane in batch.run(sums, frames).panes] == [sum(range(40))]
    assert batch.run(sums, {SCORES: frame_of(spark, many), RIVALS: frame_of(spark, [])}).panes == ()


def test_two_values_for_a_key_of_a_map_raise_an_error(spark: SparkSession) -> None:
    """A map with two values for one key raises an error with the key and the window."""
    twice = RIVALS.key_by(lambda s: s.team).map_values(lambda s: s.points).as_map()
    counts = SCORES.map_with(
        twice, lambda s, mapping: KV(s.team, len(mapping)), result=KV[str, int]
    ).combine_per_key(Sum())
    with pytest.raises(
        ElementError, match=r"as_map\(\) has .* under 'a' \(str\) in .*; each key must have one value"
    ):
        batch.run(counts, {SCORES: frame_of(spark, SOME), RIVALS: frame_of(spark, MORE)})


def test_two_values_for_a_key_that_is_looked_up_raise_an_error(spark: SparkSession) -> None:
    """Lookups fail with the key, and also if no later step reads what they found: no element is counted twice."""
    twice = RIVALS.key_by(lambda s: s.team).map_values(lambda s: s.points).as_map()
    lookups = SCORES.map_with(twice, lambda s, mapping: (s.team, mapping.get(s.team + "?", 0)))
    for read in (lookups.distinct(), lookups.map(lambda pair: pair[0]).combine_globally(Count())):
        with pytest.raises(
            ElementError, match=r"as_map\(\) has \d values under a in a window; each key must have one"
        ):
            batch.run(read, {SCORES: frame_of(spark, SOME), RIVALS: frame_of(spark, MORE)})


class Colour(Enum):
    """Two colours, whose names and values have different orders."""

    RED = 1
    BLUE = 2


@frozen
class Tagged:
    """A record with sets of all sortable types."""

    tags: frozenset[str]
    colours: frozenset[Colour]
    maybe: frozenset[int | None]
    pairs: frozenset[tuple[int, str]]
    inner: frozenset[frozenset[int]]
    mutable: set[float]
    at: datetime


TAGGED = Source("tagged", Tagged, event_time=lambda tagged: tagged.at)
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


def test_sets_are_equal_after_a_query(spark: SparkSession) -> None:
    """Sets keep their values and classes through a frame, Python and a shuffle."""
    frame = spark.createDataFrame(table_of(Tagged, SETS))
    through = TAGGED.map(lambda tagged: attrs.evolve(tagged), result=Tagged)
    for pipeline in (
        TAGGED.key_by(lambda tagged: 0).group_by_key(),
        through.key_by(lambda tagged: 0).group_by_key(),
    ):
        (pane,) = batch.run(pipeline, {TAGGED: frame}).panes
        records = sorted(pane.element.value, key=lambda tagged: len(tagged.tags), reverse=True)
        assert records == SETS
        assert {type(tagged.mutable) for tagged in records} == {set}
        assert {type(tagged.tags) for tagged in records} == {frozenset}


def test_equal_sets_are_one_key(spark: SparkSession) -> None:
    """Arrays with the same items are one key, in any order and with repetitions."""
    rows = [(["b", "a"],), (["a", "b", "a"],), (["a"],), ([],)]
    words = Source("words", Words, event_time=lambda record: NOON)
    counts = words.key_by(lambda record: record.words).combine_per_key(Count())
    emitted = {
        pane.element.key: pane.element.value for pane in batch.run(counts, {words: arrays(spark, rows)}).panes
    }
    assert emitted == {frozenset("ab"): 2, frozenset("a"): 1, frozenset(): 1}


@frozen
class Words:
    """A record with one set."""

    words: frozenset[str]


def arrays(spark: SparkSession, rows: list[tuple[list[str]]]) -> DataFrame:
    """Returns a frame of arrays."""
    return spark.createDataFrame(rows, "words array<string>")


def require_points(score: Score) -> Result[KV[str, int], str]:
    """Returns a success or a failure; both types are annotated."""
    return Success(KV(score.team, score.points)) if score.points > 0 else Failure(score.team)


def test_both_parts_of_a_split_agree_with_the_reference(spark: SparkSession) -> None:
    """The types of the parts are those of the annotation, or those of the arguments."""
    good, bad = SCORES.split(require_points)
    assert_agrees(spark, good.combine_per_key(Sum()))
    assert_agrees(spark, bad.key_by(lambda team: team).combine_per_key(Count()))
    points, scores = SCORES.split(
        lambda s: Success(s.points) if s.points else Failure(s), result=int, failure=Score
    )
    assert_agrees(spark, points.combine_globally(Sum()))
    assert_agrees(spark, scores.key_by(lambda s: s.team).combine_per_key(Count()))


def test_a_split_of_unknown_types_is_rejected(spark: SparkSession) -> None:
    """Compilation fails, and the message has the argument for the type."""
    parts = SCORES.split(lambda s: Success(s) if s.points else Failure(max(s.team, key=ord)))
    for part in parts:
        message = (
            r"split\(<lambda> at .*: Spark needs the type of its result; pass result=... and failure=..., or"
        )
        with pytest.raises(UnsupportedError, match=message):
            batch.compile(part.combine_globally(Count()), {SCORES: frame_of(spark, SOME)})


def test_several_outputs_are_one_query(spark: SparkSession) -> None:
    """Each output equals that of a separate run; each source that any of the pipelines reads must be bound."""
    per_minute = POINTS.window(FixedWindows(MINUTE)).combine_per_key(Sum())
    most = per_minute.map(lambda pair: pair.value).combine_globally(Max())
    others = RIVALS.key_by(lambda s: s.team).combine_per_key(Count())
    inputs = {SCORES: frame_of(spark, SOME), RIVALS: frame_of(spark, MORE)}
    outputs = {"sums": per_minute, "most": most, "others": others, "points": POINTS}
    run = batch.run(outputs, inputs, time=NOON)
    assert run[per_minute].panes == batch.run(per_minute, {SCORES: inputs[SCORES]}, time=NOON).panes
    assert run[most].panes == batch.run(most, {SCORES: inputs[SCORES]}, time=NOON).panes
    assert run["others"].panes == batch.run(others, {RIVALS: inputs[RIVALS]}, time=NOON).panes
    assert run["points"].elements == batch.run(POINTS, {SCORES: inputs[SCORES]}, time=NOON).elements
    assert [len(run[name].panes) for name in run] == [7, 7, 3, 0]
    with pytest.raises(UnboundSourceError, match="'others' is not bound"):
        batch.run({"sums": per_minute, "others": others}, {SCORES: inputs[SCORES]})


@pytest.mark.parametrize("dead_letters", a_few([True, False], 1))
def test_a_grouped_collection_meets_one_that_nothing_has_grouped(
    spark: SparkSession, dead_letters: bool
) -> None:
    """In new windows of both, panes and elements are flattened, co-grouped and joined in either order."""
    per_minute = POINTS.window(FixedWindows(MINUTE)).combine_per_key(Sum())
    rivals = RIVALS.key_by(lambda s: s.team).map_values(lambda s: s.points)
    outputs: dict[str, PCollection[object]] = {}
    for windows in (FixedWindows(5 * MINUTE), Sessions(3 * MINUTE)):
        both = per_minute.window(windows), rivals.window(windows)
        for number, (first, second) in enumerate((both, both[::-1])):
            name = f"{type(windows).__name__} {number}"
            outputs[f"flatten {name}"] = flatten(first, second).combine_per_key(ToList())
            outputs[f"co-group {name}"] = first.co_group_by_key(second)
            outputs[f"join {name}"] = first.left_join(second)
    records: dict[Source[object], list[Score]] = {SCORES: SOME, RIVALS: MORE}
    frames = {source: frame_of(spark, scores) for source, scores in records.items()}
    run = batch.run(outputs, frames, time=NOON, dead_letters=dead_letters)
    for name, pipeline in outputs.items():
        expected = flowalg_reference.run_batch(pipeline, records, time=NOON).panes
        assert list(map(full_line, run[name].panes)) == list(map(full_line, expected)), name


def test_a_frame_of_elements_has_both_times(spark: SparkSession) -> None:
    """A pipeline that groups nothing has a frame with the fields of its elements and both times."""
    frame = batch.compile(POINTS, {SCORES: frame_of(spark, SOME)}, time=NOON)
    assert frame.columns == ["key", "value", "event_time", "processing_time"]
    assert frame.with_drops().columns == [*frame.columns, "drop", "drop_window"]
    assert len(collect_elements(POINTS, frame)) == len(SOME)
    with pytest.raises(UnsupportedError, match=r"its output is elements, not panes; use collect_elements"):
        collect(POINTS, frame)
    with pytest.raises(ArgumentError, match="a frame of panes, with the columns window, change, pane"):
        frame.final_values()
