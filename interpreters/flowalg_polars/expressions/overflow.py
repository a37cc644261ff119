"""Integers that may exceed 64 bits, computed in 64 bits, and the rows in which they do.

Polars wraps sums and products, so they are exact modulo 2**64: a result that fits is right, whatever its parts were.
Where a few comparisons find the rows that do not fit, this is several times faster than 128 bits.
"""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import Final

import polars as pl
from attrs import evolve, frozen

from flowalg.data.shapes import INTEGER
from flowalg.lifting.tree.expressions import Apply, Constant, Expr
from flowalg.lifting.tree.failures import is_wide
from flowalg.lifting.tree.intervals import STORED, interval
from flowalg.lifting.tree.primitives import Op
from flowalg_polars.expressions.integers import long_literal

_FLOAT: Final = pl.Float64()
_TOO_LARGE: Final = 1.5 * 2.0**63
"""A product with a greater rounded value overflows; any other product wraps at most once."""


@frozen
class Linear:
    """The integer ``factor * of + offset``, where ``of`` fits 64 bits and the factor is not zero."""

    of: Expr
    factor: int
    offset: int

    def wrap(self, of: pl.Expr) -> pl.Expr:
        """Computes the integer in 64 bits, which may wrap."""
        product = of if self.factor == 1 else of * long_literal(_wrap(self.factor))
        return product + long_literal(_wrap(self.offset)) if self.offset else product

    def is_below(self, of: pl.Expr, bound: int) -> pl.Expr | None:
        """Returns whether the integer is less than a bound; ``None`` if it never is."""
        if self.factor < 0:
            return evolve(self, factor=-self.factor, offset=-self.offset).is_above(of, -bound)
        return _is_below(self.of, of, -((self.offset - bound) // self.factor))

    def is_above(self, of: pl.Expr, bound: int) -> pl.Expr | None:
        """Returns whether the integer is greater than a bound; ``None`` if it never is."""
        if self.factor < 0:
            return evolve(self, factor=-self.factor, offset=-self.offset).is_below(of, -bound)
        return _is_above(self.of, of, (bound - self.offset) // self.factor)


def _wrap(value: int) -> int:
    """Returns the 64-bit integer that is equal modulo 2**64."""
    return (value - STORED.low) % 2**64 + STORED.low


def _is_below(expr: Expr, column: pl.Expr, bound: int) -> pl.Expr | None:
    values = interval(expr)
    if bound <= values.low:
        return None
    return column < long_literal(bound) if bound <= values.high else pl.lit(value=True)


def _is_above(expr: Expr, column: pl.Expr, bound: int) -> pl.Expr | None:
    values = interval(expr)
    if bound >= values.high:
        return None
    return column > long_literal(bound) if bound >= values.low else pl.lit(value=True)


def either(*conditions: pl.Expr | None) -> pl.Expr | None:
    """Returns whether one of several conditions is true, where ``None`` is never true."""
    operands = [condition for condition in conditions if condition is not None]
    return reduce(or_, operands) if operands else None


def linear(expr: Expr) -> Linear | None:
    """Returns an integer expression as a multiple of one 64-bit integer plus a constant, if it is one."""
    terms = _terms(expr)
    if terms is None or terms.of is None or not terms.factor:
        return None
    return Linear(terms.of, terms.factor, terms.offset)


@frozen
class _Terms:
    """A multiple of an integer, if there is one, plus a constant."""

    of: Expr | None
    factor: int
    offset: int

    def times(self, factor: int) -> _Terms:
        return _Terms(self.of, self.factor * factor, self.offset * factor)

    def plus(self, other: _Terms) -> _Terms | None:
        if self.of is not None and other.of is not None and self.of != other.of:
            return None
        of = other.of if self.of is None else self.of
        return _Terms(of, self.factor + other.factor, self.offset + other.offset)


def _terms(expr: Expr) -> _Terms | None:
    match expr:
        case Constant(value=int() as value):
            return _Terms(None, 0, value)
        case Apply(op=Op.NEGATE, args=(of,)):
            terms = _terms(of)
            return None if terms is None else terms.times(-1)
        case Apply(op=Op.ADD | Op.SUBTRACT | Op.MULTIPLY as op, args=(left, right)):
            combined = _combine(op, _terms(left), _terms(right))
            return _atom(expr) if combined is None else combined
        case _:
            return _atom(expr)


def _atom(expr: Expr) -> _Terms | None:
    return _Terms(expr, 1, 0) if expr.shape == INTEGER and not is_wide(expr) else None


def _combine(op: Op, a: _Terms | None, b: _Terms | None) -> _Terms | None:
    """Returns the terms of a sum, a difference or a product; ``None`` if it is not a multiple of one integer."""
    if a is None or b is None:
        return None
    match op:
        case Op.ADD:
            return a.plus(b)
        case Op.SUBTRACT:
            return a.plus(b.times(-1))
        case _:
            return a.times(b.offset) if b.of is None else b.times(a.offset) if a.of is None else None


def overflows(node: Apply, result: pl.Expr, a: pl.Expr, b: pl.Expr) -> pl.Expr | None:
    """Returns whether an operation on 64-bit integers, of which the result is known modulo 2**64, overflows.

    It is ``None`` for operations for which a few comparisons do not tell.
    """
    match node.op:
        case Op.ADD:
            return (result < a) != (b < 0)
        case Op.SUBTRACT:
            return (result > a) != (b < 0)
        case Op.MULTIPLY:
            rounded = a.cast(_FLOAT) * b.cast(_FLOAT)
            return (rounded.abs() > _TOO_LARGE) | ((rounded < 0) != (result < 0))
        case Op.FLOOR_DIVIDE:
            return (a == STORED.low) & (b == -1)
        case _:
            return None
