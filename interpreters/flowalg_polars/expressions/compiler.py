"""The compiler of an expression tree to Polars expressions.

Intermediate integers are unbounded: they are computed in 64 bits where these certainly suffice, otherwise in 128. A
final result that overflows 64 bits fails.
"""

from __future__ import annotations

from datetime import date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from typing import assert_never

import polars as pl
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
from flowalg.lifting.tree.failures import (
    DURATION_OVERFLOW,
    OVERFLOW,
    TOO_LONG,
    can_fail_itself,
    can_raise_in_engine,
    is_wide,
)
from flowalg.lifting.tree.intervals import (
    DAYS,
    DURATIONS,
    EPOCH_DAY,
    INSTANTS,
    MICROSECOND,
    STORED,
    Interval,
    interval,
    point_micros,
)
from flowalg.lifting.tree.primitives import Op
from flowalg_polars.columns import Columns, nest, polars_type, unnest
from flowalg_polars.expressions.failures import (
    Failures,
    any_failure,
    fail_where,
    first_message,
    guard,
)
from flowalg_polars.expressions.integers import (
    ARITHMETIC,
    Number,
    align,
    check_divisor,
    compute,
    literal,
    long_literal,
)
from flowalg_polars.expressions.overflow import either, linear, overflows
from flowalg_polars.expressions.table import PARTIAL, STORING, TOTAL
from flowalg_polars.expressions.times import DATE, DURATION, OUT_OF_RANGE, TIMESTAMP


@frozen
class Compiled:
    """The columns of an expression, and the failures of its rows.

    The values of rows that fail are arbitrary.
    """

    columns: Columns
    failures: Failures

    @property
    def failure(self) -> pl.Expr | None:
        """The message of the failure of each row, null where the row succeeds; ``None`` if no row can fail."""
        return first_message(self.failures)

    @property
    def fails(self) -> pl.Expr | None:
        """Whether each row fails, false or null where it succeeds; ``None`` if no row can fail.

        It is cheaper than the message, which is needed only if a row fails.
        """
        return any_failure(self.failures)


def compile_expression(expr: Expr, element: Columns) -> Compiled:
    """Compiles an expression to columns; ``element`` has the columns of its parameter."""
    return Compiled(*_Compiler(element).compile(expr))


def compile_scalar(expr: Expr, element: Columns) -> tuple[pl.Expr, pl.Expr | None]:
    """Compiles a scalar expression to its one column, and the message of the failure of each row."""
    compiled = compile_expression(expr, element)
    assert isinstance(compiled.columns, Leaf), "a scalar is one column"
    return compiled.columns.column, compiled.failure


