"""The progress of a table: its last batch and its topics, as the last message of a topic of its own.

The message is written in the transaction of the batch, so a reader of committed messages finds the last batch whose
rows are committed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

from attrs import asdict, field, frozen
from flowalg_sinks.databases.tables import Table
from flowalg_sinks.databases.target import SinkError, WrittenBatch

from flowalg.data.errors import SchemaMismatchError
from flowalg_kafka.client import Admin, Connection, Topic
from flowalg_kafka.fetching import fetch_once

_FIRST_LOOK: Final = 256
"""The number of offsets before the end that are read first."""


@frozen
class WrittenTopic:
    """A topic as a sink has written it: its id, the number of its partitions, and the columns of its rows."""

    id: str
    partitions: int
    columns: Mapping[str, str]

    @classmethod
    def of(cls, table: Table, topic: Topic) -> WrittenTopic:
        """Returns the topic of a table."""
        return cls(topic.id, len(topic.partitions), columns_of(table))


@frozen
class Progress:
    """The last batch of a table, and the topics that were written with it, by name."""

    batch: WrittenBatch
    topics: Mapping[str, WrittenTopic] = field(factory=dict)

    def encode(self) -> bytes:
        """Returns the progress as a message."""
        return json.dumps(asdict(self)).encode()

    @classmethod
    def decode(cls, data: bytes) -> Progress:
        """Returns the progress of a message."""
        document = json.loads(data)
        topics = {name: WrittenTopic(**topic) for name, topic in document["topics"].items()}
        return cls(WrittenBatch(**document["batch"]), topics)


def columns_of(table: Table) -> dict[str, str]:
    """Returns a description of each column of a table."""
    return {
        column.name: f"{column.kind.name}{'' if column.nullable else ' NOT NULL'}"
        f"{', in the primary key' if column.name in table.key else ''}"
        for column in table.columns
    }


def read_progress(connection: Connection, topic: str) -> Progress | None:
    """Returns the last progress in a topic; ``None`` if it has none, or does not exist."""
    admin = Admin(connection)
    if admin.topic(topic) is None:
        return None
    first, end = admin.earliest(topic, [0])[0], admin.latest(topic, [0])[0]
    count = _FIRST_LOOK
    start = end
    while start > first:
        start = max(first, end - count)
        messages = fetch_once(connection, topic, {0: (start, end)})
        if messages:
            value = messages[-1].value()
            assert value is not None, "a sink has written it"
            return Progress.decode(value)
        count *= 16
    return None


def require_topic_unchanged(table: Table, before: WrittenTopic, now: WrittenTopic) -> None:
    """Raises ``SinkError`` or ``SchemaMismatchError`` unless a topic is that of the earlier batches."""
    if before.id != now.id:
        raise SinkError(
            f"the topic {table.name!r} was deleted and created again: its id is {now.id}, and earlier batches were "
            f"written to {before.id}, so it lacks them; write to another topic, from a new checkpoint"
        )
    if before.partitions != now.partitions:
        raise SinkError(
            f"the topic {table.name!r} has {now.partitions} partitions, and earlier batches were written to "
            f"{before.partitions}: keys would move to other partitions, where their old values would remain; write to "
            "another topic, from a new checkpoint"
        )
    lines = [
        f"  {name} must be {now.columns.get(name, 'absent')}; got {before.columns.get(name, 'no such column')}"
        for name in {**now.columns, **before.columns}
        if now.columns.get(name) != before.columns.get(name)
    ]
    if lines:
        raise SchemaMismatchError(
            f"the messages of the topic {table.name!r} must have the columns of the sink:\n"
            + "\n".join(lines)
        )
