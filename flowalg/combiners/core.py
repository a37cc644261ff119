"""Combiners: how the values of a window become one (SEMANTICS section 8).

A combiner is a commutative monoid on accumulators (``zero``, ``merge``) with a lift of values into it (``add``)
and an extraction. Engines may pre-combine, split and reorder as they like, because of the laws that its
docstrings cite.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from functools import cached_property
from typing import ClassVar, Generic, TypeVar, cast

from attrs import field, frozen
from typing_extensions import TypeVar as DefaultingTypeVar

from flowalg.data.errors import ArgumentError, ElementError, ValueRangeError, format_value
from flowalg.data.values import check_integer
from flowalg.elementwise.functions import Call, Spread, apply, describe_function

In_contra = TypeVar("In_contra", contravariant=True)
Out_co = TypeVar("Out_co", covariant=True)
Acc = TypeVar("Acc")
A = TypeVar("A")
B = TypeVar("B")
Value = TypeVar("Value")
Number = TypeVar("Number", bound=int | float)
# The default lets a bare ``Sum()`` over text be an error in every type checker.
Summed = DefaultingTypeVar("Summed", bound=int | float, default=int)


class Aggregate(Generic[In_contra, Out_co]):
    """Anything that combines values of type ``In`` to one of type ``Out``: what ``combine_per_key`` takes.

    It hides the accumulator, which nobody but the combiner needs to know. Subclass ``Combiner``, not this.
    """

    __slots__ = ()


class Combiner(Aggregate[In_contra, Out_co], Generic[In_contra, Acc, Out_co]):
    """A commutative monoid of accumulators, with a lift from values and an extraction.

    Laws: ``merge`` is associative and commutative with unit ``zero()``; ``add(a, v)`` equals
    ``merge(a, add(zero(), v))``. Accumulators are immutable, or at least never changed in place.
    """

    __slots__ = ()

    @property
    def ordered(self) -> bool:
        """Whether the result depends on the order of the values: they are added by event time, then arrival."""
        return False

    @property
    def total(self) -> bool:
        """Whether no values at all have a result, as a sum has and a mean has not.

        ``OnTimeBehavior.ALWAYS`` may show it.
        """
        return False

    @property
    def title(self) -> str:
        """The combiner as labels and messages name it."""
        return type(self).__name__

    @abstractmethod
    def zero(self) -> Acc:
        """The accumulator of no values."""

    @abstractmethod
    def add(self, accumulator: Acc, value: In_contra) -> Acc:
        """The accumulator with one more value."""

    @abstractmethod
    def merge(self, one: Acc, other: Acc) -> Acc:
        """The accumulator of the values of both."""

    @abstractmethod
    def extract(self, accumulator: Acc) -> Out_co:
        """The result; depends on nothing but the accumulator."""


class Group(Combiner[In_contra, Acc, Out_co]):
    """An abelian group: a combiner that can also take a value back, and so absorbs a retraction directly.

    Law: ``subtract(add(a, v), v) = a``. A grouping that receives retractions and whose combiner is no group keeps all
    of its values, to combine them anew.
    """

    __slots__ = ()

    signed: ClassVar[bool] = False
    """Whether the result means something when more was taken back than given: a sum does, a mean does not."""

    @abstractmethod
    def subtract(self, accumulator: Acc, value: In_contra) -> Acc:
        """The accumulator with one value taken back."""


@frozen
class Sum(Group[Summed, Summed, Summed]):
    """The sum of integers (64-bit; overflow is an error, of a partial sum too) or of floats."""

    @property
    def total(self) -> bool:
        """No values add up to zero."""
        return True

    signed: ClassVar[bool] = True

    def zero(self) -> Summed:  # noqa: D102
        return 0  # type: ignore[return-value]  # 0 is the unit of both kinds of numbers

    def add(self, accumulator: Summed, value: Summed) -> Summed:  # noqa: D102
        return self.merge(accumulator, _number(value, "Sum"))

    def merge(self, one: Summed, other: Summed) -> Summed:  # noqa: D102
        total: Summed = one + other  # type: ignore[operator,assignment]  # two numbers of one kind
        if isinstance(total, int):
            check_integer(total, "a partial result of Sum")
        return total

    def subtract(self, accumulator: Summed, value: Summed) -> Summed:  # noqa: D102
        return self.merge(accumulator, -_number(value, "Sum"))  # type: ignore[arg-type]  # of the same kind

    def extract(self, accumulator: Summed) -> Summed:  # noqa: D102
        return accumulator

    @staticmethod
    def of(f: Callable[[A], Number]) -> Aggregate[A, Number]:
        """The sum of what ``f`` gives for each value."""
        return Over(Call(f), Sum())  # type: ignore[arg-type]  # Over forgets the type in the middle


@frozen
class Count(Group[object, int, int]):
    """How many values there are."""

    @property
    def total(self) -> bool:
        """There are none."""
        return True

    signed: ClassVar[bool] = True

    def zero(self) -> int:  # noqa: D102
        return 0

    def add(self, accumulator: int, value: object) -> int:  # noqa: D102
        return accumulator + 1

    def subtract(self, accumulator: int, value: object) -> int:  # noqa: D102
        return accumulator - 1

    def merge(self, one: int, other: int) -> int:  # noqa: D102
        return one + other

    def extract(self, accumulator: int) -> int:  # noqa: D102
        return accumulator


@frozen
class Total:
    """The accumulator of ``Mean``: how many, and their sum."""

    count: int
    total: int | float


@frozen
class Mean(Group[float, Total, float]):
    """The arithmetic mean, a float. Integers are summed exactly, then divided once, as floats.

    A mean of no values does not exist; a window without values has no pane.
    """

    def zero(self) -> Total:  # noqa: D102
        return Total(0, 0)

    def add(self, accumulator: Total, value: float) -> Total:  # noqa: D102
        return self.merge(accumulator, Total(1, _number(value, "Mean")))

    def merge(self, one: Total, other: Total) -> Total:  # noqa: D102
        total = one.total + other.total
        if isinstance(total, int):
            check_integer(total, "a partial sum of Mean")
        return Total(one.count + other.count, total)

    def subtract(self, accumulator: Total, value: float) -> Total:  # noqa: D102
        return self.merge(accumulator, Total(-1, -_number(value, "Mean")))

    def extract(self, accumulator: Total) -> float:  # noqa: D102
        return float(accumulator.total) / float(accumulator.count)

    @staticmethod
    def of(f: Callable[[A], float]) -> Aggregate[A, float]:
        """The mean of what ``f`` gives for each value."""
        return Over(Call(f), Mean())  # type: ignore[arg-type]  # Over forgets the type in the middle


@frozen
class Min(Combiner[A, "A | None", A]):
    """The least value. ``None`` and NaN have no place in the order, and are errors."""

    def zero(self) -> A | None:  # noqa: D102
        return None

    def add(self, accumulator: A | None, value: A) -> A | None:  # noqa: D102
        return self.merge(accumulator, in_order(value, "Min"))

    def merge(self, one: A | None, other: A | None) -> A | None:  # noqa: D102
        if one is None or other is None:
            return other if one is None else one
        return _least(one, other)

    def extract(self, accumulator: A | None) -> A:  # noqa: D102
        return _present(accumulator, "Min")

    @staticmethod
    def of(f: Callable[[Value], B]) -> Aggregate[Value, B]:
        """The least of what ``f`` gives for each value."""
        least: Combiner[B, object, B] = Min()  # type: ignore[assignment]  # the accumulator is forgotten
        return Over(Call(f), least)  # type: ignore[arg-type]  # and so is the type in the middle


@frozen
class Max(Combiner[A, "A | None", A]):
    """The greatest value. ``None`` and NaN have no place in the order, and are errors."""

    def zero(self) -> A | None:  # noqa: D102
        return None

    def add(self, accumulator: A | None, value: A) -> A | None:  # noqa: D102
        return self.merge(accumulator, in_order(value, "Max"))

    def merge(self, one: A | None, other: A | None) -> A | None:  # noqa: D102
        if one is None or other is None:
            return other if one is None else one
        return other if _least(one, other) is one else one

    def extract(self, accumulator: A | None) -> A:  # noqa: D102
        return _present(accumulator, "Max")

    @staticmethod
    def of(f: Callable[[Value], B]) -> Aggregate[Value, B]:
        """The greatest of what ``f`` gives for each value."""
        greatest: Combiner[B, object, B] = Max()  # type: ignore[assignment]  # the accumulator is forgotten
        return Over(Call(f), greatest)  # type: ignore[arg-type]  # and so is the type in the middle


@frozen
class Over(Combiner[A, object, B]):
    """A combiner of what a function gives for each value."""

    function: Call
    combiner: Combiner[object, object, B]

    @property
    def ordered(self) -> bool:
        """As the combiner inside."""
        return self.combiner.ordered

    @property
    def total(self) -> bool:
        """As the combiner inside."""
        return self.combiner.total

    def zero(self) -> object:  # noqa: D102
        return self.combiner.zero()

    def add(self, accumulator: object, value: A) -> object:  # noqa: D102
        return self.combiner.add(accumulator, apply(self.function, value, self.label))

    def merge(self, one: object, other: object) -> object:  # noqa: D102
        return self.combiner.merge(one, other)

    def extract(self, accumulator: object) -> B:  # noqa: D102
        return self.combiner.extract(accumulator)

    @property
    def title(self) -> str:
        """The title of the combiner inside."""
        return self.combiner.title

    @cached_property
    def label(self) -> str:
        """The combiner as messages name it; kept, because it is looked at for each value."""
        return f"{type(self.combiner).__name__}.of({describe_function(self.function.f)})"


@frozen
class Together(Combiner[A, tuple[object, ...], tuple[object, ...]]):
    """Several combiners of the same values at once: the product of their monoids."""

    parts: tuple[Combiner[A, object, object], ...] = field()

    @property
    def ordered(self) -> bool:
        """Whether one of its parts is."""
        return any(part.ordered for part in self.parts)

    @property
    def total(self) -> bool:
        """Whether all of its parts are."""
        return all(part.total for part in self.parts)

    @property
    def title(self) -> str:
        """The titles of its parts."""
        return ", ".join(part.title for part in self.parts)

    def zero(self) -> tuple[object, ...]:  # noqa: D102
        return tuple(part.zero() for part in self.parts)

    def add(self, accumulator: tuple[object, ...], value: A) -> tuple[object, ...]:  # noqa: D102
        return tuple(part.add(one, value) for part, one in zip(self.parts, accumulator, strict=True))

    def merge(self, one: tuple[object, ...], other: tuple[object, ...]) -> tuple[object, ...]:  # noqa: D102
        return tuple(part.merge(a, b) for part, a, b in zip(self.parts, one, other, strict=True))

    def extract(self, accumulator: tuple[object, ...]) -> tuple[object, ...]:  # noqa: D102
        return tuple(part.extract(one) for part, one in zip(self.parts, accumulator, strict=True))


@frozen
class Into(Combiner[A, object, B]):
    """A combiner of which a function makes something of its result: a record of several results, say."""

    combiner: Combiner[A, object, object]
    function: Call | Spread

    @property
    def ordered(self) -> bool:
        """As the combiner inside."""
        return self.combiner.ordered

    def zero(self) -> object:  # noqa: D102
        return self.combiner.zero()

    def add(self, accumulator: object, value: A) -> object:  # noqa: D102
        return self.combiner.add(accumulator, value)

    def merge(self, one: object, other: object) -> object:  # noqa: D102
        return self.combiner.merge(one, other)

    def extract(self, accumulator: object) -> B:  # noqa: D102
        made = apply(self.function, self.combiner.extract(accumulator), f"{self.title} into")
        return cast("B", made)

    @property
    def title(self) -> str:
        """The title of the combiner inside."""
        return self.combiner.title


def product(parts: tuple[Combiner[object, object, object], ...]) -> Combiner[object, object, object]:
    """One combiner that does what all of them do; a single one stays as it is."""
    if len(parts) == 1:
        return parts[0]
    return cast("Combiner[object, object, object]", Together(parts))


def as_combiner(argument: str, value: object) -> Combiner[object, object, object]:
    """The value, if it is a combiner; raises ``ArgumentError`` otherwise."""
    if isinstance(value, Combiner):
        return value
    valid = "a combiner, such as Sum(), Count() or Mean.of(lambda v: v.points)"
    raise ArgumentError(argument, value, valid)


def _number(value: A, combiner: str) -> A:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ElementError(f"{combiner} was given {format_value(value)}; it takes int and float values")
    return value


def in_order(value: A, combiner: str) -> A:
    """The value; raises ``ElementError`` for ``None`` and NaN."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        raise ElementError(f"{combiner} was given {format_value(value)}, which has no place in an order")
    return value


def _least(one: A, other: A) -> A:
    if isinstance(one, bool | int | float) and isinstance(other, bool | int | float):
        return min(one, other)
    try:
        return one if one <= other else other  # type: ignore[operator]  # checked by trying
    except TypeError as unordered:
        raise ElementError(
            f"Min and Max cannot compare {format_value(one)} with {format_value(other)}"
        ) from unordered


def _present(accumulator: A | None, combiner: str) -> A:
    if accumulator is None:
        raise ValueRangeError(f"{combiner} of no values does not exist")
    return accumulator


__all__ = [
    "Aggregate",
    "Combiner",
    "Count",
    "Group",
    "Into",
    "Max",
    "Mean",
    "Min",
    "Over",
    "Sum",
    "Together",
    "Total",
    "as_combiner",
    "in_order",
    "product",
]
