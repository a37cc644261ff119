"""Steps that Python computes: as columns of the columns that they read, or in a pass over all columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import polars as pl
import pyarrow as pa
from attrs import frozen
from flowalg_columns.arrow_types import arrow_type
from flowalg_columns.layout import Branch, flatten_columns, layout_of, leaves
from flowalg_columns.python.functions import (
    PYTHON_RESULT,
    ArrayFunction,
    OneToOne,
    PartialCalls,
    PlannedCall,
    array_function,
    map_argument,
    map_result,
    partial_calls,
)
from flowalg_columns.python.rows import PythonSteps, Rows
from flowalg_columns.values import AnyArray, read_elements, write_arrays
from flowalg_shard.tables.columns import EVENT_TIME

from flowalg.data.shapes import BOOLEAN, INTEGER, Shape
from flowalg.elementwise.functions import Function
from flowalg.elementwise.steps import Filter, FlatMap, Map, Step, WithTimestamps
from flowalg.lifting.analysis import StepAnalysis
from flowalg_polars.columns import Columns, columns_of, polars_type, unnest
from flowalg_polars.errors import keep_causes
from flowalg_polars.lowering.failures import evaluate
from flowalg_polars.lowering.sections import FAILED, Sifted
from flowalg_polars.meta import META_TYPES


def python_column(
    step: OneToOne, function: Function | PlannedCall, element: Columns, result: Shape
) -> pl.Expr:
    """Returns the column of a user-defined function's results; ``element`` has the columns of its argument."""
    kind = polars_type(result)
    return _called(
        step, function, element, result, kind, lambda compute, arrays: series_of(compute(arrays), kind)
    )


def flagged_column(
    step: OneToOne, function: Function | PlannedCall, element: Columns, result: Shape
) -> pl.Expr:
    """Returns the results as a column of structs of the result and ``FAILED``, which says where the function fails."""
    kind = pl.Struct({PYTHON_RESULT: polars_type(result), FAILED: pl.Boolean()})

    def compute(function: ArrayFunction, arrays: list[AnyArray]) -> pl.Series:
        results, failed = function.flag(arrays)
        flagged = pa.StructArray.from_arrays([results, failed], [PYTHON_RESULT, FAILED])
        return series_of(flagged, kind)

    return _called(step, function, element, result, kind, compute)


def _called(
    step: OneToOne,
    function: Function | PlannedCall,
    element: Columns,
    result: Shape,
    kind: pl.DataType,
    compute: Callable[[ArrayFunction, list[AnyArray]], pl.Series],
) -> pl.Expr:
    """Returns the column of what is computed by a function of the columns of its argument."""
    computed, arguments = array_function(step, function, element, result, evaluate)

    def body(columns: Sequence[pl.Series]) -> pl.Series:
        rows, *arrays = columns
        whole = [array.new_from_index(0, len(rows)) if len(array) != len(rows) else array for array in arrays]
        with keep_causes():
            return compute(computed, [array.to_arrow() for array in whole])

    # The event time is an argument so that a function of constants is called for each row.
    return pl.map_batches([pl.col(EVENT_TIME), *arguments], body, return_dtype=kind, is_elementwise=True)


def series_of(array: AnyArray, kind: pl.DataType) -> pl.Series:
    """Returns an Arrow array as a series of a type."""
    series = pl.from_arrow(array)
    assert isinstance(series, pl.Series)
    return series.cast(kind)


def apply_as_column(frame: pl.LazyFrame, analysis: StepAnalysis, meta: Sequence[str]) -> pl.LazyFrame:
    """Returns the frame after a step with one result, of a known type, for each element."""
    step, before = analysis.step, analysis.before
    assert before is not None, "the type of the element is known"
    element = columns_of(layout_of(before))
    match step:
        case Map():
            assert analysis.after is not None, "the type of the result is known"
            partial = partial_calls(analysis.expression, before)
            if partial is not None:
                return _apply_partially(frame, step, partial, analysis.after, meta)
            function, argument, result = map_argument(step.function, element, analysis.after)
            computed = python_column(step, function, argument, result)
            with_result = frame.with_columns(computed.alias(PYTHON_RESULT))
            columns = map_result(
                step.function, element, unnest(pl.col(PYTHON_RESULT), result), analysis.after
            )
            return with_result.select(*flatten_columns(columns, analysis.after), *meta)
        case Filter():
            return keep_where(frame, python_column(step, step.function, element, BOOLEAN))
        case WithTimestamps():
            return frame.with_columns(python_column(step, step.function, element, INTEGER).alias(EVENT_TIME))
        case FlatMap():
            raise AssertionError("a flat_map has no single result for an element")


