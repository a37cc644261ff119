"""Streams from files for tests of Spark, and queries with restarts and several shard counts."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from itertools import count, pairwise
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from attrs import evolve, field, frozen
from flowalg_columns.arrow_types import arrow_type
from flowalg_columns.observed_rows import observed_batches
from flowalg_columns.values import encode
from flowalg_spark import SparkStreaming, StreamInput, collect_drops, reshard, streaming
from flowalg_spark.frames.pane_frame import collect_output
from flowalg_spark.streaming.interpreter import run_to_end
from flowalg_spark.streaming.timelines import InstantFiles, generating_input
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from flowalg import Outputs, PCollection, Run, Source, Timeline
from flowalg.analysis import Capabilities
from flowalg.data.shapes import RecordOf, Shape, shape_of
from flowalg.runs.instants import pipeline_instants
from flowalg.watermarks import WatermarkPolicy
from tests.support.engines import Collections, Engine, Timelines

END = "end_of_input"


def fields_of(record: type) -> tuple[tuple[str, Shape], ...]:
    """Returns the fields of a record class."""
    shape = shape_of(record)
    assert isinstance(shape, RecordOf)
    return tuple((field.name, field.shape) for field in shape.fields)


def table_of(record: type, rows: Sequence[object], *, ends: bool = False) -> pa.Table:
    """Returns records as a table; with ``ends`` the last row is a control row that ends the input."""
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
    """Writes one file for each micro-batch, in the order of their modification times; the end is one more."""
    folder.mkdir(exist_ok=True)
    tables = [table_of(record, batch) for batch in batches]
    if ends:
        tables.append(table_of(record, [], ends=True))
    for number, table in enumerate(tables, start=first):
        _write_batch(folder, number, table)


def _write_batch(folder: Path, number: int, table: pa.Table) -> None:
    """Writes the file of one micro-batch; Spark reads files in the order of their modification times.

    A running query must not see the file before it has its time: files that are much older than one that it has seen
    would be ignored. Spark skips names that start with an underscore.
    """
    path = folder / f"_{number:04}.parquet"
    pq.write_table(table, path)
    os.utime(path, (1_000_000_000 + number, 1_000_000_000 + number))
    path.rename(folder / f"{number:04}.parquet")


def stream_of(
    spark: SparkSession,
    folder: Path,
    policy: WatermarkPolicy,
    *,
    time_column: str | None = "seen",
    ends: bool = True,
) -> StreamInput:
    """Returns the files of a folder as a stream, one file a micro-batch; with ``ends`` a row can end the input."""
    frame = _files(spark, folder)
    time = None if time_column is None else F.col(time_column)
    return StreamInput(frame, policy, processing_time=time, end_of_input=F.col(END) if ends else None)


def _files(spark: SparkSession, folder: Path) -> DataFrame:
    # Schema inference by Spark would be a separate job.
    schema = from_arrow_schema(pq.read_schema(min(folder.glob("*.parquet"))))
    return spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(folder))


def read_back(spark: SparkSession, pipeline: PCollection[object], out: Path) -> Run[object]:
    """Returns the run that a sink has stored, from a frame with drops."""
    rows = spark.read.parquet(str(out))
    output = collect_output(pipeline, rows)
    return Run(output.panes, collect_drops(pipeline, rows), elements=output.elements)


def run_as_query(
    spark: SparkSession,
    folder: Path,
    pipeline: PCollection[object],
    timelines: Mapping[Source[object], Timeline[object]],
    *,
    shards: int | None = None,
    partitions: int | None = None,
    stops: Sequence[int] = (),
    resharded: Sequence[int] = (),
    metrics: bool = False,
) -> Run[object]:
    """Runs a pipeline as a streaming query that restarts after the micro-batches with numbers ``stops``.

    Before a restart, its state is divided into the next of ``resharded`` shards, if there is one. ``partitions`` is the
    number of partitions of the input. With ``metrics`` they are stored with the panes.
    """
    checkpoint, following = folder / "checkpoint", iter(resharded)
    instants = tuple(pipeline_instants({source.name: timeline for source, timeline in timelines.items()}))
    for start, stop in pairwise((0, *stops, None)):
        if start and (shards := next(following, None)):
            new = folder / f"checkpoint-{start}"
            reshard(spark, checkpoint, new, shards=shards)
            checkpoint = new
        inputs = {}
        for source, timeline in timelines.items():
            files = InstantFiles(folder / source.name, source)
            files.write(observed_batches(source, timeline, instants[start:stop]), first=start or 0)
            stream = generating_input(spark, files, timeline)
            frame = stream.frame if partitions is None else stream.frame.repartition(partitions)
            inputs[source] = evolve(stream, data=frame)
        panes = streaming.compile(pipeline, inputs, shards=shards, metrics=metrics)
        rows = panes.with_metrics() if metrics else panes.with_drops()
        run_to_end(rows, folder / "out", checkpoint)
    return read_back(spark, pipeline, folder / "out")


@frozen
class ShardsInTurn(Engine):
    """Spark streaming with generated watermarks; successive runs have 1, 2, ... ``most_shards`` shards."""

    spark: SparkSession
    most_shards: int
    dead_letters: bool = False
    numbers: Iterator[int] = field(factory=count, init=False)

    @property
    def capabilities(self) -> Capabilities:
        """The capabilities of Spark streaming."""
        return streaming.CAPABILITIES

    def execute(self, outputs: PCollection[object] | Collections, inputs: Timelines) -> Run[object] | Outputs:
        """Runs with the next number of shards."""
        return self._next().run(outputs, inputs)

    def _next(self) -> SparkStreaming:
        number = next(self.numbers)
        if number % 10 == 9:
            print(f"{number + 1} runs", flush=True)  # a thorough run takes long
        shards = 1 + number % self.most_shards
        return SparkStreaming(
            self.spark, shards=shards, generate_watermarks=True, dead_letters=self.dead_letters
        )
