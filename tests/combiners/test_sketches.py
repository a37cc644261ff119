"""Sketches: the same result in any order, and within the error that their docstrings state.

Other combiners are tested on a few values; a sketch may fail on many, so values are ranges here.
"""

from __future__ import annotations

import math
import os
import pickle
import random
import sys
from collections.abc import Callable, Iterable
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from functools import reduce
from pathlib import Path

import flowalg_reference as reference
import pytest
from attrs import frozen
from flowalg_laws import READINGS, VALUES, apply_windowing, check_combiner, windowing_strategies
from flowalg_laws.laws.combiners import COMBINER_LAWS
from flowalg_laws.strategies import free_timelines
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from flowalg import (
    FOREVER,
    KV,
    Accumulation,
    Aggregate,
    AtCount,
    FixedWindows,
    Pane,
    PCollection,
    Quantile,
    Repeat,
    Window,
)
from flowalg.combiners import ApproximateDistinct, Quantiles
from flowalg.combiners.core import require_combiner
from flowalg.combiners.distinct import FEW, Distinct
from flowalg.combiners.hyperloglog import relative_standard_error
from flowalg.combiners.quantiles import Buckets
from flowalg.combiners.result_shapes import combined_shape
from flowalg.data.hashing import canonical_bytes, hash64
from flowalg.data.shapes import FLOAT, INTEGER, TEXT, ListOf
from flowalg.errors import ArgumentError, ElementError, RecordTypeError, ValueRangeError
from tests.support.programs import run_code, run_program
from tests.support.scores import POINTS, SCORES, Score, minute

pytest.importorskip("datasketches", reason="datasketches has no wheel for this version of Python")

ROOT = Path(__file__).parents[2]
NORMAL = st.floats(allow_nan=False, allow_infinity=False, allow_subnormal=False)
NUMBERS = st.one_of(NORMAL, st.integers(-(2**63), 2**63 - 1), st.sampled_from([0.0, -0.0]))
RANGES = st.lists(st.builds(range, st.integers(0, 400), st.integers(0, 900)), min_size=1, max_size=5)
DISTINCT = st.sampled_from([0.09, 0.05, 0.02]).map(ApproximateDistinct)
QS = st.one_of(st.sampled_from([0, 0.29, 0.5, 0.95, 1]), st.floats(0, 1))
ERRORS = st.sampled_from([1e-6, 0.001, 1 / 129, 0.01, 0.05, 0.3, 0.5, 0.99])


class Colour(Enum):
    """An enum."""

    RED = 1
    BLUE = 2


@frozen
class Place:
    """A record of coordinates."""

    city: str
    number: float


ZONES = st.sampled_from([UTC, timezone(timedelta(hours=2)), timezone(-timedelta(hours=5, minutes=30))])
SCALARS: SearchStrategy[object] = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.integers(),
    st.floats(allow_nan=False),
    st.sampled_from(
        [0.0, -0.0, 0.5, Decimal("0.5"), Decimal("1.0"), Decimal("Infinity"), math.inf, "1", b"1"]
    ),
    st.decimals(allow_nan=False, places=3),
    st.text(st.characters(), max_size=3),
    st.binary(max_size=3),
    st.datetimes(datetime(2024, 1, 1), datetime(2024, 1, 2), timezones=ZONES),
    st.dates(date(2024, 1, 1), date(2024, 1, 3)),
    st.timedeltas(timedelta(0), timedelta(1)),
    st.sampled_from(Colour),
)
KEYS: SearchStrategy[object] = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(tuple),
        st.frozensets(inner, max_size=3),
        st.builds(KV, inner, inner),
        st.builds(Place, st.text(max_size=2), st.floats(allow_nan=False)),
    ),
    max_leaves=4,
)


def distinct_of(combiner: ApproximateDistinct, values: Iterable[object]) -> Distinct:
    """Returns the accumulator of some values."""
    return reduce(combiner.add, values, combiner.zero())


@given(KEYS, KEYS)
@example(1, True)
@example(-0.0, 0)
@example(("a", "sb"), ("as", "b"))
@example(("a", ("b",)), ("a", "b"))
def test_canonical_bytes_are_equal_exactly_if_values_are(first: object, second: object) -> None:
    """The bytes of two values are equal exactly if the values are: 1, 1.0 and True, but not text and bytes."""
    same = canonical_bytes(first, "it") == canonical_bytes(second, "it")
    assert same == (first == second)


