"""Filters that reach the scan: the rows that the user's filters drop anyway, left out where the data are read.

What a source gives is checked for nulls that its record class does not allow, and a filter on a checked column is none
that Parquet understands. So the part of a filter that compares fields with constants is said once more, of the columns
as they are stored. It keeps rows with a null in a field that it looks at, which the check then refuses: a filter hides
no bad row from the check of the fields that it reads.
"""

from __future__ import annotations

from collections.abc import Iterator

from pyspark.sql import DataFrame

from flowalg.lifting.analysis import analyse_function
from flowalg.lifting.expressions import (
    Comparison,
    Constant,
    Expr,
    IsNone,
    Logical,
    Not,
    Param,
    Part,
    can_raise,
    children,
    opaque_part,
)
from flowalg.nodes import SourceNode
from flowalg.shapes import OptionalOf
from flowalg.steps import Filter, Map, Restamp, Step
from flowalg_spark.columns import single
from flowalg_spark.layout import Branch, Columns, Leaf, visible_element
from flowalg_spark.schema import spark_type


def scanned(source: SourceNode, frame: DataFrame, steps: tuple[Step, ...]) -> DataFrame:
    """The rows of a source's frame that the first filters among the steps do not drop, as far as a scan can tell."""
    stored = _typed(visible_element(source.shape))
    for condition in _conditions(Param(source.shape), steps):
        kept = single(condition, stored)
        for one in _fields(condition):
            if not isinstance(one.shape, OptionalOf):
                kept = kept | single(one, stored).isNull()
        frame = frame.filter(kept)
    return frame


def _conditions(element: Expr, steps: tuple[Step, ...]) -> Iterator[Expr]:
    """What scans can tell of the filters up to the first step that Python computes, or that can fail."""
    for step in steps:
        found = analyse_function(step.function, element)
        match step:
            case Filter() if opaque_part(found) is None:
                yield from (one for one in _conjuncts(found) if _told_by_a_scan(one))
            case Map() if opaque_part(found) is None:
                element = found
            case Restamp() if opaque_part(found) is None:
                pass
            case _:
                return
        if can_raise(found):
            return


def _conjuncts(expr: Expr) -> Iterator[Expr]:
    if isinstance(expr, Logical) and expr.op == "and":
        yield from _conjuncts(expr.left)
        yield from _conjuncts(expr.right)
    else:
        yield expr


def _told_by_a_scan(expr: Expr) -> bool:
    """Whether an expression only compares fields of the record with constants, or is one that is true or not."""
    match expr:
        case Comparison(left=left, right=right):
            return (_is_field(left) and isinstance(right, Constant)) or (
                isinstance(left, Constant) and _is_field(right)
            )
        case IsNone(of=of):
            return _is_field(of)
        case Param() | Part():
            return _is_field(expr)
        case Not(of=of):
            return _told_by_a_scan(of)
        case Logical(left=left, right=right):
            return _told_by_a_scan(left) and _told_by_a_scan(right)
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


def _typed(columns: Columns) -> Columns:
    match columns:
        case Leaf(shape=shape, at=column):
            return Leaf(shape, column.cast(spark_type(shape)))
        case Branch(shape=shape, parts=parts):
            return Branch(shape, tuple(_typed(part) for part in parts))


__all__ = ["scanned"]
