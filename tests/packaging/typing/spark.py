"""The Spark interpreters: expressions and the types that both checkers infer; checked, never run."""

# pyright: strict

from __future__ import annotations

from collections.abc import Generator, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import assert_type

import pyarrow as pa
from flowalg_kafka import KafkaInput
from flowalg_shard.replay import ReplayBatch
from flowalg_spark import (
    LiftingNote,
    PaneFrame,
    Plan,
    ReplayedBatch,
    ReplayedBatches,
    ReplayInput,
    ReplayLog,
    StageMetrics,
    StreamInput,
    arrow_schema_of,
    bad_records,
    batch,
    check_checkpoint,
    collect,
    collect_elements,
    configure,
    final_values,
    listener,
    local_session,
    metrics,
    open_keys,
    open_state,
    output_of,
    pane_table,
    plan,
    query_progress,
    read_files,
    read_table,
    records_in,
    replay,
    replay_all,
    replay_log,
    reshard,
    schema_of,
    stage_metrics,
    stream_files,
    streaming,
)
from flowalg_spark.lowering.binding import StreamColumns
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql.streaming.listener import StreamingQueryListener, StreamingQueryProgress
from pyspark.sql.types import StructType

from flowalg import (
    KV,
    BadRecord,
    BoundedOutOfOrderness,
    Computation,
    Drop,
    KeyContents,
    Observer,
    Output,
    OutputElement,
    Outputs,
    Pane,
    PCollection,
    QueryProgress,
    Run,
    Source,
    Timeline,
    WatermarkPolicy,
)
from flowalg.analysis.capabilities import Capabilities
from flowalg.data.time import ProcessingTime
from tests.packaging.typing.records import Flight


def sessions() -> None:
    """A local session."""
    assert_type(local_session("flights", cores=2, memory="1g", log=Path("log")), SparkSession)
    assert_type(local_session(settings={"spark.jars": "a.jar"}), SparkSession)
    assert_type(configure(local_session(), partitions=2), SparkSession)


def batches(
    totals: PCollection[KV[str, int]],
    flights: Source[Flight],
    names: Source[str],
    frame: DataFrame,
    time: datetime,
) -> None:
    """Batch runs over bounded frames; the inputs may be a literal or a variable."""
    assert_type(batch.compile(totals, {flights: frame}), PaneFrame[KV[str, int]])
    assert_type(batch.compile(totals, {flights: frame, names: frame}, time=time), PaneFrame[KV[str, int]])
    assert_type(batch.run(totals, {flights: frame}), Run[KV[str, int]])
    given = {flights: frame}
    assert_type(batch.compile(totals, given), PaneFrame[KV[str, int]])
    assert_type(batch.run(totals, given, time=time), Run[KV[str, int]])


def several(
    totals: PCollection[KV[str, int]],
    most: PCollection[int],
    names: PCollection[str],
    flights: Source[Flight],
    frame: DataFrame,
    time: datetime,
) -> None:
    """Several outputs by name: values have their types by collection."""
    given = {flights: frame}
    assert_type(batch.compile_all({"totals": totals}, given), dict[str, PaneFrame[KV[str, int]]])
    run = batch.run_all({"totals": totals, "most": most, "names": names}, given, time=time)
    assert_type(batch.run_all({"totals": totals}, given), Outputs)
    assert_type(run[totals].panes, tuple[Pane[KV[str, int]], ...])
    assert_type(run["most"], Output[object])
    assert_type(collect_elements(names, frame), tuple[OutputElement[str], ...])


def several_of_a_stream(
    totals: PCollection[KV[str, int]],
    names: PCollection[str],
    flights: Source[Flight],
    stream: StreamInput,
    frame: DataFrame,
) -> None:
    """Several outputs of a stream are the rows of one frame."""
    both = {"totals": totals, "names": names}
    assert_type(streaming.compile_all(both, {flights: stream}, metrics=True), PaneFrame[object])
    assert_type(output_of(frame, "totals"), DataFrame)


