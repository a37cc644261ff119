"""What Spark users are told when data, schema or functions do not fit: nothing is lost, nothing is guessed."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from attrs import frozen
from flowalg_spark import StreamInput, batch, streaming
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from flowalg import (
    FOREVER,
    ArgumentError,
    BoundedOutOfOrderness,
    Count,
    FixedWindows,
    Min,
    PCollection,
    Perfect,
    RecordTypeError,
    SchemaMismatchError,
    Source,
    Sum,
    TopN,
    UnboundSourceError,
    UnsupportedError,
)
from tests.support.scores import NOON, POINTS, SCORES, Score

NAN = float("nan")
SUMS = POINTS.combine_per_key(Sum())
TYPES = "team string, points long, at timestamp"
POLICY = BoundedOutOfOrderness(timedelta(0))


def scores(spark: SparkSession, *rows: tuple[object, ...], schema: str = TYPES) -> DataFrame:
    """A frame of scores."""
    return spark.createDataFrame(list(rows), schema)


def failure(pipeline: PCollection[object], frame: DataFrame) -> str:
    """What is said when a batch fails."""
    with pytest.raises(Exception) as caught:  # noqa: PT011  # Spark's own type; the message is what is tested
        batch.run(pipeline, {SCORES: frame})
    return str(caught.value)


def test_a_schema_that_does_not_fit_lists_every_difference(spark: SparkSession) -> None:
    """Missing columns and columns of another type, each with what it must be."""
    frame = scores(spark, ("a", "3"), schema="team string, points string")
    with pytest.raises(SchemaMismatchError) as caught:
        batch.compile(SUMS, {SCORES: frame})
    assert str(caught.value).splitlines() == [
        "source 'scores' reads Score, and the frame does not fit it:",
        "  points: is string; it must be bigint for the Python type int",
        "  at: missing; it must be a timestamp (the frame's columns: team, points)",
    ]


def test_a_filter_on_a_missing_field_lists_the_differences_too(spark: SparkSession) -> None:
    """Though what a filter looks at is said to Spark where the data are read."""
    frame = scores(spark, ("a", NOON), schema="team string, at timestamp")
    kept = SCORES.filter(lambda s: s.points > 3).key_by(lambda s: s.team)
    with pytest.raises(SchemaMismatchError, match="points: missing; it must be a bigint"):
        batch.compile(kept.combine_per_key(Count()), {SCORES: frame})


def test_a_timestamp_without_a_zone_is_refused(spark: SparkSession) -> None:
    """It is naive, and the message says so."""
    frame = scores(spark, schema="team string, points int, at timestamp_ntz")
    with pytest.raises(
        SchemaMismatchError, match="a timestamp without a time zone, which names no point in time"
    ):
        batch.compile(SUMS, {SCORES: frame})


def test_narrower_numbers_are_read(spark: SparkSession) -> None:
    """An int column is a 64-bit integer without loss."""
    frame = scores(spark, ("a", 3, NOON), schema="team string, points int, at timestamp")
    assert [one.value for one in batch.run(SUMS, {SCORES: frame})] == [3]


def test_a_null_event_time_fails_the_query(spark: SparkSession) -> None:
    """The row is not lost silently: the source, the field and the remedy are named."""
    message = failure(SUMS.map(lambda pair: pair.value), scores(spark, ("a", 3, NOON), ("b", 4, None)))
    assert "source 'scores': a row has null in at, which must be of type datetime" in message
    windowed = POINTS.window(FixedWindows(timedelta(minutes=1))).combine_per_key(Sum())
    assert "a row has null in at" in failure(windowed, scores(spark, ("b", 4, None)))


def test_a_null_in_a_field_that_is_used_fails_the_query(spark: SparkSession) -> None:
    """Spark would pass over a null in a sum, or filter it out; a record has none where its type allows none."""
    message = "a row has null in points, which must be of type int; make it int | None to allow it"
    frame = scores(spark, ("a", 3, NOON), ("a", None, NOON))
    assert message in failure(SUMS, frame)
    assert message in failure(POINTS.filter(lambda pair: pair.value > 1).combine_per_key(Count()), frame)


def test_an_event_time_out_of_range_fails_the_query(spark: SparkSession) -> None:
    """A sentinel such as the last day of 9999 is no event time."""
    frame = scores(spark, ("a", 3, NOON)).withColumn("at", F.expr("timestamp'9999-12-31 00:00:00Z'"))
    assert "source 'scores': an event time lies outside of" in failure(SUMS, frame)


def test_a_sum_that_overflows_fails_the_query(spark: SparkSession) -> None:
    """Named with its grouping, whatever the session's ANSI setting."""
    frame = scores(spark, ("a", 2**62, NOON), ("a", 2**62, NOON))
    for ansi in ("true", "false"):
        spark.conf.set("spark.sql.ansi.enabled", ansi)
        assert "combine_per_key(Sum): a sum overflows 64 bits" in failure(SUMS, frame)
    spark.conf.set("spark.sql.ansi.enabled", "true")


