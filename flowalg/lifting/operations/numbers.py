"""Arithmetic of numbers, and ``&`` of booleans, as primitive operations; opaque where an engine could not be exact."""

from __future__ import annotations

import ast
import operator as operators
from collections.abc import Callable, Mapping
from typing import Final

from flowalg.data.shapes import BOOLEAN, FLOAT, INTEGER
from flowalg.lifting.operations.comparisons import compare
from flowalg.lifting.operations.conditionals import choose
from flowalg.lifting.operations.conversions import int_constant, to_float, to_int
from flowalg.lifting.python.captured_values import to_constant
from flowalg.lifting.python.syntax_names import symbol_of
from flowalg.lifting.tree.expressions import Apply, Constant, Expr, Opaque, conjunction, disjunction, negation
from flowalg.lifting.tree.failures import can_fail
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
"""Dividends whose quotients fit 38 decimal digits exactly, six of them after the decimal point."""
_OPERATIONS: Final[Mapping[type[ast.operator], Callable[[float, float], object]]] = {
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


def lift_arithmetic(operator: ast.operator, left: Expr, right: Expr, location: str) -> Expr:
    """Lifts ``left operator right`` of two numbers."""
    folded = _fold(operator, left, right)
    if folded is not None:
        return folded
    if FLOAT in (left.shape, right.shape):
        return _float_operation(operator, left, right, location)
    if type(operator) in _ON_BITS and left.shape == right.shape == BOOLEAN:
        return _logic(operator, left, right, location)
    left, right = to_int(left), to_int(right)
    if isinstance(operator, ast.Pow):
        return _power(left, right, location)
    if isinstance(operator, ast.LShift | ast.RShift):
        return _shift(operator, left, right, location)
    if type(operator) in _ON_BITS:
        if interval(left).within(STORED) and interval(right).within(STORED):
            return Apply(_ON_BITS[type(operator)], (left, right), INTEGER, location)
        return Opaque(INTEGER, "a bitwise operation on an integer that may exceed 64 bits", location)
    op = _ON_INTEGERS.get(type(operator))
    if op is None:
        return Opaque(None, f"`{symbol_of(operator)}` of {left.shape} and {right.shape}", location)
    return integer_operation(op, left, right, location)


def _logic(operator: ast.operator, left: Expr, right: Expr, location: str) -> Expr:
    """Lifts ``&``, ``|`` or ``^`` of two booleans, which is a boolean. Python always evaluates both."""
    if isinstance(operator, ast.BitXor):
        return compare(ast.NotEq(), left, right, location)
    if can_fail(right):  # a choice may leave out its second operand
        left, right = right, left
    if can_fail(right):
        return Opaque(BOOLEAN, f"`{symbol_of(operator)}` of two conditions that may fail", location)
    return conjunction(left, right) if isinstance(operator, ast.BitAnd) else disjunction(left, right)


def integer_operation(op: Op, left: Expr, right: Expr, location: str) -> Expr:
    """Lifts an operation on two integers if 38 decimal digits suffice for it."""
    shape = FLOAT if op is Op.DIVIDE else INTEGER
    lifted = Apply(op, (left, right), shape, location)
    if not all(interval(operand).within(EXACT) for operand in (left, right, lifted)):
        return Opaque(shape, "an intermediate result may have more than 38 digits", location)
    if op in (Op.FLOOR_DIVIDE, Op.DIVIDE) and not interval(left).within(_DIVISIBLE):
        return Opaque(shape, "a quotient of an integer that may have more than 32 digits", location)
    if op is Op.DIVIDE and not interval(right).within(STORED):
        return Opaque(shape, "a quotient by an integer that may exceed 64 bits", location)
    return lifted


def _fold(operator: ast.operator, left: Expr, right: Expr) -> Expr | None:
    """Evaluates an operation on two constants; returns ``None`` if it fails or its result is too large."""
    compute = _OPERATIONS.get(type(operator))
    match left, right:
        case Constant(value=int() | float() as a), Constant(value=int() | float() as b) if (
            compute is not None
        ):
            if isinstance(operator, ast.Pow) and abs(b) > _LARGEST_FOLDED:
                return None
            try:
                return to_constant(compute(a, b))
            except ArithmeticError:
                return None
        case _:
            return None


def _float_operation(operator: ast.operator, left: Expr, right: Expr, location: str) -> Expr:
    op = _ON_FLOATS.get(type(operator))
    if op is None:
        return Opaque(None, f"`{symbol_of(operator)}` of {left.shape} and {right.shape}", location)
    return Apply(op, (to_float(left, location), to_float(right, location)), FLOAT, location)


def _power(base: Expr, exponent: Expr, location: str) -> Expr:
    match exponent:
        case Constant(value=int() as times) if 1 <= times <= _LARGEST_POWER:
            lifted = base
            for _ in range(times - 1):
                lifted = integer_operation(Op.MULTIPLY, lifted, base, location)
            return lifted
        case _:
            return Opaque(
                None, f"a power whose exponent is not a constant from 1 to {_LARGEST_POWER}", location
            )


def _shift(operator: ast.operator, left: Expr, right: Expr, location: str) -> Expr:
    match right:
        case Constant(value=int() as by) if 0 <= by < 64:
            op = Op.MULTIPLY if isinstance(operator, ast.LShift) else Op.FLOOR_DIVIDE
            return integer_operation(op, left, int_constant(2**by), location)
        case _:
            return Opaque(INTEGER, "a shift by a number that is not a constant from 0 to 63", location)


def negate(of: Expr, location: str) -> Expr:
    """Lifts ``-of`` of a number."""
    if of.shape == FLOAT:
        if isinstance(of, Constant) and isinstance(of.value, float):
            return Constant(-of.value, FLOAT)
        return Apply(Op.FLOAT_NEGATE, (of,), FLOAT, location)
    whole = to_int(of)
    if isinstance(whole, Constant) and isinstance(whole.value, int):
        return int_constant(-whole.value)
    if not interval(whole).within(EXACT):
        return Opaque(INTEGER, "an integer that may have more than 38 digits", location)
    return Apply(Op.NEGATE, (whole,), INTEGER, location)


def absolute_value(of: Expr, location: str) -> Expr:
    """Lifts ``abs(of)`` of a number."""
    if of.shape == FLOAT:
        return Apply(Op.FLOAT_ABSOLUTE, (of,), FLOAT, location)
    whole = to_int(of)
    is_negative = compare(ast.Lt(), whole, int_constant(0), location)
    return choose(is_negative, negate(whole, location), whole, location)


def round_to_int(op: Op, of: Expr, location: str) -> Expr:
    """Rounds a number to an integer with ``op``; an integer is returned unchanged."""
    if of.shape != FLOAT:
        return to_int(of)
    return Apply(op, (of,), INTEGER, location)


def round_to_digits(of: Expr, digits: int, location: str) -> Expr:
    """Rounds a number to digits after the decimal point; an integer is returned unchanged."""
    if of.shape != FLOAT:
        return to_int(of)
    return Apply(Op.ROUND_DIGITS, (of, int_constant(digits)), FLOAT, location)


def square_root(of: Expr, location: str) -> Expr:
    """Lifts ``math.sqrt`` of a float."""
    return Apply(Op.SQUARE_ROOT, (of,), FLOAT, location)


def is_nan(of: Expr, location: str) -> Expr:
    """Lifts ``math.isnan`` of a float."""
    return Apply(Op.IS_NAN, (of,), BOOLEAN, location)


def is_infinite(of: Expr, location: str) -> Expr:
    """Lifts ``math.isinf`` of a float."""
    return Apply(Op.IS_INFINITE, (of,), BOOLEAN, location)


def is_finite(of: Expr, location: str) -> Expr:
    """Lifts ``math.isfinite`` of a float."""
    return negation(disjunction(is_nan(of, location), is_infinite(of, location)), location)
