"""Combiners that return collections of values, and combiners of booleans."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from attrs import frozen

from flowalg.combiners.core import BuiltIn, Combiner, Group, require_orderable
from flowalg.data.errors import ArgumentError, ElementError, format_value
from flowalg.data.values import comparable
from flowalg.elementwise.functions import user_function_error

A = TypeVar("A")


@frozen
class ToList(BuiltIn, Combiner[A, tuple[A, ...], list[A]]):
    """All values, ordered by event time, then by value: the values that ``group_by_key`` returns."""

    @property
    def has_empty_result(self) -> bool:
        """The list of no values is empty."""
        return True

    @property
    def is_ordered(self) -> bool:
        """A list is ordered."""
        return True

    def zero(self) -> tuple[A, ...]:  # noqa: D102
        return ()

    def add(self, accumulator: tuple[A, ...], value: A) -> tuple[A, ...]:  # noqa: D102
        return (*accumulator, value)

    def merge(self, left: tuple[A, ...], right: tuple[A, ...]) -> tuple[A, ...]:  # noqa: D102
        return (*left, *right)

    def extract(self, accumulator: tuple[A, ...]) -> list[A]:  # noqa: D102
        return list(accumulator)


@frozen
class ToSet(BuiltIn, Combiner[A, frozenset[A], frozenset[A]]):
    """The distinct values, which must be hashable. NaN equals NaN."""

    @property
    def has_empty_result(self) -> bool:
        """The set of no values is empty."""
        return True

    def zero(self) -> frozenset[A]:  # noqa: D102
        return frozenset()

    def add(self, accumulator: frozenset[A], value: A) -> frozenset[A]:  # noqa: D102
        return accumulator | {value}

    def merge(self, left: frozenset[A], right: frozenset[A]) -> frozenset[A]:  # noqa: D102
        return left | right

    def extract(self, accumulator: frozenset[A]) -> frozenset[A]:  # noqa: D102
        return frozenset({comparable(value): value for value in accumulator}.values())


@frozen
class TopN(BuiltIn, Combiner[A, tuple[A, ...], list[A]]):
    """The ``n`` greatest values in descending order, compared by ``by(value)`` or by the value itself.

    Among values that compare equal the choice is arbitrary, so ``by`` should be unique where that matters.

    Example:

    >>> results(scores.combine_globally(TopN(2, by=lambda s: s.points)).map(lambda top: [s.points for s in top]))
    [[7, 5]]
    """

    @property
    def has_empty_result(self) -> bool:
        """The list of no values is empty."""
        return True

    n: int
    by: Callable[[A], object] | None = None

    def __attrs_post_init__(self) -> None:
        if isinstance(self.n, bool) or not isinstance(self.n, int) or self.n < 1:
            raise ArgumentError("TopN.n", self.n, "a positive int")
        if self.by is not None and not callable(self.by):
            raise ArgumentError("TopN.by", self.by, "a function from a value to its sort key, or None")

    def zero(self) -> tuple[A, ...]:  # noqa: D102
        return ()

    def add(self, accumulator: tuple[A, ...], value: A) -> tuple[A, ...]:  # noqa: D102
        return self.merge(accumulator, (value,))

    def merge(self, left: tuple[A, ...], right: tuple[A, ...]) -> tuple[A, ...]:  # noqa: D102
        try:
            return tuple(sorted((*left, *right), key=self._rank, reverse=True)[: self.n])
        except TypeError as unordered:
            raise ElementError(
                f"TopN cannot order {format_value(left)} and {format_value(right)}"
            ) from unordered

    def extract(self, accumulator: tuple[A, ...]) -> list[A]:  # noqa: D102
        return list(accumulator)

    def _rank(self, value: A) -> Any:  # noqa: ANN401  # the result type of the user function
        if self.by is None:
            return require_orderable(value, "TopN")
        try:
            rank = self.by(value)
        except Exception as cause:
            raise user_function_error("TopN.by", self.by, value, cause) from cause
        return require_orderable(rank, "TopN")


@frozen
class Truths:
    """The accumulator of ``AnyOf`` and ``AllOf``: the numbers of true and of false values."""

    true: int = 0
    false: int = 0


class _Quantifier(BuiltIn, Group[bool, Truths, bool]):
    __slots__ = ()

    @property
    def has_empty_result(self) -> bool:
        """``AnyOf`` no values is false, ``AllOf`` no values is true."""
        return True

    def zero(self) -> Truths:
        return Truths()

    def add(self, accumulator: Truths, value: bool) -> Truths:
        return self.merge(accumulator, _count_truth(value, 1))

    def subtract(self, accumulator: Truths, value: bool) -> Truths:
        return self.merge(accumulator, _count_truth(value, -1))

    def merge(self, left: Truths, right: Truths) -> Truths:
        return Truths(left.true + right.true, left.false + right.false)


@frozen
class AnyOf(_Quantifier):
    """Whether any value is ``True``."""

    def extract(self, accumulator: Truths) -> bool:  # noqa: D102
        return accumulator.true > 0


@frozen
class AllOf(_Quantifier):
    """Whether all values are ``True``."""

    def extract(self, accumulator: Truths) -> bool:  # noqa: D102
        return accumulator.false <= 0


def _count_truth(value: object, weight: int) -> Truths:
    if not isinstance(value, bool):
        raise ElementError(f"the input of AnyOf and AllOf must be a bool; got {format_value(value)}")
    return Truths(true=weight) if value else Truths(false=weight)
