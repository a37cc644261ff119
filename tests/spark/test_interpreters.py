"""Spark batch and Spark streaming as interpreters over timelines.

These tests catch a run with other instants, clocks or watermarks than the reference, and files or queries that a run
does not remove.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from attrs import frozen
from flowalg_laws.kit.readings import Reading
from flowalg_laws.strategies.times import point
from flowalg_reference import Reference
from flowalg_spark import SparkBatch, SparkStreaming, StreamInput, record_table, records_in, schema_of
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from flowalg import (
    AtCount,
    AtWatermark,
    BoundedOutOfOrderness,
    Count,
    FixedWindows,
    Mode,
    Repeat,
    Source,
    Timeline,
    combiner,
    flatten,
    load_interpreter,
)
from flowalg.combiners import Combiner
from flowalg.data import INGRESS_TIME
from flowalg.errors import ArgumentError, ElementError, UserFunctionError
from flowalg.triggers import AtSignal
from flowalg.watermarks import IngressTime
from tests.core.test_joins_by_value import counts
from tests.core.test_latest_complete import SINGLE, rate, read_by
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
"""Several instants at the same processing time, with different watermarks, percentiles and signals."""

ARRIVALS = Source("arrivals", Score, event_time=INGRESS_TIME)


@pytest.fixture(params=["batch", "streaming"])
def spark_engine(request: pytest.FixtureRequest, spark: SparkSession) -> SparkBatch | SparkStreaming:
    """Either interpreter."""
    return SparkBatch(spark) if request.param == "batch" else SparkStreaming(spark, shards=2)


def test_a_stream_has_the_clocks_of_its_timeline(spark: SparkSession, tmp_path: Path) -> None:
    """Panes and drops are those of the reference, and files and queries are removed.

    The order of panes is not compared: a frame does not distinguish instants at the same processing time.
    """
    expected = Reference(Mode.MICRO_BATCH).run(CLOCKED, {SCORES: CLOCKS})
    folder = tmp_path / "runs [1]"  # no pattern of Spark
    folder.mkdir()
    output = SparkStreaming(spark, folder=folder).run(CLOCKED, {SCORES: CLOCKS})
    assert sorted(map(repr, output.panes)) == sorted(map(repr, expected.panes))
    assert [(drop.key, drop.window, drop.reason, drop.count) for drop in output.dropped] == [
        (drop.key, drop.window, drop.reason, drop.count) for drop in expected.dropped
    ]
    assert (list(folder.iterdir()), spark.streams.active) == ([], [])


def test_a_failed_run_removes_its_files_and_query(spark: SparkSession, tmp_path: Path) -> None:
    """The error is that of the function, caused by Spark's; afterwards there are no files and no active query."""
    broken = (
        SCORES.key_by(fail).window(FixedWindows(MINUTE), allowed_lateness=MINUTE).combine_per_key(Count())
    )
    with pytest.raises(
        UserFunctionError, match=r"^key_by\(fail at .*raised ValueError: a; its argument"
    ) as caught:
        SparkStreaming(spark, folder=tmp_path).run(broken, {SCORES: TIMELINE})
    assert isinstance(caught.value.__cause__, StreamingQueryException)
    assert (list(tmp_path.iterdir()), spark.streams.active) == ([], [])


def fail(score: Score) -> str:
    """Fails on every element."""
    raise ValueError(score.team)


def test_a_timeline_without_instants_has_no_panes(spark_engine: SparkBatch | SparkStreaming) -> None:
    """An empty timeline has no panes and no drops."""
    run = spark_engine.run(TOTALS, {SCORES: Timeline[Score]()})
    assert (run.panes, run.dropped) == ((), ())


