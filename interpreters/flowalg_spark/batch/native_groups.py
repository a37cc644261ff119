"""Groupings that Spark's own aggregates compute: one hash aggregation, or two where windows overlap.

Windows are told apart by a struct, the ``SPAN``, as those of Spark's own ``window`` function are. For plain numbers
Spark puts a small hash table before the large one, which costs more than it saves when keys and windows are many. The
span of a fixed window travels along, so that a grouping after it finds its rows where they are.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from flowalg.combiners.result_shapes import combined_shape
from flowalg.data.shapes import kv_of
from flowalg.pipeline.nodes import CombinePerKey
from flowalg.windows.window_functions import FixedWindows
from flowalg_spark.batch.aggregates import Native, may_be_native, native
from flowalg_spark.batch.panes import bounds, panes
from flowalg_spark.batch.python_groups import EARLIEST, LATEST
from flowalg_spark.batch.windows import Placed, Slices, by_expression, key_layout, placed_by
from flowalg_spark.encoding.layout import named, places
from flowalg_spark.encoding.meta import EVENT_TIME, SPAN, START
from flowalg_spark.lowering.arguments import Arguments, arguments, single_combiners
from flowalg_spark.lowering.flow import Flow
from flowalg_spark.lowering.pairs import require_pairs


def natively_grouped(node: CombinePerKey, flow: Flow, time: Column) -> Flow | None:
    """The panes of a grouping; ``None`` when Spark has no aggregate for one of its combiners."""
    key, value = require_pairs(flow, node.label).fields
    result = combined_shape(node.combiner, value.shape)
    if result is None or not all(map(may_be_native, single_combiners(node.combiner))):
        return None
    effective = node.input.windowing
    narrow = effective.fresh and not by_expression(effective.strategy.windows)
    ready = arguments(flow, node, narrow=narrow)
    natives = _natives(ready, node.label)
    if natives is None:
        return None
    keys = [named(name) for name in places(key_layout(ready.flow))]
    slices = Slices.of(effective.strategy.windows, fresh=effective.fresh)
    if slices is not None and all(one.merge is not None for one in natives):
        rows, in_windows, results, times = _of_slices(ready.flow, slices, keys, natives)
    else:
        in_windows = placed_by(ready.flow, effective.strategy.windows, fresh=effective.fresh)
        rows, results = in_windows.flow.frame, [one.whole for one in natives]
        times = (F.min(named(EVENT_TIME)), F.max(named(EVENT_TIME)))
    names = [f"__result{number}" for number in range(len(results))]
    span = _span(in_windows)
    starts = [START] if in_windows.by == (SPAN,) else in_windows.by
    made = rows.groupBy(*keys, *(one.alias(SPAN) for one in span)).agg(
        *(one.alias(name) for one, name in zip(results, names, strict=True)),
        *bounds(in_windows, effective.strategy, *times),
        *(one.getField(name).alias(name) for one in span for name in starts),
    )
    windows = effective.strategy.windows
    spanned = isinstance(windows, FixedWindows) and windows.offset_by_key is None
    columns = (*places(key_layout(ready.flow)), *names)
    pair = kv_of(key.shape, result)
    return panes(ready.flow, made, pair, columns, in_windows, effective.strategy, time, spanned=spanned)


def _span(in_windows: Placed) -> list[Column]:
    """The column that tells the windows of a key apart, if there is more than one."""
    if in_windows.by in ((), (SPAN,)):
        return [named(name) for name in in_windows.by]
    return [F.struct(*(in_windows.column(name).alias(name) for name in in_windows.by))]


def _natives(ready: Arguments, label: str) -> list[Native] | None:
    """The aggregate of each combiner, if all have one."""
    found = []
    for combiner, read in zip(ready.combiners, ready.read, strict=True):
        one = native(combiner, read, named(EVENT_TIME), label)
        if one is None:
            return None
        found.append(one)
    return found


def _of_slices(
    flow: Flow, slices: Slices, keys: list[Column], natives: list[Native]
) -> tuple[DataFrame, Placed, list[Column], tuple[Column, Column]]:
    """What slices come to, in every window that they are in; and the aggregates of windows over such rows."""
    names = [
        [f"__part{number}_{index}" for index in range(len(one.partials))]
        for number, one in enumerate(natives)
    ]
    parts = [
        partial.alias(name)
        for one, own in zip(natives, names, strict=True)
        for partial, name in zip(one.partials, own, strict=True)
    ]
    point = named(EVENT_TIME)
    times = [F.min(point).alias(EARLIEST), F.max(point).alias(LATEST)]
    each = flow.frame.groupBy(*keys, slices.start.alias(START)).agg(*parts, *times)
    rows, in_windows = slices.spread(flow, each)
    merged = [
        one.finish(one.merge(tuple(map(named, own))))
        for one, own in zip(natives, names, strict=True)
        if one.merge is not None
    ]
    return rows, in_windows, merged, (F.min(named(EARLIEST)), F.max(named(LATEST)))


__all__ = ["natively_grouped"]
