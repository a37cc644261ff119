"""Approximate counts of distinct values as a monoid: the result does not depend on the order of the values.

``docs/design.md`` explains the choice of the sketch.
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
"""The accumulator of ``ApproximateDistinct``: a set of hashes while it is small, then a sketch."""

FEW: Final = 64
"""The largest number of distinct values that is counted exactly."""


@frozen
class ApproximateDistinct(Combiner[object, Distinct, int]):
    """The approximate number of distinct values: exact up to 64, then estimated. Needs ``flowalg[sketches]``.

    Above 64 the estimator is HyperLogLog (Flajolet, Fusy, Gandouet, Meunier, AofA 2007) of the library Apache
    DataSketches, with the smallest sketch whose relative standard error is at most ``standard_error``. About 67 % of
    the estimates are within ``standard_error`` of the true count, and 95 % within twice that; there is no hard bound.
    A sketch takes about ``(1.04 / standard_error) ** 2`` bytes: 4 KiB at 0.02.

    Values are distinct if they compare unequal: 1, 1.0 and ``True`` count once. Values need canonical bytes, as
    ``flowalg.data.hashing`` defines them: scalars, enums, and tuples, lists and records of them. NaN, which does not
    equal itself, and naive datetimes are rejected. The result depends only on the set of values, not on their order,
    their repetition or the process.
    """

    @property
    def has_empty_result(self) -> bool:
        """No values have zero distinct values."""
        return True

    standard_error: float = 0.02
    lg_k: int = field(init=False, repr=False, eq=False)

    def __attrs_post_init__(self) -> None:
        object.__setattr__(self, "lg_k", _lg_k(self.standard_error))

    def zero(self) -> Distinct:  # noqa: D102
        return frozenset()

    def add(self, accumulator: Distinct, value: object) -> Distinct:  # noqa: D102
        value_hash = hash64(value, "the input of ApproximateDistinct")
        if isinstance(accumulator, bytes):
            return hyperloglog.add_hashes(accumulator, (value_hash,))
        return accumulator if value_hash in accumulator else self._from_hashes(accumulator | {value_hash})

    def merge(self, left: Distinct, right: Distinct) -> Distinct:  # noqa: D102
        if isinstance(left, bytes):
            if isinstance(right, bytes):
                return hyperloglog.merge(left, right, self.lg_k)
            return hyperloglog.add_hashes(left, right)
        if isinstance(right, bytes):
            return hyperloglog.add_hashes(right, left)
        return self._from_hashes(left | right)

    def extract(self, accumulator: Distinct) -> int:  # noqa: D102
        if isinstance(accumulator, bytes):
            return round(hyperloglog.estimate(accumulator))
        return len(accumulator)

    def _from_hashes(self, hashes: frozenset[int]) -> Distinct:
        return hashes if len(hashes) <= FEW else hyperloglog.sketch(hashes, self.lg_k)

    @staticmethod
    def of(f: Callable[[A], object], *, standard_error: float = 0.02) -> Aggregate[A, int]:
        """Returns a combiner for the approximate number of distinct results of ``f``."""
        return Over(Call(f), ApproximateDistinct(standard_error))  # type: ignore[arg-type]  # as in Mean.of


def _lg_k(standard_error: object) -> int:
    """Returns the base-2 logarithm of the number of registers of the smallest sketch with at most this error."""
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