def test_a_frame_is_an_input_of_spark_batch(spark: SparkSession) -> None:
    """A bounded frame of the same records as a timeline has the same final values."""
    frame = spark.createDataFrame(record_table(SCORES, TIMELINE.elements))
    run = SparkBatch(spark, time=minute(4)).run(TOTALS, {SCORES: frame})
    assert run.panes == SparkBatch(spark).run(TOTALS, {SCORES: TIMELINE}).panes


def test_records_in_inverts_record_table() -> None:
    """Records that are written to a table and read from it are equal."""
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
def test_invalid_arguments_are_rejected(
    spark: SparkSession, call: Callable[[SparkSession], object], message: str
) -> None:
    """The message has the argument and the valid values."""
    with pytest.raises(ArgumentError, match=message):
        call(spark)


def test_timelines_and_streams_do_not_mix(spark: SparkSession, tmp_path: Path) -> None:
    """Inputs of both kinds raise an error, since a stream has no micro-batches at the instants of a timeline."""
    others = Source("others", Score, event_time=lambda score: score.at)
    pairs = others.key_by(lambda score: score.team).map_values(lambda score: score.points)
    both = (
        flatten(POINTS, pairs).window(FixedWindows(MINUTE), allowed_lateness=MINUTE).combine_per_key(Count())
    )
    frame = spark.readStream.schema(schema_of(others)).parquet(str(tmp_path))
    stream = StreamInput(frame, BoundedOutOfOrderness(MINUTE))
    with pytest.raises(ArgumentError, match="inputs must be all timelines or all StreamInputs"):
        SparkStreaming(spark).run(both, {SCORES: TIMELINE, others: stream})


def test_a_stream_input_runs_over_the_available_data(spark: SparkSession, tmp_path: Path) -> None:
    """The run has the panes of the available rows, with watermarks of the input's policy."""
    spark.createDataFrame(record_table(SCORES, TIMELINE.elements)).write.parquet(str(tmp_path / "scores"))
    frame = spark.readStream.schema(schema_of(SCORES)).parquet(str(tmp_path / "scores"))
    stream = StreamInput(frame, BoundedOutOfOrderness(MINUTE), processing_time=F.col("at"))
    run = SparkStreaming(spark, shards=2).run(TOTALS, {SCORES: stream})
    assert {(value.key, value.value) for value in run.final_values()} == {("a", 6), ("b", 7), ("a", 3)}


def test_a_row_of_a_stream_arrives_at_its_own_processing_time(spark: SparkSession, tmp_path: Path) -> None:
    """Ingress times are those that rows carry; a row without one is a dead letter."""
    rows = [("a", 1, minute(0), minute(3)), ("b", 2, minute(0), minute(4)), ("c", 3, minute(0), None)]
    schema = "team string, points long, at timestamp, seen timestamp"
    spark.createDataFrame(rows, schema).coalesce(1).write.parquet(str(tmp_path / "in"))
    frame = spark.readStream.schema(schema).parquet(str(tmp_path / "in"))
    stream = StreamInput(frame, IngressTime(), processing_time=F.col("seen"))
    keyed = ARRIVALS.key_by(lambda score: score.team)
    windowed = keyed.window(FixedWindows(MINUTE), trigger=Repeat(AtCount(1)), allowed_lateness=MINUTE)
    for pipeline in (windowed.combine_per_key(Count()), keyed):
        run = SparkStreaming(spark, shards=2, dead_letters=True).run(pipeline, {ARRIVALS: stream})
        assert [(bad.error, json.loads(bad.record)["team"]) for bad in run.bad_records] == [
            ("source 'arrivals': the event time must not be null", "c")
        ]
        emitted = [(pane.element, pane.event_time) for pane in run.panes]
        emitted += [(element.element, element.event_time) for element in run.elements]
        minutes = [(pair.key, time.datetime.replace(second=0, microsecond=0)) for pair, time in emitted]
        assert sorted(minutes) == [("a", minute(3)), ("b", minute(4))]


