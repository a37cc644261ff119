"""Replay on Spark: bounded data through a streaming query, one micro-batch for each instant."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Generic, TypeAlias, TypeVar, Unpack, overload

from attrs import evolve, frozen
from flowalg_columns.checks.streams import frame_without_policy
from pyspark.sql import Column, DataFrame, SparkSession

from flowalg.data.time import ProcessingTime
from flowalg.pipeline.outputs import require_outputs
from flowalg.pipeline.pcollection import PCollection
from flowalg.pipeline.structure import sources_of
from flowalg.runs.bad_records import BadRecord
from flowalg.runs.division import Replay, ReplayOptions
from flowalg.runs.inputs import AnySource, inputs_by_name
from flowalg.runs.output import Output, OutputElement
from flowalg.runs.panes import Drop, Pane
from flowalg.runs.run import Outputs
from flowalg_spark.frames.drops import collect_bad_records, collect_drops
from flowalg_spark.frames.failures import raise_causes
from flowalg_spark.frames.output_rows import collect_outputs
from flowalg_spark.frames.pane_frame import collect_output
from flowalg_spark.lowering.binding import require_bounded
from flowalg_spark.replays.recorded import Recording, in_order
from flowalg_spark.state.patterns import pattern_of
from flowalg_spark.streaming.compilation import StreamInput, compile

A = TypeVar("A")
A_co = TypeVar("A_co", covariant=True)

ReplayInput: TypeAlias = "DataFrame | StreamInput"
"""The recorded data of a source: a bounded frame, or a ``StreamInput`` with a bounded frame."""


@frozen
class ReplayedBatch(Generic[A_co]):
    """What a pipeline emits in one instant of a replay.

    ``frame`` has the panes or elements and, as in ``PaneFrame.with_drops``, the drops and bad records. It reads files
    that the replay removes when it ends, so read it, and the values, before the replay is closed.
    """

    pipeline: PCollection[A_co]
    number: int
    processing_time: ProcessingTime
    frame: DataFrame

    @property
    def output(self) -> Output[A_co]:
        """The output as values, in order."""
        return collect_output(self.pipeline, self.frame)

    @property
    def panes(self) -> tuple[Pane[A_co], ...]:
        """The panes as values, in order; empty if the pipeline groups nothing."""
        return self.output.panes

    @property
    def elements(self) -> tuple[OutputElement[A_co], ...]:
        """The elements as values, in order, if the pipeline groups nothing."""
        return self.output.elements

    @property
    def dropped(self) -> tuple[Drop, ...]:
        """The drops as values."""
        return collect_drops(self.pipeline, self.frame)

    @property
    def bad_records(self) -> tuple[BadRecord, ...]:
        """The bad records of a replay with ``dead_letters``."""
        return collect_bad_records(self.frame)


@frozen
class ReplayedBatches:
    """What several outputs of a replay emit in one instant.

    ``frame`` has the rows of ``streaming.compile`` of the outputs, with drops and bad records; ``select_output``
    returns those of one output. Read it, and the values, before the replay is closed.
    """

    collections: Mapping[str, PCollection[object]]
    number: int
    processing_time: ProcessingTime
    frame: DataFrame

    @property
    def outputs(self) -> Outputs:
        """The outputs, drops and bad records as values."""
        return collect_outputs(self.collections, self.frame)


@overload
def replay(
    outputs: PCollection[A],
    inputs: Mapping[AnySource, ReplayInput],
    *,
    shards: int | None = None,
    folder: Path | None = None,
    **options: Unpack[ReplayOptions[Column]],
) -> Generator[ReplayedBatch[A], None, None]: ...
@overload
def replay(
    outputs: Mapping[str, PCollection[object]],
    inputs: Mapping[AnySource, ReplayInput],
    *,
    shards: int | None = None,
    folder: Path | None = None,
    **options: Unpack[ReplayOptions[Column]],
) -> Generator[ReplayedBatches, None, None]: ...
def replay(
    outputs: PCollection[object] | Mapping[str, PCollection[object]],
    inputs: Mapping[AnySource, ReplayInput],
    *,
    shards: int | None = None,
    folder: Path | None = None,
    **options: Unpack[ReplayOptions[Column]],
) -> Generator[ReplayedBatch[object] | ReplayedBatches, None, None]:
    """Yields what a stream over recorded frames emits, instant by instant: early, on-time and late panes.

    Of a pipeline, it yields a ``ReplayedBatch`` for each instant, and of several named outputs ``ReplayedBatches``.

    ``inputs`` has a bounded frame for each source, or a ``StreamInput`` with a bounded frame and the columns that the
    stream had. The rows are in order of ``processing_time``, a timestamp column, or of event time if no such column is
    named. Rows of one processing time are observed together. With ``every``, those of one period of processing time
    are, aligned to the epoch; with ``micro_batch``, a column, those with one value of it are, in the order of the
    values. An instant is at the greatest processing time of its rows. ``tick`` adds instants without rows at its
    multiples. After the last row the input ends, unless ``ends`` is false.

    ``watermark`` is the policy of all sources, and ``processing_time`` the column of all; by default each
    ``StreamInput`` has its own. ``dead_letters``, ``late_data`` and ``shards`` are those of ``compile``. Windows
    need an allowed lateness, as on every stream of Spark.

    Each instant is a micro-batch of a streaming query, which takes at least a tenth of a second, so choose ``every``
    with care. The frames are first sorted into files, one for each instant, below ``folder``, which the driver and the
    workers must share; it defaults to the system's folder for temporary files. The replay is lazy: the query receives a
    file when its batch is asked for. When the replay ends or is closed, the query is stopped and the files are removed.

    Law: the panes are those of the reference over ``Timeline.from_records`` of the same records, with the same policy
    and the same instants (SEMANTICS section 16).

    Raises ``ElementError`` for a row that has no time or micro-batch, ``SchemaMismatchError`` for a column that cannot
    order rows, ``UnsupportedError`` for event times that only Python can compute, and what ``compile`` raises.

    Example::

        policy = BoundedOutOfOrderness(timedelta(minutes=5))
        recorded = spark.read.parquet("scores")
        for batch in flowalg_spark.replay(
            totals, {scores: recorded}, watermark=policy, processing_time=F.col("seen"), every=timedelta(hours=1)
        ):
            print(batch.panes)
    """
    pipelines = require_outputs(outputs)
    nodes = sources_of(*(pipeline.node for pipeline in pipelines.values()))
    by_name = inputs_by_name(inputs, "DataFrame", *nodes)
    replayed = Replay[Column](**options)
    division = replayed.division
    rows = [
        in_order(node, _stream_of(node.name, by_name[node.name], replayed), division, replayed.micro_batch)
        for node in nodes
    ]
    recording = Recording.of(rows, division)
    sources = {source.name: source for source in inputs}

    def batches() -> Generator[ReplayedBatch[object] | ReplayedBatches, None, None]:
        session = rows[0].stream.frame.sparkSession
        with TemporaryDirectory(prefix="flowalg-", dir=folder, ignore_cleanup_errors=True) as name:
            place = Path(name)
            (place / "in").mkdir()
            schema = recording.stage(place / "staged")
            files = session.readStream.schema(schema).parquet(pattern_of(str(place / "in")))
            streams = {sources[source]: stream for source, stream in recording.streams(files).items()}
            dead_letters, late_data = replayed.dead_letters, replayed.late_data
            compiled = compile(
                outputs, streams, shards=shards, dead_letters=dead_letters, late_data=late_data
            )
            with closing(_run(compiled.with_drops(), recording, place)) as instants:
                for number, time, frame in instants:
                    if isinstance(outputs, PCollection):
                        yield ReplayedBatch(outputs, number, time, frame)
                    else:
                        yield ReplayedBatches(pipelines, number, time, frame)

    return batches()


def _run(
    frame: DataFrame, recording: Recording, place: Path
) -> Generator[tuple[int, ProcessingTime, DataFrame], None, None]:
    """Gives the query one file after another, and yields the number, time and rows of what it writes for each."""
    out = place / "out"
    writer = frame.writeStream.format("parquet").option("checkpointLocation", str(place / "checkpoint"))
    query = writer.start(str(out))
    earlier: set[Path] = set()
    try:
        for number, instant in enumerate(recording.instants):
            # A rename is atomic, so the query never reads a part of the file.
            recording.file_of(number, place / "staged").rename(place / "in" / f"{number:06}.parquet")
            with raise_causes():
                query.processAllAvailable()
            written = set(out.glob("*.parquet")) - earlier
            earlier |= written
            stored = _read(frame.sparkSession, frame, written)
            yield number, instant.processing_time, stored
    finally:
        query.stop()


def _read(session: SparkSession, frame: DataFrame, files: set[Path]) -> DataFrame:
    if not files:
        return session.createDataFrame([], frame.schema)
    return session.read.schema(frame.schema).parquet(*sorted(pattern_of(str(file)) for file in files))


def _stream_of(source: str, replay_input: object, replayed: Replay[Column]) -> StreamInput:
    """Returns the input of a source; the options replace its own policy and processing time."""
    watermark, processing_time = replayed.watermark, replayed.processing_time
    if isinstance(replay_input, StreamInput):
        stream = replay_input if watermark is None else evolve(replay_input, watermark=watermark)
    elif watermark is None:
        raise frame_without_policy(source)
    else:
        stream = StreamInput(require_bounded(source, replay_input), watermark)
    require_bounded(source, stream.frame)
    return stream if processing_time is None else evolve(stream, processing_time=processing_time)
