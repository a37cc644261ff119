"""Jobs about what is computed: combiners in the global window. The plainest ones are in the jobs about sales."""

from __future__ import annotations

from collections.abc import Callable

from flowalg import (
    KV,
    Aggregate,
    AllOf,
    AnyOf,
    ApproximateDistinct,
    Quantile,
    Quantiles,
    ToList,
    TopN,
    ToSet,
    Variance,
    combiner,
    reduce_combiner,
)
from flowalg_laws.conformance.jobs.feeds import SOME
from flowalg_laws.conformance.jobs.job import Answer, Job, job
from flowalg_laws.kit.readings import READINGS, VALUES, Reading


def combined(name: str, what: Aggregate[int, object], plain: Callable[[list[int]], object]) -> Job:
    """A job about a combiner of integers: ``plain`` gives its result for values in order of event time."""

    def oracle(readings: list[Reading]) -> Answer:
        for key in ("a", "b"):
            of_key = sorted((reading for reading in readings if reading.key == key), key=lambda one: one.at)
            yield KV(key, plain([one.value for one in of_key])), None

    return job(VALUES.combine_per_key(what), SOME, name=name, statement=f"{name}, of each key.")(oracle)


def variance(values: list[int]) -> float:
    """The population variance: of these few small integers it is exact to the last digit."""
    squares = sum(value * value for value in values) * len(values) - sum(values) ** 2
    return squares / len(values) ** 2


def product(one: int, other: int) -> int:
    """Associative and commutative."""
    return one * other


def multiplied(values: list[int]) -> int:
    """The product."""
    total = 1
    for value in values:
        total *= value
    return total


@job(
    READINGS.key_by(lambda one: one.key)
    .map_values(lambda one: one.value > 3)
    .combine_per_key(AnyOf(), AllOf()),
    SOME,
)
def any_and_all(readings: list[Reading]) -> Answer:
    """Whether any value, and whether every one, is large."""
    for key in ("a", "b"):
        large = [reading.value > 3 for reading in readings if reading.key == key]
        yield KV(key, (True in large, False not in large)), None


@job(
    VALUES.combine_per_key(Quantile(0.5, relative_error=0.01), Quantiles((0.01, 0.99))).map_values(
        lambda both: [round(both[0]), *map(round, both[1])], result=list[int]
    ),
    SOME,
)
def quantiles(readings: list[Reading]) -> Answer:
    """The value that a share q of the others is not above; small integers can be told apart after rounding."""
    for key in ("a", "b"):
        values = sorted(reading.value for reading in readings if reading.key == key)
        last = len(values) - 1
        yield KV(key, [values[last // 2], values[last // 100], values[99 * last // 100]]), None


def between(known: frozenset[int]) -> int:
    """From the least to the greatest."""
    return max(known) - min(known)


JOBS = (
    combined("a list", ToList(), list),
    combined("a set", ToSet(), frozenset),
    combined("the greatest two", TopN(2), lambda values: sorted(values)[:-3:-1]),
    combined("a variance", Variance(), variance),
    combined("about how many different ones", ApproximateDistinct(), lambda values: len(set(values))),
    combined("a product", reduce_combiner(product, zero=1, name="product"), multiplied),
    combined(
        "a spread",
        combiner(
            zero=frozenset[int](),
            add=lambda known, value: known | {value},
            merge=lambda one, other: one | other,
            extract=between,
            name="spread",
        ),
        lambda values: max(values) - min(values),
    ),
    any_and_all,
    quantiles,
)

__all__ = ["JOBS"]
