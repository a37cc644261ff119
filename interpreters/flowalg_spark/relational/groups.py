"""A grouping over bounded data: one row for each key and window, with what its only pane says of itself."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import evolve
from flowalg_shard.support import native_combiners
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from flowalg.combiner_shapes import combined_shape
from flowalg.errors import UnsupportedError
from flowalg.nodes import CombinePerKey, strategy_at
from flowalg.panes import Change, Timing
from flowalg.shapes import RecordOf, contains_float, kv_of
from flowalg.time import MAX_TIME
from flowalg.windowing import PaneTime, WindowingStrategy
from flowalg_spark.aggregates import native
from flowalg_spark.flow import Flow, LiftingNote, arrow_schema
from flowalg_spark.grouping import grouping_columns
from flowalg_spark.layout import Branch, layout_of, leaves, named
from flowalg_spark.meta import (
    CHANGE,
    END,
    EVENT_TIME,
    INDEX,
    IS_FIRST,
    IS_LAST,
    META_TYPES,
    PANE_META,
    PANE_TIME,
    START,
    TIMING,
    WATERMARK,
    pane_meta,
)
from flowalg_spark.relational.python_groups import ACCUMULATOR, EARLIEST, LATEST, Finishing, Precombined
from flowalg_spark.relational.windows import Placed, placed
from flowalg_spark.schema import spark_type


def grouped(node: CombinePerKey, flow: Flow, time: Column) -> Flow:
    """The panes of a grouping: native aggregates where all of its combiners have them, else Python over Arrow."""
    key = require_pairs(flow, node.label)
    if contains_float(key.fields[0].shape):
        raise UnsupportedError(
            f"{node.label} has keys of {key.fields[0].shape}; floats cannot be compared exactly"
        )
    if native_combiners(node.combiner):
        return _native(node, flow, time)
    return _python(node, flow, time)


def require_pairs(flow: Flow, label: str) -> RecordOf:
    """The shape of a flow of pairs; raises ``UnsupportedError`` for any other."""
    if isinstance(flow.shape, RecordOf) and len(flow.shape.fields) == 2:
        return flow.shape
    raise UnsupportedError(f"{label} groups {flow.shape}, which is no KV")


def _native(node: CombinePerKey, flow: Flow, time: Column) -> Flow:
    effective = strategy_at(node.input)
    in_windows = placed(flow, effective.strategy.windows, fresh=effective.fresh)
    columns = grouping_columns(in_windows.flow, node)
    by = [named(name) for name in (*columns.stage.keys, *in_windows.by)]
    results = [native(one, columns.stage.label) for one in columns.stage.aggregates]
    rows = columns.flow.frame.groupBy(*by).agg(*results, *_bounds(in_windows, effective.strategy))
    return panes(
        columns.flow, rows, columns.pair, columns.result_columns, in_windows, effective.strategy, time
    )


def _bounds(in_windows: Placed, strategy: WindowingStrategy) -> list[Column]:
    """The aggregates of event times that a window's end or its pane's event time is made of."""
    latest = F.max(named(EVENT_TIME))
    bounds = [] if in_windows.end_of is None else [in_windows.end_of(latest).alias(END)]
    match strategy.pane_time:
        case PaneTime.END_OF_WINDOW:
            return bounds
        case PaneTime.EARLIEST:
            return [*bounds, F.min(named(EVENT_TIME)).alias(EVENT_TIME)]
        case PaneTime.LATEST:
            return [*bounds, F.max(named(EVENT_TIME)).alias(EVENT_TIME)]


def panes(
    flow: Flow,
    rows: DataFrame,
    pair: RecordOf,
    columns: tuple[str, ...],
    in_windows: Placed,
    strategy: WindowingStrategy,
    time: Column,
) -> Flow:
    """The flow of a batch's panes: first, on time and last, each with its window and event time."""
    end = named(END) if in_windows.end is None else in_windows.end
    at_end = strategy.pane_time is PaneTime.END_OF_WINDOW
    names = [leaf.at for leaf in leaves(layout_of(pair))]
    values = [named(old).alias(new) for old, new in zip(columns, names, strict=True)]
    meta = pane_columns(in_windows.start, end, end - F.lit(1) if at_end else named(EVENT_TIME), time)
    others = [meta[name].cast(META_TYPES[name]).alias(name) for name in PANE_META]
    return evolve(flow, frame=rows.select(*values, *others), shape=pair, meta=pane_meta())