@frozen
class _Compiler:
    element: Columns

    def compile(self, expr: Expr) -> tuple[Columns, Failures]:
        """Compiles any expression."""
        match expr:
            case Param():
                return self.element, ()
            case Part(of=of, index=index):
                whole, failures = self.compile(of)
                assert isinstance(whole, Branch), "the parts of a leaf are not lifted"
                return whole.parts[index], failures
            case Build(shape=shape, parts=parts):
                compiled = [self.compile(part) for part in parts]
                return Branch(shape, tuple(part for part, _ in compiled)), _join(
                    *(failed for _, failed in compiled)
                )
            case As(of=of, shape=shape):
                column, failures = self.single(of)
                return unnest(column, shape), failures
            case Choice(condition=condition, then=then, otherwise=otherwise, shape=shape) if isinstance(
                shape, Composite
            ):
                test, failures = self.single(condition)
                (a, then_failures), (b, otherwise_failures) = self.compile(then), self.compile(otherwise)
                chosen = _join(failures, _choose_failures(test, then_failures, otherwise_failures))
                return _choose(test, a, b), chosen
            case Apply(shape=shape) | Choice(shape=shape):
                column, failures = self.scalar(expr)
                return unnest(column, shape), failures
            case Constant(shape=shape, location=location):
                assert shape is not None, "a None without a type is not lifted"
                failures = fail_where(pl.lit(True), location, OVERFLOW) if is_wide(expr) else ()
                return unnest(_constant(expr), shape), failures
            case Item() | Each() | Opaque():
                raise AssertionError(f"not lifted: {expr}")
        assert_never(expr)

    def single(self, expr: Expr) -> tuple[pl.Expr, Failures]:
        """Compiles an expression to one column.

        An operation is compiled directly, because each call between nested operations limits their depth.
        """
        if isinstance(expr, Apply) and expr.shape != INTEGER:
            return self.operation(expr)
        columns, failures = self.compile(expr)
        return nest(columns), failures

    def scalar(self, expr: Apply | Choice) -> tuple[pl.Expr, Failures]:
        """Compiles an operation or a choice of scalars."""
        if expr.shape == INTEGER:
            return self.bounded(expr, STORED, OVERFLOW, None)
        match expr:
            case Apply():
                return self.operation(expr)
            case Choice():
                return self.choice(expr)
        assert_never(expr)

    def choice(self, expr: Choice) -> tuple[pl.Expr, Failures]:
        """Compiles ``and``, ``or``, or a choice between two values."""
        condition, failures = self.single(expr.condition)
        then, then_failures = self.single(expr.then)
        otherwise, otherwise_failures = self.single(expr.otherwise)
        failures = _join(failures, _choose_failures(condition, then_failures, otherwise_failures))
        if expr.otherwise == FALSE:
            return condition & then, failures
        if expr.then == TRUE:
            return condition | otherwise, failures
        return pl.when(condition).then(then).otherwise(otherwise), failures

    def operation(self, node: Apply) -> tuple[pl.Expr, Failures]:
        """Compiles an operation whose result is not an unbounded integer."""
        match node.op:
            case Op.INSTANT:
                micros, failures = self.bounded(node.args[0], INSTANTS, OUT_OF_RANGE, node.location)
                return micros.cast(TIMESTAMP), failures
            case Op.DAY:
                return self.day(node)
            case Op.DURATION:
                micros, failures = self.bounded(node.args[0], STORED, DURATION_OVERFLOW, node.location)
                return micros.cast(DURATION), _join(self.too_long(node), failures)
            case Op.EQUAL | Op.LESS | Op.LESS_EQUAL if node.args[0].shape == INTEGER:
                return self.comparison(node) or self.tabled(node)
            case _:
                return self.tabled(node)

    def too_long(self, node: Apply) -> Failures:
        """Compiles where a duration is longer than one of Python, which has more than 64 bits."""
        micros, location = node.args[0], node.location
        if not can_fail_itself(node):
            return ()
        line = linear(micros)
        if line is None:
            number, failures = self.number(micros)
            return _join(failures, fail_where(number.outside(DURATIONS), location, TOO_LONG))
        of, failures = self.number(line.of)
        outside = either(line.is_below(of.column, DURATIONS.low), line.is_above(of.column, DURATIONS.high))
        return _join(failures, () if outside is None else fail_where(outside, location, TOO_LONG))

    def tabled(self, node: Apply) -> tuple[pl.Expr, Failures]:
        """Compiles an operation of the tables."""
        columns, failures = self.arguments(node)
        if node.op in TOTAL:
            return TOTAL[node.op](node, *columns), failures
        column, own = PARTIAL[node.op](node, *columns)
        return column, _join(failures, own)

    def arguments(self, node: Apply) -> tuple[tuple[pl.Expr, ...], Failures]:
        """Compiles the arguments of an operation; integers may have 128 bits unless they are stored."""
        if node.op in STORING or any(arg.shape != INTEGER for arg in node.args):
            compiled = list(map(self.single, node.args))
            return tuple(column for column, _ in compiled), _join(*(failed for _, failed in compiled))
        numbers = list(map(self.number, node.args))
        return align(*(number for number, _ in numbers)), _join(*(failed for _, failed in numbers))

    def day(self, node: Apply) -> tuple[pl.Expr, Failures]:
        """Compiles a date. It is in range even where it fails, since Polars has no text for other dates.

        A part that fails has an arbitrary value, so the interval of the days holds only if no part can fail.
        """
        days, failures = self.bounded(node.args[0], DAYS, OUT_OF_RANGE, node.location)
        if can_raise_in_engine(node):
            days = days.clip(long_literal(DAYS.low), long_literal(DAYS.high))
        return days.cast(DATE), failures

    def bounded(
        self, expr: Expr, bounds: Interval, message: str, location: str | None
    ) -> tuple[pl.Expr, Failures]:
        """Compiles an integer in 64 bits that fails where it is out of bounds.

        The location of the failure is that of the expression itself if none is given.
        """
        if isinstance(expr, Choice):
            condition, failures = self.single(expr.condition)
            then, then_failures = self.bounded(expr.then, bounds, message, location)
            otherwise, otherwise_failures = self.bounded(expr.otherwise, bounds, message, location)
            chosen = _choose_failures(condition, then_failures, otherwise_failures)
            return pl.when(condition).then(then).otherwise(otherwise), _join(failures, chosen)
        at = location if location is not None else expr.location if isinstance(expr, Apply | Constant) else ""
        wrapped = self.wrapped(expr, bounds) if is_wide(expr) else None
        if wrapped is not None:
            column, outside, failures = wrapped
            return column, _join(failures, () if outside is None else fail_where(outside, at, message))
        number, failures = self.number(expr)
        if not number.is_wide and (bounds == STORED or interval(expr).within(bounds)):
            return number.column, failures
        return number.narrow(), _join(failures, fail_where(number.outside(bounds), at, message))

    def wrapped(self, expr: Expr, bounds: Interval) -> tuple[pl.Expr, pl.Expr | None, Failures] | None:
        """Compiles a wide integer in 64 bits, and whether it is out of bounds; ``None`` if this takes 128 bits."""
        line = linear(expr)
        if line is not None:
            of, failures = self.number(line.of)
            outside = either(line.is_below(of.column, bounds.low), line.is_above(of.column, bounds.high))
            return line.wrap(of.column), outside, failures
        match expr:
            case Apply(op=op, args=(left, right)) if (
                op in ARITHMETIC and not is_wide(left) and not is_wide(right)
            ):
                (a, left_failures), (b, right_failures) = self.number(left), self.number(right)
                result = compute(expr, a.column, b.column)
                outside = either(
                    overflows(expr, result, a.column, b.column),
                    None if bounds == STORED else Number(result, is_wide=False).outside(bounds),
                )
                return result, outside, _join(left_failures, right_failures, check_divisor(expr, a, b))
            case _:
                return None

    def comparison(self, node: Apply) -> tuple[pl.Expr, Failures] | None:
        """Compares a linear integer that may be wide with one that is not; ``None`` for other arguments."""
        left, right = node.args
        line = linear(left if is_wide(left) else right)
        if line is None or is_wide(left) == is_wide(right):
            return None
        compiled = [self.number(line.of if is_wide(arg) else arg) for arg in node.args]
        of, other = (number.column for number, _ in (compiled if is_wide(left) else reversed(compiled)))
        below, above = line.is_below(of, STORED.low), line.is_above(of, STORED.high)
        if is_wide(left):
            held, lost, gained = TOTAL[node.op](node, line.wrap(of), other), above, below
        else:
            held, lost, gained = TOTAL[node.op](node, other, line.wrap(of)), below, above
        if node.op is Op.EQUAL:
            lost, gained = either(below, above), None
        held = held if lost is None else held & ~lost
        return held if gained is None else held | gained, _join(*(failed for _, failed in compiled))

    def number(self, expr: Expr) -> tuple[Number, Failures]:
        """Compiles an unbounded integer."""
        match expr:
            case Constant(value=int() as value):
                return literal(value), ()
            case Choice(condition=condition, then=then, otherwise=otherwise):
                test, failures = self.single(condition)
                (a, then_failures), (b, otherwise_failures) = self.number(then), self.number(otherwise)
                left, right = align(a, b)
                chosen = Number(pl.when(test).then(left).otherwise(right), is_wide=a.is_wide or b.is_wide)
                return chosen, _join(failures, _choose_failures(test, then_failures, otherwise_failures))
            case Apply(op=op) if op in ARITHMETIC:
                return self.arithmetic(expr)
            case Apply(op=Op.DURATION_MICROS, args=(Apply(op=Op.DURATION, args=(micros,)) as duration,)):
                number, failures = self.number(micros)
                return number, _join(failures, self.too_long(duration))
            case Apply():
                column, failures = self.operation(expr)
                return Number(column, False), failures
            case _:
                column, failures = self.single(expr)
                return Number(column, False), failures

    def arithmetic(self, node: Apply) -> tuple[Number, Failures]:
        """Compiles an arithmetic operation on unbounded integers."""
        compiled = list(map(self.number, node.args))
        args = [number for number, _ in compiled]
        failures = _join(*(failed for _, failed in compiled), check_divisor(node, *args))
        if not is_wide(node):
            result = compute(node, *align(*args))
            return Number(Number(result, any(arg.is_wide for arg in args)).narrow(), False), failures
        return Number(compute(node, *(arg.widen() for arg in args)), True), failures


