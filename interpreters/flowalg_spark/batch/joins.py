"""Co-groups, joins and side inputs over bounded data: equal keys in equal windows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from attrs import evolve
from flowalg_columns.checks.shapes import require_exact_pairs, shape_with_side
from flowalg_columns.checks.values import NO_SINGLETON
from flowalg_columns.layout import (
    Branch,
    Leaf,
    flatten_columns,
    key_and_value,
    layout_of,
    leaf_columns,
    leaves,
    lists_of,
    with_times,
)
from flowalg_columns.names import SPAN
from flowalg_columns.python.windows import Values
from flowalg_shard.tables.columns import END, EVENT_TIME, START
from pyspark.sql import DataFrame
from pyspark.sql.functions import broadcast

from flowalg.data.shapes import INTEGER, ListOf, Nullable, Shape, TupleOf, kv_of, optional
from flowalg.data.time import MIN_TIME
from flowalg.elementwise.steps import Step
from flowalg.lifting.analysis import analyse
from flowalg.lifting.lookups import lookups_of
from flowalg.pipeline.joins import JoinKind
from flowalg.pipeline.nodes import CoGroupByKey, WithSide
from flowalg.pipeline.side_inputs import NO_DEFAULT, AsMap, LatestComplete, Singleton
from flowalg.windows.calendars import Calendar
from flowalg.windows.strategy import TimestampCombiner
from flowalg.windows.window_functions import FixedWindows, GlobalWindows, WindowFn
from flowalg_spark.batch.lookups import READ, SIDE_START, lower_lookups
from flowalg_spark.batch.panes import pane_columns, pane_flow
from flowalg_spark.batch.python_side_inputs import lower_side_input_in_python
from flowalg_spark.batch.windows import WindowedFlow, assign_windows, calendar_bounds, fixed_start, key_layout
from flowalg_spark.encoding import sql
from flowalg_spark.encoding.columns import EXPRESSIONS, Columns, aggregate, col, nest, select, unnest, where
from flowalg_spark.encoding.meta import pane_meta_types
from flowalg_spark.encoding.schema import spark_type
from flowalg_spark.encoding.sql import FALSE, NULL, TRUE, Sql, all_of
from flowalg_spark.expressions.errors import fail_for_element
from flowalg_spark.lowering.element_wise import apply_analyses
from flowalg_spark.lowering.flow import Flow, Selection, with_common_meta

_RIGHT: Final = "__right "
_LEFT_MATCHED: Final = "__left matched"
_RIGHT_TIME: Final = "__right time"
_RIGHT_MATCHED: Final = "__right matched"
_COUNT: Final = "__count"
_SIDE: Final = "__side"
_READS: Final = "__reads"


def lower_co_group(node: CoGroupByKey, flows: tuple[Flow, ...], time: Sql) -> Flow:
    """Returns the lists of values of several flows of pairs, for each key and window, by one shuffle."""
    if node.timed:
        flows = tuple(_with_times(flow, node.label) for flow in flows)
    pairs = [require_exact_pairs(flow.shape, node.label) for flow in flows]
    key = pairs[0].fields[0].shape
    shapes = tuple(pair.fields[1].shape for pair in pairs)
    effective = node.windowed_by
    values = Values.TAGGED_WITH_TIMES if node.timed else Values.TAGGED
    windowed = assign_windows(
        _tag_union(flows, key, shapes),
        effective.strategy.windows,
        fresh=effective.fresh,
        label=node.label,
        values=values,
    )
    keys = leaf_columns(key_layout(windowed.flow))
    names = [f"value/_{number}" for number in range(1, len(flows) + 1)]
    tag = col(f"value/_{len(flows) + 1}")
    point = col(EVENT_TIME)
    aggregates = [
        sql.transform(
            sql.array_sort(
                sql.collect_list(sql.when(tag == number, sql.struct(point.alias("t"), col(name).alias("v"))))
            ),
            lambda pair: pair["v"],
        ).alias(name)
        for number, name in enumerate(names)
    ]
    bounds = [] if windowed.end_of is None else [windowed.end_of(sql.max(point)).alias(END)]
    if effective.strategy.timestamp_combiner is not TimestampCombiner.END_OF_WINDOW:
        extreme = sql.min if effective.strategy.timestamp_combiner is TimestampCombiner.EARLIEST else sql.max
        bounds.append(extreme(point).alias(EVENT_TIME))
    rows = aggregate(windowed.flow.frame, map(col, (*keys, *windowed.by)), [*aggregates, *bounds])
    pair = kv_of(key, TupleOf(tuple(ListOf(shape) for shape in shapes)))
    return pane_flow(windowed.flow, rows, pair, (*keys, *names), windowed, effective.strategy, time)


def _tag_union(flows: tuple[Flow, ...], key: Shape, shapes: tuple[Shape, ...]) -> Flow:
    """Returns the union of flows: each has a column for its values, and a row has the number of its flow."""
    shape = kv_of(key, TupleOf((*(optional(of) for of in shapes), INTEGER)))
    names = leaf_columns(layout_of(shape))
    whole: Flow | None = None
    for number, flow in enumerate(with_common_meta(flows)):
        key_columns, value_columns = key_and_value(flow.element)
        values = [
            nest(value_columns) if position == number else NULL.cast(spark_type(of))
            for position, of in enumerate(shapes)
        ]
        columns = [*leaf_columns(key_columns), *values, sql.long(number)]
        selected = [column.alias(name) for column, name in zip(columns, names, strict=True)]
        frame = select(flow.frame, *selected, *map(col, flow.meta))
        if whole is None:
            whole = evolve(flow, frame=frame, shape=shape)
        else:
            whole = evolve(whole, frame=whole.frame.union(frame)).with_notes(*flow.notes)
    assert whole is not None, "there are two flows or more"
    return whole


def lower_join(node: CoGroupByKey, kind: JoinKind, flows: tuple[Flow, ...], time: Sql) -> Flow:
    """Returns the pairs of left and right values of each key and window, one row for each.

    It is an equi-join, except for a difference. A kind that selects has left values instead of pairs.
    """
    if kind is JoinKind.EXCEPT:
        lists = lower_co_group(evolve(node, timed=node.pair_times is not None), flows, time)
        return explode_lists(node, kind, lists)
    if not all(SPAN in flow.meta for flow in flows):
        flows = tuple(flow.without_meta(SPAN) for flow in flows)
    windows, fresh = node.windowed_by.strategy.windows, node.windowed_by.fresh
    left, right = (assign_windows(flow, windows, fresh=fresh, label=node.label) for flow in flows)
    if kind.selects:
        return _select(node.label, left, right, time, kind, own_time=node.pair_times is not None)
    return _equi_join(node.label, left, right, time, kind, node.pair_times)


def explode_lists(node: CoGroupByKey, kind: JoinKind, lists: Flow) -> Flow:
    """Returns what ``lower_join`` does, from the lists of a co-group."""
    if kind.selects:
        return _explode_selected(lists, kind, timed=node.pair_times is not None)
    pairs = _explode_pairs(lists, kind)
    return pairs if node.pair_times is None else _with_pair_times(pairs, node.pair_times)


def _with_times(flow: Flow, label: str) -> Flow:
    """Returns a flow whose values are pairs of the value and its event time."""
    require_exact_pairs(flow.shape, label)
    return _with_element(flow, with_times(flow.element, col(EVENT_TIME)))


def _with_pair_times(flow: Flow, which: TimestampCombiner) -> Flow:
    """Returns pairs of values without their event times, which give each pair its own."""
    pair, times = EXPRESSIONS.without_times(flow.element)
    return _with_element(flow, pair, _pair_time(which, times))


def _with_element(flow: Flow, element: Columns, time: Sql | None = None) -> Flow:
    """Returns a flow of other elements, with the same metadata but for the event time, if there is another."""
    meta = [time.alias(name) if name == EVENT_TIME and time is not None else col(name) for name in flow.meta]
    frame = select(flow.frame, *flatten_columns(element, element.shape), *meta)
    return evolve(flow, frame=frame, shape=element.shape)


def _pair_time(which: TimestampCombiner, times: Sequence[Sql]) -> Sql:
    """Returns the event time of a pair, from those of its values; null for a value that is missing."""
    return sql.least(*times) if which is TimestampCombiner.EARLIEST else sql.greatest(*times)


def _equi_join(
    label: str,
    left: WindowedFlow,
    right: WindowedFlow,
    time: Sql,
    kind: JoinKind,
    times: TimestampCombiner | None,
) -> Flow:
    """Returns the join of two flows on key and window. ``times`` says which value gives a pair its event time."""
    pairs = [require_exact_pairs(side.flow.shape, label) for side in (left, right)]
    key, first = pairs[0].fields[0].shape, pairs[0].fields[1].shape
    second = pairs[1].fields[1].shape
    keys = leaves(key_layout(left.flow))
    right_keys = leaves(key_layout(right.flow))
    right_values = leaf_columns(key_and_value(right.flow.element)[1])
    value = [column.alias(f"{_RIGHT}v{i}") for i, column in enumerate(right_values)]
    others = [col(leaf.column).alias(f"{_RIGHT}{leaf.column}") for leaf in right_keys]
    by = [col(name).alias(f"{_RIGHT}{name}") for name in right.by]
    point = [] if times is None else [col(EVENT_TIME).alias(_RIGHT_TIME)]
    renamed = select(right.flow.frame, *others, *by, *value, *point, TRUE.alias(_RIGHT_MATCHED))
    on = [_equals(leaf.column, leaf.shape) for leaf in keys] + [
        col(name) == col(f"{_RIGHT}{name}") for name in left.by
    ]
    frame = left.flow.frame
    if kind.keeps_right:
        frame = select(frame, "*", TRUE.alias(_LEFT_MATCHED))
    frame = frame.join(renamed, all_of(on).column, _HOW[kind])
    own, lefts = key_and_value(left.flow.element)
    rights = _to_layout(second, [col(f"{_RIGHT}v{i}") for i in range(len(value))])
    if kind.keeps_right:
        names = (*(leaf.column for leaf in keys), *left.by)
        frame = frame.withColumns(
            {name: sql.coalesce(col(name), col(f"{_RIGHT}{name}")).column for name in names}
        )
        lefts = _where_matched(_LEFT_MATCHED, lefts, first)
    if kind.keeps_left:
        rights = _where_matched(_RIGHT_MATCHED, rights, second)
    columns = [*leaf_columns(own), *leaf_columns(lefts), *leaf_columns(rights)]
    pair = kv_of(key, kind.shape(first, second))
    assert left.end is not None, "a window that does not merge has an end"
    own_time = left.end - 1 if times is None else _pair_time(times, (col(EVENT_TIME), col(_RIGHT_TIME)))
    meta = pane_columns(left.start, left.end, own_time, time)
    names = leaf_columns(layout_of(pair))
    selected = dict(zip(names, columns, strict=True))
    selected |= meta
    rows = Selection(frame, selected)
    return evolve(left.flow, frame=rows, shape=pair, meta=pane_meta_types()).with_notes(*right.flow.notes)


def _select(
    label: str, left: WindowedFlow, right: WindowedFlow, time: Sql, kind: JoinKind, *, own_time: bool
) -> Flow:
    """Returns the left pairs that a join selects; each has its ``own_time``, or the last instant of its window."""
    for side in (left, right):
        require_exact_pairs(side.flow.shape, label)
    keys = leaves(key_layout(left.flow))
    names = (*(leaf.column for leaf in leaves(key_layout(right.flow))), *right.by)
    renamed = select(right.flow.frame, *(col(name).alias(f"{_RIGHT}{name}") for name in names))
    on = [_equals(leaf.column, leaf.shape) for leaf in keys] + [
        col(name) == col(f"{_RIGHT}{name}") for name in left.by
    ]
    frame = left.flow.frame.join(renamed, all_of(on).column, _HOW[kind])
    assert left.end is not None, "a window that does not merge has an end"
    point = col(EVENT_TIME) if own_time else left.end - 1
    element = leaf_columns(left.flow.element)
    selected = dict(zip(leaf_columns(layout_of(left.flow.shape)), element, strict=True))
    selected |= pane_columns(left.start, left.end, point, time)
    return evolve(left.flow, frame=Selection(frame, selected), meta=pane_meta_types()).with_notes(
        *right.flow.notes
    )


_HOW: Final = {
    JoinKind.INNER: "inner",
    JoinKind.LEFT: "left",
    JoinKind.FULL: "full",
    JoinKind.SEMI: "left_semi",
    JoinKind.ANTI: "left_anti",
}


def _where_matched(matched: str, value: Columns, shape: Shape) -> Columns:
    """Returns a value that is ``None`` on rows without a match."""
    return unnest(sql.when(col(matched).is_not_null(), nest(value)), optional(shape))


def _to_layout(shape: Shape, columns: list[Sql]) -> Branch[Sql] | Leaf[Sql]:
    """Returns flat columns as the layout of a shape."""
    remaining = iter(columns)

    def build(layout: Branch[str] | Leaf[str]) -> Branch[Sql] | Leaf[Sql]:
        if isinstance(layout, Leaf):
            return Leaf(layout.shape, next(remaining))
        return Branch(layout.shape, tuple(build(part) for part in layout.parts))

    return build(layout_of(shape))


def _equals(name: str, shape: Shape) -> Sql:
    left, right = col(name), col(f"{_RIGHT}{name}")
    return left.equals_or_both_null(right) if isinstance(shape, Nullable) else left == right


def _explode_pairs(flow: Flow, kind: JoinKind) -> Flow:
    """Returns the pairs of a co-group's two lists, one row for each. At most one of the lists is empty."""
    key, (left, right) = lists_of(flow.shape)
    explode_left = sql.explode_outer if kind.keeps_right else sql.explode
    explode_right = sql.explode_outer if kind.keeps_left else sql.explode
    others = [col(name) for name in flow.frame.columns if name not in ("value/_1", "value/_2")]
    lefts = select(flow.frame, *others, col("value/_2"), explode_left(col("value/_1")).alias("value/_1"))
    rows = select(lefts, *others, col("value/_1"), explode_right(col("value/_2")).alias("value/_2"))
    both = kind.shape(left, right)
    values = (unnest(col(f"value/_{number}"), part) for number, part in enumerate(both.items, start=1))
    pair = Branch(kv_of(key, both), (key_and_value(flow.element)[0], Branch(both, tuple(values))))
    return _with_element(evolve(flow, frame=rows), pair)


