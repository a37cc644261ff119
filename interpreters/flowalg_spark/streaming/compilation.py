"""Spark streaming: each stage is one exchange and one stateful operator, keyed by shard, with in-band clock reports.

Each micro-batch is one instant of the whole pipeline. ``compile`` returns a streaming DataFrame of panes, which the
user starts with ``writeStream``. Spark provides restarts, replay and exactly-once processing.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from functools import partial
from os import PathLike
from typing import Final, TypeVar, Unpack, overload

from attrs import evolve, field, frozen
from flowalg_columns.checks.plans import check_outputs, reporting_all_parts
from flowalg_columns.checks.streams import require_policy, ticks_with_times
from flowalg_columns.names import CORRUPT_ERROR, CORRUPT_RECORD, DROP, ERROR, LATE_TIME, METRICS
from flowalg_columns.notes import report_functions
from flowalg_columns.panes import METRICS_COLUMN
from flowalg_kafka import KafkaInput
from flowalg_kafka.input import PARTITION as MESSAGE_PARTITION
from flowalg_shard import FromSource
from flowalg_shard.tables.columns import DROP_REASON, KEEP
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T
from returns.result import Result

from flowalg.analysis.clock_needs import ticks_off
from flowalg.data.errors import ArgumentError, UnsupportedError, path_text
from flowalg.pipeline.nodes import Node, SourceNode
from flowalg.pipeline.outputs import ONLY_OUTPUT, require_outputs
from flowalg.pipeline.pcollection import PCollection
from flowalg.pipeline.structure import has_stages, sources_of
from flowalg.plan.plan import Plan
from flowalg.runs.inputs import AnySource, inputs_by_name
from flowalg.watermarks import WatermarkPolicy
from flowalg_spark.batch.lowering import lower
from flowalg_spark.capabilities import STREAM_REQUIREMENTS, STREAMING
from flowalg_spark.encoding import sql
from flowalg_spark.encoding.columns import col, where
from flowalg_spark.frames.drop_columns import drop_columns, drop_struct
from flowalg_spark.frames.output_rows import require_column_names
from flowalg_spark.frames.pane_frame import PaneFrame, pane_frame, user_frame
from flowalg_spark.frames.topics import place_column, read_topic
from flowalg_spark.lowering.binding import INPUT, StreamColumns, bind_source, require_arrivals, require_stream
from flowalg_spark.lowering.flow import Flow, guard_columns
from flowalg_spark.lowering.sending import require_sendable
from flowalg_spark.session import ensure_state_store, warn_of_partitions
from flowalg_spark.state.patterns import pattern_of
from flowalg_spark.streaming.lowering import Lowering, plan_query
from flowalg_spark.streaming.metrics import with_metrics_observed
from flowalg_spark.streaming.metrics_columns import metrics_struct
from flowalg_spark.streaming.options import Options, StreamOptions
from flowalg_spark.streaming.outputs import output_frame
from flowalg_spark.streaming.shards import shard_ids
from flowalg_spark.streaming.streams.batch_time import now, time_in_rows
from flowalg_spark.streaming.streams.column_types import STREAM_COLUMNS, require_column_types
from flowalg_spark.streaming.streams.stream import SourceStream

A = TypeVar("A")

CAPABILITIES: Final = STREAMING
"""The capabilities of this interpreter."""

_LOG: Final = logging.getLogger("flowalg.streaming")
_TICK: Final = "__tick"
_DRAINED: Final = "__drained"
_DRAIN_SCHEMA: Final = T.StructType([T.StructField(_DRAINED, T.BooleanType())])


@frozen
class StreamInput:
    """A streaming frame or a topic of Kafka, with the columns that carry its clocks.

    ``watermark`` is the policy that derives the source's watermark from its event times. The processing time of a
    micro-batch is Spark's timestamp of the batch, which is the same on replay. If the source carries processing times
    itself, ``processing_time`` is their timestamp column, and a micro-batch is at the greatest of its rows.
    ``partition`` is the column with the name of the source partition of a row; without it, that of a message is its
    partition of the topic. ``source_watermark`` is a timestamp column with the watermark that the source publishes for
    that partition, if any; it may be on any row.

    Some rows are control rows and not elements; their other fields may be null. ``end_of_input``, a boolean column, is
    true on a row that ends the input: the watermark then advances to the end of time. (A file source reads files by
    modification time, so the file with that row must be the newest.) ``signal``, a text column, is the name of a signal
    for ``AtSignal``, which all stages downstream receive. It is one to the windows of a key if ``signal_key``, a text
    column, has the key as JSON, and to one window of the key if ``signal_window`` has it (a struct of the timestamps
    ``start`` and ``end``, as in the frames of panes). ``tick``, a boolean column, is true on a row that only
    advances processing time.

    ``corrupt_record``, a text column, is the text of a row that could not be parsed, as in the column
    ``_corrupt_record`` of Spark's readers. It is null on all other rows. A frame of ``stream_files`` has such texts
    itself.

    The data may also be a ``KafkaInput``, as on the local engine. Its messages have the fields of the source's records
    and the columns ``kafka_partition``, ``kafka_offset`` and ``kafka_timestamp``. The session needs Spark's connector
    to Kafka; without it, ``compile`` raises ``MissingExtraError`` with the ways to get it.

    Example::

        files = spark.readStream.schema(flowalg_spark.schema_of(scores)).parquet("scores")
        StreamInput(files, BoundedOutOfOrderness(timedelta(seconds=30)))
        StreamInput(files, LagQuantile(0.99), processing_time=F.col("seen"), partition=F.col("device"))
        StreamInput(KafkaInput("localhost:9092", "scores"), BoundedOutOfOrderness(timedelta(seconds=30)))
    """

    data: DataFrame | KafkaInput
    watermark: WatermarkPolicy
    processing_time: Column | None = field(default=None, kw_only=True)
    end_of_input: Column | None = field(default=None, kw_only=True)
    partition: Column | None = field(default=None, kw_only=True)
    signal: Column | None = field(default=None, kw_only=True)
    signal_key: Column | None = field(default=None, kw_only=True)
    signal_window: Column | None = field(default=None, kw_only=True)
    tick: Column | None = field(default=None, kw_only=True)
    corrupt_record: Column | None = field(default=None, kw_only=True)
    source_watermark: Column | None = field(default=None, kw_only=True)

    def __attrs_post_init__(self) -> None:
        if isinstance(self.data, KafkaInput):
            if self.corrupt_record is not None:
                why = "the topic itself finds messages that are not records"
                raise ArgumentError(
                    "StreamInput.corrupt_record", self.corrupt_record, "None for a topic", why=why
                )
        elif not isinstance(self.data, DataFrame):
            raise ArgumentError("StreamInput.data", self.data, "a Spark DataFrame, or a KafkaInput")
        require_policy(self.watermark)
        for name in STREAM_COLUMNS:
            column = getattr(self, name)
            if column is not None and not isinstance(column, Column):
                raise ArgumentError(f"StreamInput.{name}", column, "a Column of the frame, or None")

    @property
    def frame(self) -> DataFrame:
        """The frame. Raises ``ArgumentError`` for a topic, which is a frame only in a compiled query."""
        if isinstance(self.data, DataFrame):
            return self.data
        why = "a topic is a frame only in a compiled query"
        raise ArgumentError("StreamInput.data", self.data, "a Spark DataFrame", why=why)

    def with_columns(self, source: str) -> tuple[DataFrame, StreamColumns]:
        """Returns the frame with the columns of the input under names of their own, and what they are to its source."""
        columns_of_input = {
            name: column for name in STREAM_COLUMNS if (column := getattr(self, name)) is not None
        }
        named = [column.alias(INPUT + name) for name, column in columns_of_input.items()]
        frame = self.frame.select("*", *named) if named else self.frame
        columns = {name: col(INPUT + name) for name in columns_of_input}
        time, corrupt, error = columns.get("processing_time"), columns.get("corrupt_record"), None
        if corrupt is None and CORRUPT_ERROR in frame.columns:
            corrupt, error = col(CORRUPT_RECORD), col(CORRUPT_ERROR)
        return frame, StreamColumns(
            now() if time is None else require_arrivals(source, sql.unix_micros(time)),
            columns.get("end_of_input"),
            columns.get("tick"),
            columns.get("signal"),
            columns.get("signal_key"),
            columns.get("signal_window"),
            columns.get("partition"),
            corrupt,
            error,
            published=columns.get("source_watermark"),
        )


@overload
def compile(
    outputs: PCollection[A], inputs: Mapping[AnySource, StreamInput], **options: Unpack[StreamOptions]
) -> PaneFrame[A]: ...
@overload
def compile(
    outputs: Mapping[str, PCollection[object]],
    inputs: Mapping[AnySource, StreamInput],
    **options: Unpack[StreamOptions],
) -> PaneFrame[object]: ...
def compile(
    outputs: PCollection[A] | Mapping[str, PCollection[object]],
    inputs: Mapping[AnySource, StreamInput],
    **options: Unpack[StreamOptions],
) -> PaneFrame[A] | PaneFrame[object]:
    """Returns a pipeline, or several named outputs, over unbounded frames, as a streaming DataFrame in append mode.

    The output is panes, or elements if the pipeline groups nothing. Without a grouping and a side input, the query is a
    plain select without state, and an element of a source that carries processing times has its own.

    The rows of several outputs are those of one query with one checkpoint. A row has the name of its ``output``, and a
    struct in the column of that name, with the columns that the output has alone; the columns of the other outputs are
    null. ``select_output(frame, name)`` returns the rows of an output, of the frame of a micro-batch or a stored table,
    and ``sinks.route`` writes each to its own sink. A grouping that outputs share runs once, with one state. Sources,
    and steps before the first grouping, are read once for each output and each grouping that reads them: Spark's plan
    is a tree, and sending all rows through the state of a grouping would cost more. The outputs and their order belong
    to the checkpoint.

    The ``options`` are ``StreamOptions``. A collection with several readers is computed once for each.

    Raises ``UnboundSourceError``, ``SchemaMismatchError``, ``ArgumentError``, and ``UnsupportedError`` for features
    that streaming lacks.

    Example::

        files = spark.readStream.schema(flowalg_spark.schema_of(scores)).parquet("scores")
        stream = StreamInput(files, BoundedOutOfOrderness(timedelta(seconds=30)))
        panes = streaming.compile(totals, {scores: stream})
        panes.writeStream.option("checkpointLocation", "checkpoint").start("panes", format="parquet")

        rows = streaming.compile({"totals": totals, "clean": clean}, {scores: stream})
        sink = sinks.route({"totals": sinks.upsert(totals, table="totals", target=SQLite("tables.db")), ...})
        rows.writeStream.foreachBatch(sink).option("checkpointLocation", "checkpoint").start()
    """
    settings = Options(**options)
    frame = compile_sources(outputs, stream_sources(outputs, inputs, settings), settings)
    report_functions(frame.lifting, require_lifted=settings.require_lifted)
    return frame


def check(
    outputs: PCollection[object] | Mapping[str, PCollection[object]], *, dead_letters: bool = False
) -> Result[Plan, UnsupportedError]:
    """Returns the plan of a pipeline or of named outputs, or the error with all ``parts`` that a stream cannot run.

    It is what ``compile`` raises, but it needs no data, and leaves out the watermark policies of inputs.
    ``dead_letters`` is that of ``compile``.

    Example::

        streaming.check(totals).alt(lambda error: error.parts)
    """
    return check_outputs(outputs, partial(plan_query, dead_letters=dead_letters), STREAM_REQUIREMENTS)


def stream_sources(
    outputs: PCollection[object] | Mapping[str, PCollection[object]],
    inputs: Mapping[AnySource, StreamInput],
    options: Options,
    *,
    bounded: bool = False,
) -> dict[str, SourceStream]:
    """Returns the streams of the sources of outputs, by name.

    With ``bounded``, the query reads the data that there are and ends, so that no time passes without data.
    """
    roots = [pipeline.node for pipeline in require_outputs(outputs).values()]
    streams = inputs_by_name(inputs, "StreamInput(frame, watermark)", *roots)
    for name, stream in streams.items():
        if not isinstance(stream, StreamInput):
            raise ArgumentError(f"the input of source {name!r}", stream, "a StreamInput")
    topics = {name: stream.data for name, stream in streams.items() if isinstance(stream.data, KafkaInput)}
    if topics:
        streams = _with_frames(streams, sources_of(*roots))
    for name, stream in streams.items():
        require_stream(name, stream.frame)
        require_column_types(
            name, stream.frame, {argument: getattr(stream, argument) for argument in STREAM_COLUMNS}
        )
        if options.tick_when_idle and stream.processing_time is not None:
            raise ticks_with_times(name)
    session = next(iter(streams.values())).frame.sparkSession
    if options.drain_signal_path is not None:
        folder = path_text("drain_signal_path", options.drain_signal_path)
        streams = _with_drain_signal(session, streams, folder)
    waiting = None if bounded else _waiting_for_time(streams, roots)
    if options.tick and (options.tick_when_idle or waiting is not None):
        streams = {name: _with_ticks(stream) for name, stream in streams.items()}
    elif waiting is not None:
        _LOG.warning("%s", waiting)
    sources = {}
    for name, stream in streams.items():
        frame, columns = stream.with_columns(name)
        upstream = FromSource(
            stream.watermark,
            name,
            at_batch_time=stream.processing_time is None,
            publishes=stream.source_watermark is not None,
            ends=stream.end_of_input is not None,
        )
        placed = _with_places(evolve(columns, dead_letters=options.dead_letters), topics.get(name))
        sources[name] = SourceStream(frame, placed, upstream)
    return sources


def _waiting_for_time(streams: Mapping[str, StreamInput], roots: Sequence[Node]) -> str | None:
    """Returns the warning of a query without ticks, if anything waits for processing time and no source carries it."""
    if any(stream.processing_time is not None for stream in streams.values()):
        return None
    policies = {name: stream.watermark for name, stream in streams.items()}
    return ticks_off(roots, policies) if has_stages(*roots) else None


def _with_frames(streams: Mapping[str, StreamInput], nodes: Sequence[SourceNode]) -> dict[str, StreamInput]:
    """Returns the inputs with topics as frames."""
    frames = [stream.data for stream in streams.values() if isinstance(stream.data, DataFrame)]
    session = frames[0].sparkSession if frames else _active_session()
    by_name = {node.name: node for node in nodes}
    inputs = {}
    for name, stream in streams.items():
        if isinstance(stream.data, KafkaInput):
            partition = F.col(MESSAGE_PARTITION) if stream.partition is None else stream.partition
            frame = read_topic(session, by_name[name], stream.data)
            inputs[name] = evolve(
                stream, data=frame, partition=partition, corrupt_record=F.col(CORRUPT_RECORD)
            )
        else:
            inputs[name] = stream
    return inputs


def _active_session() -> SparkSession:
    try:
        return SparkSession.active()
    except PySparkException as error:
        raise UnsupportedError(
            "streaming: a topic needs an active Spark session; create one first"
        ) from error


def _with_places(columns: StreamColumns, topic: KafkaInput | None) -> StreamColumns:
    """Returns the columns of a stream, whose errors name the messages of a topic."""
    if topic is None:
        return columns
    return evolve(columns, origin=place_column(topic), corrupt_error=col(CORRUPT_ERROR))


def compile_sources(
    outputs: PCollection[A] | Mapping[str, PCollection[object]],
    sources: Mapping[str, SourceStream],
    options: Options,
) -> PaneFrame[A] | PaneFrame[object]:
    """Returns outputs over the streams of their sources, by name."""
    plan = plan_query(require_outputs(outputs), dead_letters=options.dead_letters)
    observed = {
        name: source.upstream.policy
        for name, source in sources.items()
        if isinstance(source.upstream, FromSource) and not source.upstream.publishes
    }
    requirements = evolve(STREAM_REQUIREMENTS, observed=observed)
    with require_sendable(*plan.roots), reporting_all_parts(plan, requirements):
        for name in plan.sources:
            requirements.require_observable(name)
        return _compile_plan(outputs, plan, sources, options)


def _compile_plan(
    outputs: PCollection[A] | Mapping[str, PCollection[object]],
    plan: Plan,
    sources: Mapping[str, SourceStream],
    options: Options,
) -> PaneFrame[A] | PaneFrame[object]:
    if not isinstance(outputs, PCollection):
        require_column_names(outputs, next(iter(sources.values())).frame.sparkSession)
        lowering = _lowering(plan, sources, options)
        slots = lowering.outputs()
        return output_frame(plan, slots, lowering.parked, lowering.stages if options.metrics else ())
    if not plan.stages and not options.dead_letters:
        return _compile_stateless(outputs, plan, sources)
    lowering = _lowering(plan, sources, options)
    flow = lowering.output(ONLY_OUTPUT).flow
    if options.metrics or options.dead_letters:
        flow = evolve(
            flow,
            frame=with_metrics_observed(
                flow.frame,
                lowering.stages if options.metrics else (),
                dead_letters=options.dead_letters,
            ),
        )
    return pane_frame(outputs, flow, partial(_with_drops, flow, panes=plan.emits_panes(ONLY_OUTPUT)))


def _lowering(plan: Plan, sources: Mapping[str, SourceStream], options: Options) -> Lowering:
    session = next(iter(sources.values())).frame.sparkSession
    ensure_state_store(session)
    warn_of_partitions(session)
    return Lowering.of(
        plan,
        sources,
        shard_ids(session, options.shards),
        options.state_cache_bytes,
        metrics=options.metrics,
        late_data=options.late_data,
    )


def _compile_stateless(
    pipeline: PCollection[A], plan: Plan, sources: Mapping[str, SourceStream]
) -> PaneFrame[A]:
    """Returns the elements of a pipeline without stages: those of a batch, since nothing waits for a clock."""
    frames = {name: source.frame for name, source in sources.items()}
    columns = {
        name: evolve(source.columns, processing_time=time_in_rows(source.frame))
        if isinstance(source.upstream, FromSource) and source.upstream.at_batch_time
        else source.columns
        for name, source in sources.items()
    }

    def bind(source: SourceNode, frame: DataFrame) -> Flow:
        return bind_source(source, frame, evolve(columns[source.name], elements_only=True))

    (flow,) = lower(plan, frames, bind, now()).values()
    return pane_frame(pipeline, flow, partial(_with_no_drops, flow))


def _with_no_drops(flow: Flow, *, metrics: bool) -> DataFrame:
    """Returns the elements with a null ``drop``: without a stage nothing is dropped, and no clock has metrics."""
    if metrics:
        raise UnsupportedError(
            "with_metrics: the pipeline has no grouping and no side input, whose metrics they are"
        )
    return user_frame(flow, *drop_columns(()), panes=False)


def drain(session: SparkSession, drain_signal_path: str | PathLike[str]) -> None:
    """Ends all inputs in the next run of a query that was compiled with this ``drain_signal_path``.

    The watermark advances to the end of time after the elements of that run's first micro-batch: all windows close and
    emit their last panes. Elements in later micro-batches fail the query with a ``CheckpointError``, before anything is
    written: its input has ended. So for a backfill, run the query with ``availableNow`` until it ends, call ``drain``,
    and run it again.
    """
    end = session.createDataFrame([(True,)], _DRAIN_SCHEMA)
    end.coalesce(1).write.mode("append").parquet(path_text("drain_signal_path", drain_signal_path))


def _with_drain_signal(
    session: SparkSession, streams: Mapping[str, StreamInput], folder: str
) -> dict[str, StreamInput]:
    """Returns the inputs, each with the drain signals in the folder as control rows."""
    # A stream needs an existing folder. An existing folder is not changed.
    session.createDataFrame([], _DRAIN_SCHEMA).write.mode("ignore").parquet(folder)
    with_signal = {}
    for name, stream in streams.items():
        ends = session.readStream.schema(_DRAIN_SCHEMA).parquet(pattern_of(folder))
        frame, ended = _with_marks(stream.frame, ends, _DRAINED, stream.end_of_input)
        with_signal[name] = evolve(stream, data=frame, end_of_input=ended)
    return with_signal


def _with_ticks(stream: StreamInput) -> StreamInput:
    """Returns the input with one control row per second that advances processing time."""
    seconds = stream.frame.sparkSession.readStream.format("rate").option("rowsPerSecond", 1).load()
    ticks = seconds.select(F.lit(True).alias(_TICK))
    frame, tick = _with_marks(stream.frame, ticks, _TICK, stream.tick)
    return evolve(stream, data=frame, tick=tick)


def _with_marks(
    frame: DataFrame, marks: DataFrame, name: str, already_marked: Column | None
) -> tuple[DataFrame, Column]:
    """Returns a frame with more rows, which have only the column ``name``; and the condition for rows with a mark.

    ``already_marked`` is the condition for the rows of the frame that have such a mark already.
    """
    marked = F.coalesce(F.col(name), F.lit(False))
    if already_marked is not None:
        marked |= F.coalesce(already_marked, F.lit(False))
    return frame.unionByName(marks, allowMissingColumns=True), marked


def _with_drops(flow: Flow, *, metrics: bool, panes: bool) -> DataFrame:
    """Returns the output and drops, and with ``metrics`` the metrics of stages, as rows.

    A drop has its stage if several stages can drop.
    """
    shown = flow.select(guard_columns(flow.element), flow.shape)
    if DROP in flow.meta:
        is_drop, drop = col(DROP).is_not_null(), col(DROP)
    else:
        is_drop = col(DROP_REASON).is_not_null()
        drop = drop_struct(errors=ERROR in flow.meta, late_data=LATE_TIME in flow.meta)
    is_output = col(KEEP) | is_drop
    others = [drop.alias("drop")] if panes else list(drop_columns(flow.meta))
    if metrics:
        if METRICS not in flow.meta:
            raise ArgumentError("metrics", False, "True in streaming.compile for with_metrics()")
        is_output |= col(METRICS).is_not_null()
        others.append(metrics_struct().alias(METRICS_COLUMN))
    return user_frame(evolve(shown, frame=where(shown.frame, is_output)), *others, panes=panes)
