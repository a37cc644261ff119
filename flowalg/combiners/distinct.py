"""Approximate counts of distinct values that are a monoid: the same in whatever order the values come.

``docs/design.md`` says which sketch was chosen, and why.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias, TypeVar

from attrs import field, frozen

from flowalg.combiners import hyperloglog
from flowalg.combiners.core import Aggregate, Combiner, Over
from flowalg.data.errors import ArgumentError
from flowalg.data.hashing import hash64
from flowalg.elementwise.functions import Call

A = TypeVar("A")

Distinct: TypeAlias = frozenset[int] | bytes
"""The accumulator of ``ApproximateDistinct``: the hashes themselves while they are few, then a sketch of them."""

FEW: Final = 64
"""How many distinct values are counted exactly."""


@frozen
class ApproximateDistinct(Combiner[object, Distinct, int]):
    """About how many different values there are: exactly up to 64 of them, then estimated. Needs ``flowalg[sketches]``.

    Above 64 the estimate is HyperLogLog's (Flajolet, Fusy, Gandouet, Meunier, AofA 2007), by the library Apache
    DataSketches, with the smallest sketch whose relative standard error is at most ``standard_error``. So about two
    estimates in three are within ``standard_error`` of the truth, and 95 in 100 within twice that: no bound is certain.
    A sketch takes about ``(1.04 / standard_error) ** 2`` bytes: 4 KiB at 0.02.

    Values are different when ``==`` says so: 1, 1.0 and ``True`` are one value. They may be whatever
    ``flowalg.hashing`` has canonical bytes for: scalars, enums, and tuples, lists and records of them. NaN, which
    equals nothing, and naive datetimes are refused. The result depends on the set of values alone: on neither order,
    nor repetition, nor process.
    """

    @property
    def total(self) -> bool:
        """None is distinct."""
        return True

    standard_error: float = 0.02
    lg_k: int = field(init=False, repr=False, eq=False)

    def __attrs_post_init__(self) -> None:
        object.__setattr__(self, "lg_k", _lg_k(self.standard_error))

    def zero(self) -> Distinct:  # noqa: D102
        return frozenset()

    def add(self, accumulator: Distinct, value: object) -> Distinct:  # noqa: D102
        found = hash64(value, "a value of ApproximateDistinct")
        if isinstance(accumulator, bytes):
            return hyperloglog.with_hashes(accumulator, (found,))
        return accumulator if found in accumulator else self._small(accumulator | {found})

    def merge(self, one: Distinct, other: Distinct) -> Distinct:  # noqa: D102
        if isinstance(one, bytes):
            if isinstance(other, bytes):
                return hyperloglog.merged(one, other, self.lg_k)
            return hyperloglog.with_hashes(one, other)
        if isinstance(other, bytes):
            return hyperloglog.with_hashes(other, one)
        return self._small(one | other)

    def extract(self, accumulator: Distinct) -> int:  # noqa: D102
        if isinstance(accumulator, bytes):
            return round(hyperloglog.estimate(accumulator))
        return len(accumulator)

    def _small(self, hashes: frozenset[int]) -> Distinct:
        return hashes if len(hashes) <= FEW else hyperloglog.sketch_of(hashes, self.lg_k)

    @staticmethod
    def of(f: Callable[[A], object], *, standard_error: float = 0.02) -> Aggregate[A, int]:
        """About how many different values ``f`` gives."""
        return Over(Call(f), ApproximateDistinct(standard_error))  # type: ignore[arg-type]  # as in Mean.of


def _lg_k(standard_error: object) -> int:
    """The base-2 logarithm of the number of registers of the smallest sketch that is as good."""
    sizes = range(hyperloglog.SMALLEST_LG_K, hyperloglog.LARGEST_LG_K + 1)
    errors = {lg_k: hyperloglog.relative_standard_error(lg_k) for lg_k in sizes}
    if (
        not isinstance(standard_error, bool)
        and isinstance(standard_error, int | float)
        and standard_error < 1
    ):
        for lg_k, error in errors.items():
            if error <= standard_error:
                return lg_k
    least = errors[hyperloglog.LARGEST_LG_K]
    raise ArgumentError(
        "ApproximateDistinct.standard_error",
        standard_error,
        f"a number from {least:.5f} to below 1, such as 0.02",
    )


__all__ = ["FEW", "ApproximateDistinct", "Distinct"]
