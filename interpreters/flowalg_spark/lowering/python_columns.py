"""A user-defined function as a column that Python computes from the columns that it reads.

Spark still prunes the other columns, and sends none of them to Python.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import assert_never

import pyarrow as pa
from attrs import evolve, frozen
from flowalg_columns.layout import Branch
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
from flowalg_columns.values import AnyArray, take_indices
from flowalg_shard.tables.columns import EVENT_TIME, KEEP
from pyspark.sql import Column, DataFrame
from pyspark.sql import types as T
from pyspark.sql.pandas.functions import ArrowUDFType, arrow_udf

from flowalg.data.shapes import BOOLEAN, INTEGER, Shape
from flowalg.elementwise.functions import Function
from flowalg.elementwise.steps import Filter, FlatMap, Map, WithTimestamps
from flowalg.lifting.analysis import StepAnalysis
from flowalg_spark.encoding import sql
from flowalg_spark.encoding.columns import Columns, col, unnest, where
from flowalg_spark.encoding.schema import spark_type
from flowalg_spark.encoding.sql import Sql
from flowalg_spark.lowering.flow import Flow
from flowalg_spark.lowering.worker_errors import SentArrays


@frozen
class PythonColumn:
    """An Arrow function from the leaves of elements to the results of a user-defined function.

    With ``guarded``, the first array has the kept rows; the result is null on all others.
    """

    compute: ArrayFunction
    guarded: bool

    def __call__(self, *arrays: AnyArray) -> AnyArray:
        """Computes the results for one batch."""
        return compute_where_kept(self.compute, *arrays) if self.guarded else self.compute(arrays)


def compute_where_kept(
    function: Callable[[tuple[AnyArray, ...]], AnyArray], kept: AnyArray, *columns: AnyArray
) -> AnyArray:
    """Applies a function to the kept rows of some columns; the result is null on the others."""
    mask = [bool(keep) for keep in kept.to_pylist()]
    results = function(tuple(column.filter(pa.array(mask, pa.bool_())) for column in columns))
    return results.take(take_indices(mask))


def arrow_column(
    body: Callable[..., AnyArray],
    result: T.DataType,
    arguments: Sequence[Sql],
    *,
    deterministic: bool = False,
) -> Column:
    """Returns the column that a function of Arrow arrays computes from other columns.

    Unless it is marked as deterministic, Spark does not move filters across it, and the function is not called for
    elements that an earlier step removes.
    """
    with warnings.catch_warnings():
        # PySpark recommends type hints, which cannot express a variable number of arrays.
        warnings.simplefilter("ignore", UserWarning)
        udf = arrow_udf(SentArrays(body), result, ArrowUDFType.SCALAR)
    marked = udf if deterministic else udf.asNondeterministic()
    return marked(*(argument.column for argument in arguments))


def in_rows(frame: DataFrame) -> DataFrame:
    """Returns the frame in a form whose rows, and not whose columnar batches, Spark sends to Python.

    Since 4.3, Spark hands the batches of a scan to Python directly. If they are not Arrow data, as those of Parquet,
    it converts them value by value, which takes a third more time of the JVM than rows from generated code. The
    filter keeps all rows; since its condition is not deterministic, Spark neither removes nor moves it.
    """
    return where(frame, sql.spark_partition_id() >= 0)


def apply_as_column(flow: Flow, analysis: StepAnalysis) -> Flow:
    """Returns the flow after a step with one result, of a known type, for each element."""
    step = analysis.step
    flow = evolve(flow, frame=in_rows(flow.frame))
    match step:
        case Map():
            partial = partial_calls(analysis.expression, flow.shape)
            if partial is not None:
                return _apply_partially(flow, step, partial)
            return _apply_map(flow, step, analysis.after)
        case Filter():
            kept = python_column(flow, step, step.function, flow.element, BOOLEAN)
            if not flow.guarded:
                return evolve(flow, frame=flow.frame.filter(kept))
            return _with_result(flow, kept).with_meta(**{KEEP: sql.coalesce(col(PYTHON_RESULT), False)})
        case WithTimestamps():
            micros = python_column(flow, step, step.function, flow.element, INTEGER)
            return _with_result(flow, micros).with_meta(**{EVENT_TIME: col(PYTHON_RESULT)})
        case FlatMap():
            raise AssertionError("a flat_map has no single result for an element")
    assert_never(step)


def _with_result(flow: Flow, computed: Column) -> Flow:
    """Returns the flow with a further column of its frame, which Python computes."""
    return evolve(flow, frame=flow.frame.select("*", computed.alias(PYTHON_RESULT)))


def _apply_map(flow: Flow, step: Map, after: Shape | None) -> Flow:
    """Returns the flow after a map; unchanged parts of the element stay in their columns."""
    assert after is not None, "the type of the result is known"
    function, argument, result = map_argument(step.function, flow.element, after)
    computed = python_column(flow, step, function, argument, result)
    columns = map_result(step.function, flow.element, unnest(col(PYTHON_RESULT), result), after)
    return _with_result(flow, computed).select(columns, after)


def _apply_partially(flow: Flow, step: Map, partial: PartialCalls) -> Flow:
    """Returns the flow after a map whose function calls Python only for parts of its result."""
    computed = [
        python_column(flow, step, call, flow.element, result).alias(name)
        for name, call, result in partial.calls
    ]
    with_results = evolve(flow, frame=flow.frame.select("*", *computed))
    parts = (flow.element, *(unnest(col(name), result) for name, _, result in partial.calls))
    after = partial.rest.shape
    assert after is not None, "the type of the result is known"
    return with_results.select(flow.evaluate(partial.rest, Branch(partial.shape, parts)), after)


def python_column(
    flow: Flow, step: OneToOne, function: Function | PlannedCall, element: Columns, result: Shape
) -> Column:
    """Returns the column of a user-defined function's results; ``element`` has the columns of its argument."""
    computed, arguments = array_function(step, function, element, result, flow.evaluate)
    if flow.guarded:
        arguments.insert(0, col(KEEP))
    return arrow_column(PythonColumn(computed, flow.guarded), spark_type(result), arguments)
