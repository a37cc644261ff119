"""Groupings by aggregates of Spark: one hash aggregation, or two if windows overlap.

A window is a grouping column of type struct, the ``SPAN``, as with Spark's own ``window`` function. For numeric
columns, Spark puts a small hash table before the large one, which is slower with many keys and windows. The span of a
fixed window remains a column of the output, so a later grouping by the same window needs no shuffle.
"""

from __future__ import annotations

from flowalg_columns.combiners import may_be_native
from flowalg_columns.layout import leaf_columns
from flowalg_columns.names import SPAN
from flowalg_columns.python.groups import EARLIEST, LATEST
from flowalg_shard.tables.columns import EVENT_TIME, START
from pyspark.sql import DataFrame

from flowalg.combiners.core import component_combiners
from flowalg.data.shapes import RecordOf
from flowalg.pipeline.nodes import CombinePerKey
from flowalg.windows.window_functions import FixedWindows, WindowsByValue
from flowalg_spark.batch.aggregates import Native, native_aggregate
from flowalg_spark.batch.panes import bound_aggregates, pane_flow
from flowalg_spark.batch.windows import (
    Slices,
    WindowedFlow,
    assign_windows_lazily,
    has_window_expression,
    key_layout,
)
from flowalg_spark.encoding import sql
from flowalg_spark.encoding.columns import aggregate, col
from flowalg_spark.encoding.sql import Sql
from flowalg_spark.lowering.arguments import Arguments, combiner_arguments
from flowalg_spark.lowering.flow import Flow


def group_natively(node: CombinePerKey, flow: Flow, pair: RecordOf, time: Sql) -> Flow | None:
    """Returns the panes of a grouping; ``None`` if Spark has no aggregate for one of its combiners."""
    if not all(map(may_be_native, component_combiners(node.combiner))):
        return None
    effective = node.input.windowing
    windows = effective.strategy.windows
    by_value = isinstance(windows, WindowsByValue)
    narrow = effective.fresh and not has_window_expression(windows) and not by_value
    arguments = combiner_arguments(flow, node, narrow=narrow)
    aggregates = _native_aggregates(arguments, node.label)
    if aggregates is None:
        return None
    keys = [col(name) for name in leaf_columns(key_layout(arguments.flow))]
    slices = Slices.of(effective.strategy.windows, fresh=effective.fresh)
    if slices is not None and all(native.merge is not None for native in aggregates):
        rows, windowed, results, times = _aggregate_slices(arguments.flow, slices, keys, aggregates)
    else:
        windowed = assign_windows_lazily(
            arguments.flow, effective.strategy.windows, fresh=effective.fresh, label=node.label
        )
        rows, results = windowed.flow.frame, [native.result for native in aggregates]
        times = (sql.min(col(EVENT_TIME)), sql.max(col(EVENT_TIME)))
    names = [f"__result{number}" for number in range(len(results))]
    span = _span_columns(windowed)
    starts = [START] if windowed.by == (SPAN,) else windowed.by
    by = [*keys, *(column.alias(SPAN) for column in span)]
    computed = [
        *(result.alias(name) for result, name in zip(results, names, strict=True)),
        *bound_aggregates(windowed, effective.strategy, *times),
        *(column[name].alias(name) for column in span for name in starts),
    ]
    grouped = aggregate(rows, by, computed)
    has_span = isinstance(windows, FixedWindows) and windows.offset_by_key is None
    columns = (*leaf_columns(key_layout(arguments.flow)), *names)
    return pane_flow(
        arguments.flow, grouped, pair, columns, windowed, effective.strategy, time, has_span=has_span
    )


def _span_columns(windowed: WindowedFlow) -> list[Sql]:
    """Returns the grouping column for the windows of a key; none if there is only one window."""
    if windowed.by in ((), (SPAN,)):
        return [col(name) for name in windowed.by]
    return [sql.struct(*(windowed.column(name).alias(name) for name in windowed.by))]


def _native_aggregates(arguments: Arguments, label: str) -> list[Native] | None:
    """Returns the aggregate of each combiner, if all have one."""
    aggregates = []
    for combiner, argument in zip(arguments.combiners, arguments.by_combiner, strict=True):
        native = native_aggregate(combiner, argument, col(EVENT_TIME), label)
        if native is None:
            return None
        aggregates.append(native)
    return aggregates


def _aggregate_slices(
    flow: Flow, slices: Slices, keys: list[Sql], aggregates: list[Native]
) -> tuple[DataFrame, WindowedFlow, list[Sql], tuple[Sql, Sql]]:
    """Aggregates slices, and returns a row for each slice and window with the aggregates of windows over these rows."""
    names = [
        [f"__part{number}_{index}" for index in range(len(native.partials))]
        for number, native in enumerate(aggregates)
    ]
    parts = [
        partial.alias(name)
        for native, part_names in zip(aggregates, names, strict=True)
        for partial, name in zip(native.partials, part_names, strict=True)
    ]
    point = col(EVENT_TIME)
    times = [sql.min(point).alias(EARLIEST), sql.max(point).alias(LATEST)]
    aggregated = aggregate(flow.frame, [*keys, slices.start.alias(START)], [*parts, *times])
    rows, windowed = slices.spread(flow, aggregated)
    merged = [
        native.finish(native.merge(tuple(map(col, part_names))))
        for native, part_names in zip(aggregates, names, strict=True)
        if native.merge is not None
    ]
    return rows, windowed, merged, (sql.min(col(EARLIEST)), sql.max(col(LATEST)))
