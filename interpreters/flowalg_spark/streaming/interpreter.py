"""Spark streaming as an interpreter: a pipeline over timelines, each instant a micro-batch, or over streams."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar, overload

from attrs import field, frozen
from flowalg_columns.observed_rows import observed_batches
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from flowalg.analysis.capabilities import Capabilities
from flowalg.data.errors import ArgumentError, require_flag
from flowalg.pipeline.outputs import require_outputs
from flowalg.pipeline.pcollection import PCollection
from flowalg.pipeline.source import Source
from flowalg.pipeline.structure import sources_read_together
from flowalg.runs.bad_records import BadRecord
from flowalg.runs.inputs import AnySource, inputs_by_name
from flowalg.runs.instants import pipeline_instants
from flowalg.runs.run import Outputs, Run, with_bad_records
from flowalg.runs.timeline import Timeline
from flowalg_spark.capabilities import REPLAYING, STREAMING
from flowalg_spark.frames.drops import collect_bad_records, collect_drops
from flowalg_spark.frames.failures import raise_causes
from flowalg_spark.frames.output_rows import collect_outputs
from flowalg_spark.frames.pane_frame import collect_output
from flowalg_spark.session import active_or_local_session, require_session
from flowalg_spark.state.patterns import pattern_of
from flowalg_spark.streaming.compilation import (
    StreamInput,
    compile_sources,
    stream_sources,
)
from flowalg_spark.streaming.options import Options
from flowalg_spark.streaming.streams.stream import SourceStream
from flowalg_spark.streaming.timelines import (
    InstantFiles,
    generating_input,
    publishing_streams,
)

A = TypeVar("A")


@frozen
class SparkStreaming:
    """Spark streaming as an interpreter: a query that runs until its input is read.

    Over timelines, each instant is one micro-batch, and the watermarks are those of the timelines. With
    ``generate_watermarks`` the query generates them, as over a live stream, by the policies of the timelines, which
    must be ones that a stream supports.

    ``shards`` is the number of parts of each stage's state; it defaults to the session's number of shuffle partitions.
    ``folder`` is for the temporary files of a run, and the driver and the workers must share it; it defaults to the
    system's folder for temporary files. Query and files are removed when a run returns or raises.

    With ``dead_letters``, bad records are in ``bad_records`` of the run instead of failing it. With ``late_data``, its
    drops are ``DroppedElement`` values.
    """

    spark: SparkSession
    shards: int | None = field(default=None, kw_only=True)
    generate_watermarks: bool = field(default=False, kw_only=True)
    folder: Path | None = field(default=None, kw_only=True)
    dead_letters: bool = field(default=False, kw_only=True)
    late_data: bool = field(default=False, kw_only=True)

    def __attrs_post_init__(self) -> None:
        require_session("SparkStreaming.spark", self.spark)
        require_flag("SparkStreaming.dead_letters", self.dead_letters)
        require_flag("SparkStreaming.late_data", self.late_data)

    @property
    def capabilities(self) -> Capabilities:
        """The capabilities of Spark streaming; watermark policies matter only if it generates the watermarks."""
        return STREAMING if self.generate_watermarks else REPLAYING

    @overload
    def run(
        self, outputs: PCollection[A], inputs: Mapping[AnySource, Timeline[object] | StreamInput]
    ) -> Run[A]: ...
    @overload
    def run(
        self,
        outputs: Mapping[str, PCollection[object]],
        inputs: Mapping[AnySource, Timeline[object] | StreamInput],
    ) -> Outputs: ...
    def run(
        self,
        outputs: PCollection[object] | Mapping[str, PCollection[object]],
        inputs: Mapping[AnySource, Timeline[object] | StreamInput],
    ) -> Run[object] | Outputs:
        """Returns the output of a pipeline, or several of one query, and the drops.

        The inputs are timelines, or streams whose available data are read.

        Panes are ordered by instant, window, key, event time and value, with retractions first, since the rows of a
        table have no order: elements that a step has emitted for one pane are sorted too.

        Raises ``UnboundSourceError``, ``SchemaMismatchError``, ``ElementError`` for an element that does not match its
        source's record class, ``ArgumentError`` for timelines mixed with streams and for a timeline whose watermarks
        cannot be generated, and ``UnsupportedError`` for features that streaming lacks.
        """
        pipelines = require_outputs(outputs)
        options = Options(shards=self.shards, dead_letters=self.dead_letters, late_data=self.late_data)
        with self._opened(inputs, *pipelines.values()) as opened:
            sources = opened.sources
            if opened.streams is not None:
                sources = stream_sources(outputs, opened.streams, options, bounded=True)
            frame = compile_sources(outputs, sources, options)
            stored = self._stored(frame.with_drops(), opened.folder)
            if not isinstance(outputs, PCollection):
                return with_bad_records(collect_outputs(pipelines, stored), opened.bad)
            output = collect_output(outputs, stored)
            run = Run(
                output.panes,
                collect_drops(outputs, stored),
                elements=output.elements,
                bad_records=collect_bad_records(stored),
            )
            return with_bad_records(run, opened.bad)

    @contextmanager
    def _opened(
        self, inputs: Mapping[AnySource, Timeline[object] | StreamInput], *pipelines: PCollection[object]
    ) -> Iterator[_Opened]:
        """Prepares the inputs of a run, whose temporary files are removed afterwards."""
        kind = "timeline or StreamInput(frame, watermark)"
        inputs_by_name(inputs, kind, *(pipeline.node for pipeline in pipelines))
        timelines = {source: data for source, data in inputs.items() if isinstance(data, Timeline)}
        streams: dict[Source[object], StreamInput] = {
            source: data for source, data in inputs.items() if not isinstance(data, Timeline)
        }
        if timelines and streams:
            raise ArgumentError(
                "inputs",
                inputs,
                "all timelines or all StreamInputs, since a stream has no micro-batches at the instants of a timeline",
            )
        with TemporaryDirectory(prefix="flowalg-", dir=self.folder, ignore_cleanup_errors=True) as name:
            folder = Path(name)
            bad: list[BadRecord] | None = [] if self.dead_letters else None
            if streams:
                yield _Opened(folder, streams)
            elif self.generate_watermarks:
                generating = self._with_generated_watermarks(timelines, folder, bad)
                yield _Opened(folder, generating, bad=bad or [])
            else:
                together = sources_read_together(*(pipeline.node for pipeline in pipelines))
                publishing = self._with_timeline_watermarks(timelines, folder, bad, together)
                yield _Opened(folder, None, publishing, bad=bad or [])

    def _with_timeline_watermarks(
        self,
        timelines: Mapping[AnySource, Timeline[object]],
        folder: Path,
        bad: list[BadRecord] | None,
        together: Mapping[str, frozenset[str]],
    ) -> dict[str, SourceStream]:
        sources: dict[str, Source[object]] = {source.name: source for source in timelines}
        by_name = {source.name: timeline for source, timeline in timelines.items()}
        return publishing_streams(self.spark, folder / "in", sources, by_name, bad, together)

    def _with_generated_watermarks(
        self, timelines: Mapping[AnySource, Timeline[object]], folder: Path, bad: list[BadRecord] | None
    ) -> dict[Source[object], StreamInput]:
        instants = tuple(pipeline_instants({source.name: timeline for source, timeline in timelines.items()}))
        streams: dict[Source[object], StreamInput] = {}
        for number, (source, timeline) in enumerate(timelines.items()):
            files = InstantFiles(folder / "in" / str(number), source)
            files.write(observed_batches(source, timeline, instants, bad))
            streams[source] = generating_input(self.spark, files, timeline)
        return streams

    def _stored(self, rows: DataFrame, folder: Path) -> DataFrame:
        """Returns the rows that a query writes until its input is read."""
        out = folder / "out"
        with raise_causes():
            run_to_end(rows, out, folder / "checkpoint")
        if not out.exists():
            return self.spark.createDataFrame([], rows.schema)
        # With the query's schema, since files without rows have none to infer.
        return self.spark.read.schema(rows.schema).parquet(pattern_of(str(out)))


@frozen
class _Opened:
    """The prepared inputs of a run: streams that generate watermarks, or else sources that publish them.

    ``bad`` are the bad records of timelines.
    """

    folder: Path
    streams: Mapping[Source[object], StreamInput] | None
    sources: Mapping[str, SourceStream] = field(factory=dict)
    bad: list[BadRecord] = field(factory=list, kw_only=True)


def start_to_files(frame: DataFrame, out: Path, checkpoint: Path) -> StreamingQuery:
    """Starts a query that appends to Parquet files and reads all available data; the caller stops it."""
    writer = frame.writeStream.format("parquet").option("checkpointLocation", str(checkpoint))
    return writer.trigger(availableNow=True).start(str(out))


def run_to_end(frame: DataFrame, out: Path, checkpoint: Path) -> None:
    """Runs a query that appends to Parquet files and reads all available data, and stops it."""
    query = start_to_files(frame, out, checkpoint)
    try:
        query.awaitTermination()
    finally:
        query.stop()


def on_active_session() -> SparkStreaming:
    """Returns the interpreter on the active session, or on a new local one, for ``flowalg.load_interpreter``."""
    return SparkStreaming(active_or_local_session())
