"""Interpreters and their runs: expressions and the types that both checkers infer; checked, never run."""

# pyright: strict

from __future__ import annotations

from datetime import datetime
from typing import assert_type

import flowalg_reference as reference
import pyarrow as pa
from flowalg_reference import (
    Explanation,
    KeyExplanation,
    OutputExplanation,
    Reference,
    ReferenceBatch,
    ReferenceRun,
    WhyNot,
)
from flowalg_sinks import SinkBatch
from flowalg_spark import (
    SparkBatch,
    SparkStreaming,
    StreamInput,
    record_table,
)
from pyspark.sql import DataFrame, SparkSession

from flowalg import (
    KV,
    Count,
    Interpreter,
    Mode,
    Outputs,
    Pane,
    PCollection,
    Run,
    Source,
    Timeline,
    Window,
    final_values,
    load_interpreter,
)
from flowalg.notebook import PaneTable
from flowalg.runs import Output, OutputElement, WindowedValue
from tests.packaging.typing.records import Flight


def runs_of_the_reference(
    totals: PCollection[KV[str, int]],
    flights: Source[Flight],
    names: Source[str],
    timeline: Timeline[Flight],
    other: Timeline[str],
) -> None:
    """Runs over timelines; the inputs may be a literal or a variable."""
    assert_type(reference.run(totals, {flights: timeline}), ReferenceRun[KV[str, int]])
    assert_type(reference.run(totals, {flights: timeline, names: other}), ReferenceRun[KV[str, int]])
    assert_type(reference.run(totals, {flights: timeline}, mode=Mode.MICRO_BATCH), ReferenceRun[KV[str, int]])
    of_one = {flights: timeline}
    assert_type(reference.run(totals, of_one), ReferenceRun[KV[str, int]])
    of_two = {flights: timeline, names: other}
    assert_type(reference.run(totals, of_two), ReferenceRun[KV[str, int]])


def batches(flights: Source[Flight], names: Source[str], flight: Flight, time: datetime) -> None:
    """Batches over bounded data."""
    by_length = flights.key_by(lambda f: len(f.origin)).combine_per_key(Count())
    assert_type(reference.run_batch(by_length, {flights: [flight]}), ReferenceRun[KV[int, int]])
    assert_type(
        reference.run_batch(by_length, {flights: [flight], names: iter("a")}), ReferenceRun[KV[int, int]]
    )
    of_one = {flights: [flight]}
    assert_type(reference.run_batch(by_length, of_one, time=time), ReferenceRun[KV[int, int]])


def results(run: ReferenceRun[KV[str, int]]) -> None:
    """Panes, drops and watermarks of a run."""
    assert_type([pane.value for pane in run.panes], list[int])
    assert_type({pane.key: pane.index for pane in run.panes}, dict[str, int])
    assert_type(PaneTable(run.panes), PaneTable[KV[str, int]])


def questions(
    run: ReferenceRun[KV[str, int]], pane: Pane[KV[str, int]], window: Window, time: datetime
) -> None:
    """Explanations of a pane and of a missing pane."""
    assert_type(reference.explain_when(run, pane), Explanation[KV[str, int]])
    assert_type(reference.why_not(run, "a", window), WhyNot)
    assert_type(reference.why_not(run, "a", window, at=time), WhyNot)


def questions_about_computations(
    run: ReferenceRun[KV[str, int]], output: OutputElement[KV[str, int]], time: datetime
) -> None:
    """Explanations of an output of a computation, and of what a key waits for."""
    assert_type(reference.explain_when(run, output), OutputExplanation[KV[str, int]])
    assert_type(reference.why_not(run, "a"), KeyExplanation)
    assert_type(reference.why_not(run, "a", at=time), KeyExplanation)


def interpreters(
    engine: Interpreter,
    totals: PCollection[KV[str, int]],
    flights: Source[Flight],
    names: Source[str],
    timeline: Timeline[Flight],
    other: Timeline[str],
) -> None:
    """An interpreter is a value, and its run has the pipeline's element type."""
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
    element: OutputElement[KV[str, int]],
) -> None:
    """Elements that nothing has grouped, and several outputs of one run, which have their types by collection."""
    results = engine.run({"totals": totals, "lengths": lengths}, {flights: timeline})
    assert_type(engine.run({"totals": totals}, {flights: timeline}), Outputs)
    assert_type(results[totals], Output[KV[str, int]])
    assert_type(results[lengths].panes, tuple[Pane[int], ...])
    assert_type(results["totals"], Output[object])
    assert_type(SinkBatch(results[totals], None), SinkBatch[KV[str, int]])
    assert_type(results[totals].final_values(), tuple[WindowedValue[KV[str, int]], ...])
    assert_type(element.key, str)
    assert_type(element.value, int)


def references(
    totals: PCollection[KV[str, int]], flights: Source[Flight], timeline: Timeline[Flight]
) -> None:
    """The reference, in both modes and as a batch, is an interpreter whose runs have more details."""
    continuous, batch = Reference(), ReferenceBatch()
    engines: list[Interpreter] = [continuous, Reference(mode=Mode.MICRO_BATCH), batch]
    assert_type([engine.run(totals, {flights: timeline}) for engine in engines], list[Run[KV[str, int]]])
    assert_type(Reference().run(totals, {flights: timeline}), ReferenceRun[KV[str, int]])
    assert_type(ReferenceBatch().run(totals, {flights: timeline}), ReferenceRun[KV[str, int]])
    assert_type(Reference().run({"totals": totals}, {flights: timeline}), Outputs)
    assert_type(ReferenceBatch().run({"totals": totals}, {flights: timeline}), Outputs)


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
    engines: list[Interpreter] = [batch, streaming, load_interpreter("local")]
    assert_type([engine.run(totals, {flights: timeline}) for engine in engines], list[Run[KV[str, int]]])
    assert_type(SparkBatch(spark).run(totals, {flights: frame}), Run[KV[str, int]])
    assert_type(SparkStreaming(spark).run(totals, {flights: stream}), Run[KV[str, int]])
    assert_type(SparkBatch(spark).run({"totals": totals}, {flights: frame}), Outputs)
    assert_type(SparkStreaming(spark).run({"totals": totals}, {flights: stream}), Outputs)
    assert_type(record_table(flights, timeline.elements), pa.Table)


def runs(run: Run[KV[str, int]], unkeyed: Run[int]) -> None:
    """The results that every run has."""
    assert_type(unkeyed.final_values(by=lambda n: n % 2), tuple[WindowedValue[int], ...])
    assert_type(final_values(run.panes), tuple[WindowedValue[KV[str, int]], ...])
    assert_type(final_values(unkeyed.panes, by=lambda n: n % 2), tuple[WindowedValue[int], ...])


def values(final: WindowedValue[KV[str, int]]) -> None:
    """A final value; that of a pair has a key and a value."""
    assert_type(final.key, str)
    assert_type(final.value, int)


def several_outputs(outputs: Outputs, totals: PCollection[int]) -> None:
    """The members of several outputs, and of one."""
    assert_type(outputs[totals], Output[int])
    assert_type(outputs["totals"], Output[object])
