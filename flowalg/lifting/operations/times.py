"""Points in time, dates and durations: all of it is arithmetic on microseconds and days since the epoch.

Elements have their points in time in UTC, so that the fields of one are those of UTC whatever zone an engine's
session is in. A captured point in another zone can be compared and subtracted, but its fields are left to Python.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Final, TypeAlias

from flowalg.data.shapes import DAY, DURATION, INTEGER, TEXT, TIMESTAMP, Shape
from flowalg.lifting.operations.conversions import (
    MICROS_PER_DAY,
    MICROS_PER_SECOND,
    day,
    days_of_day,
    duration,
    in_utc,
    instant,
    integer,
    micros_of_duration,
    micros_of_instant,
    number,
)
from flowalg.lifting.operations.numbers import arithmetic, negative, of_integers
from flowalg.lifting.operations.texts import as_text
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
"""Of each field of the clock: its microseconds, and how many there are in the next larger one."""
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
"""The arguments of ``timedelta``, in its order."""
_THURSDAY: Final = 3
"""The weekday of the epoch."""
_SAFE_DAY: Final = 28
"""Every month has that many days."""

IS_TIME: Final = (TIMESTAMP, DAY, DURATION)


def is_time(expr: Expr) -> bool:
    """Whether an expression is a point in time, a date or a duration."""
    return expr.shape in IS_TIME


def _plus(left: Expr, right: Expr, place: str) -> Expr:
    return of_integers(Op.ADD, left, right, place)


def _minus(left: Expr, right: Expr, place: str) -> Expr:
    return of_integers(Op.SUBTRACT, left, right, place)


def _times(left: Expr, right: int, place: str) -> Expr:
    return of_integers(Op.MULTIPLY, left, number(right), place)


def _divided(left: Expr, right: int, place: str) -> Expr:
    return of_integers(Op.FLOOR_DIVIDE, left, number(right), place)


def _modulo(left: Expr, right: int, place: str) -> Expr:
    return of_integers(Op.MODULO, left, number(right), place)


def arithmetic_of_times(operator: ast.operator, left: Expr, right: Expr, place: str) -> Expr:
    """``left operator right``, where one of them is a time."""
    refused = Opaque(
        _of_result(operator, left.shape, right.shape),
        f"{type(operator).__name__} of {left.shape} and {right.shape}",
        place,
    )
    sign = -1 if isinstance(operator, ast.Sub) else 1
    match operator, left.shape, right.shape:
        case ((ast.Add() | ast.Sub()), shape, other) if shape == TIMESTAMP and other == DURATION:
            return _moved(left, micros_of_duration(right, place), sign, place)
        case ast.Add(), shape, other if shape == DURATION and other == TIMESTAMP:
            return _moved(right, micros_of_duration(left, place), 1, place)
        case ast.Sub(), shape, other if shape == other == TIMESTAMP:
            start, end = micros_of_instant(right, place), micros_of_instant(left, place)
            return duration(_minus(end, start, place), place)
        case ((ast.Add() | ast.Sub()), shape, other) if shape == DAY and other == DURATION:
            return _moved_day(left, right, sign, place)
        case ast.Add(), shape, other if shape == DURATION and other == DAY:
            return _moved_day(right, left, 1, place)
        case ast.Sub(), shape, other if shape == other == DAY:
            between = _minus(days_of_day(left, place), days_of_day(right, place), place)
            return duration(_times(between, MICROS_PER_DAY, place), place)
        case _, shape, other if shape == DURATION and other in (DURATION, INTEGER):
            return _of_durations(operator, left, right, place) or refused
        case ast.Mult(), shape, other if shape == INTEGER and other == DURATION:
            return _of_durations(operator, right, left, place) or refused
        case _:
            return refused


def _of_result(operator: ast.operator, left: Shape | None, right: Shape | None) -> Shape | None:
    if isinstance(operator, ast.Add | ast.Sub) and {left, right} == {TIMESTAMP, DURATION}:
        return TIMESTAMP
    return None


def _moved(point: Expr, micros: Expr, sign: int, place: str) -> Expr:
    if not in_utc(point):
        return Opaque(TIMESTAMP, "arithmetic on a captured datetime that is not in UTC", place)
    start = micros_of_instant(point, place)
    return instant((_plus if sign > 0 else _minus)(start, micros, place), place)


def _moved_day(start: Expr, by: Expr, sign: int, place: str) -> Expr:
    """A date moved by the whole days of a duration, rounded down, as Python does."""
    days = _divided(micros_of_duration(by, place), MICROS_PER_DAY, place)
    return day((_plus if sign > 0 else _minus)(days_of_day(start, place), days, place), place)


def _of_durations(operator: ast.operator, left: Expr, right: Expr, place: str) -> Expr | None:
    """A duration with another, or with an integer."""
    micros = micros_of_duration(left, place)
    other = integer(right) if right.shape == INTEGER else micros_of_duration(right, place)
    both = right.shape == DURATION
    match operator:
        case ast.Add() | ast.Sub() | ast.Mod() if both:
            return duration(arithmetic(operator, micros, other, place), place)
        case ast.Mult() if not both:
            return duration(arithmetic(operator, micros, other, place), place)
        case ast.FloorDiv():
            quotient = arithmetic(operator, micros, other, place)
            return quotient if both else duration(quotient, place)
        case ast.Div() if both:
            return arithmetic(operator, micros, other, place)
        case _:
            return None


def negative_duration(of: Expr, place: str) -> Expr:
    """``-of``, of a duration."""
    return duration(negative(micros_of_duration(of, place), place), place)


def attribute(of: Expr, name: str, place: str) -> Expr:
    """A field of a time."""
    lifted = _attribute(of, name, place)
    return Opaque(None, f"the attribute {name} of a {of.shape}", place) if lifted is None else lifted


def _attribute(of: Expr, name: str, place: str) -> Expr | None:
    if of.shape == DURATION:
        return _duration_field(micros_of_duration(of, place), name, place)
    if not in_utc(of):
        return Opaque(INTEGER, "a field of a captured datetime that is not in UTC", place)
    if name in _CALENDAR:
        return Apply(_CALENDAR[name], (_date(of, place),), INTEGER, place)
    if of.shape == TIMESTAMP and name in _CLOCK:
        return _clock_field(micros_of_instant(of, place), name, place)
    return None


def _clock_field(micros: Expr, name: str, place: str) -> Expr:
    unit, count = _CLOCK[name]
    in_next = _modulo(micros, unit * count, place)
    return in_next if unit == 1 else _divided(in_next, unit, place)


def _duration_field(micros: Expr, name: str, place: str) -> Expr | None:
    match name:
        case "days":
            return _divided(micros, MICROS_PER_DAY, place)
        case "seconds":
            return _divided(_modulo(micros, MICROS_PER_DAY, place), MICROS_PER_SECOND, place)
        case "microseconds":
            return _modulo(micros, MICROS_PER_SECOND, place)
        case _:
            return None


def _date(of: Expr, place: str) -> Expr:
    """A date as it stands; of a point in time, its date in UTC."""
    if of.shape == DAY:
        return of
    return day(_divided(micros_of_instant(of, place), MICROS_PER_DAY, place), place)


def method(name: str, of: Expr, args: tuple[Expr, ...], named: Named, place: str) -> Expr:
    """A method of a time."""
    lifted = _method(name, of, named, place) if not args else None
    if lifted is None:
        shape = {"isoformat": TEXT, "strftime": TEXT, "replace": of.shape, "date": DAY}.get(name)
        return Opaque(shape, f"the method {name} of a {of.shape}", place)
    return lifted


def _method(name: str, of: Expr, named: Named, place: str) -> Expr | None:
    if of.shape == DURATION:
        seconds = number(MICROS_PER_SECOND)
        micros = micros_of_duration(of, place)
        return arithmetic(ast.Div(), micros, seconds, place) if (name, *named) == ("total_seconds",) else None
    if not in_utc(of):
        return None
    if name == "replace":
        return _replaced(of, named, place)
    if named:
        return None
    days = days_of_day(_date(of, place), place)
    match name:
        case "weekday":
            return _modulo(_plus(days, number(_THURSDAY), place), 7, place)
        case "isoweekday":
            weekday = _modulo(_plus(days, number(_THURSDAY), place), 7, place)
            return _plus(weekday, number(1), place)
        case "toordinal":
            return _plus(days, number(EPOCH_DAY.toordinal()), place)
        case "date" if of.shape == TIMESTAMP:
            return _date(of, place)
        case "timestamp" if of.shape == TIMESTAMP:
            micros = micros_of_instant(of, place)
            return arithmetic(ast.Div(), micros, number(MICROS_PER_SECOND), place)
        case "isoformat" if of.shape == DAY:
            return as_text(of, place)
        case _:
            return None


def _replaced(of: Expr, named: Named, place: str) -> Expr | None:
    """``replace`` with constants: fields of the clock, and a day that every month has."""
    values: dict[str, int] = {}
    for name, one in named.items():
        if not isinstance(one, Constant) or type(one.value) is not int:
            return None
        values[name] = one.value
    start = days_of_day(_date(of, place), place)
    days = start
    if "day" in values:
        wanted = values.pop("day")
        if not 1 <= wanted <= _SAFE_DAY:
            return None
        difference = _minus(
            number(wanted), Apply(Op.DAY_OF_MONTH, (_date(of, place),), INTEGER, place), place
        )
        days = _plus(start, difference, place)
    if of.shape == DAY:
        return None if values else day(days, place)
    if any(name not in _CLOCK or not 0 <= value < _CLOCK[name][1] for name, value in values.items()):
        return None
    micros = _times(days, MICROS_PER_DAY, place)
    for name, (unit, _) in _CLOCK.items():
        given = values.get(name)
        clock = (
            number(given) if given is not None else _clock_field(micros_of_instant(of, place), name, place)
        )
        micros = _plus(micros, _times(clock, unit, place), place)
    return instant(micros, place)


def made_duration(args: tuple[Expr, ...], named: Named, place: str) -> Expr:
    """``timedelta(...)`` of integers."""
    given = {**dict(zip(_UNITS, args, strict=False)), **named}
    if len(args) > len(_UNITS) or not given or len(given) != len(args) + len(named):
        return Opaque(DURATION, "a timedelta with arguments that it does not take", place)
    micros: Expr = number(0)
    for name, one in given.items():
        if name not in _UNITS or one.shape != INTEGER:
            return Opaque(DURATION, f"a timedelta made of a {one.shape}", place)
        micros = _plus(micros, _times(one, _UNITS[name], place), place)
    return duration(micros, place)


__all__ = [
    "arithmetic_of_times",
    "attribute",
    "is_time",
    "made_duration",
    "method",
    "negative_duration",
]
