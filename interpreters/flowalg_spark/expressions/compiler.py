"""From the tree of an expression to columns.

Integers are unbounded inside an expression. So an integer is computed in 64 bits, and where these may not be enough
on the way, the same expression in 38 decimal digits stands behind; a result that needs more than 64 bits fails.
"""

from __future__ import annotations

from datetime import date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from typing import assert_never

from attrs import frozen
from pyspark.sql import Column
from pyspark.sql import functions as F

from flowalg.data.shapes import DURATION, INTEGER, RecordOf, TupleOf
from flowalg.lifting.tree.expressions import (
    FALSE,
    TRUE,
    Apply,
    As,
    Build,
    Choice,
    Constant,
    Expr,
    Opaque,
    Param,
    Part,
)
from flowalg.lifting.tree.failures import can_raise_in_engine, is_wide
from flowalg.lifting.tree.intervals import EPOCH_DAY, MICROSECOND, point_micros
from flowalg.lifting.tree.primitives import Op
from flowalg_spark.encoding.layout import Branch, Columns, Leaf, nest, unnest
from flowalg_spark.encoding.schema import spark_type
from flowalg_spark.expressions.errors import fail_with_overflow
from flowalg_spark.expressions.integers import (
    ARITHMETIC,
    EXACT,
    compute_in_38_digits,
    compute_in_64_bits,
    long_literal,
)
from flowalg_spark.expressions.table import STORING, TABLE
from flowalg_spark.expressions.times import interval_from_micros


def compile_expression(expr: Expr, element: Columns) -> Columns:
    """The columns that an expression gives for the element that lies in ``element``."""
    return _Compiler(element).columns(expr)


def compile_scalar(expr: Expr, element: Columns) -> Column:
    """The one column that a scalar expression gives."""
    columns = compile_expression(expr, element)
    assert isinstance(columns, Leaf), "a scalar lies in one column"
    return columns.column


@frozen
class _Compiler:
    element: Columns

    def columns(self, expr: Expr) -> Columns:
        """The columns of any expression."""
        match expr:
            case Param():
                return self.element
            case Part(of=of, index=index):
                whole = self.columns(of)
                assert isinstance(whole, Branch), "the parts of a leaf are not lifted"
                return whole.parts[index]
            case Build(shape=shape, parts=parts):
                return Branch(shape, tuple(map(self.columns, parts)))
            case As(of=of, shape=shape):
                column = nest(self.columns(of))
                return unnest(column, shape)
            case Choice(condition=condition, then=then, otherwise=otherwise, shape=shape):
                if isinstance(shape, RecordOf | TupleOf):
                    return _chosen(self.single(condition), self.columns(then), self.columns(otherwise))
                return Leaf(shape, self.scalar(expr))
            case Apply(shape=shape):
                return unnest(self.scalar(expr), shape)
            case Constant(shape=shape):
                assert shape is not None, "a None without a type is not lifted"
                return unnest(_constant(expr), shape)
            case Opaque(reason=reason, location=location):
                raise AssertionError(f"not lifted: {reason} at {location}")
        assert_never(expr)

    def single(self, expr: Expr) -> Column:
        """The value of an expression in one column."""
        return nest(self.columns(expr))

    def scalar(self, expr: Apply | Choice) -> Column:
        """The one column of an operation or a choice."""
        if expr.shape == INTEGER:
            return self.stored(expr)
        match expr:
            case Apply():
                return self.applied(expr)
            case Choice():
                return self.choice(expr)
        assert_never(expr)

    def choice(self, expr: Choice) -> Column:
        """``and``, ``or``, or a choice between two values."""
        condition, then, otherwise = (self.single(one) for one in (expr.condition, expr.then, expr.otherwise))
        if expr.otherwise == FALSE and not can_raise_in_engine(expr.then):
            return condition & then
        if expr.then == TRUE and not can_raise_in_engine(expr.otherwise):
            return condition | otherwise
        return F.when(condition, then).otherwise(otherwise)

    def applied(self, node: Apply) -> Column:
        """An operation, tried in 64 bits, and where null says that they were not enough, in decimals."""
        build = TABLE[node.op]
        if node.op in STORING or not any(map(_may_overflow, node.args)):
            return build(node, *map(self.single, node.args))
        fast = build(node, *(self.fast(one) if _may_overflow(one) else self.single(one) for one in node.args))
        exact = build(
            node, *(self.exact(one) if _may_overflow(one) else self.single(one) for one in node.args)
        )
        return F.coalesce(fast, exact)

    def stored(self, expr: Apply | Choice) -> Column:
        """An integer that must fit 64 bits."""
        if not _may_overflow(expr):
            return self.fast(expr)
        attempts = [self.fast(expr)]
        if _only_on_the_way(expr):
            attempts.append(self.exact(expr).try_cast("bigint"))
        return F.coalesce(*attempts, fail_with_overflow(_location(expr)))

    def fast(self, expr: Expr) -> Column:
        """An integer in 64 bits; null where any part of it overflows."""
        match expr:
            case Constant(value=int() as value):
                return long_literal(value)
            case Choice(condition=condition, then=then, otherwise=otherwise):
                return F.when(self.single(condition), self.fast(then)).otherwise(self.fast(otherwise))
            case Apply(op=op, args=args) if op in ARITHMETIC:
                return compute_in_64_bits(expr, *map(self.fast, args))
            case Apply():
                return self.applied(expr)
            case _:
                return self.single(expr)

    def exact(self, expr: Expr) -> Column:
        """An integer in 38 decimal digits."""
        match expr:
            case Constant(value=int() as value):
                return F.lit(str(value)).cast(EXACT)
            case Choice(condition=condition, then=then, otherwise=otherwise):
                return F.when(self.single(condition), self.exact(then)).otherwise(self.exact(otherwise))
            case Apply(op=op, args=args) if op in ARITHMETIC:
                return compute_in_38_digits(expr, *map(self.exact, args))
            case Apply():
                return self.applied(expr).cast(EXACT)
            case _:
                return self.single(expr).cast(EXACT)


