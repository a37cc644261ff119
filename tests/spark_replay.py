"""The Spark interpreters as the conformance suite calls them: micro-batches become files, one for each."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from datetime import UTC
from itertools import count
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from flowalg_laws.conformance import Outcome, Refused, Replay, Runner
from flowalg_spark import StreamInput, batch, collect, streaming
from flowalg_spark.schema import arrow_type
from flowalg_spark.values import decode, encode
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from flowalg import PCollection, UnsupportedError, WatermarkPolicy, Window, event_time
from flowalg.nodes import last_grouping, shape_after
from flowalg.shapes import RecordOf, Shape, shape_of

END = "end_of_input"


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
        path = folder / f"{number:04}.parquet"
        pq.write_table(table, path)
        os.utime(path, (1_000_000_000 + number, 1_000_000_000 + number))


def stream_of(
    spark: SparkSession, folder: Path, policy: WatermarkPolicy, *, seen: str | None = "seen"
) -> StreamInput:
    """The files of a folder as a stream, one a micro-batch."""
    # Asking Spark for it would be a job of its own.
    schema = from_arrow_schema(pq.read_schema(min(folder.glob("*.parquet"))))
    frame = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(folder))
    time = None if seen is None else F.col(seen)
    return StreamInput(frame, policy, processing_time=time, end_of_input=F.col(END))


def run_to_end(frame: DataFrame, out: Path, checkpoint: Path) -> None:
    """Run a query over all that its source has, and stop it."""
    query = (
        frame.writeStream.format("parquet")
        .option("path", str(out))
        .option("checkpointLocation", str(checkpoint))
        .trigger(availableNow=True)
        .start()
    )
    try:
        query.awaitTermination()
    finally:
        query.stop()


def read_back(spark: SparkSession, pipeline: PCollection[object], out: Path) -> Outcome:
    """What a sink has of a frame with drops."""
    rows = spark.read.parquet(str(out))
    panes = collect(pipeline, rows.filter(F.col("drop").isNull()))
    dropped = rows.filter(F.col("drop").isNotNull()).select("drop.key", "drop.reason", "drop.count", "window")
    pair = shape_after(last_grouping(pipeline.node))
    assert isinstance(pair, RecordOf)
    counts: Counter[Refused] = Counter()
    for row in dropped.toArrow().to_pylist():
        start, end = (event_time(row["window"][one].astimezone(UTC)) for one in ("start", "end"))
        key = decode(row["key"], pair.fields[0].shape)
        counts[Refused(key, Window.of(start, end), row["reason"])] += row["count"]
    return Outcome(panes, counts)


def streamed(
    spark: SparkSession,
    folder: Path,
    pipeline: PCollection[object],
    replay: Replay,
    *,
    shards: int | None = None,
) -> Outcome:
    """The panes and drops of a pipeline over a replay, through a streaming query."""
    inputs = {}
    for feed in replay.feeds:
        if feed.partition is not None:
            raise UnsupportedError("a StreamInput has no way to name the partition of a row")
        source = folder / feed.source.name
        write_batches(source, feed.record, feed.batches, ends=replay.ends)
        inputs[feed.source] = stream_of(spark, source, feed.policy, seen=feed.seen)
    frame = streaming.compile(pipeline, inputs, shards=shards)
    run_to_end(frame.with_drops(), folder / "out", folder / "checkpoint")
    return read_back(spark, pipeline, folder / "out")


def streaming_runner(spark: SparkSession, folder: Path) -> Runner:
    """Spark streaming, as the conformance suite calls it; every run has a folder of its own."""
    numbers = count()

    def run(pipeline: PCollection[object], replay: Replay, /) -> Outcome:
        mine = folder / f"run-{next(numbers)}"
        mine.mkdir()
        return streamed(spark, mine, pipeline, replay)

    return run


def batch_runner(spark: SparkSession) -> Runner:
    """Spark batch, as the conformance suite calls it. A batch drops nothing."""

    def run(pipeline: PCollection[object], replay: Replay, /) -> Outcome:
        frames = {
            feed.source: spark.createDataFrame(table_of(feed.record, feed.records)) for feed in replay.feeds
        }
        return Outcome(batch.run(pipeline, frames, time=replay.time), {})

    return run
