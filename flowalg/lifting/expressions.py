"""The expression tree that a lifted function becomes: small, closed, typed by shapes, and free of any engine.

Its meaning is Python's, exactly. Every node knows its shape; integer nodes also know a bound on their
magnitude, so that an engine can tell where 64 bits may not be enough for an intermediate result.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Final, Literal, TypeAlias, assert_never

from attrs import frozen

from flowalg.shapes import BOOLEAN, FLOAT, RecordOf, Shape, TupleOf

ArithmeticOp: TypeAlias = Literal["+", "-", "*", "/"]
ComparisonOp: TypeAlias = Literal["==", "!=", "<", "<=", ">", ">="]

INTEGER_BOUND: Final = 2**63
"""No 64-bit integer is larger in magnitude."""

EXACT_BOUND: Final = 10**38
"""Intermediate integers below this can be computed exactly by every engine (38 decimal digits)."""


@frozen
class Param:
    """The element that the function is applied to."""

    shape: Shape


@frozen
class Part:
    """A field of a record, or an item of a tuple (``index`` counts either)."""

    of: Expr
    index: int
    name: str
    shape: Shape


@frozen
class Constant:
    """A literal, or a captured immutable scalar."""

    value: bool | int | float | str | datetime
    shape: Shape


@frozen
class Arithmetic:
    """``left op right`` on integers or floats; ``place`` is where it stands, for messages."""

    op: ArithmeticOp
    left: Expr
    right: Expr
    shape: Shape
    place: str


@frozen
class Negative:
    """``-of``."""

    of: Expr
    shape: Shape
    place: str


@frozen
class Comparison:
    """``left op right``, by the total order of integers, text (by code point), days, and instants."""

    op: ComparisonOp
    left: Expr
    right: Expr

    @property
    def shape(self) -> Shape:
        """A boolean."""
        return BOOLEAN


@frozen
class IsNone:
    """``of is None``."""

    of: Expr

    @property
    def shape(self) -> Shape:
        """A boolean."""
        return BOOLEAN


@frozen
class Logical:
    """``left and right`` or ``left or right`` on booleans; the right side is not evaluated in vain."""

    op: Literal["and", "or"]
    left: Expr
    right: Expr

    @property
    def shape(self) -> Shape:
        """A boolean."""
        return BOOLEAN


@frozen
class Not:
    """``not of``."""

    of: Expr

    @property
    def shape(self) -> Shape:
        """A boolean."""
        return BOOLEAN


@frozen
class Choice:
    """``then if condition else otherwise``; only the chosen side is evaluated."""

    condition: Expr
    then: Expr
    otherwise: Expr
    shape: Shape


@frozen
class Build:
    """A record or tuple made of parts."""

    shape: RecordOf | TupleOf
    parts: tuple[Expr, ...]


@frozen
class Opaque:
    """What only Python can compute: why and where, and the shape of the result where it is known."""

    shape: Shape | None
    reason: str
    place: str


Expr: TypeAlias = (
    Param
    | Part
    | Constant
    | Arithmetic
    | Negative
    | Comparison
    | IsNone
    | Logical
    | Not
    | Choice
    | Build
    | Opaque
)


def children(expr: Expr) -> tuple[Expr, ...]:
    """The direct parts of an expression, in order of evaluation."""
    match expr:
        case Param() | Constant() | Opaque():
            return ()
        case Part(of=of) | Negative(of=of) | Not(of=of) | IsNone(of=of):
            return (of,)
        case Arithmetic(left=left, right=right) | Comparison(left=left, right=right):
            return (left, right)
        case Logical(left=left, right=right):
            return (left, right)
        case Choice(condition=condition, then=then, otherwise=otherwise):
            return (condition, then, otherwise)
        case Build(parts=parts):
            return parts
    assert_never(expr)


def walk(expr: Expr) -> Iterator[Expr]:
    """The expression and everything inside it, outermost first."""
    yield expr
    for child in children(expr):
        yield from walk(child)


def opaque_part(expr: Expr) -> Opaque | None:
    """The first thing in the expression that only Python can compute, if there is one."""
    return next((one for one in walk(expr) if isinstance(one, Opaque)), None)


def can_raise(expr: Expr) -> bool:
    """Whether evaluating the expression can fail, by overflow or by a division by zero."""
    return any(
        (
            isinstance(one, Arithmetic)
            and (one.op == "/" or (one.shape != FLOAT and bound(one) > INTEGER_BOUND))
        )
        or (isinstance(one, Negative) and one.shape != FLOAT)
        for one in walk(expr)
    )


def bound(expr: Expr) -> int:
    """A number that the magnitude of an integer expression never exceeds."""
    match expr:
        case Constant(value=int() as value):
            return abs(value)
        case Arithmetic(op="*", left=left, right=right):
            return bound(left) * bound(right)
        case Arithmetic(left=left, right=right):
            return bound(left) + bound(right)
        case Negative(of=of):
            return bound(of)
        case Choice(then=then, otherwise=otherwise):
            return max(bound(then), bound(otherwise))
        case _:
            return INTEGER_BOUND


__all__ = [
    "EXACT_BOUND",
    "INTEGER_BOUND",
    "Arithmetic",
    "ArithmeticOp",
    "Build",
    "Choice",
    "Comparison",
    "ComparisonOp",
    "Constant",
    "Expr",
    "IsNone",
    "Logical",
    "Negative",
    "Not",
    "Opaque",
    "Param",
    "Part",
    "bound",
    "can_raise",
    "children",
    "opaque_part",
    "walk",
]
