"""Fetches the messages between two offsets of each partition, in the order of their offsets."""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Callable, Mapping
from itertools import groupby
from operator import methodcaller
from typing import Any, Final

from attrs import define, field

from flowalg_kafka.client import Admin, Connection, RawMessage, TopicError, driver

_GROUP: Final = "flowalg"
"""The consumer group, which the client library requires; nothing is committed to it."""

_BACKOFF: Final = 10
"""How long the client pauses when it has fetched enough ahead, in milliseconds; its default of a second is most of the
time of a micro-batch."""

_CHUNK: Final = 10_000
_SECONDS: Final = 0.01
"""How long the client gathers a chunk; it takes all of this time unless the chunk is full."""

_ONCE: Final = {"fetch_wait_max_ms": 10}
"""The option of a consumer that reads once: a transaction ends with an offset that has no message, so that the end is
known by an empty answer only, for which the broker waits half a second by default."""

_MOST_AHEAD: Final = 200_000
"""The number of fetched messages of a partition beyond what is wanted; the partition is paused then."""


@define
class Fetcher:
    """Reads ranges of offsets of a topic, by a consumer that fetches ahead.

    Only committed messages are read. ``check`` is called when a partition is unknown or its offset out of range: it
    raises the error that describes why. ``options`` are further ones of the consumer.
    """

    connection: Connection
    topic: str
    check: Callable[[Mapping[int, int]], None]
    options: Mapping[str, object] = field(factory=dict, kw_only=True)
    _consumer: Any = None
    _next: dict[int, int] = field(factory=dict)
    _reached: dict[int, int] = field(factory=dict)
    _ahead: dict[int, list[RawMessage]] = field(factory=dict)
    _paused: set[int] = field(factory=set)

    def fetch(self, ranges: Mapping[int, tuple[int, int]]) -> list[RawMessage]:
        """Returns the messages of each partition from the first offset and before the second, by partition.

        Raises ``TopicError`` if no message comes within the timeout of the connection.
        """
        if any(self._next.get(partition) != start for partition, (start, _) in ranges.items()):
            self._assign({partition: start for partition, (start, _) in ranges.items()})
        self._wait(ranges)
        messages: list[RawMessage] = []
        for partition, (_, end) in sorted(ranges.items()):
            ahead = self._ahead[partition]
            count = bisect_left(ahead, end, key=lambda message: message.offset())
            messages += ahead[:count]
            self._ahead[partition] = ahead[count:]
            self._next[partition] = end
        self._resume()
        return messages

    def _assign(self, starts: Mapping[int, int]) -> None:
        """Starts to fetch some partitions, in addition to those that are fetched already, from other offsets."""
        if self._consumer is None:
            self._consumer = self.connection.client(
                driver().Consumer,
                group_id=_GROUP,
                enable_auto_commit=False,
                auto_offset_reset="error",
                fetch_queue_backoff_ms=_BACKOFF,
                enable_partition_eof=True,
                isolation_level="read_committed",
                **self.options,
            )
        for partition, start in starts.items():
            if self._next.get(partition) != start:
                self._next[partition] = self._reached[partition] = start
                self._ahead[partition] = []
        following = {
            partition: ahead[-1].offset() + 1 if (ahead := self._ahead[partition]) else start
            for partition, start in self._next.items()
        }
        partitions = [driver().TopicPartition(self.topic, *position) for position in following.items()]
        self._consumer.assign(partitions)
        self._paused.clear()

    def _wait(self, ranges: Mapping[int, tuple[int, int]]) -> None:
        """Fetches until all messages of some ranges are there."""
        last = time.monotonic()
        error: object = "no messages"
        while any(self._reached[partition] < end for partition, (_, end) in ranges.items()):
            received = False
            messages: list[RawMessage] = self._consumer.consume(_CHUNK, _SECONDS)
            events = [message for message in messages if message.error() is not None]
            if events:
                messages = [message for message in messages if message.error() is None]
            for partition, arrived in groupby(messages, methodcaller("partition")):
                ahead = self._ahead[partition]
                ahead.extend(arrived)
                self._reached[partition] = ahead[-1].offset() + 1
                received = True
            for event in events:
                failed = event.error()
                assert failed is not None, "it is an event"
                if failed.name() == "_PARTITION_EOF":
                    partition = event.partition()
                    self._reached[partition] = max(self._reached[partition], event.offset())
                    received = True
                else:
                    error = failed.str()
                    self._examine(failed.name())
            if received:
                last = time.monotonic()
                self._pause(ranges)
            elif time.monotonic() - last > self.connection.seconds:
                raise self.connection.unanswered(error)

    def _examine(self, error: str) -> None:
        if error in (
            "_AUTO_OFFSET_RESET",
            "OFFSET_OUT_OF_RANGE",
            "_UNKNOWN_PARTITION",
            "UNKNOWN_TOPIC_OR_PART",
        ):
            self.check(self._next)
        if error == "_AUTO_OFFSET_RESET":
            # The offsets are there again, or were never lost: the consumer does not go on by itself.
            self._next, starts = {}, dict(self._next)
            self._assign(starts)
        if error.endswith(("AUTHORIZATION_FAILED", "_AUTHENTICATION")):
            raise TopicError(
                f"{self.connection.servers} does not allow reading the topic {self.topic!r}: {error}"
            )

    def _pause(self, ranges: Mapping[int, tuple[int, int]]) -> None:
        """Pauses partitions that are far ahead of what is wanted."""
        full = {
            partition
            for partition, ahead in self._ahead.items()
            if partition not in self._paused
            and len(ahead) > _MOST_AHEAD
            and self._reached[partition] >= ranges.get(partition, (0, 0))[1]
        }
        if full:
            self._consumer.pause([driver().TopicPartition(self.topic, partition) for partition in full])
            self._paused |= full

    def _resume(self) -> None:
        short = {partition for partition in self._paused if len(self._ahead[partition]) <= _MOST_AHEAD // 2}
        if short:
            self._consumer.resume([driver().TopicPartition(self.topic, partition) for partition in short])
            self._paused -= short

    def close(self) -> None:
        """Closes the consumer, whose threads end."""
        consumer, self._consumer = self._consumer, None
        if consumer is not None:
            consumer.close()


def fetch_once(connection: Connection, topic: str, ranges: Mapping[int, tuple[int, int]]) -> list[RawMessage]:
    """Returns the messages in ranges of offsets that the topic has, by a consumer of its own."""
    wanted = {partition: bounds for partition, bounds in ranges.items() if bounds[0] < bounds[1]}
    if not wanted:
        return []
    fetcher = Fetcher(connection, topic, lambda _: None, options=_ONCE)
    try:
        return fetcher.fetch(wanted)
    finally:
        fetcher.close()


def fetch_all(connection: Connection, topic: str) -> list[RawMessage]:
    """Returns the committed messages that a topic has."""
    admin = Admin(connection)
    partitions = admin.require(topic).partitions
    first, end = admin.earliest(topic, partitions), admin.latest(topic, partitions)
    return fetch_once(
        connection, topic, {partition: (first[partition], end[partition]) for partition in partitions}
    )
