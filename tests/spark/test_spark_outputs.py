"""Outputs of Spark streaming: a pipeline that groups nothing is a plain select, and several outputs share their stages.

These tests catch a stateful operator, an exchange or Python where there is no state, and a stage that runs twice.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import reduce
from pathlib import Path

import pytest
from flowalg_columns.json_text import encode_json
from flowalg_laws.conformance.jobs.feeds import FIVE, sum_in_windows
from flowalg_laws.conformance.jobs.outputs import (
    doubled,
    elements_of_a_filter_and_a_map,
    outputs_of_several_stages,
)
from flowalg_laws.kit.readings import READINGS, VALUES, Reading, event_time_of, key_of
from flowalg_reference import Reference
from flowalg_spark import (
    SparkStreaming,
    StreamInput,
    collect_drops,
    collect_elements,
    select_output,
    sinks,
    streaming,
)
from flowalg_spark.frames.failures import raise_causes
from flowalg_spark.frames.pane_frame import collect_output
from flowalg_spark.streaming.interpreter import start_to_files
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from flowalg import (
    FOREVER,
    KV,
    Accumulation,
    AtCount,
    BoundedOutOfOrderness,
    Count,
    Max,
    Mode,
    PCollection,
    PTransform,
    Sum,
    Timeline,
)
from flowalg.data.shapes import shape_of
from flowalg.errors import ArgumentError, UserFunctionError
from flowalg.runs import DropReason
from tests.support.spark_replay import stream_of, write_batches

FEED = elements_of_a_filter_and_a_map.replay.feeds[0]


def readings(spark: SparkSession, folder: Path) -> StreamInput:
    """Returns the readings of a job as a stream, one file a micro-batch, with a row that ends the input."""
    write_batches(folder, Reading, FEED.batches, ends=True)
    return stream_of(spark, folder, FEED.policy)


def test_elements_are_a_plain_select(spark: SparkSession, tmp_path: Path) -> None:
    """A filter and a map have no state, no exchange and no Python, and give the elements of the reference."""
    frame = streaming.compile(doubled, {READINGS: readings(spark, tmp_path / "in")})
    assert frame.columns == ["key", "value", "event_time", "processing_time"]
    query = start_to_files(frame, tmp_path / "out", tmp_path / "checkpoint")
    try:
        query.awaitTermination()
        plan = str(query._jsq.explainInternal(False))  # pyright: ignore[reportOptionalCall]
    finally:
        query.stop()
    assert "Project" in plan
    assert not any(
        name in plan for name in ("StateStore", "TransformWithState", "Exchange", "Python", "Arrow")
    )
    elements = collect_elements(doubled, spark.read.parquet(str(tmp_path / "out")))
    timelines = elements_of_a_filter_and_a_map.replay.timelines
    assert elements == Reference(Mode.MICRO_BATCH).run(doubled, timelines).elements


def test_a_shared_grouping_runs_once(spark: SparkSession, tmp_path: Path) -> None:
    """Sums, their maxima and the elements before them: two stateful operators, and each sink has its output's rows."""
    timelines = outputs_of_several_stages.replay.timelines
    outputs = outputs_of_several_stages.outputs
    rows = streaming.compile(outputs, {READINGS: readings(spark, tmp_path / "in")}, shards=2)
    assert rows.columns == ["output", *outputs]
    written: dict[str, list[DataFrame]] = {name: [] for name in outputs}

    def sink(name: str) -> sinks.BatchSink:
        def write(frame: DataFrame, batch: int) -> None:
            folder = str(tmp_path / name / str(batch))
            frame.write.parquet(folder)
            written[name].append(spark.read.parquet(folder))

        return write

    query = (
        rows.writeStream.foreachBatch(sinks.route({name: sink(name) for name in outputs}))
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    try:
        query.awaitTermination()
        progress = query.lastProgress
        assert progress is not None
        names = [operator.operatorName for operator in progress.stateOperators]
        assert names == ["transformWithStateInPySparkExec"] * 3
    finally:
        query.stop()
    expected = Reference(Mode.MICRO_BATCH).run(outputs, timelines)
    for name, collection in outputs.items():
        output = collect_output(collection, reduce(DataFrame.unionByName, written[name]))
        assert output.elements == expected[name].elements, name
        assert output.panes == expected[name].panes, name


@pytest.mark.thorough
def test_a_stage_with_two_parked_inputs_is_right(spark: SparkSession) -> None:
    """A join of two outputs needs two streams of one plan; one of them is computed again, and its drops are not."""
    sums = sum_in_windows(AtCount(1).repeat(), accumulation=Accumulation.RETRACTING)
    doubles = (
        sums.map_values(lambda value: 2 * value).window(FIVE, allowed_lateness=FOREVER).combine_per_key(Sum())
    )
    joined = sums.window(FIVE, allowed_lateness=FOREVER).combine_per_key(Max()).inner_join(doubles)
    outputs = {"sums": sums, "doubles": doubles, "joined": joined, "sums again": sums}
    timelines = outputs_of_several_stages.replay.timelines
    expected = Reference(Mode.MICRO_BATCH).run(outputs, timelines)
    run = SparkStreaming(spark, shards=2).run(outputs, timelines)
    for name in outputs:
        assert run[name].panes == expected[name].panes, name


MIDNIGHT = datetime(2024, 1, 1, tzinfo=UTC)
WITH_A_LATE_ONE = (
    Timeline[Reading]()
    .at(
        MIDNIGHT,
        Reading("7", 3, MIDNIGHT + timedelta(minutes=9), MIDNIGHT),
        watermark=MIDNIGHT + timedelta(minutes=8),
    )
    .at(MIDNIGHT, Reading("7", 3, MIDNIGHT, MIDNIGHT))
    .end(MIDNIGHT)
)
"""Two readings of one key, the second behind the watermark."""


def test_drops_of_stages_with_one_label_have_their_own_keys(spark: SparkSession) -> None:
    """Two counts by keys of different types: the drops of each have its keys, and not those of the other."""

    def counts(keys: Callable[[Reading], object]) -> PCollection[object]:
        windowed = READINGS.key_by(keys).window(FIVE, allowed_lateness=timedelta(0))
        return windowed.combine_per_key(Count())

    outputs = {"by time": counts(event_time_of), "by key": counts(key_of)}
    for engine in (Reference(Mode.MICRO_BATCH), SparkStreaming(spark, shards=1)):
        assert {drop.key for drop in engine.run(outputs, {READINGS: WITH_A_LATE_ONE}).dropped} == {
            MIDNIGHT,
            "7",
        }


def test_a_side_input_that_two_steps_read_drops_its_late_elements_once(spark: SparkSession) -> None:
    """Two outputs read it, by a step each: it is one stage, and each late element is one drop."""
    windowed = VALUES.window(FIVE, allowed_lateness=timedelta(0))
    reading = windowed.with_side(windowed.combine_per_key(Count()).as_map())
    outputs = {
        "values": reading.map(lambda read: read[0].value),
        "counts": reading.map(lambda read: len(read[1])),
    }
    for engine in (Reference(Mode.MICRO_BATCH), SparkStreaming(spark, shards=1)):
        dropped = engine.run(outputs, {READINGS: WITH_A_LATE_ONE}).dropped
        assert [drop.count for drop in dropped] == [1, 1], "one of the count, and one of the side input"


def test_values_that_a_join_drops_are_shown(spark: SparkSession, tmp_path: Path) -> None:
    """Those of both sides, each once, though a value that was dropped alone is in no pair."""

    def side(*keys: str) -> PCollection[KV[str, int]]:
        return VALUES.filter(lambda pair: pair.key in keys).window(FIVE, allowed_lateness=timedelta(0))

    at = datetime(2024, 1, 1, tzinfo=UTC)
    ahead = [Reading("a", 1, at + timedelta(minutes=20), at)]
    late = [Reading(key, value, at, at) for key, value in (("a", 2), ("a", 1), ("b", 3), ("c", 4))]
    write_batches(tmp_path / "in", Reading, [ahead, late], ends=True)
    joined = side("a", "b").inner_join(side("a", "c"))
    stream = stream_of(spark, tmp_path / "in", BoundedOutOfOrderness(timedelta(minutes=1)))
    rows = streaming.compile(joined, {READINGS: stream}, shards=1)
    start_to_files(rows.with_drops(), tmp_path / "out", tmp_path / "checkpoint").awaitTermination()
    stored = spark.read.parquet(str(tmp_path / "out"))
    drops = stored.filter("drop is not null").select("drop.key", "drop.count", "drop.value").collect()
    expected = {('"a"', 4, "[[1,2],[1,2]]"), ('"b"', 1, "[[3],[]]"), ('"c"', 1, "[[],[4]]")}
    assert set(map(tuple, drops)) == expected
    assert {(drop.key, drop.count) for drop in collect_drops(joined, stored)} == {
        ("a", 4),
        ("b", 1),
        ("c", 1),
    }


def test_a_drop_of_a_side_input_inside_a_transform_has_its_key(spark: SparkSession) -> None:
    """The name of the stage of a side input has those of the transforms that it is in; others are not taken for it."""
    counts = VALUES.window(FIVE, allowed_lateness=FOREVER).combine_per_key(Count())
    reading = PTransform.of(KV[str, int], lambda sums: sums.with_side(counts.as_map()), name="with counts")
    pipeline = VALUES.window(FIVE, allowed_lateness=FOREVER).combine_per_key(Sum()).apply(reading)
    at = datetime(2024, 1, 1, tzinfo=UTC)
    rows = spark.createDataFrame(
        [(("with counts/with_side", "expired", 2, '"a"', at), (at, at + timedelta(minutes=5)))],
        "drop struct<stage: string, reason: string, count: int, key: string, processing_time: timestamp>, "
        "window struct<start: timestamp, end: timestamp>",
    )
    (drop,) = collect_drops(pipeline, rows)
    assert (drop.key, drop.reason, drop.count) == ("a", DropReason.EXPIRED, 2)
    other = rows.withColumn("drop", F.col("drop").withField("stage", F.lit("with_side")))
    with pytest.raises(
        ArgumentError, match="the stage of a drop must be one of the pipeline: 'combine_per_key"
    ):
        collect_drops(pipeline, other)


def test_a_drop_of_a_side_input_has_the_key_of_its_collection(spark: SparkSession) -> None:
    """A side input drops its own elements as closed, and those that were to read it as expired, of another type."""
    counts = READINGS.key_by(lambda reading: reading.value).window(FIVE, allowed_lateness=FOREVER)
    side = counts.combine_per_key(Count()).as_map()
    paired = READINGS.window(FIVE, allowed_lateness=FOREVER).with_side(side)
    at = datetime(2024, 1, 1, tzinfo=UTC)
    reading = Reading("a", 3, at, at)
    drops = [
        (("with_side", reason, 1, key, at), (at, at + timedelta(minutes=5)))
        for reason, key in (("closed", "7"), ("expired", encode_json(reading, shape_of(Reading))))
    ]
    rows = spark.createDataFrame(
        drops,
        "drop struct<stage: string, reason: string, count: int, key: string, processing_time: timestamp>, "
        "drop_window struct<start: timestamp, end: timestamp>",
    )
    dropped = {drop.reason: drop.key for drop in collect_drops(paired, rows)}
    assert dropped == {DropReason.CLOSED: 7, DropReason.EXPIRED: reading}


@pytest.mark.parametrize("stop", [SystemExit(3), GeneratorExit()])
def test_a_sink_that_exits_fails_the_query(spark: SparkSession, tmp_path: Path, stop: BaseException) -> None:
    """It fails with an error that names the output, and the query waits for no answer of a thread that has ended."""

    def leave(frame: DataFrame, batch: int) -> None:
        raise stop

    elements = streaming.compile({"a": doubled}, {READINGS: readings(spark, tmp_path / "in")})
    writer = elements.writeStream.foreachBatch(sinks.route({"a": leave}))
    query = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).start()
    raised = f"the sink of the output 'a' raised {type(stop).__name__}"
    with pytest.raises(UserFunctionError, match=raised), raise_causes():
        assert query.awaitTermination(60), "the query has ended"


