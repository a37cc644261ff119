"""The bounds of the numbers in an expression, from which an engine knows where 64 bits may not suffice.

Points in time count as microseconds since the epoch, dates as days since it, durations as microseconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache, reduce
from typing import Final

from attrs import frozen

from flowalg.data.shapes import BOOLEAN, DAY, DURATION, INTEGER, TIMESTAMP, Scalar, Shape
from flowalg.lifting.tree.expressions import Apply, As, Choice, Constant, Expr
from flowalg.lifting.tree.primitives import Op

MICROSECOND: Final = timedelta(microseconds=1)
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
EPOCH_DAY: Final = date(1970, 1, 1)


@frozen
class Interval:
    """The integers from ``low`` to ``high``, inclusive."""

    low: int
    high: int

    def __contains__(self, value: int) -> bool:
        return self.low <= value <= self.high

    def within(self, other: Interval) -> bool:
        """Returns whether this interval lies inside the other."""
        return other.low <= self.low and self.high <= other.high

    def hull(self, other: Interval) -> Interval:
        """Returns the smallest interval that contains both."""
        return Interval(min(self.low, other.low), max(self.high, other.high))

    def clamp(self, other: Interval) -> Interval:
        """Returns the intersection with the range that a checked operation admits; that range if they are disjoint."""
        return (
            Interval(max(self.low, other.low), min(self.high, other.high))
            if self.intersects(other)
            else other
        )

    def intersects(self, other: Interval) -> bool:
        """Returns whether the intervals intersect."""
        return self.low <= other.high and other.low <= self.high

    @property
    def magnitude(self) -> int:
        """The greatest absolute value."""
        return max(abs(self.low), abs(self.high))


def point_micros(point: datetime) -> int:
    """Returns the microseconds since the epoch of a timezone-aware datetime, without a limit."""
    return (point - EPOCH) // MICROSECOND


STORED: Final = Interval(-(2**63), 2**63 - 1)
"""The range of 64-bit integers."""

EXACT: Final = Interval(-(10**38) + 1, 10**38 - 1)
"""The range that every engine computes exactly: 38 decimal digits."""

UNLIMITED: Final = Interval(-(2**1024), 2**1024)
"""The range of integers converted from floats."""

INSTANTS: Final = Interval(
    point_micros(datetime.min.replace(tzinfo=UTC)), point_micros(datetime.max.replace(tzinfo=UTC))
)
"""The range of a datetime in UTC, in microseconds."""

DAYS: Final = Interval((date.min - EPOCH_DAY).days, (date.max - EPOCH_DAY).days)
"""The range of a date, in days."""

DURATIONS: Final = Interval(timedelta.min // MICROSECOND, timedelta.max // MICROSECOND)
"""The range of a timedelta, in microseconds, which exceeds 64 bits."""

_OF_SHAPE: Final[Mapping[Scalar, Interval]] = {
    BOOLEAN: Interval(0, 1),
    INTEGER: STORED,
    TIMESTAMP: INSTANTS,
    DAY: DAYS,
    DURATION: STORED,
}
_OF_OPERATION: Final[Mapping[Op, Interval]] = {
    Op.LENGTH: Interval(0, 2**31 - 1),
    Op.SIZE: Interval(0, 2**31 - 1),
    Op.FIND: Interval(-1, 2**31 - 1),
    Op.POSITION: Interval(0, 2**31 - 1),
    Op.YEAR: Interval(1, 9999),
    Op.MONTH: Interval(1, 12),
    Op.DAY_OF_MONTH: Interval(1, 31),
    Op.TRUNCATE: UNLIMITED,
    Op.FLOOR: UNLIMITED,
    Op.CEILING: UNLIMITED,
    Op.ROUND_HALF_EVEN: UNLIMITED,
}


def shape_interval(shape: Shape | None) -> Interval:
    """Returns the bounds of an element's value of the shape."""
    return _OF_SHAPE.get(shape, STORED) if isinstance(shape, Scalar) else STORED


@lru_cache(maxsize=4096)
def interval(expr: Expr) -> Interval:
    """Returns the bounds of an integer expression, or of the integer that represents a time."""
    match expr:
        case Constant(value=value):
            return _constant_interval(value)
        case Choice(then=then, otherwise=otherwise):
            return interval(then).hull(interval(otherwise))
        case Apply(op=op, args=args):
            return _OF_OPERATION[op] if op in _OF_OPERATION else _operation_interval(op, args, expr.shape)
        case As(of=of, shape=shape) if of.shape == shape:
            return interval(of)
        case _:
            return shape_interval(expr.shape)


def _constant_interval(value: object) -> Interval:
    number = 0
    match value:
        case bool() | int():
            number = int(value)
        case datetime():
            number = point_micros(value)
        case date():
            number = (value - EPOCH_DAY).days
        case timedelta():
            number = value // MICROSECOND
        case _:
            pass
    return Interval(number, number)


def _operation_interval(op: Op, args: tuple[Expr, ...], shape: Shape) -> Interval:
    bounds = [interval(arg) for arg in args]
    match op, bounds:
        case Op.ADD, [a, b]:
            return Interval(a.low + b.low, a.high + b.high)
        case Op.SUBTRACT, [a, b]:
            return Interval(a.low - b.high, a.high - b.low)
        case Op.MULTIPLY, [a, b]:
            corners = (a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high)
            return Interval(min(corners), max(corners))
        case Op.NEGATE, [a]:
            return Interval(-a.high, -a.low)
        case Op.FLOOR_DIVIDE, [a, b]:
            if b.low > 0:
                corners = (a.low // b.low, a.low // b.high, a.high // b.low, a.high // b.high)
                return Interval(min(corners), max(corners))
            return Interval(-a.magnitude, a.magnitude)
        case Op.MODULO, [a, b]:
            if b.low > 0:
                return Interval(0, min(a.high, b.high - 1) if a.low >= 0 else b.high - 1)
            return Interval(min(b.low + 1, 0), max(b.high - 1, 0))
        case ((Op.MICROS | Op.DAYS | Op.DURATION_MICROS), [a]):
            return a
        case Op.ENTRY, [_, *of_entries]:
            return reduce(Interval.hull, of_entries[len(of_entries) // 2 :])
        case Op.INSTANT, [a]:
            return a.clamp(INSTANTS)
        case Op.DAY, [a]:
            return a.clamp(DAYS)
        case Op.DURATION, [a]:
            return a.clamp(DURATIONS)
        case _:
            return shape_interval(shape)
