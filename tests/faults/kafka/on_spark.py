"""The query from a topic to topics on Spark, in a process whose session has the jars of Spark's connector."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from attrs import field, frozen
from flowalg_spark import StreamInput, local_session, reshard, streaming
from flowalg_spark.frames.topics import connector
from flowalg_spark.sinks import Changelog, Upsert, changelog, upsert
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

from flowalg import BoundedOutOfOrderness
from tests.components.jars import resolve_jars
from tests.components.spark_sinks import Write, run_to_sinks
from tests.faults.kafka.query import TopicQuery
from tests.faults.kafka.traffic import SCORES, SECOND

PARTITIONS: Final = 2
_MORE_SHARDS: Final = 3
_PLANNED: Final = "a planned failure after a transaction"


def _fail(frame: DataFrame, batch: int) -> None:
    """Fails after the first micro-batch, since state is resharded after one."""
    if batch:
        raise RuntimeError(_PLANNED)


def spark_session(more: Mapping[str, str] | None = None, *, log: Path | None = None) -> SparkSession:
    """Starts a session with Spark's connector, with ``more`` settings, and with the output of the JVM in ``log``."""
    jars = ",".join(map(str, resolve_jars("spark-kafka", [connector()])))
    return local_session(
        "flowalg on Kafka", memory="2g", log=log, settings={"spark.jars": jars, **(more or {})}
    )


@frozen
class SparkTopics(TopicQuery):
    """A run on Spark. A ``calm`` one neither fails between transactions nor has its state divided."""

    calm: bool = field(default=False, kw_only=True)

    @property
    def policy(self) -> BoundedOutOfOrderness:
        """The policy of the watermark."""
        return BoundedOutOfOrderness(5 * SECOND, partitions=frozenset(map(str, range(PARTITIONS))))

    @property
    def sinks(self) -> Sequence[Upsert | Changelog]:
        """The current values and all panes; each table has a transaction of its own."""
        return (
            upsert(self.pipeline, self.target, table=self.name),
            changelog(self.pipeline, self.target, table=f"{self.name}-log"),
        )

    @property
    def signal(self) -> Path:
        """The folder of the signal that ends the input."""
        return self.folder / "drain"

    def run(self) -> None:
        """Reads what the topic has, and with ``ends`` ends the input.

        With ``ends`` the query before, unless it is calm, fails after one and after both transactions of a
        micro-batch. Its state is then divided into more shards, and Spark repeats the micro-batch from the new
        checkpoint.
        """
        spark = spark_session()
        if self.ends and not self.calm:
            for transactions in (1, 2):
                try:
                    self.read(fail_after=transactions)
                except StreamingQueryException as error:
                    if _PLANNED not in str(error):
                        raise
            self._reshard(spark)
        self.read()
        if self.ends:
            streaming.drain(spark, self.signal)
            self.read()
        spark.stop()

    @property
    def _is_resharded(self) -> bool:
        return (self.folder / "resharded").exists()

    @property
    def checkpoint(self) -> Path:
        """The folder of the checkpoint with the present number of shards."""
        return self.folder / ("wider" if self._is_resharded else "checkpoint")

    def _reshard(self, spark: SparkSession) -> None:
        """Divides the state into more shards, once. A process that was killed may have left a part of it."""
        if not self._is_resharded:
            shutil.rmtree(self.folder / "wider", ignore_errors=True)
            reshard(spark, self.checkpoint, self.folder / "wider", shards=_MORE_SHARDS)
            (self.folder / "resharded").touch()

    def read(self, *, fail_after: int | None = None) -> None:
        """Reads what the topic has; with ``fail_after`` it fails after so many transactions of a micro-batch."""
        parts: list[Write] = [*self.sinks]
        if fail_after is not None:
            parts.insert(fail_after, _fail)
        panes = streaming.compile(
            self.pipeline,
            {SCORES: StreamInput(self.input, self.policy)},
            shards=_MORE_SHARDS if self._is_resharded else None,
            dead_letters=True,
            drain_signal_path=self.signal,
        ).with_drops()
        run_to_sinks(panes, parts, self.checkpoint)