def test_an_overflow_in_a_lifted_function_names_its_place(spark: SparkSession) -> None:
    """The transform, and the file and line of the function."""
    message = failure(
        POINTS.map_values(lambda n: n * 2).combine_per_key(Sum()), scores(spark, ("a", 2**62, NOON))
    )
    assert "map_values(<lambda> at tests/spark/test_errors.py:" in message
    assert "the result overflows 64 bits" in message


def test_a_function_that_raises_is_named_with_its_record(spark: SparkSession) -> None:
    """From a worker: the transform, the function's file and line, and what it read of the record."""
    broken = (
        SCORES.key_by(lambda s: s.team).map_values(lambda s: int(f"{1 // s.points:d}")).combine_per_key(Sum())
    )
    message = failure(broken, scores(spark, ("a", 0, NOON)))
    assert "map_values(<lambda> at tests/spark/test_errors.py:" in message
    assert "raised ZeroDivisionError" in message
    assert "its argument was Score(points=0, …)" in message


def test_nan_under_an_order_fails_the_query(spark: SparkSession) -> None:
    """Spark would call NaN the greatest of all."""
    halves = SCORES.key_by(lambda s: s.team).combine_per_key(Min.of(lambda s: s.points * float("nan")))
    assert "the input of Min must not be None or NaN; got nan" in failure(
        halves, scores(spark, ("a", 1, NOON))
    )
    top = SCORES.key_by(lambda s: s.team).map_values(lambda s: s.points * (NAN if s.points == 2 else 1.0))
    rows = scores(spark, *(("a", points, NOON) for points in (3, 2, 1)))
    assert "the input of TopN must not be None or NaN; got nan" in failure(top.combine_per_key(TopN(2)), rows)


def test_a_result_of_unknown_type_is_asked_for(spark: SparkSession) -> None:
    """The message says the two ways to tell."""
    unknown = (
        SCORES.key_by(lambda s: s.team).map_values(lambda s: divmod(s.points, 2)[0]).combine_per_key(Count())
    )
    with pytest.raises(UnsupportedError, match=r"cannot know the type of its result; say it with result=…"):
        batch.compile(unknown, {SCORES: scores(spark)})


def test_float_keys_are_refused(spark: SparkSession) -> None:
    """When the pipeline is compiled, with the type."""
    with pytest.raises(UnsupportedError, match="has keys of float; floats cannot be compared exactly"):
        batch.compile(
            SCORES.key_by(lambda s: s.points / 2.0).combine_per_key(Count()), {SCORES: scores(spark)}
        )


