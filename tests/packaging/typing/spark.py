"""Spark, sinks and snapshots: expressions and the types that both checkers infer; checked, never run."""

# pyright: strict

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import AbstractContextManager
from datetime import datetime, timedelta
from pathlib import Path
from typing import assert_type

import flowalg_spark
import pyarrow as pa
from flowalg_kafka import KafkaInput
from flowalg_polars import streaming as local
from flowalg_snapshots import Snapshots, postgresql_rows
from flowalg_spark import (
    PaneFrame,
    ReplayedBatch,
    ReplayedBatches,
    ReplayInput,
    ReplayLog,
    StoredQuery,
    StreamInput,
    batch,
    collect,
    collect_elements,
    open_keys,
    pane_table,
    records_in,
    replay,
    stream_files,
    streaming,
)
from flowalg_spark.sinks import (
    Changelog,
    Delta,
    DuckDB,
    Iceberg,
    Lakehouse,
    LakehouseChangelog,
    LakehouseUpsert,
    PostgreSQL,
    Route,
    SQLite,
    Transaction,
    Upsert,
    changelog,
    route,
    upsert,
)
from pyspark.sql import Column, DataFrame, SparkSession

from flowalg import KV, Computation, Outputs, Pane, PCollection, Run, Source, Timeline
from flowalg.computations import KeyContents
from flowalg.runs import Output, OutputElement
from flowalg.runs.inputs import AnySource
from flowalg.watermarks import WatermarkPolicy
from tests.packaging.typing.records import Flight


def moves(
    session: SparkSession, flights: PCollection[Flight], stream: Mapping[AnySource, StreamInput]
) -> None:
    """A query that moves is data."""
    assert_type(flowalg_spark.read_query(session, "checkpoint", flights, stream), StoredQuery)
    query = local.read_query("checkpoint")
    assert_type(flowalg_spark.write_query(session, query, {"flights": flights}, stream, "into"), None)


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
    inputs = {flights: frame}
    assert_type(batch.compile(totals, inputs), PaneFrame[KV[str, int]])
    assert_type(batch.run(totals, inputs, time=time), Run[KV[str, int]])


def several(
    totals: PCollection[KV[str, int]],
    most: PCollection[int],
    names: PCollection[str],
    flights: Source[Flight],
    frame: DataFrame,
    time: datetime,
) -> None:
    """Several outputs by name: values have their types by collection."""
    inputs = {flights: frame}
    assert_type(batch.compile({"totals": totals}, inputs), dict[str, PaneFrame[KV[str, int]]])
    run = batch.run({"totals": totals, "most": most, "names": names}, inputs, time=time)
    assert_type(batch.run({"totals": totals}, inputs), Outputs)
    assert_type(run[totals].panes, tuple[Pane[KV[str, int]], ...])
    assert_type(run["most"], Output[object])
    assert_type(collect_elements(names, frame), tuple[OutputElement[str], ...])


def several_of_a_stream(
    totals: PCollection[KV[str, int]], names: PCollection[str], flights: Source[Flight], stream: StreamInput
) -> None:
    """Several outputs of a stream are the rows of one frame."""
    both = {"totals": totals, "names": names}
    assert_type(streaming.compile(both, {flights: stream}, metrics=True), PaneFrame[object])


def sources(spark: SparkSession, names: Source[str]) -> None:
    """Frames, sources and their elements."""
    assert_type(stream_files(spark, names, "names", format="csv", columns={"seen": str | None}), DataFrame)


def state_of_a_computation(
    spark: SparkSession, totals: PCollection[KV[str, int]], silence: Computation[str, int, bool, str]
) -> None:
    """The state in a checkpoint has the types of the computation."""
    assert_type(
        open_keys(spark, "checkpoint", totals, silence, stage=1), tuple[KeyContents[str, int, bool], ...]
    )


def metrics_of_a_stream(
    totals: PCollection[KV[str, int]], flights: Source[Flight], stream: StreamInput
) -> None:
    """The metrics of a run."""
    assert_type(streaming.compile(totals, {flights: stream}, metrics=True), PaneFrame[KV[str, int]])


def replays(log: ReplayLog, flights: Source[Flight]) -> None:
    """The replay of a run."""
    flown: list[Flight] = []
    assert_type(log.timeline(flights, flown), Timeline[Flight])


