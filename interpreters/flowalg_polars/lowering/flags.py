"""Steps that can fail, as columns with a flag on the rows that fail."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import Final, assert_never

import polars as pl
from attrs import frozen
from flowalg_columns.layout import Branch, Leaf, flatten_columns, layout_of
from flowalg_columns.python.functions import PYTHON_RESULT, map_argument, map_result, partial_calls
from flowalg_shard.tables.columns import EVENT_TIME

from flowalg.data.shapes import BOOLEAN, INTEGER, Shape
from flowalg.data.time import MAX_TIME, MIN_TIME
from flowalg.elementwise.steps import Filter, FlatMap, Map, WithTimestamps
from flowalg.lifting.analysis import StepAnalysis
from flowalg.lifting.comprehensions import ItemRows, as_comprehension, item_rows
from flowalg.lifting.tree.expressions import Each, Expr
from flowalg.lifting.tree.failures import can_raise_in_engine
from flowalg_polars.columns import Columns, columns_of, unnest
from flowalg_polars.expressions import compile_expression
from flowalg_polars.lowering.python_steps import flagged_column
from flowalg_polars.lowering.sections import FAILED, ROW, Flags, Operation

_KEPT: Final = "__kept"
_ITEM: Final = "__item"
_POSITION: Final = "__position"


@frozen
class _Result:
    """The columns of a step's result, and whether each row fails; ``calls`` are computed first, for both."""

    columns: Columns
    fails: pl.Expr
    calls: tuple[pl.Expr, ...] = ()

    @property
    def column(self) -> pl.Expr:
        """The column of a scalar."""
        assert isinstance(self.columns, Leaf), "a scalar is one column"
        return self.columns.column

    def beside(self, **columns: pl.Expr) -> Operation:
        """Returns the operation that adds columns to the rows."""
        names = [call.meta.output_name() for call in self.calls]
        return lambda frame: frame.with_columns(*self.calls).with_columns(**columns).drop(names)


def flags_of(analysis: StepAnalysis, meta: tuple[str, ...]) -> Flags | None:
    """Returns a step with flags, which is lifted or has one result of a known type for each element.

    ``None`` for a comprehension over a list whose expression can fail: the list has no items to flag.
    """
    before = analysis.before
    assert before is not None, "the type of the element is known"
    if isinstance(analysis.step, FlatMap):
        return _comprehension(as_comprehension(analysis.expression), before, meta)
    element = columns_of(layout_of(before))
    lifted = analysis.opaque is None
    result = _lifted(analysis.expression, element) if lifted else _in_python(analysis, before, element)
    match analysis.step:
        case Map():
            assert analysis.after is not None, "the type of the result is known"
            columns = flatten_columns(result.columns, analysis.after)
            selected = [*columns, *map(pl.col, meta), result.fails.alias(FAILED)]
            return Flags(lambda frame: frame.with_columns(*result.calls).select(selected))
        case Filter():
            rows = result.beside(**{_KEPT: result.column, FAILED: result.fails})
            return Flags(rows, lambda frame: frame.filter(_KEPT).drop(_KEPT))
        case WithTimestamps():
            time = result.column.to_physical()
            return Flags(result.beside(**{EVENT_TIME: time, FAILED: result.fails | has_no_time(time)}))
    assert_never(analysis.step)


def has_no_time(time: pl.Expr) -> pl.Expr:
    """Returns whether the event time of a row, in microseconds, is null or in no window."""
    return ~time.is_between(MIN_TIME, MAX_TIME - 1).fill_null(False)


def _lifted(expression: Expr, element: Columns) -> _Result:
    compiled = compile_expression(expression, element)
    return _Result(compiled.columns, pl.lit(False) if compiled.fails is None else compiled.fails)