def _explode_selected(flow: Flow, kind: JoinKind, *, timed: bool) -> Flow:
    """Returns the left values of a co-group that a join selects, one row for each, with its own time if ``timed``."""
    key, (value, _) = lists_of(flow.shape)
    lefts, count = col("value/_1"), sql.size(col("value/_2"))
    kept = flow.frame
    if kind is JoinKind.EXCEPT:
        lefts = sql.slice(lefts, count + 1, sql.size(lefts))
    else:
        kept = where(kept, count > 0 if kind is JoinKind.SEMI else count == 0)
    others = [col(name) for name in flow.frame.columns if name not in ("value/_1", "value/_2")]
    rows = select(kept, *others, sql.explode(lefts).alias("value/_1"))
    own, point = col("value/_1"), col(EVENT_TIME)
    if timed:
        assert isinstance(value, TupleOf)
        value, own, point = value.items[0], own["_1"], own["_2"]
    selected = unnest(own, value)
    if kind is not JoinKind.EXCEPT:
        selected = Branch(kv_of(key, value), (key_and_value(flow.element)[0], selected))
    return _with_element(evolve(flow, frame=rows), selected, point)


def lower_side_input(node: WithSide, main: Flow, side: Flow, steps: tuple[Step, ...]) -> Flow:
    """Returns each element with the value that it reads from a side input, after the given steps.

    A singleton whose window is a column is a broadcast join on the window. Python reads other sides.
    """
    view = node.view
    single = view.view if isinstance(view, LatestComplete) else view
    effective = node.side.windowing
    windows = effective.strategy.windows
    reading = _with_window_start(main.frame, windows, READ)
    shape = shape_with_side(main.shape, side.shape, view)
    analyses = analyse(steps, shape)
    if reading is None:
        return lower_side_input_in_python(node, main, side, shape, analyses)
    sides = _with_window_start(side.frame, windows if effective.fresh else None, SIDE_START)
    assert sides is not None, "the windows have a start"
    if isinstance(view, AsMap):
        lookups = lookups_of(analyses, shape)
        if lookups is not None:
            return lower_lookups(lookups, main, side, reading, sides)
    if isinstance(single, AsMap) or not _has_literal(single.default):
        return lower_side_input_in_python(node, main, side, shape, analyses)
    values = select(sides, col(SIDE_START), nest(side.element).alias(_SIDE))
    counted = [sql.first(col(_SIDE)).alias(_SIDE), sql.count(1).alias(_COUNT)]
    side_values = aggregate(values, [col(SIDE_START)], counted)
    if isinstance(view, LatestComplete):
        side_values = _newest_before(select(reading, col(READ).alias(SIDE_START)), side_values)
    joined = reading.join(broadcast(side_values), (col(READ) == col(SIDE_START)).column, "left")
    read = shape.items[1]
    several = fail_for_element(
        sql.concat(
            "as_singleton() has ",
            col(_COUNT).cast("string"),
            " values in a window; it must have one",
        )
    )
    value = (
        sql.when(col(_COUNT) == 1, col(_SIDE))
        .when(col(_COUNT).is_null(), _default_value(single, side.shape))
        .otherwise(several)
    )
    columns = Branch(shape, (main.element, unnest(value, read)))
    frame = select(joined, *flatten_columns(columns, shape), *map(col, main.meta))
    return apply_analyses(evolve(main, frame=frame, shape=shape).with_notes(*side.notes), analyses)