def _apply_partially(
    frame: pl.LazyFrame, step: Map, partial: PartialCalls, after: Shape, meta: Sequence[str]
) -> pl.LazyFrame:
    """Returns the frame after a map whose function calls Python only for parts of its result."""
    element = columns_of(layout_of(partial.shape.items[0]))
    computed = [
        python_column(step, call, element, result).alias(name) for name, call, result in partial.calls
    ]
    parts = (element, *(unnest(pl.col(name), result) for name, _, result in partial.calls))
    columns = evaluate(partial.rest, Branch(partial.shape, parts))
    return frame.with_columns(computed).select(*flatten_columns(columns, after), *meta)


def apply_to_pairs(
    frame: pl.DataFrame,
    read: Iterable[object],
    steps: Sequence[Step],
    shapes: tuple[Shape, Shape],
    meta: Sequence[str],
    label: str,
) -> pl.DataFrame:
    """Returns what steps in Python make of pairs of an element and the value that it reads of a side input.

    ``shapes`` are those of the elements and of the results. Without steps, errors name the side input by its ``label``.
    """
    main, after = shapes
    elements = read_elements(layout_of(main), to_arrow(frame, main, meta))
    rows = Rows(
        list(zip(elements, read, strict=True)), frame[EVENT_TIME].to_list(), list(range(frame.height))
    )
    for step in steps:
        rows.apply_step(step)
    layout, where = layout_of(after), f"the result of {steps[-1].label if steps else label}"
    columns = [
        series_of(array, polars_type(leaf.shape)).alias(leaf.column)
        for array, leaf in zip(write_arrays(layout, rows.elements, where), leaves(layout), strict=True)
    ]
    others = frame.select(meta)[rows.origins].with_columns(pl.Series(EVENT_TIME, rows.times, pl.Int64()))
    return pl.DataFrame([*columns, *others.get_columns()])


_KEPT = "__kept"


def keep_where(frame: pl.LazyFrame, kept: pl.Expr) -> pl.LazyFrame:
    """Returns the rows for which a column that may fail the query is true.

    It is a column first, so that Polars does not evaluate it on rows that an earlier filter drops.
    """
    return frame.with_columns(kept.alias(_KEPT)).filter(_KEPT).drop(_KEPT)


@frozen
class PythonPass:
    """Chains of steps over all columns of a frame, which has metadata columns ``meta``; the outputs are united."""

    before: Shape
    after: Shape
    chains: tuple[tuple[Step, ...], ...]
    meta: tuple[str, ...]

    def __call__(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Returns the frame after the steps."""
        return self._apply(frame, dead_letters=False).frame

    def sift(self, frame: pl.DataFrame) -> Sifted:
        """Returns the frame after the steps, without the elements on which a step fails, and these."""
        return self._apply(frame, dead_letters=True)

    def _apply(self, frame: pl.DataFrame, *, dead_letters: bool) -> Sifted:
        steps = PythonSteps(
            layout_of(self.before),
            layout_of(self.after),
            self.chains,
            False,
            arrow_schema(self.after, self.meta),
            dead_letters,
        )
        schema = frame_schema(self.after, self.meta)
        sifted = [steps.sift(batch) for batch in to_arrow(frame, self.before, self.meta).to_batches()]
        bad = tuple(record for _, records in sifted for record in records)
        frames = [from_arrow(batch, schema) for batch, _ in sifted]
        return Sifted(pl.concat(frames) if frames else pl.DataFrame(schema=schema), bad)

    def apply(self, frame: pl.LazyFrame) -> pl.LazyFrame:
        """Returns the lazy frame after the steps."""
        return frame.map_batches(
            self,
            schema=frame_schema(self.after, self.meta),
            streamable=True,
        )


def frame_schema(shape: Shape, meta: Sequence[str]) -> dict[str, pl.DataType]:
    """Returns the Polars schema of elements of a shape."""
    columns = {leaf.column: polars_type(leaf.shape) for leaf in leaves(layout_of(shape))}
    return {**columns, **{name: META_TYPES[name] for name in meta}}


_META_ARROW = {pl.Int64(): pa.int64(), pl.String(): pa.string(), pl.Boolean(): pa.bool_()}


def arrow_schema(shape: Shape, meta: Sequence[str]) -> pa.Schema:
    """Returns the Arrow schema of elements of a shape."""
    fields = [pa.field(leaf.column, arrow_type(leaf.shape)) for leaf in leaves(layout_of(shape))]
    return pa.schema([*fields, *(pa.field(name, _META_ARROW[META_TYPES[name]]) for name in meta)])


def to_arrow(frame: pl.DataFrame, shape: Shape, meta: Sequence[str]) -> pa.Table:
    """Returns elements as an Arrow table of one batch."""
    schema = arrow_schema(shape, meta)
    return frame.select(schema.names).to_arrow().cast(schema).combine_chunks()


def from_arrow(batch: pa.RecordBatch, schema: dict[str, pl.DataType]) -> pl.DataFrame:
    """Returns an Arrow batch as a frame of a schema."""
    frame = pl.from_arrow(batch)
    assert isinstance(frame, pl.DataFrame)
    return frame.cast(dict(schema))  # type: ignore[arg-type]  # pl.DataFrame.cast takes a mapping of names
