"""A user-defined function as a column that Python computes from the columns that it reads.

Spark still prunes the other columns, and sends none of them to Python.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Final, TypeAlias, assert_never

import pyarrow as pa
from attrs import evolve, frozen
from flowalg_columns.layout import Branch, Layout, key_and_value, layout_of, leaf_columns, leaves
from flowalg_columns.names import EVENT_TIME, KEEP
from flowalg_columns.python_rows import check_results
from flowalg_columns.values import AnyArray, read_arrays, take_indices, write_nested
from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql import types as T
from pyspark.sql.pandas.functions import ArrowUDFType, arrow_udf

from flowalg.data.shapes import BOOLEAN, INTEGER, RecordOf, Shape, TupleOf
from flowalg.elementwise.functions import Call, Function, OnValue, Spread, WithKey, apply_all, user_call
from flowalg.elementwise.steps import Filter, FlatMap, Map, Split, WithTimestamps
from flowalg.lifting.analysis import StepAnalysis
from flowalg.lifting.required_fields import delegated_call, required_shape
from flowalg_spark.encoding.columns import Columns, col, unnest
from flowalg_spark.encoding.schema import spark_type
from flowalg_spark.lowering.flow import Flow

PlainFunction: TypeAlias = Call | Spread
OneToOne: TypeAlias = Map | Filter | WithTimestamps

_RESULT: Final = "__python_result"


@frozen
class PythonColumn:
    """An Arrow function from the leaves of elements to the results of a user-defined function.

    With ``guarded``, the first array has the kept rows; the result is null on all others.
    """

    step: OneToOne
    function: PlainFunction
    element: Layout
    result: Shape
    guarded: bool

    def __call__(self, *arrays: AnyArray) -> AnyArray:
        """Computes the results for one batch."""
        return compute_where_kept(self.compute, *arrays) if self.guarded else self.compute(arrays)

    def compute(self, columns: tuple[AnyArray, ...]) -> AnyArray:
        """Computes the results for rows that are all kept."""
        names = leaf_columns(self.element)
        elements = read_arrays(self.element, dict(zip(names, columns, strict=True)))
        results = check_results(self.step, apply_all(self.function, elements, self.step.label))
        return write_nested(self.result, results, f"the result of {self.step.label}")


def compute_where_kept(
    function: Callable[[tuple[AnyArray, ...]], AnyArray], kept: AnyArray, *columns: AnyArray
) -> AnyArray:
    """Applies a function to the kept rows of some columns; the result is null on the others."""
    mask = [bool(keep) for keep in kept.to_pylist()]
    results = function(tuple(column.filter(pa.array(mask, pa.bool_())) for column in columns))
    return results.take(take_indices(mask))


def arrow_column(body: Callable[..., AnyArray], result: T.DataType, arguments: Sequence[Column]) -> Column:
    """Returns the column that a function of Arrow arrays computes from other columns.

    It is marked as nondeterministic, so Spark does not move filters across it, and the function is not called for
    elements that an earlier step removes.
    """
    with warnings.catch_warnings():
        # PySpark recommends type hints, which cannot express a variable number of arrays.
        warnings.simplefilter("ignore", UserWarning)
        udf = arrow_udf(body, result, ArrowUDFType.SCALAR)
    return udf.asNondeterministic()(*arguments)


def apply_as_column(flow: Flow, analysis: StepAnalysis) -> Flow:
    """Returns the flow after a step with one result, of a known type, for each element."""
    step = analysis.step
    match step:
        case Map():
            return _apply_map(flow, step, analysis.after)
        case Filter():
            kept = python_column(flow, step, step.function, flow.element, BOOLEAN)
            if not flow.guarded:
                return evolve(flow, frame=flow.frame.filter(kept))
            return flow.with_meta(**{KEEP: F.coalesce(kept, F.lit(False))})
        case WithTimestamps():
            return flow.with_meta(
                **{EVENT_TIME: python_column(flow, step, step.function, flow.element, INTEGER)}
            )
        case FlatMap() | Split():
            raise AssertionError("a flat_map or split has no single result for an element")
    assert_never(step)


def _apply_map(flow: Flow, step: Map, after: Shape | None) -> Flow:
    """Returns the flow after a map; unchanged parts of the element stay in their columns."""
    assert after is not None, "the type of the result is known"
    argument, function, result = flow.element, step.function, after
    while isinstance(function, OnValue):
        argument, function, result = key_and_value(argument)[1], function.function, _part(result, 1)
    if isinstance(function, WithKey):
        result = _part(result, 0)
    computed = python_column(flow, step, function, argument, result)
    with_result = evolve(flow, frame=flow.frame.select("*", computed.alias(_RESULT)))
    columns = _result_columns(step.function, flow.element, unnest(col(_RESULT), result), after)
    return with_result.select(columns, after)


def _result_columns(function: Function, element: Columns, result: Columns, after: Shape) -> Columns:
    """Returns the result of a form of function, from the element and the result of the user-defined function."""
    match function:
        case Call() | Spread():
            return result
        case WithKey():
            assert isinstance(after, RecordOf), "a pair"
            return Branch(after, (result, element))
        case OnValue(function=inner):
            assert isinstance(after, RecordOf), "a pair"
            key, value = key_and_value(element)
            return Branch(after, (key, _result_columns(inner, value, result, _part(after, 1))))
    assert_never(function)


def _part(pair: Shape, index: int) -> Shape:
    assert isinstance(pair, RecordOf), "a pair"
    return pair.fields[index].shape


def python_column(flow: Flow, step: OneToOne, function: Function, element: Columns, result: Shape) -> Column:
    """Returns the column of a user-defined function's results; ``element`` has the columns of its argument."""
    call, element = _python_call(flow, function, element)
    required = required_shape(call.f, element.shape) if isinstance(call, Call) else element.shape
    layout = layout_of(required)
    names = leaf_columns(layout_of(element.shape))
    column_of = dict(zip(names, leaf_columns(element), strict=True))
    arguments = [column_of[leaf.column] for leaf in leaves(layout)]
    if flow.guarded:
        arguments.insert(0, col(KEEP))
    body = PythonColumn(step, call, layout, result, flow.guarded)
    return arrow_column(body, spark_type(result), arguments)


def _python_call(flow: Flow, function: Function, element: Columns) -> tuple[PlainFunction, Columns]:
    """Returns the function that runs in Python, and its argument. Computations around a call of it are lifted."""
    call = user_call(function)
    if isinstance(function, Spread):
        return function, element
    delegated = delegated_call(call.f, element.shape)
    if delegated is None:
        return call, element
    target, arguments = delegated
    columns = tuple(flow.evaluate(argument, element) for argument in arguments)
    if len(columns) == 1:
        return Call(target), columns[0]
    return Spread(Call(target)), Branch(TupleOf(tuple(column.shape for column in columns)), columns)


__all__ = ["apply_as_column", "arrow_column", "compute_where_kept", "python_column"]
