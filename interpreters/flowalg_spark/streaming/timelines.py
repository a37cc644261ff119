"""Timelines as streams: a file for each source and instant, which Spark reads as one micro-batch.

A file has the records of the instant, and control rows for the clocks. Either a control row has a clock report with the
watermarks and signals of the timeline, in band as from a stage. Or the rows have the processing times and partitions
that the timeline's policy observed, and the stream generates the watermarks again.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Iterable, Iterator, Mapping, Set
from functools import partial
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq
from attrs import evolve, frozen
from flowalg_columns.observed_rows import (
    ENDS,
    MARKS,
    PARTITION,
    PUBLISHED,
    SIGNAL,
    SIGNAL_KEY,
    SIGNAL_WINDOW,
    TICK,
    TIME,
    Row,
    require_policy,
)
from flowalg_columns.tables import arrow_schema_of, record_rows
from flowalg_columns.values import encoded_table
from flowalg_shard import FromStage, StageReport
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from flowalg.data.errors import ArgumentError
from flowalg.pipeline.source import Source, source_node
from flowalg.runs.bad_records import BadRecord
from flowalg.runs.elements import good_records, horizon_of, read_records
from flowalg.runs.instants import PipelineInstant, pipeline_instants
from flowalg.runs.timeline import Timeline
from flowalg_spark.encoding import sql
from flowalg_spark.encoding.columns import col
from flowalg_spark.lowering.binding import StreamColumns
from flowalg_spark.state.patterns import pattern_of
from flowalg_spark.streaming.compilation import StreamInput
from flowalg_spark.streaming.streams.stream import SourceStream

_CLOCKS: Final = "instant_clocks"
_MARKS: Final[dict[str, pa.DataType]] = {**MARKS, _CLOCKS: pa.binary()}
"""The columns of control rows in the files."""

_FIRST_FILE: Final = 1_000_000_000
"""The modification time of the first file; Spark reads files in the order of modification."""


@frozen
class InstantFiles:
    """The files of one source, in a folder for them only. A record must not have a field with the name of a mark."""

    folder: Path
    source: Source[object]

    def __attrs_post_init__(self) -> None:
        clashes = _MARKS.keys() & set(arrow_schema_of(self.source).names)
        if clashes:
            raise ArgumentError(
                f"the fields of source {self.source.name!r}", sorted(clashes), "fields with other names"
            )
        self.folder.mkdir(parents=True, exist_ok=True)

    def write(self, batches: Iterable[Iterable[Row]], *, first: int = 0) -> None:
        """Writes one file for each micro-batch; ``first`` is the number of micro-batches that were written before."""
        for number, rows in enumerate(batches, start=first):
            path = self.folder / f"{number:06}.parquet"
            pq.write_table(encoded_table(list(rows), self.schema), path)
            os.utime(path, (_FIRST_FILE + number, _FIRST_FILE + number))

    @property
    def schema(self) -> pa.Schema:
        """The columns of the files."""
        return pa.schema([*arrow_schema_of(self.source), *(pa.field(*mark) for mark in _MARKS.items())])

    def read(self, spark: SparkSession) -> DataFrame:
        """Returns the files as a stream, one file for each micro-batch."""
        stream = spark.readStream.schema(from_arrow_schema(self.schema)).option("maxFilesPerTrigger", 1)
        return stream.parquet(pattern_of(str(self.folder)))


def published_batches(
    source: Source[object], instants: Iterable[PipelineInstant], bad: list[BadRecord] | None = None
) -> Iterator[list[Row]]:
    """Returns the micro-batches of a source with the clocks of its timeline.

    Bad records are added to ``bad``; without it they fail the run.
    """
    node = source_node(source)
    timed = node.event_time is not None
    for now in instants:
        records = good_records(node, now.records(source.name), bad)
        horizon = horizon_of(read_records(node, records, partial(now.arrival_of, source.name)))
        clocks = pickle.dumps(StageReport(evolve(now.clocks[source.name], horizon=horizon)))
        rows = [
            {**row, TIME: (now.processing_time if timed else now.arrival_of(source.name, record)).datetime}
            for record, row in zip(records, record_rows(source, records), strict=True)
        ]
        yield [*rows, {TICK: True, _CLOCKS: clocks}]


def publishing_streams(
    spark: SparkSession,
    folder: Path,
    sources: Mapping[str, Source[object]],
    timelines: Mapping[str, Timeline[object]],
    bad: list[BadRecord] | None = None,
    together: Mapping[str, Set[str]] | None = None,
) -> dict[str, SourceStream]:
    """Returns the streams of sources, by name, with the clocks of their timelines.

    ``together`` is that of ``pipeline_instants``. With dead letters, bad records are added to ``bad``.
    """
    instants = tuple(pipeline_instants(timelines, together))
    streams = {}
    for number, (name, source) in enumerate(sources.items()):
        files = InstantFiles(folder / str(number), source)
        files.write(published_batches(source, instants, bad))
        clocks = StreamColumns(
            sql.unix_micros(col(TIME)),
            None,
            col(TICK),
            report=col(_CLOCKS),
            dead_letters=bad is not None,
        )
        streams[name] = SourceStream(files.read(spark), clocks, FromStage())
    return streams


def generating_input(spark: SparkSession, files: InstantFiles, timeline: Timeline[object]) -> StreamInput:
    """Returns the input of a source whose watermarks the stream generates, from files with ``observed_batches``."""
    return observed_stream(files.source.name, files.read(spark), timeline)


def observed_stream(source: str, frame: DataFrame, timeline: Timeline[object]) -> StreamInput:
    """Returns a frame with the columns of ``observed_batches`` as the input of a source, with its timeline's policy."""
    generated_by = require_policy(source, timeline)
    return StreamInput(
        frame,
        generated_by.policy,
        processing_time=F.col(TIME),
        end_of_input=F.col(ENDS),
        partition=F.col(PARTITION),
        signal=F.col(SIGNAL),
        signal_key=F.col(SIGNAL_KEY),
        signal_window=F.col(SIGNAL_WINDOW),
        tick=F.col(TICK),
        source_watermark=F.col(PUBLISHED) if generated_by.publishes else None,
    )
