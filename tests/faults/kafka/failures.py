"""Failures of topics and writers on both engines: each must be an error that names it, or a wait that ends."""

from __future__ import annotations

import random
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from threading import Timer
from typing import ClassVar, Final

import flowalg_sinks
from attrs import evolve, frozen
from flowalg_kafka import Kafka, KafkaInput
from flowalg_polars import streaming
from flowalg_polars.streaming import StreamInput
from flowalg_sinks import WrittenBatch
from flowalg_sinks.pane_sink import SinkBatch

from flowalg import BoundedOutOfOrderness, FlowalgError
from flowalg.runs.output import Output
from tests.components.broker import Broker
from tests.faults.kafka.traffic import MALFORMED, SCORES, SECOND, Sent, Topics, totals, traffic
from tests.faults.subject import Subject

PARTITIONS: Final = 2
MESSAGES: Final = 300
POLICY: Final = BoundedOutOfOrderness(5 * SECOND)


@frozen
class Case(ABC):
    """A new topic with messages, and the folder of a checkpoint, on an engine."""

    servers: str
    folder: Path
    name: str

    errors: ClassVar[type[Exception]] = FlowalgError
    """The class of the engine's errors."""

    @property
    def topics(self) -> Topics:
        """The topics of the broker."""
        return Topics(self.servers)

    @property
    def target(self) -> Kafka:
        """The broker, as a target with new clients."""
        return Kafka(self.servers)

    def fill(self, first: int = 0) -> None:
        """Sends some messages."""
        chance = random.Random(first)
        self.topics.send(self.name, list(traffic(chance, MESSAGES, PARTITIONS, first=first)))

    @abstractmethod
    def read(self, *, timeout: timedelta = 30 * SECOND, dead_letters: bool = True) -> None:
        """Reads what the topic has from the checkpoint on."""

    def unexpected(self, failure: str) -> str | None:
        """Returns what is wrong with the error of a failure; ``None`` if it is the expected one."""
        fail, *parts = FAILURES[failure]
        self.topics.create(self.name, PARTITIONS)
        self.fill()
        try:
            fail(self)
        except self.errors as error:
            text = str(error)
            expected = parts[isinstance(self, SparkCase)]
            return None if expected and expected in text else f"{failure}: {type(error).__name__}: {error}"
        return f"{failure}: no error"


@frozen
class LocalCase(Case):
    """A case on the local engine."""

    def read(self, *, timeout: timedelta = 30 * SECOND, dead_letters: bool = True) -> None:
        """Reads what the topic has from the checkpoint on."""
        topic = KafkaInput(self.servers, self.name, timeout=timeout)
        list(self.batches(topic, dead_letters=dead_letters))

    def batches(self, topic: KafkaInput, *, dead_letters: bool = True) -> Iterator[object]:
        """Runs the query on a topic."""
        inputs = {SCORES: StreamInput(topic, POLICY)}
        checkpoint = self.folder / self.name
        return streaming.batches(totals(), inputs, checkpoint=checkpoint, dead_letters=dead_letters)

    def write(self, target: Kafka, batch: int, *, query: str = "query") -> bool:
        """Writes an empty micro-batch to a table of the name of the topic."""
        sink = flowalg_sinks.upsert(totals(), target, table=f"{self.name}-out")
        return sink.write(SinkBatch(Output(()), None), WrittenBatch(query, batch))


@frozen
class SparkCase(Case):
    """A case on Spark, in a process whose session has the jars of the connector."""

    errors = Exception  # Spark's have no common class

    def read(self, *, timeout: timedelta = 30 * SECOND, dead_letters: bool = True) -> None:
        """Reads what the topic has from the checkpoint on."""
        import flowalg_spark

        stream = flowalg_spark.StreamInput(KafkaInput(self.servers, self.name, timeout=timeout), POLICY)
        rows = flowalg_spark.streaming.compile(SCORES, {SCORES: stream}, dead_letters=dead_letters)
        checkpoint = str(self.folder / self.name)
        writer = rows.writeStream.format("noop").option("checkpointLocation", checkpoint)
        writer.trigger(availableNow=True).start().awaitTermination()


@frozen
class SparkFailures(Subject):
    """All failures on Spark, which its log has."""

    servers: str

    def run(self) -> None:
        """Tries all failures; the process ends with 1 if one is not as expected."""
        from tests.faults.kafka.on_spark import spark_session

        spark = spark_session(log=self.folder / "spark.log")
        problems = 0
        for number, failure in enumerate(failures_of(SparkCase)):
            wrong = SparkCase(self.servers, self.folder, f"spark-failure-{number}").unexpected(failure)
            problems += wrong is not None
            print(f"failure on Spark: {failure}: {wrong or 'as expected'}", flush=True)
        spark.stop()
        sys.exit(min(problems, 1))


