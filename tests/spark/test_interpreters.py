"""Spark batch and Spark streaming over the timelines that other interpreters take.

This family catches a timeline that Spark takes otherwise than the reference: other instants, other clocks, other
watermarks; and files or queries that a run leaves behind.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from flowalg_reference import Reference
from flowalg_spark import SparkBatch, SparkStreaming, StreamInput, record_table, records_in, schema_of
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from flowalg import (
    ArgumentError,
    AtSignal,
    AtWatermark,
    BoundedOutOfOrderness,
    Count,
    FixedWindows,
    Mode,
    Perfect,
    Source,
    Timeline,
    flatten,
)
from tests.core.test_runs import MINUTE, TIMELINE, TOTALS
from tests.support.scores import POINTS, SCORES, Score, minute

CLOCKED = POINTS.window(
    FixedWindows(2 * MINUTE),
    trigger=(AtWatermark(percentile=0.5) | AtSignal("go")).repeat(),
    allowed_lateness=2 * MINUTE,
).combine_per_key(Count())
"""Panes at a percentile watermark, or at a signal."""

CLOCKS = (
    Timeline[Score]()
    .at(minute(1), Score("a", 5, minute(0.5)), watermark=minute(0))
    .at(minute(1), Score("b", 7, minute(0.5)), percentiles={0.5: minute(2)})
    .at(minute(1), Score("a", 1, minute(1)), Score("a", 1, minute(3)), signals=["go"])
    .at(minute(2), Score("a", 1, minute(1)), watermark=minute(5))
    .end(minute(2))
)
"""Several instants of one processing time, with watermarks, percentiles and signals of their own."""


@pytest.fixture(params=["batch", "streaming"])
def spark_engine(request: pytest.FixtureRequest, spark: SparkSession) -> SparkBatch | SparkStreaming:
    """Either interpreter."""
    return SparkBatch(spark) if request.param == "batch" else SparkStreaming(spark, shards=2)


def test_final_values_are_those_of_the_reference(spark_engine: SparkBatch | SparkStreaming) -> None:
    """The same pipeline over the same timeline, of a stream that has ended and dropped nothing."""
    expected = Reference().run(TOTALS, {SCORES: TIMELINE}).final_values()
    assert spark_engine.run(TOTALS, {SCORES: TIMELINE}).final_values() == expected


def test_a_stream_has_the_clocks_of_its_timeline(spark: SparkSession, tmp_path: Path) -> None:
    """Pane by pane and drop by drop; and nothing is left behind.

    A frame does not tell in which of several instants of one processing time a pane was emitted, so neither does its
    order.
    """
    expected = Reference(Mode.MICRO_BATCH).run(CLOCKED, {SCORES: CLOCKS})
    found = SparkStreaming(spark, folder=tmp_path).run(CLOCKED, {SCORES: CLOCKS})
    assert sorted(map(repr, found.panes)) == sorted(map(repr, expected.panes))
    assert [(drop.key, drop.window, drop.reason, drop.count) for drop in found.dropped] == [
        (drop.key, drop.window, drop.reason, drop.count) for drop in expected.dropped
    ]
    assert (list(tmp_path.iterdir()), spark.streams.active) == ([], [])


def test_a_failed_run_leaves_nothing_behind(spark: SparkSession, tmp_path: Path) -> None:
    """Neither files nor a query."""
    broken = (
        SCORES.key_by(fail).window(FixedWindows(MINUTE), allowed_lateness=MINUTE).combine_per_key(Count())
    )
    with pytest.raises(StreamingQueryException):
        SparkStreaming(spark, folder=tmp_path).run(broken, {SCORES: TIMELINE})
    assert (list(tmp_path.iterdir()), spark.streams.active) == ([], [])


def fail(score: Score) -> str:
    """What no element gets through."""
    raise ValueError(score.team)


def test_a_perfect_timeline_runs_as_it_stands(spark: SparkSession) -> None:
    """Its watermarks are known; a stream could not generate them."""
    made = Timeline.from_records(
        SCORES,
        [Score("a", 5, minute(0.5)), Score("b", 7, minute(3))],
        processing_time=lambda score: score.at,
        watermark=Perfect(),
    )
    expected = Reference(Mode.MICRO_BATCH).run(TOTALS, {SCORES: made})
    assert SparkStreaming(spark).run(TOTALS, {SCORES: made}).panes == expected.panes


def test_a_timeline_without_instants_gives_nothing(spark_engine: SparkBatch | SparkStreaming) -> None:
    """No panes, and no drops."""
    run = spark_engine.run(TOTALS, {SCORES: Timeline[Score]()})
    assert (run.panes, run.dropped) == ((), ())


def test_frames_are_inputs_too(spark: SparkSession) -> None:
    """A bounded frame of the same records as a timeline has the same final values."""
    frame = spark.createDataFrame(record_table(SCORES, TIMELINE.elements))
    run = SparkBatch(spark, time=minute(4)).run(TOTALS, {SCORES: frame})
    assert run.panes == SparkBatch(spark).run(TOTALS, {SCORES: TIMELINE}).panes


def test_a_table_of_records_is_read_back() -> None:
    """``records_in`` is the inverse of ``record_table``."""
    assert tuple(records_in(SCORES, record_table(SCORES, TIMELINE.elements))) == TIMELINE.elements


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda spark: SparkBatch(3),  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
            "SparkBatch.spark must be a SparkSession, such as local_session",
        ),
        (
            lambda spark: SparkStreaming(None),  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
            "SparkStreaming.spark must be a SparkSession",
        ),
        (
            lambda spark: SparkStreaming(spark, generate_watermarks=True).run(TOTALS, {SCORES: TIMELINE}),
            "the input of source 'scores' must be a timeline that a watermark policy generated",
        ),
    ],
)
def test_bad_arguments_are_refused(
    spark: SparkSession, call: Callable[[SparkSession], object], message: str
) -> None:
    """With what was expected."""
    with pytest.raises(ArgumentError, match=message):
        call(spark)


def test_timelines_and_streams_do_not_mix(spark: SparkSession, tmp_path: Path) -> None:
    """The micro-batches of a stream do not meet at the instants of a timeline."""
    others = Source("others", Score, event_time=lambda score: score.at)
    pairs = others.key_by(lambda score: score.team).map_values(lambda score: score.points)
    both = (
        flatten(POINTS, pairs).window(FixedWindows(MINUTE), allowed_lateness=MINUTE).combine_per_key(Count())
    )
    frame = spark.readStream.schema(schema_of(others)).parquet(str(tmp_path))
    stream = StreamInput(frame, BoundedOutOfOrderness(MINUTE))
    with pytest.raises(ArgumentError, match="inputs must be all timelines or all StreamInputs"):
        SparkStreaming(spark).run(both, {SCORES: TIMELINE, others: stream})


def test_a_stream_is_run_over_what_there_is_to_read(spark: SparkSession, tmp_path: Path) -> None:
    """A ``StreamInput`` is an input too: the run has the panes of its rows, with watermarks of its policy."""
    spark.createDataFrame(record_table(SCORES, TIMELINE.elements)).write.parquet(str(tmp_path / "scores"))
    frame = spark.readStream.schema(schema_of(SCORES)).parquet(str(tmp_path / "scores"))
    stream = StreamInput(frame, BoundedOutOfOrderness(MINUTE), processing_time=F.col("at"))
    run = SparkStreaming(spark, shards=2).run(TOTALS, {SCORES: stream})
    assert {(value.key, value.value) for value in run.final_values()} == {("a", 6), ("b", 7), ("a", 3)}
