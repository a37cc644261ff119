"""The queries of a soak: they read a topic, and write current totals to PostgreSQL and to a topic, on both engines.

Without ``ends`` they read until they are killed. Their progress is one line of JSON for each micro-batch in the file
``progress``.
"""

from __future__ import annotations

import logging
from typing import Final

import flowalg_sinks
import flowalg_spark
from attrs import frozen
from flowalg_kafka import Kafka
from flowalg_polars import streaming as local
from flowalg_sinks import PostgreSQL
from flowalg_spark.sinks import upsert
from flowalg_tools.monitoring import log_to

from flowalg import KV, BoundedOutOfOrderness, PCollection
from tests.components.spark_sinks import run_to_sinks, write_all
from tests.faults.kafka.on_spark import spark_session
from tests.faults.kafka.query import TopicQuery
from tests.faults.kafka.traffic import SCORES, totals
from tests.faults.soak.traffic import DISORDER, LATENESS

MEMORY: Final = {
    "spark.driver.memory": "1g",
    # By default, the JVM keeps the memory that garbage has needed, which would hide growth and look like it.
    "spark.driver.extraJavaOptions": "-XX:+UseSerialGC -XX:MinHeapFreeRatio=10 -XX:MaxHeapFreeRatio=30",
}


@frozen(kw_only=True)
class SoakQuery(TopicQuery):
    """A query of a soak. Its tables have the name of its engine."""

    conninfo: str
    per_batch: int = 20_000

    @property
    def pipeline(self) -> PCollection[KV[str, int]]:
        """The points of each player and ten seconds, corrected early and late."""
        return totals(LATENESS, early=5)

    @property
    def policy(self) -> BoundedOutOfOrderness:
        """The policy of the watermark."""
        return BoundedOutOfOrderness(DISORDER, partitions=self.input.partitions())

    @property
    def targets(self) -> dict[str, PostgreSQL | Kafka]:
        """The targets by their names."""
        return {"PostgreSQL": PostgreSQL(self.conninfo), "Kafka": Kafka(self.servers)}

    def logger(self) -> logging.Logger:
        """Returns the logger of the progress."""
        logger = logging.getLogger("flowalg.soak")
        logger.setLevel(logging.INFO)
        logger.propagate = False
        logger.addHandler(logging.FileHandler(self.folder / "progress"))
        return logger


@frozen(kw_only=True)
class LocalSoak(SoakQuery):
    """The query on the local engine."""

    def run(self) -> None:
        """Runs the query."""
        sinks = [
            flowalg_sinks.upsert(self.pipeline, target, table=self.name) for target in self.targets.values()
        ]
        local.run(
            self.pipeline,
            {SCORES: local.StreamInput(self.input, self.policy)},
            sink=sinks,
            checkpoint=self.checkpoint,
            follow=not self.ends,
            drain=self.ends,
            dead_letters=True,
            observers=[log_to(self.logger())],
        )


@frozen(kw_only=True)
class SparkSoak(SoakQuery):
    """The query on Spark."""

    def run(self) -> None:
        """Runs the query."""
        spark = spark_session(MEMORY)
        spark.streams.addListener(flowalg_spark.listener(log_to(self.logger())))
        stream = flowalg_spark.StreamInput(self.input, self.policy)
        signal = self.folder / "drain"
        panes = flowalg_spark.streaming.compile(
            self.pipeline, {SCORES: stream}, dead_letters=True, metrics=True, drain_signal_path=signal
        )
        sinks = [upsert(self.pipeline, target, table=self.name) for target in self.targets.values()]
        frame = panes.with_metrics()
        if self.ends:
            run_to_sinks(frame, sinks, self.checkpoint)
            flowalg_spark.streaming.drain(spark, signal)
            run_to_sinks(frame, sinks, self.checkpoint)
        else:
            writer = frame.writeStream.foreachBatch(write_all(sinks)).queryName(self.name)
            writer = writer.option("checkpointLocation", str(self.checkpoint))
            writer.trigger(processingTime="1 second").start().awaitTermination()
        spark.stop()


ENGINES: Final[dict[str, type[SoakQuery]]] = {"local": LocalSoak, "spark": SparkSoak}
