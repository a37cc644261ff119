"""Calls of what Python itself brings: built-in functions, ``math``, constructors of times."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping
from datetime import date, datetime, timedelta
from decimal import Decimal
from types import BuiltinFunctionType
from typing import Final, TypeAlias

import attrs

from flowalg.data.shapes import BOOLEAN, DAY, DURATION, FLOAT, INTEGER, TEXT, TIMESTAMP, ListOf, Shape
from flowalg.lifting.operations import records, times
from flowalg.lifting.operations.choices import choose, truth
from flowalg.lifting.operations.comparisons import compared
from flowalg.lifting.operations.conversions import floating, is_number
from flowalg.lifting.operations.numbers import absolute, to_integer
from flowalg.lifting.operations.texts import as_text
from flowalg.lifting.python.captured import constant_of
from flowalg.lifting.tree.expressions import Apply, Constant, Expr, Opaque, either, negation
from flowalg.lifting.tree.primitives import Op

Arguments: TypeAlias = tuple[Expr, ...]
Builtin: TypeAlias = Callable[[Arguments, str], Expr | None]


def _size(args: Arguments, place: str) -> Expr | None:
    match args:
        case [one] if one.shape == TEXT:
            return Apply(Op.LENGTH, args, INTEGER, place)
        case [one] if isinstance(one.shape, ListOf):
            return Apply(Op.SIZE, args, INTEGER, place)
        case _:
            return None


def _absolute(args: Arguments, place: str) -> Expr | None:
    match args:
        case [one] if is_number(one):
            return absolute(one, place)
        case [one] if one.shape == DURATION:
            negative = times.negative_duration(one, place)
            is_negative = compared(ast.Lt(), one, Constant(timedelta(0), DURATION), place)
            return choose(is_negative, negative, one, place)
        case _:
            return None


def _extreme(operator: ast.cmpop) -> Builtin:
    def lifted(args: Arguments, place: str) -> Expr | None:
        """The first argument, unless a later one is beyond it: so it is in Python, NaN and -0.0 included."""
        if len(args) < 2 or len({arg.shape for arg in args}) != 1:
            return None
        best = args[0]
        for one in args[1:]:
            best = choose(compared(operator, one, best, place), one, best, place)
        return best

    return lifted


def _text(args: Arguments, place: str) -> Expr | None:
    return as_text(args[0], place) if len(args) == 1 else None


def _truth(args: Arguments, place: str) -> Expr | None:
    return truth(args[0], place) if len(args) == 1 else None


def _floating(args: Arguments, place: str) -> Expr | None:
    return floating(args[0], place) if len(args) == 1 and is_number(args[0]) else None


def _rounded(op: Op) -> Builtin:
    def lifted(args: Arguments, place: str) -> Expr | None:
        return to_integer(op, args[0], place) if len(args) == 1 and is_number(args[0]) else None

    return lifted


def _on_float(make: Callable[[Expr, str], Expr]) -> Builtin:
    def lifted(args: Arguments, place: str) -> Expr | None:
        if len(args) == 1 and is_number(args[0]):
            return make(floating(args[0], place), place)
        return None

    return lifted


def _is_nan(of: Expr, place: str) -> Expr:
    return Apply(Op.IS_NAN, (of,), BOOLEAN, place)


def _is_infinite(of: Expr, place: str) -> Expr:
    return Apply(Op.IS_INFINITE, (of,), BOOLEAN, place)


def _is_finite(of: Expr, place: str) -> Expr:
    return negation(either(_is_nan(of, place), _is_infinite(of, place)), place)


def _square_root(of: Expr, place: str) -> Expr:
    return Apply(Op.SQUARE_ROOT, (of,), FLOAT, place)


def _magnitude(of: Expr, place: str) -> Expr:
    return Apply(Op.FLOAT_ABSOLUTE, (of,), FLOAT, place)


_BUILTINS: Final[Mapping[object, Builtin]] = {
    len: _size,
    abs: _absolute,
    min: _extreme(ast.Lt()),
    max: _extreme(ast.Gt()),
    str: _text,
    bool: _truth,
    float: _floating,
    int: _rounded(Op.TRUNCATE),
    round: _rounded(Op.ROUND_HALF_EVEN),
    math.trunc: _rounded(Op.TRUNCATE),
    math.floor: _rounded(Op.FLOOR),
    math.ceil: _rounded(Op.CEILING),
    math.sqrt: _on_float(_square_root),
    math.fabs: _on_float(_magnitude),
    math.isnan: _on_float(_is_nan),
    math.isinf: _on_float(_is_infinite),
    math.isfinite: _on_float(_is_finite),
}
_RESULTS: Final[Mapping[object, Shape]] = {
    len: INTEGER,
    str: TEXT,
    int: INTEGER,
    float: FLOAT,
    bool: BOOLEAN,
    math.sqrt: FLOAT,
    datetime: TIMESTAMP,
    date: DAY,
    timedelta: DURATION,
}


def known_result(target: object) -> Shape | None:
    """The shape of what a built-in function gives, whatever its arguments."""
    return _RESULTS.get(target) if isinstance(target, type | BuiltinFunctionType) else None


def builtin_call(target: object, args: Arguments, named: Mapping[str, Expr], place: str) -> Expr | None:
    """A call of something that Python brings; ``None`` if it is not one that is lifted."""
    if target is attrs.evolve and len(args) == 1:
        return records.evolve(args[0], named, place)
    if not isinstance(target, type | BuiltinFunctionType):
        return None
    if target in (timedelta, datetime, date, Decimal):
        return _made(target, args, named, place)
    if target in _BUILTINS and not named:
        unknown = next((arg for arg in args if isinstance(arg, Opaque) and arg.shape is None), None)
        if unknown is not None:
            return Opaque(known_result(target), unknown.reason, unknown.place)
        return _BUILTINS[target](args, place)
    return None


def _made(cls: object, args: Arguments, named: Mapping[str, Expr], place: str) -> Expr | None:
    """A constant, if all arguments are; a duration also of integers that are none."""
    if cls is timedelta and any(not isinstance(arg, Constant) for arg in (*args, *named.values())):
        return times.made_duration(args, named, place)
    return None


def folded(cls: type, args: tuple[object, ...], named: Mapping[str, object]) -> Expr | None:
    """A time or decimal made of constants; ``None`` if Python refuses them."""
    try:
        return constant_of(cls(*args, **named))
    except (TypeError, ValueError, ArithmeticError):
        return None


FOLDED: Final = (timedelta, datetime, date, Decimal)
"""Immutable classes whose instances are made when the pipeline is compiled, if all arguments are known then."""

__all__ = ["FOLDED", "builtin_call", "folded", "known_result"]
