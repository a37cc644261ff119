"""Failures of topics on Spark: each must be an error that names it.

``python -m tests.faults.kafka.spark_failures SERVERS FOLDER`` tries them in a process of its own, since a
session needs the jars of Spark's connector when it starts. It prints a line for each, and returns 1 if one is not as
expected.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Final

from attrs import evolve, frozen
from flowalg_kafka import KafkaInput
from flowalg_spark import StreamInput, streaming

from flowalg import BoundedOutOfOrderness
from tests.faults.kafka.on_spark import spark_session
from tests.faults.kafka.traffic import MALFORMED, SCORES, SECOND, Sent, Topics, traffic

PARTITIONS: Final = 2
MESSAGES: Final = 100


@frozen
class SparkCase:
    """A new topic with messages, and the folder of a checkpoint."""

    servers: str
    folder: Path
    name: str

    @property
    def topics(self) -> Topics:
        """The topics of the broker."""
        return Topics(self.servers)

    def fill(self, first: int = 0) -> None:
        """Sends some messages."""
        sent = list(traffic(random.Random(first), MESSAGES, PARTITIONS, first=first))
        self.topics.send(self.name, sent)

    def read(self, *, timeout: timedelta = 30 * SECOND, dead_letters: bool = True) -> None:
        """Reads what the topic has from the checkpoint on."""
        topic = KafkaInput(self.servers, self.name, timeout=timeout)
        stream = StreamInput(topic, BoundedOutOfOrderness(5 * SECOND))
        rows = streaming.compile(SCORES, {SCORES: stream}, dead_letters=dead_letters)
        checkpoint = str(self.folder / self.name)
        writer = rows.writeStream.format("noop").option("checkpointLocation", checkpoint)
        writer.trigger(availableNow=True).start().awaitTermination()


def _no_broker(case: SparkCase) -> None:
    evolve(case, servers="127.0.0.1:1").read(timeout=3 * SECOND)


def _missing(case: SparkCase) -> None:
    evolve(case, name=f"{case.name}-missing").read()


def _deleted(case: SparkCase) -> None:
    case.read()
    case.topics.delete(case.name)
    case.read()


def _recreated(case: SparkCase) -> None:
    case.fill(MESSAGES)
    case.read()
    case.topics.delete(case.name)
    case.topics.create(case.name, PARTITIONS)
    case.fill()
    case.read()


def _lost(case: SparkCase) -> None:
    case.read()
    case.fill(MESSAGES)
    case.topics.truncate(case.name, 0, MESSAGES - 20)
    case.read()


def _malformed(case: SparkCase) -> None:
    name = f"{case.name}-malformed"
    case.topics.create(name)
    case.topics.send(name, [Sent(0, MALFORMED[7], None)])
    evolve(case, name=name).read(dead_letters=False)


SPARK_FAILURES: Final[Mapping[str, tuple[Callable[[SparkCase], None], tuple[str, ...]]]] = {
    "no broker": (_no_broker, ("TimeoutException",)),
    "a topic that does not exist": (_missing, ("UnknownTopicOrPartitionException",)),
    "a topic that was deleted": (_deleted, ("UnknownTopicOrPartitionException",)),
    "a topic that was deleted and created again": (_recreated, ("data", "failOnDataLoss")),
    "offsets that retention has deleted": (_lost, ("failOnDataLoss",)),
    "a message of another schema": (
        _malformed,
        ("partition 0, offset 0: source 'scores': points must be of type int64; got 1.5",),
    ),
}
"""What fails, and parts of the message."""


def unexpected_on_spark(case: SparkCase, failure: str) -> str | None:
    """Returns what is wrong with the error of a failure; ``None`` if it is the expected one."""
    fail, parts = SPARK_FAILURES[failure]
    case.topics.create(case.name, PARTITIONS)
    case.fill()
    try:
        fail(case)
    except Exception as error:  # Spark's errors have no common class
        text = str(error)
        return None if all(part in text for part in parts) else f"{type(error).__name__}: {text}"
    return "no error"


def main(servers: str, folder: Path) -> int:
    """Tries all failures. The output of Spark, which prints each error, is in ``log``."""
    folder.mkdir(parents=True, exist_ok=True)
    spark = spark_session(log=folder / "log")
    problems = 0
    for number, failure in enumerate(SPARK_FAILURES):
        wrong = unexpected_on_spark(SparkCase(servers, folder, f"spark-failure-{number}"), failure)
        problems += wrong is not None
        print(f"failure on Spark: {failure}: {'as expected' if wrong is None else wrong}", flush=True)
    spark.stop()
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], Path(sys.argv[2])))
