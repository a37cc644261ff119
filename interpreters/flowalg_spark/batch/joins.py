"""Co-groups, joins and side inputs over bounded data: equal keys in equal windows."""

from __future__ import annotations

from typing import Final

from attrs import evolve
from pyspark.sql import Column
from pyspark.sql import functions as F

from flowalg.data.shapes import INTEGER, ListOf, OptionalOf, RecordOf, Shape, TupleOf, kv_of, optional
from flowalg.data.time import MIN_TIME
from flowalg.elementwise.steps import Step
from flowalg.pipeline.nodes import CoGroupByKey, WithSide
from flowalg.pipeline.side_inputs import NO_DEFAULT, AsMap, Singleton
from flowalg.windows.strategy import TimestampCombiner
from flowalg.windows.window_functions import FixedWindows, GlobalWindows, WindowFn, as_merging
from flowalg_spark.batch.panes import pane_columns, panes
from flowalg_spark.batch.python_sides import beside_in_python
from flowalg_spark.batch.windows import Placed, fixed_start, key_layout, placed
from flowalg_spark.encoding.layout import (
    Branch,
    Leaf,
    layout_of,
    leaves,
    named,
    nested,
    pair_of,
    places,
    spread,
    unnested,
)
from flowalg_spark.encoding.meta import END, EVENT_TIME, SPAN, START, pane_meta
from flowalg_spark.encoding.schema import spark_type
from flowalg_spark.expressions.integers import long
from flowalg_spark.lowering.element_wise import through_steps
from flowalg_spark.lowering.flow import Flow, Selection
from flowalg_spark.lowering.pairs import require_pairs
from flowalg_spark.lowering.side_inputs import shape_with_side

_RIGHT: Final = "__right "
_COUNT: Final = "__count"
_SIDE: Final = "__side"


def co_grouped(node: CoGroupByKey, flows: tuple[Flow, ...], time: Column) -> Flow:
    """The lists of several flows of pairs, of each key and window: one shuffle for all of them."""
    pairs = [require_pairs(flow, node.label) for flow in flows]
    key = pairs[0].fields[0].shape
    shapes = tuple(pair.fields[1].shape for pair in pairs)
    effective = node.windowed_by
    in_windows = placed(_tagged(flows, key, shapes), effective.strategy.windows, fresh=effective.fresh)
    keys = places(key_layout(in_windows.flow))
    names = [f"value/_{number}" for number in range(1, len(flows) + 1)]
    tag = named(f"value/_{len(flows) + 1}")
    point = named(EVENT_TIME)
    lists = [
        F.transform(
            F.array_sort(
                F.collect_list(
                    F.when(tag == F.lit(number), F.struct(point.alias("t"), named(name).alias("v")))
                )
            ),
            lambda one: one["v"],
        ).alias(name)
        for number, name in enumerate(names)
    ]
    bounds = [] if in_windows.end_of is None else [in_windows.end_of(F.max(point)).alias(END)]
    if effective.strategy.timestamp_combiner is not TimestampCombiner.END_OF_WINDOW:
        extreme = F.min if effective.strategy.timestamp_combiner is TimestampCombiner.EARLIEST else F.max
        bounds.append(extreme(point).alias(EVENT_TIME))
    rows = in_windows.flow.frame.groupBy(*map(named, (*keys, *in_windows.by))).agg(*lists, *bounds)
    pair = kv_of(key, TupleOf(tuple(ListOf(shape) for shape in shapes)))
    return panes(in_windows.flow, rows, pair, (*keys, *names), in_windows, effective.strategy, time)


