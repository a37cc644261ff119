"""The Spark interpreters as the conformance suite calls them: micro-batches become files, one for each."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import count, pairwise
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from attrs import frozen
from flowalg_laws.conformance import DropGroup, Feed, Outcome, Replay, Runner
from flowalg_spark import StreamInput, batch, collect, streaming
from flowalg_spark.lowering.schema import arrow_type
from flowalg_spark.lowering.values import decode, encode
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.streaming.query import StreamingQuery

from flowalg import KV, Instant, PCollection, WatermarkPolicy, Window
from flowalg.data.shapes import TIMESTAMP, RecordOf, Shape, shape_of
from flowalg.data.time import ProcessingTime, event_time, to_datetime
from flowalg.pipeline.graph import nodes_of
from flowalg.pipeline.nodes import GroupingNode, WithSide
from flowalg.pipeline.structure import last_grouping

END = "end_of_input"
TICK = "tick"
SIGNAL = "signal"


def fields_of(record: type) -> tuple[tuple[str, Shape], ...]:
    """The fields of a record class."""
    shape = shape_of(record)
    assert isinstance(shape, RecordOf)
    return tuple((one.name, one.shape) for one in shape.fields)


def table_of(record: type, rows: Sequence[object], *, ends: bool = False) -> pa.Table:
    """Records as a table; with ``ends`` a row follows that is none, and says that nothing more will come."""
    fields = fields_of(record)
    lines: list[dict[str, object]] = [
        {name: encode(getattr(row, name), shape) for name, shape in fields} | {END: False} for row in rows
    ]
    if ends:
        lines.append({END: True})
    schema = pa.schema([*((name, arrow_type(shape)) for name, shape in fields), (END, pa.bool_())])
    return pa.Table.from_pylist(lines, schema=schema)


def write_batches(
    folder: Path, record: type, batches: Sequence[Sequence[object]], *, ends: bool, first: int = 0
) -> None:
    """One file for each micro-batch, in the order of their modification times; the end is one more."""
    folder.mkdir(exist_ok=True)
    tables = [table_of(record, batch) for batch in batches]
    if ends:
        tables.append(table_of(record, [], ends=True))
    for number, table in enumerate(tables, start=first):
        _write_batch(folder, number, table)


def _write_batch(folder: Path, number: int, table: pa.Table) -> None:
    """The file of one micro-batch: Spark takes files in the order of their modification times."""
    path = folder / f"{number:04}.parquet"
    pq.write_table(table, path)
    os.utime(path, (1_000_000_000 + number, 1_000_000_000 + number))


def stream_of(
    spark: SparkSession,
    folder: Path,
    policy: WatermarkPolicy,
    *,
    seen: str | None = "seen",
    ends: bool = True,
) -> StreamInput:
    """The files of a folder as a stream, one a micro-batch; without ``ends`` no row says that there will be no more."""
    frame = _files(spark, folder)
    time = None if seen is None else F.col(seen)
    return StreamInput(frame, policy, processing_time=time, end_of_input=F.col(END) if ends else None)


def _files(spark: SparkSession, folder: Path) -> DataFrame:
    # Asking Spark for the schema would be a job of its own.
    schema = from_arrow_schema(pq.read_schema(min(folder.glob("*.parquet"))))
    return spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(folder))


@frozen
class Batch:
    """What one source brings in one instant: nothing but the time, if it has no instant of its own then."""

    time: datetime
    instant: Instant[object] | None = None
    ends: bool = False


def batches_of(replay: Replay) -> dict[str, list[Batch]]:
    """The micro-batches of all sources, by name: as many for each, the n-th of them at one processing time.

    The first instants of several sources at one processing time are one micro-batch; so are the second ones.
    """
    at: dict[tuple[ProcessingTime, int], dict[str, Batch]] = {}
    for feed in replay.feeds:
        instants = tuple(feed.timeline(ends=replay.ends))
        numbers = Counter[ProcessingTime]()
        for place, one in enumerate(instants):
            time = one.processing_time
            ends = replay.ends and place == len(instants) - 1
            batch = Batch(to_datetime(time), one, ends)
            at.setdefault((time, numbers[time]), {})[feed.source.name] = batch
            numbers[time] += 1
    found: dict[str, list[Batch]] = {feed.source.name: [] for feed in replay.feeds}
    for (time, _), together in sorted(at.items()):
        for name, batches in found.items():
            batches.append(together.get(name, Batch(to_datetime(time))))
    return found


def write_instants(folder: Path, feed: Feed[object], batches: Sequence[Batch], *, first: int = 0) -> None:
    """One file for each micro-batch: records, a row with the time, a row for each signal, and the end."""
    folder.mkdir(exist_ok=True)
    fields = fields_of(feed.record)
    own = [*((name, arrow_type(shape)) for name, shape in fields)]
    marks = [(END, pa.bool_()), (TICK, arrow_type(TIMESTAMP)), (SIGNAL, pa.string())]
    for number, one in enumerate(batches, start=first):
        records = () if one.instant is None else one.instant.elements
        signals = () if one.instant is None else one.instant.signals
        lines: list[dict[str, object]] = [
            {name: encode(getattr(record, name), shape) for name, shape in fields} for record in records
        ]
        lines.append({TICK: one.time, END: one.ends})
        lines += [{TICK: one.time, SIGNAL: signal} for signal in sorted(signals)]
        _write_batch(folder, number, pa.Table.from_pylist(lines, schema=pa.schema([*own, *marks])))


def instants_of(
    spark: SparkSession, folder: Path, feed: Feed[object], *, partitions: int | None = None
) -> StreamInput:
    """The files of ``write_instants`` as a stream, in one partition or spread over several."""
    frame = _files(spark, folder)
    return StreamInput(
        frame if partitions is None else frame.repartition(partitions),
        feed.policy,
        processing_time=F.coalesce(TICK, feed.seen),
        end_of_input=F.col(END),
        tick=F.col(TICK).isNotNull(),
        signal=F.col(SIGNAL),
        partition=None if feed.partition is None else F.col(feed.partition),
    )


def started(frame: DataFrame, out: Path, checkpoint: Path) -> StreamingQuery:
    """A query over all that its source has, to Parquet; whoever starts it stops it."""
    return (
        frame.writeStream.format("parquet")
        .option("path", str(out))
        .option("checkpointLocation", str(checkpoint))
        .trigger(availableNow=True)
        .start()
    )


def run_to_end(frame: DataFrame, out: Path, checkpoint: Path) -> None:
    """Run a query over all that its source has, and stop it."""
    query = started(frame, out, checkpoint)
    try:
        query.awaitTermination()
    finally:
        query.stop()


def read_back(spark: SparkSession, pipeline: PCollection[object], out: Path) -> Outcome:
    """What a sink has of a frame with drops."""
    rows = spark.read.parquet(str(out))
    panes = collect(pipeline, rows.filter(F.col("drop").isNull()))
    counts: Counter[DropGroup] = Counter()
    for row in rows.filter(F.col("drop").isNotNull()).select("drop", "window").toArrow().to_pylist():
        start, end = (event_time(row["window"][one].astimezone(UTC)) for one in ("start", "end"))
        drop = row["drop"]
        counts[DropGroup(_key(pipeline, drop), Window.of(start, end), drop["reason"])] += drop["count"]
    return Outcome(panes, counts)


def _key(pipeline: PCollection[object], drop: dict[str, object]) -> object:
    """The key of a drop: as it is where one stage alone can drop, else JSON."""
    stages = {
        node.label: node for node in nodes_of(pipeline.node) if isinstance(node, GroupingNode | WithSide)
    }
    label = drop.get("stage")
    node = stages[str(label)] if label else last_grouping(pipeline.node)
    shape = (node.side if isinstance(node, WithSide) else node).shape
    key = shape.fields[0].shape if isinstance(shape, RecordOf) and shape.cls is KV else shape
    assert key is not None
    return decode(json.loads(str(drop["key"])) if label else drop["key"], key)


def streamed(
    spark: SparkSession,
    folder: Path,
    pipeline: PCollection[object],
    replay: Replay,
    *,
    shards: int | None = None,
    partitions: int | None = None,
    stops: Sequence[int] = (),
    metrics: bool = False,
) -> Outcome:
    """The panes and drops of a pipeline over a replay, through a streaming query that is restarted at some stops.

    With ``metrics`` these are stored beside them.
    """
    batches = batches_of(replay)
    for start, stop in pairwise((0, *stops, None)):
        inputs = {}
        for feed in replay.feeds:
            source = folder / feed.source.name
            write_instants(source, feed, batches[feed.source.name][start:stop], first=start or 0)
            inputs[feed.source] = instants_of(spark, source, feed, partitions=partitions)
        frame = streaming.compile(pipeline, inputs, shards=shards, metrics=metrics)
        rows = frame.with_metrics() if metrics else frame.with_drops()
        run_to_end(rows, folder / "out", folder / "checkpoint")
    return read_back(spark, pipeline, folder / "out")


def streaming_runner(spark: SparkSession, folder: Path, *, most_shards: int | None = None) -> Runner:
    """Spark streaming, as the conformance suite calls it; every run has a folder of its own.

    With ``most_shards`` runs have one shard, two, and so on up to so many, in turn.
    """
    numbers = count()

    def run(pipeline: PCollection[object], replay: Replay, /) -> Outcome:
        number = next(numbers)
        mine = folder / f"run-{number}"
        mine.mkdir()
        shards = None if most_shards is None else 1 + number % most_shards
        return streamed(spark, mine, pipeline, replay, shards=shards)

    return run


def batch_runner(spark: SparkSession) -> Runner:
    """Spark batch, as the conformance suite calls it. A batch drops nothing."""

    def run(pipeline: PCollection[object], replay: Replay, /) -> Outcome:
        frames = {
            feed.source: spark.createDataFrame(table_of(feed.record, feed.records)) for feed in replay.feeds
        }
        return Outcome(batch.run(pipeline, frames, time=replay.time), {})

    return run
