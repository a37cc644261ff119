"""Between the shapes of numbers: booleans as integers, integers as floats, and times as the numbers behind them."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Final

from flowalg.data.shapes import BOOLEAN, DAY, DURATION, FLOAT, INTEGER, TIMESTAMP
from flowalg.lifting.tree.expressions import Apply, Choice, Constant, Expr, Opaque, walk
from flowalg.lifting.tree.failures import fails
from flowalg.lifting.tree.intervals import EPOCH_DAY, EXACT, MICROSECOND, interval, point_micros
from flowalg.lifting.tree.primitives import Op

MICROS_PER_SECOND: Final = 10**6
MICROS_PER_DAY: Final = 86_400 * MICROS_PER_SECOND


def number(value: int) -> Constant:
    """An integer constant."""
    return Constant(value, INTEGER)


def is_number(expr: Expr) -> bool:
    """Whether an expression is a number; booleans count as integers, as in Python."""
    return expr.shape in (INTEGER, FLOAT, BOOLEAN)


def integer(expr: Expr) -> Expr:
    """A boolean as the integer that it is; an integer as it stands."""
    if expr.shape != BOOLEAN:
        return expr
    if isinstance(expr, Constant):
        return number(int(bool(expr.value)))
    return Choice(expr, number(1), number(0), INTEGER)


def floating(expr: Expr, place: str) -> Expr:
    """``float(expr)``, of a number."""
    if expr.shape == FLOAT:
        return expr
    whole = integer(expr)
    if not interval(whole).within(EXACT):
        return Opaque(FLOAT, "a float made of an integer that may have more than 38 digits", place)
    if isinstance(whole, Constant) and isinstance(whole.value, int):
        return Constant(float(whole.value), FLOAT)
    return Apply(Op.TO_FLOAT, (whole,), FLOAT, place)


def in_utc(expr: Expr) -> bool:
    """Whether a point in time is surely in UTC: those of elements are, captured ones may not be."""
    return all(
        node.value.tzinfo is UTC
        for node in walk(expr)
        if isinstance(node, Constant) and isinstance(node.value, datetime)
    )


def micros_of_instant(point: Expr, place: str) -> Expr:
    """The microseconds since the epoch of a point in time."""
    match point:
        case Constant(value=datetime() as value):
            return number(point_micros(value))
        case Apply(op=Op.INSTANT, args=(micros,)) if not fails(point):
            return micros
        case _:
            return Apply(Op.MICROS, (point,), INTEGER, place)


def days_of_day(day: Expr, place: str) -> Expr:
    """The days since the epoch of a date."""
    match day:
        case Constant(value=date() as value):
            return number(value.toordinal() - EPOCH_DAY.toordinal())
        case Apply(op=Op.DAY, args=(days,)) if not fails(day):
            return days
        case _:
            return Apply(Op.DAYS, (day,), INTEGER, place)


def micros_of_duration(duration: Expr, place: str) -> Expr:
    """The microseconds of a duration, which is never stored on the way: a timedelta may exceed 64 bits."""
    match duration:
        case Constant(value=timedelta() as value):
            return number(value // MICROSECOND)
        case Apply(op=Op.DURATION, args=(micros,)) if not fails(duration):
            return micros
        case Choice(condition=condition, then=then, otherwise=otherwise):
            sides = micros_of_duration(then, place), micros_of_duration(otherwise, place)
            return Choice(condition, sides[0], sides[1], INTEGER)
        case _:
            return Apply(Op.DURATION_MICROS, (duration,), INTEGER, place)


def instant(micros: Expr, place: str) -> Expr:
    """The point in time, in UTC, so many microseconds after the epoch."""
    return Apply(Op.INSTANT, (micros,), TIMESTAMP, place)


def day(days: Expr, place: str) -> Expr:
    """The date so many days after the epoch."""
    return Apply(Op.DAY, (days,), DAY, place)


def duration(micros: Expr, place: str) -> Expr:
    """The timedelta of so many microseconds."""
    return Apply(Op.DURATION, (micros,), DURATION, place)


__all__ = [
    "MICROS_PER_DAY",
    "MICROS_PER_SECOND",
    "day",
    "days_of_day",
    "duration",
    "floating",
    "in_utc",
    "instant",
    "integer",
    "is_number",
    "micros_of_duration",
    "micros_of_instant",
    "number",
]
