"""The queries of a soak: ``python -m tests.faults.soak.query ENGINE FOLDER SERVERS TOPIC CONNINFO MODE``.

``ENGINE`` is ``local`` or ``spark``. The query reads the topic from its checkpoint on, and writes the table ``ENGINE``
in PostgreSQL and the topic ``ENGINE``. With the mode ``follow`` it reads until it is killed, and with ``drain`` it ends
the input where the topic ends. Its progress is one line of JSON for each micro-batch in ``FOLDER/progress``.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

import flowalg_sinks
import flowalg_spark
from attrs import frozen
from flowalg_kafka import Kafka, KafkaInput
from flowalg_polars import streaming as local
from flowalg_sinks import PostgreSQL
from flowalg_spark.sinks import upsert
from flowalg_tools.monitoring import log_to

from tests.components.spark_sinks import write_all
from tests.faults.kafka.on_spark import spark_session
from tests.faults.kafka.traffic import SCORES
from tests.faults.soak.traffic import policy, totals

PER_BATCH: Final = 20_000
MEMORY: Final = {
    "spark.driver.memory": "1g",
    # By default, the JVM keeps the memory that garbage has needed, which would hide growth and look like it.
    "spark.driver.extraJavaOptions": "-XX:+UseSerialGC -XX:MinHeapFreeRatio=10 -XX:MaxHeapFreeRatio=30",
}


@frozen
class Query:
    """A query: where its checkpoint, its input and its tables are. Its tables have the name of its engine."""

    engine: str
    folder: Path
    servers: str
    topic: str
    conninfo: str

    @property
    def arguments(self) -> list[str]:
        """The arguments of the command."""
        return [self.engine, str(self.folder), self.servers, self.topic, self.conninfo]

    @property
    def targets(self) -> dict[str, PostgreSQL | Kafka]:
        """The targets by their names."""
        return {"PostgreSQL": PostgreSQL(self.conninfo), "Kafka": Kafka(self.servers)}

    @property
    def input(self) -> KafkaInput:
        """The topic."""
        return KafkaInput(self.servers, self.topic, per_batch=PER_BATCH)

    def logger(self) -> logging.Logger:
        """Returns the logger of the progress."""
        logger = logging.getLogger("flowalg.soak")
        logger.setLevel(logging.INFO)
        logger.propagate = False
        logger.addHandler(logging.FileHandler(self.folder / "progress"))
        return logger


def run_local(query: Query, *, drain: bool) -> None:
    """Runs the query on the local engine."""
    local.run(
        totals(),
        {SCORES: local.StreamInput(query.input, policy(query.input.partitions()))},
        sink=[
            flowalg_sinks.upsert(totals(), target, table=query.engine) for target in query.targets.values()
        ],
        checkpoint=query.folder / "checkpoint",
        follow=not drain,
        drain=drain,
        dead_letters=True,
        observers=[log_to(query.logger())],
    )


def run_on_spark(query: Query, *, drain: bool) -> None:
    """Runs the query on Spark."""
    spark = spark_session(MEMORY)
    spark.streams.addListener(flowalg_spark.listener(log_to(query.logger())))
    stream = flowalg_spark.StreamInput(query.input, policy(query.input.partitions()))
    signal = query.folder / "drain"
    panes = flowalg_spark.streaming.compile(
        totals(), {SCORES: stream}, dead_letters=True, metrics=True, drain_signal_path=signal
    )
    sinks = [upsert(totals(), target, table=query.engine) for target in query.targets.values()]

    writer = panes.with_metrics().writeStream.foreachBatch(write_all(sinks)).queryName(query.engine)
    writer = writer.option("checkpointLocation", str(query.folder / "checkpoint"))
    if drain:
        writer.trigger(availableNow=True).start().awaitTermination()
        flowalg_spark.streaming.drain(spark, signal)
        writer.trigger(availableNow=True).start().awaitTermination()
    else:
        writer.trigger(processingTime="1 second").start().awaitTermination()
    spark.stop()


ENGINES: Final[dict[str, Callable[..., None]]] = {"local": run_local, "spark": run_on_spark}


if __name__ == "__main__":
    engine, where, broker, name, database, how = sys.argv[1:]
    ENGINES[engine](Query(engine, Path(where), broker, name, database), drain=how == "drain")
