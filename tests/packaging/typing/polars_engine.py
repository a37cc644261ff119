"""The local engine: expressions and the types that both checkers infer; checked, never run."""

# pyright: strict

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import Literal, assert_type

import flowalg_sinks
import polars as pl
from flowalg_columns.notes import LiftingNote
from flowalg_kafka import KafkaInput
from flowalg_polars import (
    Cluster,
    PaneFrame,
    PolarsBatch,
    PolarsStreaming,
    ReplayInput,
    batch,
    collect,
    collect_elements,
    final_values,
    replay,
    replay_all,
    streaming,
)
from flowalg_polars.batch import BatchInput
from flowalg_polars.streaming import (
    Files,
    Frames,
    MicroBatch,
    MicroBatches,
    Outcome,
    Plan,
    Records,
    RunSummary,
    Sink,
    StageFinding,
    StreamInput,
)
from flowalg_polars.streaming.reading.inputs import Format, StreamColumn
from flowalg_shard.replay import ReplayLog
from flowalg_sinks import Cell, Changelog, PaneSink, Row, SinkBatch, SQLite, Table, Upsert

from flowalg import (
    KV,
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
    Run,
    Source,
    Timeline,
    WatermarkPolicy,
)
from flowalg.analysis.capabilities import Capabilities, Mode
from flowalg.data.shapes import Shape
from flowalg.data.time import ProcessingTime
from flowalg.runs.bad_records import BadRecord
from flowalg.runs.metrics import QueryProgress, SourceMetrics, StageMetrics
from tests.packaging.typing.records import Flight


def batches(
    flights: Source[Flight],
    totals: PCollection[KV[str, int]],
    names: PCollection[str],
    data: BatchInput,
    panes: PaneFrame[KV[str, int]],
) -> None:
    """Panes as lazy frames."""
    frame = pl.DataFrame()
    assert_type(data, BatchInput)
    assert_type(batch.CAPABILITIES, Capabilities)
    assert_type(batch.compile(totals, {flights: frame}, time=datetime.now()), PaneFrame[KV[str, int]])
    both = {"totals": totals, "names": names}
    assert_type(batch.compile_all({"totals": totals}, {flights: frame}), dict[str, PaneFrame[KV[str, int]]])
    assert_type(batch.run(totals, {flights: frame}), Run[KV[str, int]])
    assert_type(batch.run_all(both, {flights: "flights.parquet"})[names], Output[str])
    assert_type(collect_elements(names, frame), tuple[OutputElement[str], ...])
    assert_type(panes.lifting, tuple[LiftingNote, ...])
    assert_type(batch.compile(totals, {flights: frame}, dead_letters=True), PaneFrame[KV[str, int]])
    assert_type(panes.dead_letters(), pl.LazyFrame)
    assert_type(panes.explain(), str)
    assert_type(panes.final_values(by=["key"]), pl.LazyFrame)
    assert_type(final_values(panes), pl.LazyFrame)
    assert_type(collect(totals, panes), tuple[Pane[KV[str, int]], ...])


def interpreters(
    flights: Source[Flight],
    totals: PCollection[KV[str, int]],
    timeline: Timeline[Flight],
    engine: PolarsStreaming,
    cluster: Cluster,
) -> None:
    """The interpreters over timelines."""
    assert_type(PolarsBatch(time=datetime.now()), PolarsBatch)
    assert_type(PolarsBatch(dead_letters=True).dead_letters, bool)
    assert_type(PolarsBatch().time, datetime | None)
    assert_type(PolarsBatch().capabilities, Capabilities)
    assert_type(PolarsBatch().run(totals, {flights: timeline}), Run[KV[str, int]])
    assert_type(PolarsStreaming(Cluster(shards=2), mode=Mode.CONTINUOUS), PolarsStreaming)
    assert_type(engine.cluster, Cluster)
    assert_type(engine.mode, Mode)
    assert_type(engine.generate_watermarks, bool)
    assert_type(engine.dead_letters, bool)
    assert_type(engine.capabilities, Capabilities)
    assert_type(engine.run(totals, {flights: timeline}), Run[KV[str, int]])
    assert_type(engine.run_all({"totals": totals}, {flights: timeline}), Outputs)
    assert_type(PolarsBatch().run_all({"totals": totals}, {flights: timeline}), Outputs)
    assert_type(Cluster(partitions=2, shards=3, restarts=True), Cluster)
    assert_type(cluster.partitions, int)
    assert_type(cluster.shards, int)
    assert_type(cluster.restarts, bool)


