"""Kafka: topics as inputs of streams, and as targets of sinks.

``KafkaInput`` is the data of a ``StreamInput`` of the local engine: its messages, decoded into the records of a source,
with offsets in the checkpoint of the query. ``Kafka`` is a target of ``flowalg_sinks.upsert`` and ``changelog``:
each micro-batch is one transaction of Kafka, which contains the number of the micro-batch.
Needs ``flowalg[kafka]``.
"""

from flowalg_kafka.avro import AvroFormat
from flowalg_kafka.client import TopicError
from flowalg_kafka.input import Header, KafkaInput, KafkaMessage
from flowalg_kafka.target import Kafka

__all__ = ["AvroFormat", "Header", "Kafka", "KafkaInput", "KafkaMessage", "TopicError"]
