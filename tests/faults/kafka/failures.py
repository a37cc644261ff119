"""Failures of topics and writers: each must be an error that names it, or a wait that ends."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from threading import Timer
from typing import Final

import flowalg_sinks
from attrs import frozen
from flowalg_kafka import Kafka, KafkaInput
from flowalg_polars import streaming
from flowalg_polars.streaming import StreamInput
from flowalg_sinks import WrittenBatch
from flowalg_sinks.pane_sink import SinkBatch

from flowalg import BoundedOutOfOrderness, FlowalgError
from flowalg.runs.output import Output
from tests.components.broker import Broker
from tests.faults.kafka.traffic import SCORES, SECOND, Topics, totals, traffic

PARTITIONS: Final = 2
MESSAGES: Final = 300


@frozen
class Case:
    """A new topic with messages, and the folder of a checkpoint."""

    broker: Broker
    folder: Path
    name: str

    @property
    def topics(self) -> Topics:
        """The topics of the broker."""
        return Topics(self.broker.servers)

    def fill(self, first: int = 0) -> None:
        """Sends some messages."""
        chance = random.Random(first)
        self.topics.send(self.name, list(traffic(chance, MESSAGES, PARTITIONS, first=first)))

    def read(self, *, timeout: timedelta = 30 * SECOND, per_batch: int = 10_000) -> int:
        """Reads what the topic has from the checkpoint on, and returns the number of micro-batches."""
        topic = KafkaInput(self.broker.servers, self.name, timeout=timeout, per_batch=per_batch)
        return sum(1 for _ in self.batches(topic))

    def batches(self, topic: KafkaInput) -> Iterator[object]:
        """Runs the query on a topic."""
        stream = StreamInput(topic, BoundedOutOfOrderness(5 * SECOND))
        checkpoint = self.folder / self.name
        return streaming.batches(totals(), {SCORES: stream}, checkpoint=checkpoint, dead_letters=True)

    def write(self, target: Kafka, batch: int, *, query: str = "query") -> bool:
        """Writes an empty micro-batch to a table of the name of the topic."""
        sink = flowalg_sinks.upsert(totals(), target, table=f"{self.name}-out")
        return sink.write(SinkBatch(Output(()), None), WrittenBatch(query, batch))


def _missing(case: Case) -> None:
    Case(case.broker, case.folder, f"{case.name}-missing").read()


def _deleted(case: Case) -> None:
    case.read()
    case.topics.delete(case.name)
    case.read()


def _recreated(case: Case) -> None:
    case.read()
    case.topics.delete(case.name)
    case.topics.create(case.name, PARTITIONS)
    case.fill()
    case.fill()
    case.read()


def _lost(case: Case) -> None:
    case.read()
    case.fill(MESSAGES)
    case.topics.truncate(case.name, 0, 2 * MESSAGES // 2 - 20)
    case.read()


def _lost_while_begun(case: Case) -> None:
    topic = KafkaInput(case.broker.servers, case.name, per_batch=50)
    query = case.batches(topic)
    next(query)
    next(query)  # its offsets are in the checkpoint, and it is not committed
    del query
    case.topics.truncate(case.name, 0, 45)
    case.read()


def _away_at_start(case: Case) -> None:
    case.broker.stop()
    try:
        case.read(timeout=SECOND)
    finally:
        case.broker.start()


def _fenced(case: Case) -> None:
    first, second = Kafka(case.broker.servers), Kafka(case.broker.servers)
    case.write(first, 0)
    case.write(second, 1)
    case.write(first, 1)


def _other_query(case: Case) -> None:
    case.write(Kafka(case.broker.servers), 0)
    case.write(Kafka(case.broker.servers), 0, query="another")


def _target_grown(case: Case) -> None:
    case.write(Kafka(case.broker.servers), 0)
    case.topics.grow(f"{case.name}-out", 4)
    case.write(Kafka(case.broker.servers), 1)


def _target_recreated(case: Case) -> None:
    case.write(Kafka(case.broker.servers), 0)
    case.topics.delete(f"{case.name}-out")
    case.write(Kafka(case.broker.servers), 1)


FAILURES: Final[Mapping[str, tuple[Callable[[Case], None], str]]] = {
    "a topic that does not exist": (_missing, "does not exist"),
    "a topic that was deleted": (_deleted, "was deleted after the query had read it"),
    "a topic that was deleted and created again": (_recreated, "was deleted and created again"),
    "offsets that retention has deleted": (_lost, "messages that were not read (retention)"),
    "offsets of a micro-batch that must be repeated": (
        _lost_while_begun,
        "messages that were not read (retention)",
    ),
    "no broker": (_away_at_start, "no broker at"),
    "a second writer of a table": (_fenced, "has another writer"),
    "a writer from a new checkpoint": (_other_query, "a new checkpoint restarts the batch ids"),
    "a target that has grown": (_target_grown, "keys would move to other partitions"),
    "a target that was deleted": (_target_recreated, "so it lacks them"),
}
"""What fails, and a part of the message."""


def unexpected(case: Case, failure: str) -> str | None:
    """Returns what is wrong with the error of a failure; ``None`` if it is the expected one."""
    fail, message = FAILURES[failure]
    case.topics.create(case.name, PARTITIONS)
    case.fill()
    try:
        fail(case)
    except FlowalgError as error:
        return None if message in str(error) else f"{failure}: {type(error).__name__}: {error}"
    return f"{failure}: no error"


def waits_for_broker(case: Case) -> str | None:
    """Returns what is wrong if a query waits for a broker that is away, in the middle of a run and at a restart."""
    case.topics.create(case.name, PARTITIONS)
    case.fill()
    topic = KafkaInput(case.broker.servers, case.name, per_batch=50)
    expected = -(-MESSAGES // 50)
    query = case.batches(topic)
    next(query)
    case.broker.stop(kill=True)
    starter = Timer(1.0, case.broker.start)
    starter.start()
    found = 1 + sum(1 for _ in query)
    starter.join()
    case.fill(MESSAGES)
    case.broker.stop()
    starter = Timer(1.0, case.broker.start)
    starter.start()
    with suppress(StopIteration):
        found += case.read(per_batch=50)
    starter.join()
    return (
        None if found == 2 * expected else f"a broker that is away: {found} micro-batches of {2 * expected}"
    )