def test_lists_have_canonical_bytes() -> None:
    """Lists have canonical bytes, although they are not hashable, and differ from tuples."""
    assert canonical_bytes([1, 2], "it") != canonical_bytes((1, 2), "it")
    assert canonical_bytes([1, "2"], "it") == canonical_bytes([1.0, "2"], "it")


def test_hashes_are_the_same_in_every_process() -> None:
    """Hashes are the same in every process and release, since stored state depends on them."""
    values = (
        "1, 'a', b'a', None, 0.5, ('a', 1), KV('a', 1), datetime(2020, 1, 1, tzinfo=UTC), frozenset('abc')"
    )
    code = (
        "from datetime import *; from flowalg import KV; from flowalg.data.hashing import hash64\n"
        f"print(*(hash64(value, 'it') for value in ({values})))"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "7"}
    process = run_program([sys.executable, "-c", code], check=True, cwd=ROOT, env=environment)
    here = (1, "a", b"a", None, 0.5, ("a", 1), KV("a", 1), datetime(2020, 1, 1, tzinfo=UTC), frozenset("abc"))
    assert process.stdout.split() == [str(hash64(value, "it")) for value in here]
    assert [hash64(value, "it") for value in here[:3]] == [
        3477488904765038735,
        -6564837394086784237,
        -1279185843959206790,
    ]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (math.nan, "must equal itself, which NaN does not; got nan"),
        (Decimal("NaN"), "must equal itself"),
        (datetime(2024, 1, 1), "must be a timezone-aware datetime"),
        ({"a": 1}, r"must be None, bool, int, .* records of them; got \{'a': 1\} \(dict\)"),
        (("a", object()), "must be None, .*; got <object object"),
    ],
)
def test_values_without_canonical_bytes_are_errors(value: object, message: str) -> None:
    """A value without canonical bytes is an error that names its type, also inside another value."""
    with pytest.raises(ElementError, match=f"^the input of ApproximateDistinct {message}"):
        ApproximateDistinct().add(frozenset(), value)


@given(st.lists(KEYS, max_size=FEW))
def test_few_distinct_values_are_counted_exactly(values: list[object]) -> None:
    """Few distinct values are counted exactly."""
    combiner = ApproximateDistinct()
    assert combiner.extract(distinct_of(combiner, values)) == len(set(values))


def test_distinct_counts_satisfy_the_laws() -> None:
    """Distinct counts of a few values of several kinds satisfy the laws."""
    check_combiner(ApproximateDistinct(), KEYS)
    check_combiner(ApproximateDistinct.of(str, standard_error=0.1), st.integers(-5, 5))


@given(DISTINCT, RANGES, RANGES, RANGES, st.integers(0, 1000))
def test_distinct_counts_of_many_values_satisfy_the_laws(
    combiner: ApproximateDistinct, first: list[range], second: list[range], third: list[range], value: int
) -> None:
    """Distinct counts of many values satisfy the laws with equal accumulators: exact ones, sketches and mixtures."""

    class Accumulator(ApproximateDistinct):
        """A combiner whose result is its accumulator."""

        def extract(self, accumulator: Distinct) -> Distinct:  # type: ignore[override]  # on purpose
            return accumulator

    bags = [[number for part in bag for number in part] for bag in (first, second, third)]
    a, b, c = (distinct_of(combiner, bag) for bag in bags)
    for law in COMBINER_LAWS:
        assert law.holds(require_combiner("it", combiner), a, b, c, value), law
        assert law.holds(require_combiner("it", Accumulator(combiner.standard_error)), a, b, c, value), law


@given(DISTINCT, RANGES, st.randoms(use_true_random=False), st.integers(1, 7))
def test_a_distinct_count_depends_only_on_the_set(
    combiner: ApproximateDistinct, ranges: list[range], rng: random.Random, bundles: int
) -> None:
    """A distinct count depends only on the set of values, not on order, repetitions, bundles or merges."""
    values = [str(value) for part in ranges for value in part]
    once = distinct_of(combiner, sorted(set(values)))
    rng.shuffle(values)
    parts = [distinct_of(combiner, values[number::bundles]) for number in range(bundles)]
    while len(parts) > 1:
        rng.shuffle(parts)
        parts = [combiner.merge(parts[0], parts[1]), *parts[2:]]
    assert parts[0] == once
    assert hash(parts[0]) == hash(once)
    assert pickle.loads(pickle.dumps(once)) == once


