"""Lifted expressions as Spark columns, with exactly Python's meaning.

An integer result that needs more than 64 bits is an error; an intermediate one is not, as in Python: where 64
bits may not be enough on the way, the same expression in 38 decimal digits stands behind the fast one. Nothing
here depends on the session's ANSI setting.
"""

from __future__ import annotations

from typing import assert_never

from pyspark.sql import Column
from pyspark.sql import functions as F

from flowalg.lifting.expressions import (
    INTEGER_BOUND,
    Arithmetic,
    Build,
    Choice,
    Comparison,
    Constant,
    Expr,
    IsNone,
    Logical,
    Negative,
    Not,
    Opaque,
    Param,
    Part,
    bound,
    can_raise,
    children,
)
from flowalg.shapes import FLOAT, INTEGER, TIMESTAMP
from flowalg.time import micros_of
from flowalg_spark.layout import Branch, Columns, Leaf

_EXACT = "decimal(38,0)"


def evaluate(expr: Expr, element: Columns) -> Columns:
    """The columns that an expression gives for the element that lies in ``element``."""
    match expr:
        case Param():
            return element
        case Part(of=of, index=index):
            whole = evaluate(of, element)
            assert isinstance(whole, Branch), "the parts of a leaf are not lifted"
            return whole.parts[index]
        case Build(shape=shape, parts=parts):
            return Branch(shape, tuple(evaluate(part, element) for part in parts))
        case Arithmetic(shape=shape) | Negative(shape=shape):
            return Leaf(shape, _number(expr, element))
        case Constant(shape=shape) | Choice(shape=shape):
            return Leaf(shape, _scalar(expr, element))
        case Comparison() | IsNone() | Logical() | Not():
            return Leaf(expr.shape, _scalar(expr, element))
        case Opaque(reason=reason, place=place):
            raise AssertionError(f"not lifted: {reason} at {place}")
    assert_never(expr)


def single(expr: Expr, element: Columns) -> Column:
    """The one column that a scalar expression gives."""
    columns = evaluate(expr, element)
    assert isinstance(columns, Leaf), "a scalar lies in one column"
    return columns.at


def _scalar(expr: Constant | Choice | Comparison | IsNone | Logical | Not, element: Columns) -> Column:
    match expr:
        case Constant(value=value, shape=shape):
            if shape == TIMESTAMP:
                return F.timestamp_micros(F.lit(micros_of("a captured datetime", value)).cast("bigint"))  # type: ignore[arg-type]  # a timestamp constant holds a datetime
            return F.lit(value).cast("bigint") if shape == INTEGER else F.lit(value)
        case Choice(condition=condition, then=then, otherwise=otherwise):
            chosen = F.when(single(condition, element), single(then, element))
            return chosen.otherwise(single(otherwise, element))
        case Comparison():
            return _compared(expr, element)
        case IsNone(of=of):
            return single(of, element).isNull()
        case Not(of=of):
            return ~single(of, element)
        case Logical(op=op, left=left, right=right):
            return _logical(op, single(left, element), single(right, element), can_raise(right))
    assert_never(expr)


def _logical(op: str, left: Column, right: Column, right_can_raise: bool) -> Column:
    """Python's short circuit; plain ``&`` and ``|``, which Spark may reorder, where nobody could tell."""
    if op == "and":
        return F.when(left, right).otherwise(F.lit(False)) if right_can_raise else left & right
    return F.when(left, F.lit(True)).otherwise(right) if right_can_raise else left | right


def _compared(expr: Comparison, element: Columns) -> Column:
    operands = (expr.left, expr.right)
    wide = expr.left.shape == INTEGER and any(bound(one) > INTEGER_BOUND for one in operands)
    left, right = (_exact(one, element) if wide else single(one, element) for one in operands)
    match expr.op:
        case "==":
            return left == right
        case "!=":
            return left != right
        case "<":
            return left < right
        case "<=":
            return left <= right
        case ">":
            return left > right
        case ">=":
            return left >= right
    assert_never(expr.op)


def _number(expr: Arithmetic | Negative, element: Columns) -> Column:
    """A number, or an error that names the place when it overflows or divides by zero."""
    if expr.shape == FLOAT:
        return _floating(expr, element)
    if bound(expr) < INTEGER_BOUND:
        return _fast(expr, element)
    overflow = F.raise_error(
        F.lit(f"{expr.place}: the result overflows 64 bits: integers must lie in [-2**63, 2**63)")
    )
    attempts = [_fast(expr, element)]
    if any(
        bound(one) >= INTEGER_BOUND and isinstance(one, Arithmetic | Negative | Choice)
        for one in children(expr)
    ):
        attempts.append(_exact(expr, element).try_cast("bigint"))
    return F.coalesce(*attempts, overflow)


def _floating(expr: Arithmetic | Negative, element: Columns) -> Column:
    if isinstance(expr, Negative):
        return -_float(expr.of, element)
    left, right = _float(expr.left, element), _float(expr.right, element)
    match expr.op:
        case "+":
            return left + right
        case "-":
            return left - right
        case "*":
            return left * right
        case "/":
            return F.coalesce(
                F.try_divide(left, right),
                F.raise_error(F.lit(f"{expr.place}: ZeroDivisionError: float division by zero")),
            )
    assert_never(expr.op)


def _float(expr: Expr, element: Columns) -> Column:
    column = single(expr, element)
    return column if expr.shape == FLOAT else column.cast("double")


def _fast(expr: Expr, element: Columns) -> Column:
    """An integer expression in 64 bits; null where any part of it overflows."""
    match expr:
        case Arithmetic(op=op, left=left, right=right):
            a, b = _fast(left, element), _fast(right, element)
            return (
                F.try_add(a, b) if op == "+" else F.try_subtract(a, b) if op == "-" else F.try_multiply(a, b)
            )
        case Negative(of=of):
            return F.try_subtract(F.lit(0).cast("bigint"), _fast(of, element))
        case Choice(condition=condition, then=then, otherwise=otherwise):
            return F.when(single(condition, element), _fast(then, element)).otherwise(
                _fast(otherwise, element)
            )
        case _:
            return single(expr, element)


def _exact(expr: Expr, element: Columns) -> Column:
    """An integer expression in 38 decimal digits, which lifting has shown to be enough."""
    match expr:
        case Arithmetic(op=op, left=left, right=right):
            a, b = _exact(left, element), _exact(right, element)
            return (a + b if op == "+" else a - b if op == "-" else a * b).cast(_EXACT)
        case Negative(of=of):
            return (-_exact(of, element)).cast(_EXACT)
        case Choice(condition=condition, then=then, otherwise=otherwise):
            chosen = F.when(single(condition, element), _exact(then, element))
            return chosen.otherwise(_exact(otherwise, element))
        case _:
            return single(expr, element).cast(_EXACT)


__all__ = ["evaluate", "single"]