def recorded(
    totals: PCollection[KV[str, int]],
    flights: Source[Flight],
    frame: DataFrame,
    recording: ReplayInput,
    policy: WatermarkPolicy,
    time: Column,
) -> None:
    """Recorded data, instant by instant."""
    assert_type(
        replay(totals, {flights: frame}, watermark=policy, processing_time=time, every=timedelta(1)),
        Generator[ReplayedBatch[KV[str, int]], None, None],
    )
    replay(totals, {flights: recording}, micro_batch=time, ends=False, shards=2, folder=Path("scratch"))


def several_recorded(
    totals: PCollection[KV[str, int]], flights: Source[Flight], recording: ReplayInput, time: Column
) -> None:
    """Several outputs of recorded data."""
    assert_type(
        replay({"totals": totals}, {flights: recording}, micro_batch=time),
        Generator[ReplayedBatches, None, None],
    )


def tables(flights: Source[Flight], totals: PCollection[KV[str, int]], table: pa.Table) -> None:
    """Records and panes as Arrow tables."""
    assert_type(records_in(flights, table), list[Flight])
    panes: tuple[Pane[KV[str, int]], ...] = ()
    assert_type(pane_table(totals, panes), pa.Table)


def streams(
    totals: PCollection[KV[str, int]],
    flights: Source[Flight],
    names: Source[str],
    stream: StreamInput,
) -> None:
    """Streams over unbounded frames."""
    assert_type(streaming.compile(totals, {flights: stream}), PaneFrame[KV[str, int]])
    assert_type(
        streaming.compile(totals, {flights: stream, names: stream}, shards=4), PaneFrame[KV[str, int]]
    )
    inputs = {flights: stream}
    assert_type(streaming.compile(totals, inputs, tick_when_idle=True), PaneFrame[KV[str, int]])
    assert_type(streaming.compile(totals, inputs, tick=False), PaneFrame[KV[str, int]])
    assert_type(streaming.compile(totals, inputs, drain_signal_path=Path("drain")), PaneFrame[KV[str, int]])


def inputs() -> None:
    """A topic as an input, with a format of its own."""
    assert_type(KafkaInput("localhost:9092", "scores", format=lambda message: message.offset), KafkaInput)


def frames(totals: PCollection[KV[str, int]], panes: PaneFrame[KV[str, int]]) -> None:
    """The panes of a frame."""
    assert_type(collect(totals, panes), tuple[Pane[KV[str, int]], ...])
    assert_type(collect(totals, panes.with_drops()), tuple[Pane[KV[str, int]], ...])


def snapshots(scores: Source[Flight], taken: Snapshots[Flight], spark: SparkSession) -> None:
    """Snapshots, and the inputs that they are."""
    rows = postgresql_rows("dbname=shop", "SELECT * FROM scores")
    assert_type(Snapshots(scores, Path("scores"), rows, time="at", every=timedelta(1)), Snapshots[Flight])
    assert_type(local.snapshot_input(taken), local.StreamInput)
    assert_type(flowalg_spark.snapshot_input(spark, taken), flowalg_spark.StreamInput)


class CustomTarget:
    """A user-defined target."""

    def transaction(self) -> AbstractContextManager[Transaction]:
        """The body does not matter here."""
        raise NotImplementedError


def sinks(totals: PCollection[KV[str, int]], names: PCollection[str]) -> None:
    """Functions for ``foreachBatch``."""
    assert_type(upsert(totals, SQLite("panes.db"), table="totals"), Upsert)
    assert_type(upsert(names, CustomTarget(), table="names", by=["value"], query="names", since=3), Upsert)
    assert_type(changelog(totals, PostgreSQL("dbname=panes"), table="log"), Changelog)
    assert_type(changelog(totals, DuckDB("panes.duckdb"), table="log"), Changelog)
    assert_type(changelog(totals, CustomTarget(), table="log", query="names", since=3), Changelog)


def routes() -> None:
    """A function for ``foreachBatch`` that writes several outputs."""
    assert_type(route({"names": lambda rows, batch: rows.show()}), Route)


def lakehouse_sinks(totals: PCollection[KV[str, int]], place: Lakehouse) -> None:
    """Functions for ``foreachBatch`` that write tables of a lakehouse."""
    assert_type(
        upsert(totals, Delta("tables"), table="totals", by=["key"], query="q", since=3), LakehouseUpsert
    )
    assert_type(changelog(totals, Iceberg("lake.panes"), table="log", query="q", since=3), LakehouseChangelog)
    assert_type(upsert(totals, place, table="totals"), LakehouseUpsert)