@pytest.mark.parametrize("standard_error", [0.09, 0.05, 0.02])
@pytest.mark.parametrize("many", [100, 1_000, 10_000])
def test_the_error_of_a_distinct_count_is_as_stated(standard_error: float, many: int) -> None:
    """The root mean squared error over thirty sets is near the standard error, and no error is four times as large."""
    combiner = ApproximateDistinct(standard_error)
    errors = []
    for trial in range(30):
        halves = [[f"{trial}-{number}" for number in range(start, many, 2)] for start in (0, 1)]
        first, second = (distinct_of(combiner, half) for half in halves)
        errors.append(combiner.extract(combiner.merge(first, second)) / many - 1)
    assert math.sqrt(sum(error * error for error in errors) / len(errors)) <= 1.2 * standard_error
    assert max(map(abs, errors)) <= 4 * standard_error


@pytest.mark.parametrize("standard_error", [0.001, 0.0163, 0.02, 0.0919, 0.5])
def test_a_sketch_has_the_smallest_sufficient_precision(standard_error: float) -> None:
    """The precision of a sketch is the smallest that meets the stated error."""
    lg_k = ApproximateDistinct(standard_error).lg_k
    assert relative_standard_error(lg_k) <= standard_error
    assert lg_k == 7 or relative_standard_error(lg_k - 1) > standard_error
    assert len(distinct_of(ApproximateDistinct(0.02), range(FEW + 1))) < 4200


def test_a_distinct_count_needs_its_library() -> None:
    """Without its library a distinct count is an error at construction that names the package to install."""
    code = (
        "import sys; sys.modules['datasketches'] = None\n"
        "import flowalg\n"
        "flowalg.Quantile(0.5)\n"
        "try: flowalg.combiners.ApproximateDistinct()\n"
        "except flowalg.errors.MissingExtraError as error: print(error)"
    )
    printed = run_code(code)
    message = "ApproximateDistinct needs the package datasketches: pip install 'flowalg[sketches]'"
    assert printed.strip() == message


def buckets_of(combiner: Quantile | Quantiles, values: Iterable[float]) -> Buckets:
    """Returns the accumulator of some values."""
    return reduce(combiner.add, values, combiner.zero())


def exact_quantile(values: Iterable[float], q: float) -> float:
    """Returns the value of rank ``floor(q * (n - 1))``, for ``q`` as a decimal."""
    ordered = sorted(values)
    return ordered[math.floor(Fraction(repr(q)) * (len(ordered) - 1))]


def assert_close(estimate: float, exact: float, relative_error: float) -> None:
    """Asserts the relative error, judged exactly but for one unit in the last place."""
    allowed = Fraction(relative_error) * abs(Fraction(exact)) * (1 + Fraction(1, 2**50))
    assert abs(Fraction(estimate) - Fraction(exact)) <= allowed + abs(Fraction(exact)) / 2**51


@given(st.lists(NUMBERS, min_size=1, max_size=40), QS, ERRORS)
@example([5e-324], 0.5, 0.01)
@example([sys.float_info.max, -sys.float_info.max, sys.float_info.min], 1, 0.5)
@example(list(range(101)), 0.29, 0.001)
def test_a_quantile_is_within_its_relative_error(
    values: list[float], q: float, relative_error: float
) -> None:
    """A quantile is within its relative error over all floats; subnormal numbers count as zero."""
    combiner = Quantile(q, relative_error=relative_error)
    quantile = combiner.extract(buckets_of(combiner, values))
    normal = [0.0 if abs(value) < sys.float_info.min else value for value in values]
    assert_close(quantile, exact_quantile(normal, q), relative_error)


DISTRIBUTIONS: dict[str, Callable[[random.Random], float]] = {
    "uniform": lambda chance: chance.uniform(0, 1000),
    "normal": lambda chance: chance.gauss(0, 5),
    "log-normal": lambda chance: chance.lognormvariate(3, 2),
    "pareto": lambda chance: chance.paretovariate(0.8),
    "few integers": lambda chance: chance.choice([0, 1, 1, 2, -7, 2**62]),
    "over all magnitudes": lambda chance: chance.choice([1, -1]) * 10 ** chance.uniform(-300, 300),
}


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
@pytest.mark.parametrize("relative_error", [0.001, 0.01, 0.1])
def test_quantiles_of_many_values_are_within_their_relative_error(
    distribution: str, relative_error: float
) -> None:
    """101 quantiles of three thousand values in two bundles are within their relative error."""
    rng = random.Random(f"{distribution} {relative_error}")
    values = [DISTRIBUTIONS[distribution](rng) for _ in range(3000)]
    qs = [number / 100 for number in range(101)]
    combiner = Quantiles(qs, relative_error=relative_error)
    bundles = buckets_of(combiner, values[:1000]), buckets_of(combiner, values[1000:])
    for q, quantile in zip(qs, combiner.extract(combiner.merge(*bundles)), strict=True):
        assert_close(quantile, exact_quantile(values, q), relative_error)