def _join(*failures: Failures) -> Failures:
    return tuple(failure for part in failures for failure in part)


def _choose_failures(condition: pl.Expr, then: Failures, otherwise: Failures) -> Failures:
    """Returns the failures of the branch that is chosen."""
    return guard(then, condition) + guard(otherwise, ~condition)


def _choose(condition: pl.Expr, then: Columns, otherwise: Columns) -> Columns:
    """Compiles a choice between two values with parts, leaf by leaf."""
    if isinstance(then, Leaf) or isinstance(otherwise, Leaf):
        return Leaf(then.shape, pl.when(condition).then(nest(then)).otherwise(nest(otherwise)))
    parts = (_choose(condition, a, b) for a, b in zip(then.parts, otherwise.parts, strict=True))
    return Branch(then.shape, tuple(parts))


def _constant(constant: Constant) -> pl.Expr:
    """Compiles a constant; null if 64 bits do not suffice."""
    assert constant.shape is not None
    dtype = polars_type(constant.shape)
    match constant.value:
        case None | Maybe():
            return pl.lit(None, dtype=dtype)
        case Enum() as member:  # first, since members can be text or numbers too
            return pl.lit(member.name)
        case bool() | float() | str() | Decimal() as value:
            return pl.lit(value, dtype=dtype)
        case int() as value:
            return long_literal(value)
        case datetime() as point:
            return long_literal(point_micros(point)).cast(dtype)
        case date() as day:
            return long_literal((day - EPOCH_DAY).days).cast(dtype)
        case timedelta() as length:
            return long_literal(length // MICROSECOND).cast(dtype)
    assert_never(constant.value)
