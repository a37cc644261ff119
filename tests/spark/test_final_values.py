"""Final values of frames, and frames that are checked against their source.

These tests catch final values that include retracted panes, or that fail on the stored rows of a sink.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Hashable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import flowalg_reference
import pytest
from attrs import evolve
from flowalg_laws import apply_windowing
from flowalg_laws.kit.readings import READINGS, VALUES, Reading
from flowalg_laws.strategies import free_timelines, windowing_strategies
from flowalg_spark import batch, final_values, read_files, read_table, schema_of
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import flowalg
from flowalg import (
    FOREVER,
    KV,
    Accumulation,
    AtCount,
    AtWatermark,
    BoundedOutOfOrderness,
    Count,
    FixedWindows,
    Max,
    Pane,
    PCollection,
    Sessions,
    Source,
    Sum,
    Timeline,
)
from flowalg.errors import ArgumentError, ElementError, SchemaMismatchError
from flowalg.runs import Change, WindowedValue
from flowalg.windows import WindowingStrategy
from tests.support.scores import NOON, POINTS, SCORES, Score

MINUTE = timedelta(minutes=1)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
PANES = (
    "run int, key string, value long, window struct<start: timestamp, end: timestamp>, event_time timestamp, "
    "change string, pane struct<timing: string, index: long, is_first: boolean, is_last: boolean, "
    "processing_time: timestamp, watermark: timestamp>"
)
REFINED = AtWatermark().with_early_firings(AtCount(1)).with_late_firings(AtCount(1))


def refined(windows: FixedWindows | Sessions, mode: Accumulation) -> PCollection[KV[str, int]]:
    """Returns sums with early and late firings."""
    windowed = POINTS.window(windows, trigger=REFINED, accumulation=mode, allowed_lateness=FOREVER)
    return windowed.combine_per_key(Sum())


FIXED, SESSIONS = FixedWindows(5 * MINUTE), Sessions(2 * MINUTE)
PIPELINES = [
    *(refined(windows, mode) for windows in (FIXED, SESSIONS) for mode in Accumulation),
    refined(FIXED, Accumulation.RETRACTING)
    .key_by(lambda pair: "all")
    .map_values(lambda pair: pair.value)
    .combine_per_key(Max()),
    refined(FIXED, Accumulation.RETRACTING)
    .filter(lambda pair: pair.value % 2 == 0)
    .flat_map(lambda pair: [pair, KV(pair.key, pair.value + 1)], result=KV[str, int]),
]


def timeline(seed: int) -> Timeline[Score]:
    """Returns micro-batches of scores, of which many are late."""
    chance = random.Random(seed)
    batches = [
        [
            Score(chance.choice("ab"), chance.randrange(4), NOON + chance.randrange(12) * MINUTE)
            for _ in range(chance.randrange(1, 4))
        ]
        for _ in range(6)
    ]
    numbers = {id(score): number for number, scores in enumerate(batches) for score in scores}
    return Timeline.micro_batches(
        SCORES,
        batches,
        processing_time=lambda score: NOON + (20 + numbers[id(score)]) * MINUTE,
        watermark=BoundedOutOfOrderness(2 * MINUTE),
    )


def point(micros: int) -> datetime:
    """Returns a point in time as a datetime."""
    return EPOCH + timedelta(microseconds=micros)


def row_of(run: int, pane: Pane[KV[str, int]]) -> tuple[object, ...]:
    """Returns a pane as the row of a sink."""
    info = (pane.timing.value, pane.index, pane.is_first, pane.is_last)
    return (
        run,
        pane.element.key,
        pane.element.value,
        (point(pane.window.start), point(pane.window.end)),
        point(pane.event_time),
        pane.change.value,
        (*info, point(pane.processing_time), point(pane.watermark)),
    )


def final_row(run: int, final: Pane[KV[str, int]] | WindowedValue[KV[str, int]]) -> tuple[object, ...]:
    """Returns a final value as a row of ``in_micros``."""
    bounds = (int(final.window.start), int(final.window.end))
    return (run, final.element.key, final.element.value, *bounds, int(final.event_time))


def in_micros(final: DataFrame) -> list[tuple[object, ...]]:
    """Returns the rows of final values, with times in microseconds."""
    micros = [F.unix_micros(F.col(name)) for name in ("window.start", "window.end", "event_time")]
    return [tuple(row) for row in final.select("run", "key", "value", *micros).collect()]


def test_final_values_are_the_current_panes(spark: SparkSession) -> None:
    """They equal the result of a plain loop over the panes, which removes retracted panes and replaces earlier ones."""
    rows = []
    expected = []
    retracted = 0
    for run, (pipeline, seed) in enumerate((pipeline, seed) for pipeline in PIPELINES for seed in range(8)):
        panes = flowalg_reference.run(pipeline, {SCORES: timeline(seed)}).panes
        rows += [row_of(run, pane) for pane in panes]
        current: dict[object, list[Pane[KV[str, int]]]] = {}
        for pane in panes:
            place = (pane.element.key, pane.window)
            in_window = current.setdefault(place, [])
            if pane.change is Change.RETRACTION:
                retracted += 1
                in_window.remove(next(other for other in in_window if other.element == pane.element))
            elif in_window and in_window[0].index != pane.index:
                current[place] = [pane]
            else:
                in_window.append(pane)
        expected += [final_row(run, pane) for in_window in current.values() for pane in in_window]
    random.Random(1).shuffle(rows)
    finals = final_values(spark.createDataFrame(rows, PANES), by=("run", "key"))
    assert finals.columns == ["run", "key", "value", "window", "event_time"]
    assert sorted(in_micros(finals)) == sorted(expected)
    assert retracted > 100
    assert len(rows) > 2 * len(expected) > 200


def generated_runs() -> list[tuple[Pane[KV[str, int]], ...]]:
    """Returns the panes of generated runs; some runs end with a step that emits several elements for a pane."""
    runs: list[tuple[Pane[KV[str, int]], ...]] = []

    @settings(max_examples=400, derandomize=True, database=None, phases=[Phase.generate])
    @given(windowing_strategies(), free_timelines(), st.booleans(), st.booleans())
    def collect(
        strategy: WindowingStrategy, timeline: Timeline[Reading], refined: bool, spread: bool
    ) -> None:
        often = evolve(strategy, trigger=REFINED, allowed_lateness=FOREVER) if refined else strategy
        sums = apply_windowing(VALUES, often).combine_per_key(Sum())
        last = sums.flat_map(lambda pair: [pair] * (pair.value % 3)) if spread else sums
        runs.append(flowalg_reference.run(last, {READINGS: timeline}).panes)

    collect()
    return runs


def test_the_column_agrees_with_final_values_of_the_core(spark: SparkSession) -> None:
    """The same panes, in any order, have the same final values in a frame and in the core, by key and by window."""
    runs = generated_runs()
    rows = [row_of(number, pane) for number, panes in enumerate(runs) for pane in panes]
    random.Random(2).shuffle(rows)
    frame = spark.createDataFrame(rows, PANES)
    keys: list[tuple[tuple[str, ...], Callable[[KV[str, int]], Hashable]]] = [
        (("run", "key"), lambda pair: pair.key),
        (("run",), lambda pair: None),
    ]
    for by, place in keys:
        expected = [
            final_row(number, final)
            for number, panes in enumerate(runs)
            for final in flowalg.final_values(panes, by=place)
        ]
        assert sorted(in_micros(final_values(frame, by=by))) == sorted(expected)
        assert len(rows) > 1.5 * len(expected) > 500


def scores(spark: SparkSession) -> DataFrame:
    """Returns a frame of three scores."""
    rows = [("a", 3, NOON), ("a", 4, NOON + MINUTE), ("b", 5, NOON)]
    return spark.createDataFrame(rows, schema_of(SCORES))


def test_all_panes_of_a_batch_are_final(spark: SparkSession) -> None:
    """Each pane of a batch is a final value, also in a frame with drops."""
    panes = batch.compile(POINTS.window(FIXED).combine_per_key(Sum()), {SCORES: scores(spark)})
    assert sorted((row["key"], row["value"]) for row in panes.final_values().collect()) == [
        ("a", 7),
        ("b", 5),
    ]
    assert final_values(panes.with_drops()).columns == ["key", "value", "window", "event_time"]
    assert final_values(panes.with_drops()).count() == 2
    teams = batch.compile(SCORES.map(lambda s: s.team).distinct(), {SCORES: scores(spark)})
    assert sorted(row["value"] for row in teams.final_values(by=["value"]).collect()) == ["a", "b"]
    total = batch.compile(SCORES.map(lambda s: s.points).combine_globally(Sum()), {SCORES: scores(spark)})
    assert [row["value"] for row in total.final_values(by=()).collect()] == [12]


def test_final_values_of_elements_without_a_key_need_by(spark: SparkSession) -> None:
    """Without ``by``, with a column that is not of the element, and on another frame, the call raises an error."""
    teams = batch.compile(SCORES.map(lambda s: s.team).distinct(), {SCORES: scores(spark)})
    with pytest.raises(
        ArgumentError, match="by must be the columns that identify an element within its window, .*; got None"
    ):
        teams.final_values()
    with pytest.raises(ArgumentError, match="by must be names of columns of the element, from value; got"):
        teams.final_values(by=["pane"])
    with pytest.raises(ArgumentError, match="a frame of panes, with the columns window, event_time, change"):
        final_values(scores(spark))
    with pytest.raises(ArgumentError, match=r"panes must be a DataFrame of panes; got 3 \(int\)"):
        final_values(3)  # type: ignore[arg-type]  # a fault on purpose


COUNTS = SCORES.key_by(lambda s: s.team).combine_per_key(Count())
NUMBERS = Source("numbers", int, event_time=lambda n: NOON)


def test_a_schema_follows_from_a_source() -> None:
    """A record has its columns in order, and a scalar has one column."""
    assert schema_of(SCORES).simpleString() == "struct<team:string,points:bigint,at:timestamp>"
    assert schema_of(NUMBERS).simpleString() == "struct<value:bigint>"
    with pytest.raises(ArgumentError, match=r"source must be a Source; got 'scores' \(str\)"):
        schema_of("scores")  # type: ignore[arg-type]  # a fault on purpose


def test_tables_and_files_are_checked_against_their_source(spark: SparkSession, tmp_path: Path) -> None:
    """A table or file with the source's schema is read; another is rejected before a query, with every difference."""
    scores(spark).createOrReplaceTempView("some_scores")
    scores(spark).write.parquet(str(tmp_path / "parquet"))
    scores(spark).write.json(str(tmp_path / "json"))
    frames = (
        read_table(spark, SCORES, "some_scores"),
        read_files(spark, SCORES, str(tmp_path / "parquet")),
        read_files(spark, SCORES, str(tmp_path / "json"), format="json"),
    )
    for frame in frames:
        assert {pane.element for pane in batch.run(COUNTS, {SCORES: frame}).panes} == {KV("a", 2), KV("b", 1)}
    lacking = "the frame of source 'numbers' must have the columns of int:\n  value must be int .*; got no such column"
    with pytest.raises(SchemaMismatchError, match=lacking):
        read_table(spark, NUMBERS, "some_scores")
    with pytest.raises(SchemaMismatchError, match=lacking):
        read_files(spark, NUMBERS, str(tmp_path / "parquet"))


def test_a_json_line_of_another_type_fails_the_query(spark: SparkSession, tmp_path: Path) -> None:
    """The line is an error, where Spark's default mode would read nulls."""
    path = tmp_path / "bad.json"
    path.write_text('{"team": "a", "points": "many", "at": "2024-01-01T12:00:00Z"}\n')
    with pytest.raises(ElementError, match=r"bad\.json: a line: points must be of type int64; got 'many'"):
        batch.run(
            POINTS.combine_per_key(Sum()), {SCORES: read_files(spark, SCORES, str(path), format="json")}
        )
