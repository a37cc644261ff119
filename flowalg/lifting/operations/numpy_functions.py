"""Functions of NumPy whose results are exact, where ``float``, ``int``, ``bool`` or a condition takes their results.

Without that, such a result is a scalar of NumPy, whose operators are not those of a float: a division by zero is
infinite. The functions never fail; the square root of a negative number is NaN.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from flowalg.data.shapes import FLOAT
from flowalg.lifting.operations.comparisons import compare
from flowalg.lifting.operations.conditionals import choose
from flowalg.lifting.operations.numbers import (
    absolute_value,
    is_finite,
    is_infinite,
    is_nan,
    lift_arithmetic,
    negate,
    round_to_digits,
    square_root,
)
from flowalg.lifting.tree.expressions import Constant, Expr

Function: TypeAlias = Callable[[Expr, str], Expr]


def numpy_function(target: object) -> Function | None:
    """Returns the function that lifts calls of a function of NumPy with one float; ``None`` for any other value."""
    kind = type(target)
    if kind.__module__ != "numpy" or kind.__name__ != "ufunc":
        return None
    return _FUNCTIONS.get(getattr(target, "__name__", ""))


def _is_negative(of: Expr, location: str) -> Expr:
    return compare(ast.Lt(), of, Constant(0.0, FLOAT), location)


def _square_root(of: Expr, location: str) -> Expr:
    root = square_root(of, location)
    return choose(_is_negative(of, location), Constant(math.nan, FLOAT), root, location)


def _square(of: Expr, location: str) -> Expr:
    return lift_arithmetic(ast.Mult(), of, of, location)


def _floor(of: Expr, location: str) -> Expr:
    whole = lift_arithmetic(ast.FloorDiv(), of, Constant(1.0, FLOAT), location)
    return choose(is_infinite(of, location), of, whole, location)


def _ceiling(of: Expr, location: str) -> Expr:
    return negate(_floor(negate(of, location), location), location)


def _truncate(of: Expr, location: str) -> Expr:
    return choose(_is_negative(of, location), _ceiling(of, location), _floor(of, location), location)


def _round(of: Expr, location: str) -> Expr:
    return round_to_digits(of, 0, location)


_FUNCTIONS: Final[Mapping[str, Function]] = {
    "sqrt": _square_root,
    "square": _square,
    "absolute": absolute_value,
    "fabs": absolute_value,
    "negative": negate,
    "floor": _floor,
    "ceil": _ceiling,
    "trunc": _truncate,
    "rint": _round,
    "isnan": is_nan,
    "isinf": is_infinite,
    "isfinite": is_finite,
}
"""By the name that NumPy gives the function; ``abs`` is another name of ``absolute``."""
