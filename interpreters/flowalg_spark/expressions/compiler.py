"""The compiler of an expression tree to columns in SQL.

Intermediate integers are unbounded. An integer is computed in 64 bits; if an intermediate result may overflow them, the
same expression in 38 decimal digits is the fallback. A final result that overflows 64 bits fails the query.
"""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal
from enum import Enum
from typing import assert_never

from attrs import frozen
from flowalg_columns.layout import Branch, Leaf
from returns.maybe import Maybe

from flowalg.data.shapes import INTEGER, Composite
from flowalg.lifting.tree.expressions import (
    FALSE,
    TRUE,
    Apply,
    As,
    Build,
    Choice,
    Constant,
    Each,
    Expr,
    Item,
    Opaque,
    Param,
    Part,
)
from flowalg.lifting.tree.failures import can_raise_in_engine, is_wide
from flowalg_spark.encoding import sql
from flowalg_spark.encoding.columns import Columns, nest, unnest
from flowalg_spark.encoding.schema import spark_type
from flowalg_spark.encoding.sql import NULL, Sql
from flowalg_spark.expressions.errors import fail_with_overflow
from flowalg_spark.expressions.integers import (
    ARITHMETIC,
    EXACT,
    compute_in_38_digits,
    compute_in_64_bits,
)
from flowalg_spark.expressions.table import STORING, TABLE


def compile_expression(expr: Expr, element: Columns) -> Columns:
    """Compiles an expression to columns; ``element`` has the columns of its parameter."""
    return Compiler(element).compile(expr)


def compile_scalar(expr: Expr, element: Columns) -> Sql:
    """Compiles a scalar expression to its one column."""
    columns = compile_expression(expr, element)
    assert isinstance(columns, Leaf), "a scalar is one column"
    return columns.column


@frozen
class Compiler:
    """Compiles expressions of an element with these columns."""

    element: Columns

    def compile(self, expr: Expr) -> Columns:
        """Compiles any expression."""
        match expr:
            case Param():
                return self.element
            case Part(of=of, index=index):
                whole = self.compile(of)
                assert isinstance(whole, Branch), "the parts of a leaf are not lifted"
                return whole.parts[index]
            case Build(shape=shape, parts=parts):
                return Branch(shape, tuple(map(self.compile, parts)))
            case As(of=of, shape=shape):
                column = nest(self.compile(of))
                return unnest(column, shape)
            case Choice(condition=condition, then=then, otherwise=otherwise, shape=shape):
                if isinstance(shape, Composite):
                    return _choose(self.single(condition), self.compile(then), self.compile(otherwise))
                return Leaf(shape, self.scalar(expr))
            case Apply(shape=shape):
                return unnest(self.scalar(expr), shape)
            case Constant(shape=shape, location=location):
                assert shape is not None, "a None without a type is not lifted"
                if is_wide(expr):
                    return unnest(fail_with_overflow(location).cast(spark_type(shape)), shape)
                return unnest(_constant(expr), shape)
            case Item() | Each() | Opaque():
                raise AssertionError(f"not lifted: {expr}")
        assert_never(expr)

    def single(self, expr: Expr) -> Sql:
        """Compiles an expression to one column."""
        return nest(self.compile(expr))

    def scalar(self, expr: Apply | Choice) -> Sql:
        """Compiles an operation or a choice of scalars."""
        if expr.shape == INTEGER:
            return self.stored_integer(expr)
        match expr:
            case Apply():
                return self.operation(expr)
            case Choice():
                return self.choice(expr)
        assert_never(expr)

    def choice(self, expr: Choice) -> Sql:
        """Compiles ``and``, ``or``, or a choice between two values."""
        condition, then, otherwise = map(self.single, (expr.condition, expr.then, expr.otherwise))
        if expr.otherwise == FALSE and not can_raise_in_engine(expr.then):
            return condition & then
        if expr.then == TRUE and not can_raise_in_engine(expr.otherwise):
            return condition | otherwise
        return sql.when(condition, then).otherwise(otherwise)

    def operation(self, node: Apply) -> Sql:
        """Compiles an operation in 64 bits; where they overflow, which gives null, in decimals."""
        build = TABLE[node.op]
        if node.op in STORING or not any(map(may_overflow, node.args)):
            return build(node, *map(self.single, node.args))
        fast = build(node, *(self.fast(arg) if may_overflow(arg) else self.single(arg) for arg in node.args))
        exact = build(
            node, *(self.exact(arg) if may_overflow(arg) else self.single(arg) for arg in node.args)
        )
        return sql.coalesce(fast, exact)

    def stored_integer(self, expr: Apply | Choice) -> Sql:
        """Compiles an integer that must fit 64 bits."""
        if not may_overflow(expr):
            return self.fast(expr)
        attempts = [self.fast(expr)]
        if _may_overflow_inside(expr):
            attempts.append(self.exact(expr).try_cast("bigint"))
        return sql.coalesce(*attempts, fail_with_overflow(_location(expr)))

    def fast(self, expr: Expr) -> Sql:
        """Compiles an integer in 64 bits; null if any part of it overflows."""
        match expr:
            case Constant(value=int() as value):
                return sql.long(value)
            case Choice(condition=condition, then=then, otherwise=otherwise):
                return sql.when(self.single(condition), self.fast(then)).otherwise(self.fast(otherwise))
            case Apply(op=op, args=args) if op in ARITHMETIC:
                return compute_in_64_bits(expr, *map(self.fast, args))
            case Apply():
                return self.operation(expr)
            case _:
                return self.single(expr)

    def exact(self, expr: Expr) -> Sql:
        """Compiles an integer in 38 decimal digits."""
        match expr:
            case Constant(value=int() as value):
                return sql.lit(str(value)).cast(EXACT)
            case Choice(condition=condition, then=then, otherwise=otherwise):
                return sql.when(self.single(condition), self.exact(then)).otherwise(self.exact(otherwise))
            case Apply(op=op, args=args) if op in ARITHMETIC:
                return compute_in_38_digits(expr, *map(self.exact, args))
            case Apply():
                return self.operation(expr).cast(EXACT)
            case _:
                return self.single(expr).cast(EXACT)


