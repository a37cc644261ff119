"""Combiners that keep values: lists, sets, the greatest few; and what is true of some or all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from attrs import frozen

from flowalg.combiners.core import Combiner, Group, in_order
from flowalg.data.errors import ArgumentError, ElementError, format_value
from flowalg.elementwise.functions import user_function_error

A = TypeVar("A")


@frozen
class ToList(Combiner[A, tuple[A, ...], list[A]]):
    """All values, in order of event time and, within one, of arrival: the multiset that ``group_by_key`` gives."""

    @property
    def total(self) -> bool:
        """An empty list."""
        return True

    @property
    def ordered(self) -> bool:
        """A list has an order."""
        return True

    def zero(self) -> tuple[A, ...]:  # noqa: D102
        return ()

    def add(self, accumulator: tuple[A, ...], value: A) -> tuple[A, ...]:  # noqa: D102
        return (*accumulator, value)

    def merge(self, one: tuple[A, ...], other: tuple[A, ...]) -> tuple[A, ...]:  # noqa: D102
        return (*one, *other)

    def extract(self, accumulator: tuple[A, ...]) -> list[A]:  # noqa: D102
        return list(accumulator)


@frozen
class ToSet(Combiner[A, frozenset[A], frozenset[A]]):
    """The values, each once; they must be hashable."""

    @property
    def total(self) -> bool:
        """The empty set."""
        return True

    def zero(self) -> frozenset[A]:  # noqa: D102
        return frozenset()

    def add(self, accumulator: frozenset[A], value: A) -> frozenset[A]:  # noqa: D102
        return accumulator | {value}

    def merge(self, one: frozenset[A], other: frozenset[A]) -> frozenset[A]:  # noqa: D102
        return one | other

    def extract(self, accumulator: frozenset[A]) -> frozenset[A]:  # noqa: D102
        return accumulator


@frozen
class TopN(Combiner[A, tuple[A, ...], list[A]]):
    """The ``n`` greatest values, the greatest first, by ``by`` of a value or by the value itself.

    Of values that compare equal any may be kept, so ``by`` should tell apart what matters.
    """

    @property
    def total(self) -> bool:
        """An empty list."""
        return True

    n: int
    by: Callable[[A], object] | None = None

    def __attrs_post_init__(self) -> None:
        if isinstance(self.n, bool) or not isinstance(self.n, int) or self.n < 1:
            raise ArgumentError("TopN.n", self.n, "a positive int")
        if self.by is not None and not callable(self.by):
            raise ArgumentError("TopN.by", self.by, "a function from a value to what it is ordered by")

    def zero(self) -> tuple[A, ...]:  # noqa: D102
        return ()

    def add(self, accumulator: tuple[A, ...], value: A) -> tuple[A, ...]:  # noqa: D102
        return self.merge(accumulator, (value,))

    def merge(self, one: tuple[A, ...], other: tuple[A, ...]) -> tuple[A, ...]:  # noqa: D102
        try:
            return tuple(sorted((*one, *other), key=self._rank, reverse=True)[: self.n])
        except TypeError as unordered:
            raise ElementError(
                f"TopN cannot order {format_value(one)} and {format_value(other)}"
            ) from unordered

    def extract(self, accumulator: tuple[A, ...]) -> list[A]:  # noqa: D102
        return list(accumulator)

    def _rank(self, value: A) -> Any:  # noqa: ANN401  # whatever the user's function gives
        if self.by is None:
            return in_order(value, "TopN")
        try:
            rank = self.by(value)
        except Exception as cause:
            raise user_function_error("TopN.by", self.by, value, cause) from cause
        return in_order(rank, "TopN")


@frozen
class Truths:
    """The accumulator of ``AnyOf`` and ``AllOf``: how many are true, and how many are not."""

    true: int = 0
    false: int = 0


class _Quantifier(Group[bool, Truths, bool]):
    __slots__ = ()

    @property
    def total(self) -> bool:
        """None of none is true, and all of none are."""
        return True

    def zero(self) -> Truths:
        return Truths()

    def add(self, accumulator: Truths, value: bool) -> Truths:
        return self.merge(accumulator, _truth(value, 1))

    def subtract(self, accumulator: Truths, value: bool) -> Truths:
        return self.merge(accumulator, _truth(value, -1))

    def merge(self, one: Truths, other: Truths) -> Truths:
        return Truths(one.true + other.true, one.false + other.false)


@frozen
class AnyOf(_Quantifier):
    """Whether any of the values is ``True``."""

    def extract(self, accumulator: Truths) -> bool:  # noqa: D102
        return accumulator.true > 0


@frozen
class AllOf(_Quantifier):
    """Whether all of the values are ``True``."""

    def extract(self, accumulator: Truths) -> bool:  # noqa: D102
        return accumulator.false <= 0


def _truth(value: object, weight: int) -> Truths:
    if not isinstance(value, bool):
        raise ElementError(f"AnyOf and AllOf take bools, and were given {format_value(value)}")
    return Truths(true=weight) if value else Truths(false=weight)


__all__ = ["AllOf", "AnyOf", "ToList", "ToSet", "TopN", "Truths"]
