"""Spark reports all parts of a pipeline that it cannot run, as its checks without a session find them.

The tests catch a compilation that ends at the first part, and a check that has another message than the compilation.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from flowalg_spark import StreamInput, batch, plan, schema_of, streaming
from pyspark.sql import SparkSession
from returns.result import Result

from flowalg import BoundedOutOfOrderness, PCollection, Perfect
from flowalg.errors import UnsupportedError
from flowalg.plan import Plan
from tests.support.scores import SCORES
from tests.support.unsupported import (
    IN_BATCHES,
    ONLY_IN_BATCHES,
    ONLY_IN_STREAMS,
    SUPPORTED,
    pipeline_of,
)

Check = Callable[[PCollection[object]], Result[Plan, UnsupportedError]]


def parts_of(compile_pipeline: Callable[[PCollection[object]], object], *names: str) -> list[str]:
    """Returns the messages of all parts that a compilation of a pipeline reports; it has some."""
    with pytest.raises(UnsupportedError) as raised:
        compile_pipeline(pipeline_of(names))
    return list(map(str, raised.value.parts))


def parts_found(check: Check, *names: str) -> list[str]:
    """Returns the messages of all parts that a check of a pipeline finds; it has some."""
    return list(map(str, check(pipeline_of(names)).failure().parts))


def test_batches_report_all_unsupported_parts(spark: SparkSession) -> None:
    """The parts of a pipeline are those of each of its parts alone, in order, and those that the check finds."""
    frames = {SCORES: spark.createDataFrame([], schema_of(SCORES))}
    unsupported = (*IN_BATCHES, *ONLY_IN_BATCHES)
    alone = [parts_of(lambda pipeline: batch.compile(pipeline, frames), name) for name in unsupported]
    assert alone == [parts_found(batch.check, name) for name in unsupported]
    whole = (*SUPPORTED, *unsupported, *ONLY_IN_STREAMS)
    together = parts_of(lambda pipeline: batch.compile(pipeline, frames), *whole)
    assert together == parts_found(batch.check, *whole) == [part for parts in alone for part in parts]


def test_streams_and_plans_report_all_unsupported_parts(spark: SparkSession) -> None:
    """So do streams, with the watermark policy of a source, and a plan of a change, before a checkpoint is read."""
    rate = spark.readStream.format("rate").load()
    rows = rate.selectExpr("'a' AS team", "value AS points", "timestamp AS at")
    inputs = {SCORES: StreamInput(rows, BoundedOutOfOrderness(timedelta(minutes=1)))}
    unsupported = (*IN_BATCHES, *ONLY_IN_STREAMS)
    alone = [parts_of(lambda pipeline: streaming.compile(pipeline, inputs), name) for name in unsupported]
    assert alone == [parts_found(streaming.check, name) for name in unsupported]
    whole = (*SUPPORTED, *unsupported, *ONLY_IN_BATCHES)
    together = parts_of(lambda pipeline: streaming.compile(pipeline, inputs), *whole)
    assert together == parts_found(streaming.check, *whole) == [part for parts in alone for part in parts]
    assert parts_of(lambda pipeline: plan(spark, pipeline, "no checkpoint"), *whole) == together
    unknown = {SCORES: StreamInput(rows, Perfect())}
    policy, *others = parts_of(lambda pipeline: streaming.compile(pipeline, unknown), *whole)
    assert policy.startswith("source 'scores': the watermark policy Perfect needs")
    assert others == together
