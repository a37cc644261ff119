"""Interpreters and runs: expressions and the types that both checkers infer; checked, never run."""

# pyright: strict

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import assert_type

import pyarrow as pa
from flowalg_reference import DroppedElement, Reference, ReferenceBatch, ReferenceRun
from flowalg_spark import (
    SparkBatch,
    SparkStreaming,
    StreamInput,
    collect_bad_records,
    collect_drops,
    record_table,
)
from pyspark.sql import DataFrame, SparkSession

from flowalg import (
    KV,
    BadRecord,
    Capabilities,
    Change,
    Drop,
    EventTime,
    Interpreter,
    Mode,
    Output,
    OutputElement,
    Outputs,
    Pane,
    PCollection,
    ProcessingTime,
    Run,
    Source,
    Timeline,
    UnsupportedError,
    Window,
    WindowedValue,
    final_values,
)
from flowalg.analysis.features import Feature
from tests.packaging.typing.records import Flight


def interpreters(
    engine: Interpreter,
    totals: PCollection[KV[str, int]],
    flights: Source[Flight],
    names: Source[str],
    timeline: Timeline[Flight],
    other: Timeline[str],
) -> None:
    """An interpreter is a value, and its run has the pipeline's element type."""
    assert_type(engine.capabilities, Capabilities)
    assert_type(engine.run(totals, {flights: timeline}), Run[KV[str, int]])
    assert_type(engine.run(totals, {flights: timeline, names: other}), Run[KV[str, int]])
    of_one = {flights: timeline}
    assert_type(engine.run(totals, of_one), Run[KV[str, int]])


def outputs(
    engine: Interpreter,
    totals: PCollection[KV[str, int]],
    lengths: PCollection[int],
    flights: Source[Flight],
    timeline: Timeline[Flight],
    run: Run[KV[str, int]],
    element: OutputElement[KV[str, int]],
) -> None:
    """Elements that nothing has grouped, and several outputs of one run, which have their types by collection."""
    found = engine.run_all({"totals": totals, "lengths": lengths}, {flights: timeline})
    assert_type(engine.run_all({"totals": totals}, {flights: timeline}), Outputs)
    assert_type(found[totals], Output[KV[str, int]])
    assert_type(found[lengths].panes, tuple[Pane[int], ...])
    assert_type(found["totals"], Output[object])
    assert_type(run.elements, tuple[OutputElement[KV[str, int]], ...])
    assert_type(found[totals].final_values(), tuple[WindowedValue[KV[str, int]], ...])
    assert_type(element.element, KV[str, int])
    assert_type(element.key, str)
    assert_type(element.value, int)
    assert_type(element.event_time, EventTime)
    assert_type(element.processing_time, ProcessingTime)


def references(
    totals: PCollection[KV[str, int]],
    flights: Source[Flight],
    timeline: Timeline[Flight],
    run: ReferenceRun[KV[str, int]],
) -> None:
    """The reference, in both modes and as a batch, is an interpreter whose runs have more details."""
    continuous, batch = Reference(), ReferenceBatch()
    engines: list[Interpreter] = [continuous, Reference(mode=Mode.MICRO_BATCH), batch]
    assert_type([engine.run(totals, {flights: timeline}) for engine in engines], list[Run[KV[str, int]]])
    assert_type(Reference().run(totals, {flights: timeline}), ReferenceRun[KV[str, int]])
    assert_type(ReferenceBatch().run(totals, {flights: timeline}), ReferenceRun[KV[str, int]])
    assert_type(Reference().run_all({"totals": totals}, {flights: timeline}), Outputs)
    assert_type(ReferenceBatch().run_all({"totals": totals}, {flights: timeline}), Outputs)
    assert_type(run.unfired_timers, int)
    assert_type(Reference().mode, Mode)
    assert_type(Reference(dead_letters=True).dead_letters, bool)
    assert_type(ReferenceBatch(dead_letters=True).dead_letters, bool)
    assert_type(Reference().capabilities, Capabilities)
    assert_type(ReferenceBatch().capabilities, Capabilities)


