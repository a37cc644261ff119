"""The input of a source from a topic: where its messages are, and how they become records."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from datetime import datetime, timedelta
from typing import Final, Literal, TypeAlias

from attrs import field, frozen

from flowalg.data.errors import ArgumentError, hidden, require_count
from flowalg_kafka.avro import AvroFormat
from flowalg_kafka.client import Admin, connection_of, require_connection, require_topic


@frozen
class KafkaMessage:
    """A message of a topic.

    ``timestamp`` is that of the producer or of the broker, as the topic's ``message.timestamp.type`` says; ``None`` if
    the message has none.
    """

    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    timestamp: datetime | None
    headers: tuple[tuple[str, bytes | None], ...]


@frozen
class Header:
    """The last header of a message with a name, as a field of a record: bytes or text, null if there is none."""

    name: str


MessageField: TypeAlias = "Literal['key', 'partition', 'offset', 'timestamp'] | Header"
"""A part of a message, which is not in its value."""

PARTS: Final = ("key", "partition", "offset", "timestamp")

PARTITION: Final = "kafka_partition"
OFFSET: Final = "kafka_offset"
TIMESTAMP: Final = "kafka_timestamp"
COLUMNS: Final = (PARTITION, OFFSET, TIMESTAMP)
"""The columns of messages that the columns of a ``StreamInput`` may name."""


@frozen
class KafkaInput:
    """A topic as the data of a stream.

    With ``format="json"`` the value of a message is a JSON object with the fields of the source's record class; further
    fields are ignored. With an ``AvroFormat`` it is an Avro record. Otherwise ``format`` is a function of a
    ``KafkaMessage`` that returns the record. ``fields`` are fields of the record that are parts of the message instead:
    ``{"at": "timestamp", "trace": Header("trace-id")}``.
    A message that is not a record is a bad record, whose error names the topic, the partition and the offset.

    A query starts at the ``start`` of the topic: ``"earliest"``, ``"latest"`` or the first messages at a time. After
    that its checkpoint has the offsets, and nothing is committed to Kafka. Only messages of committed transactions are
    read. Partitions that are added to the topic are read from their beginning. A micro-batch has at most ``per_batch``
    messages, from all partitions that have some.

    The source partition of a message is the name of its partition, such as ``"0"``, unless ``StreamInput.partition``
    is another column. Each message also has the columns ``kafka_partition``, ``kafka_offset`` and ``kafka_timestamp``,
    for example for ``StreamInput.processing_time``.

    ``options`` are options of librdkafka, such as those of security. ``spark_options`` are those of Spark's source,
    such as ``kafka.security.protocol``: Spark reads by Java's client, whose options have other names. While no broker
    answers, a query waits for ``timeout``, and then fails, on the local engine with a ``TopicError``; started again, it
    goes on where it stopped.

    Raises ``ArgumentError``.

    Example::

        topic = KafkaInput("localhost:9092", "scores")
        policy = BoundedOutOfOrderness(timedelta(seconds=30), partitions=topic.partitions())
        streaming.run(totals, {scores: StreamInput(topic, policy)}, sink=sink, checkpoint="checkpoint", follow=True)
    """

    servers: str
    topic: str
    format: Literal["json"] | AvroFormat | Callable[[KafkaMessage], object] = field(
        default="json", kw_only=True
    )
    fields: Mapping[str, MessageField] = field(factory=dict, kw_only=True)
    start: Literal["earliest", "latest"] | datetime = field(default="earliest", kw_only=True)
    per_batch: int = field(default=100_000, kw_only=True)
    # Options may contain a password.
    options: Mapping[str, str] = field(factory=dict, kw_only=True, repr=False)
    spark_options: Mapping[str, str] = field(factory=dict, kw_only=True, repr=False)
    timeout: timedelta = field(default=timedelta(minutes=1), kw_only=True)

    def __attrs_post_init__(self) -> None:
        require_topic("KafkaInput.topic", self.topic)
        if self.format != "json" and not isinstance(self.format, AvroFormat) and not callable(self.format):
            valid = "'json', an AvroFormat, or a function of a KafkaMessage that returns a record"
            raise ArgumentError("KafkaInput.format", self.format, valid)
        if not isinstance(self.fields, Mapping) or not all(
            isinstance(name, str) and (isinstance(part, Header) or part in PARTS)
            for name, part in self.fields.items()
        ):
            valid = f"a mapping of names of fields to {', '.join(map(repr, PARTS))} or Header(name)"
            raise ArgumentError("KafkaInput.fields", self.fields, valid)
        if self.fields and callable(self.format):
            why = "a function receives the whole message"
            raise ArgumentError("KafkaInput.fields", self.fields, "empty if format is a function", why=why)
        timed = isinstance(self.start, datetime) and self.start.utcoffset() is not None
        if not timed and self.start not in ("earliest", "latest"):
            valid = "'earliest', 'latest', or a datetime with a time zone"
            raise ArgumentError("KafkaInput.start", self.start, valid)
        require_count("KafkaInput.per_batch", self.per_batch)
        if not isinstance(self.spark_options, Mapping) or not all(
            isinstance(text, str) for pair in self.spark_options.items() for text in pair
        ):
            valid = "a mapping of options of Spark's source, such as {'kafka.security.protocol': 'SSL'}"
            raise ArgumentError("KafkaInput.spark_options", hidden(self.spark_options), valid)
        require_connection("KafkaInput", self.servers, self.options, self.timeout)

    def partitions(self) -> Set[str]:
        """Returns the names of the topic's partitions, for the option ``partitions`` of a watermark policy.

        With it there is no watermark before each partition has had a message. Raises ``TopicError`` if the topic does
        not exist, or if no broker answers within the timeout.
        """
        return frozenset(map(str, Admin(connection_of(self)).require(self.topic).partitions))
