"""Conversions between numbers, and between times and the integers that represent them."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Final

from flowalg.data.shapes import BOOLEAN, DAY, DURATION, FLOAT, INTEGER, TIMESTAMP
from flowalg.lifting.tree.expressions import Apply, Choice, Constant, Expr, Opaque, walk
from flowalg.lifting.tree.failures import can_fail_itself
from flowalg.lifting.tree.intervals import EPOCH_DAY, EXACT, MICROSECOND, interval, point_micros
from flowalg.lifting.tree.primitives import Op

MICROS_PER_SECOND: Final = 10**6
MICROS_PER_DAY: Final = 86_400 * MICROS_PER_SECOND


def int_constant(value: int) -> Constant:
    """Returns an integer constant."""
    return Constant(value, INTEGER)


def is_number(expr: Expr) -> bool:
    """Returns whether an expression is a number; booleans count as integers, as in Python."""
    return expr.shape in (INTEGER, FLOAT, BOOLEAN)


def to_int(expr: Expr) -> Expr:
    """Converts a boolean to an integer; returns an integer unchanged."""
    if expr.shape != BOOLEAN:
        return expr
    if isinstance(expr, Constant):
        return int_constant(int(bool(expr.value)))
    return Choice(expr, int_constant(1), int_constant(0), INTEGER)


def to_float(expr: Expr, location: str) -> Expr:
    """Lifts ``float(expr)`` of a number."""
    if expr.shape == FLOAT:
        return expr
    whole = to_int(expr)
    if not interval(whole).within(EXACT):
        return Opaque(FLOAT, "a float of an integer that may have more than 38 digits", location)
    if isinstance(whole, Constant) and isinstance(whole.value, int):
        return Constant(float(whole.value), FLOAT)
    return Apply(Op.TO_FLOAT, (whole,), FLOAT, location)


def is_in_utc(expr: Expr) -> bool:
    """Returns whether a point in time is certainly in UTC: points of elements are, captured ones may not be."""
    return all(
        node.value.tzinfo is UTC
        for node in walk(expr)
        if isinstance(node, Constant) and isinstance(node.value, datetime)
    )


def micros_of_instant(point: Expr, location: str) -> Expr:
    """Returns the microseconds since the epoch of a point in time."""
    match point:
        case Constant(value=datetime() as value):
            return int_constant(point_micros(value))
        case Apply(op=Op.INSTANT, args=(micros,)) if not can_fail_itself(point):
            return micros
        case _:
            return Apply(Op.MICROS, (point,), INTEGER, location)


def days_of_day(of: Expr, location: str) -> Expr:
    """Returns the days since the epoch of a date."""
    match of:
        case Constant(value=date() as value):
            return int_constant(value.toordinal() - EPOCH_DAY.toordinal())
        case Apply(op=Op.DAY, args=(days,)) if not can_fail_itself(of):
            return days
        case _:
            return Apply(Op.DAYS, (of,), INTEGER, location)


def micros_of_duration(of: Expr, location: str) -> Expr:
    """Returns the microseconds of a duration. It is never stored in between, because a timedelta may exceed 64 bits."""
    match of:
        case Constant(value=timedelta() as value):
            return int_constant(value // MICROSECOND)
        case Apply(op=Op.DURATION, args=(micros,)) if not can_fail_itself(of):
            return micros
        case Choice(condition=condition, then=then, otherwise=otherwise):
            sides = micros_of_duration(then, location), micros_of_duration(otherwise, location)
            return Choice(condition, sides[0], sides[1], INTEGER)
        case _:
            return Apply(Op.DURATION_MICROS, (of,), INTEGER, location)


def make_instant(micros: Expr, location: str) -> Expr:
    """Returns the point in time, in UTC, that is ``micros`` microseconds after the epoch."""
    return Apply(Op.INSTANT, (micros,), TIMESTAMP, location)


def make_day(days: Expr, location: str) -> Expr:
    """Returns the date that is ``days`` days after the epoch."""
    return Apply(Op.DAY, (days,), DAY, location)


def make_duration(micros: Expr, location: str) -> Expr:
    """Returns the timedelta of ``micros`` microseconds."""
    return Apply(Op.DURATION, (micros,), DURATION, location)
