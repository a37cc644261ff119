"""Errors for Spark users whose data, schema or functions are invalid: no row is lost, and no type is guessed."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from attrs import frozen
from flowalg_spark import SparkBatch, SparkStreaming, StreamInput, batch, streaming
from flowalg_spark.session import replace_settings
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from flowalg import (
    FOREVER,
    BoundedOutOfOrderness,
    Count,
    FixedWindows,
    FlowalgError,
    Min,
    PCollection,
    Perfect,
    Source,
    Sum,
    Timeline,
    TopN,
)
from flowalg.data.time import EventTime
from flowalg.errors import (
    ArgumentError,
    ElementError,
    RecordTypeError,
    SchemaMismatchError,
    UnboundSourceError,
    UnsupportedError,
    UserFunctionError,
    ValueRangeError,
)
from flowalg.windows import CustomWindows, Window
from tests.support.keyed_steps import FLOAT_KEYS
from tests.support.scores import NOON, POINTS, SCORES, Score

NAN = float("nan")
SUMS = POINTS.combine_per_key(Sum())
TYPES = "team string, points long, at timestamp"
POLICY = BoundedOutOfOrderness(timedelta(0))


class OwnError(FlowalgError):
    """An error of a user, of the kind that keeps its class."""


def scores(spark: SparkSession, *rows: tuple[object, ...], schema: str = TYPES) -> DataFrame:
    """Returns a frame of scores."""
    return spark.createDataFrame(list(rows), schema)


def failure(pipeline: PCollection[object], frame: DataFrame) -> str:
    """Returns the error message of a batch."""
    with pytest.raises(Exception) as caught:  # noqa: PT011  # Spark's own type; the message is what is tested
        batch.run(pipeline, {SCORES: frame})
    return str(caught.value)


def test_columns_that_differ_in_case_only_are_named(spark: SparkSession) -> None:
    """Spark does not tell them apart, unless the session is set to."""
    frame = scores(spark, ("a", 3, NOON)).select("*", F.lit("b").alias("Team"))
    with pytest.raises(
        SchemaMismatchError, match="'scores' has the columns team and Team, which differ in case"
    ):
        batch.compile(POINTS.filter(lambda pair: pair.key == "a").combine_per_key(Sum()), {SCORES: frame})
    with replace_settings(spark, {"spark.sql.caseSensitive": "true"}):
        (pane,) = batch.run(SUMS, {SCORES: frame}).panes
    assert pane.element.value == 3


def test_a_schema_that_does_not_fit_lists_every_difference(spark: SparkSession) -> None:
    """The message has each missing column and each column of another type, with the required type."""
    frame = scores(spark, ("a", "3"), schema="team string, points string")
    with pytest.raises(SchemaMismatchError) as caught:
        batch.compile(SUMS, {SCORES: frame})
    assert str(caught.value).splitlines() == [
        "the frame of source 'scores' must have the columns of Score:",
        "  points must be int (bigint in Spark); got string",
        "  at must be datetime (timestamp in Spark); got no such column (the columns are team, points)",
    ]


def test_a_filter_on_a_missing_field_lists_the_differences(spark: SparkSession) -> None:
    """The schema is checked before a filter is pushed down to the scan."""
    frame = scores(spark, ("a", NOON), schema="team string, at timestamp")
    filtered = SCORES.filter(lambda s: s.points > 3).key_by(lambda s: s.team)
    with pytest.raises(
        SchemaMismatchError, match=r"points must be int \(bigint in Spark\); got no such column"
    ):
        batch.compile(filtered.combine_per_key(Count()), {SCORES: frame})


def test_a_timestamp_without_a_time_zone_is_rejected(spark: SparkSession) -> None:
    """The message has the column and the reason."""
    frame = scores(spark, schema="team string, points int, at timestamp_ntz")
    with pytest.raises(SchemaMismatchError, match="got timestamp_ntz, which has no time zone"):
        batch.compile(SUMS, {SCORES: frame})


def test_a_32_bit_column_is_read_as_64_bit_integers(spark: SparkSession) -> None:
    """A column of type int is read without loss."""
    frame = scores(spark, ("a", 3, NOON), schema="team string, points int, at timestamp")
    assert [pane.value for pane in batch.run(SUMS, {SCORES: frame}).panes] == [3]


def test_a_null_event_time_fails_the_query(spark: SparkSession) -> None:
    """The row is not dropped: the message has the source, the field and the remedy."""
    message = failure(SUMS.map(lambda pair: pair.value), scores(spark, ("a", 3, NOON), ("b", 4, None)))
    assert "source 'scores': at must be of type datetime; got null" in message
    windowed = POINTS.window(FixedWindows(timedelta(minutes=1))).combine_per_key(Sum())
    assert "at must be of type datetime; got null" in failure(windowed, scores(spark, ("b", 4, None)))


def test_a_null_in_a_field_that_is_used_fails_the_query(spark: SparkSession) -> None:
    """A null in a field that is not optional is an error, although Spark's sum and filter would ignore it."""
    message = (
        "points must be of type int; got null; remove such rows, keep them apart with dead_letters=True, or declare "
        "it as int | None"
    )
    frame = scores(spark, ("a", 3, NOON), ("a", None, NOON))
    assert message in failure(SUMS, frame)
    assert message in failure(POINTS.filter(lambda pair: pair.value > 1).combine_per_key(Count()), frame)


