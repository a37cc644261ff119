"""Reads a topic in micro-batches: what is available after a position, and the messages between two positions.

A position has the id of the topic and, for each partition, the offset at which the query began to read it and the next
offset that it reads. A reader gives the same messages for the same two positions, unless Kafka has deleted some.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import TypeAlias, cast

from attrs import Factory, define, evolve, field, frozen

from flowalg.data.time import EPOCH
from flowalg_kafka.client import Admin, RawMessage, Topic, TopicError, connection_of
from flowalg_kafka.fetching import Fetcher
from flowalg_kafka.input import KafkaInput

Position: TypeAlias = tuple[object, ...]
"""The id of a topic, and the ``(partition, begin, next)`` of its partitions; empty before the first micro-batch."""


@frozen
class Offsets:
    """A position: for each partition the offset at which reading began, and the next one."""

    topic: str
    begin: Mapping[int, int]
    next: Mapping[int, int]

    @property
    def position(self) -> Position:
        """The position as plain values."""
        return (
            self.topic,
            *((partition, self.begin[partition], offset) for partition, offset in sorted(self.next.items())),
        )


def offsets_of(position: Position) -> Offsets:
    """Returns the offsets of a position that is not empty."""
    topic, *partitions = cast("tuple[str, *tuple[tuple[int, int, int], ...]]", position)
    return Offsets(
        topic,
        {partition: begin for partition, begin, _ in partitions},
        {partition: offset for partition, _, offset in partitions},
    )


def id_of(topic: KafkaInput) -> str:
    """Returns the id of a topic, which no other one ever has; raises ``TopicError`` if it does not exist."""
    admin = Admin(connection_of(topic))
    try:
        return admin.require(topic.topic).id
    finally:
        admin.close()


@define
class TopicReader:
    """Reads a topic for a source, which its errors name."""

    source: str
    input: KafkaInput
    _admin: Admin = field(default=Factory(lambda self: Admin(connection_of(self.input)), takes_self=True))
    _fetcher: Fetcher | None = None

    def available(self, after: Position) -> Position | None:
        """Returns the position after the next micro-batch; ``None`` if there are no messages.

        Raises ``TopicError`` if the topic does not exist, was deleted since, or lacks messages that follow a position,
        and if no broker answers within the timeout.
        """
        name = self.input.topic
        topic = self._topic(offsets_of(after) if after else None)
        latest = self._admin.latest(name, topic.partitions)
        earliest = self._admin.earliest(name, topic.partitions)
        if after:
            offsets = offsets_of(after)
            self._require_offsets(offsets.next, earliest, latest)
        else:
            offsets = Offsets(topic.id, {}, {})
        new = [partition for partition in topic.partitions if partition not in offsets.next]
        # Partitions that are added later are read from their beginning, or their first messages would be lost.
        begin = earliest if after else self._start(new, earliest, latest)
        begun = evolve(
            offsets,
            begin={**offsets.begin, **{partition: begin[partition] for partition in new}},
            next={**offsets.next, **{partition: begin[partition] for partition in new}},
        )
        following = evolve(begun, next=_advance(begun.next, latest, self.input.per_batch))
        waits = following.next == begun.next
        if waits and (offsets.next or self.input.start == "earliest"):
            return None
        return following.position

    def read(self, after: Position, until: Position) -> list[RawMessage]:
        """Returns the messages between two positions, by partition and offset."""
        target = offsets_of(until)
        before = offsets_of(after).next if after else {}
        ranges = {
            partition: (before.get(partition, target.begin[partition]), end)
            for partition, end in target.next.items()
        }
        wanted = {partition: bounds for partition, bounds in ranges.items() if bounds[0] < bounds[1]}
        if not wanted:
            return []
        if self._fetcher is None:
            self._fetcher = Fetcher(
                connection_of(self.input), self.input.topic, lambda offsets: self._check(target, offsets)
            )
            # A micro-batch that is repeated after a restart may no longer have its messages.
            self._check(target, {partition: start for partition, (start, _) in wanted.items()})
        self._fetcher.check = lambda offsets: self._check(target, offsets)
        return self._fetcher.fetch(wanted)

    def close(self) -> None:
        """Ends the connections and the threads of its clients. Without it they live until the reader is collected."""
        if self._fetcher is not None:
            self._fetcher.close()
            self._fetcher = None
        self._admin.close()

    def _topic(self, offsets: Offsets | None) -> Topic:
        name, where = self.input.topic, f"source {self.source!r}"
        topic = self._admin.topic(name)
        if topic is None and offsets is None:
            raise TopicError(
                f"{where}: the topic {name!r} does not exist at {self.input.servers}; create it before the query starts"
            )
        if topic is None:
            raise TopicError(
                f"{where}: the topic {name!r} was deleted after the query had read it; the checkpoint belongs to the "
                "deleted topic, so start the query with a new checkpoint once there is another topic"
            )
        if offsets is not None and topic.id != offsets.topic:
            raise TopicError(
                f"{where}: the topic {name!r} was deleted and created again: its id is {topic.id}, and the checkpoint "
                f"has offsets of the topic {offsets.topic}; start the query with a new checkpoint"
            )
        return topic

    def _check(self, target: Offsets, offsets: Mapping[int, int]) -> None:
        """Raises ``TopicError`` if a topic no longer has the messages from some offsets on."""
        name = self.input.topic
        topic = self._topic(target)
        partitions = [partition for partition in topic.partitions if partition in offsets]
        self._require_offsets(
            {partition: offsets[partition] for partition in partitions},
            self._admin.earliest(name, partitions),
            self._admin.latest(name, partitions),
        )

    def _require_offsets(
        self, offsets: Mapping[int, int], earliest: Mapping[int, int], latest: Mapping[int, int]
    ) -> None:
        where = f"source {self.source!r}: partition"
        for partition, offset in offsets.items():
            name = f"{partition} of the topic {self.input.topic!r}"
            if offset < earliest[partition]:
                lost = earliest[partition] - offset
                raise TopicError(
                    f"{where} {name} begins at the offset {earliest[partition]}, and the query goes on at {offset}: "
                    f"Kafka has deleted up to {lost} messages that were not read (retention); start the query with a "
                    "new checkpoint to go on without them, and keep messages for longer than the query may stop"
                )
            if offset > latest[partition]:
                raise TopicError(
                    f"{where} {name} ends at the offset {latest[partition]}, and the query has read up to {offset}: "
                    "Kafka has lost messages that were read, and new ones have their offsets; start the query with a "
                    "new checkpoint"
                )

    def _start(
        self, partitions: Sequence[int], earliest: Mapping[int, int], latest: Mapping[int, int]
    ) -> Mapping[int, int]:
        match self.input.start:
            case "earliest":
                return earliest
            case "latest":
                return latest
            case datetime() as start:
                millis = -((EPOCH - start) // timedelta(milliseconds=1))
                return {**latest, **self._admin.at(self.input.topic, partitions, millis)}


def _advance(begin: Mapping[int, int], end: Mapping[int, int], limit: int) -> dict[int, int]:
    """Returns the next offsets after at most ``limit`` messages, which the partitions share equally."""
    following = dict(begin)
    waiting = sorted((end[partition] - offset, partition) for partition, offset in begin.items())
    for number, (count, partition) in enumerate(waiting):
        taken = min(count, -(-limit // (len(waiting) - number)))
        following[partition] += taken
        limit -= taken
    return following
