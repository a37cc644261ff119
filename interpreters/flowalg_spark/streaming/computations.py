"""Prepares a computation for the shard step: its stage, and the columns that the step reads."""

from __future__ import annotations

from attrs import evolve, frozen
from flowalg_columns.checks.stages import computation_stage
from flowalg_columns.layout import key_and_value, leaf_columns
from flowalg_columns.notes import note_of_computation
from flowalg_shard.computations.stage import ComputationStage
from flowalg_shard.tables.columns import END, EVENT_TIME, KEEP, SHARD, START, WEIGHT
from pyspark.sql import types as T

from flowalg.data.shapes import RecordOf
from flowalg.pipeline.nodes import Process
from flowalg.windows.window import GLOBAL_WINDOW
from flowalg_spark.encoding import sql
from flowalg_spark.encoding.columns import col, select
from flowalg_spark.encoding.sql import Sql
from flowalg_spark.lowering.flow import Flow
from flowalg_spark.streaming.grouping import shard_of, weight_of
from flowalg_spark.streaming.streams.stream import Stream


@frozen
class PreparedComputation:
    """The rows of a computation: the ``columns`` that ``stage`` reads, and the shard of each."""

    rows: Stream
    columns: tuple[str, ...]
    stage: ComputationStage
    pair: RecordOf


def prepare_computation(
    node: Process, stream: Stream, meta: dict[str, T.DataType], shards: tuple[int, ...], *, dead_letters: bool
) -> PreparedComputation:
    """Prepares a computation of a stream of pairs, whose clocks need the columns ``meta``.

    Raises ``UnsupportedError`` for types of keys that Spark does not support, and for outputs of an unknown type.
    """
    flow = stream.flow
    stage, pair = computation_stage(node, flow.shape, dead_letters=dead_letters)
    key, value = key_and_value(flow.element)
    keys = leaf_columns(key)
    columns = {
        **dict(zip(stage.key.columns, keys, strict=True)),
        **dict(zip(stage.value.columns, leaf_columns(value), strict=True)),
        WEIGHT: weight_of(flow),
        START: _bound(flow, START, GLOBAL_WINDOW.start),
        END: _bound(flow, END, GLOBAL_WINDOW.end),
    }
    others = {name: kind for name, kind in meta.items() if name not in columns}
    own = [column.alias(name) for name, column in columns.items()]
    shard = sql.when(col(KEEP), shard_of(keys, shards)).alias(SHARD)
    frame = select(flow.frame, *own, shard, *map(col, others))
    rows = evolve(stream, flow=evolve(flow, frame=frame, meta=others).with_notes(note_of_computation(node)))
    return PreparedComputation(rows, (*columns, EVENT_TIME), stage, pair)


def _bound(flow: Flow, name: str, otherwise: int) -> Sql:
    """Returns a bound of the window of each element: that of the global window where it is in no pane."""
    bounds = [col(name)] if name in flow.meta else []
    return sql.coalesce(*bounds, sql.long(otherwise))
