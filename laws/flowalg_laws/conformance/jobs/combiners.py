"""Jobs about combiners, in the global window. The jobs about sales cover the most common combiners."""

from __future__ import annotations

from collections.abc import Callable

from flowalg import KV, Aggregate, Count, Quantile, ToList, TopN, combiner
from flowalg.combiners import AllOf, AnyOf, Quantiles, ToSet, Variance, reduce_combiner
from flowalg_laws.conformance.jobs.feeds import SOME
from flowalg_laws.conformance.jobs.job import Answer, Job, job
from flowalg_laws.kit.readings import READINGS, VALUES, Reading
from flowalg_laws.kit.sketches import distinct_counts


def of_combiner(name: str, aggregate: Aggregate[int, object], plain: Callable[[list[int]], object]) -> Job:
    """Makes a job for a combiner of integers; ``plain`` computes its result from the values in order of event time."""

    def oracle(readings: list[Reading]) -> Answer:
        for key in ("a", "b"):
            of_key = sorted(
                (reading for reading in readings if reading.key == key), key=lambda reading: reading.at
            )
            yield KV(key, plain([reading.value for reading in of_key])), None

    return job(VALUES.combine_per_key(aggregate), SOME, name=name, statement=f"{name}, of each key.")(oracle)


def variance(values: list[int]) -> float:
    """Returns the population variance, which is exact for these small integers."""
    squares = sum(value * value for value in values) * len(values) - sum(values) ** 2
    return squares / len(values) ** 2


def product(left: int, right: int) -> int:
    """Returns the product of two integers, an associative and commutative function."""
    return left * right


def multiply_all(values: list[int]) -> int:
    """Returns the product of all values."""
    total = 1
    for value in values:
        total *= value
    return total


@job(
    READINGS.key_by(lambda reading: reading.key)
    .map_values(lambda reading: reading.value > 3)
    .combine_per_key(AnyOf()),
    SOME,
)
def any_of_each_key(readings: list[Reading]) -> Answer:
    """Whether any value is large."""
    for key in ("a", "b"):
        yield KV(key, any(reading.value > 3 for reading in readings if reading.key == key)), None


@job(
    READINGS.key_by(lambda reading: reading.key)
    .map_values(lambda reading: reading.value > 3)
    .combine_per_key(AllOf()),
    SOME,
)
def all_of_each_key(readings: list[Reading]) -> Answer:
    """Whether all values are large."""
    for key in ("a", "b"):
        yield KV(key, all(reading.value > 3 for reading in readings if reading.key == key)), None


@job(
    READINGS.key_by(lambda reading: reading.key).combine_per_key(
        TopN[Reading](2, by=lambda reading: (reading.value, reading.at)), Count()
    ),
    SOME,
)
def greatest_records(readings: list[Reading]) -> Answer:
    """The greatest two records by two of their fields, and the number of all."""
    for key in ("a", "b"):
        records = [reading for reading in readings if reading.key == key]
        ordered = sorted(records, key=lambda reading: (reading.value, reading.at), reverse=True)
        yield KV(key, (ordered[:2], len(records))), None


@job(
    VALUES.combine_per_key(Quantile(0.5, relative_error=0.01)).map_values(round, result=int),
    SOME,
)
def a_quantile(readings: list[Reading]) -> Answer:
    """The q-quantile; small integers remain distinct after rounding."""
    for key in ("a", "b"):
        values = sorted(reading.value for reading in readings if reading.key == key)
        yield KV(key, values[(len(values) - 1) // 2]), None


@job(
    VALUES.combine_per_key(Quantiles((0.01, 0.99))).map_values(
        lambda both: list(map(round, both)), result=list[int]
    ),
    SOME,
)
def quantiles(readings: list[Reading]) -> Answer:
    """Several q-quantiles at once."""
    for key in ("a", "b"):
        values = sorted(reading.value for reading in readings if reading.key == key)
        last = len(values) - 1
        yield KV(key, [values[last // 100], values[99 * last // 100]]), None


def between(values: frozenset[int]) -> int:
    """Returns the difference of the greatest and the least value."""
    return max(values) - min(values)


JOBS = (
    of_combiner("a list", ToList(), list),
    of_combiner("a set", ToSet(), frozenset),
    of_combiner("the greatest two", TopN(2), lambda values: sorted(values)[:-3:-1]),
    of_combiner(
        "the greatest two by a tuple",
        TopN(2, by=lambda value: (value % 2, -value)),
        lambda values: sorted(values, key=lambda value: (-(value % 2), value))[:2],
    ),
    of_combiner("a variance", Variance(), variance),
    *(
        of_combiner("an approximate distinct count", distinct, lambda values: len(set(values)))
        for distinct in distinct_counts()
    ),
    of_combiner("a product", reduce_combiner(product, zero=1, name="product"), multiply_all),
    of_combiner(
        "a spread",
        combiner(
            zero=frozenset[int](),
            add=lambda values, value: values | {value},
            merge=lambda reading, right: reading | right,
            extract=between,
            name="spread",
        ),
        lambda values: max(values) - min(values),
    ),
    any_of_each_key,
    all_of_each_key,
    greatest_records,
    a_quantile,
    quantiles,
)
