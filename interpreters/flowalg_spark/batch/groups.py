"""A grouping over bounded data: one row for each key and window, with the metadata of its only pane."""

from __future__ import annotations

from flowalg_columns.checks.stages import grouped_pair
from flowalg_columns.layout import key_and_value, layout_of, leaf_columns, leaves
from flowalg_columns.names import SPAN
from flowalg_columns.notes import LiftingNote
from flowalg_columns.python.groups import ACCUMULATOR, EARLIEST, LATEST, CombineGroups, CombinePartition
from flowalg_shard.tables.columns import END, EVENT_TIME
from pyspark.sql import types as T

from flowalg.data.shapes import RecordOf
from flowalg.pipeline.nodes import CombinePerKey
from flowalg.windows.strategy import TimestampCombiner
from flowalg_spark.batch.native_groups import group_natively
from flowalg_spark.batch.panes import pane_flow
from flowalg_spark.batch.windows import assign_windows
from flowalg_spark.encoding.columns import col, select
from flowalg_spark.encoding.schema import arrow_schema, spark_type
from flowalg_spark.encoding.sql import Sql
from flowalg_spark.lowering.flow import Flow
from flowalg_spark.lowering.worker_errors import SentBatches


def lower_grouping(node: CombinePerKey, flow: Flow, time: Sql) -> Flow:
    """Returns the panes of a grouping, by Spark's aggregates if all of its combiners have them, else by Python."""
    pair = grouped_pair(node, flow.shape)
    return group_natively(node, flow, pair, time) or _group_in_python(node, flow, pair, time)


def _group_in_python(node: CombinePerKey, flow: Flow, pair: RecordOf, time: Sql) -> Flow:
    """Returns the panes of a grouping by Python over Arrow batches, combined per partition and then per group."""
    effective = node.input.windowing
    windowed = assign_windows(
        flow.without_meta(SPAN), effective.strategy.windows, fresh=effective.fresh, label=node.label
    )
    key_layout, value_layout = key_and_value(layout_of(flow.shape))
    keys = leaf_columns(key_layout)
    by = (*keys, *windowed.by)
    types = {field.name: field for field in windowed.flow.frame.schema.fields}
    group_fields = [types[name] for name in by]
    frame = windowed.flow.frame
    columns = [col(name).column for name in by]
    if node.combiner.is_ordered:
        values = value_layout
    else:
        times = [T.StructField(name, T.LongType()) for name in (EARLIEST, LATEST)]
        packed = T.StructType([*group_fields, T.StructField(ACCUMULATOR, T.BinaryType()), *times])
        combine_partition = CombinePartition(
            by, value_layout, node.combiner, node.label, arrow_schema(packed)
        )
        frame = frame.mapInArrow(SentBatches(combine_partition), packed)
        values = None
    frame = frame.repartition(*columns).sortWithinPartitions(*columns)
    result_layout = key_and_value(layout_of(pair))[1]
    results = [T.StructField(leaf.column, spark_type(leaf.shape)) for leaf in leaves(result_layout)]
    schema = T.StructType(
        [*group_fields, *results, *(T.StructField(name, T.LongType()) for name in (EARLIEST, LATEST))]
    )
    combine_groups = CombineGroups(
        by, key_layout, values, node.combiner, result_layout, node.label, arrow_schema(schema)
    )
    rows = frame.mapInArrow(SentBatches(combine_groups), schema)
    match effective.strategy.timestamp_combiner:
        case TimestampCombiner.EARLIEST:
            rows = select(rows, "*", col(EARLIEST).alias(EVENT_TIME))
        case TimestampCombiner.LATEST:
            rows = select(rows, "*", col(LATEST).alias(EVENT_TIME))
        case TimestampCombiner.END_OF_WINDOW:
            pass
    if windowed.end_of is not None:
        rows = rows.withColumn(END, windowed.end_of(col(LATEST)).column)
    names = (*keys, *(result.name for result in results))
    noted = windowed.flow.with_notes(
        LiftingNote(f"{node.label}({node.combiner.title})", "its combiner", None)
    )
    return pane_flow(noted, rows, pair, names, windowed, effective.strategy, time)