def _in_python(analysis: StepAnalysis, before: Shape, element: Columns) -> _Result:
    """Returns the result of a step whose function, or a part of it, Python computes."""
    match analysis.step:
        case Map() as step:
            assert analysis.after is not None, "the type of the result is known"
            partial = partial_calls(analysis.expression, before)
            if partial is None:
                function, argument, shape = map_argument(step.function, element, analysis.after)
                call = flagged_column(step, function, argument, shape).alias(PYTHON_RESULT)
                columns = map_result(step.function, element, _result_in(call, shape), analysis.after)
                return _Result(columns, _failed_in(call), (call,))
            calls = tuple(
                flagged_column(step, call, element, shape).alias(name) for name, call, shape in partial.calls
            )
            shapes = (shape for _, _, shape in partial.calls)
            parts = (element, *map(_result_in, calls, shapes))
            rest = _lifted(partial.rest, Branch(partial.shape, parts))
            return _Result(rest.columns, reduce(or_, map(_failed_in, calls), rest.fails), calls)
        case Filter() | WithTimestamps() as step:
            shape = BOOLEAN if isinstance(step, Filter) else INTEGER
            call = flagged_column(step, step.function, element, shape).alias(PYTHON_RESULT)
            return _Result(_result_in(call, shape), _failed_in(call), (call,))
        case FlatMap():
            raise AssertionError("a flat_map has no single result for an element")
    assert_never(analysis.step)


def _result_in(call: pl.Expr, shape: Shape) -> Columns:
    return unnest(pl.col(call.meta.output_name()).struct.field(PYTHON_RESULT), shape)


def _failed_in(call: pl.Expr) -> pl.Expr:
    return pl.col(call.meta.output_name()).struct.field(FAILED)


def _comprehension(comprehension: Each, before: Shape, meta: tuple[str, ...]) -> Flags | None:
    """Returns a comprehension whose items can fail; ``None`` if the list that it goes through can."""
    if can_raise_in_engine(comprehension.of):
        return None
    rows = item_rows(comprehension, before)
    items = _lifted(comprehension.of, columns_of(layout_of(before)))
    explode = Explode(items.column, before, rows, (*meta, ROW))
    of_row = columns_of(layout_of(rows.shape))
    kept, result = _lifted(rows.kept, of_row), _lifted(rows.result, of_row)
    assert rows.result.shape is not None, "the result of a lifted function has a type"
    selected = [
        *flatten_columns(result.columns, rows.result.shape),
        *map(pl.col, (*meta, ROW)),
        (pl.col(FAILED) | result.fails).alias(FAILED),
    ]

    def flagged(frame: pl.LazyFrame) -> pl.LazyFrame:
        exploded = explode(frame.with_row_index(ROW)).with_columns(
            kept.column.alias(_KEPT), kept.fails.fill_null(False).alias(FAILED)
        )
        return exploded.filter(pl.col(_KEPT) | pl.col(FAILED)).select(selected)

    return Flags(flagged)


@frozen
class Explode:
    """A row for each item of a list: its element, the item, and its position."""

    items: pl.Expr
    element: Shape
    rows: ItemRows
    meta: tuple[str, ...]

    def __call__(self, frame: pl.LazyFrame) -> pl.LazyFrame:
        """Returns the rows of items."""
        shape, element = self.rows.shape, columns_of(layout_of(self.element))
        listed = frame.with_columns(self.items.alias(_ITEM))
        position = pl.lit(0, dtype=pl.Int64())
        if self.rows.reads_positions:
            listed = listed.with_columns(
                pl.int_ranges(pl.col(_ITEM).list.len(), dtype=pl.Int64()).alias(_POSITION)
            )
            position = pl.col(_POSITION)
        rows = listed.explode(*([_ITEM, _POSITION] if self.rows.reads_positions else [_ITEM]))
        parts = (element, unnest(pl.col(_ITEM), shape.items[1]), Leaf(INTEGER, position))
        return rows.select(*flatten_columns(Branch(shape, parts), shape), *self.meta)