def _choose(condition: Sql, then: Columns, otherwise: Columns) -> Columns:
    """Compiles a choice between two values with parts, leaf by leaf."""
    if isinstance(then, Leaf) or isinstance(otherwise, Leaf):
        return Leaf(then.shape, sql.when(condition, nest(then)).otherwise(nest(otherwise)))
    parts = (_choose(condition, a, b) for a, b in zip(then.parts, otherwise.parts, strict=True))
    return Branch(then.shape, tuple(parts))


def may_overflow(expr: Expr) -> bool:
    """Returns whether an integer or an intermediate result may overflow 64 bits."""
    if expr.shape != INTEGER:
        return False
    match expr:
        case Apply(op=op, args=args) if op in ARITHMETIC:
            return is_wide(expr) or any(map(may_overflow, args))
        case Choice(then=then, otherwise=otherwise):
            return may_overflow(then) or may_overflow(otherwise)
        case Constant():
            return is_wide(expr)
        case _:
            return False


def _may_overflow_inside(expr: Expr) -> bool:
    """Returns whether an intermediate result may overflow 64 bits although the final result fits."""
    match expr:
        case Choice(then=then, otherwise=otherwise):
            return _may_overflow_inside(then) or _may_overflow_inside(otherwise)
        case Apply(args=args):
            return any(map(may_overflow, args))
        case _:
            return False


def _location(expr: Expr) -> str:
    """Returns the source location of the first operation of an expression."""
    match expr:
        case Apply(location=location) | Constant(location=location):
            return location
        case Choice(then=then, otherwise=otherwise):
            return _location(then) or _location(otherwise)
        case _:
            return ""


def _constant(constant: Constant) -> Sql:
    assert constant.shape is not None
    match constant.value:
        case None | Maybe():
            return NULL.cast(spark_type(constant.shape))
        case Enum() as member:  # first, since members can be text or numbers too
            return sql.lit(member.name)
        case bool() | float() | str() | date() | timedelta() as value:
            return sql.lit(value)
        case int() as value:
            return sql.long(value)
        case Decimal() as value:
            return sql.lit(str(value)).cast(spark_type(constant.shape))
    assert_never(constant.value)
