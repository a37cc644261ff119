"""Outputs of Spark streaming: a pipeline that groups nothing is a plain select, and several outputs are rejected.

These tests catch a stateful operator, an exchange or Python where there is no state.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from flowalg_laws.conformance.jobs.outputs import doubled, elements_of_a_filter_and_a_map, enriched
from flowalg_laws.conformance.jobs.transforms import OTHERS
from flowalg_laws.kit.readings import READINGS, Reading
from flowalg_reference import Reference
from flowalg_spark import SparkStreaming, StreamInput, collect_elements, streaming
from flowalg_spark.streaming.interpreter import start_to_files
from pyspark.sql import SparkSession

from flowalg import Mode, UnsupportedError
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
    found = collect_elements(doubled, spark.read.parquet(str(tmp_path / "out")))
    timelines = elements_of_a_filter_and_a_map.replay.timelines
    assert found == Reference(Mode.MICRO_BATCH).run(doubled, timelines).elements


def test_several_outputs_and_waiting_elements_are_rejected(spark: SparkSession, tmp_path: Path) -> None:
    """The messages have the reason; nothing is computed twice without being asked for."""
    stream = readings(spark, tmp_path / "in")
    engine = SparkStreaming(spark)
    with pytest.raises(
        UnsupportedError, match="several outputs of one run: a streaming query has no shared sub-plans"
    ):
        engine.run_all({"doubled": doubled, "readings": READINGS}, {READINGS: stream})
    with pytest.raises(UnsupportedError, match="groups nothing and reads a side input"):
        streaming.compile(enriched, {READINGS: stream, OTHERS: stream})