def _newest_before(windows: DataFrame, side_values: DataFrame) -> DataFrame:
    """Returns the newest value of the side before each of some windows: an as-of join, of windows alone."""
    start, value = col(SIDE_START), sql.struct(col(_SIDE), col(_COUNT))
    values = select(side_values, start, value.alias(_SIDE), FALSE.alias(_READS))
    nothing = NULL.cast(values.schema[_SIDE].dataType)
    both = values.union(select(windows.distinct(), start, nothing, TRUE))
    earlier = "RANGE BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING"
    newest = sql.last(col(_SIDE), True).over(by=[0], order=start, frame=earlier)
    read = where(select(both, start, col(_READS), newest.alias(_SIDE)), col(_READS))
    return select(read, start, *(col(_SIDE)[name].alias(name) for name in (_SIDE, _COUNT)))


def _has_literal(default: object) -> bool:
    """Returns whether Spark has a literal for a default; true without a default."""
    return default is NO_DEFAULT or default is None or isinstance(default, bool | int | float | str)


def _default_value(view: Singleton, shape: Shape) -> Sql:
    if view.default is NO_DEFAULT:
        return fail_for_element(NO_SINGLETON).cast(spark_type(shape))
    assert isinstance(view.default, bool | int | float | str | None), "a default that has a literal"
    return sql.lit(view.default).cast(spark_type(shape))


def _with_window_start(frame: DataFrame, windows: WindowFn | None, name: str) -> DataFrame | None:
    """Returns a frame with the start of the window that each element reads of the side.

    ``windows`` is ``None`` for elements that have their windows already. Returns ``None`` for user-defined windows.
    """
    match windows:
        case None:
            start = col(START)
        case GlobalWindows():
            start = sql.long(MIN_TIME)
        case FixedWindows(offset_by_key=None):
            start = fixed_start(windows)
        case Calendar():
            placed, bounds = calendar_bounds(frame, windows)
            return select(placed, *map(col, frame.columns), bounds[START].alias(name))
        case _:
            return None
    return select(frame, "*", start.alias(name))