def _chosen(condition: Column, then: Columns, otherwise: Columns) -> Columns:
    """A choice between two records or tuples, leaf by leaf."""
    if isinstance(then, Leaf) or isinstance(otherwise, Leaf):
        return Leaf(then.shape, F.when(condition, nest(then)).otherwise(nest(otherwise)))
    parts = (_chosen(condition, a, b) for a, b in zip(then.parts, otherwise.parts, strict=True))
    return Branch(then.shape, tuple(parts))


def _may_overflow(expr: Expr) -> bool:
    """Whether an integer may need more than 64 bits, itself or on the way."""
    if expr.shape != INTEGER:
        return False
    match expr:
        case Apply(op=op, args=args) if op in ARITHMETIC:
            return is_wide(expr) or any(map(_may_overflow, args))
        case Choice(then=then, otherwise=otherwise):
            return _may_overflow(then) or _may_overflow(otherwise)
        case Constant():
            return is_wide(expr)
        case _:
            return False


def _only_on_the_way(expr: Expr) -> bool:
    """Whether an integer may overflow on the way and still fit in the end."""
    match expr:
        case Choice(then=then, otherwise=otherwise):
            return _only_on_the_way(then) or _only_on_the_way(otherwise)
        case Apply(args=args):
            return any(map(_may_overflow, args))
        case _:
            return False


def _location(expr: Expr) -> str:
    """Returns the source location of the first operation of an expression."""
    match expr:
        case Apply(location=location):
            return location
        case Choice(then=then, otherwise=otherwise):
            return _location(then) or _location(otherwise)
        case _:
            return ""


def _constant(constant: Constant) -> Column:
    match constant.value:
        case None:
            assert constant.shape is not None
            return F.lit(None).cast(spark_type(constant.shape))
        case Enum() as member:  # some are text or numbers too
            return F.lit(member.name)
        case bool() | float() | str() as value:
            return F.lit(value)
        case int() as value:
            return long_literal(value)
        case datetime() as point:
            return F.timestamp_micros(long_literal(point_micros(point)))
        case date() as day:
            return F.date_from_unix_date(F.lit((day - EPOCH_DAY).days))
        case timedelta() as length:
            whole = Constant(length // MICROSECOND, INTEGER)
            return interval_from_micros(
                Apply(Op.DURATION, (whole,), DURATION, ""), long_literal(length // MICROSECOND)
            )
        case Decimal() as value:
            assert constant.shape is not None
            return F.lit(str(value)).cast(spark_type(constant.shape))
    assert_never(constant.value)


__all__ = ["compile_expression", "compile_scalar"]