def test_quantiles_satisfy_the_laws() -> None:
    """Quantiles of integers and floats of all magnitudes satisfy the laws exactly."""
    check_combiner(Quantile(0.5), NUMBERS)
    check_combiner(Quantiles((0.1, 0.9), relative_error=0.3), NUMBERS)
    check_combiner(Quantile.of(len, 0.5), st.text())


@given(st.lists(NUMBERS), st.lists(NUMBERS), st.randoms(use_true_random=False))
def test_quantiles_depend_only_on_the_bag_and_subtract_undoes_add(
    values: list[float], others: list[float], rng: random.Random
) -> None:
    """Accumulators of quantiles depend only on the bag of values, and ``subtract`` undoes ``add``."""
    combiner = Quantiles((0.5,))
    changes = [(combiner.add, value) for value in [*values, *others]] + [
        (combiner.subtract, value) for value in others
    ]
    rng.shuffle(changes)
    accumulator = combiner.zero()
    for change, value in changes:
        accumulator = change(accumulator, value)
    assert accumulator == buckets_of(combiner, values)
    assert hash(accumulator) == hash(buckets_of(combiner, values))
    assert pickle.loads(pickle.dumps(accumulator)) == accumulator


def test_a_retraction_before_its_value_is_not_counted() -> None:
    """A retraction that arrives before its value is kept for it; the result ignores both until then."""
    combiner = Quantile(0.5, relative_error=0.001)
    early = combiner.subtract(buckets_of(combiner, [3.0, 4.0]), 100.0)
    assert_close(combiner.extract(early), 3.0, 0.001)
    with pytest.raises(ValueRangeError, match="Quantile of no values is undefined"):
        combiner.extract(combiner.subtract((), 1.0))


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, True, "3", None])
def test_values_of_quantiles_must_be_finite_numbers(value: object) -> None:
    """Quantiles raise an error for NaN, infinities and non-numbers, with the value and its type."""
    with pytest.raises(
        ElementError, match=r"the input of Quantile must be (an int, a float or a Decimal|finite); got "
    ):
        Quantile(0.5).add((), value)  # type: ignore[arg-type]


def test_integers_of_quantiles_must_fit_into_64_bits() -> None:
    """Quantiles raise an error for an integer beyond 64 bits."""
    with pytest.raises(ValueRangeError, match="the input of Quantile is 1000.*, which overflows 64 bits"):
        Quantile(0.5).add((), 10**400)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (
            lambda: Quantile(1.5),
            r"the quantile must be a number from 0 to 1, such as 0.95; got 1.5 \(float\)",
        ),
        (lambda: Quantile(True), "the quantile must be .*; got True"),
        (lambda: Quantile(math.nan), "the quantile must be .*; got nan"),
        (
            lambda: Quantile(0.5, relative_error=0),
            "relative_error must be a number from 1e-06 to below 1, such as 0.01; got 0",
        ),
        (lambda: Quantile(0.5, relative_error=1), "relative_error must be .*; got 1 "),
        (lambda: Quantiles(()), r"Quantiles.qs must be .*; got \(\)"),
        (lambda: Quantiles("0.5"), "Quantiles.qs must be .*; got '0.5'"),  # type: ignore[arg-type]
        (lambda: Quantiles((0.5, -1)), "the quantile must be .*; got -1"),
        (
            lambda: ApproximateDistinct(0),
            "standard_error must be .*from 0.00072 to below 1, such as 0.02; got 0",
        ),
        (lambda: ApproximateDistinct(1), "standard_error must be .*; got 1 "),
        (lambda: ApproximateDistinct("2%"), "standard_error must be .*; got '2%'"),  # type: ignore[arg-type]
    ],
)
def test_invalid_parameters_are_errors_at_construction(build: Callable[[], object], message: str) -> None:
    """The error of an invalid parameter of a sketch says what is valid."""
    with pytest.raises(ArgumentError, match=message):
        build()


