"""Checks of user-defined combiners: each finds its fault, and right ones pass."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

import pytest
from attrs import frozen
from flowalg_laws import check_combiner
from hypothesis import strategies as st

from flowalg import Aggregate, Mean, Sum, combiner
from flowalg.combiners import Combiner, Group
from flowalg.errors import UserFunctionError

NOTHING: Final[tuple[object, ...]] = (None,)
"""Stands for no value, by its identity."""


NO_VALUES: Final[tuple[int, ...]] = ()


@frozen
class Greatest(Combiner[int, object, int]):
    """The greatest value, which knows an accumulator without values by its identity."""

    def zero(self) -> object:
        """Returns the object."""
        return NOTHING

    def add(self, accumulator: object, value: int) -> object:
        """Returns the greater one."""
        return value if accumulator is NOTHING else self.merge(accumulator, value)

    def merge(self, left: object, right: object) -> object:
        """Returns the greater one."""
        if left is NOTHING or right is NOTHING:
            return right if left is NOTHING else left
        assert isinstance(left, int)
        assert isinstance(right, int)
        return max(left, right)

    def extract(self, accumulator: object) -> int:
        """Returns the value."""
        assert isinstance(accumulator, int)
        return accumulator


@frozen
class Clipped(Group[int, int, int]):
    """A number of values that is never negative."""

    def zero(self) -> int:
        """Returns zero."""
        return 0

    def add(self, accumulator: int, value: int) -> int:
        """Counts a value."""
        return accumulator + 1

    def merge(self, left: int, right: int) -> int:
        """Returns the sum."""
        return left + right

    def subtract(self, accumulator: int, value: int) -> int:
        """Counts one value less."""
        return max(0, accumulator - 1)

    def extract(self, accumulator: int) -> int:
        """Returns the number."""
        return accumulator


@frozen
class CountOfBundles(Combiner[int, int, int]):
    """A number of values; of values that are added together it counts one."""

    def zero(self) -> int:
        """Returns zero."""
        return 0

    def add(self, accumulator: int, value: int) -> int:
        """Counts a value."""
        return accumulator + 1

    def add_timed(self, accumulator: int, timed: Iterable[tuple[int, int]]) -> int:
        """Counts them all as one."""
        return accumulator + 1

    def merge(self, left: int, right: int) -> int:
        """Returns the sum."""
        return left + right

    def extract(self, accumulator: int) -> int:
        """Returns the number."""
        return accumulator


def latest(*, most: int) -> Aggregate[int, tuple[int, ...]]:
    """Returns a combiner of the last values that it was given, in ascending order."""

    def keep(values: tuple[int, ...], more: tuple[int, ...]) -> tuple[int, ...]:
        return (*values, *more)[-most:]

    def add(values: tuple[int, ...], value: int) -> tuple[int, ...]:
        return keep(values, (value,))

    def ascending(values: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(sorted(values))

    return combiner(zero=NO_VALUES, add=add, merge=keep, extract=ascending, name="latest")


def inverse(value: int) -> int:
    """Returns a part of ten; raises for zero."""
    return 10 // value


def delayed() -> Aggregate[int, int]:
    """Returns a sum whose accumulators are functions."""

    def of(total: int) -> Callable[[], int]:
        return lambda: total

    return combiner(
        zero=of(0),
        add=lambda total, value: of(total() + value),
        merge=lambda left, right: of(left() + right()),
        extract=lambda total: total(),
        name="delayed",
    )


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        (Clipped(), AssertionError, r"subtract\(a, v\) = merge\(a, subtract\(zero\(\), v\)\)"),
        (CountOfBundles(), AssertionError, r"add_timed\(a, .*\) = add\(add\(a, v\), v\)"),
        (Greatest(), UserFunctionError, r"Greatest\.merge: merge at .* raised AssertionError"),
        (latest(most=40), AssertionError, r"merge\(a, b\) = merge\(b, a\)"),
        (delayed(), AssertionError, r"an accumulator of delayed cannot be stored: .* is not data"),
        (Sum.of(inverse), UserFunctionError, "raised ZeroDivisionError"),
    ],
    ids=["clipped", "bundles", "identity", "some values", "functions", "raises"],
)
@pytest.mark.usefixtures("unshrunk")
def test_each_fault_is_found(wrong: Aggregate[int, object], error: type[Exception], message: str) -> None:
    """A combiner that breaks a law fails with the law, or with the function that raises."""
    with pytest.raises(error, match=message):
        check_combiner(wrong, st.integers(-3, 3))


@pytest.mark.parametrize("right", [Sum(), Mean()], ids=str)
def test_a_result_may_be_nan(right: Aggregate[float, object]) -> None:
    """NaN equals NaN, as in the contract."""
    check_combiner(right, st.sampled_from([1.0, float("inf"), -float("inf"), float("nan")]))
