"""Topics on Spark: a query from a topic to topics against the reference, and the errors before it starts.

The tests catch a query on Spark that loses, repeats or misreads messages of a topic, or whose bad records are not those
of the local engine. ``make kafka-check`` also kills the query.
"""

from __future__ import annotations

import pickle
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from flowalg_columns.names import CORRUPT_ERROR, CORRUPT_RECORD
from flowalg_kafka import KafkaInput
from flowalg_kafka.decoding import decode_messages
from flowalg_kafka.messages import messages_table
from hypothesis import given
from hypothesis import strategies as st

from flowalg import BoundedOutOfOrderness, Source
from flowalg.errors import ArgumentError, MissingExtraError, SchemaMismatchError
from flowalg.pipeline.source import source_node
from flowalg.runs.bad_records import BadRecord
from tests.components.broker import Broker
from tests.components.jars import missing_jars
from tests.faults.kafka.traffic import SCORES, totals
from tests.kafka import test_avro, test_decoding
from tests.kafka.test_decoding import Received

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

POLICY = BoundedOutOfOrderness(timedelta(seconds=5))
TOPIC = KafkaInput("localhost:1", "scores")
SOURCES: dict[str, Source[test_decoding.Reading] | Source[test_avro.Order]] = {
    "readings": test_decoding.SOURCE,
    "orders": test_avro.SOURCE,
}


@pytest.mark.long
@pytest.mark.spark
@pytest.mark.parametrize(
    ("format", "calm"), [("json", True), pytest.param("avro", False, marks=pytest.mark.thorough)]
)
def test_a_query_on_spark_is_that_of_the_reference(
    kafka: Broker, tmp_path: Path, format: str, calm: bool
) -> None:
    """The current values, the panes and the bad records of a topic are those of the other interpreters.

    The thorough run also fails between its transactions, loses its broker, and has its state divided.
    """
    lacking = missing_jars("spark-kafka")
    if lacking is not None:
        pytest.skip(lacking)
    from tests.faults.kafka.kills import compare_on_spark

    outcome = compare_on_spark(
        kafka, tmp_path / "query", messages=300, kills=0, seed=7, format=format, parts=1, calm=calm
    )
    assert outcome.problems == []
    assert outcome.counts["bad records"]
    assert outcome.counts["current values"]
    assert outcome.counts["micro-batches"] > 2


@pytest.mark.thorough
@pytest.mark.long
def test_a_query_moves_to_spark_and_back(kafka: Broker, tmp_path: Path) -> None:
    """Its topics are what the reference computes of all messages, each of which was read by one of the engines."""
    lacking = missing_jars("spark-kafka")
    if lacking is not None:
        pytest.skip(lacking)
    from tests.faults.kafka.moves import compare_moved

    outcome = compare_moved(kafka, tmp_path / "query")
    assert outcome.problems == []
    assert outcome.counts["bad records"]
    assert outcome.counts["current values"]


@given(
    st.one_of(
        st.tuples(st.just(test_decoding.TOPIC), st.lists(test_decoding.messages, max_size=4)),
        st.tuples(st.just(test_avro.TOPIC), st.lists(test_avro.messages, max_size=4)),
    ),
    st.integers(1, 3),
)
def test_both_engines_decode_alike(drawn: tuple[KafkaInput, list[bytes | None]], size: int) -> None:
    """The rows and bad records of messages are those of the local engine, in any batches, also of a copied input."""
    from flowalg_spark.frames.topics import DecodeMessages

    topic, values = drawn
    source = source_node(SOURCES[topic.topic])
    table = messages_table(topic, [Received(value, number) for number, value in enumerate(values)])
    bad: list[BadRecord] = []
    local = decode_messages(source, topic, table, lambda _, record: bad.append(record))
    names = (*local.column_names, CORRUPT_RECORD, CORRUPT_ERROR)
    decode = DecodeMessages(source, pickle.loads(pickle.dumps(topic)), names)
    rows = [row for batch in decode(table.to_batches(max_chunksize=size)) for row in batch.to_pylist()]
    errors = [(row[CORRUPT_RECORD], row[CORRUPT_ERROR]) for row in rows if row[CORRUPT_ERROR] is not None]
    assert sorted(errors) == sorted((record.record, record.error) for record in bad)
    good = [{name: row[name] for name in local.column_names} for row in rows if row[CORRUPT_ERROR] is None]
    assert repr(good) == repr(local.to_pylist())
    assert all(row["kafka_offset"] is not None for row in rows)


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