@pytest.mark.parametrize("combiner", [Quantile(0.5), Quantiles([0, 1]), ApproximateDistinct(0.05)])
def test_sketch_combiners_equal_their_pickled_copies(
    combiner: Quantile | Quantiles | ApproximateDistinct,
) -> None:
    """A sketch combiner equals its pickled copy."""
    loaded = pickle.loads(pickle.dumps(combiner))
    assert loaded == combiner
    assert hash(loaded) == hash(combiner)


def test_results_of_sketches_have_shapes() -> None:
    """Results of sketches have shapes, and values without quantiles are errors at construction."""
    assert combined_shape(require_combiner("it", Quantile(0.5)), INTEGER) == FLOAT
    assert combined_shape(require_combiner("it", Quantiles((0.5,))), FLOAT) == ListOf(FLOAT)
    assert combined_shape(require_combiner("it", ApproximateDistinct()), TEXT) == INTEGER
    with pytest.raises(
        RecordTypeError,
        match="Quantile does not accept values of type Score; it accepts int, float and Decimal",
    ):
        SCORES.key_by(lambda s: s.team).combine_per_key(Quantile(0.5)).map(lambda pair: pair)  # type: ignore[arg-type]


def test_a_pipeline_of_sketches_equals_plain_python() -> None:
    """A pipeline of sketches has the results of plain Python."""
    scores = [Score("a", number % 70, minute(number % 3)) for number in range(500)]
    both = SCORES.key_by(lambda s: s.team).combine_per_key(
        Quantile.of(lambda s: s.points, 0.5, relative_error=0.001), ApproximateDistinct.of(lambda s: s.points)
    )
    (pane,) = reference.run_batch(both, {SCORES: scores}).panes
    median, distinct = pane.value
    assert_close(median, exact_quantile([s.points for s in scores], 0.5), 0.001)
    assert distinct == pytest.approx(70, rel=0.06)
    assert repr(POINTS.combine_per_key(ApproximateDistinct())).endswith(
        "combine_per_key(ApproximateDistinct))"
    )


COMBINERS: list[Aggregate[int, object]] = [Quantile(0.5), Quantiles((0, 0.9)), ApproximateDistinct()]


def last_panes(run: reference.ReferenceRun[KV[str, object]]) -> dict[tuple[str, Window], object]:
    """Returns the last value of each key and window."""
    return {(pane.key, pane.window): pane.value for pane in run.panes}


@given(st.data(), st.sampled_from(COMBINERS))
def test_the_last_panes_of_a_stream_equal_the_batch(
    data: st.DataObject, combiner: Aggregate[int, object]
) -> None:
    """The last accumulating pane of each window equals the batch's, whatever the instants."""
    collection: PCollection[KV[str, object]] = VALUES.window(
        FixedWindows(timedelta(minutes=7)), trigger=Repeat(AtCount(1)), allowed_lateness=FOREVER
    ).combine_per_key(combiner)
    timeline = data.draw(free_timelines(ends=True))
    elements = [element for instant in timeline.instants for element in instant.elements]
    batch = reference.run_batch(collection, {READINGS: elements})
    assert last_panes(reference.run(collection, {READINGS: timeline})) == last_panes(batch)


@given(st.data())
def test_quantiles_absorb_retractions(data: st.DataObject) -> None:
    """Quantiles absorb retractions, with the result of a combiner that keeps all values."""
    strategy = data.draw(windowing_strategies(modes=st.just(Accumulation.RETRACTING), plain=True))
    upstream = apply_windowing(VALUES, strategy).combine_per_key(Quantile(1, relative_error=0.3))
    whole = upstream.map(lambda pair: KV("all", pair.value)).window(
        FixedWindows(timedelta(minutes=20)), trigger=Repeat(AtCount(1)), allowed_lateness=FOREVER
    )
    timeline = data.draw(free_timelines(ends=True))
    direct = reference.run(whole.combine_per_key(Quantile(0.5)), {READINGS: timeline})
    listed = reference.run(whole.group_by_key(), {READINGS: timeline})
    again = Quantile(0.5)

    def expected(pane: Pane[KV[str, list[float]]]) -> float:
        return again.extract(buckets_of(again, pane.value))

    assert [pane.value for pane in direct.panes] == [expected(pane) for pane in listed.panes]
