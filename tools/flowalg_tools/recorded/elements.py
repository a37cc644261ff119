"""The elements that a grouping receives from the rows of a source: those that pass the filters, and their keys.

A step that is lifted is evaluated on all rows at once; otherwise its function is called for each record.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Final

import numpy as np
import polars as pl
import pyarrow as pa
from attrs import frozen
from flowalg_columns.layout import Leaf, key_and_value, layout_of, leaf_columns
from flowalg_columns.values import read_elements
from flowalg_polars.columns import columns_of, flatten_columns
from flowalg_polars.expressions.compiler import compile_expression
from polars.exceptions import PolarsError

from flowalg.data.errors import FlowalgError
from flowalg.data.shapes import (
    INTEGER,
    TEXT,
    TIMESTAMP,
    Shape,
    contains_float,
    is_hashable,
    optional,
)
from flowalg.data.time import MAX_TIME, MIN_TIME, micros_of
from flowalg.data.values import canonicalize, has_float
from flowalg.elementwise.functions import WithKey, apply_all, require_keyed
from flowalg.elementwise.steps import Filter, Map, Step, apply_step
from flowalg.lifting.analysis import StepAnalysis, analyse, analyse_function, is_keyed
from flowalg.lifting.tree.expressions import Expr, Param, first_opaque
from flowalg.pipeline.nodes import CombinePerKey, ElementWise, GroupingNode, Node, SourceNode, WindowInto
from flowalg.pipeline.source import Source
from flowalg_tools.recorded.columns import require_shape
from flowalg_tools.recorded.keys import KeyColumn, KeyList, Keys, Rows
from flowalg_tools.recorded.unsuited import UnsuitedDataError

_COLUMN_KEYS: Final = (TEXT, INTEGER, optional(TEXT), optional(INTEGER))
_PLAIN_KEYS: Final = {str, int, bool, bytes, type(None)}


@frozen(eq=False)
class ElementColumns:
    """The event time of each row, in microseconds since the epoch, and the rows that reach the grouping.

    ``keys`` has the keys of the rows ``kept``, in this order.
    """

    event_times: Rows
    kept: Rows
    keys: Keys


def element_columns(source: Source[object], grouping: GroupingNode, records: pa.Table) -> ElementColumns:
    """Returns the elements of the records of a source, in their order.

    Raises ``UnsuitedDataError`` if a function fails, if a key or an event time is invalid, and unless ``map`` and
    ``filter`` alone lead from the source to the grouping.
    """
    steps = tuple(_steps_before(grouping))
    try:
        return _Rows(source, require_shape(source), records).elements(steps)
    except (FlowalgError, PolarsError) as error:
        raise UnsuitedDataError from error


def _steps_before(grouping: GroupingNode) -> Iterator[Step]:
    if not isinstance(grouping, CombinePerKey):
        raise UnsuitedDataError
    yield from _steps(grouping.input)


def _steps(node: Node) -> Iterator[Step]:
    match node:
        case SourceNode():
            return
        case WindowInto(input=inner):
            yield from _steps(inner)
        case ElementWise(input=inner, steps=steps) if all(isinstance(step, Map | Filter) for step in steps):
            yield from _steps(inner)
            yield from steps
        case _:
            raise UnsuitedDataError


@frozen(eq=False)
class _Rows:
    """The rows of a source; ``shape`` is that of their records."""

    source: Source[object]
    shape: Shape
    table: pa.Table

    def elements(self, steps: Sequence[Step]) -> ElementColumns:
        events = self._event_times()
        if len(events) and not MIN_TIME <= events.min() <= events.max() < MAX_TIME:
            raise UnsuitedDataError
        analyses = analyse(tuple(steps), self.shape)
        if any(each.opaque is not None or each.after is None for each in analyses):
            return ElementColumns(events, *self._keys_in_python(steps))
        return ElementColumns(events, *self._keys_in_columns(analyses))

    @cached_property
    def _frame(self) -> pl.DataFrame:
        frame = pl.from_arrow(self.table)
        assert isinstance(frame, pl.DataFrame)
        return frame

    @cached_property
    def _records(self) -> list[object]:
        return read_elements(layout_of(self.shape), self.table)

    def _event_times(self) -> Rows:
        """The event time of each row in microseconds since the epoch."""
        node = self.source.node
        assert isinstance(node, SourceNode)
        expression = analyse_function(node.event_time, Param(self.shape))
        if first_opaque(expression) is None and expression.shape == TIMESTAMP:
            times = _evaluate(expression, self.shape, self._frame).to_series()
            return times.cast(pl.Int64()).to_numpy()
        points = (micros_of("event_time", self.source.event_time_of(record)) for record in self._records)
        return np.fromiter(points, np.int64, self.table.num_rows)

    def _keys_in_columns(self, analyses: Sequence[StepAnalysis]) -> tuple[Rows, Keys]:
        """The rows that pass the filters, and their keys, with steps that are all lifted."""
        shape, frame, rows = self.shape, self._frame, np.arange(self.table.num_rows)
        for analysis in analyses:
            result = _evaluate(analysis.expression, shape, frame)
            if isinstance(analysis.step, Filter):
                passes = result.to_series()
                frame, rows = frame.filter(passes), rows[passes.to_numpy()]
            else:
                assert analysis.after is not None, "the types of lifted steps are known"
                frame, shape = result, analysis.after
        if not is_keyed(shape):
            raise UnsuitedDataError
        key, _ = key_and_value(layout_of(shape))
        if contains_float(key.shape) or not is_hashable(key.shape):
            raise UnsuitedDataError
        if isinstance(key, Leaf) and key.shape in _COLUMN_KEYS:
            return rows, KeyColumn(frame[key.column])
        names: tuple[str, ...] = leaf_columns(key)
        return rows, KeyList(read_elements(key, frame.select(names).to_arrow()))

    def _keys_in_python(self, steps: Sequence[Step]) -> tuple[Rows, Keys]:
        """The rows that pass the filters, and their keys, with a call of each function for each record."""
        rows: Sequence[int] = range(self.table.num_rows)
        match steps:
            case [Map(function=WithKey(call=call)) as by_key]:
                found = apply_all(call, self._records, by_key.label)
                keys = [canonicalize(key, by_key.label) for key in found]
            case _:
                elements = list(enumerate(self._records))
                for step in steps:
                    elements = [
                        (row, canonicalize(value, step.label))
                        for row, element in elements
                        for value in apply_step(step, element)
                    ]
                rows = [row for row, _ in elements]
                keys = [require_keyed(element, "the grouping").key for _, element in elements]
        _require_valid(keys)
        return np.fromiter(rows, np.int64, len(rows)), KeyList(keys)


def _evaluate(expression: Expr, shape: Shape, frame: pl.DataFrame) -> pl.DataFrame:
    """The columns of an expression, by the layout of its shape; raises ``UnsuitedDataError`` if a row fails."""
    assert expression.shape is not None, "lifted expressions have a shape"
    compiled = compile_expression(expression, columns_of(layout_of(shape)))
    fails = compiled.fails
    if fails is not None and frame.select(fails.any()).item():
        raise UnsuitedDataError
    columns = flatten_columns(compiled.columns, expression.shape)
    # With a column of the frame, so that a constant has a value for each row.
    return frame.with_columns(columns).select(column.meta.output_name() for column in columns)


def _require_valid(keys: Sequence[object]) -> None:
    """Raises ``UnsuitedDataError`` for a key that a grouping rejects."""
    kinds = set(map(type, keys))
    try:
        unfit = not kinds <= _PLAIN_KEYS and (any(map(has_float, keys)) or not set(keys))
    except TypeError as unhashable:
        raise UnsuitedDataError from unhashable
    if unfit:
        raise UnsuitedDataError


__all__ = ["ElementColumns", "element_columns"]
