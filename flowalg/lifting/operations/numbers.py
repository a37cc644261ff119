"""Arithmetic of integers and floats, as primitive operations; opaque where an engine could not be exact."""

from __future__ import annotations

import ast
import operator as operators
from collections.abc import Callable, Mapping
from typing import Final

from flowalg.data.shapes import FLOAT, INTEGER
from flowalg.lifting.operations.choices import choose
from flowalg.lifting.operations.comparisons import compared
from flowalg.lifting.operations.conversions import floating, integer, number
from flowalg.lifting.python.captured import constant_of
from flowalg.lifting.tree.expressions import Apply, Constant, Expr, Opaque
from flowalg.lifting.tree.intervals import EXACT, STORED, Interval, interval
from flowalg.lifting.tree.primitives import Op

_ON_INTEGERS: Final[Mapping[type[ast.operator], Op]] = {
    ast.Add: Op.ADD,
    ast.Sub: Op.SUBTRACT,
    ast.Mult: Op.MULTIPLY,
    ast.FloorDiv: Op.FLOOR_DIVIDE,
    ast.Mod: Op.MODULO,
    ast.Div: Op.DIVIDE,
}
_ON_FLOATS: Final[Mapping[type[ast.operator], Op]] = {
    ast.Add: Op.FLOAT_ADD,
    ast.Sub: Op.FLOAT_SUBTRACT,
    ast.Mult: Op.FLOAT_MULTIPLY,
    ast.FloorDiv: Op.FLOAT_FLOOR_DIVIDE,
    ast.Mod: Op.FLOAT_MODULO,
    ast.Div: Op.FLOAT_DIVIDE,
}
_ON_BITS: Final[Mapping[type[ast.operator], Op]] = {
    ast.BitAnd: Op.BIT_AND,
    ast.BitOr: Op.BIT_OR,
    ast.BitXor: Op.BIT_XOR,
}
_DIVISIBLE: Final = Interval(-(10**32) + 1, 10**32 - 1)
"""Integers whose quotients 38 decimal digits hold exactly, six of which are behind the point."""
_COMPUTED: Final[Mapping[type[ast.operator], Callable[[float, float], object]]] = {
    ast.Add: operators.add,
    ast.Sub: operators.sub,
    ast.Mult: operators.mul,
    ast.FloorDiv: operators.floordiv,
    ast.Mod: operators.mod,
    ast.Div: operators.truediv,
    ast.Pow: operators.pow,
}
_LARGEST_FOLDED: Final = 128
_LARGEST_POWER: Final = 8


def arithmetic(operator: ast.operator, left: Expr, right: Expr, place: str) -> Expr:
    """``left operator right`` of two numbers."""
    folded = _folded(operator, left, right)
    if folded is not None:
        return folded
    if FLOAT in (left.shape, right.shape):
        return _of_floats(operator, left, right, place)
    left, right = integer(left), integer(right)
    if isinstance(operator, ast.Pow):
        return _power(left, right, place)
    if isinstance(operator, ast.LShift | ast.RShift):
        return _shifted(operator, left, right, place)
    if type(operator) in _ON_BITS:
        if interval(left).within(STORED) and interval(right).within(STORED):
            return Apply(_ON_BITS[type(operator)], (left, right), INTEGER, place)
        return Opaque(INTEGER, "bits of an integer that may exceed 64 bits", place)
    op = _ON_INTEGERS.get(type(operator))
    if op is None:
        return Opaque(None, f"{type(operator).__name__} of {left.shape} and {right.shape}", place)
    return of_integers(op, left, right, place)


def of_integers(op: Op, left: Expr, right: Expr, place: str) -> Expr:
    """An operation on two integers, if 38 decimal digits are enough for it."""
    shape = FLOAT if op is Op.DIVIDE else INTEGER
    lifted = Apply(op, (left, right), shape, place)
    if not all(interval(one).within(EXACT) for one in (left, right, lifted)):
        return Opaque(shape, "an intermediate result may have more than 38 digits", place)
    if op in (Op.FLOOR_DIVIDE, Op.DIVIDE) and not interval(left).within(_DIVISIBLE):
        return Opaque(shape, "a quotient of what may have more than 32 digits", place)
    if op is Op.DIVIDE and not interval(right).within(STORED):
        return Opaque(shape, "a quotient by an integer that may exceed 64 bits", place)
    return lifted


def _folded(operator: ast.operator, left: Expr, right: Expr) -> Expr | None:
    """An operation on two constants, so that ``60 * 1000`` is one; ``None`` where it fails, or is far too large."""
    compute = _COMPUTED.get(type(operator))
    match left, right:
        case Constant(value=int() | float() as a), Constant(value=int() | float() as b) if (
            compute is not None
        ):
            if isinstance(operator, ast.Pow) and abs(b) > _LARGEST_FOLDED:
                return None
            try:
                return constant_of(compute(a, b))
            except ArithmeticError:
                return None
        case _:
            return None


def _of_floats(operator: ast.operator, left: Expr, right: Expr, place: str) -> Expr:
    op = _ON_FLOATS.get(type(operator))
    if op is None:
        return Opaque(None, f"{type(operator).__name__} of {left.shape} and {right.shape}", place)
    return Apply(op, (floating(left, place), floating(right, place)), FLOAT, place)


def _power(base: Expr, exponent: Expr, place: str) -> Expr:
    match exponent:
        case Constant(value=int() as times) if 1 <= times <= _LARGEST_POWER:
            lifted = base
            for _ in range(times - 1):
                lifted = of_integers(Op.MULTIPLY, lifted, base, place)
            return lifted
        case _:
            return Opaque(None, f"a power that is no constant from 1 to {_LARGEST_POWER}", place)


def _shifted(operator: ast.operator, left: Expr, right: Expr, place: str) -> Expr:
    match right:
        case Constant(value=int() as by) if 0 <= by < 64:
            op = Op.MULTIPLY if isinstance(operator, ast.LShift) else Op.FLOOR_DIVIDE
            return of_integers(op, left, number(2**by), place)
        case _:
            return Opaque(INTEGER, "a shift that is no constant from 0 to 63", place)


def negative(of: Expr, place: str) -> Expr:
    """``-of``, of a number."""
    if of.shape == FLOAT:
        if isinstance(of, Constant) and isinstance(of.value, float):
            return Constant(-of.value, FLOAT)
        return Apply(Op.FLOAT_NEGATE, (of,), FLOAT, place)
    whole = integer(of)
    if isinstance(whole, Constant) and isinstance(whole.value, int):
        return number(-whole.value)
    if not interval(whole).within(EXACT):
        return Opaque(INTEGER, "an integer that may have more than 38 digits", place)
    return Apply(Op.NEGATE, (whole,), INTEGER, place)


def absolute(of: Expr, place: str) -> Expr:
    """``abs(of)``, of a number."""
    if of.shape == FLOAT:
        return Apply(Op.FLOAT_ABSOLUTE, (of,), FLOAT, place)
    whole = integer(of)
    is_negative = compared(ast.Lt(), whole, number(0), place)
    return choose(is_negative, negative(whole, place), whole, place)


def to_integer(op: Op, of: Expr, place: str) -> Expr:
    """A number as an integer, by one of the ways to round; an integer is one already."""
    if of.shape != FLOAT:
        return integer(of)
    return Apply(op, (of,), INTEGER, place)


__all__ = [
    "absolute",
    "arithmetic",
    "negative",
    "of_integers",
    "to_integer",
]
