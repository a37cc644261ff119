"""Topics on Spark: a query from a topic to topics against the reference, and the errors before it starts.

The tests catch a query on Spark that loses, repeats or misreads messages of a topic, or whose bad records are not those
of the local engine. ``make kafka-check`` also kills the query.
"""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from flowalg_development.components.broker import Broker
from flowalg_development.components.jars import missing_jars
from flowalg_development.kafka.traffic import SCORES, totals
from flowalg_kafka import KafkaInput

from flowalg import ArgumentError, BoundedOutOfOrderness, MissingExtraError, SchemaMismatchError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

POLICY = BoundedOutOfOrderness(timedelta(seconds=5))
TOPIC = KafkaInput("localhost:1", "scores")


@pytest.mark.long
@pytest.mark.spark
def test_a_query_on_spark_is_that_of_the_reference(kafka: Broker, tmp_path: Path) -> None:
    """Of a topic that grows, the current values, the panes and the bad records are those of the other interpreters."""
    lacking = missing_jars("spark-kafka")
    if lacking is not None:
        pytest.skip(lacking)
    from flowalg_development.kafka.on_spark import compare_on_spark

    counts = compare_on_spark(
        kafka, tmp_path / "query", messages=400, kills=0, seed=7, parts=1, outages=False
    )
    assert counts.problems == []
    assert counts.bad
    assert counts.rows
    assert counts.batches > 2


def test_a_session_without_the_connector_is_an_error_that_helps(spark: SparkSession) -> None:
    """The error has the coordinate of the connector and the settings of a session that has it."""
    from flowalg_spark import StreamInput, streaming

    with pytest.raises(MissingExtraError, match=r'"spark.jars.packages", "org.apache.spark:spark-sql-kafka'):
        streaming.compile(totals(), {SCORES: StreamInput(TOPIC, POLICY)})


def test_a_topic_that_cannot_be_read_is_rejected(spark: SparkSession) -> None:
    """Options of another client, fields that the records lack, and a column of corrupt records raise errors."""
    from flowalg_spark import StreamInput, streaming
    from pyspark.sql import functions as F

    secured = KafkaInput("localhost:1", "scores", options={"security.protocol": "SSL"})
    with pytest.raises(ArgumentError, match="KafkaInput.options must be empty on Spark"):
        streaming.compile(totals(), {SCORES: StreamInput(secured, POLICY)})
    other = KafkaInput("localhost:1", "scores", fields={"nobody": "key"})
    with pytest.raises(SchemaMismatchError, match="nobody must be a field"):
        streaming.compile(totals(), {SCORES: StreamInput(other, POLICY)})
    with pytest.raises(ArgumentError, match="StreamInput.corrupt_record must be None for a topic"):
        StreamInput(TOPIC, POLICY, corrupt_record=F.col("text"))
    with pytest.raises(ArgumentError, match=r"StreamInput.data must be a Spark DataFrame, or a KafkaInput"):
        StreamInput("scores", POLICY)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="StreamInput.data must be a Spark DataFrame; got KafkaInput"):
        StreamInput(TOPIC, POLICY).frame  # noqa: B018 - it raises
