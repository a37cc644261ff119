"""Structures of algebra: laws that are stated once, and instantiated for every operation that has the structure.

``lattice(AND, OR, ...)`` has the laws of a distributive lattice, of which each is a named law of its own. An operation
says how its values come from the variables of a law, and what is observed of them, so that one statement serves
triggers, which are compared by their panes, accumulators, compared by their results, and collections, compared by runs.
The statement is what the two sides are for values that are texts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Generic, ParamSpec, Protocol, TypeAlias, TypeVar, get_type_hints

from attrs import frozen

from flowalg_laws.kit.equation import Equation
from flowalg_laws.kit.law import Law

P = ParamSpec("P")
A = TypeVar("A")
B = TypeVar("B")
F = TypeVar("F")

Reliance: TypeAlias = Mapping[str, str]
"""What relies on the laws of a structure, by property, such as ``is_commutative``."""


def itself(value: A) -> A:
    """Returns the value: what is observed of a value that is compared as it is."""
    return value


@frozen
class Model(Generic[A, B]):
    """An operation, three values of it, what is observed of a value, and the unit and the zero that there are.

    In a group ``inverse`` is the inverse of the second value.
    """

    combine: Callable[..., A]
    values: tuple[A, A, A]
    observe: Callable[[A], B]
    constants: tuple[A, ...] = ()
    inverse: A | None = None


@frozen
class Operation(Generic[P, A, B]):
    """An operation of a structure, written as a call, or with ``symbol`` between two values.

    The parameters of ``model`` are the variables of its laws; it returns ``None`` where ``condition`` does not hold.
    """

    name: str
    call: str
    model: Callable[P, Model[A, B] | None]
    source: str
    symbol: str = ""
    constants: tuple[str, ...] = ()
    condition: str = ""
    inverse: str = ""

    @property
    def written(self) -> Model[str, str]:
        """The operation on texts."""
        return Model(self._write, ("a", "b", "c"), str, self.constants, self.inverse)

    def _write(self, *parts: str) -> str:
        if self.symbol and len(parts) == 2:
            return f" {self.symbol} ".join(f"({part})" if " " in part else part for part in parts)
        return f"{self.call}({', '.join(parts)})"


class _Property(Protocol):
    """The two sides of a law of an operation, or of one and its dual."""

    __name__: str

    def __call__(self, one: Model[A, B], dual: Model[A, B], /) -> tuple[A, A]: ...


def is_associative(one: Model[A, B], dual: Model[A, B]) -> tuple[A, A]:
    """The operation of three values may be grouped in both ways."""
    a, b, c = one.values
    return one.combine(one.combine(a, b), c), one.combine(a, one.combine(b, c))


def is_flat(one: Model[A, B], dual: Model[A, B]) -> tuple[A, A]:
    """The operation of an operation is that of all values."""
    a, b, c = one.values
    return one.combine(one.combine(a, b), c), one.combine(a, b, c)


def of_one_is_itself(one: Model[A, B], dual: Model[A, B]) -> tuple[A, A]:
    """The operation of one value is the value."""
    return one.combine(one.values[0]), one.values[0]


def is_commutative(one: Model[A, B], dual: Model[A, B]) -> tuple[A, A]:
    """The order of two values has no effect."""
    a, b, _ = one.values
    return one.combine(a, b), one.combine(b, a)


def is_idempotent(one: Model[A, B], dual: Model[A, B]) -> tuple[A, A]:
    """The operation of a value with itself is the value."""
    return one.combine(one.values[0], one.values[0]), one.values[0]


def has_a_left_unit(one: Model[A, B], dual: Model[A, B]) -> tuple[A, A]:
    """The unit before a value has no effect."""
    return one.combine(one.constants[0], one.values[0]), one.values[0]


def has_a_right_unit(one: Model[A, B], dual: Model[A, B]) -> tuple[A, A]:
    """The unit after a value has no effect."""
    return one.combine(one.values[0], one.constants[0]), one.values[0]


def has_an_inverse(one: Model[A, B], dual: Model[A, B]) -> tuple[A, A]:
    """The operation of a value with another and with its inverse is the value."""
    a, b, _ = one.values
    assert one.inverse is not None, "the operation of a group names the inverse"
    return one.combine(one.combine(a, b), one.inverse), a


def has_a_zero(one: Model[A, B], dual: Model[A, B]) -> tuple[A, A]:
    """The operation of a value with the zero is the zero."""
    return one.combine(one.values[0], one.constants[1]), one.constants[1]


def absorbs(one: Model[A, B], dual: Model[A, B]) -> tuple[A, A]:
    """The operation of a value with the dual of it and another is the value."""
    a, b, _ = one.values
    return one.combine(a, dual.combine(a, b)), a


def distributes(one: Model[A, B], dual: Model[A, B]) -> tuple[A, A]:
    """The operation distributes over its dual."""
    a, b, c = one.values
    return one.combine(a, dual.combine(b, c)), dual.combine(one.combine(a, b), one.combine(a, c))


SEMIGROUP: tuple[_Property, ...] = (is_associative,)
MONOID: tuple[_Property, ...] = (*SEMIGROUP, has_a_left_unit, has_a_right_unit)
VARIADIC: tuple[_Property, ...] = (is_flat, of_one_is_itself)
SEMILATTICE: tuple[_Property, ...] = (is_commutative, *SEMIGROUP, is_idempotent, has_a_right_unit, has_a_zero)


def laws_of(
    operation: Operation[P, A, B],
    *properties: _Property,
    dual: Operation[P, A, B] | None = None,
    relied_on_by: Reliance | None = None,
) -> Iterator[Law[P, B]]:
    """The laws of an operation that has the properties of a structure."""
    other = dual or operation
    hints = get_type_hints(operation.model)

    def state(sides: _Property) -> Law[P, B]:
        def equation(*args: P.args, **kwargs: P.kwargs) -> Equation[B] | None:
            one, two = operation.model(*args, **kwargs), other.model(*args, **kwargs)
            if one is None or two is None:
                return None
            left, right = sides(one, two)
            return Equation(one.observe(left), one.observe(right))

        equation.__annotations__ = hints  # they say which values are generated
        name = f"{operation.name}_{sides.__name__}"
        left, right = sides(operation.written, other.written)
        reliance = (relied_on_by or {}).get(sides.__name__, "")
        return Law(equation, name, f"``{left} = {right}``", operation.condition, operation.source, reliance)

    return map(state, properties)


def lattice(
    meet: Operation[P, A, B], join: Operation[P, A, B], relied_on_by: Reliance
) -> Iterator[Law[P, B]]:
    """The laws of a bounded distributive lattice, each for both operations."""
    for one, dual in ((meet, join), (join, meet)):
        yield from laws_of(
            one, *SEMILATTICE, *VARIADIC, absorbs, distributes, dual=dual, relied_on_by=relied_on_by
        )


@frozen
class Action(Generic[A, F, B]):
    """A value on which something acts, such as a function by ``map``, with two of these, their composition and unit."""

    act: Callable[[A, F], A]
    value: A
    f: F
    g: F
    compose: Callable[[F, F], F]
    unit: F
    observe: Callable[[A], B]


def has_a_unit(one: Action[A, F, B]) -> tuple[A, A]:
    """The unit has no effect."""
    return one.act(one.value, one.unit), one.value


def composes(one: Action[A, F, B]) -> tuple[A, A]:
    """A composition acts as its parts do, one after the other."""
    return one.act(one.act(one.value, one.f), one.g), one.act(one.value, one.compose(one.f, one.g))


class _ActionProperty(Protocol):
    """The two sides of a law of an action."""

    __name__: str

    def __call__(self, one: Action[A, F, B], /) -> tuple[A, A]: ...


def action(
    name: str,
    model: Callable[P, Action[A, F, B]],
    written: Action[str, str, str],
    *,
    source: str,
    condition: str = "",
    relied_on_by: str = "",
) -> Iterator[Law[P, B]]:
    """The laws of an action. A functor is an action of functions, and a monad one of functions that return lists."""
    hints = get_type_hints(model)

    def state(sides: _ActionProperty) -> Law[P, B]:
        def equation(*args: P.args, **kwargs: P.kwargs) -> Equation[B]:
            one = model(*args, **kwargs)
            left, right = sides(one)
            return Equation(one.observe(left), one.observe(right))

        equation.__annotations__ = hints
        left, right = sides(written)
        return Law(
            equation, f"{name}_{sides.__name__}", f"``{left} = {right}``", condition, source, relied_on_by
        )

    return map(state, (has_a_unit, composes))