def _no_broker(case: Case) -> None:
    evolve(case, servers="127.0.0.1:1").read(timeout=3 * SECOND)


def _missing(case: Case) -> None:
    evolve(case, name=f"{case.name}-missing").read()


def _deleted(case: Case) -> None:
    case.read()
    case.topics.delete(case.name)
    case.read()


def _recreated(case: Case, fills: int = 1) -> None:
    case.fill(MESSAGES)
    case.read()
    case.topics.delete(case.name)
    case.topics.create(case.name, PARTITIONS)
    for _ in range(fills):
        case.fill()
    case.read()


def _recreated_with_more(case: Case) -> None:
    _recreated(case, fills=3)


def _lost(case: Case) -> None:
    case.read()
    case.fill(MESSAGES)
    case.topics.truncate(case.name, 0, MESSAGES - 20)
    case.read()


def _malformed(case: Case) -> None:
    name = f"{case.name}-malformed"
    case.topics.create(name)
    case.topics.send(name, [Sent(0, MALFORMED[7], None)])
    evolve(case, name=name).read(dead_letters=False)


def _lost_while_begun(case: LocalCase) -> None:
    topic = KafkaInput(case.servers, case.name, per_batch=50)
    query = case.batches(topic)
    next(query)
    next(query)  # its offsets are in the checkpoint, and it is not committed
    del query
    case.topics.truncate(case.name, 0, 45)
    case.read()


def _fenced(case: LocalCase) -> None:
    first, second = case.target, case.target
    case.write(first, 0)
    case.write(second, 1)
    case.write(first, 1)


def _other_query(case: LocalCase) -> None:
    case.write(case.target, 0)
    case.write(case.target, 0, query="another")


def _target_grown(case: LocalCase) -> None:
    case.write(case.target, 0)
    case.topics.grow(f"{case.name}-out", 4)
    case.write(case.target, 1)


def _target_recreated(case: LocalCase) -> None:
    case.write(case.target, 0)
    case.topics.delete(f"{case.name}-out")
    case.write(case.target, 1)


_RETENTION: Final = "messages that were not read (retention)"
_RECREATED: Final = "was deleted and created again"
_UNKNOWN: Final = "UnknownTopicOrPartitionException"
_TYPE: Final = "partition 0, offset 0: source 'scores': points must be of type int64; got 1.5"

FAILURES: Final[Mapping[str, tuple[Callable[..., None], str, str]]] = {
    "no broker": (_no_broker, "no broker at", "TimeoutException"),
    "a topic that does not exist": (_missing, "does not exist", _UNKNOWN),
    "a topic that was deleted": (_deleted, "was deleted after the query had read it", _UNKNOWN),
    "a topic that was deleted and created again": (_recreated, _RECREATED, "failOnDataLoss"),
    "a topic that was created again with more messages": (_recreated_with_more, _RECREATED, ""),
    "offsets that retention has deleted": (_lost, _RETENTION, "failOnDataLoss"),
    "a message of another schema": (_malformed, _TYPE, _TYPE),
    "offsets of a micro-batch that must be repeated": (_lost_while_begun, _RETENTION, ""),
    "a second writer of a table": (_fenced, "has another writer", ""),
    "a writer from a new checkpoint": (_other_query, "a new checkpoint restarts the batch ids", ""),
    "a target that has grown": (_target_grown, "keys would move to other partitions", ""),
    "a target that was deleted": (_target_recreated, "so it lacks them", ""),
}
"""What fails, and a part of the message on the local engine and on Spark; empty where it is not tried."""


def failures_of(engine: type[Case]) -> list[str]:
    """Returns the failures that are tried on an engine."""
    return [name for name, (_, *parts) in FAILURES.items() if parts[engine is SparkCase]]


def waits_for_broker(broker: Broker, case: LocalCase) -> str | None:
    """Returns what is wrong if a query waits for a broker that is away, in the middle of a run and at a restart."""
    case.topics.create(case.name, PARTITIONS)
    case.fill()
    topic = KafkaInput(case.servers, case.name, per_batch=50)
    expected = -(-MESSAGES // 50)
    query = case.batches(topic)
    next(query)
    broker.stop(kill=True)
    starter = Timer(1.0, broker.start)
    starter.start()
    count = 1 + sum(1 for _ in query)
    starter.join()
    case.fill(MESSAGES)
    broker.stop()
    starter = Timer(1.0, broker.start)
    starter.start()
    with suppress(StopIteration):
        count += sum(1 for _ in case.batches(topic))
    starter.join()
    return (
        None if count == 2 * expected else f"a broker that is away: {count} micro-batches of {2 * expected}"
    )
