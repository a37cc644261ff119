"""The elements that a grouping receives from the rows of a source: those that pass the filters, and their keys.

A step that is lifted is evaluated on all rows at once; otherwise its function is called for each record.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Final, TypeAlias

import numpy as np
import polars as pl
import pyarrow as pa
from attrs import frozen
from flowalg_columns.layout import Leaf, flatten_columns, key_and_value, layout_of, leaf_columns
from flowalg_columns.values import read_elements
from flowalg_polars.columns import columns_of
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
from flowalg.elementwise.steps import Filter, Map, Step, WithTimestamps, apply_step, assign_timestamp
from flowalg.lifting.analysis import StepAnalysis, analyse, analyse_function, is_keyed
from flowalg.lifting.tree.expressions import Expr, Param, first_opaque
from flowalg.pipeline.graph import Fold, fold
from flowalg.pipeline.nodes import (
    CombinePerKey,
    ElementWise,
    Flatten,
    GroupingNode,
    Node,
    SourceNode,
    WindowInto,
)
from flowalg.pipeline.source import Source
from flowalg_tools.recorded.columns import require_shape
from flowalg_tools.recorded.keys import KeyColumn, KeyList, Keys, Rows
from flowalg_tools.recorded.unsuited import UnsuitedDataError

_Element: TypeAlias = tuple[int, int, object]
"""The row of an element, its event time in microseconds since the epoch, and its value."""

_COLUMN_KEYS: Final = (TEXT, INTEGER, optional(TEXT), optional(INTEGER))
_PLAIN_KEYS: Final = {str, int, bool, bytes, type(None)}


@frozen(eq=False)
class ElementColumns:
    """The event time of each row for the clocks, and the elements that the grouping receives.

    ``rows`` has the row of each element, in order, ``times`` its event time and ``keys`` its key. Times are
    microseconds since the epoch.
    """

    event_times: Rows
    rows: Rows
    times: Rows
    keys: Keys


def element_columns(source: Source[object], grouping: GroupingNode, records: pa.Table) -> ElementColumns:
    """Returns the elements of the records of the only source of a grouping, in their order.

    Raises ``UnsuitedDataError`` if a function fails, and if a key or an event time is invalid.
    """
    try:
        return _Rows(source, require_shape(source), records).elements(grouping)
    except (FlowalgError, PolarsError) as error:
        raise UnsuitedDataError from error


def _steps(node: Node) -> tuple[Step, ...] | None:
    """Returns the steps that lead from a source to a node; ``None`` unless they are ``map`` and ``filter`` alone."""
    match node:
        case SourceNode():
            return ()
        case WindowInto(input=inner):
            return _steps(inner)
        case ElementWise(input=inner, steps=steps) if all(isinstance(step, Map | Filter) for step in steps):
            before = _steps(inner)
            return None if before is None else (*before, *steps)
        case _:
            return None


@frozen(eq=False)
class _Rows:
    """The rows of a source; ``shape`` is that of their records."""

    source: Source[object]
    shape: Shape
    table: pa.Table

    def elements(self, grouping: GroupingNode) -> ElementColumns:
        events = self._event_times()
        if len(events) and not MIN_TIME <= events.min() <= events.max() < MAX_TIME:
            raise UnsuitedDataError
        steps = _steps(grouping.input) if isinstance(grouping, CombinePerKey) else None
        if steps is None:
            return self._received_in_python(grouping, events)
        analyses = analyse(steps, self.shape)
        if all(analysis.opaque is None and analysis.after is not None for analysis in analyses):
            rows, keys = self._keys_in_columns(analyses)
            return ElementColumns(events, rows, events[rows], keys)
        match steps:
            case [Map(function=WithKey(call=call)) as by_key]:
                raw_keys = apply_all(call, self._records, by_key.label)
                keys = _valid_keys([canonicalize(key, by_key.label) for key in raw_keys])
                return ElementColumns(events, np.arange(len(events)), events, keys)
            case _:
                return self._received_in_python(grouping, events)

    @cached_property
    def _frame(self) -> pl.DataFrame:
        frame = pl.from_arrow(self.table)
        assert isinstance(frame, pl.DataFrame)
        return frame

    @cached_property
    def _records(self) -> list[object]:
        return read_elements(layout_of(self.shape), self.table)

    def _event_times(self) -> Rows:
        """Returns the event time of each row in microseconds since the epoch."""
        node = self.source.node
        assert isinstance(node, SourceNode)
        if node.event_time is None:
            raise UnsuitedDataError
        expression = analyse_function(node.event_time, Param(self.shape))
        if first_opaque(expression) is None and expression.shape == TIMESTAMP:
            times = _evaluate(expression, self.shape, self._frame).to_series()
            return times.cast(pl.Int64()).to_numpy()
        points = (micros_of("event_time", self.source.event_time_of(record)) for record in self._records)
        return np.fromiter(points, np.int64, self.table.num_rows)

    def _keys_in_columns(self, analyses: Sequence[StepAnalysis]) -> tuple[Rows, Keys]:
        """Returns the rows that pass the filters, and their keys, with steps that are all lifted."""
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

    def _received_in_python(self, grouping: GroupingNode, events: Rows) -> ElementColumns:
        """Returns the elements after any steps and flattening, with a call of each function for each of them."""
        numbered = list(zip(range(len(events)), events.tolist(), self._records, strict=True))

        def received(node: Node, of: Fold[Node, list[_Element]]) -> list[_Element]:
            match node:
                case SourceNode():
                    return numbered
                case WindowInto(input=inner):
                    return of(inner)
                case ElementWise(input=inner, steps=steps):
                    elements = of(inner)
                    for step in steps:
                        elements = [after for element in elements for after in _apply(step, element)]
                    return elements
                case Flatten(inputs=inputs):
                    return [element for inner in inputs for element in of(inner)]
                case _:
                    raise UnsuitedDataError

        elements = [element for node in grouping.inputs for element in fold(node, received)]
        elements.sort(key=lambda element: element[0])
        rows, times = (np.array([element[part] for element in elements], np.int64) for part in (0, 1))
        keys = [require_keyed(element[2], grouping.label).key for element in elements]
        return ElementColumns(events, rows, times, _valid_keys(keys))


def _apply(step: Step, element: _Element) -> Iterator[_Element]:
    row, time, value = element
    if isinstance(step, WithTimestamps):
        yield row, assign_timestamp(step, value), value
        return
    for after in apply_step(step, value):
        yield row, time, canonicalize(after, step.label)


def _evaluate(expression: Expr, shape: Shape, frame: pl.DataFrame) -> pl.DataFrame:
    """Returns the columns of an expression, by the layout of its shape; raises ``UnsuitedDataError`` if a row fails."""
    assert expression.shape is not None, "lifted expressions have a shape"
    compiled = compile_expression(expression, columns_of(layout_of(shape)))
    fails = compiled.fails
    if fails is not None and frame.select(fails.any()).item():
        raise UnsuitedDataError
    columns = flatten_columns(compiled.columns, expression.shape)
    # With a column of the frame, so that a constant has a value for each row.
    return frame.with_columns(columns).select(column.meta.output_name() for column in columns)


def _valid_keys(keys: Sequence[object]) -> Keys:
    """Some keys; raises ``UnsuitedDataError`` for a key that a grouping rejects."""
    kinds = set(map(type, keys))
    try:
        unfit = not kinds <= _PLAIN_KEYS and (any(map(has_float, keys)) or not set(keys))
    except TypeError as unhashable:
        raise UnsuitedDataError from unhashable
    if unfit:
        raise UnsuitedDataError
    return KeyList(keys)