def sources(spark: SparkSession, flights: Source[Flight], names: Source[str]) -> None:
    """Frames, sources and their elements."""
    assert_type(schema_of(flights), StructType)
    assert_type(schema_of(names), StructType)
    assert_type(read_table(spark, flights, "flights"), DataFrame)
    assert_type(open_state(spark, "checkpoint", stage=1), DataFrame)
    assert_type(plan(spark, names, "checkpoint", shards=2), Plan)
    assert_type(plan(spark, {"names": names}, "checkpoint"), Plan)
    check_checkpoint(spark, Path("checkpoint"))
    reshard(spark, Path("checkpoint"), "resharded", shards=8)
    assert_type(read_files(spark, names, "names.json", format="json"), DataFrame)
    assert_type(stream_files(spark, names, "names", format="csv", columns={"seen": str | None}), DataFrame)


def state_of_a_computation(
    spark: SparkSession, totals: PCollection[KV[str, int]], silence: Computation[str, int, bool, str]
) -> None:
    """The state in a checkpoint has the types of the computation."""
    assert_type(
        open_keys(spark, "checkpoint", totals, silence, stage=1), tuple[KeyContents[str, int, bool], ...]
    )


def metrics_of_a_stream(
    totals: PCollection[KV[str, int]],
    flights: Source[Flight],
    stream: StreamInput,
    frame: PaneFrame[KV[str, int]],
    stored: DataFrame,
    progress: StreamingQueryProgress,
    observer: Observer,
) -> None:
    """The metrics of a run."""
    assert_type(streaming.compile(totals, {flights: stream}, metrics=True), PaneFrame[KV[str, int]])
    assert_type(frame.with_metrics(), DataFrame)
    assert_type(metrics(stored), DataFrame)
    assert_type(stage_metrics(progress), tuple[StageMetrics, ...])
    assert_type(bad_records(progress), int)
    assert_type(query_progress(progress), QueryProgress | None)
    assert_type(listener(print, observer), StreamingQueryListener)


def stage(metrics: StageMetrics) -> None:
    """The metrics of a stage."""
    assert_type(metrics.number, int)
    assert_type(metrics.stage, str)
    assert_type(metrics.processing_time, datetime)
    assert_type(metrics.watermark, datetime)
    assert_type(metrics.watermark_lag, float | None)
    assert_type(metrics.elements, int)
    assert_type(metrics.windows, int)
    assert_type(metrics.state_bytes, int)
    assert_type(metrics.early, int)
    assert_type(metrics.on_time, int)
    assert_type(metrics.late, int)
    assert_type(metrics.retraction, int)
    assert_type(metrics.expired, int)
    assert_type(metrics.closed, int)
    assert_type(metrics.dropped_late, int)
    assert_type(metrics.unfired_timers, int)
    assert_type(metrics.step_seconds, float)


def replays(log: ReplayLog, flights: Source[Flight], stored: DataFrame, table: pa.Table) -> None:
    """The replay of a run."""
    assert_type(replay_log(stored), ReplayLog)
    assert_type(replay_log(table), ReplayLog)
    assert_type(log.batches, tuple[ReplayBatch, ...])
    flown: list[Flight] = []
    assert_type(log.timeline(flights, flown), Timeline[Flight])


def recorded(
    totals: PCollection[KV[str, int]],
    flights: Source[Flight],
    frame: DataFrame,
    found: ReplayInput,
    policy: WatermarkPolicy,
    time: Column,
    output: ReplayedBatch[KV[str, int]],
) -> None:
    """Recorded data, instant by instant."""
    assert_type(found, DataFrame | StreamInput)
    assert_type(
        replay(totals, {flights: frame}, watermark=policy, processing_time=time, every=timedelta(1)),
        Generator[ReplayedBatch[KV[str, int]], None, None],
    )
    replay(totals, {flights: found}, micro_batch=time, ends=False, shards=2, folder=Path("scratch"))
    assert_type(output.pipeline, PCollection[KV[str, int]])
    assert_type(output.number, int)
    assert_type(output.processing_time, ProcessingTime)
    assert_type(output.frame, DataFrame)
    assert_type(output.output, Output[KV[str, int]])
    assert_type(output.panes, tuple[Pane[KV[str, int]], ...])
    assert_type(output.elements, tuple[OutputElement[KV[str, int]], ...])
    assert_type(output.dropped, tuple[Drop, ...])
    assert_type(output.bad_records, tuple[BadRecord, ...])