def _tagged(flows: tuple[Flow, ...], key: Shape, shapes: tuple[Shape, ...]) -> Flow:
    """All flows as one: each value in the column of its flow, with the flow's number."""
    shape = kv_of(key, TupleOf((*(optional(one) for one in shapes), INTEGER)))
    names = places(layout_of(shape))
    whole: Flow | None = None
    for number, flow in enumerate(one.without(SPAN) for one in flows):
        key_columns, value_columns = pair_of(flow.element)
        values = [
            nested(value_columns) if place == number else F.lit(None).cast(spark_type(one))
            for place, one in enumerate(shapes)
        ]
        columns = [*places(key_columns), *values, F.lit(number).cast("bigint")]
        kept = [column.alias(name) for column, name in zip(columns, names, strict=True)]
        frame = flow.frame.select(*kept, *map(named, flow.meta))
        if whole is None:
            whole = evolve(flow, frame=frame, shape=shape)
        else:
            same = frame.select(*map(named, whole.frame.columns))
            whole = evolve(whole, frame=whole.frame.union(same)).noted(*flow.notes)
    assert whole is not None, "there are two flows or more"
    return whole


def joined(node: CoGroupByKey, flows: tuple[Flow, ...], time: Column, *, outer: bool) -> Flow:
    """The pairs of left and right values of one key and window: a join, as Spark does it best."""
    effective = node.windowed_by
    strategy = effective.strategy
    if (
        as_merging(strategy.windows) and effective.fresh
    ) or strategy.timestamp_combiner is not TimestampCombiner.END_OF_WINDOW:
        return _unlisted(co_grouped(node, flows, time), outer=outer)
    if not all(SPAN in flow.meta for flow in flows):
        flows = tuple(flow.without(SPAN) for flow in flows)
    left, right = (placed(flow, strategy.windows, fresh=effective.fresh) for flow in flows)
    return _equal_joined(left, right, time, outer=outer)


def _equal_joined(left: Placed, right: Placed, time: Column, *, outer: bool) -> Flow:
    pairs = [require_pairs(one.flow, "a join") for one in (left, right)]
    key, first = pairs[0].fields[0].shape, pairs[0].fields[1].shape
    second = pairs[1].fields[1].shape
    keys = leaves(key_layout(left.flow))
    theirs = leaves(key_layout(right.flow))
    their_values = places(pair_of(right.flow.element)[1])
    value = [column.alias(f"{_RIGHT}v{i}") for i, column in enumerate(their_values)]
    others = [named(leaf.at).alias(f"{_RIGHT}{leaf.at}") for leaf in theirs]
    by = [named(name).alias(f"{_RIGHT}{name}") for name in right.by]
    there = F.lit(True).alias(f"{_RIGHT}there")
    renamed = right.flow.frame.select(*others, *by, *value, there)
    on = [_same(leaf.at, leaf.shape) for leaf in keys] + [
        named(name) == named(f"{_RIGHT}{name}") for name in left.by
    ]
    how = "left" if outer else "inner"
    frame = left.flow.frame.join(renamed, on, how) if on else left.flow.frame.crossJoin(renamed)
    found = [named(f"{_RIGHT}v{i}") for i in range(len(value))]
    columns = [*places(left.flow.element)]
    if outer:
        whole = nested(_tree(second, found))
        columns.append(F.when(named(f"{_RIGHT}there").isNotNull(), whole))
    else:
        columns += found
    pair = kv_of(key, TupleOf((first, optional(second) if outer else second)))
    assert left.end is not None, "windows that do not merge have their end"
    meta = pane_columns(left.start, left.end, left.end - F.lit(1), time)
    names = places(layout_of(pair))
    selected = dict(zip(names, columns, strict=True))
    selected |= meta
    rows = Selection(frame, selected)
    return evolve(left.flow, frame=rows, shape=pair, meta=pane_meta()).noted(*right.flow.notes)


def _tree(shape: Shape, columns: list[Column]) -> Branch[Column] | Leaf[Column]:
    """Flat columns as the tree of a shape's layout."""
    left = iter(columns)

    def built(layout: Branch[str] | Leaf[str]) -> Branch[Column] | Leaf[Column]:
        if isinstance(layout, Leaf):
            return Leaf(layout.shape, next(left))
        return Branch(layout.shape, tuple(built(part) for part in layout.parts))

    return built(layout_of(shape))


def _same(name: str, shape: Shape) -> Column:
    mine, other = named(name), named(f"{_RIGHT}{name}")
    return mine.eqNullSafe(other) if isinstance(shape, OptionalOf) else mine == other


