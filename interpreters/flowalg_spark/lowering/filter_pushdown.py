"""Filter pushdown: the filters of a pipeline that compare fields with constants, applied to the stored columns.

A source's columns are checked for nulls that its record class does not allow, and Spark does not push a filter on a
checked column down to Parquet. So such a filter is applied a second time, to the stored columns. It keeps rows with a
null in a field that it reads, for the check to reject.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from pyspark.sql import DataFrame

from flowalg.data.shapes import Nullable, SumOf
from flowalg.elementwise.steps import Filter, Map, Step, WithTimestamps
from flowalg.lifting.analysis import analyse_function, may_leave_time
from flowalg.lifting.tree.expressions import (
    FALSE,
    TRUE,
    Apply,
    Choice,
    Constant,
    Expr,
    Param,
    Part,
    children,
    first_opaque,
)
from flowalg.lifting.tree.failures import can_raise_in_engine
from flowalg.lifting.tree.primitives import Op
from flowalg.pipeline.nodes import SourceNode
from flowalg_spark.encoding.columns import where
from flowalg_spark.encoding.sql import all_of, any_of
from flowalg_spark.expressions import compile_scalar
from flowalg_spark.lowering.binding import require_names, require_schema
from flowalg_spark.lowering.validation import source_columns

_COMPARISONS: Final = (
    *(Op.EQUAL, Op.LESS, Op.LESS_EQUAL, Op.ONE_OF),
    *(Op.FLOAT_EQUAL, Op.FLOAT_LESS, Op.FLOAT_LESS_EQUAL),
)


def push_down_filters(source: SourceNode, frame: DataFrame, steps: tuple[Step, ...]) -> DataFrame:
    """Returns a source's frame without the rows that the first filters among the steps drop, where a scan can filter.

    Raises ``SchemaMismatchError`` for a frame whose schema does not match the source's record class.
    """
    require_schema(source, frame.schema)
    require_names(source, frame)
    element = source_columns(source.shape, frame.schema)
    filters = []
    for condition in _conditions(Param(source.shape), steps):
        required = (field for field in _fields(condition) if not isinstance(field.shape, Nullable))
        nulls = (compile_scalar(field, element).is_null() for field in required)
        filters.append(any_of((compile_scalar(condition, element), *nulls)))
    return where(frame, all_of(filters)) if filters else frame


def _conditions(element: Expr, steps: tuple[Step, ...]) -> Iterator[Expr]:
    """Returns the pushable conditions of the filters before the first step that is not lifted or can fail."""
    for step in steps:
        lifted = analyse_function(step.function, element)
        match step:
            case Filter() if first_opaque(lifted) is None:
                yield from (condition for condition in _conjuncts(lifted) if _is_pushable(condition))
            case Map() if first_opaque(lifted) is None:
                element = lifted
            case WithTimestamps() if first_opaque(lifted) is None and not may_leave_time(lifted):
                pass
            case _:
                return
        if can_raise_in_engine(lifted):
            return


def _conjuncts(expr: Expr) -> Iterator[Expr]:
    if isinstance(expr, Choice) and expr.otherwise == FALSE:
        yield from _conjuncts(expr.condition)
        yield from _conjuncts(expr.then)
    else:
        yield expr


def _is_pushable(expr: Expr) -> bool:
    """Returns whether a condition is a boolean field, or only compares fields of the record with constants."""
    match expr:
        case Apply(op=op, args=args) if op in _COMPARISONS:
            return all(_is_field(arg) or isinstance(arg, Constant) for arg in args) and (
                sum(map(_is_field, args)) == 1
            )
        case Apply(op=Op.IS_NONE, args=(of,)):
            return _is_field(of)
        case Param() | Part():
            return _is_field(expr)
        case Apply(op=Op.NOT, args=(of,)):
            return _is_pushable(of)
        case Choice(condition=left, then=then, otherwise=otherwise) if then == TRUE or otherwise == FALSE:
            return _is_pushable(left) and _is_pushable(otherwise if then == TRUE else then)
        case _:
            return False


def _is_field(expr: Expr) -> bool:
    """Returns whether an expression is a field of the record, or of a nested record.

    A member of a sum is not: a filter on one would drop rows that have no member, which are invalid.
    """
    if isinstance(expr, Part) and not isinstance(expr.of.shape, SumOf):
        return _is_field(expr.of)
    return isinstance(expr, Param)


def _fields(expr: Expr) -> tuple[Expr, ...]:
    """Returns the fields that an expression reads."""
    if _is_field(expr):
        return (expr,)
    return tuple(field for child in children(expr) for field in _fields(child))
