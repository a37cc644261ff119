"""Kafka on Spark: a query from a topic to topics that is killed must write what the reference computes.

``python -m tests.faults.kafka.on_spark SERVERS TOPIC FOLDER NAME FORMAT [drain]`` is the query, in a process of
its own, since a session needs the jars of Spark's connector when it starts. It reads a topic in ``json`` or ``avro`` to
its end, from the checkpoint in ``FOLDER`` on, and writes the topics ``NAME`` and ``NAME-log``; with ``drain`` it then
ends the input.
"""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Final

import flowalg_polars.streaming
import flowalg_reference as reference
import flowalg_sinks
from attrs import define, field, frozen
from flowalg_kafka import Kafka, KafkaInput
from flowalg_kafka.client import connection_of
from flowalg_kafka.fetching import fetch_all
from flowalg_sinks.drops import drop_table
from flowalg_sinks.tables import Cell, Row, Table
from flowalg_spark import StreamInput, local_session, reshard, streaming
from flowalg_spark.frames.topics import connector
from flowalg_spark.sinks import changelog, upsert
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

from flowalg import BoundedOutOfOrderness
from tests.components.broker import Broker
from tests.components.jars import resolve_jars
from tests.components.processes import kill_tree
from tests.components.spark_sinks import Write, write_all
from tests.faults.kafka.avro import AVRO
from tests.faults.kafka.comparison import unequal
from tests.faults.kafka.traffic import (
    JSON,
    SCORES,
    SECOND,
    START,
    Format,
    Sent,
    Topics,
    totals,
    traffic,
)

PARTITIONS: Final = 2
_MORE_SHARDS: Final = 3
FORMATS: Final[Mapping[str, Format]] = {"json": JSON, "avro": AVRO}
_PLANNED: Final = "a planned failure after a transaction"
TOTALS: Final = totals(timedelta(days=1))
"""Nothing is dropped as late, so that the current values do not depend on the micro-batches."""


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
class SparkTrial:
    """A run of the query: its topic, the folder of its checkpoint, the name of its tables, and the topic's format."""

    servers: str
    topic: str
    folder: Path
    name: str
    format: str

    def topic_input(self) -> KafkaInput:
        """Returns the topic as an input, with small micro-batches."""
        return KafkaInput(self.servers, self.topic, format=FORMATS[self.format].decoder, per_batch=150)

    def run(self, spark: SparkSession, *, drain: bool) -> None:
        """Reads what the topic has, and with ``drain`` ends the input.

        With ``drain`` the query before fails after one and after both transactions of a micro-batch. Its state is then
        divided into more shards, and Spark repeats the micro-batch from the new checkpoint.
        """
        for transactions in (1, 2) if drain else ():
            try:
                self._read(fail_after=transactions)
            except StreamingQueryException as error:
                if _PLANNED not in str(error):
                    raise
        if drain:
            self._reshard(spark)
        self._read()
        if drain:
            streaming.drain(spark, self.folder / "drain")
            self._read()

    @property
    def _is_resharded(self) -> bool:
        return (self.folder / "resharded").exists()

    @property
    def _checkpoint(self) -> Path:
        return self.folder / ("wider" if self._is_resharded else "checkpoint")

    def _reshard(self, spark: SparkSession) -> None:
        """Divides the state into more shards, once. A process that was killed may have left a part of it."""
        if not self._is_resharded:
            shutil.rmtree(self.folder / "wider", ignore_errors=True)
            reshard(spark, self._checkpoint, self.folder / "wider", shards=_MORE_SHARDS)
            (self.folder / "resharded").touch()

    def _read(self, *, fail_after: int | None = None) -> None:
        target = Kafka(self.servers, partitions=2)
        # Each table has a transaction of its own.
        parts: list[Write] = [
            upsert(TOTALS, target, table=self.name),
            changelog(TOTALS, target, table=f"{self.name}-log"),
        ]
        if fail_after is not None:
            parts.insert(fail_after, _fail)
        write = write_all(parts)
        topic = self.topic_input()
        policy = BoundedOutOfOrderness(5 * SECOND, partitions=frozenset(map(str, range(PARTITIONS))))
        panes = streaming.compile(
            TOTALS,
            {SCORES: StreamInput(topic, policy)},
            shards=_MORE_SHARDS if self._is_resharded else None,
            dead_letters=True,
            drain_signal_path=self.folder / "drain",
        ).with_drops()
        writer = panes.writeStream.foreachBatch(write).option("checkpointLocation", str(self._checkpoint))
        writer.trigger(availableNow=True).start().awaitTermination()

    def start(self, *, drain: bool) -> subprocess.Popen[bytes]:
        """Starts the query in a process of its own."""
        self.folder.mkdir(parents=True, exist_ok=True)
        module = "tests.faults.kafka.on_spark"
        names = (self.servers, self.topic, str(self.folder), self.name, self.format)
        arguments = (*names, *(["drain"] if drain else []))
        with (self.folder / "log").open("ab") as log:
            return subprocess.Popen(
                [sys.executable, "-m", module, *arguments], stdout=log, stderr=log, start_new_session=True
            )

    def begun(self) -> int:
        """Returns the number of the last micro-batch that the query has begun; -1 before the first."""
        offsets = self._checkpoint / "offsets"
        return max((int(path.name) for path in offsets.glob("[0-9]*")), default=-1)