def test_wrong_names_of_outputs(spark: SparkSession, tmp_path: Path) -> None:
    """A name of the frame's own columns, a frame without outputs, an unknown output, and an output without a sink."""
    inputs = {READINGS: readings(spark, tmp_path / "in")}
    with pytest.raises(ArgumentError, match="a name of outputs must be another name than those"):
        streaming.compile({"drop": doubled}, inputs)
    with pytest.raises(ArgumentError, match="a name of outputs must be another name than those"):
        streaming.compile({"Output": doubled}, inputs)
    with pytest.raises(ArgumentError, match=r"one that differs from 'a' not only in case, .*; got 'A'"):
        streaming.compile({"a": doubled, "A": doubled}, inputs)
    odd = streaming.compile({"a.b `c`": doubled}, inputs)
    assert select_output(odd, "a.b `c`").columns == ["key", "value", "event_time", "processing_time"]
    frame = spark.sql("select 'a' as output, named_struct('key', 1) as a")
    assert select_output(frame, "a").columns == ["key"]
    with pytest.raises(ArgumentError, match="name must be an output of the frame: a; got 'b'"):
        select_output(frame, "b")
    with pytest.raises(ArgumentError, match="frame must be a DataFrame with the rows of several outputs"):
        select_output(frame.drop("output"), "a")
    with pytest.raises(ArgumentError, match="the names of sinks must be those of the outputs: a"):
        sinks.route({"b": lambda frame, batch: None})(frame, 0)
    with pytest.raises(ArgumentError, match="sinks must be a function"):
        sinks.route({})