def on_spark(
    spark: SparkSession,
    totals: PCollection[KV[str, int]],
    flights: Source[Flight],
    timeline: Timeline[Flight],
    frame: DataFrame,
    stream: StreamInput,
    time: datetime,
) -> None:
    """Spark batch and Spark streaming take timelines, as every interpreter does, and inputs of their own."""
    batch, streaming = SparkBatch(spark, time=time), SparkStreaming(spark, shards=2)
    engines: list[Interpreter] = [batch, streaming]
    assert_type([engine.run(totals, {flights: timeline}) for engine in engines], list[Run[KV[str, int]]])
    assert_type(SparkBatch(spark).run(totals, {flights: frame}), Run[KV[str, int]])
    assert_type(SparkStreaming(spark).run(totals, {flights: stream}), Run[KV[str, int]])
    assert_type(SparkBatch(spark).run_all({"totals": totals}, {flights: frame}), Outputs)
    assert_type(SparkStreaming(spark).run_all({"totals": totals}, {flights: stream}), Outputs)
    assert_type(SparkBatch(spark).spark, SparkSession)
    assert_type(SparkBatch(spark).time, datetime | None)
    assert_type(SparkBatch(spark, dead_letters=True).dead_letters, bool)
    assert_type(SparkBatch(spark).capabilities, Capabilities)
    assert_type(SparkStreaming(spark).spark, SparkSession)
    assert_type(SparkStreaming(spark).shards, int | None)
    assert_type(SparkStreaming(spark).generate_watermarks, bool)
    assert_type(SparkStreaming(spark).folder, Path | None)
    assert_type(SparkStreaming(spark, dead_letters=True).dead_letters, bool)
    assert_type(SparkStreaming(spark).capabilities, Capabilities)
    assert_type(collect_drops(totals, frame), tuple[Drop, ...])
    assert_type(collect_bad_records(frame), tuple[BadRecord, ...])
    assert_type(record_table(flights, timeline.elements), pa.Table)


def runs(run: Run[KV[str, int]], unkeyed: Run[int], drop: DroppedElement) -> None:
    """The results that every run has."""
    assert_type(run.panes, tuple[Pane[KV[str, int]], ...])
    assert_type(run.dropped, tuple[Drop, ...])
    assert_type(run.bad_records, tuple[BadRecord, ...])
    assert_type(run.unfired_timers, int | None)
    assert_type(run.final_values(), tuple[WindowedValue[KV[str, int]], ...])
    assert_type(unkeyed.final_values(by=lambda n: n % 2), tuple[WindowedValue[int], ...])
    assert_type(final_values(run.panes), tuple[WindowedValue[KV[str, int]], ...])
    assert_type(final_values(unkeyed.panes, by=lambda n: n % 2), tuple[WindowedValue[int], ...])
    assert_type(drop.element, object)
    assert_type(drop.event_time, EventTime)
    assert_type(drop.watermark, EventTime)
    assert_type(drop.change, Change)


def bad_records(bad: BadRecord) -> None:
    """A record that a run with dead letters has kept apart."""
    assert_type(bad.stage, str)
    assert_type(bad.error, str)
    assert_type(bad.record, str)


def values(final: WindowedValue[KV[str, int]], plain: WindowedValue[int]) -> None:
    """A final value; that of a pair has a key and a value."""
    assert_type(final.element, KV[str, int])
    assert_type(final.key, str)
    assert_type(final.value, int)
    assert_type(final.window, Window)
    assert_type(final.event_time, EventTime)
    assert_type(plain.element, int)


def capabilities(can: Capabilities) -> None:
    """The capabilities that an interpreter declares."""
    assert_type(can.interpreter, str)
    assert_type(can.missing, Mapping[Feature, str])
    assert_type(can.refused(Feature.STREAMING, "a part"), UnsupportedError)
    assert_type(can.mode, Mode)
    assert_type(can.streams, bool)
    assert_type(can.relevant([Feature.SUM]), frozenset[Feature])
    assert_type(can.lacking([Feature.SUM]), Mapping[Feature, str])


def several_outputs(outputs: Outputs, output: Output[str]) -> None:
    """The members of several outputs, and of one."""
    assert_type(iter(outputs), Iterator[str])
    assert_type(len(outputs), int)
    assert_type(outputs.by_name, Mapping[str, Output[object]])
    assert_type(outputs.collections, Mapping[str, PCollection[object]])
    assert_type(outputs.dropped, tuple[Drop, ...])
    assert_type(outputs.bad_records, tuple[BadRecord, ...])
    assert_type(outputs.unfired_timers, int | None)
    assert_type(output.panes, tuple[Pane[str], ...])
