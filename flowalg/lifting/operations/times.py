"""Points in time, dates and durations, lifted to arithmetic on microseconds and days since the epoch.

Datetimes of elements are in UTC, so their fields are UTC fields, whatever the time zone of an engine's session. A
captured datetime in another zone can be compared and subtracted, but its fields are left to Python.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Final, TypeAlias

from flowalg.data.shapes import DAY, DURATION, INTEGER, TEXT, TIMESTAMP, Shape
from flowalg.lifting.operations.conversions import (
    MICROS_PER_DAY,
    MICROS_PER_SECOND,
    days_of_day,
    int_constant,
    is_in_utc,
    make_day,
    make_duration,
    make_instant,
    micros_of_duration,
    micros_of_instant,
    to_int,
)
from flowalg.lifting.operations.numbers import integer_operation, lift_arithmetic, negate
from flowalg.lifting.operations.strings import to_string
from flowalg.lifting.python.syntax_names import symbol_of
from flowalg.lifting.tree.expressions import Apply, Constant, Expr, Opaque
from flowalg.lifting.tree.intervals import EPOCH_DAY
from flowalg.lifting.tree.primitives import Op

Named: TypeAlias = Mapping[str, Expr]

_CLOCK: Final[Mapping[str, tuple[int, int]]] = {
    "hour": (3600 * MICROS_PER_SECOND, 24),
    "minute": (60 * MICROS_PER_SECOND, 60),
    "second": (MICROS_PER_SECOND, 60),
    "microsecond": (1, MICROS_PER_SECOND),
}
"""For each clock field: its length in microseconds, and how many of it make up the next larger unit."""
_CALENDAR: Final[Mapping[str, Op]] = {"year": Op.YEAR, "month": Op.MONTH, "day": Op.DAY_OF_MONTH}
_UNITS: Final[Mapping[str, int]] = {
    "days": MICROS_PER_DAY,
    "seconds": MICROS_PER_SECOND,
    "microseconds": 1,
    "milliseconds": 1000,
    "minutes": 60 * MICROS_PER_SECOND,
    "hours": 3600 * MICROS_PER_SECOND,
    "weeks": 7 * MICROS_PER_DAY,
}
"""The parameters of ``timedelta`` in order, with their microseconds."""
_THURSDAY: Final = 3
"""The weekday of 1970-01-01."""
_SAFE_DAY: Final = 28
"""The last day of the month that every month has."""

IS_TIME: Final = (TIMESTAMP, DAY, DURATION)


def is_time(expr: Expr) -> bool:
    """Returns whether an expression is a point in time, a date or a duration."""
    return expr.shape in IS_TIME


def _add(left: Expr, right: Expr, location: str) -> Expr:
    return integer_operation(Op.ADD, left, right, location)


def _subtract(left: Expr, right: Expr, location: str) -> Expr:
    return integer_operation(Op.SUBTRACT, left, right, location)


def _multiply(left: Expr, right: int, location: str) -> Expr:
    return integer_operation(Op.MULTIPLY, left, int_constant(right), location)


def _floor_divide(left: Expr, right: int, location: str) -> Expr:
    return integer_operation(Op.FLOOR_DIVIDE, left, int_constant(right), location)


def _modulo(left: Expr, right: int, location: str) -> Expr:
    return integer_operation(Op.MODULO, left, int_constant(right), location)


def time_arithmetic(operator: ast.operator, left: Expr, right: Expr, location: str) -> Expr:
    """Lifts ``left operator right``, where at least one operand is a time."""
    refused = Opaque(
        _result_shape(operator, left.shape, right.shape),
        f"`{symbol_of(operator)}` of {left.shape} and {right.shape}",
        location,
    )
    sign = -1 if isinstance(operator, ast.Sub) else 1
    match operator, left.shape, right.shape:
        case ((ast.Add() | ast.Sub()), shape, other) if shape == TIMESTAMP and other == DURATION:
            return _shift_point(left, micros_of_duration(right, location), sign, location)
        case ast.Add(), shape, other if shape == DURATION and other == TIMESTAMP:
            return _shift_point(right, micros_of_duration(left, location), 1, location)
        case ast.Sub(), shape, other if shape == other == TIMESTAMP:
            start, end = micros_of_instant(right, location), micros_of_instant(left, location)
            return make_duration(_subtract(end, start, location), location)
        case ((ast.Add() | ast.Sub()), shape, other) if shape == DAY and other == DURATION:
            return _shift_day(left, right, sign, location)
        case ast.Add(), shape, other if shape == DURATION and other == DAY:
            return _shift_day(right, left, 1, location)
        case ast.Sub(), shape, other if shape == other == DAY:
            between = _subtract(days_of_day(left, location), days_of_day(right, location), location)
            return make_duration(_multiply(between, MICROS_PER_DAY, location), location)
        case _, shape, other if shape == DURATION and other in (DURATION, INTEGER):
            return _duration_arithmetic(operator, left, right, location) or refused
        case ast.Mult(), shape, other if shape == INTEGER and other == DURATION:
            return _duration_arithmetic(operator, right, left, location) or refused
        case _:
            return refused


def _result_shape(operator: ast.operator, left: Shape | None, right: Shape | None) -> Shape | None:
    if isinstance(operator, ast.Add | ast.Sub) and {left, right} == {TIMESTAMP, DURATION}:
        return TIMESTAMP
    return None


def _shift_point(point: Expr, micros: Expr, sign: int, location: str) -> Expr:
    if not is_in_utc(point):
        return Opaque(TIMESTAMP, "arithmetic on a captured datetime that is not in UTC", location)
    start = micros_of_instant(point, location)
    return make_instant((_add if sign > 0 else _subtract)(start, micros, location), location)


def _shift_day(start: Expr, by: Expr, sign: int, location: str) -> Expr:
    """Adds the whole days of a duration, rounded down, to a date, as Python does."""
    days = _floor_divide(micros_of_duration(by, location), MICROS_PER_DAY, location)
    return make_day((_add if sign > 0 else _subtract)(days_of_day(start, location), days, location), location)


def _duration_arithmetic(operator: ast.operator, left: Expr, right: Expr, location: str) -> Expr | None:
    """Lifts an operation on a duration and another duration or an integer."""
    micros = micros_of_duration(left, location)
    other = to_int(right) if right.shape == INTEGER else micros_of_duration(right, location)
    both = right.shape == DURATION
    match operator:
        case ast.Add() | ast.Sub() | ast.Mod() if both:
            return make_duration(lift_arithmetic(operator, micros, other, location), location)
        case ast.Mult() if not both:
            return make_duration(lift_arithmetic(operator, micros, other, location), location)
        case ast.FloorDiv():
            quotient = lift_arithmetic(operator, micros, other, location)
            return quotient if both else make_duration(quotient, location)
        case ast.Div() if both:
            return lift_arithmetic(operator, micros, other, location)
        case _:
            return None


def negate_duration(of: Expr, location: str) -> Expr:
    """Lifts ``-of`` of a duration."""
    return make_duration(negate(micros_of_duration(of, location), location), location)


def lift_attribute(of: Expr, name: str, location: str) -> Expr:
    """Lifts a field of a time."""
    lifted = _attribute(of, name, location)
    return Opaque(None, f"the attribute {name} of {of.shape}", location) if lifted is None else lifted


def _attribute(of: Expr, name: str, location: str) -> Expr | None:
    if of.shape == DURATION:
        return _duration_field(micros_of_duration(of, location), name, location)
    if not is_in_utc(of):
        return Opaque(INTEGER, "a field of a captured datetime that is not in UTC", location)
    if name in _CALENDAR:
        return Apply(_CALENDAR[name], (_date(of, location),), INTEGER, location)
    if of.shape == TIMESTAMP and name in _CLOCK:
        return _clock_field(micros_of_instant(of, location), name, location)
    return None


def _clock_field(micros: Expr, name: str, location: str) -> Expr:
    unit, count = _CLOCK[name]
    in_next = _modulo(micros, unit * count, location)
    return in_next if unit == 1 else _floor_divide(in_next, unit, location)


def _duration_field(micros: Expr, name: str, location: str) -> Expr | None:
    match name:
        case "days":
            return _floor_divide(micros, MICROS_PER_DAY, location)
        case "seconds":
            return _floor_divide(_modulo(micros, MICROS_PER_DAY, location), MICROS_PER_SECOND, location)
        case "microseconds":
            return _modulo(micros, MICROS_PER_SECOND, location)
        case _:
            return None


def _date(of: Expr, location: str) -> Expr:
    """Returns a date unchanged, and the UTC date of a point in time."""
    if of.shape == DAY:
        return of
    return make_day(_floor_divide(micros_of_instant(of, location), MICROS_PER_DAY, location), location)


def lift_method(name: str, of: Expr, args: tuple[Expr, ...], named: Named, location: str) -> Expr:
    """Lifts a method call on a time."""
    lifted = _method(name, of, named, location) if not args else None
    if lifted is None:
        shape = {"isoformat": TEXT, "strftime": TEXT, "replace": of.shape, "date": DAY}.get(name)
        return Opaque(shape, f"the method {name} of {of.shape}", location)
    return lifted


def _method(name: str, of: Expr, named: Named, location: str) -> Expr | None:
    if of.shape == DURATION:
        seconds = int_constant(MICROS_PER_SECOND)
        micros = micros_of_duration(of, location)
        return (
            lift_arithmetic(ast.Div(), micros, seconds, location)
            if (name, *named) == ("total_seconds",)
            else None
        )
    if not is_in_utc(of):
        return None
    if name == "replace":
        return _replace(of, named, location)
    if named:
        return None
    days = days_of_day(_date(of, location), location)
    match name:
        case "weekday":
            return _modulo(_add(days, int_constant(_THURSDAY), location), 7, location)
        case "isoweekday":
            weekday = _modulo(_add(days, int_constant(_THURSDAY), location), 7, location)
            return _add(weekday, int_constant(1), location)
        case "toordinal":
            return _add(days, int_constant(EPOCH_DAY.toordinal()), location)
        case "date" if of.shape == TIMESTAMP:
            return _date(of, location)
        case "timestamp" if of.shape == TIMESTAMP:
            micros = micros_of_instant(of, location)
            return lift_arithmetic(ast.Div(), micros, int_constant(MICROS_PER_SECOND), location)
        case "isoformat" if of.shape == DAY:
            return to_string(of, location)
        case _:
            return None


def _replace(of: Expr, named: Named, location: str) -> Expr | None:
    """Lifts ``replace`` with constant clock fields, or with a day that every month has."""
    values: dict[str, int] = {}
    for name, value in named.items():
        if not isinstance(value, Constant) or type(value.value) is not int:
            return None
        values[name] = value.value
    start = days_of_day(_date(of, location), location)
    days = start
    if "day" in values:
        wanted = values.pop("day")
        if not 1 <= wanted <= _SAFE_DAY:
            return None
        difference = _subtract(
            int_constant(wanted), Apply(Op.DAY_OF_MONTH, (_date(of, location),), INTEGER, location), location
        )
        days = _add(start, difference, location)
    if of.shape == DAY:
        return None if values else make_day(days, location)
    if any(name not in _CLOCK or not 0 <= value < _CLOCK[name][1] for name, value in values.items()):
        return None
    micros = _multiply(days, MICROS_PER_DAY, location)
    for name, (unit, _) in _CLOCK.items():
        replacement = values.get(name)
        clock = (
            int_constant(replacement)
            if replacement is not None
            else _clock_field(micros_of_instant(of, location), name, location)
        )
        micros = _add(micros, _multiply(clock, unit, location), location)
    return make_instant(micros, location)


def construct_duration(args: tuple[Expr, ...], named: Named, location: str) -> Expr:
    """Lifts ``timedelta(...)`` of integers."""
    arguments = {**dict(zip(_UNITS, args, strict=False)), **named}
    if len(args) > len(_UNITS) or not arguments or len(arguments) != len(args) + len(named):
        return Opaque(DURATION, "a timedelta with invalid arguments", location)
    micros: Expr = int_constant(0)
    for name, value in arguments.items():
        if name not in _UNITS or value.shape != INTEGER:
            return Opaque(DURATION, f"a timedelta of {value.shape}", location)
        micros = _add(micros, _multiply(value, _UNITS[name], location), location)
    return make_duration(micros, location)
