"""From a topic to a topic on Spark: flowalg, and the same query in Spark's own operators, in turns."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Final, TypeAlias

from flowalg_kafka import Kafka, KafkaInput
from flowalg_kafka.client import connection_of
from flowalg_kafka.fetching import fetch_all
from flowalg_spark import StreamInput, sinks, streaming
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.readwriter import DataStreamWriter

from docs.benchmarks.kafka.data import PARTITIONS, create, send, texts
from docs.benchmarks.results import Result
from docs.benchmarks.stream.comparing import BATCHES, median_seconds
from docs.benchmarks.stream.data import DISORDER
from docs.benchmarks.stream.pipelines import ON_TIME, READINGS
from docs.benchmarks.stream.queries import spark_aggregation
from docs.benchmarks.stream.running import Phases
from flowalg import BoundedOutOfOrderness

Rival: TypeAlias = Callable[[SparkSession, KafkaInput, str], DataStreamWriter]
"""A function from a topic and the name of another one to the query that writes this."""


def flowalg(spark: SparkSession, topic: KafkaInput, out: str) -> DataStreamWriter:
    """Panes of flowalg, by Spark's sink."""
    return _to_topic(_compiled(topic), topic, out)


def exactly_once(spark: SparkSession, topic: KafkaInput, out: str) -> DataStreamWriter:
    """Panes of flowalg, by its sink, with a transaction for each micro-batch."""
    sink = sinks.upsert(ON_TIME, Kafka(topic.servers, partitions=PARTITIONS), table=out)
    return _compiled(topic).writeStream.foreachBatch(sink)


def by_hand(spark: SparkSession, topic: KafkaInput, out: str) -> DataStreamWriter:
    """Spark's own stateful aggregation in append mode, with its source, ``from_json`` and its sink."""
    messages = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", topic.servers)
        .option("subscribe", topic.topic)
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", topic.per_batch)
        .load()
    )
    schema = "sensor bigint, value bigint, at timestamp"
    readings = messages.select(F.from_json(F.col("value").cast("string"), schema).alias("reading"))
    return _to_topic(spark_aggregation(readings.select("reading.*")), topic, out)


RIVALS: Final[Mapping[str, Rival]] = {"flowalg": flowalg, "native": by_hand, "exactly once": exactly_once}


def _compiled(topic: KafkaInput) -> DataFrame:
    policy = BoundedOutOfOrderness(timedelta(microseconds=DISORDER))
    return streaming.compile(ON_TIME, {READINGS: StreamInput(topic, policy)})


def _to_topic(panes: DataFrame, topic: KafkaInput, out: str) -> DataStreamWriter:
    text = F.to_json(F.struct("key", "value", F.col("window.start").alias("start")))
    rows = panes.select(F.col("key").cast("string").alias("key"), text.alias("value"))
    writer = rows.writeStream.format("kafka")
    return writer.option("kafka.bootstrap.servers", topic.servers).option("topic", out)


def _run(writer: DataStreamWriter, checkpoint: Path) -> list[Phases]:
    query = writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start()
    try:
        query.awaitTermination()
        # Spark's own aggregation closes windows in extra batches without messages, which do not count.
        batches = [batch for batch in query.recentProgress if batch.numInputRows]
    finally:
        query.stop()
    return [{phase: took / 1000 for phase, took in batch.durationMs.items()} for batch in batches]


def measure(spark: SparkSession, servers: str, folder: Path, *, rows: int, rounds: int) -> Result:
    """Returns the median seconds of the warm micro-batches of each rival, which take turns, and checks the topics."""
    name = f"spark-{rows}"
    create(servers, name)
    for rival in RIVALS:
        create(servers, _out(name, rival))
    topic = KafkaInput(servers, name, per_batch=rows)
    warm: dict[str, list[Phases]] = {rival: [] for rival in RIVALS}
    for number in range(rounds + 1):
        for batch in range(BATCHES):
            send(servers, name, texts(rows, number * BATCHES + batch))
        for rival in list(RIVALS) if number % 2 else list(RIVALS)[::-1]:
            writer = RIVALS[rival](spark, topic, _out(name, rival))
            phases = _run(writer, folder / _out(name, rival))
            if number:
                warm[rival] += phases[1:]
    check(servers, name)
    seconds = {rival: median_seconds(phases) for rival, phases in warm.items()}
    return {
        "case": f"Spark, {rows:,} messages",
        "rows": rows,
        "warm_batches": len(warm["flowalg"]),
        **{f"{rival.replace(' ', '_')}_s": round(took, 3) for rival, took in seconds.items()},
        "vs_native": round(seconds["flowalg"] / seconds["native"], 3),
        "exactly_once_vs_native": round(seconds["exactly once"] / seconds["native"], 3),
        "messages_per_s": round(rows / seconds["flowalg"]),
        "phases_s": {
            rival: {
                phase: round(statistics.median(batch.get(phase, 0.0) for batch in batches), 3)
                for phase in batches[0]
            }
            for rival, batches in warm.items()
        },
    }


def check(servers: str, name: str) -> None:
    """Raises ``ValueError`` unless flowalg has written each message of Spark's own query, and more only at the end."""
    messages = {rival: set(_values(servers, _out(name, rival))) for rival in ("flowalg", "native")}
    others = messages["native"] - messages["flowalg"]
    if others or not messages["native"]:
        raise ValueError(f"{len(others)} of {len(messages['native'])} messages are not written by flowalg")


def _values(servers: str, topic: str) -> list[bytes | None]:
    return [message.value() for message in fetch_all(connection_of(Kafka(servers)), topic)]


def _out(name: str, rival: str) -> str:
    return f"{name}-{rival.replace(' ', '-')}"