def test_an_event_time_out_of_range_fails_the_query(spark: SparkSession) -> None:
    """A sentinel such as the last day of 9999 is not an event time."""
    frame = scores(spark, ("a", 3, NOON)).withColumn("at", F.expr("timestamp'9999-12-31 00:00:00Z'"))
    assert "source 'scores': the event time must be in [" in failure(SUMS, frame)


def test_a_sum_that_overflows_fails_the_query(spark: SparkSession) -> None:
    """The message has the grouping, with any ANSI setting of the session."""
    frame = scores(spark, ("a", 2**62, NOON), ("a", 2**62, NOON))
    for ansi in ("true", "false"):
        spark.conf.set("spark.sql.ansi.enabled", ansi)
        assert "combine_per_key(Sum): a sum overflows 64 bits" in failure(SUMS, frame)
    spark.conf.set("spark.sql.ansi.enabled", "true")


def test_an_overflow_in_a_lifted_function_names_the_function(spark: SparkSession) -> None:
    """The message has the transform, and the file and line of the function."""
    message = failure(
        POINTS.map_values(lambda n: n * 2).combine_per_key(Sum()), scores(spark, ("a", 2**62, NOON))
    )
    assert "map_values(<lambda> at tests/spark/test_errors.py:" in message
    assert "the result overflows 64 bits" in message


def test_a_constant_beyond_64_bits_fails_the_query(spark: SparkSession) -> None:
    """It is an error with the function, and no null; in a part of a result too."""
    for pipeline in (
        SCORES.map(lambda score: 2**63),
        SCORES.map(lambda score: (score.team, timedelta.max)),
    ):
        message = failure(pipeline, scores(spark, ("a", 1, NOON)))
        assert "map(<lambda> at tests/spark/test_errors.py:" in message
        assert "the result overflows 64 bits" in message


def test_a_duration_that_python_has_none_of_is_the_error_of_its_function(spark: SparkSession) -> None:
    """It is Python's error, and one that is only beyond 64 bits a result out of range."""
    pipeline = SCORES.map(lambda score: timedelta(seconds=score.points))
    too_long = failure(pipeline, scores(spark, ("a", 2**63 - 1, NOON)))
    assert "OverflowError: days must have magnitude <= 999999999" in too_long
    overflow = failure(pipeline, scores(spark, ("a", 10**13, NOON)))
    assert (
        "the result overflows 64 bits: the microseconds of a timedelta must lie in [-2**63, 2**63)"
        in overflow
    )


def test_a_function_that_raises_is_named_with_its_record(spark: SparkSession) -> None:
    """The message from a worker has the transform, the function's file and line, and the fields that it read."""
    broken = (
        SCORES.key_by(lambda s: s.team).map_values(lambda s: int(f"{1 // s.points:d}")).combine_per_key(Sum())
    )
    message = failure(broken, scores(spark, ("a", 0, NOON)))
    assert "map_values(<lambda> at tests/spark/test_errors.py:" in message
    assert "raised ZeroDivisionError" in message
    assert "its argument was Score(points=0, …)" in message


def test_nan_in_an_ordering_combiner_fails_the_query(spark: SparkSession) -> None:
    """``Min`` and ``TopN`` reject NaN, which Spark orders as the greatest value."""
    halves = SCORES.key_by(lambda s: s.team).combine_per_key(Min.of(lambda s: s.points * float("nan")))
    assert "the input of Min must not be None or NaN; got nan" in failure(
        halves, scores(spark, ("a", 1, NOON))
    )
    top = SCORES.key_by(lambda s: s.team).map_values(lambda s: s.points * (NAN if s.points == 2 else 1.0))
    rows = scores(spark, *(("a", points, NOON) for points in (3, 2, 1)))
    assert "the input of TopN must not be None or NaN; got nan" in failure(top.combine_per_key(TopN(2)), rows)


def test_a_function_with_a_result_of_unknown_type_is_rejected(spark: SparkSession) -> None:
    """The message has the argument for the type."""
    unknown = (
        SCORES.key_by(lambda s: s.team).map_values(lambda s: divmod(s.points, 2)[0]).combine_per_key(Count())
    )
    with pytest.raises(UnsupportedError, match=r"Spark needs the type of its result; pass result="):
        batch.compile(unknown, {SCORES: scores(spark)})


