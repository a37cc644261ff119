"""Spark batch: a bounded pipeline as relational algebra over DataFrames (SEMANTICS section 11).

A batch is one instant, so every window emits one pane, on time. ``compile`` returns a lazy DataFrame.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from functools import partial
from itertools import chain
from typing import Final, TypeVar, Unpack, cast, overload

from flowalg_columns import batch_interpreter as shared
from flowalg_columns.checks.plans import check_outputs, reporting_all_parts
from flowalg_columns.notes import report_functions
from flowalg_shard.tables.columns import PROCESSING_TIME
from pyspark.sql import DataFrame
from returns.result import Result

from flowalg.data.errors import ArgumentError, UnsupportedError, require_flag
from flowalg.data.shapes import RecordOf
from flowalg.data.time import processing_time
from flowalg.pipeline.nodes import Node, SourceNode
from flowalg.pipeline.outputs import ONLY_OUTPUT, emits_panes
from flowalg.pipeline.pcollection import PCollection
from flowalg.pipeline.structure import last_grouping
from flowalg.plan.plan import Plan, plan_batch
from flowalg.runs.inputs import AnySource, inputs_by_name
from flowalg.runs.run import Outputs, Run, run_of
from flowalg_spark.batch.dead_letters import DeadLetters
from flowalg_spark.batch.lowering import lower
from flowalg_spark.capabilities import BATCH, REQUIREMENTS
from flowalg_spark.encoding import sql
from flowalg_spark.encoding.columns import col, select
from flowalg_spark.encoding.sql import NULL, Sql
from flowalg_spark.frames.drop_columns import drop_columns
from flowalg_spark.frames.drops import read_bad_records
from flowalg_spark.frames.pane_frame import (
    BAD_RECORD_TYPE,
    PaneFrame,
    collect_tables,
    drop_type,
    flatten_frame,
    pane_frame,
    read_output,
    user_frame,
)
from flowalg_spark.lowering.binding import bind_source, require_bounded, require_parsed
from flowalg_spark.lowering.flow import Flow
from flowalg_spark.lowering.sending import require_sendable

A = TypeVar("A")

CAPABILITIES: Final = BATCH
"""The capabilities of this interpreter."""


class BatchOptions(shared.BatchOptions, total=False):
    """The options of ``compile`` and ``run``, which say what they mean."""

    corrupt_record: str | None


@overload
def compile(
    outputs: PCollection[A],
    inputs: Mapping[AnySource, DataFrame],
    **options: Unpack[BatchOptions],
) -> PaneFrame[A]: ...
@overload
def compile(
    outputs: Mapping[str, PCollection[A]],
    inputs: Mapping[AnySource, DataFrame],
    **options: Unpack[BatchOptions],
) -> dict[str, PaneFrame[A]]: ...
def compile(
    outputs: PCollection[A] | Mapping[str, PCollection[A]],
    inputs: Mapping[AnySource, DataFrame],
    **options: Unpack[BatchOptions],
) -> PaneFrame[A] | dict[str, PaneFrame[A]]:
    """Returns the output of a pipeline over bounded frames, as a DataFrame: panes, or elements if it groups nothing.

    Several named outputs are a DataFrame each, over the frame of each source of any of them. A collection that they
    share is computed once in a query over several of the DataFrames. Each action of Spark is a separate query: to write
    several outputs of an expensive input, ``cache`` that input.

    ``time`` is the processing time of the output; it defaults to the time at which the query runs. Raises
    ``UnboundSourceError``, ``SchemaMismatchError``, and ``UnsupportedError`` for features that batch lacks.

    Functions that are not lifted run in Python, and are named in the log ``flowalg.lifting``; with ``require_lifted``
    they raise ``UnsupportedError``.

    A bad record fails the query: one that has a null or an impossible event time, or makes a user function raise. With
    ``dead_letters`` it is a row of ``dead_letters()`` of the frame instead, and a drop of ``with_drops()``; each of
    several frames has those of all outputs. Functions that can fail then run in Python. ``corrupt_record`` names the
    column in which Spark puts the texts that it cannot parse; they are bad records too, as those of ``read_files`` are.

    Example::

        panes = batch.compile(totals, {scores: spark.read.parquet("scores")})
        panes.final_values().write.parquet("totals")

        frames = batch.compile({"by team": by_team, "clean": clean}, {scores: spark.read.parquet("scores")})
        frames["clean"].write.parquet("clean")
    """
    if isinstance(outputs, PCollection):
        return _compile({ONLY_OUTPUT: outputs}, inputs, **options)[ONLY_OUTPUT]
    return _compile(outputs, inputs, **options)


def check(
    outputs: PCollection[object] | Mapping[str, PCollection[object]], *, dead_letters: bool = False
) -> Result[Plan, UnsupportedError]:
    """Returns the plan of a pipeline or of named outputs, or the error with all ``parts`` that a batch cannot run.

    It is what ``compile`` raises, without data. ``dead_letters`` is that of ``compile``.

    Example::

        batch.check(totals).alt(lambda error: error.parts)
    """
    plan = partial(plan_batch, dead_letters=dead_letters)
    return check_outputs(outputs, plan, REQUIREMENTS)


def _compile(
    outputs: Mapping[str, PCollection[A]],
    inputs: Mapping[AnySource, DataFrame],
    *,
    time: datetime | None = None,
    dead_letters: bool = False,
    require_lifted: bool = False,
    corrupt_record: str | None = None,
) -> dict[str, PaneFrame[A]]:
    """Returns named outputs as frames."""
    require_flag("dead_letters", dead_letters)
    require_flag("require_lifted", require_lifted)
    plan = plan_batch(outputs, dead_letters=dead_letters)
    frames = inputs_by_name(inputs, "frame", *plan.roots)
    clock = sql.unix_micros(sql.current_timestamp()) if time is None else sql.long(processing_time(time))
    bounded = {name: require_bounded(name, frame) for name, frame in frames.items()}
    if corrupt_record is not None and not any(corrupt_record in frame.columns for frame in bounded.values()):
        raise ArgumentError("corrupt_record", corrupt_record, "the name of a column of an input, or None")
    letters = DeadLetters(clock, corrupt_record) if dead_letters else None
    if not dead_letters:
        for name, read in plan.sources.items():
            bounded[name] = require_parsed(read.source, bounded[name], corrupt_record)

    def bind(source: SourceNode, frame: DataFrame) -> Flow:
        return bind_source(source, frame, None, clock)

    with require_sendable(*plan.roots), reporting_all_parts(plan, REQUIREMENTS):
        flows = lower(plan, bounded, bind, clock, letters)
        report_functions(
            chain.from_iterable(flow.notes for flow in flows.values()), require_lifted=require_lifted
        )
        kept_apart = None if letters is None else letters.frame
        return {
            name: cast("PaneFrame[A]", _compile_flow(pipeline, flows[name], clock, kept_apart))
            for name, pipeline in outputs.items()
        }


def _compile_flow(
    pipeline: PCollection[object], flow: Flow, clock: Sql, dead_letters: DataFrame | None
) -> PaneFrame[object]:
    """Returns the output of a pipeline from its flow."""
    output = flow if emits_panes(pipeline.node) else flow.with_meta(**{PROCESSING_TIME: clock})
    if dead_letters is None:
        return pane_frame(pipeline, output, partial(_with_empty_drops, output, pipeline.node))
    return pane_frame(
        pipeline, output, partial(_with_dead_letters, output, pipeline.node, dead_letters), dead_letters
    )


@overload
def run(
    outputs: PCollection[A],
    inputs: Mapping[AnySource, DataFrame],
    **options: Unpack[BatchOptions],
) -> Run[A]: ...
@overload
def run(
    outputs: Mapping[str, PCollection[object]],
    inputs: Mapping[AnySource, DataFrame],
    **options: Unpack[BatchOptions],
) -> Outputs: ...
def run(
    outputs: PCollection[object] | Mapping[str, PCollection[object]],
    inputs: Mapping[AnySource, DataFrame],
    **options: Unpack[BatchOptions],
) -> Run[object] | Outputs:
    """Returns the output of a pipeline over bounded frames as values, in order. It must fit in the driver's memory.

    Several named outputs are those of one query: what they share is computed once. With ``dead_letters``, bad records
    are in ``bad_records`` of the run instead of failing it. ``corrupt_record`` is that of ``compile``.
    """
    if isinstance(outputs, PCollection):
        return run_of(run({ONLY_OUTPUT: outputs}, inputs, **options), outputs)
    dead_letters = options.get("dead_letters", False)
    frames = _compile(outputs, inputs, **options)
    queries = [flatten_frame(outputs[name], frame) for name, frame in frames.items()]
    if dead_letters:
        queries.append(next(iter(frames.values())).dead_letters())
    tables = collect_tables(queries)
    bad = read_bad_records(tables.pop()) if dead_letters else ()
    by_name = {name: read_output(table, outputs[name]) for name, table in zip(frames, tables, strict=True)}
    return Outputs(by_name, (), outputs, bad_records=bad)


def _with_dead_letters(flow: Flow, node: Node, letters: DataFrame, *, metrics: bool) -> DataFrame:
    """Returns the output and, as additional rows, its bad records: the only drops of a batch."""
    output = _with_empty_drops(flow, node, metrics=metrics)
    fields = [field for field in output.schema if field.name != "drop"]
    empty = [NULL.cast(field.dataType).alias(field.name) for field in fields]
    own = [col(field.name) for field in fields]
    drop = sql.struct(*map(col, BAD_RECORD_TYPE.names)).alias("drop")
    unset = NULL.cast(BAD_RECORD_TYPE).alias("drop")
    rows = select(output, *own, unset).union(select(letters, *empty, drop))
    return select(rows, *map(col, output.columns))


def _with_empty_drops(flow: Flow, node: Node, *, metrics: bool) -> DataFrame:
    """Returns the output with a null ``drop``: a batch drops nothing, since its watermark advances once, at its end."""
    if metrics:
        raise UnsupportedError(
            "with_metrics: batch has no metrics; they are for streaming.compile(..., metrics=True)"
        )
    if not emits_panes(node):
        return user_frame(flow, *drop_columns(()), panes=False)
    return user_frame(flow, NULL.cast(drop_type(_last_pair(node))).alias("drop"), panes=True)


def _last_pair(node: Node) -> RecordOf:
    """Returns the shape of the last grouping's pairs; raises ``UnsupportedError`` if the pipeline has no grouping."""
    shape = last_grouping(node).shape
    assert isinstance(shape, RecordOf)
    return shape
