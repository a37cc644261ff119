"""Kafka: expressions and the types that both checkers infer; checked, never run."""

# pyright: strict

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from datetime import datetime, timedelta
from typing import Literal, assert_type

from flowalg_kafka import AvroFormat, Header, Kafka, KafkaInput, KafkaMessage, TopicError
from flowalg_kafka.input import MessageField
from flowalg_kafka.target import KafkaTransaction
from flowalg_polars.streaming import StreamInput
from flowalg_sinks import Row, Table

from flowalg import BoundedOutOfOrderness


def inputs(topic: KafkaInput, message: KafkaMessage, header: Header, error: TopicError) -> None:
    """A topic as an input."""
    assert_type(
        KafkaInput("localhost:9092", "scores", fields={"user": "key", "trace": Header("id")}), KafkaInput
    )
    assert_type(KafkaInput("localhost:9092", "scores", format=lambda message: message.offset), KafkaInput)
    assert_type(StreamInput(topic, BoundedOutOfOrderness(timedelta(0))), StreamInput)
    assert_type(topic.servers, str)
    assert_type(topic.topic, str)
    assert_type(KafkaInput("localhost:9092", "scores", format=AvroFormat("{}")), KafkaInput)
    assert_type(AvroFormat({1: "{}"}).schema, str | Mapping[int, str])
    assert_type(topic.format, Literal["json"] | AvroFormat | Callable[[KafkaMessage], object])
    assert_type(topic.fields, Mapping[str, MessageField])
    assert_type(topic.start, Literal["earliest", "latest"] | datetime)
    assert_type(topic.per_batch, int)
    assert_type(topic.options, Mapping[str, str])
    assert_type(topic.spark_options, Mapping[str, str])
    assert_type(topic.timeout, timedelta)
    assert_type(topic.partitions(), Set[str])
    assert_type(header.name, str)
    assert_type(message.topic, str)
    assert_type(message.partition, int)
    assert_type(message.offset, int)
    assert_type(message.key, bytes | None)
    assert_type(message.value, bytes | None)
    assert_type(message.timestamp, datetime | None)
    assert_type(message.headers, tuple[tuple[str, bytes | None], ...])
    assert_type(error, TopicError)


def targets(kafka: Kafka, table: Table) -> None:
    """A cluster as a target of sinks."""
    assert_type(Kafka("localhost:9092", partitions=4, replication=3), Kafka)
    assert_type(kafka.servers, str)
    assert_type(kafka.partitions, int)
    assert_type(kafka.replication, int | None)
    assert_type(kafka.options, Mapping[str, str])
    assert_type(kafka.timeout, timedelta)
    assert_type(kafka.rows(table), list[Row])
    assert_type(kafka.transaction().__enter__(), KafkaTransaction)
