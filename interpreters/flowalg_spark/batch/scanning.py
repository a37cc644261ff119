"""Filters that reach the scan: the rows that the user's filters drop anyway, left out where the data are read.

What a source gives is checked for nulls that its record class does not allow, and a filter on a checked column is none
that Parquet understands. So the part of a filter that compares fields with constants is said once more, of the columns
as they are stored. It keeps rows with a null in a field that it looks at, which the check then refuses: a filter hides
no bad row from the check of the fields that it reads.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from typing import Final

from pyspark.sql import Column, DataFrame

from flowalg.data.shapes import OptionalOf
from flowalg.elementwise.steps import Filter, Map, Step, WithTimestamps
from flowalg.lifting.analysis import analyse_function
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
from flowalg_spark.expressions import single
from flowalg_spark.lowering.binding import require_schema
from flowalg_spark.lowering.checking import stored

_COMPARISONS: Final = (
    *(Op.EQUAL, Op.LESS, Op.LESS_EQUAL, Op.ONE_OF),
    *(Op.FLOAT_EQUAL, Op.FLOAT_LESS, Op.FLOAT_LESS_EQUAL),
)


def scanned(source: SourceNode, frame: DataFrame, steps: tuple[Step, ...]) -> DataFrame:
    """The rows of a source's frame that the first filters among the steps do not drop, as far as a scan can tell.

    Raises ``SchemaMismatchError`` for a frame that is not of the source's records.
    """
    require_schema(source, frame.schema)
    element = stored(source.shape, frame.schema)
    kept = []
    for condition in _conditions(Param(source.shape), steps):
        missing = (one for one in _fields(condition) if not isinstance(one.shape, OptionalOf))
        nulls = (single(one, element).isNull() for one in missing)
        kept.append(reduce(Column.__or__, nulls, single(condition, element)))
    return frame.filter(reduce(Column.__and__, kept)) if kept else frame


def _conditions(element: Expr, steps: tuple[Step, ...]) -> Iterator[Expr]:
    """What scans can tell of the filters up to the first step that Python computes, or that can fail."""
    for step in steps:
        found = analyse_function(step.function, element)
        match step:
            case Filter() if first_opaque(found) is None:
                yield from (one for one in _conjuncts(found) if _told_by_a_scan(one))
            case Map() if first_opaque(found) is None:
                element = found
            case WithTimestamps() if first_opaque(found) is None:
                pass
            case _:
                return
        if can_raise_in_engine(found):
            return


def _conjuncts(expr: Expr) -> Iterator[Expr]:
    if isinstance(expr, Choice) and expr.otherwise == FALSE:
        yield from _conjuncts(expr.condition)
        yield from _conjuncts(expr.then)
    else:
        yield expr


def _told_by_a_scan(expr: Expr) -> bool:
    """Whether an expression only compares fields of the record with constants, or is one that is true or not."""
    match expr:
        case Apply(op=op, args=args) if op in _COMPARISONS:
            return all(_is_field(one) or isinstance(one, Constant) for one in args) and (
                sum(map(_is_field, args)) == 1
            )
        case Apply(op=Op.IS_NONE, args=(of,)):
            return _is_field(of)
        case Param() | Part():
            return _is_field(expr)
        case Apply(op=Op.NOT, args=(of,)):
            return _told_by_a_scan(of)
        case Choice(condition=left, then=then, otherwise=otherwise) if then == TRUE or otherwise == FALSE:
            return _told_by_a_scan(left) and _told_by_a_scan(otherwise if then == TRUE else then)
        case _:
            return False


def _is_field(expr: Expr) -> bool:
    """Whether an expression is a field of the record, or of a record inside."""
    return isinstance(expr, Param) or (isinstance(expr, Part) and _is_field(expr.of))


def _fields(expr: Expr) -> tuple[Expr, ...]:
    """The fields that an expression looks at."""
    if _is_field(expr):
        return (expr,)
    return tuple(field for child in children(expr) for field in _fields(child))


__all__ = ["scanned"]