def several_recorded(
    totals: PCollection[KV[str, int]],
    flights: Source[Flight],
    found: ReplayInput,
    time: Column,
    output: ReplayedBatches,
) -> None:
    """Several outputs of recorded data."""
    assert_type(
        replay_all({"totals": totals}, {flights: found}, micro_batch=time),
        Generator[ReplayedBatches, None, None],
    )
    assert_type(output.collections, Mapping[str, PCollection[object]])
    assert_type(output.number, int)
    assert_type(output.processing_time, ProcessingTime)
    assert_type(output.frame, DataFrame)
    assert_type(output.outputs, Outputs)
    assert_type(output.outputs[totals], Output[KV[str, int]])


def tables(flights: Source[Flight], totals: PCollection[KV[str, int]], table: pa.Table) -> None:
    """Records and panes as Arrow tables."""
    assert_type(arrow_schema_of(flights), pa.Schema)
    assert_type(records_in(flights, table), list[Flight])
    panes: tuple[Pane[KV[str, int]], ...] = ()
    assert_type(pane_table(totals, panes), pa.Table)


def streams(
    totals: PCollection[KV[str, int]],
    flights: Source[Flight],
    names: Source[str],
    stream: StreamInput,
    spark: SparkSession,
) -> None:
    """Streams over unbounded frames."""
    assert_type(streaming.compile(totals, {flights: stream}), PaneFrame[KV[str, int]])
    assert_type(
        streaming.compile(totals, {flights: stream, names: stream}, shards=4), PaneFrame[KV[str, int]]
    )
    given = {flights: stream}
    assert_type(streaming.compile(totals, given, tick_when_idle=True), PaneFrame[KV[str, int]])
    assert_type(streaming.compile(totals, given, tick=False), PaneFrame[KV[str, int]])
    assert_type(streaming.compile(totals, given, drain_signal_path=Path("drain")), PaneFrame[KV[str, int]])
    streaming.drain(spark, "drain")


def inputs(frame: DataFrame, stream: StreamInput) -> None:
    """The inputs of a stream: the watermark, the processing time and the end."""
    policy = BoundedOutOfOrderness(timedelta(seconds=30))
    assert_type(StreamInput(frame, policy), StreamInput)
    assert_type(
        StreamInput(frame, watermark=policy, processing_time=frame["seen"], end_of_input=frame["last"]),
        StreamInput,
    )
    topic = KafkaInput("localhost:9092", "scores")
    assert_type(StreamInput(topic, policy), StreamInput)
    assert_type(stream.data, DataFrame | KafkaInput)
    assert_type(stream.frame, DataFrame)
    assert_type(stream.watermark, WatermarkPolicy)
    assert_type(stream.processing_time, Column | None)
    assert_type(stream.end_of_input, Column | None)
    assert_type(stream.source_watermark, Column | None)
    assert_type(
        StreamInput(frame, policy, partition=frame["part"], signal=frame["signal"], tick=frame["tick"]),
        StreamInput,
    )
    assert_type(stream.partition, Column | None)
    assert_type(stream.signal, Column | None)
    assert_type(stream.signal_key, Column | None)
    assert_type(stream.signal_window, Column | None)
    assert_type(stream.tick, Column | None)
    assert_type(stream.corrupt_record, Column | None)
    assert_type(stream.columns, StreamColumns)


def frames(totals: PCollection[KV[str, int]], panes: PaneFrame[KV[str, int]], note: LiftingNote) -> None:
    """The result of compiling: a frame with notes on lifting and drops."""
    assert_type(collect(totals, panes), tuple[Pane[KV[str, int]], ...])
    assert_type(collect(totals, panes.with_drops()), tuple[Pane[KV[str, int]], ...])
    assert_type(panes.with_drops(), DataFrame)
    assert_type(panes.final_values(), DataFrame)
    assert_type(panes.dead_letters(), DataFrame)
    assert_type(panes.final_values(by=["key"]), DataFrame)
    assert_type(final_values(panes.with_drops(), by=("key",)), DataFrame)
    assert_type(panes.select("key", "value"), DataFrame)
    assert_type(panes.lifting, tuple[LiftingNote, ...])
    assert_type(note.transform, str)
    assert_type(note.reason, str | None)
    assert_type(note.engine, str)
    assert_type(note.location, str | None)
    assert_type(batch.CAPABILITIES, Capabilities)
    assert_type(streaming.CAPABILITIES, Capabilities)
    panes.explain()
    panes.explain(extended=True)