def test_other_records_arrive_at_their_instant(spark_engine: SparkBatch | SparkStreaming) -> None:
    """The records of a timeline without processing times of their own have that of their instant."""
    timeline = Timeline[Score]().at(minute(9), Score("a", 1, minute(0))).end(minute(9))
    keyed = ARRIVALS.key_by(lambda score: score.team)
    elements = spark_engine.run(keyed, {ARRIVALS: timeline}).elements
    assert [(element.element.key, element.event_time.datetime) for element in elements] == [("a", minute(9))]


def add(left: int, right: int) -> int:
    """Adds two numbers."""
    return left + right


def fail_on_total(total: int) -> int:
    """Fails on five."""
    if total == 5:
        raise ValueError(f"no total of {total}")
    return total


@frozen
class Total(Combiner[int, int, int]):
    """The sum, as a class of a user."""

    @property
    def title(self) -> str:
        """The name in messages."""
        return "total"

    def zero(self) -> int:
        """Returns zero."""
        return 0

    def add(self, accumulator: int, value: int) -> int:
        """Returns the sum."""
        return accumulator + value

    def merge(self, left: int, right: int) -> int:
        """Returns the sum."""
        return left + right

    def extract(self, accumulator: int) -> int:
        """Fails on five."""
        return fail_on_total(accumulator)


TOTALS_OF_FIVE = {
    "function": combiner(zero=0, add=add, merge=add, extract=fail_on_total, name="total"),
    "class": Total(),
}
"""Combiners that fail on a total of five: one of functions, and one that a user wrote as a class."""


@pytest.mark.parametrize("kind", TOTALS_OF_FIVE)
def test_an_error_of_a_group_names_its_key_and_window(
    kind: str, spark_engine: SparkBatch | SparkStreaming
) -> None:
    """A function or method that sees a whole group raises: the message has the part, the key and the window."""
    windows = POINTS.window(FixedWindows(MINUTE), allowed_lateness=MINUTE)
    pipeline = windows.combine_per_key(TOTALS_OF_FIVE[kind])
    label = r"combine_per_key\(total\): total.extract: \w+ at .* raised ValueError: no total of 5; .*"
    group = r"the key of the group is 'a' \(str\), its window (starts at )?\[?2024-01-01T12:00:00Z"
    with pytest.raises(UserFunctionError, match=label + group):
        spark_engine.run(pipeline, {SCORES: TIMELINE})


def test_two_values_of_a_side_are_an_error_where_an_element_reads_them(
    spark_engine: SparkBatch | SparkStreaming,
) -> None:
    """No element reads the window with two values: none before it, and none after a newer value."""
    rates = Timeline.batch([rate("a", 1, 1), rate("a", 2, 2), rate("a", 9, 6)], time=point(0))
    assert read_by(spark_engine, SINGLE, at_minutes(3, 13), rates) == [-1, 9]
    with pytest.raises(ElementError, match="must have one"):
        read_by(spark_engine, SINGLE, at_minutes(8), rates)


def test_a_join_in_windows_by_value_has_the_pairs_of_the_values(
    spark_engine: SparkBatch | SparkStreaming,
) -> None:
    """The window function receives the value alone, also if each pair has an event time of its own."""
    assert counts(spark_engine) == [("a", "2024-01-01T00:00:00Z", 1)]


def at_minutes(*minutes: int) -> Timeline[Reading]:
    """Readings at some minutes."""
    return Timeline.batch([rate("a", 0, minute) for minute in minutes], time=point(0))


@pytest.mark.parametrize(("name", "kind"), [("batch", SparkBatch), ("streaming", SparkStreaming)])
def test_an_installed_interpreter_has_the_active_session(
    spark: SparkSession, name: str, kind: type[SparkBatch | SparkStreaming]
) -> None:
    """``load_interpreter`` gives Spark's interpreters on the session that is active."""
    interpreter = load_interpreter(name)
    assert isinstance(interpreter, kind)
    assert interpreter.spark is SparkSession.getActiveSession()