def pane_columns(start: Column, end: Column, event_time: Column, time: Column) -> Mapping[str, Column]:
    """What the only pane of a window says of itself."""
    return {
        EVENT_TIME: event_time,
        START: start,
        END: end,
        CHANGE: F.lit(Change.VALUE.value),
        TIMING: F.lit(Timing.ON_TIME.value),
        INDEX: F.lit(0),
        IS_FIRST: F.lit(True),
        IS_LAST: F.lit(True),
        PANE_TIME: time,
        WATERMARK: F.lit(MAX_TIME),
    }


def _python(node: CombinePerKey, flow: Flow, time: Column) -> Flow:
    """The panes of a grouping that only Python can combine: per partition first, and then per group."""
    key, value = require_pairs(flow, node.label).fields
    result = combined_shape(node.combiner, value.shape)
    if result is None:
        raise UnsupportedError(
            f"{node.label}: Spark cannot know the type of the combiner's result; annotate what it returns"
        )
    effective = strategy_at(node.input)
    in_windows = placed(flow, effective.strategy.windows, fresh=effective.fresh)
    pair = kv_of(key.shape, result)
    layout = layout_of(flow.shape)
    assert isinstance(layout, Branch), "what is grouped is pairs"
    keys = tuple(leaf.at for leaf in leaves(layout.parts[0]))
    by = (*keys, *in_windows.by)
    kinds = {field.name: field for field in in_windows.flow.frame.schema.fields}
    group_fields = [kinds[name] for name in by]
    frame = in_windows.flow.frame
    columns = [named(name) for name in by]
    if node.combiner.ordered:
        frame = frame.repartition(*columns).sortWithinPartitions(*columns, named(EVENT_TIME))
        values = layout.parts[1]
    else:
        times = [T.StructField(name, T.LongType()) for name in (EARLIEST, LATEST)]
        packed = T.StructType([*group_fields, T.StructField(ACCUMULATOR, T.BinaryType()), *times])
        first = Precombined(by, layout.parts[1], node.combiner, arrow_schema(packed))
        frame = frame.mapInArrow(first, packed).repartition(*columns).sortWithinPartitions(*columns)
        values = None
    result_layout = layout_of(pair)
    assert isinstance(result_layout, Branch), "a pair has parts"
    results = [T.StructField(leaf.at, spark_type(leaf.shape)) for leaf in leaves(result_layout.parts[1])]
    schema = T.StructType(
        [*group_fields, *results, *(T.StructField(name, T.LongType()) for name in (EARLIEST, LATEST))]
    )
    finishing = Finishing(
        by, values, node.combiner, result_layout.parts[1], result, node.label, arrow_schema(schema)
    )
    rows = frame.mapInArrow(finishing, schema)
    match effective.strategy.pane_time:
        case PaneTime.EARLIEST:
            rows = rows.withColumn(EVENT_TIME, named(EARLIEST))
        case PaneTime.LATEST:
            rows = rows.withColumn(EVENT_TIME, named(LATEST))
        case PaneTime.END_OF_WINDOW:
            pass
    if in_windows.end_of is not None:
        rows = rows.withColumn(END, in_windows.end_of(named(LATEST)))
    names = (*keys, *(one.name for one in results))
    noted = in_windows.flow.noted(LiftingNote(f"{node.label}({node.combiner.title})", "its combiner", None))
    return panes(noted, rows, pair, names, in_windows, effective.strategy, time)


__all__ = ["grouped", "pane_columns", "panes", "require_pairs"]