def test_float_keys_are_rejected(spark: SparkSession, tmp_path: Path) -> None:
    """Compilation of every step that compares keys fails, and the message has the step and the type."""
    frame = scores(spark)
    changes = stream(spark, tmp_path)
    for step, pipeline in FLOAT_KEYS.items():
        label = step.partition(" ")[0]
        expected = rf"^{label}.*: keys must not contain floats, .*; got keys of type .*float"
        with pytest.raises(UnsupportedError, match=expected):
            batch.compile(pipeline, {SCORES: frame})
        with pytest.raises(UnsupportedError, match=expected):
            streaming.compile(pipeline, changes)


def test_an_unbound_source_is_named(spark: SparkSession) -> None:
    """In batch and streaming, the message has the source without an input, and how to pass it."""
    with pytest.raises(UnboundSourceError, match="source 'scores' is not bound: pass inputs={scores: frame}"):
        batch.compile(SUMS, {})
    with pytest.raises(UnboundSourceError, match=r"pass inputs={scores: StreamInput\(frame, watermark\)}"):
        streaming.compile(SUMS, {})
    with pytest.raises(ArgumentError, match="must be a Spark DataFrame"):
        batch.compile(SUMS, {SCORES: [Score("a", 1, NOON)]})  # type: ignore[dict-item]


@frozen
class Clashing:
    """A record whose field has the name of a column of panes."""

    window: str
    at: str


def test_a_field_with_the_name_of_a_pane_column_is_rejected(spark: SparkSession) -> None:
    """The message has the field and the column."""
    hidden = SUMS.map(lambda pair: Clashing(pair.key, pair.key))
    with pytest.raises(RecordTypeError, match=r"Clashing.window must not have the name of a column of panes"):
        batch.compile(hidden, {SCORES: scores(spark)})


def stream(
    spark: SparkSession, folder: Path, source: Source[object] = SCORES
) -> dict[Source[object], StreamInput]:
    """Returns an empty stream of scores."""
    schema = "team string, points long, at timestamp" if source is SCORES else "shop string"
    return {source: StreamInput(spark.readStream.schema(schema).parquet(str(folder)), POLICY)}


def test_streaming_rejects_windows_without_an_allowed_lateness(spark: SparkSession, tmp_path: Path) -> None:
    """The message has the grouping, its windows and the remedies; ``FOREVER`` is accepted."""
    fixed = FixedWindows(timedelta(minutes=1))
    unset = POINTS.window(fixed).combine_per_key(Sum())
    with pytest.raises(
        UnsupportedError, match=r"combine_per_key\(Sum\) over fixed windows of a minute has no allowed"
    ):
        streaming.compile(unset, stream(spark, tmp_path))
    streaming.compile(
        POINTS.window(fixed, allowed_lateness=FOREVER).combine_per_key(Sum()), stream(spark, tmp_path)
    )


def test_batch_rejects_a_streaming_frame(spark: SparkSession, tmp_path: Path) -> None:
    """A batch over a streaming frame would emit one pane for each micro-batch."""
    (source_input,) = stream(spark, tmp_path).values()
    with pytest.raises(
        ArgumentError,
        match=r"source 'scores' must be a bounded DataFrame; use streaming.compile for a stream",
    ):
        batch.compile(SUMS, {SCORES: source_input.frame})


def test_streaming_rejects_a_frame_with_a_watermark(spark: SparkSession, tmp_path: Path) -> None:
    """Spark's own watermark would drop rows before flowalg counts them."""
    (source_input,) = stream(spark, tmp_path).values()
    with_watermark = source_input.frame.withWatermark("at", "1 minute")
    with pytest.raises(ArgumentError, match="source 'scores' must be a frame without withWatermark"):
        streaming.compile(SUMS, {SCORES: StreamInput(with_watermark, POLICY)})


