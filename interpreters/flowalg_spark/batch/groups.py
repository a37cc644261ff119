"""A grouping over bounded data: one row for each key and window, with what its only pane says of itself."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import types as T

from flowalg.combiners.result_shapes import combined_shape
from flowalg.data.errors import UnsupportedError
from flowalg.data.shapes import kv_of
from flowalg.pipeline.nodes import CombinePerKey
from flowalg.windows.strategy import TimestampCombiner
from flowalg_spark.batch.native_groups import natively_grouped
from flowalg_spark.batch.panes import panes
from flowalg_spark.batch.python_groups import ACCUMULATOR, EARLIEST, LATEST, Finishing, Precombined
from flowalg_spark.batch.windows import placed
from flowalg_spark.encoding.layout import layout_of, leaves, named, pair_of, places
from flowalg_spark.encoding.meta import END, EVENT_TIME, SPAN
from flowalg_spark.encoding.schema import arrow_schema, spark_type
from flowalg_spark.lowering.flow import Flow, LiftingNote
from flowalg_spark.lowering.pairs import require_exact_keys, require_pairs


def grouped(node: CombinePerKey, flow: Flow, time: Column) -> Flow:
    """The panes of a grouping: native aggregates where all of its combiners have them, else Python over Arrow."""
    require_exact_keys(require_pairs(flow, node.label), node.label)
    return natively_grouped(node, flow, time) or _python(node, flow, time)


def _python(node: CombinePerKey, flow: Flow, time: Column) -> Flow:
    """The panes of a grouping that only Python can combine: per partition first, and then per group."""
    key, value = require_pairs(flow, node.label).fields
    result = combined_shape(node.combiner, value.shape)
    if result is None:
        raise UnsupportedError(
            f"{node.label}: Spark cannot know the type of the combiner's result; annotate what it returns"
        )
    effective = node.input.windowing
    in_windows = placed(flow.without(SPAN), effective.strategy.windows, fresh=effective.fresh)
    pair = kv_of(key.shape, result)
    key_layout, value_layout = pair_of(layout_of(flow.shape))
    keys = places(key_layout)
    by = (*keys, *in_windows.by)
    kinds = {field.name: field for field in in_windows.flow.frame.schema.fields}
    group_fields = [kinds[name] for name in by]
    frame = in_windows.flow.frame
    columns = [named(name) for name in by]
    if node.combiner.is_ordered:
        frame = frame.repartition(*columns).sortWithinPartitions(*columns, named(EVENT_TIME))
        values = value_layout
    else:
        times = [T.StructField(name, T.LongType()) for name in (EARLIEST, LATEST)]
        packed = T.StructType([*group_fields, T.StructField(ACCUMULATOR, T.BinaryType()), *times])
        first = Precombined(by, value_layout, node.combiner, arrow_schema(packed))
        frame = frame.mapInArrow(first, packed).repartition(*columns).sortWithinPartitions(*columns)
        values = None
    result_layout = pair_of(layout_of(pair))[1]
    results = [T.StructField(leaf.at, spark_type(leaf.shape)) for leaf in leaves(result_layout)]
    schema = T.StructType(
        [*group_fields, *results, *(T.StructField(name, T.LongType()) for name in (EARLIEST, LATEST))]
    )
    finishing = Finishing(by, values, node.combiner, result_layout, node.label, arrow_schema(schema))
    rows = frame.mapInArrow(finishing, schema)
    match effective.strategy.timestamp_combiner:
        case TimestampCombiner.EARLIEST:
            rows = rows.withColumn(EVENT_TIME, named(EARLIEST))
        case TimestampCombiner.LATEST:
            rows = rows.withColumn(EVENT_TIME, named(LATEST))
        case TimestampCombiner.END_OF_WINDOW:
            pass
    if in_windows.end_of is not None:
        rows = rows.withColumn(END, in_windows.end_of(named(LATEST)))
    names = (*keys, *(one.name for one in results))
    noted = in_windows.flow.noted(LiftingNote(f"{node.label}({node.combiner.title})", "its combiner", None))
    return panes(noted, rows, pair, names, in_windows, effective.strategy, time)


__all__ = ["grouped"]
