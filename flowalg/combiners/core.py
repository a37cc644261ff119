"""Combiners reduce the values of a window to a result (SEMANTICS section 8).

A combiner is a commutative monoid of accumulators (``zero``, ``merge``), with a function that adds a value to an
accumulator (``add``) and one that extracts the result (``extract``). The laws of ``Combiner`` permit engines to
pre-combine, split and reorder the values.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterable
from decimal import Decimal
from functools import cached_property, reduce
from typing import TYPE_CHECKING, ClassVar, Generic, TypeAlias, TypeVar, cast

from attrs import field, frozen
from typing_extensions import TypeVar as DefaultingTypeVar

from flowalg.combiners.exact_sums import DecimalSum, ExactSum, Number, add_exactly, exact
from flowalg.data.closed import Closed
from flowalg.data.errors import ArgumentError, ElementError, ValueRangeError, describe_function, format_value
from flowalg.data.values import canonical_float, canonicalize, check_integer, sort_by_time
from flowalg.elementwise.functions import Call, Spread, apply

In_contra = TypeVar("In_contra", contravariant=True)
Out_co = TypeVar("Out_co", covariant=True)
Acc = TypeVar("Acc")
A = TypeVar("A")
B = TypeVar("B")
Value = TypeVar("Value")
Added = TypeVar("Added", bound=Number)
# With this default, type checkers reject a bare ``Sum()`` of str values.
Summed = DefaultingTypeVar("Summed", bound=Number, default=int)
Quotient = TypeVar("Quotient", float, Decimal)
# A mean of integers is a float.
Averaged = DefaultingTypeVar("Averaged", float, Decimal, default=float)


class Aggregate(Generic[In_contra, Out_co]):
    """Combines values of type ``In`` to a result of type ``Out``: the arguments of ``combine_per_key``.

    The type hides the accumulator of the combiner. Subclass ``Combiner``, not this class.
    """

    __slots__ = ()


class Combiner(Aggregate[In_contra, Out_co], Generic[In_contra, Acc, Out_co]):
    """A commutative monoid of accumulators, with ``add`` for a value and ``extract`` for the result.

    Laws: ``merge`` is associative and commutative with unit ``zero()``; ``add(a, v)`` equals
    ``merge(a, add(zero(), v))``. Accumulators are never modified in place.
    """

    __slots__ = ()

    @property
    def is_ordered(self) -> bool:
        """Whether the result depends on the order of the values. They are added by event time, then by value."""
        return False

    @property
    def has_empty_result(self) -> bool:
        """Whether the combiner has a result for no values: a sum has, a mean has not.

        Only then can ``OnTimeBehavior.ALWAYS`` emit a pane for an empty window.
        """
        return False

    @property
    def title(self) -> str:
        """The name of the combiner in labels and messages."""
        return type(self).__name__

    @abstractmethod
    def zero(self) -> Acc:
        """Returns the accumulator of no values."""

    @abstractmethod
    def add(self, accumulator: Acc, value: In_contra) -> Acc:
        """Returns the accumulator with one more value."""

    @abstractmethod
    def merge(self, left: Acc, right: Acc) -> Acc:
        """Returns the accumulator of the values of both."""

    @abstractmethod
    def extract(self, accumulator: Acc) -> Out_co:
        """Returns the result, which depends only on the accumulator."""

    def add_timed(self, accumulator: Acc, timed: Iterable[tuple[int, In_contra]]) -> Acc:
        """Returns the accumulator with more values, given with their event times: by event time, then by value."""
        return reduce(self.add, sort_by_time(timed), accumulator)

    def discard(self, accumulator: Acc) -> Acc:
        """Returns what a window keeps after a pane under ``DISCARDING``: nothing, unless later panes depend on it.

        A join keeps all values, since the next pane pairs new values with them. Law: the result of what is kept is
        that of no values.
        """
        return self.zero()


AnyCombiner: TypeAlias = Combiner[object, object, object]


class Group(Combiner[In_contra, Acc, Out_co]):
    """An abelian group: a combiner that can also subtract a value, so it applies retractions directly.

    Law: ``subtract(add(a, v), v) = a``. For other combiners, a grouping that receives retractions buffers all values
    and combines them again.
    """

    __slots__ = ()

    is_signed: ClassVar[bool] = False
    """Whether a result is defined after more subtractions than additions, or as many: for a sum, but not for a mean."""

    @property
    def has_empty_result(self) -> bool:
        """Whether there is a result for no values: there is one if it is defined after as many subtractions."""
        return self.is_signed

    @abstractmethod
    def subtract(self, accumulator: Acc, value: In_contra) -> Acc:
        """Returns the accumulator with one value subtracted."""


class BuiltIn(Closed):
    """A combiner that engines compute by themselves."""

    __slots__ = ()

    _instead = "Combiner or Group"


class _WithoutArguments(BuiltIn):
    """The constructor of combiners that have no arguments, although one may expect a function there."""

    __slots__ = ()

    if TYPE_CHECKING:

        def __init__(self) -> None: ...

    else:

        def __init__(self, argument: object = None) -> None:
            if argument is not None:
                name = type(self).__name__
                remedy = f"; {name}.of(f) applies a function to each value" if hasattr(self, "of") else ""
                raise ArgumentError(f"{name}(...)", argument, f"called without arguments{remedy}")


@frozen(init=False)
class Sum(_WithoutArguments, Group[Summed, ExactSum, Summed]):
    """The sum of integers, floats or Decimals.

    A result of integers that does not fit in 64 bits is an error, as is one of Decimals with more than 20 digits before
    the point. Accumulators are exact, so a value that is retracted leaves no trace, and the result is rounded once.
    Engines may add floats that are never retracted by ``+``, in any order.

    Example:

    >>> results(scores.combine_globally(Sum.of(lambda s: s.points)))
    [15]
    """

    is_signed: ClassVar[bool] = True

    def zero(self) -> ExactSum:  # noqa: D102
        return 0

    def add(self, accumulator: ExactSum, value: Summed) -> ExactSum:  # noqa: D102
        return add_exactly(accumulator, exact(_number(value, "Sum")))

    def merge(self, left: ExactSum, right: ExactSum) -> ExactSum:  # noqa: D102
        return add_exactly(left, right)

    def subtract(self, accumulator: ExactSum, value: Summed) -> ExactSum:  # noqa: D102
        return add_exactly(accumulator, exact(_number(value, "Sum"), -1))

    def extract(self, accumulator: ExactSum) -> Summed:  # noqa: D102
        return _total(accumulator, "Sum")  # type: ignore[return-value]  # of the type of the values

    @staticmethod
    def of(f: Callable[[A], Added]) -> Aggregate[A, Added]:
        """Returns a combiner for the sum of ``f`` over the values."""
        return Over(Call(f), Sum())  # type: ignore[arg-type]  # Over erases the intermediate type


@frozen(init=False)
class Count(_WithoutArguments, Group[object, int, int]):
    """The number of values."""

    is_signed: ClassVar[bool] = True

    def zero(self) -> int:  # noqa: D102
        return 0

    def add(self, accumulator: int, value: object) -> int:  # noqa: D102
        return accumulator + 1

    def subtract(self, accumulator: int, value: object) -> int:  # noqa: D102
        return accumulator - 1

    def merge(self, left: int, right: int) -> int:  # noqa: D102
        return left + right

    def extract(self, accumulator: int) -> int:  # noqa: D102
        return accumulator


@frozen
class Total:
    """The accumulator of ``Mean``: the number of values and their sum."""

    count: int
    total: ExactSum


@frozen(init=False)
class Mean(_WithoutArguments, Group[Averaged, Total, Averaged]):
    """The arithmetic mean: the sum, as ``Sum`` has it, divided by the number of values.

    It is a float, or of Decimals a Decimal, rounded half-even to 18 places after the point; the sum may then have more
    digits than a Decimal. The mean of no values is undefined; a window without values has no pane.
    """

    def zero(self) -> Total:  # noqa: D102
        return Total(0, 0)

    def add(self, accumulator: Total, value: Averaged) -> Total:  # noqa: D102
        return self.merge(accumulator, Total(1, exact(_number(value, "Mean"))))

    def merge(self, left: Total, right: Total) -> Total:  # noqa: D102
        return Total(left.count + right.count, add_exactly(left.total, right.total))

    def subtract(self, accumulator: Total, value: Averaged) -> Total:  # noqa: D102
        return self.merge(accumulator, Total(-1, exact(_number(value, "Mean"), -1)))

    def extract(self, accumulator: Total) -> Averaged:  # noqa: D102
        return _mean(accumulator)  # type: ignore[return-value]  # a Decimal if the values are

    @staticmethod
    def of(f: Callable[[A], Quotient]) -> Aggregate[A, Quotient]:
        """Returns a combiner for the mean of ``f`` over the values."""
        return Over(Call(f), Mean())  # type: ignore[arg-type]  # Over erases the intermediate type


@frozen(init=False)
class Min(_WithoutArguments, Combiner[A, "A | None", A]):
    """The least value. ``None`` and NaN are not ordered, so they are errors."""

    def zero(self) -> A | None:  # noqa: D102
        return None

    def add(self, accumulator: A | None, value: A) -> A | None:  # noqa: D102
        return self.merge(accumulator, require_orderable(value, "Min"))

    def merge(self, left: A | None, right: A | None) -> A | None:  # noqa: D102
        if left is None or right is None:
            return right if left is None else left
        return _least(left, right)

    def extract(self, accumulator: A | None) -> A:  # noqa: D102
        return _require_values(accumulator, "Min")

    @staticmethod
    def of(f: Callable[[Value], B]) -> Aggregate[Value, B]:
        """Returns a combiner for the least value of ``f``."""
        least: Combiner[B, object, B] = Min()  # type: ignore[assignment]  # erases the accumulator
        return Over(Call(f), least)  # type: ignore[arg-type]  # and the intermediate type


@frozen(init=False)
class Max(_WithoutArguments, Combiner[A, "A | None", A]):
    """The greatest value. ``None`` and NaN are not ordered, so they are errors."""

    def zero(self) -> A | None:  # noqa: D102
        return None

    def add(self, accumulator: A | None, value: A) -> A | None:  # noqa: D102
        return self.merge(accumulator, require_orderable(value, "Max"))

    def merge(self, left: A | None, right: A | None) -> A | None:  # noqa: D102
        if left is None or right is None:
            return right if left is None else left
        return right if _least(left, right) is left else left

    def extract(self, accumulator: A | None) -> A:  # noqa: D102
        return _require_values(accumulator, "Max")

    @staticmethod
    def of(f: Callable[[Value], B]) -> Aggregate[Value, B]:
        """Returns a combiner for the greatest value of ``f``."""
        greatest: Combiner[B, object, B] = Max()  # type: ignore[assignment]  # erases the accumulator
        return Over(Call(f), greatest)  # type: ignore[arg-type]  # and the intermediate type


@frozen
class Over(Combiner[A, object, B]):
    """Applies a function to each value and combines the results."""

    function: Call
    combiner: Combiner[object, object, B]

    @property
    def is_ordered(self) -> bool:
        """Whether the inner combiner is ordered."""
        return self.combiner.is_ordered

    @property
    def has_empty_result(self) -> bool:
        """Whether the inner combiner has a result for no values."""
        return self.combiner.has_empty_result

    def zero(self) -> object:  # noqa: D102
        return self.combiner.zero()

    def argument(self, value: object) -> object:
        """Returns the result of the function, in its normal form; raises ``ValueRangeError`` beyond 64 bits."""
        return canonicalize(apply(self.function, value, self.label), self._result)

    def add(self, accumulator: object, value: A) -> object:  # noqa: D102
        return self.combiner.add(accumulator, self.argument(value))

    def merge(self, left: object, right: object) -> object:  # noqa: D102
        return self.combiner.merge(left, right)

    def discard(self, accumulator: object) -> object:  # noqa: D102
        return self.combiner.discard(accumulator)

    def extract(self, accumulator: object) -> B:  # noqa: D102
        return self.combiner.extract(accumulator)

    @property
    def title(self) -> str:
        """The title of the inner combiner."""
        return self.combiner.title

    @cached_property
    def label(self) -> str:
        """The name of the combiner in messages. Cached, because it is read for each value."""
        return f"{type(self.combiner).__name__}.of({describe_function(self.function.f)})"

    @cached_property
    def _result(self) -> str:
        return f"the result of {self.label}"


@frozen
class Together(Combiner[A, tuple[object, ...], tuple[object, ...]]):
    """Several combiners of the same values, computed at once: the product of their monoids."""

    parts: tuple[Combiner[A, object, object], ...] = field()

    @property
    def is_ordered(self) -> bool:
        """Whether any part is ordered."""
        return any(part.is_ordered for part in self.parts)

    @property
    def has_empty_result(self) -> bool:
        """Whether all parts have a result for no values."""
        return all(part.has_empty_result for part in self.parts)

    @property
    def title(self) -> str:
        """The titles of the parts."""
        return ", ".join(part.title for part in self.parts)

    def zero(self) -> tuple[object, ...]:  # noqa: D102
        return tuple(part.zero() for part in self.parts)

    def add(self, accumulator: tuple[object, ...], value: A) -> tuple[object, ...]:  # noqa: D102
        return tuple(part.add(inner, value) for part, inner in zip(self.parts, accumulator, strict=True))

    def add_timed(
        self, accumulator: tuple[object, ...], timed: Iterable[tuple[int, A]]
    ) -> tuple[object, ...]:
        """Returns the accumulators with more values, each as its part adds them."""
        elements = list(timed)
        return tuple(
            part.add_timed(inner, elements) for part, inner in zip(self.parts, accumulator, strict=True)
        )

    def merge(self, left: tuple[object, ...], right: tuple[object, ...]) -> tuple[object, ...]:  # noqa: D102
        return tuple(part.merge(a, b) for part, a, b in zip(self.parts, left, right, strict=True))

    def discard(self, accumulator: tuple[object, ...]) -> tuple[object, ...]:  # noqa: D102
        return tuple(part.discard(inner) for part, inner in zip(self.parts, accumulator, strict=True))

    def extract(self, accumulator: tuple[object, ...]) -> tuple[object, ...]:  # noqa: D102
        return tuple(part.extract(inner) for part, inner in zip(self.parts, accumulator, strict=True))


@frozen
class Into(Combiner[A, object, B]):
    """Combines values and applies a function to the result, such as a record class to several results."""

    combiner: Combiner[A, object, object]
    function: Call | Spread

    @property
    def is_ordered(self) -> bool:
        """Whether the inner combiner is ordered."""
        return self.combiner.is_ordered

    def zero(self) -> object:  # noqa: D102
        return self.combiner.zero()

    def add(self, accumulator: object, value: A) -> object:  # noqa: D102
        return self.combiner.add(accumulator, value)

    def add_timed(self, accumulator: object, timed: Iterable[tuple[int, A]]) -> object:  # noqa: D102
        return self.combiner.add_timed(accumulator, timed)

    def merge(self, left: object, right: object) -> object:  # noqa: D102
        return self.combiner.merge(left, right)

    def discard(self, accumulator: object) -> object:  # noqa: D102
        return self.combiner.discard(accumulator)

    def extract(self, accumulator: object) -> B:  # noqa: D102
        made = apply(self.function, self.combiner.extract(accumulator), f"{self.title} into")
        return cast("B", made)

    @property
    def title(self) -> str:
        """The title of the inner combiner."""
        return self.combiner.title


def product(parts: tuple[AnyCombiner, ...]) -> AnyCombiner:
    """Returns the product of the combiners; a single combiner is returned unchanged."""
    if len(parts) == 1:
        return parts[0]
    return cast("AnyCombiner", Together(parts))


def component_combiners(
    combiner: AnyCombiner,
) -> tuple[AnyCombiner, ...]:
    """Returns the components of a product of combiners, also of products in it; each has one result."""
    if isinstance(combiner, Together):
        return tuple(component for part in combiner.parts for component in component_combiners(part))
    return (combiner,)


def require_combiner(argument: str, value: object) -> AnyCombiner:
    """Returns the value, which must be a combiner; raises ``ArgumentError`` if it is not."""
    if isinstance(value, Combiner):
        return value
    valid = "a combiner, such as Sum(), Count() or Mean.of(lambda v: v.points)"
    raise ArgumentError(argument, value, valid)


def _number(value: Number, combiner: str) -> Number:
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        raise ElementError(
            f"the input of {combiner} must be an int, a float or a Decimal; got {format_value(value)}"
        )
    return value


def _total(accumulator: ExactSum, combiner: str) -> Number:
    """Returns an exact sum as a number; raises ``ValueRangeError`` for an integer or a Decimal that is too large."""
    where = f"the result of {combiner}"
    match accumulator:
        case int():
            return check_integer(accumulator, where)
        case DecimalSum():
            return accumulator.over(1, where)
        case _:
            return float(accumulator)


def _mean(accumulator: Total) -> float | Decimal:
    if isinstance(accumulator.total, DecimalSum):
        return accumulator.total.over(accumulator.count, "the result of Mean")
    total = _total(accumulator.total, "the sum of a Mean")
    return canonical_float(float(total) / float(accumulator.count))


def require_orderable(value: A, combiner: str) -> A:
    """Returns the value; raises ``ElementError`` for ``None`` and NaN."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        raise ElementError(f"the input of {combiner} must not be None or NaN; got {format_value(value)}")
    return value


def _least(left: A, right: A) -> A:
    if isinstance(left, bool | int | float) and isinstance(right, bool | int | float):
        return min(left, right)
    try:
        return left if left <= right else right  # type: ignore[operator]  # checked by trying
    except TypeError as unordered:
        raise ElementError(
            f"Min and Max cannot compare {format_value(left)} with {format_value(right)}"
        ) from unordered


def _require_values(accumulator: A | None, combiner: str) -> A:
    if accumulator is None:
        raise ValueRangeError(f"{combiner} of no values is undefined")
    return accumulator
