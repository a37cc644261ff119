"""Prepares a grouping for the shard step: its stage, and the columns that the step reads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import polars as pl
from attrs import evolve, frozen
from flowalg_columns.checks.stages import GroupingStage, grouping_stage, with_aggregates
from flowalg_columns.combiners import accumulated_argument_of
from flowalg_columns.layout import Layout, key_and_value, layout_of, leaf_columns, leaves
from flowalg_columns.names import CLOCK_META, FORWARDED_META
from flowalg_columns.notes import LiftingNote
from flowalg_shard.contents.stage import Stage, side_argument
from flowalg_shard.tables.columns import (
    CHANGE,
    DROP_REASON,
    END,
    EVENT_TIME,
    KEEP,
    NEW,
    SHARD,
    SIDE,
    START,
    VALUE,
    WEIGHT,
)
from flowalg_shard.triggers.summary import type_of
from pyspark.sql import Column
from pyspark.sql import types as T

from flowalg.pipeline.nodes import CombinePerKey, GroupingNode
from flowalg.runs.panes import Change
from flowalg.runs.placement import SEED
from flowalg_spark.encoding import sql
from flowalg_spark.encoding.columns import col, nest, select
from flowalg_spark.encoding.meta import META_TYPES
from flowalg_spark.encoding.schema import arrow_schema, spark_type
from flowalg_spark.encoding.sql import NULL, Sql
from flowalg_spark.lowering.arguments import combiner_arguments
from flowalg_spark.lowering.flow import Flow, keep_observed_times, row_schema
from flowalg_spark.lowering.python_columns import arrow_column
from flowalg_spark.streaming.python_values import AssignWindows, EvaluateLeaf, PickleValues
from flowalg_spark.streaming.streams.parked_rows import parked_columns
from flowalg_spark.streaming.streams.stream import Stream, unite


@frozen
class PreparedGrouping(GroupingStage):
    """A grouping with its rows: the columns that ``stage`` reads, the shard of each, and its meta.

    With late data ``elements`` are the columns of the elements themselves, among those of the rows.
    """

    rows: Stream
    elements: tuple[str, ...]


def late_columns(input: int, values: Layout) -> tuple[str, ...]:
    """Returns the columns of the values of an input in rows with late data, in the order of their layout."""
    return tuple(f"__late{input}_{leaf}" for leaf, _ in enumerate(leaves(values)))


def prepare_grouping(
    node: GroupingNode, streams: Sequence[Stream], shards: tuple[int, ...], *, late_data: bool
) -> PreparedGrouping:
    """Prepares a grouping of one stream of pairs, or a co-group of several; with ``late_data`` with its elements.

    Raises ``UnsupportedError`` for types of keys and of combiners' results that Spark does not support.
    """
    grouping = grouping_stage(node, [stream.flow.shape for stream in streams])
    late = _LateColumns(tuple(map(layout_of, grouping.values)) if late_data else ())
    if grouping.stage.combiner is None:
        if isinstance(node, CombinePerKey):
            rows, stage = _prepare_columns(streams[0], node, grouping.stage, shards, late)
        else:
            sides = [
                _prepare_side(stream, grouping, side, shards, late) for side, stream in enumerate(streams)
            ]
            rows, stage = unite(sides), grouping.stage
    else:
        (stream,) = streams
        rows, stage = _prepare_objects(stream, node, grouping.stage, shards, late), grouping.stage
    shapes = grouping.pair, grouping.dropped, grouping.values
    return PreparedGrouping(stage, *shapes, rows, late.read(stage))


@frozen
class _LateColumns:
    """The columns of the values of elements, in rows with late data; without it there are no ``layouts``.

    Each input has a layout of its values.
    """

    layouts: tuple[Layout, ...]

    def of(self, flow: Flow, input: int) -> dict[str, Sql]:
        """Returns the columns of the elements of an input, in which those of the others are null."""
        own = leaf_columns(key_and_value(flow.element)[1])
        columns: dict[str, Sql] = {}
        for number, layout in enumerate(self.layouts):
            names = late_columns(number, layout)
            values = own if number == input else [NULL] * len(names)
            for name, leaf, value in zip(names, leaves(layout), values, strict=True):
                columns[name] = value.cast(spark_type(leaf.shape))
        return columns

    def read(self, stage: Stage) -> tuple[str, ...]:
        """Returns the columns that tell which elements of a grouping were dropped, and their values."""
        if not self.layouts:
            return ()
        own = [name for number, layout in enumerate(self.layouts) for name in late_columns(number, layout)]
        bounds = (START, END) if stage.preassigned or not stage.fresh else ()
        weight = (WEIGHT,) if stage.retractions else ()
        side = (SIDE,) if len(self.layouts) > 1 else ()
        return (*stage.keys, EVENT_TIME, *bounds, *weight, *side, *own)


def _prepare_columns(
    stream: Stream, node: CombinePerKey, base: Stage, shards: tuple[int, ...], late: _LateColumns
) -> tuple[Stream, Stage]:
    """Returns the rows and the stage of a grouping whose combiners are aggregates over columns."""
    windowed = _with_trigger_columns(_assign_windows(stream.flow, base), base)
    if base.keeps_values:
        windowed = _with_whole_values(windowed)
    arguments = combiner_arguments(windowed, node, accumulated_argument_of)
    stage, read = with_aggregates(base, node.combiner, arguments.by_combiner)
    columns = {name: nest(item) for name, item in read.items()}
    if base.keeps_values:
        columns[VALUE] = col(VALUE)
    columns |= late.of(arguments.flow, 0)
    return _select(arguments.flow, stream, stage, columns, shards), stage


def _with_whole_values(flow: Flow) -> Flow:
    """Returns the flow with a column for whole values, by which retractions find them."""
    value = key_and_value(flow.element)[1]
    frame = select(flow.frame, "*", nest(value).alias(VALUE))
    return evolve(flow, frame=frame, meta={**flow.meta, VALUE: spark_type(value.shape)})


def _prepare_side(
    stream: Stream, grouping: GroupingStage, side: int, shards: tuple[int, ...], late: _LateColumns
) -> Stream:
    """Returns the rows of an input of a co-group in columns: those of the other inputs have no values here."""
    stage = grouping.stage
    flow = _with_trigger_columns(_assign_windows(stream.flow, stage), stage)
    value = nest(key_and_value(flow.element)[1])
    columns = {
        side_argument(number): (value if number == side else NULL).cast(spark_type(shape))
        for number, shape in enumerate(grouping.values)
    }
    tag = sql.lit(side).cast("tinyint")
    return _select(flow, stream, stage, {**columns, **late.of(flow, side), SIDE: tag}, shards)


def _prepare_objects(
    stream: Stream, node: GroupingNode, stage: Stage, shards: tuple[int, ...], late: _LateColumns
) -> Stream:
    """Returns the rows of a grouping whose values are stored as objects."""
    flow = _with_trigger_columns(_assign_windows(stream.flow, stage), stage)
    value = key_and_value(flow.element)[1]
    packed = PickleValues(stage.label, key_and_value(layout_of(flow.shape))[1])
    column = arrow_column(packed, T.BinaryType(), [col(KEEP), *leaf_columns(value)])
    packed_values = evolve(flow, frame=flow.frame.select("*", column.alias(VALUE)))
    noted = packed_values.with_notes(LiftingNote(f"{node.label}", "its combiner, which keeps objects", None))
    return _select(noted, stream, stage, {VALUE: col(VALUE), **late.of(noted, 0)}, shards)


def _assign_windows(flow: Flow, stage: Stage) -> Flow:
    """Returns the flow in windows if Python assigns them, else the flow."""
    if not stage.preassigned:
        return flow
    observed = keep_observed_times(flow)
    meta = {**observed.meta, START: META_TYPES[START], END: META_TYPES[END]}
    schema = row_schema(observed.shape, meta)
    assigning = AssignWindows(
        stage.label, layout_of(observed.shape), stage.strategy.windows, arrow_schema(schema)
    )
    return evolve(observed, frame=observed.frame.mapInArrow(assigning, schema), meta=meta)


def _with_trigger_columns(flow: Flow, stage: Stage) -> Flow:
    """Returns the flow with a column for each data-driven part of the trigger."""
    value = key_and_value(flow.element)[1]
    columns: list[Column] = []
    types: dict[str, T.DataType] = {}
    for name, leaf in stage.automaton.summary.data:
        types[NEW + name] = _TYPES[type(type_of(leaf))]
        body = EvaluateLeaf(leaf, key_and_value(layout_of(flow.shape))[1])
        column = arrow_column(body, types[NEW + name], [col(KEEP), weight_of(flow), *leaf_columns(value)])
        columns.append(column.alias(NEW + name))
    return (
        evolve(flow, frame=flow.frame.select("*", *columns), meta={**flow.meta, **types}) if types else flow
    )


_TYPES: Final[dict[type[pl.DataType], T.DataType]] = {
    pl.Int64: T.LongType(),
    pl.Boolean: T.BooleanType(),
    pl.Binary: T.BinaryType(),
}


def _select(
    flow: Flow, stream: Stream, stage: Stage, columns: dict[str, Sql], shards: tuple[int, ...]
) -> Stream:
    """Returns the columns that the stage reads, and the shard of each row.

    A control row has a null shard, which saves a column for ``KEEP`` on its way to Python.
    """
    key = key_and_value(flow.element)[0]
    own = [column.alias(name) for column, name in zip(leaf_columns(key), stage.keys, strict=True)]
    own += [column.alias(name) for name, column in columns.items()]
    if stage.retractions:
        own.append(weight_of(flow).alias(WEIGHT))
    own.append(sql.when(col(KEEP), shard_of(leaf_columns(key), shards)).alias(SHARD))
    meta = {name: kind for name, kind in flow.meta.items() if name in _meta_read(flow, stage)}
    frame = select(flow.frame, *own, *map(col, meta))
    return evolve(stream, flow=evolve(flow, frame=frame, meta=meta))


def _meta_read(flow: Flow, stage: Stage) -> frozenset[str]:
    names = {EVENT_TIME, *CLOCK_META, *(NEW + name for name, _ in stage.automaton.summary.data)}
    if stage.preassigned or not stage.fresh:
        names |= {START, END}
    if DROP_REASON in flow.meta:
        names |= set(FORWARDED_META)
    return frozenset((*names, *parked_columns(flow.meta)))


def shard_of(columns: Sequence[Sql], shards: tuple[int, ...]) -> Sql:
    """Returns the shard of a row, by the hash of some columns.

    Spark's ``xxhash64`` is the hash that ``flowalg.runs.placement`` defines, for the columns of a key in their layout.
    """
    hashed = sql.xxhash64(*columns) if columns else sql.long(SEED)
    return sql.get(sql.array(*shards), sql.pmod(hashed, len(shards)).cast("int"))


def weight_of(flow: Flow) -> Sql:
    """Returns the weight of a row: -1 for a retraction, else 1."""
    if CHANGE not in flow.meta:
        return sql.lit(1).cast("tinyint")
    return sql.when(col(CHANGE) == Change.RETRACTION.value, -1).otherwise(1).cast("tinyint")
