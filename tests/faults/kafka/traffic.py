"""The traffic of the checks: scores on a topic, some of them late, and some messages that are no scores."""

from __future__ import annotations

import importlib
import json
import random
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final, Literal

from attrs import frozen
from flowalg_kafka import AvroFormat
from flowalg_kafka.client import driver

from flowalg import (
    KV,
    Accumulation,
    AtCount,
    AtWatermark,
    FixedWindows,
    PCollection,
    Source,
    Sum,
)

START: Final = datetime(2024, 1, 1, tzinfo=UTC)
SECOND: Final = timedelta(seconds=1)


@frozen
class Score:
    """The points of a player at a time; ``number`` is that of the message."""

    number: int
    player: str
    points: int
    at: datetime


SCORES: Final = Source("scores", Score, event_time=lambda score: score.at)

MALFORMED: Final[Sequence[bytes | None]] = (
    b"",
    None,
    b"not JSON",
    b"[1, 2]",
    b"17",
    b"\xff\xfe",
    b'{"number": 1, "player": null, "points": 1, "at": "2024-01-01T00:00:00Z"}',
    b'{"number": 1, "player": "ann", "points": 1.5, "at": "2024-01-01T00:00:00Z"}',
    b'{"number": 1, "player": "ann", "points": 1, "at": "yesterday"}',
    b'{"number": 1, "player": "ann", "points": 1, "at": "2024-01-01T00:00:00Z"}{}',
    b'{"number": 1, "player": "ann", "points": 1, "at": "2024-01-01T00:00:00Z"',
    b'{"number": 1, "player": "\xff", "points": 1, "at": "2024-01-01T00:00:00Z"}',
    b'{"number": 99999999999999999999, "player": "ann", "points": 1, "at": "2024-01-01T00:00:00Z"}',
)
"""Values of messages that are no scores in JSON."""


@frozen
class Format:
    """A format of messages: how a score is written, and values that are no scores."""

    decoder: Literal["json"] | AvroFormat
    encode: Callable[[Score], bytes]
    malformed: Sequence[bytes | None]


def _encode_json(score: Score) -> bytes:
    document = {
        "number": score.number,
        "player": score.player,
        "points": score.points,
        "at": score.at.isoformat(),
        "ignored": [],
    }
    return json.dumps(document).encode()


JSON: Final = Format("json", _encode_json, MALFORMED)


def totals(lateness: timedelta = 30 * SECOND, *, early: int = 20) -> PCollection[KV[str, int]]:
    """Returns the points of each player and ten seconds, corrected after each ``early`` scores, and late."""
    points = SCORES.key_by(lambda score: score.player).map_values(lambda score: score.points)
    return points.window(
        FixedWindows(10 * SECOND),
        trigger=AtWatermark().with_early_firings(AtCount(early)).with_late_firings(AtCount(1)),
        accumulation=Accumulation.RETRACTING,
        allowed_lateness=lateness,
    ).combine_per_key(Sum())


@frozen
class Sent:
    """A message that was sent: its partition, its value, and its score, unless it is malformed."""

    partition: int
    value: bytes | None
    score: Score | None


def traffic(
    chance: random.Random, count: int, partitions: int, *, first: int = 0, format: Format = JSON
) -> Iterator[Sent]:
    """Yields messages: event times advance, 3% of the scores are late by up to two minutes, and 2% are malformed."""
    for number in range(first, first + count):
        partition = chance.randrange(partitions)
        if chance.random() < 0.02:
            yield Sent(partition, chance.choice(format.malformed), None)
            continue
        late = 120 * SECOND if chance.random() < 0.03 else 4 * SECOND
        at = START + number * SECOND / 50 - chance.random() * late
        score = Score(number, f"p{chance.randrange(40)}", chance.randrange(-20, 100), at)
        yield Sent(partition, format.encode(score), score)


@frozen
class Topics:
    """Creates, grows, deletes and fills topics."""

    servers: str

    def create(self, name: str, partitions: int = 1, **config: str) -> None:
        """Creates a topic; ``retention_ms`` is its ``retention.ms``."""
        settings = {key.replace("_", "."): value for key, value in config.items()}
        admin = importlib.import_module("confluent_kafka.admin")
        self._request("create_topics", [admin.NewTopic(name, partitions, 1, config=settings)])

    def grow(self, name: str, partitions: int) -> None:
        """Adds partitions to a topic, up to a number."""
        admin = importlib.import_module("confluent_kafka.admin")
        self._request("create_partitions", [admin.NewPartitions(name, partitions)])

    def delete(self, name: str) -> None:
        """Deletes a topic."""
        self._request("delete_topics", [name])

    def truncate(self, name: str, partition: int, before: int) -> None:
        """Deletes the messages of a partition before an offset, as retention does."""
        self._request("delete_records", [driver().TopicPartition(name, partition, before)])

    def _request(self, method: str, arguments: list[object]) -> None:
        admin = importlib.import_module("confluent_kafka.admin")
        client = admin.AdminClient({"bootstrap.servers": self.servers, "log_level": 2})
        for future in getattr(client, method)(arguments).values():
            future.result()

    def send(self, name: str, messages: Sequence[Sent]) -> None:
        """Sends messages to their partitions, in order, and waits until the broker has them."""
        producer = driver().Producer(
            {"bootstrap.servers": self.servers, "enable.idempotence": True, "log_level": 2}
        )
        for message in messages:
            while True:
                try:
                    producer.produce(name, value=message.value, partition=message.partition)
                    break
                except BufferError:
                    producer.poll(0.1)
        if left := producer.flush(120):
            raise RuntimeError(f"{left} messages were not sent to {name}")
