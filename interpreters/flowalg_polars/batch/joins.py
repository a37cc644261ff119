"""Co-groups, joins and side inputs over bounded data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, assert_never

import polars as pl
from attrs import evolve
from flowalg_columns.checks.shapes import require_exact_pairs, require_one_key
from flowalg_columns.layout import (
    Branch,
    Leaf,
    flatten_columns,
    key_and_value,
    layout_of,
    leaf_columns,
    lists_of,
    with_times,
)
from flowalg_columns.names import PANE_META
from flowalg_columns.python.windows import Values
from flowalg_shard.tables.columns import END, EVENT_TIME, START

from flowalg.data.shapes import INTEGER, ListOf, RecordOf, Shape, TupleOf, kv_of, optional
from flowalg.pipeline.joins import JoinKind
from flowalg.pipeline.nodes import CoGroupByKey
from flowalg.windows.strategy import TimestampCombiner
from flowalg_polars.batch.flow import Flow
from flowalg_polars.batch.groups import grouped
from flowalg_polars.batch.panes import pane_columns, pane_flow, time_aggregates
from flowalg_polars.batch.windows import WindowedFlow, assign_windows, key_columns
from flowalg_polars.columns import EXPRESSIONS, Columns, nest, polars_type, unnest

_TAG: Final = "__tag"
_RIGHT: Final = "__right "
_RIGHT_TIME: Final = "__right time"
_TAKEN: Final = "__taken"
_PLACE: Final = "__place"
_LEFT_MATCHED: Final = "__left matched"
_RIGHT_MATCHED: Final = "__right matched"


def lower_co_group(node: CoGroupByKey, flows: Sequence[Flow], time: pl.Expr) -> Flow:
    """Returns the lists of values of each collection, by key and window."""
    if node.timed:
        flows = tuple(_with_times(flow, node.label) for flow in flows)
    pairs = [require_exact_pairs(flow.shape, node.label) for flow in flows]
    key = require_one_key(pairs, node.label)
    shapes = tuple(pair.fields[1].shape for pair in pairs)
    effective = node.windowed_by
    values = Values.TAGGED_WITH_TIMES if node.timed else Values.TAGGED
    tagged = kv_of(key, TupleOf((*(optional(shape) for shape in shapes), INTEGER)))
    *names, tag = leaf_columns(key_and_value(layout_of(tagged))[1])
    whole = _tag_union(flows, tagged, (*names, tag), shapes)
    windowed = assign_windows(
        whole, effective.strategy.windows, fresh=effective.fresh, label=node.label, values=values
    )
    lists = [
        values.sort_by(pl.col(EVENT_TIME).filter(pl.col(tag) == number), values)
        for number, name in enumerate(names)
        for values in [pl.col(name).filter(pl.col(tag) == number)]
    ]
    point = pl.col(EVENT_TIME)
    bounds = time_aggregates(windowed, effective.strategy, point.min(), point.max())
    keys = key_columns(whole.shape)
    rows = grouped(windowed, keys, [*lists, *bounds])
    pair = kv_of(key, TupleOf(tuple(ListOf(shape) for shape in shapes)))
    columns = tuple(map(pl.col, (*keys, *names)))
    return pane_flow(whole.notes, rows, pair, columns, windowed, effective.strategy, time)


def _tag_union(
    flows: Sequence[Flow], tagged: RecordOf, names: Sequence[str], shapes: Sequence[Shape]
) -> Flow:
    """Returns the union of flows: each has a column for its values, and a row has the number of its flow."""
    keys = key_columns(tagged)
    *values_in, tag = names
    kept = [EVENT_TIME, *(name for name in (START, END) if all(name in flow.meta for flow in flows))]
    frames = []
    for number, flow in enumerate(flows):
        key, value = key_and_value(flow.element)
        values = [
            (nest(value) if position == number else pl.lit(None)).cast(polars_type(shape)).alias(name)
            for position, (name, shape) in enumerate(zip(values_in, shapes, strict=True))
        ]
        key_names = [column.alias(name) for column, name in zip(leaf_columns(key), keys, strict=True)]
        frames.append(flow.frame.select(*key_names, *values, pl.lit(number, pl.Int64()).alias(tag), *kept))
    notes = tuple(note for flow in flows for note in flow.notes)
    return Flow(pl.concat(frames), tagged, tuple(kept), notes)


def lower_join(node: CoGroupByKey, kind: JoinKind, flows: Sequence[Flow], time: pl.Expr) -> Flow:
    """Returns the pairs of left and right values of each key and window, one row for each.

    It is an equi-join. A kind that selects has left values instead of pairs.
    """
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
    return _with_element(flow, with_times(flow.element, pl.col(EVENT_TIME)))


def _with_pair_times(flow: Flow, which: TimestampCombiner) -> Flow:
    """Returns pairs of values without their event times, which give each pair its own."""
    pair, times = EXPRESSIONS.without_times(flow.element)
    return _with_element(flow, pair, _pair_time(which, times))


def _with_element(flow: Flow, element: Columns, time: pl.Expr | None = None) -> Flow:
    """Returns a flow of other elements, with the same metadata but for the event time, if there is another."""
    meta = [
        time.alias(name) if name == EVENT_TIME and time is not None else pl.col(name) for name in flow.meta
    ]
    columns = flatten_columns(element, element.shape)
    return Flow(flow.frame.select(*columns, *meta), element.shape, flow.meta, flow.notes)


def _pair_time(which: TimestampCombiner, times: Sequence[pl.Expr]) -> pl.Expr:
    """Returns the event time of a pair, from those of its values; null for a value that is missing."""
    return pl.min_horizontal(times) if which is TimestampCombiner.EARLIEST else pl.max_horizontal(times)


def _equi_join(
    label: str,
    left: WindowedFlow,
    right: WindowedFlow,
    time: pl.Expr,
    kind: JoinKind,
    times: TimestampCombiner | None,
) -> Flow:
    """Returns the join of two flows on key and window. ``times`` says which value gives a pair its event time."""
    pairs = [require_exact_pairs(side.flow.shape, label) for side in (left, right)]
    key, first = pairs[0].fields[0].shape, pairs[0].fields[1].shape
    second = pairs[1].fields[1].shape
    by = [*key_columns(left.flow.shape), *left.by]
    values = leaf_columns(key_and_value(layout_of(right.flow.shape))[1])
    renamed = [pl.col(name).alias(f"{_RIGHT}{name}") for name in values]
    side = right.flow.frame.select(
        *(
            pl.col(name).alias(other)
            for name, other in zip((*key_columns(right.flow.shape), *right.by), by, strict=True)
        ),
        *renamed,
        pl.lit(True).alias(_RIGHT_MATCHED),
        pl.col(EVENT_TIME).alias(_RIGHT_TIME),
    )
    frame = _join(left.flow.frame.with_columns(pl.lit(True).alias(_LEFT_MATCHED)), side, by, kind)
    layout = key_and_value(layout_of(right.flow.shape))[1]
    own, lefts = key_and_value(left.flow.element)
    rights = _rename(layout, {name: pl.col(f"{_RIGHT}{name}") for name in values})
    if kind.keeps_right:
        lefts = _where_matched(_LEFT_MATCHED, lefts, first)
    if kind.keeps_left:
        rights = _where_matched(_RIGHT_MATCHED, rights, second)
    pair = kv_of(key, kind.shape(first, second))
    columns = (*leaf_columns(own), *leaf_columns(lefts), *leaf_columns(rights))
    assert left.end is not None, "a window that does not merge has an end"
    names = leaf_columns(layout_of(pair))
    element = [column.alias(name) for column, name in zip(columns, names, strict=True)]
    point = left.end - 1 if times is None else _pair_time(times, (pl.col(EVENT_TIME), pl.col(_RIGHT_TIME)))
    meta = pane_columns(left.start, left.end, point, time)
    return Flow(frame.select(*element, *meta), pair, PANE_META, (*left.flow.notes, *right.flow.notes))


def _select(
    label: str, left: WindowedFlow, right: WindowedFlow, time: pl.Expr, kind: JoinKind, *, own_time: bool
) -> Flow:
    """Returns what a join selects of the left pairs; each has its ``own_time``, or the last instant of its window."""
    require_one_key([require_exact_pairs(side.flow.shape, label) for side in (left, right)], label)
    by = [*key_columns(left.flow.shape), *left.by]
    same = zip((*key_columns(right.flow.shape), *right.by), by, strict=True)
    side = right.flow.frame.select(pl.col(name).alias(other) for name, other in same)
    element, shape = left.flow.element, left.flow.shape
    if kind is JoinKind.EXCEPT:
        frame, element = _less(left.flow.frame, side, by, in_order=own_time), key_and_value(element)[1]
        shape = element.shape
    else:
        frame = _join(left.flow.frame, side, by, kind)
    assert left.end is not None, "a window that does not merge has an end"
    point = pl.col(EVENT_TIME) if own_time else left.end - 1
    names = leaf_columns(layout_of(shape))
    columns = [column.alias(name) for column, name in zip(leaf_columns(element), names, strict=True)]
    rows = frame.select(*columns, *pane_columns(left.start, left.end, point, time))
    return Flow(rows, shape, PANE_META, (*left.flow.notes, *right.flow.notes))


def _less(left: pl.LazyFrame, right: pl.LazyFrame, by: Sequence[str], *, in_order: bool) -> pl.LazyFrame:
    """Returns rows without one for each equal row on the right: the earliest, if the order matters."""
    if not by:
        one = pl.lit(1, pl.Int8()).alias(_TAG)
        return _less(left.with_columns(one), right.with_columns(one), [_TAG], in_order=in_order)
    taken = right.group_by(by).len(_TAKEN)
    ordered = left.sort(EVENT_TIME) if in_order else left
    numbered = ordered.with_columns(pl.int_range(pl.len()).over(by).alias(_PLACE))
    counted = numbered.join(taken, on=by, how="left", nulls_equal=True)
    return counted.filter(pl.col(_PLACE) >= pl.col(_TAKEN).fill_null(0))


def _join(left: pl.LazyFrame, right: pl.LazyFrame, by: Sequence[str], kind: JoinKind) -> pl.LazyFrame:
    """Returns the join of rows by some columns; without columns there is one key and one window."""
    if not by:
        one = pl.lit(1, pl.Int8()).alias(_TAG)
        return _join(left.with_columns(one), right.with_columns(one), [_TAG], kind).drop(_TAG)
    match kind:
        case JoinKind.INNER:
            return left.join(right, on=by, how="inner", nulls_equal=True)
        case JoinKind.LEFT:
            return left.join(right, on=by, how="left", nulls_equal=True)
        case JoinKind.FULL:
            return left.join(right, on=by, how="full", nulls_equal=True, coalesce=True)
        case JoinKind.SEMI:
            return left.join(right, on=by, how="semi", nulls_equal=True)
        case JoinKind.ANTI:
            return left.join(right, on=by, how="anti", nulls_equal=True)
        case JoinKind.EXCEPT:
            raise AssertionError("a difference numbers its rows instead")
    assert_never(kind)


def _where_matched(matched: str, value: Columns, shape: Shape) -> Columns:
    """Returns a value that is ``None`` on rows without a match."""
    return unnest(pl.when(pl.col(matched).is_not_null()).then(nest(value)), optional(shape))


def _rename(layout: Branch[str] | Leaf[str], columns: dict[str, pl.Expr]) -> Branch[pl.Expr] | Leaf[pl.Expr]:
    match layout:
        case Leaf(shape=shape, column=name):
            return Leaf(shape, columns[name])
        case Branch(shape=shape, parts=parts):
            return Branch(shape, tuple(_rename(part, columns) for part in parts))


def _explode_pairs(flow: Flow, kind: JoinKind) -> Flow:
    """Returns the pairs of a co-group's two lists, one row for each. At most one of the lists is empty."""
    key, (left, right) = lists_of(flow.shape)
    first, second = leaf_columns(key_and_value(layout_of(flow.shape))[1])
    rows = flow.frame.explode(first, empty_as_null=kind.keeps_right)
    rows = rows.explode(second, empty_as_null=kind.keeps_left)
    both = kind.shape(left, right)
    values = (unnest(pl.col(name), part) for name, part in zip((first, second), both.items, strict=True))
    pair = Branch(kv_of(key, both), (key_and_value(flow.element)[0], Branch(both, tuple(values))))
    return _with_element(evolve(flow, frame=rows), pair)


def _explode_selected(flow: Flow, kind: JoinKind, *, timed: bool) -> Flow:
    """Returns the left values of a co-group that a join selects, one row for each, with its own time if ``timed``."""
    key, (value, _) = lists_of(flow.shape)
    first, second = leaf_columns(key_and_value(layout_of(flow.shape))[1])
    others = pl.col(second).list.len()
    if kind is JoinKind.EXCEPT:
        kept = flow.frame.with_columns(pl.col(first).list.slice(others))
    else:
        kept = flow.frame.filter(others > 0 if kind is JoinKind.SEMI else others == 0)
    own, point = pl.col(first), pl.col(EVENT_TIME)
    if timed:
        assert isinstance(value, TupleOf)
        value, (own, point) = value.items[0], (own.struct[number] for number in (0, 1))
    selected = unnest(own, value)
    if kind is not JoinKind.EXCEPT:
        selected = Branch(kv_of(key, value), (key_and_value(flow.element)[0], selected))
    return _with_element(evolve(flow, frame=kept.explode(first, empty_as_null=False)), selected, point)
