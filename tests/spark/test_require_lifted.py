"""On Spark too, ``require_lifted`` makes a function that runs in Python an error."""

from __future__ import annotations

import pytest
from flowalg_spark import StreamInput, batch, schema_of, streaming
from pyspark.sql import SparkSession

from flowalg import BoundedOutOfOrderness
from flowalg.errors import UnsupportedError
from tests.polars.test_require_lifted import LIFTED, MINUTE, NAMED, SHOUTED
from tests.support.scores import SCORES


def test_batches_and_streams_require_that_all_functions_are_lifted(spark: SparkSession) -> None:
    """The error names the function and why it is not lifted; a lifted pipeline compiles."""
    schema = schema_of(SCORES)
    frames = {SCORES: spark.createDataFrame([], schema)}
    assert batch.compile(LIFTED, frames, require_lifted=True).lifting
    with pytest.raises(UnsupportedError, match=NAMED):
        batch.compile(SHOUTED, frames, require_lifted=True)
    rate = spark.readStream.format("rate").load()
    rows = rate.selectExpr("'a' AS team", "value AS points", "timestamp AS at")
    streams = {SCORES: StreamInput(rows, BoundedOutOfOrderness(MINUTE))}
    assert streaming.compile(LIFTED, streams, require_lifted=True).lifting
    for outputs in (SHOUTED, {"lifted": LIFTED, "shouted": SHOUTED}):
        with pytest.raises(UnsupportedError, match=NAMED):
            streaming.compile(outputs, streams, require_lifted=True)
