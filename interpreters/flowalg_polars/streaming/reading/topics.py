"""The reader of a Kafka topic: its messages as frames, with offsets as positions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import polars as pl
from attrs import define
from flowalg_columns.names import ORIGIN
from flowalg_kafka.decoding import decode_messages, place_of, require_decodable
from flowalg_kafka.input import OFFSET, PARTITION, KafkaInput
from flowalg_kafka.messages import messages_table
from flowalg_kafka.reader import TopicReader

from flowalg.pipeline.nodes import SourceNode
from flowalg_polars.streaming.reading.bad_records import BadRecords
from flowalg_polars.streaming.reading.positions import MESSAGES, Available, Position, ReadFile


@define
class MessageReader:
    """Reads the messages of a topic; a position has the offsets of its partitions."""

    source: SourceNode
    topic: KafkaInput
    _reader: TopicReader
    kind: ClassVar[str] = MESSAGES

    @classmethod
    def of(cls, source: SourceNode, topic: KafkaInput) -> MessageReader:
        """Returns the reader of a source; raises ``SchemaMismatchError`` if its records do not fit the input."""
        require_decodable(source, topic)
        return cls(source, topic, TopicReader(source.name, topic))

    def available(self, after: Position) -> Available | None:
        """Returns the next messages of the partitions that have some."""
        following = self._reader.available(after)
        return None if following is None else Available(following)

    def read(self, after: Position, until: Position, bad: BadRecords | None) -> pl.LazyFrame | None:
        """Returns the messages between two positions; those that are no records may be bad records."""
        messages = self._reader.read(after, until)
        if not messages:
            return None
        reject = None if bad is None else lambda _, record: bad.records.append(record)
        table = decode_messages(self.source, self.topic, messages_table(self.topic, messages), reject)
        frame = pl.from_arrow(table)
        assert isinstance(frame, pl.DataFrame), "a table is a frame"
        place = pl.format(place_of(self.topic.topic, "{}", "{}"), PARTITION, OFFSET)
        return frame.lazy().with_columns(place.alias(ORIGIN))

    def has_ended(self, after: Position) -> bool:
        """A topic never ends."""
        del after
        return False

    def unread(self, after: Position) -> str | None:
        """Returns a description of messages after a position, if there are some."""
        topic = self.topic.topic
        return None if self._reader.available(after) is None else f"further messages in the topic {topic!r}"

    def resume(self, read: Sequence[ReadFile], begun: Position | None) -> None:
        """Does nothing: a position has all offsets."""

    def close(self) -> None:
        """Ends the connections to the broker."""
        self._reader.close()
