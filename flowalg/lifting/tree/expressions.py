"""The expression tree that a lifted function becomes: small, closed, typed by shapes, and free of any engine.

Its meaning is Python's, exactly. Integers are unbounded inside an expression, and must fit 64 bits where they leave it.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from typing import Final, TypeAlias, assert_never

from attrs import evolve, field, frozen

from flowalg.data.shapes import BOOLEAN, RecordOf, Shape, TupleOf
from flowalg.lifting.tree.primitives import Op

Scalar: TypeAlias = bool | int | float | str | datetime | date | timedelta | Decimal | Enum | None
"""A value that an expression can hold as a constant."""


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
    """A literal, or a captured immutable scalar. The shape of ``None`` is known where another branch has one.

    Constants are equal when they read the same: 0.0 is not -0.0, and NaN is NaN.
    """

    value: Scalar = field(eq=repr)
    shape: Shape | None


@frozen(cache_hash=True)
class Apply:
    """A primitive operation on its arguments; ``place`` is where it stands, for messages."""

    op: Op
    args: tuple[Expr, ...]
    shape: Shape
    place: str = field(eq=False)


@frozen(cache_hash=True)
class Choice:
    """``then if condition else otherwise``; only the chosen side is evaluated. ``and`` and ``or`` are choices too."""

    condition: Expr
    then: Expr
    otherwise: Expr
    shape: Shape


@frozen
class As:
    """The same value seen with another shape: an optional one shown not to be ``None``, or the other way round."""

    of: Expr
    shape: Shape


@frozen(cache_hash=True)
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


Expr: TypeAlias = Param | Part | Constant | Apply | Choice | As | Build | Opaque

TRUE: Final = Constant(True, BOOLEAN)
FALSE: Final = Constant(False, BOOLEAN)


def both(left: Expr, right: Expr) -> Expr:
    """``left and right`` of two booleans."""
    return Choice(left, right, FALSE, BOOLEAN)


def either(left: Expr, right: Expr) -> Expr:
    """``left or right`` of two booleans."""
    return Choice(left, TRUE, right, BOOLEAN)


def negation(of: Expr, place: str) -> Expr:
    """``not of``, of a boolean."""
    match of:
        case Constant(value=bool() as value):
            return FALSE if value else TRUE
        case Apply(op=Op.NOT, args=(inner,)):
            return inner
        case _:
            return Apply(Op.NOT, (of,), BOOLEAN, place)


def children(expr: Expr) -> tuple[Expr, ...]:
    """The direct parts of an expression, in order of evaluation."""
    match expr:
        case Param() | Constant() | Opaque():
            return ()
        case Part(of=of) | As(of=of):
            return (of,)
        case Apply(args=args):
            return args
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
    return next((node for node in walk(expr) if isinstance(node, Opaque)), None)


def within(transform: str, expr: Expr) -> Expr:
    """The expression with the transform that it belongs to before every place in it: ``map(<lambda> at file:line)``."""
    match expr:
        case Param() | Constant() | Opaque():
            return expr
        case Part(of=of) | As(of=of):
            return evolve(expr, of=within(transform, of))
        case Apply(args=args, place=place):
            inside = tuple(within(transform, arg) for arg in args)
            return evolve(expr, args=inside, place=f"{transform}({place})")
        case Choice(condition=condition, then=then, otherwise=otherwise):
            return evolve(
                expr,
                condition=within(transform, condition),
                then=within(transform, then),
                otherwise=within(transform, otherwise),
            )
        case Build(parts=parts):
            return evolve(expr, parts=tuple(within(transform, part) for part in parts))
    assert_never(expr)


__all__ = [
    "FALSE",
    "TRUE",
    "Apply",
    "As",
    "Build",
    "Choice",
    "Constant",
    "Expr",
    "Opaque",
    "Param",
    "Part",
    "Scalar",
    "both",
    "children",
    "either",
    "negation",
    "opaque_part",
    "walk",
    "within",
]
