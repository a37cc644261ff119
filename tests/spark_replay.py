"""Micro-batches replayed through a real streaming query, one file for each."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

import pyarrow as pa
import pyarrow.parquet as pq
from attrs import frozen
from flowalg_spark import StreamInput, collect, streaming
from flowalg_spark.schema import arrow_type
from flowalg_spark.values import encode
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from flowalg import Pane, PCollection, Source, WatermarkPolicy
from flowalg.shapes import RecordOf, Shape, shape_of

A = TypeVar("A")
END = "end_of_input"


@frozen
class Replayed:
    """What a query wrote: its panes, and its rows for drops."""

    panes: tuple[Pane[object], ...]
    drops: list[dict[str, object]]


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
    schema = spark.read.parquet(str(folder)).schema
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


def read_back(spark: SparkSession, pipeline: PCollection[object], out: Path) -> Replayed:
    """What a sink has of a frame with drops."""
    rows = spark.read.parquet(str(out))
    panes = collect(pipeline, rows.filter(F.col("drop").isNull()))
    dropped = rows.filter(F.col("drop").isNotNull()).select("drop.*", "window")
    return Replayed(panes, [row.asDict(recursive=True) for row in dropped.collect()])


def replay(
    spark: SparkSession,
    folder: Path,
    pipeline: PCollection[object],
    source: Source[A],
    record: type[A],
    batches: Sequence[Sequence[A]],
    policy: WatermarkPolicy,
    *,
    shards: int | None = None,
) -> Replayed:
    """The panes and drops of a pipeline over micro-batches, through Spark."""
    write_batches(folder / "in", record, batches, ends=True)
    frame = streaming.compile(pipeline, {source: stream_of(spark, folder / "in", policy)}, shards=shards)
    run_to_end(frame.with_drops(), folder / "out", folder / "checkpoint")
    return read_back(spark, pipeline, folder / "out")