def inputs(
    some: Iterable[Flight],
    frames: Iterable[pl.DataFrame],
    files: Files,
    records: Records[Flight],
    stream: StreamInput,
) -> None:
    """The inputs of a stream."""
    policy = BoundedOutOfOrderness(timedelta(minutes=1))
    assert_type(Files("flights", "jsonl", per_batch=2), Files)
    assert_type(files.folder, str)
    assert_type(files.format, Format)
    assert_type(files.per_batch, int)
    assert_type(Frames(frames), Frames)
    assert_type(Frames(frames).frames, Iterable[pl.DataFrame])
    assert_type(Records(some, per_batch=10), Records[Flight])
    assert_type(records.records, Iterable[Flight])
    assert_type(records.per_batch, int)
    assert_type(StreamInput(files, policy, processing_time="seen", partition=pl.col("airport")), StreamInput)
    assert_type(
        StreamInput("flights", policy, end_of_input="last", signal="signal", tick="tick"), StreamInput
    )
    assert_type(stream.data, Files | Frames | Records[object] | KafkaInput)
    assert_type(stream.watermark, WatermarkPolicy)
    assert_type(stream.processing_time, StreamColumn | None)
    assert_type(stream.partition_column, StreamColumn | None)
    assert_type(stream.end_of_input, StreamColumn | None)
    assert_type(stream.source_watermark, StreamColumn | None)
    assert_type(stream.partition, StreamColumn | None)
    assert_type(stream.signal, StreamColumn | None)
    assert_type(stream.signal_key, StreamColumn | None)
    assert_type(stream.signal_window, StreamColumn | None)
    assert_type(stream.tick, StreamColumn | None)


def streams(
    flights: Source[Flight],
    totals: PCollection[KV[str, int]],
    stream: StreamInput,
    written: Sink[KV[str, int]],
    write: Callable[[MicroBatch[object]], None],
    observer: Observer,
) -> None:
    """Queries over streams."""
    assert_type(streaming.CAPABILITIES, Capabilities)
    assert_type(written, Sink[KV[str, int]])
    assert_type(
        streaming.batches(totals, {flights: stream}, checkpoint="checkpoint", follow=True),
        Generator[MicroBatch[KV[str, int]], None, None],
    )
    assert_type(streaming.run(totals, {flights: stream}, sink=written), RunSummary)
    assert_type(streaming.run(totals, {flights: stream}, sink=[write, written]), RunSummary)
    assert_type(streaming.run(totals, {flights: stream}, sink=lambda output: output.number), RunSummary)
    assert_type(
        streaming.run(totals, {flights: stream}, sink=written, name="totals", observers=[observer, print]),
        RunSummary,
    )
    streaming.drain("checkpoint")
    assert_type(streaming.open_state("checkpoint", stage=1), pl.DataFrame)
    streaming.reshard("checkpoint", 4)


def changed_pipelines(totals: PCollection[KV[str, int]], plan: Plan, finding: StageFinding) -> None:
    """A plan is of one pipeline, or of the named outputs of a query."""
    assert_type(streaming.plan(totals, "checkpoint", shards=2), Plan)
    assert_type(streaming.plan({"totals": totals}, "checkpoint"), Plan)
    assert_type(plan.accepted, bool)
    assert_type(plan.stages, tuple[StageFinding, ...])
    assert_type(plan.problems, tuple[str, ...])
    plan.require_accepted()
    assert_type(finding.stage, str)
    assert_type(finding.outcome, Outcome)
    assert_type(finding.reasons, tuple[str, ...])
    assert_type(finding.before, int | None)
    assert_type(finding.now, int | None)
    assert_type(Outcome.NEW, Literal[Outcome.NEW])


def state_of_a_computation(
    totals: PCollection[KV[str, int]], silence: Computation[str, int, bool, str]
) -> None:
    """The state in a checkpoint has the types of the computation."""
    assert_type(
        streaming.open_keys("checkpoint", totals, silence, stage=1), tuple[KeyContents[str, int, bool], ...]
    )


