"""The expression tree of a lifted function: a small, closed set of nodes, typed by shapes, independent of any engine.

It has exactly the meaning of the Python function. Integers are unbounded inside an expression; stored results must fit
64 bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from typing import Final, Never, TypeAlias, assert_never

from attrs import evolve, field, frozen
from returns.maybe import Maybe

from flowalg.data.shapes import BOOLEAN, INTEGER, TEXT, Composite, ListOf, MapOf, Shape, TupleOf
from flowalg.lifting.tree.primitives import Op

Scalar: TypeAlias = (
    bool | int | float | str | datetime | date | timedelta | Decimal | Enum | Maybe[Never] | None
)
"""A constant in an expression; ``Nothing`` is the only ``Maybe``."""


@frozen
class Param:
    """The element to which the function is applied."""

    shape: Shape


@frozen
class Part:
    """A field of a record, an item of a tuple or a member of a sum as an optional, by position."""

    of: Expr
    index: int
    name: str
    shape: Shape


@frozen
class Constant:
    """A literal, or a captured immutable scalar.

    ``None`` and ``Nothing`` take their shape from another branch if there is one; with a shape, both are ``None``.

    Constants are equal if their ``repr`` is equal: 0.0 differs from -0.0, and NaN equals NaN. ``location`` is
    the source location of one that does not fit 64 bits, for messages.
    """

    value: Scalar = field(eq=repr)
    shape: Shape | None
    location: str = field(default="", eq=False)


@frozen(cache_hash=True)
class Apply:
    """A primitive operation on its arguments; ``location`` is its source location, for messages."""

    op: Op
    args: tuple[Expr, ...]
    shape: Shape
    location: str = field(eq=False)

    def constant(self, index: int) -> Scalar:
        """Returns the value of an argument that is a constant."""
        argument = self.args[index]
        assert isinstance(argument, Constant), "the operation has a constant there"
        return argument.value

    def integer(self, index: int) -> int:
        """Returns the value of an argument that is a constant integer."""
        value = self.constant(index)
        assert isinstance(value, int), "the operation has an integer there"
        return value

    def text(self, index: int) -> str:
        """Returns the value of an argument that is a constant text."""
        value = self.constant(index)
        assert isinstance(value, str), "the operation has a text there"
        return value


@frozen(cache_hash=True)
class Choice:
    """``then if condition else otherwise``: evaluates only the chosen branch. ``and`` and ``or`` are choices too."""

    condition: Expr
    then: Expr
    otherwise: Expr
    shape: Shape


@frozen
class As:
    """The same value with another shape: an optional known not to be ``None``, or a value as an optional."""

    of: Expr
    shape: Shape


@frozen(cache_hash=True)
class Build:
    """Builds a record or tuple from its parts, or a value of a sum from its members as optionals."""

    shape: Composite
    parts: tuple[Expr, ...]


@frozen
class Item:
    """The item that a comprehension has come to."""

    shape: Shape


@frozen(cache_hash=True)
class Each:
    """``[result for item in of if kept]``, where ``kept`` and ``result`` contain ``Item``.

    It has columns only as the result of a ``flat_map``, which has a row for each item.
    """

    of: Expr
    kept: Expr
    result: Expr
    shape: ListOf
    location: str = field(eq=False)


@frozen
class PythonCall:
    """A call that Python computes. It is equal to another one only if both call the same object."""

    f: Callable[..., object] = field(eq=id)
    args: tuple[Expr, ...]


@frozen
class Opaque:
    """A part that only Python can compute: the reason, the location, and the shape of its result if it is known.

    ``call`` is the function that computes it and its arguments, where these are lifted and cannot fail.
    """

    shape: Shape | None
    reason: str
    location: str
    call: PythonCall | None = field(default=None, repr=False)


@frozen
class Match(Opaque):
    """The match of a pattern in a text, or ``None``: whether there is one, and its groups, are lifted.

    ``pattern`` is in the common notation of ``operations.patterns``; ``groups`` has those that every match has.
    """

    of: Expr = field(kw_only=True)
    pattern: str = field(kw_only=True)
    groups: frozenset[int] = field(kw_only=True)

    @property
    def found(self) -> Expr:
        """Whether there is a match."""
        return Apply(Op.MATCHES, (self.of, Constant(self.pattern, TEXT)), BOOLEAN, self.location)

    def group(self, number: object, error: str, location: str) -> Expr:
        """Returns a group, which fails with ``error`` without a match; the match if it need not have that group.

        The error is empty if there certainly is a match.
        """
        if type(number) is not int or number not in self.groups:
            return self
        args = (Constant(self.pattern, TEXT), Constant(number, INTEGER), Constant(error, TEXT))
        return Apply(Op.GROUP, (self.of, *args), TEXT, location)


Expr: TypeAlias = Param | Part | Constant | Apply | Choice | As | Build | Item | Each | Opaque

TRUE: Final = Constant(True, BOOLEAN)
FALSE: Final = Constant(False, BOOLEAN)


def conjunction(left: Expr, right: Expr) -> Expr:
    """Returns ``left and right`` of two booleans."""
    return Choice(left, right, FALSE, BOOLEAN)


def disjunction(left: Expr, right: Expr) -> Expr:
    """Returns ``left or right`` of two booleans."""
    return Choice(left, TRUE, right, BOOLEAN)


def negation(of: Expr, location: str) -> Expr:
    """Returns ``not of`` of a boolean."""
    match of:
        case Constant(value=bool() as value):
            return FALSE if value else TRUE
        case Apply(op=Op.NOT, args=(inner,)):
            return inner
        case _:
            return Apply(Op.NOT, (of,), BOOLEAN, location)


def children(expr: Expr) -> tuple[Expr, ...]:
    """Returns the direct children of an expression, in order of evaluation."""
    match expr:
        case Param() | Constant() | Item():
            return ()
        case Part(of=of) | As(of=of) | Match(of=of):
            return (of,)
        case Apply(args=args):
            return args
        case Choice(condition=condition, then=then, otherwise=otherwise):
            return (condition, then, otherwise)
        case Build(parts=parts):
            return parts
        case Each(of=of, kept=kept, result=result):
            return (of, kept, result)
        case Opaque():
            return ()
    assert_never(expr)


def walk(expr: Expr) -> Iterator[Expr]:
    """Yields the expression and all nodes inside it, outermost first."""
    yield expr
    for child in children(expr):
        yield from walk(child)


def items_of(of: Expr) -> tuple[Part, ...]:
    """Returns the items of an expression that is a tuple."""
    assert isinstance(of.shape, TupleOf), "a tuple"
    return tuple(Part(of, index, f"[{index}]", item) for index, item in enumerate(of.shape.items))


def first_opaque(expr: Expr) -> Opaque | None:
    """Returns the first part that only Python can compute, or ``None``.

    A mapping is one, since it has no columns, and so is a comprehension.
    """
    for node in walk(expr):
        if isinstance(node, Opaque):
            return node
        if isinstance(node, Part) and isinstance(node.shape, MapOf):
            return Opaque(node.shape, "a mapping, which has no columns", "")
        if isinstance(node, Each):
            return Opaque(node.shape, "a comprehension that is not the result of a flat_map", node.location)
    return None


def rewrite(expr: Expr, change: Callable[[Expr], Expr]) -> Expr:
    """Returns an expression after a change of each node, innermost first."""
    match expr:
        case Param() | Constant() | Item():
            return change(expr)
        case Part(of=of) | As(of=of) | Match(of=of):
            return change(evolve(expr, of=rewrite(of, change)))
        case Apply(args=args):
            return change(evolve(expr, args=tuple(rewrite(arg, change) for arg in args)))
        case Choice(condition=condition, then=then, otherwise=otherwise):
            changed = [rewrite(part, change) for part in (condition, then, otherwise)]
            return change(Choice(changed[0], changed[1], changed[2], expr.shape))
        case Build(parts=parts):
            return change(evolve(expr, parts=tuple(rewrite(part, change) for part in parts)))
        case Each(of=of, kept=kept, result=result):
            changed = [rewrite(part, change) for part in (of, kept, result)]
            return change(Each(changed[0], changed[1], changed[2], expr.shape, expr.location))
        case Opaque():
            return change(expr)
    assert_never(expr)


def qualify_locations(transform: str, expr: Expr) -> Expr:
    """Prefixes each location in the expression with the transform: ``map(<lambda> at file:line)``."""
    return rewrite(
        expr,
        lambda node: (
            evolve(node, location=f"{transform}({node.location})")
            if isinstance(node, Apply | Constant) and node.location
            else node
        ),
    )
