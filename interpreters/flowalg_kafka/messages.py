"""Messages as an Arrow table, which every engine has them in before they are decoded."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import methodcaller
from typing import Final

import pyarrow as pa

from flowalg.data.values import MAX_INTEGER, MIN_INTEGER
from flowalg_kafka.client import RawMessage
from flowalg_kafka.input import Header, KafkaInput

_TYPES: Final[Mapping[str, pa.DataType]] = {
    "partition": pa.int64(),
    "offset": pa.int64(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "value": pa.large_binary(),
    "key": pa.large_binary(),
    "headers": pa.list_(pa.struct([pa.field("key", pa.string()), pa.field("value", pa.binary())])),
}
MESSAGES: Final = pa.schema(_TYPES)
"""The columns of messages. A message without a timestamp has null."""


def columns_of(topic: KafkaInput) -> tuple[str, ...]:
    """Returns the columns that the records of a topic need: always all except for the key and the headers."""
    whole = callable(topic.format)
    unread = {
        "key": not whole and "key" not in topic.fields.values(),
        "headers": not whole and not any(isinstance(part, Header) for part in topic.fields.values()),
    }
    return tuple(name for name in MESSAGES.names if not unread.get(name))


def messages_table(topic: KafkaInput, messages: Sequence[RawMessage]) -> pa.Table:
    """Returns messages of the client library as a table."""
    # A list comprehension or methodcaller takes half the time of a function for each message.
    read: Mapping[str, Callable[[], list[object]]] = {
        "partition": lambda: list(map(methodcaller("partition"), messages)),
        "offset": lambda: list(map(methodcaller("offset"), messages)),
        "timestamp": lambda: [
            _micros(millis) if kind else None for kind, millis in map(methodcaller("timestamp"), messages)
        ],
        "value": lambda: list(map(methodcaller("value"), messages)),
        "key": lambda: list(map(methodcaller("key"), messages)),
        "headers": lambda: list(map(_headers, messages)),
    }
    names = columns_of(topic)
    schema = pa.schema([MESSAGES.field(name) for name in names])
    return pa.Table.from_pydict({name: read[name]() for name in names}, schema)


def _micros(millis: int) -> int:
    """Returns milliseconds in microseconds: of those beyond 64 bits the most, which is beyond all years too."""
    return min(max(1000 * millis, MIN_INTEGER), MAX_INTEGER)


def _headers(message: RawMessage) -> list[dict[str, object]]:
    return [{"key": name, "value": value} for name, value in message.headers() or ()]