def log() -> None:
    """The replay log of a run."""
    assert_type(streaming.replay_log([]), ReplayLog)


def outputs(output: MicroBatch[KV[str, int]], sink: PaneSink, done: RunSummary) -> None:
    """The output of a micro-batch, and of a run."""
    assert_type(output, MicroBatch[KV[str, int]])
    assert_type(output.pipeline, PCollection[KV[str, int]])
    assert_type(output.number, int)
    assert_type(output.query, str)
    assert_type(output.processing_time, ProcessingTime)
    assert_type(output.rows, pl.DataFrame)
    assert_type(output.frame, pl.DataFrame)
    assert_type(output.output, Output[KV[str, int]])
    assert_type(output.panes, tuple[Pane[KV[str, int]], ...])
    assert_type(output.elements, tuple[OutputElement[KV[str, int]], ...])
    assert_type(output.dropped, tuple[Drop, ...])
    assert_type(output.bad_records, tuple[BadRecord, ...])
    assert_type(output.metrics, tuple[StageMetrics, ...])
    assert_type(output.sources, tuple[SourceMetrics, ...])
    assert_type(output.progress(0.5), QueryProgress)
    assert_type(output.shape, Shape)
    assert_type(output.dropped_count, int)
    assert_type(output.drop_fields, tuple[Mapping[str, object], ...])
    assert_type(output.write_to(sink), bool)
    assert_type(done, RunSummary)
    assert_type(done.batches, int)
    assert_type(done.panes, int)
    assert_type(done.dropped, int)
    assert_type(done.bad_records, int)
    assert_type(done.elements, int)
    assert_type(done.after(output), RunSummary)


def several_streams(
    totals: PCollection[KV[str, int]],
    names: PCollection[str],
    flights: Source[Flight],
    stream: StreamInput,
    sink: PaneSink,
    output: MicroBatches,
) -> None:
    """Several outputs of one query."""
    both = {"totals": totals, "names": names}
    assert_type(streaming.batches_all(both, {flights: stream}, shards=2), Generator[MicroBatches, None, None])
    sinks = {"totals": sink, "names": sink}
    assert_type(streaming.run_all(both, {flights: stream}, sinks=sinks), dict[str, RunSummary])
    streaming.run_all(both, {flights: stream}, sinks={"totals": sink, "names": [sink]})
    assert_type(output["totals"], MicroBatch[object])
    assert_type(output[totals], MicroBatch[KV[str, int]])
    assert_type(output.by_name, Mapping[str, MicroBatch[object]])
    assert_type(output.dropped, tuple[Drop, ...])
    assert_type(iter(output), Iterator[str])
    assert_type(len(output), int)


def replays(
    totals: PCollection[KV[str, int]],
    names: PCollection[str],
    flights: Source[Flight],
    recorded: ReplayInput,
    policy: WatermarkPolicy,
) -> None:
    """Recorded data, instant by instant."""
    assert_type(recorded, pl.DataFrame | pl.LazyFrame | StreamInput)
    assert_type(
        replay(totals, {flights: recorded}, watermark=policy, processing_time="seen", every=timedelta(1)),
        Generator[MicroBatch[KV[str, int]], None, None],
    )
    both = {"totals": totals, "names": names}
    assert_type(
        replay_all(both, {flights: pl.DataFrame()}, watermark=policy, micro_batch=pl.col("file"), ends=False),
        Generator[MicroBatches, None, None],
    )


def sinks(
    totals: PCollection[KV[str, int]], sink: PaneSink, rows: SinkBatch[KV[str, int]], cell: Cell, row: Row
) -> None:
    """Sinks of both streaming engines."""
    assert_type(flowalg_sinks.upsert(totals, SQLite("panes.db"), table="totals", by=["key"], since=3), Upsert)
    assert_type(flowalg_sinks.changelog(totals, SQLite("panes.db"), table="log"), Changelog)
    assert_type(sink, PaneSink)
    assert_type(sink.table, Table)
    assert_type(rows.output, Output[KV[str, int]])
    assert_type(rows.drops, tuple[Mapping[str, object], ...] | None)
    assert_type(cell, Cell)
    assert_type(row, Row)
