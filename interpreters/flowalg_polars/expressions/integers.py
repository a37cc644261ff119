"""Integer arithmetic in 64 bits, where it certainly suffices, and in 128 bits.

Polars wraps integers that overflow. Lifting limits intermediate results to 38 decimal digits, which fit 128 bits.
"""

from __future__ import annotations

from typing import Final

import polars as pl
from attrs import frozen

from flowalg.lifting.tree.expressions import Apply
from flowalg.lifting.tree.failures import ZERO_DIVISION, can_fail_itself
from flowalg.lifting.tree.intervals import STORED, Interval
from flowalg.lifting.tree.primitives import Op
from flowalg_polars.expressions.failures import Failures, fail_where

LONG: Final = pl.Int64()
WIDE: Final = pl.Int128()
ARITHMETIC: Final = (Op.ADD, Op.SUBTRACT, Op.MULTIPLY, Op.NEGATE, Op.FLOOR_DIVIDE, Op.MODULO)


@frozen
class Number:
    """A column of integers: of 128 bits if it is wide, otherwise of 64 bits."""

    column: pl.Expr
    is_wide: bool

    def widen(self) -> pl.Expr:
        """Returns the column in 128 bits."""
        return self.column if self.is_wide else self.column.cast(WIDE)

    def narrow(self) -> pl.Expr:
        """Returns the column in 64 bits; null where they do not suffice."""
        return self.column.cast(LONG, strict=False) if self.is_wide else self.column

    def outside(self, bounds: Interval) -> pl.Expr:
        """Returns whether the numbers are outside an interval."""
        dtype = WIDE if self.is_wide else LONG
        low, high = (pl.lit(bound, dtype=dtype) for bound in (bounds.low, bounds.high))
        return (self.column < low) | (self.column > high)


def literal(value: int) -> Number:
    """Returns a constant."""
    is_wide = value not in STORED
    return Number(pl.lit(value, dtype=WIDE if is_wide else LONG), is_wide)


def long_literal(value: int) -> pl.Expr:
    """Returns a constant of 64 bits; null if it does not fit."""
    return pl.lit(value if value in STORED else None, dtype=LONG)


def align(*numbers: Number) -> tuple[pl.Expr, ...]:
    """Returns columns of one type."""
    if any(number.is_wide for number in numbers):
        return tuple(number.widen() for number in numbers)
    return tuple(number.column for number in numbers)


def compute(node: Apply, *args: pl.Expr) -> pl.Expr:
    """Compiles an operation on columns of one type, in that type. It is null where the divisor is zero."""
    match node.op, args:
        case Op.ADD, (a, b):
            return a + b
        case Op.SUBTRACT, (a, b):
            return a - b
        case Op.MULTIPLY, (a, b):
            return a * b
        case Op.NEGATE, (a,):
            return 0 - a
        case Op.FLOOR_DIVIDE, (a, b):
            return a // b
        case Op.MODULO, (a, b):
            return a % b
        case _:
            raise AssertionError(f"{node.op} is not integer arithmetic")


def check_divisor(node: Apply, *args: Number) -> Failures:
    """Returns the failure of a division by zero."""
    return fail_where(args[1].column == 0, node.location, ZERO_DIVISION) if can_fail_itself(node) else ()
