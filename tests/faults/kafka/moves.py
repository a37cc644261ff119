"""A query over a topic that moves from the local engine to Spark and back, while the topic grows."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import flowalg_spark
import pytest
from attrs import evolve, frozen
from flowalg_polars import streaming as local
from flowalg_shard.stored_query import MessagesRead, StoredQuery
from flowalg_spark import StreamInput
from pyspark.sql import SparkSession

from flowalg.errors import CheckpointError
from tests.components.broker import Broker
from tests.faults.harness import QueryFailed, finish
from tests.faults.kafka.kills import differences
from tests.faults.kafka.on_spark import PARTITIONS, SparkTopics, spark_session
from tests.faults.kafka.outcome import Outcome
from tests.faults.kafka.query import TopicQuery
from tests.faults.kafka.traffic import SCORES, Sent, Topics, traffic

_SIZE: Final = 150
_PARTS: Final = 3


def _part(number: int) -> Sequence[Sent]:
    """Returns the messages that one of the three runs finds; the topic has a partition more from the second one on."""
    partitions = PARTITIONS + (number > 0)
    return list(traffic(random.Random(number), _SIZE, partitions, first=number * _SIZE))


@frozen
class MovedTopics(TopicQuery):
    """A run on the local engine, on Spark, and on the local engine again."""

    def run(self) -> None:
        """Runs the query on one engine after the other, each over more messages."""
        spark = spark_session()
        first, last = self.folder / "local", self.folder / "local-again"
        middle = SparkTopics(self.folder, self.servers, self.topic, self.name, calm=True)
        inputs = {SCORES: StreamInput(self.input, middle.policy)}
        topics = Topics(self.servers)
        topics.send(self.topic, _part(0))
        self._run_on_local(middle, first)
        query = local.read_query(first)
        topics.grow(self.topic, PARTITIONS + 1)
        topics.send(self.topic, _part(1))
        self._require_rejected(spark, query, middle)
        flowalg_spark.write_query(
            spark,
            query,
            self.pipeline,
            inputs,
            middle.checkpoint,
            dead_letters=True,
            drain_signal_path=middle.signal,
        )
        middle.read()
        topics.send(self.topic, _part(2))
        query = flowalg_spark.read_query(
            spark,
            middle.checkpoint,
            self.pipeline,
            inputs,
            dead_letters=True,
            drain_signal_path=middle.signal,
        )
        local.write_query(query, self.pipeline, last, shards=3, dead_letters=True)
        self._run_on_local(middle, last, shards=3, drain=True)
        spark.stop()

    def _run_on_local(
        self, query: SparkTopics, checkpoint: Path, *, shards: int = 1, drain: bool = False
    ) -> None:
        stream = local.StreamInput(self.input, query.policy)
        local.run(
            self.pipeline,
            {SCORES: stream},
            sink=self.sinks,
            checkpoint=checkpoint,
            shards=shards,
            drain=drain,
            dead_letters=True,
        )

    def _require_rejected(self, spark: SparkSession, query: StoredQuery, moved: SparkTopics) -> None:
        """Fails unless a move to another topic is rejected, and has written nothing."""
        other = evolve(self.input, topic=f"{self.topic}-other")
        Topics(self.servers).create(other.topic, PARTITIONS)
        (read,) = query.read.values()
        assert isinstance(read, MessagesRead)
        inputs = {SCORES: StreamInput(other, moved.policy)}
        with pytest.raises(
            CheckpointError, match=f"source 'scores' has read the topic with the id {read.topic}"
        ):
            flowalg_spark.write_query(
                spark, query, self.pipeline, inputs, moved.checkpoint, dead_letters=True
            )
        assert not moved.checkpoint.exists()


def compare_moved(broker: Broker, folder: Path) -> Outcome:
    """Returns how a query that moves differs from what the reference computes of all messages."""
    outcome, topic = Outcome(), "moved-scores"
    Topics(broker.servers).create(topic, PARTITIONS)
    query = MovedTopics(folder, broker.servers, topic, "moved-totals")
    try:
        finish(query, (), random.Random(0))
    except QueryFailed as error:
        outcome.problems.append(str(error))
        return outcome
    sent = [message for number in range(_PARTS) for message in _part(number)]
    outcome.counts["messages"] = len(sent)
    outcome.problems += differences(query, sent, outcome.counts)
    return outcome
