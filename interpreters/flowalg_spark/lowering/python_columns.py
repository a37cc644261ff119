"""One function of the user's as a column that Python computes, of the columns that it reads.

So Spark still sees which of the other columns anybody uses, and sends Python none of them.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Final, TypeAlias, assert_never

import pyarrow as pa
from attrs import evolve, frozen
from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql import types as T
from pyspark.sql.pandas.functions import ArrowUDFType, arrow_udf

from flowalg.data.shapes import BOOLEAN, INTEGER, RecordOf, Shape, TupleOf
from flowalg.elementwise.functions import Call, Function, OnValue, Spread, WithKey, apply_all, user_call
from flowalg.elementwise.steps import Filter, FlatMap, Map, Split, WithTimestamps
from flowalg.lifting.analysis import StepAnalysis
from flowalg.lifting.required_fields import delegated_call, required_shape
from flowalg_spark.encoding.layout import (
    Branch,
    Columns,
    Layout,
    col,
    key_and_value,
    layout_of,
    leaf_columns,
    leaves,
    unnest,
)
from flowalg_spark.encoding.meta import EVENT_TIME, KEEP
from flowalg_spark.encoding.schema import spark_type
from flowalg_spark.encoding.values import AnyArray, read_arrays, take_indices, write_nested
from flowalg_spark.lowering.flow import Flow
from flowalg_spark.lowering.python_rows import check_results

Plain: TypeAlias = Call | Spread
OneToOne: TypeAlias = Map | Filter | WithTimestamps

_MADE: Final = "__made"


@frozen
class PythonColumn:
    """What a function gives for the elements whose leaves lie in some arrays, as an array of its own.

    With ``guarded`` the first array says which rows are elements; the others have no result.
    """

    step: OneToOne
    function: Plain
    element: Layout
    result: Shape
    guarded: bool

    def __call__(self, *arrays: AnyArray) -> AnyArray:
        """One batch."""
        return compute_where_kept(self.of, *arrays) if self.guarded else self.of(arrays)

    def of(self, columns: tuple[AnyArray, ...]) -> AnyArray:
        """The results for elements that are all there."""
        names = leaf_columns(self.element)
        elements = read_arrays(self.element, dict(zip(names, columns, strict=True)))
        results = check_results(self.step, apply_all(self.function, elements, self.step.label))
        return write_nested(self.result, results, f"the result of {self.step.label}")


def compute_where_kept(
    function: Callable[[tuple[AnyArray, ...]], AnyArray], kept: AnyArray, *columns: AnyArray
) -> AnyArray:
    """What a function makes of the rows of some columns that are kept, and null on the others."""
    present = [bool(one) for one in kept.to_pylist()]
    found = function(tuple(one.filter(pa.array(present, pa.bool_())) for one in columns))
    return found.take(take_indices(present))


def arrow_column(body: Callable[..., AnyArray], result: T.DataType, arguments: Sequence[Column]) -> Column:
    """The column that a function of Arrow arrays computes of others.

    It counts as not deterministic, so that Spark moves no filter past it: a function is called for no element that an
    earlier step has dropped.
    """
    with warnings.catch_warnings():
        # It would rather have type hints, which cannot say how many arrays there are.
        warnings.simplefilter("ignore", UserWarning)
        udf = arrow_udf(body, result, ArrowUDFType.SCALAR)
    return udf.asNondeterministic()(*arguments)


def apply_as_column(flow: Flow, one: StepAnalysis) -> Flow:
    """The flow after a step that gives one thing for each element, of a type that is known."""
    match one.step:
        case Map():
            return _mapped(flow, one.step, one.after)
        case Filter():
            kept = python_column(flow, one.step, one.step.function, flow.element, BOOLEAN)
            if not flow.guarded:
                return evolve(flow, frame=flow.frame.filter(kept))
            return flow.with_meta(**{KEEP: F.coalesce(kept, F.lit(False))})
        case WithTimestamps():
            return flow.with_meta(
                **{EVENT_TIME: python_column(flow, one.step, one.step.function, flow.element, INTEGER)}
            )
        case FlatMap() | Split():
            raise AssertionError("a flat_map or split has no single result for an element")
    assert_never(one.step)


def _mapped(flow: Flow, step: Map, after: Shape | None) -> Flow:
    """A map: what of the element it leaves as it is stays in its columns."""
    assert after is not None, "the type of the result is known"
    argument, function, result = flow.element, step.function, after
    while isinstance(function, OnValue):
        argument, function, result = key_and_value(argument)[1], function.function, _part(result, 1)
    if isinstance(function, WithKey):
        result = _part(result, 0)
    made = python_column(flow, step, function, argument, result)
    computed = evolve(flow, frame=flow.frame.select("*", made.alias(_MADE)))
    columns = _placed(step.function, flow.element, unnest(col(_MADE), result), after)
    return computed.select(columns, after)


def _placed(function: Function, element: Columns, made: Columns, after: Shape) -> Columns:
    """The result of a form of function, of the element and of what the user's own function has made."""
    match function:
        case Call() | Spread():
            return made
        case WithKey():
            assert isinstance(after, RecordOf), "a pair"
            return Branch(after, (made, element))
        case OnValue(function=inner):
            assert isinstance(after, RecordOf), "a pair"
            key, value = key_and_value(element)
            return Branch(after, (key, _placed(inner, value, made, _part(after, 1))))
    assert_never(function)


def _part(pair: Shape, index: int) -> Shape:
    assert isinstance(pair, RecordOf), "a pair"
    return pair.fields[index].shape


def python_column(flow: Flow, step: OneToOne, function: Function, element: Columns, result: Shape) -> Column:
    """The column of what the user's own function gives for the element that lies in ``element``."""
    own, element = _called(flow, function, element)
    read = required_shape(own.f, element.shape) if isinstance(own, Call) else element.shape
    layout = layout_of(read)
    names = leaf_columns(layout_of(element.shape))
    at = dict(zip(names, leaf_columns(element), strict=True))
    arguments = [at[leaf.column] for leaf in leaves(layout)]
    if flow.guarded:
        arguments.insert(0, col(KEEP))
    body = PythonColumn(step, own, layout, result, flow.guarded)
    return arrow_column(body, spark_type(result), arguments)


def _called(flow: Flow, function: Function, element: Columns) -> tuple[Plain, Columns]:
    """The function that Python has to run, and what it is given: what a function computes around a call is lifted."""
    call = user_call(function)
    if isinstance(function, Spread):
        return function, element
    found = delegated_call(call.f, element.shape)
    if found is None:
        return call, element
    target, arguments = found
    columns = tuple(flow.evaluate(one, element) for one in arguments)
    if len(columns) == 1:
        return Call(target), columns[0]
    return Spread(Call(target)), Branch(TupleOf(tuple(one.shape for one in columns)), columns)


__all__ = ["apply_as_column", "arrow_column", "compute_where_kept", "python_column"]
