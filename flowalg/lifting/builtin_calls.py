"""Calls of built-in functions, functions of ``math``, and constructors of times and decimals."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping
from datetime import date, datetime, timedelta
from decimal import Decimal
from operator import attrgetter, itemgetter
from types import BuiltinFunctionType
from typing import Final, TypeAlias, cast

from flowalg.data.shapes import (
    BOOLEAN,
    DAY,
    DURATION,
    FLOAT,
    INTEGER,
    TEXT,
    TIMESTAMP,
    ListOf,
    RecordOf,
    Shape,
    TupleOf,
)
from flowalg.lifting.operations import records, times
from flowalg.lifting.operations.comparisons import compare
from flowalg.lifting.operations.conditionals import choose, to_bool
from flowalg.lifting.operations.conversions import is_number, to_float
from flowalg.lifting.operations.numbers import (
    absolute_value,
    is_finite,
    is_infinite,
    is_nan,
    round_to_digits,
    round_to_int,
    square_root,
)
from flowalg.lifting.operations.records import is_evolve
from flowalg.lifting.operations.strings import to_string
from flowalg.lifting.python.captured_values import to_constant
from flowalg.lifting.tree.expressions import Apply, Constant, Expr, Match, Opaque
from flowalg.lifting.tree.halves import MOST_DIGITS
from flowalg.lifting.tree.primitives import Op

Arguments: TypeAlias = tuple[Expr, ...]
Builtin: TypeAlias = Callable[[Arguments, str], Expr | None]


def _size(args: Arguments, location: str) -> Expr | None:
    match args:
        case [operand] if operand.shape == TEXT:
            return Apply(Op.LENGTH, args, INTEGER, location)
        case [operand] if isinstance(operand.shape, ListOf):
            return Apply(Op.SIZE, args, INTEGER, location)
        case _:
            return None


def _absolute_value(args: Arguments, location: str) -> Expr | None:
    match args:
        case [operand] if is_number(operand):
            return absolute_value(operand, location)
        case [operand] if operand.shape == DURATION:
            negative = times.negate_duration(operand, location)
            is_negative = compare(ast.Lt(), operand, Constant(timedelta(0), DURATION), location)
            return choose(is_negative, negative, operand, location)
        case _:
            return None


def _extremum(operator: ast.cmpop) -> Builtin:
    def lift(args: Arguments, location: str) -> Expr | None:
        """Returns the first argument unless a later one compares beyond it, as Python does for NaN and -0.0."""
        if len(args) < 2 or len({arg.shape for arg in args}) != 1:
            return None
        best = args[0]
        for arg in args[1:]:
            best = choose(compare(operator, arg, best, location), arg, best, location)
        return best

    return lift


def _to_string(args: Arguments, location: str) -> Expr | None:
    return to_string(args[0], location) if len(args) == 1 else None


def _to_bool(args: Arguments, location: str) -> Expr | None:
    return to_bool(args[0], location) if len(args) == 1 else None


def _to_float(args: Arguments, location: str) -> Expr | None:
    return to_float(args[0], location) if len(args) == 1 and is_number(args[0]) else None


def _round_with(op: Op) -> Builtin:
    def lift(args: Arguments, location: str) -> Expr | None:
        return round_to_int(op, args[0], location) if len(args) == 1 and is_number(args[0]) else None

    return lift


def _round(args: Arguments, location: str) -> Expr | None:
    """Lifts ``round`` to an integer, or to a constant number of digits."""
    match args:
        case [of]:
            return _round_with(Op.ROUND_HALF_EVEN)((of,), location)
        case [of, Constant(value=int() as digits)] if type(digits) is int and 0 <= digits <= MOST_DIGITS:
            return round_to_digits(of, digits, location) if is_number(of) else None
        case _:
            return None


def _apply_to_float(make: Callable[[Expr, str], Expr]) -> Builtin:
    def lift(args: Arguments, location: str) -> Expr | None:
        if len(args) == 1 and is_number(args[0]):
            return make(to_float(args[0], location), location)
        return None

    return lift


_BUILTINS: Final[Mapping[object, Builtin]] = {
    len: _size,
    abs: _absolute_value,
    min: _extremum(ast.Lt()),
    max: _extremum(ast.Gt()),
    str: _to_string,
    bool: _to_bool,
    float: _to_float,
    int: _round_with(Op.TRUNCATE),
    round: _round,
    math.trunc: _round_with(Op.TRUNCATE),
    math.floor: _round_with(Op.FLOOR),
    math.ceil: _round_with(Op.CEILING),
    math.sqrt: _apply_to_float(square_root),
    math.fabs: _apply_to_float(absolute_value),
    math.isnan: _apply_to_float(is_nan),
    math.isinf: _apply_to_float(is_infinite),
    math.isfinite: _apply_to_float(is_finite),
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


def result_shape(target: object) -> Shape | None:
    """Returns the result shape of a built-in function if it does not depend on the arguments."""
    return _RESULTS.get(target) if isinstance(target, type | BuiltinFunctionType) else None


def lift_builtin_call(
    target: object, args: Arguments, named: Mapping[str, Expr], location: str
) -> Expr | None:
    """Lifts a call of a built-in function; returns ``None`` if it cannot be lift."""
    if is_evolve(target) and len(args) == 1:
        return records.evolve(args[0], named, location)
    if isinstance(target, attrgetter | itemgetter) and len(args) == 1 and not named:
        return _get(target, args[0], location)
    if not isinstance(target, type | BuiltinFunctionType):
        return None
    if target in (timedelta, datetime, date, Decimal):
        return _construct(target, args, named, location)
    if target in _BUILTINS and not named:
        unknown = next(
            (arg for arg in args if isinstance(arg, Opaque) and not arg.shape and not isinstance(arg, Match)),
            None,
        )
        if unknown is not None:
            return Opaque(result_shape(target), unknown.reason, unknown.location)
        return _BUILTINS[target](args, location)
    return None


def _get(getter: attrgetter[object] | itemgetter[object], of: Expr, location: str) -> Expr | None:
    """Lifts fields of a record or items of a tuple or list; several are a tuple."""
    names = cast("tuple[object, ...]", getter.__reduce__()[1])
    parts = tuple(_part(of, name, location) for name in names)
    got = tuple(part for part in parts if part is not None)
    if len(got) < len(parts):
        return None
    return got[0] if len(got) == 1 else records.make_tuple(got, location)


def _part(of: Expr, name: object, location: str) -> Expr | None:
    match name:
        case str() if isinstance(of.shape, RecordOf):
            return records.get_field(of, name, location)
        case int() if isinstance(of.shape, TupleOf | ListOf):
            return records.get_item(of, name, location)
        case _:
            return None


def _construct(cls: object, args: Arguments, named: Mapping[str, Expr], location: str) -> Expr | None:
    """Lifts ``timedelta`` of integer expressions. Calls with constant arguments have been evaluated before."""
    if cls is timedelta and any(not isinstance(arg, Constant) for arg in (*args, *named.values())):
        return times.construct_duration(args, named, location)
    return None


def construct_constant(cls: type, args: tuple[object, ...], named: Mapping[str, object]) -> Expr | None:
    """Evaluates a constructor of constants; returns ``None`` if the constructor raises."""
    try:
        return to_constant(cls(*args, **named))
    except (TypeError, ValueError, ArithmeticError):
        return None


FOLDED: Final = (timedelta, datetime, date, Decimal)
"""Immutable classes whose instances are constructed at compile time if all arguments are constants."""
