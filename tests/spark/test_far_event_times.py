"""Event times out of range that lifted functions give on Spark: an error that names the step, or bad records."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from attrs import evolve
from flowalg_laws.kit.shop import BATCHES, POLICY, SALES, Sale
from flowalg_spark import SparkBatch, SparkStreaming
from pyspark.sql import SparkSession

from flowalg.errors import ElementError
from tests.support.depth import a_few
from tests.support.far_steps import STEPS, require_bad, require_named
from tests.support.spark_replay import stream_of, write_batches

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("steps", a_few(list(STEPS), ["a filter after them", "branches"]))
def test_an_event_time_out_of_range_is_an_error_of_its_step(spark: SparkSession, steps: str) -> None:
    """A lifted ``with_timestamps`` is checked as one in Python is."""
    require_named(SparkBatch(spark), STEPS[steps])


@pytest.mark.parametrize("steps", a_few(list(STEPS), ["windows"]))
def test_an_event_time_out_of_range_is_a_bad_record(spark: SparkSession, steps: str) -> None:
    """With dead letters its element is a bad record of the step."""
    require_bad(SparkBatch(spark, dead_letters=True), STEPS[steps])


@pytest.mark.thorough
@pytest.mark.parametrize("steps", ["elements", "windows"])
def test_a_stream_checks_event_times_that_steps_give(spark: SparkSession, steps: str) -> None:
    """A stream rejects them as a batch does."""
    require_named(SparkStreaming(spark), STEPS[steps])
    require_bad(SparkStreaming(spark, dead_letters=True), STEPS[steps])


@pytest.mark.parametrize("dead_letters", [False, True])
def test_a_processing_time_out_of_range_is_an_error(
    spark: SparkSession, tmp_path: Path, dead_letters: bool
) -> None:
    """A query without a clock rejects it too: the error names the source."""
    late = evolve(BATCHES[0][0], seen=datetime(9999, 12, 31, tzinfo=UTC))
    write_batches(tmp_path / "in", Sale, [[*BATCHES[0], late]], ends=False)
    inputs = {SALES: stream_of(spark, tmp_path / "in", POLICY, ends=False)}
    with pytest.raises(
        ElementError, match=r"^source 'sales': StreamInput.processing_time must be a point between"
    ):
        SparkStreaming(spark, dead_letters=dead_letters).run(SALES, inputs)
