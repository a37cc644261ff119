"""A query from a topic to tables in topics, with the current totals and all panes; on the local engine here."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Final

import flowalg_sinks
from attrs import frozen
from flowalg_kafka import Kafka, KafkaInput
from flowalg_polars import streaming
from flowalg_sinks.databases.tables import Row
from flowalg_sinks.drops import drop_table
from flowalg_sinks.pane_sink import PaneSink

from flowalg import KV, BoundedOutOfOrderness, PCollection
from tests.faults.kafka.avro import AVRO
from tests.faults.kafka.traffic import JSON, SCORES, SECOND, Format, totals
from tests.faults.subject import Subject

FORMATS: Final[dict[str, Format]] = {"json": JSON, "avro": AVRO}


@frozen
class TopicQuery(Subject):
    """A run of the query, whose tables have a name. With ``ends`` the input ends where the topic ends."""

    servers: str
    topic: str
    name: str
    format: str = "json"
    per_batch: int = 150
    ends: bool = True

    @property
    def input(self) -> KafkaInput:
        """The topic as an input."""
        decoder = FORMATS[self.format].decoder
        return KafkaInput(self.servers, self.topic, format=decoder, per_batch=self.per_batch)

    @property
    def pipeline(self) -> PCollection[KV[str, int]]:
        """The pipeline. Nothing is dropped as late, so that the current values do not depend on the micro-batches."""
        return totals(timedelta(days=1))

    @property
    def policy(self) -> BoundedOutOfOrderness:
        """The policy of the watermark."""
        return BoundedOutOfOrderness(5 * SECOND)

    @property
    def target(self) -> Kafka:
        """The broker, as a target."""
        return Kafka(self.servers, partitions=2)

    @property
    def sinks(self) -> Sequence[PaneSink]:
        """The current values and all panes; each table has a transaction of its own."""
        return (
            flowalg_sinks.upsert(self.pipeline, self.target, table=self.name),
            flowalg_sinks.changelog(self.pipeline, self.target, table=f"{self.name}-log"),
        )

    def content(self) -> dict[str, list[Row]]:
        """Returns the rows of all tables."""
        tables = [table for sink in self.sinks for table in (sink.table, drop_table(sink.name))]
        return {table.name.removeprefix(self.name): self.target.rows(table) for table in tables}


@frozen
class LocalTopics(TopicQuery):
    """A run on the local engine. Its clock is that of the messages, so that runs are equal."""

    def run(self) -> None:
        """Runs the query to the end of its input."""
        stream = streaming.StreamInput(self.input, self.policy, processing_time="kafka_timestamp")
        streaming.run(
            self.pipeline,
            {SCORES: stream},
            sink=self.sinks,
            checkpoint=self.checkpoint,
            drain=self.ends,
            dead_letters=True,
        )