def _unlisted(flow: Flow, *, outer: bool) -> Flow:
    """The pairs of a co-group's two lists, a row each."""
    shape = flow.shape
    assert isinstance(shape, RecordOf)
    key, lists = (one.shape for one in shape.fields)
    assert isinstance(lists, TupleOf)
    left, right = lists.items
    assert isinstance(left, ListOf)
    assert isinstance(right, ListOf)
    explode = F.explode_outer if outer else F.explode
    others = [named(name) for name in flow.frame.columns if name not in ("value/_1", "value/_2")]
    some = flow.frame.select(*others, named("value/_2"), F.explode(named("value/_1")).alias("value/_1"))
    every = some.select(*others, named("value/_1"), explode(named("value/_2")).alias("value/_2"))
    second = optional(right.of) if outer else right.of
    pair = kv_of(key, TupleOf((left.of, second)))
    element = _columns_of_pair(flow, left.of, second)
    frame = every.select(*spread(element, pair), *map(named, flow.meta))
    return evolve(flow, frame=frame, shape=pair)


def _columns_of_pair(flow: Flow, left: Shape, right: Shape) -> Branch[Column]:
    """A key beside two values, each in one column."""
    key, _ = pair_of(flow.element)
    shape = TupleOf((left, right))
    values = Branch(shape, (unnested(named("value/_1"), left), unnested(named("value/_2"), right)))
    assert isinstance(flow.shape, RecordOf)
    return Branch(kv_of(flow.shape.fields[0].shape, shape), (key, values))


def beside(node: WithSide, main: Flow, side: Flow, steps: tuple[Step, ...]) -> Flow:
    """Each element beside what its window of the side comes to, and then through some steps.

    One value of a window that has columns is a broadcast join on the window.
    """
    view = node.view
    effective = node.side.windowing
    start = _window_read(effective.strategy.windows)
    if isinstance(view, AsMap) or start is None or not _has_column(view.default):
        return beside_in_python(node, main, side, shape_with_side(main, side, view), steps)
    of_side = named(START) if not effective.fresh else start
    element = side.element
    values = side.frame.select(of_side.alias(f"{_SIDE} start"), nested(element).alias(_SIDE))
    each = values.groupBy(named(f"{_SIDE} start")).agg(
        F.first(named(_SIDE)).alias(_SIDE), F.count(F.lit(1)).alias(_COUNT)
    )
    reading = main.frame.withColumn(f"{_SIDE} read", start)
    found = reading.join(F.broadcast(each), named(f"{_SIDE} read") == named(f"{_SIDE} start"), "left")
    shape = shape_with_side(main, side, view)
    read = shape.items[1]
    several = F.raise_error(
        F.concat(
            F.lit("as_singleton() has "),
            named(_COUNT).cast("string"),
            F.lit(" values in a window; it must have one"),
        )
    )
    value = F.when(named(_COUNT) == F.lit(1), named(_SIDE)).when(
        named(_COUNT).isNull(), _default(view, side.shape)
    )
    whole = value.otherwise(several)
    columns = Branch(shape, (main.element, unnested(whole, read)))
    frame = found.select(*spread(columns, shape), *map(named, main.meta))
    return through_steps(evolve(main, frame=frame, shape=shape).noted(*side.notes), steps)


def _has_column(default: object) -> bool:
    """Whether a default is one that Spark has a literal for; no default has, too."""
    return default is NO_DEFAULT or default is None or isinstance(default, bool | int | float | str)


def _default(view: Singleton, shape: Shape) -> Column:
    if view.default is NO_DEFAULT:
        return F.raise_error(
            F.lit(
                "as_singleton() has no value in a window that an element reads; give as_singleton(default=...)"
            )
        ).cast(spark_type(shape))
    return F.lit(view.default).cast(spark_type(shape))


def _window_read(windows: WindowFn) -> Column | None:
    """The start of the window that an element reads, by its event time; ``None`` where only Python can tell."""
    match windows:
        case GlobalWindows():
            return long(MIN_TIME)
        case FixedWindows(offset_by_key=None):
            return fixed_start(windows)
        case _:
            return None


__all__ = ["beside", "co_grouped", "joined"]
