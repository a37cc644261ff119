"""Topics of Kafka as streaming frames: messages are decoded over Arrow, as the local engine decodes them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import Final

import pyarrow as pa
from attrs import frozen
from flowalg_columns.layout import fields_in
from flowalg_columns.names import CORRUPT_ERROR, CORRUPT_RECORD
from flowalg_kafka import KafkaInput
from flowalg_kafka.decoding import decode_messages, place_of, require_decodable
from flowalg_kafka.input import OFFSET, PARTITION, TIMESTAMP
from flowalg_kafka.messages import MESSAGES, columns_of
from pyspark import __version__ as spark_version
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T

from flowalg.data.errors import ArgumentError, MissingExtraError
from flowalg.data.time import EPOCH
from flowalg.pipeline.nodes import SourceNode
from flowalg.runs.bad_records import BadRecord
from flowalg_spark.encoding import sql
from flowalg_spark.encoding.columns import col, select
from flowalg_spark.encoding.schema import spark_type
from flowalg_spark.encoding.sql import Sql
from flowalg_spark.lowering.worker_errors import SentBatches

_NEWEST: Final = "4.2.0"
"""The newest version of Spark's connector to Kafka; it also works with PySpark 4.3."""

_MILLISECOND: Final = timedelta(milliseconds=1)
_ATTEMPTS: Final = 3
"""How often Spark requests offsets before the query fails."""


def connector() -> str:
    """Returns the Maven coordinate of Spark's connector to Kafka for this version of PySpark."""
    newer = tuple(map(int, spark_version.split(".")[:2])) > tuple(map(int, _NEWEST.split(".")[:2]))
    return f"org.apache.spark:spark-sql-kafka-0-10_2.13:{_NEWEST if newer else spark_version}"


def connector_help() -> str:
    """Returns the two ways to get Spark's connector to Kafka, for this version of PySpark."""
    return (
        "Spark's connector to Kafka is a jar, and a session needs it when it starts. Either Spark downloads it:\n"
        f'  SparkSession.builder.config("spark.jars.packages", "{connector()}")\n'
        "or Maven copies it and its dependencies into a folder, from a pom.xml that depends on\n"
        f"  {connector()}\n"
        "by\n"
        "  mvn dependency:copy-dependencies -DincludeScope=runtime -DoutputDirectory=jars\n"
        "and the session has all of them, separated by commas:\n"
        '  SparkSession.builder.config("spark.jars", ",".join(glob.glob("jars/*.jar")))'
    )


def read_topic(session: SparkSession, source: SourceNode, topic: KafkaInput) -> DataFrame:
    """Returns the messages of a topic as a streaming frame with the fields of a source's records.

    It also has the columns of messages. ``CORRUPT_RECORD`` and ``CORRUPT_ERROR`` are null, except for a
    message that is not a record, whose fields are null.

    Raises ``SchemaMismatchError`` if the records do not fit the topic, ``ArgumentError`` for options without those of
    Spark, and ``MissingExtraError``, with the ways to get it, if the session lacks Spark's connector.
    """
    require_decodable(source, topic)
    reader = session.readStream.format("kafka").options(**_options(topic))
    try:
        frame = reader.load()
    except AnalysisException as error:
        if "kafka" in str(error).lower() and "find" in str(error).lower():
            raise MissingExtraError(connector_help()) from error
        raise
    fields = [(name, spark_type(shape)) for name, shape in fields_in(source.shape)]
    added: list[tuple[str, T.DataType]] = [
        (PARTITION, T.LongType()),
        (OFFSET, T.LongType()),
        (TIMESTAMP, T.TimestampType()),
        (CORRUPT_RECORD, T.StringType()),
        (CORRUPT_ERROR, T.StringType()),
    ]
    schema = T.StructType([T.StructField(name, kind) for name, kind in (*fields, *added)])
    messages = select(frame, *map(_message_column, columns_of(topic)))
    return messages.mapInArrow(SentBatches(DecodeMessages(source, topic, tuple(schema.names))), schema)


def place_column(topic: KafkaInput) -> Sql:
    """Returns where a message is, for errors."""
    before, between, after = place_of(topic.topic, "{}", "{}").split("{}")
    return sql.concat(before, col(PARTITION).cast("string"), between, col(OFFSET).cast("string"), after)


def _message_column(name: str) -> Sql:
    """Returns a column of messages from those of Spark's source, which has a time also where a message has none."""
    if name == "timestamp":
        return sql.when(col("timestampType") >= 0, col(name)).alias(name)
    return col(name)


def _options(topic: KafkaInput) -> dict[str, str]:
    """Returns the options of Spark's source; the user's precede."""
    if topic.options and not topic.spark_options:
        valid = "empty on Spark, or with spark_options, which are the same for Java's client"
        raise ArgumentError("KafkaInput.options", sorted(topic.options), valid)
    # Spark repeats a request for offsets, so that it fails after the timeout all the same.
    wait = str(max(1, topic.timeout // _MILLISECOND // _ATTEMPTS))
    return {
        "kafka.isolation.level": "read_committed",
        "kafka.default.api.timeout.ms": wait,
        "kafka.request.timeout.ms": wait,
        "includeHeaders": str("headers" in columns_of(topic)).lower(),
        "maxOffsetsPerTrigger": str(topic.per_batch),
        **_start(topic),
        **topic.spark_options,
        "kafka.bootstrap.servers": topic.servers,
        "subscribe": topic.topic,
    }


def _start(topic: KafkaInput) -> dict[str, str]:
    match topic.start:
        case datetime() as start:
            millis = -((EPOCH - start) // _MILLISECOND)
            return {"startingTimestamp": str(millis), "startingOffsetsByTimestampStrategy": "latest"}
        case _:
            return {"startingOffsets": topic.start}


@frozen
class DecodeMessages:
    """Decodes messages over Arrow batches, to rows with the columns ``names``, as ``read_topic`` returns them."""

    source: SourceNode
    topic: KafkaInput
    names: tuple[str, ...]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yields the rows of the messages in some batches."""
        schema = pa.schema([MESSAGES.field(name) for name in columns_of(self.topic)])
        for batch in batches:
            messages = pa.Table.from_batches([batch]).cast(schema)
            bad: dict[int, BadRecord] = {}
            good = decode_messages(self.source, self.topic, messages, bad.__setitem__)
            nulls = pa.nulls(good.num_rows, pa.string())
            good = good.append_column(CORRUPT_RECORD, nulls).append_column(CORRUPT_ERROR, nulls)
            rows = good if not bad else pa.concat_tables([good, _corrupt_rows(messages, bad, good.schema)])
            yield from rows.select(self.names).combine_chunks().to_batches()


def _corrupt_rows(messages: pa.Table, bad: Mapping[int, BadRecord], schema: pa.Schema) -> pa.Table:
    """Returns rows of the messages that are not records, in which only the columns of messages are not null."""
    rows = messages.take(list(bad))
    columns = {
        PARTITION: rows.column("partition"),
        OFFSET: rows.column("offset"),
        TIMESTAMP: rows.column("timestamp"),
        CORRUPT_RECORD: pa.array([record.record for record in bad.values()], pa.string()),
        CORRUPT_ERROR: pa.array([record.error for record in bad.values()], pa.string()),
    }
    arrays = [columns.get(field.name, pa.nulls(len(bad), field.type)) for field in schema]
    return pa.Table.from_arrays(arrays, schema=schema)