def test_streaming_rejects_invalid_inputs(spark: SparkSession) -> None:
    """A bounded frame, a watermark that is not a policy, and a tick that is not a column are rejected."""
    with pytest.raises(ArgumentError, match=r"use batch.compile for a bounded frame"):
        streaming.compile(SUMS, {SCORES: StreamInput(scores(spark), POLICY)})
    with pytest.raises(ArgumentError, match="must be a watermark policy, such as BoundedOutOfOrderness"):
        StreamInput(scores(spark), timedelta(0))  # type: ignore[arg-type]
    with pytest.raises(
        ArgumentError, match=r"StreamInput.tick must be a Column of the frame, or None; got 'ticks'"
    ):
        StreamInput(scores(spark), POLICY, tick="ticks")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("argument", "column", "message"),
    [
        ("processing_time", "'2024-01-01 12:00'", "a timestamp with a time zone; got .* of type string"),
        (
            "processing_time",
            "timestamp_ntz '2024-01-01 12:00'",
            "a timestamp with a time zone; got .* of type timestamp_ntz",
        ),
        ("source_watermark", "date '2024-01-01'", "a timestamp with a time zone; got .* of type date"),
        ("end_of_input", "points", "a column of booleans; got .* of type bigint"),
        ("partition", "array(team)", "a column of texts; got .* of type array<string>"),
        (
            "signal_window",
            "struct(at AS start)",
            "a struct of the timestamps start and end; got .* of type struct",
        ),
        (
            "tick",
            "gone",
            "a column of booleans, of its rows with the columns team, points, at; got .*: UNRESOLVED",
        ),
    ],
)
def test_a_column_of_the_clocks_of_another_type_is_named(
    spark: SparkSession, tmp_path: Path, argument: str, column: str, message: str
) -> None:
    """The error has the source, the argument, and what its column must be; Spark would convert texts to times."""
    frame = stream(spark, tmp_path)[SCORES].frame
    clocked = StreamInput(frame, POLICY, **{argument: F.expr(column)})
    with pytest.raises(
        SchemaMismatchError, match=f"source 'scores': StreamInput.{argument} must be {message}"
    ):
        streaming.compile(SUMS, {SCORES: clocked})


def test_streaming_rejects_the_policy_perfect(spark: SparkSession, tmp_path: Path) -> None:
    """Compilation fails, and the message has the source and the reason."""
    frame = stream(spark, tmp_path)[SCORES].frame
    with pytest.raises(
        UnsupportedError, match=r"source 'scores': .* Perfect needs to know the future elements"
    ):
        streaming.compile(SUMS, {SCORES: StreamInput(frame, Perfect())})


def test_a_restart_with_another_number_of_shards_is_rejected(spark: SparkSession, tmp_path: Path) -> None:
    """The message has the number of shards in the checkpoint, and the argument that continues from it."""
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


def test_an_error_in_a_column_has_the_class_of_the_other_engines(spark: SparkSession) -> None:
    """Messages do not decide it. A column of the user's own that raises is as a function that does."""
    halves = SCORES.key_by(lambda s: s.team).combine_per_key(Min.of(lambda s: s.points * float("nan")))
    with pytest.raises(ElementError, match="the input of Min must not be None or NaN"):
        batch.run(halves, {SCORES: scores(spark, ("a", 1, NOON))})
    with pytest.raises(ValueRangeError, match="overflows 64 bits"):
        batch.run(SUMS, {SCORES: scores(spark, ("a", 2**62, NOON), ("a", 2**62, NOON))})
    own = F.raise_error(F.lit("source 'mine' overflows 64 bits")).cast("long")
    with pytest.raises(UserFunctionError, match="^source 'mine' overflows 64 bits"):
        batch.run(SUMS, {SCORES: scores(spark, ("a", 1, NOON)).withColumn("points", own)})


def test_windows_that_cannot_be_assigned_are_the_error_of_their_grouping(spark: SparkSession) -> None:
    """The error names the grouping, the windows and the function, of a batch and of a stream."""

    def fails(time: EventTime, key: object) -> list[Window]:
        raise LookupError

    sums = POINTS.window(CustomWindows("odd", fails), allowed_lateness=FOREVER).combine_per_key(Sum())
    timeline = Timeline[Score]().at(NOON, Score("a", 1, NOON)).end(NOON)
    for engine in (SparkBatch(spark), SparkStreaming(spark, shards=1)):
        with pytest.raises(
            UserFunctionError, match=r"^combine_per_key\(Sum\): odd.assign: fails at .* raised Look"
        ):
            engine.run(sums, {SCORES: timeline})


@pytest.mark.parametrize(
    "raised",
    [
        ValueError("first\n\nflowalg.data.errors.StateLostError: second\nlast"),
        ValueError("a lone surrogate: \ud800"),
        SystemExit("out of here"),
        OwnError("mine"),
    ],
    ids=["several lines", "surrogates", "exit", "own class"],
)
def test_an_error_in_a_worker_arrives_whole(spark: SparkSession, raised: BaseException) -> None:
    """Its message has all its lines, whatever they look like; a text that UTF-8 lacks is escaped; nothing hangs."""

    def fail(score: Score) -> int:
        raise raised

    text = str(raised).encode(errors="backslashreplace").decode()
    for steps in (SCORES.map(fail), SCORES.flat_map(lambda score: [fail(score)], result=int)):
        kind = OwnError if isinstance(raised, OwnError) else UserFunctionError
        with pytest.raises(kind) as caught:
            batch.run(steps, {SCORES: scores(spark, ("a", 1, NOON))})
        assert f"raised {type(raised).__name__}: {text}" in str(caught.value)