@define
class SparkCounts:
    """What happened in a run on Spark."""

    messages: int = 0
    batches: int = 0
    rows: int = 0
    panes: int = 0
    bad: int = 0
    starts: int = 0
    kills: int = 0
    outages: int = 0
    problems: list[str] = field(factory=list)

    def __str__(self) -> str:
        return (
            f"{self.messages:,} messages in {self.batches} micro-batches, {self.panes:,} panes, {self.rows:,} current "
            f"values, {self.bad} bad records, {self.starts} starts, {self.kills} kills, "
            f"{self.outages} outages of the broker"
        )


def compare_on_spark(
    broker: Broker,
    folder: Path,
    *,
    messages: int,
    kills: int,
    seed: int,
    format: str = "json",
    parts: int = 2,
    outages: bool = True,
) -> SparkCounts:
    """Runs the query over a topic that grows, with faults, and returns the differences to the reference.

    The query is killed while it runs. In its last run the broker is killed instead, and started again; without
    ``outages`` it is always there.
    """
    chance = random.Random(seed)
    topics, name = Topics(broker.servers), f"spark-{format}-scores-{seed}"
    topics.create(name, PARTITIONS)
    trial = SparkTrial(broker.servers, name, folder, f"spark-{format}-totals-{seed}", format)
    counts = SparkCounts()
    sent: list[Sent] = []
    for part in range(parts):
        partitions = PARTITIONS + (part > 0)
        if part == 1:
            topics.grow(name, partitions)
        size = messages // parts
        some = list(traffic(chance, size, partitions, first=part * size, format=FORMATS[format]))
        topics.send(name, some)
        sent += some
        wanted = kills * (part + 1) // parts
        drain = part == parts - 1
        away = broker if outages and drain else None
        while _stopped(trial, chance, counts, away, kill=counts.kills < wanted, drain=drain):
            pass
        if counts.problems:
            return counts
    counts.messages, counts.batches = len(sent), trial.begun() + 1
    counts.problems += _differences(trial, sent, counts)
    return counts


def _stopped(
    trial: SparkTrial,
    chance: random.Random,
    counts: SparkCounts,
    broker: Broker | None,
    *,
    kill: bool,
    drain: bool,
) -> bool:
    """Runs the query to its end with one fault, and returns whether it was killed.

    The fault comes soon after the query has begun a micro-batch: it is killed, or the broker is.
    """
    begun = trial.begun() + chance.randrange(1, 3)
    process = trial.start(drain=drain)
    counts.starts += 1
    try:
        while process.poll() is None:
            if trial.begun() >= begun:
                time.sleep(chance.uniform(0, 1))
                if kill:
                    counts.kills += 1
                    return True
                if broker is not None:
                    broker.stop(kill=True)
                    broker.start()
                    counts.outages += 1
                break
            time.sleep(0.02)
        process.wait()
    finally:
        kill_tree(process)
    if process.returncode:
        text = (trial.folder / "log").read_text(errors="replace")[-3000:]
        counts.problems.append(f"the query on Spark failed after {counts.kills} kills: {text}")
    return False


def _differences(trial: SparkTrial, sent: list[Sent], counts: SparkCounts) -> Iterator[str]:
    target = Kafka(trial.servers)
    scores = [each.score for each in sent if each.score is not None]
    run = reference.run_batch(TOTALS, {SCORES: scores}, time=START)
    expected = Counter[object]((pane.key, pane.window.start.datetime, pane.value) for pane in run.panes)
    latest = flowalg_sinks.upsert(TOTALS, target, table=trial.name).table
    rows = [named_row(latest, row) for row in target.rows(latest)]
    counts.rows = len(rows)
    yield from unequal("current value", Counter(map(_total, rows)), expected)
    # The panes of the changelog, less the retracted ones, are the current values if each was written once.
    log = flowalg_sinks.changelog(TOTALS, target, table=f"{trial.name}-log").table
    panes = [named_row(log, row) for row in target.rows(log)]
    counts.panes = len(panes)
    written = Counter[object]()
    for pane in panes:
        written[_total(pane)] += -1 if pane["change"] == "retraction" else 1
    yield from unequal("value of the changelog", +written, expected)
    if any(count < 0 for count in written.values()) or _message_count(trial, log.name) != len(panes):
        yield "the changelog has a retraction without its value, or a pane twice"
    for table in (latest, log):
        drops = [named_row(drop_table(table.name), row) for row in target.rows(drop_table(table.name))]
        counts.bad = len(drops)
        found = Counter[object]((drop["stage"], drop["error"], drop["dropped_value"]) for drop in drops)
        yield from unequal(f"bad record of {table.name}", found, _bad_records(trial))


def _bad_records(trial: SparkTrial) -> Counter[object]:
    """Returns the bad records of the topic on the local engine."""
    stream = flowalg_polars.streaming.StreamInput(trial.topic_input(), BoundedOutOfOrderness(5 * SECOND))
    batches = flowalg_polars.streaming.batches(SCORES, {SCORES: stream}, dead_letters=True)
    return Counter((bad.stage, bad.error, bad.record) for batch in batches for bad in batch.bad_records)


def _message_count(trial: SparkTrial, topic: str) -> int:
    """Returns the number of committed messages of a topic."""
    return len(fetch_all(connection_of(Kafka(trial.servers)), topic))


def named_row(table: Table, row: Row) -> dict[str, Cell]:
    """Returns the cells of a row by the names of its columns."""
    return {column.name: cell for column, cell in zip(table.columns, row, strict=True)}


def _total(row: Mapping[str, Cell]) -> object:
    return row["key"], row["window_start"], row["value"]


if __name__ == "__main__":
    session = spark_session()
    SparkTrial(sys.argv[1], sys.argv[2], Path(sys.argv[3]), *sys.argv[4:6]).run(
        session, drain=sys.argv[6:] == ["drain"]
    )
    session.stop()