def test_an_unbound_source_is_named(spark: SparkSession) -> None:
    """Both engines say which source lacks an input, and how to pass it."""
    with pytest.raises(UnboundSourceError, match="source 'scores' is not bound: pass inputs={scores: frame}"):
        batch.compile(SUMS, {})
    with pytest.raises(UnboundSourceError, match=r"pass inputs={scores: StreamInput\(frame, watermark\)}"):
        streaming.compile(SUMS, {})
    with pytest.raises(ArgumentError, match="must be a Spark DataFrame"):
        batch.compile(SUMS, {SCORES: [Score("a", 1, NOON)]})  # type: ignore[dict-item]


@frozen
class Hiding:
    """A record whose field has the name of a pane's column."""

    window: str
    at: str


def test_a_field_that_a_pane_column_would_hide_is_refused(spark: SparkSession) -> None:
    """The message names the field."""
    hidden = SUMS.map(lambda pair: Hiding(pair.key, pair.key))
    with pytest.raises(RecordTypeError, match=r"Hiding.window would be hidden by the column window"):
        batch.compile(hidden, {SCORES: scores(spark)})


def stream(
    spark: SparkSession, folder: Path, source: Source[object] = SCORES
) -> dict[Source[object], StreamInput]:
    """An empty stream of scores."""
    schema = "team string, points long, at timestamp" if source is SCORES else "shop string"
    return {source: StreamInput(spark.readStream.schema(schema).parquet(str(folder)), POLICY)}


def test_streaming_refuses_to_keep_state_for_ever_unasked(spark: SparkSession, tmp_path: Path) -> None:
    """The grouping and its windows are named, and both ways out; FOREVER is one of them."""
    fixed = FixedWindows(timedelta(minutes=1))
    unset = POINTS.window(fixed).combine_per_key(Sum())
    with pytest.raises(
        UnsupportedError, match=r"combine_per_key\(Sum\) over fixed windows of 0:01:00 has no allowed"
    ):
        streaming.compile(unset, stream(spark, tmp_path))
    streaming.compile(
        POINTS.window(fixed, allowed_lateness=FOREVER).combine_per_key(Sum()), stream(spark, tmp_path)
    )


def test_streaming_takes_streams(spark: SparkSession) -> None:
    """A bounded frame is refused, with what to call instead."""
    with pytest.raises(ArgumentError, match=r"use batch.compile for a bounded one"):
        streaming.compile(SUMS, {SCORES: StreamInput(scores(spark), POLICY)})
    with pytest.raises(ArgumentError, match="must be a watermark policy, such as BoundedOutOfOrderness"):
        StreamInput(scores(spark), timedelta(0))  # type: ignore[arg-type]
    with pytest.raises(
        ArgumentError, match=r"StreamInput.tick must be a Column of the frame, or None; got 'ticks'"
    ):
        StreamInput(scores(spark), POLICY, tick="ticks")  # type: ignore[arg-type]


def test_streaming_refuses_the_policy_that_knows_what_is_to_come(spark: SparkSession, tmp_path: Path) -> None:
    """When the pipeline is compiled, by source, with why; before, the policy is a value like any other."""
    frame = stream(spark, tmp_path)[SCORES].frame
    with pytest.raises(
        UnsupportedError, match=r"source 'scores': .* Perfect needs a source that knows what is"
    ):
        streaming.compile(SUMS, {SCORES: StreamInput(frame, Perfect())})


def test_a_restart_with_other_shards_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    """State cannot follow another division of its keys; the message says what it was written with."""
    source, checkpoint = tmp_path / "in", tmp_path / "checkpoint"
    source.mkdir()
    table = pa.table({"team": ["a"], "points": [1], "at": pa.array([NOON], pa.timestamp("us", tz="UTC"))})

    def run(shards: int, name: str) -> None:
        import pyarrow.parquet as pq

        pq.write_table(table, source / name)
        frame = streaming.compile(SUMS, stream(spark, source), shards=shards)
        query = (
            frame.writeStream.format("noop")
            .option("checkpointLocation", str(checkpoint))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()

    run(1, "a.parquet")
    with pytest.raises(
        Exception, match="was written with 1 shards, and the query now has 2; compile with shards=1"
    ):
        run(2, "b.parquet")
