"""The result of a lifted function in its normal form (``flowalg.data.values``): no float of it is a negative zero.

All else that a function returns has its normal form already: engines store decimals with a fixed number of digits.
Inside a function a negative zero stays what it is, as in Python.
"""

from __future__ import annotations

from typing import Final

from attrs import evolve

from flowalg.data.shapes import FLOAT, Shape, contains_float, required
from flowalg.lifting.tree.expressions import (
    Apply,
    As,
    Build,
    Choice,
    Constant,
    Each,
    Expr,
    Opaque,
    Param,
    Part,
)
from flowalg.lifting.tree.primitives import Op

_NEVER_NEGATIVE_ZERO: Final = (Op.TO_FLOAT, Op.FLOAT_ABSOLUTE, Op.FLOAT_CANONICAL)


def normal_form(expr: Expr) -> Expr:
    """Returns an expression of the normal form of a function's result. Python gives its own results that form."""
    if isinstance(expr, Opaque) or not _has_float(expr.shape) or _is_read(expr):
        return expr
    match expr:
        case Constant(value=float() as value):
            return evolve(expr, value=value or 0.0)
        case As(of=of):
            return evolve(expr, of=normal_form(of))
        case Choice(then=then, otherwise=otherwise):
            return evolve(expr, then=normal_form(then), otherwise=normal_form(otherwise))
        case Build(parts=parts):
            return evolve(expr, parts=tuple(map(normal_form, parts)))
        case Each(result=result):
            return evolve(expr, result=normal_form(result))
        case Apply(op=Op.LIST, args=args):
            return evolve(expr, args=tuple(map(normal_form, args)))
        case Apply(op=op) if op in _NEVER_NEGATIVE_ZERO:
            return expr
        case _ if expr.shape is not None and required(expr.shape) == FLOAT:
            location = expr.location if isinstance(expr, Apply) else ""
            return Apply(Op.FLOAT_CANONICAL, (expr,), expr.shape, location)
        case _:
            return expr


def _has_float(shape: Shape | None) -> bool:
    return shape is not None and contains_float(shape)


def _is_read(expr: Expr) -> bool:
    """Returns whether an expression is the element or a part of it, which has its normal form."""
    while isinstance(expr, Part | As):
        expr = expr.of
    return isinstance(expr, Param)
