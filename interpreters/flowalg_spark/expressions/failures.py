"""Expressions that never fail the query: null where they would fail, and whether they would as a column.

Python fails on the same rows, so it is called for these alone, to say why.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Final, assert_never

from attrs import frozen
from flowalg_columns.layout import Leaf, leaf_columns

from flowalg.data.shapes import DURATION, INTEGER, Composite, Nullable
from flowalg.lifting.tree.expressions import (
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
    children,
    walk,
)
from flowalg.lifting.tree.failures import can_fail_itself, is_wide
from flowalg.lifting.tree.primitives import Op
from flowalg_spark.encoding import sql
from flowalg_spark.encoding.columns import Columns, nest
from flowalg_spark.encoding.sql import Sql
from flowalg_spark.expressions.compiler import Compiler, may_overflow
from flowalg_spark.expressions.errors import null_failures
from flowalg_spark.expressions.integers import ARITHMETIC
from flowalg_spark.expressions.table import STORING

_STRICT: Final = (
    *ARITHMETIC,
    Op.FLOAT_ADD,
    Op.FLOAT_SUBTRACT,
    Op.FLOAT_MULTIPLY,
    Op.EQUAL,
    Op.LESS,
    Op.LESS_EQUAL,
)
"""Operations whose column is null where that of an argument is null. Of the others, each argument is asked itself."""


@frozen
class Fallible:
    """The columns of an expression, which are arbitrary where it fails, and whether it does: true, false or null."""

    columns: Columns
    fails: Sql


LONGEST: Final = 20_000
"""The most characters of SQL of a fallible expression. Spark plans longer ones, which filters repeat, for seconds."""


def compile_fallible(expr: Expr, element: Columns) -> Fallible | None:
    """Compiles an expression that can fail; ``None`` if no column says where it fails, or if that takes much text."""
    if not _shows_failures(expr):
        return None
    with null_failures():
        compiler = Compiler(element)
        columns = compiler.compile(expr)
        fallible = Fallible(columns, sql.any_of(_Failures(compiler).of(expr)))
    length = sum(len(column.text) for column in (fallible.fails, *leaf_columns(columns)))
    return fallible if length <= LONGEST else None


def _shows_failures(expr: Expr) -> bool:
    """Returns whether a null where an expression fails means nothing else."""
    return all(
        not isinstance(node, Item | Each | Opaque)
        and not (isinstance(node.shape, Nullable) and can_fail_itself(node))
        for node in walk(expr)
    )


@frozen
class _Failures:
    """The conditions under which expressions fail.

    Only a *stored* integer must fit 64 bits. Where an expression is *covered*, one around it is tested, which is null
    where this one is.
    """

    compiler: Compiler

    def of(self, expr: Expr, *, stored: bool = True, covered: bool = False) -> Iterator[Sql]:
        """Yields conditions, one of which is true where an expression fails."""
        if not may_fail(expr, stored=stored):
            return
        match expr:
            case Constant():
                yield sql.TRUE
            case Build(parts=parts):
                for part in parts:
                    yield from self.of(part)
            case Part(of=of) | As(of=of):
                yield from self.of(of)
            case Choice():
                yield from self.of_choice(expr, stored, covered)
            case Apply(op=op, args=args):
                if not covered and (op in _STRICT or _fails_itself(expr, stored)):
                    yield self.is_null(expr, stored)
                for arg in args:
                    yield from self.of(arg, stored=op in STORING, covered=op in _STRICT)
            case Param() | Item() | Each() | Opaque():
                raise AssertionError(f"its failures are no column: {expr}")
            case _:
                assert_never(expr)

    def of_choice(self, expr: Choice, stored: bool, covered: bool) -> Iterator[Sql]:
        """Yields the conditions of a choice: of its condition, and of the value that is chosen."""
        yield from self.of(expr.condition)
        in_sides = _stores_sides(expr, stored)
        if not _fails_itself(expr, stored) and not any(
            may_fail(side, stored=in_sides) for side in (expr.then, expr.otherwise)
        ):
            return
        tested = covered or not isinstance(expr.shape, Nullable | Composite)
        if tested and not covered:
            yield self.is_null(expr, stored)
        then, otherwise = (
            sql.any_of(self.of(side, stored=in_sides, covered=tested)) for side in (expr.then, expr.otherwise)
        )
        if then is not sql.FALSE or otherwise is not sql.FALSE:
            yield sql.when(self.compiler.single(expr.condition), then).otherwise(otherwise)

    def is_null(self, expr: Apply | Choice, stored: bool) -> Sql:
        """Returns whether the column of an expression is null. An integer that is not stored has two."""
        if not stored and may_overflow(expr):
            return sql.isnull(self.compiler.fast(expr)) & sql.isnull(self.compiler.exact(expr))
        compiled = self.compiler.compile(expr)
        assert isinstance(compiled, Leaf), "records and tuples are tested by their parts"
        return sql.isnull(nest(compiled))


@lru_cache(maxsize=4096)
def may_fail(expr: Expr, *, stored: bool = True) -> bool:
    """Returns whether an expression may fail on some rows; as an integer that is *stored*, by its size too."""
    match expr:
        case Constant() | Opaque():
            return _fails_itself(expr, stored)
        case Choice(condition=condition, then=then, otherwise=otherwise):
            in_sides = _stores_sides(expr, stored)
            sides = may_fail(then, stored=in_sides) or may_fail(otherwise, stored=in_sides)
            return sides or may_fail(condition) or _fails_itself(expr, stored)
        case Apply(op=op, args=args):
            return _fails_itself(expr, stored) or any(may_fail(arg, stored=op in STORING) for arg in args)
        case _:
            return any(map(may_fail, children(expr)))


def _fails_itself(expr: Expr, stored: bool) -> bool:
    """Returns whether this node may fail, given its parts. A duration is always stored."""
    is_kept = stored or expr.shape == DURATION
    return can_fail_itself(expr) or (is_kept and is_wide(expr))


def _stores_sides(choice: Choice, stored: bool) -> bool:
    """Returns whether both sides of a choice are stored; of an integer only the value that is chosen is."""
    return stored and choice.shape != INTEGER
