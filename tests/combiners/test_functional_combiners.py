"""User-defined combiners: of plain functions, and of several other combiners.

The tests catch faults of construction; ``test_combiners.py`` tests that combiners combine correctly at all.
"""

from __future__ import annotations

import json
import math
import operator
import pickle
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from typing import TypeVar, cast

import flowalg_reference as reference
import pytest
from attrs import frozen
from flowalg_laws import READINGS, VALUES, apply_windowing, check_combiner, windowing_strategies
from flowalg_laws.kit.sketches import distinct_counts
from flowalg_laws.strategies import free_timelines
from flowalg_reference import run_batch
from flowalg_spark import SparkBatch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from pyspark.sql import SparkSession

from flowalg import (
    FOREVER,
    KV,
    Accumulation,
    Aggregate,
    AtCount,
    Count,
    FixedWindows,
    Max,
    Mean,
    Min,
    PCollection,
    Quantile,
    Repeat,
    Sum,
    Timeline,
    ToList,
    TopN,
    combiner,
)
from flowalg.combiners import (
    AllOf,
    AnyOf,
    ApproximateDistinct,
    Combiner,
    Group,
    Quantiles,
    ToSet,
    Variance,
    reduce_combiner,
    together,
)
from flowalg.combiners.core import Into, require_combiner
from flowalg.combiners.result_shapes import combined_shape
from flowalg.data.shapes import FLOAT, INTEGER, TEXT, RecordOf, shape_of
from flowalg.errors import ElementError, RecordTypeError, UnsupportedError, UserFunctionError
from flowalg.pipeline.nodes import CombinePerKey, ElementWise
from tests.support.public import PUBLIC
from tests.support.scores import NOON, POINTS, SCORES, Score, minute

A = TypeVar("A")
SMALL = st.integers(-(2**40), 2**40)
SCORE = st.builds(Score, st.sampled_from("ab"), st.integers(-5, 5), st.integers(0, 9).map(minute))


@frozen
class Tally:
    """A user-defined accumulator."""

    count: int = 0
    total: int = 0


def add_value(tally: Tally, value: int) -> Tally:
    """Returns the tally with one more value."""
    return Tally(tally.count + 1, tally.total + value)


def subtract_value(tally: Tally, value: int) -> Tally:
    """Returns the tally with one value less."""
    return Tally(tally.count - 1, tally.total - value)


def merge_tallies(first: Tally, second: Tally) -> Tally:
    """Returns the tally of the values of both."""
    return Tally(first.count + second.count, first.total + second.total)


def mean(tally: Tally) -> float:
    """Returns the mean of the values; raises an error for none."""
    return tally.total / tally.count


@frozen
class Stats:
    """A record of named results."""

    count: int
    mean: float


AVERAGE = combiner(zero=Tally(), add=add_value, merge=merge_tallies, extract=mean, name="average")
AVERAGE_GROUP = combiner(
    zero=Tally(), add=add_value, merge=merge_tallies, extract=mean, subtract=subtract_value
)
NAMED: Aggregate[int, Stats] = together(Count(), Mean(), into=Stats)


def elements(collection: PCollection[object], scores: list[Score]) -> list[object]:
    """Returns the elements of a collection's batch."""
    return [pane.element for pane in reference.run_batch(collection, {SCORES: scores}).panes]


OF_BOOLS: list[tuple[Aggregate[bool, object], SearchStrategy[bool]]] = [
    (AnyOf(), st.booleans()),
    (AllOf(), st.booleans()),
    (reduce_combiner(operator.xor, zero=False), st.booleans()),
]
OF_NUMBERS: list[tuple[Aggregate[int, object], SearchStrategy[int]]] = [
    (Sum[int](), SMALL),
    (Count(), SMALL),
    (Mean(), SMALL),
    (Min[int](), SMALL),
    (Max[int](), SMALL),
    (Variance(), SMALL),
    (TopN[int](2), SMALL),
    (ToSet[int](), SMALL),
    (Quantile(0.5), SMALL),
    (Quantiles((0, 0.9)), SMALL),
    *((combiner, SMALL) for combiner in distinct_counts()),
    (Sum.of(abs), SMALL),
    (AVERAGE, SMALL),
    (AVERAGE_GROUP, SMALL),
    (reduce_combiner(math.gcd, zero=0), SMALL),
    (reduce_combiner(operator.xor, zero=0), SMALL),
    (together(Count(), Max[int](), reduce_combiner(operator.or_, zero=0)), SMALL),
    (NAMED, SMALL),
    (together(NAMED, Sum[int]()), SMALL),
]


@pytest.mark.parametrize(("aggregate", "values"), [*OF_NUMBERS, *OF_BOOLS])
def test_every_combiner_satisfies_the_laws(
    aggregate: Aggregate[A, object], values: SearchStrategy[A]
) -> None:
    """Every combiner satisfies the laws: built-in ones, those of functions, and products."""
    check_combiner(aggregate, values)


def test_every_public_combiner_is_tested() -> None:
    """All public combiners are tested above, except ``ToList``, whose order is tested in ``test_transforms.py``."""
    lacking: set[type] = set() if distinct_counts() else {ApproximateDistinct}
    public = {item for item in PUBLIC.values() if isinstance(item, type) and issubclass(item, Combiner)}
    assert public - {Combiner, Group, ToList} - lacking <= {
        type(aggregate) for aggregate, _ in [*OF_NUMBERS, *OF_BOOLS]
    }


def add_twice(total: int, value: int) -> int:
    """Adds a value twice, which is not consistent with ``max``."""
    return total + 2 * value


@pytest.mark.long
@pytest.mark.parametrize(
    ("law", "broken"),
    [
        ("merge_is_associative", reduce_combiner(lambda a, b: abs(a - b), zero=0)),
        ("merge_is_commutative", reduce_combiner(lambda a, b: a or b, zero=0)),
        ("merge_has_a_left_unit", reduce_combiner(operator.add, zero=1)),
        ("adding_merges_a_single_value", combiner(zero=0, add=add_twice, merge=max)),
    ],
)
def test_a_broken_law_is_reported(law: str, broken: Aggregate[int, int]) -> None:
    """A broken law is reported by its name, with the name of the combiner."""
    with pytest.raises(AssertionError, match=f"^{law} does not hold for"):
        check_combiner(broken, st.integers(0, 9))


@given(st.lists(SCORE))
def test_combiners_of_all_functionsequal_built_in_ones(scores: list[Score]) -> None:
    """A mean, a maximum and a greatest common divisor of functions equal the built-in results."""
    combiners = POINTS.combine_per_key(
        AVERAGE, combiner(zero=-99, add=max, merge=max), reduce_combiner(math.gcd, zero=0)
    )
    points = {team: [s.points for s in scores if s.team == team] for team in {s.team for s in scores}}
    expected = [
        KV(team, (sum(points[team]) / len(points[team]), max(points[team]), math.gcd(*points[team])))
        for team in sorted(points)
    ]
    assert elements(combiners, scores) == expected


@given(st.data())
def test_a_combiner_with_subtract_absorbs_retractions(data: st.DataObject) -> None:
    """A combiner with ``subtract`` is a group, and has the panes of the same combiner without it."""
    strategy = data.draw(windowing_strategies(modes=st.just(Accumulation.RETRACTING), plain=True))
    upstream = apply_windowing(VALUES, strategy).combine_per_key(Sum())
    whole = upstream.map(lambda pair: KV("all", pair.value)).window(
        FixedWindows(timedelta(minutes=20)), trigger=Repeat(AtCount(1)), allowed_lateness=FOREVER
    )
    timeline = data.draw(free_timelines(ends=True))
    subtracting, keeping = (
        reference.run(whole.combine_per_key(aggregate), {READINGS: timeline})
        for aggregate in (AVERAGE_GROUP, AVERAGE)
    )
    assert subtracting.panes == keeping.panes
    assert isinstance(AVERAGE_GROUP, Group)
    assert not isinstance(AVERAGE, Group)


@given(st.lists(SMALL), SMALL)
def test_subtract_undoes_add(values: list[int], extra: int) -> None:
    """Law of a group: ``subtract`` undoes ``add``, for user-defined functions too."""
    assert isinstance(AVERAGE_GROUP, Group)
    accumulator = AVERAGE_GROUP.zero()
    for value in values:
        accumulator = AVERAGE_GROUP.add(accumulator, value)
    assert AVERAGE_GROUP.subtract(AVERAGE_GROUP.add(accumulator, extra), extra) == accumulator


def test_combiners_are_compared_by_their_functions() -> None:
    """Combiners of equal functions are equal; with picklable functions they equal their pickled copies."""
    equal = combiner(zero=Tally(), add=add_value, merge=merge_tallies, extract=mean, name="average")
    assert equal == AVERAGE
    assert hash(equal) == hash(AVERAGE)
    assert AVERAGE != AVERAGE_GROUP
    assert (
        reduce_combiner(math.gcd, zero=0)
        == reduce_combiner(math.gcd, zero=0)
        != reduce_combiner(math.lcm, zero=0)
    )
    for aggregate in (AVERAGE, AVERAGE_GROUP, reduce_combiner(math.gcd, zero=0), NAMED):
        assert pickle.loads(pickle.dumps(aggregate)) == aggregate
    collection = POINTS.combine_per_key(AVERAGE, reduce_combiner(math.gcd, zero=0))
    assert repr(collection).endswith("combine_per_key(average, reduce_combiner(math.gcd)))")


def divide_by_zero(*arguments: object) -> int:
    """Raises an error of Python."""
    raise ZeroDivisionError("no")


def raise_element_error(*arguments: object) -> int:
    """Raises an error of flowalg."""
    raise ElementError("on purpose")


def failing_parts(
    f: Callable[..., int],
) -> list[tuple[str, Callable[[Combiner[int, int, int]], object], Aggregate[int, int]]]:
    """Returns each function of a combiner by name, with a call that uses it and a combiner in which it fails."""

    def return_zero(*arguments: int) -> int:
        return 0

    def aggregate(**functions: Callable[..., int]) -> Aggregate[int, int]:
        def part(name: str) -> Callable[..., int]:
            return functions.get(name, return_zero)

        return combiner(
            zero=0,
            name="mine",
            add=part("add"),
            merge=part("merge"),
            extract=part("extract"),
            subtract=part("subtract"),
        )

    def subtract(built: Combiner[int, int, int]) -> object:
        assert isinstance(built, Group)
        return built.subtract(1, 2)

    return [
        ("add", lambda built: built.add(1, 2), aggregate(add=f)),
        ("merge", lambda built: built.merge(1, 2), aggregate(merge=f)),
        ("extract", lambda built: built.extract(1), aggregate(extract=f)),
        ("subtract", subtract, aggregate(subtract=f)),
    ]


@pytest.mark.parametrize(("part", "call", "aggregate"), failing_parts(divide_by_zero))
def test_an_error_in_a_combiner_names_its_function(
    part: str, call: Callable[[Combiner[int, int, int]], object], aggregate: Aggregate[int, int]
) -> None:
    """An error in a function of a combiner names the combiner, the function with its place, and its arguments."""
    place = r"divide_by_zero at .*test_functional_combiners.py:\d+"
    message = rf"^mine.{part}: {place} raised ZeroDivisionError: no; its argument was"
    assert isinstance(aggregate, Combiner)
    with pytest.raises(UserFunctionError, match=message):
        call(aggregate)


@pytest.mark.parametrize(("part", "call", "aggregate"), failing_parts(raise_element_error))
def test_an_error_of_flowalg_in_a_combiner_keeps_its_class(
    part: str, call: Callable[[Combiner[int, int, int]], object], aggregate: Aggregate[int, int]
) -> None:
    """An error of flowalg in a function of a combiner keeps its class, and names the combiner and the function."""
    message = rf"^mine.{part}: .* raised ElementError: on purpose; its argument was"
    assert isinstance(aggregate, Combiner)
    with pytest.raises(ElementError, match=message):
        call(aggregate)


def test_together_equals_combine_per_key_with_several_combiners() -> None:
    """Law: ``combine_per_key(together(a, b, into=f)) = combine_per_key(a, b, into=f)``, also when nested."""
    assert POINTS.combine_per_key(together(Count(), Mean())) == POINTS.combine_per_key(Count(), Mean())
    named = POINTS.combine_per_key(together(Count(), Mean(), into=Stats))
    assert named == POINTS.combine_per_key(Count(), Mean(), into=Stats)
    assert POINTS.combine_per_key(together(Count(), into=str)) == POINTS.combine_per_key(Count(), into=str)


def test_into_is_a_step_that_can_be_lifted() -> None:
    """``into`` is a step after the grouping, in ``combine_globally`` too, and the shape of its result is known."""
    per_key = POINTS.combine_per_key(NAMED).node
    globally = POINTS.map(lambda pair: pair.value).combine_globally(NAMED).node
    for node, label in ((per_key, "combine_per_key"), (globally, "combine_globally")):
        assert isinstance(node, ElementWise)
        assert node.steps[0].label.startswith(f"{label}(into=…)")
        assert isinstance(node.input, CombinePerKey)
        assert node.input.label == f"{label}(Count, Mean)"
        assert not isinstance(node.input.combiner, Into)
    assert globally.shape == shape_of(Stats)
    assert per_key.shape == shape_of(KV[str, Stats])


@given(st.lists(SCORE, min_size=1))
def test_several_combiners_combine_globally(scores: list[Score]) -> None:
    """Several combiners give a tuple or a record, also nested, in ``combine_globally``."""
    numbers = [s.points for s in scores]
    stats = Stats(len(numbers), sum(numbers) / len(numbers))
    points = SCORES.map(lambda s: s.points)
    assert elements(points.combine_globally(together(Count(), Max[int]())), scores) == [
        (len(numbers), max(numbers))
    ]
    assert elements(points.combine_globally(NAMED), scores) == [stats]
    nested = points.combine_globally(together(NAMED, Sum[int](), into=lambda a, b: (b, a)))
    assert elements(nested, scores) == [(sum(numbers), stats)]
    per_key = SCORES.key_by(lambda s: s.team).combine_per_key(
        Count(), together(Min.of(lambda s: s.points), Sum.of(lambda s: 1), into=lambda least, n: least * n)
    )
    counts = Counter(s.team for s in scores)
    assert elements(per_key, scores) == [
        KV(team, (counts[team], counts[team] * min(s.points for s in scores if s.team == team)))
        for team in sorted(counts)
    ]


def divide_by_zero_into(count: int, mean: float) -> Stats:
    """Raises an error instead of making its record."""
    raise ValueError("no")


def test_an_error_in_into_names_the_function() -> None:
    """An error in ``into`` names the function, as a step and inside other combiners."""
    scores = [Score("a", 1, minute(0))]
    broken: Aggregate[int, Stats] = together(Count(), Mean(), into=divide_by_zero_into)
    with pytest.raises(
        UserFunctionError,
        match=r"^combine_per_key\(into=…\).*: divide_by_zero_into at .*raised ValueError: no",
    ):
        elements(POINTS.combine_per_key(broken), scores)
    with pytest.raises(
        UserFunctionError,
        match=r"^combine_per_key\(Count, Count, Mean\): Count, Mean into: divide_by_zero_into at .*raised ValueError",
    ):
        elements(POINTS.combine_per_key(Count(), broken), scores)


def text_of(value: int) -> str:
    """Returns a number as text, with an annotation."""
    return str(value)


@pytest.mark.parametrize(
    ("aggregate", "shape"),
    [
        (AVERAGE, FLOAT),
        (AVERAGE_GROUP, FLOAT),
        (combiner(zero=Tally(), add=add_value, merge=merge_tallies), shape_of(Tally)),
        (combiner(zero=0, add=max, merge=max, extract=lambda n: n), None),
        (together(Count(), NAMED), RecordOf),
        (together(Sum[int](), into=text_of), TEXT),
    ],
)
def test_the_shape_of_a_result_comes_from_an_annotation(
    aggregate: Aggregate[int, object], shape: object
) -> None:
    """The shape of a result comes from the annotation of ``extract`` or ``merge``; a lambda has none."""
    inferred = combined_shape(require_combiner("it", aggregate), INTEGER)
    if shape is RecordOf:
        assert str(inferred) == "tuple[int, Stats]"
    else:
        assert inferred == shape


def spread_of(result: type[float] | None) -> Aggregate[int, float]:
    """Returns a combiner whose result, by a lambda, is a float for positive values and a text for others."""
    return combiner(
        zero=0,
        add=lambda total, value: total + value,
        merge=lambda left, right: left + right,
        extract=lambda total: json.loads(str(total / 2) if total > 0 else '"none"'),
        name="half",
        result=result,
    )


def test_a_declared_result_has_its_type() -> None:
    """With ``result=`` the type of the panes is known, and a result of another type is an error; without it neither."""
    declared, undeclared = (POINTS.combine_per_key(spread_of(result)) for result in (float, None))
    assert (str(declared.shape), undeclared.shape) == ("KV[str, float]", None)
    good, bad = [Score("a", 5, NOON)], [Score("a", -5, NOON)]
    assert [pane.value for pane in run_batch(declared, {SCORES: good}).panes] == [2.5]
    with pytest.raises(ElementError, match=r"the result of half must be of type float; got 'none' \(str\)"):
        run_batch(declared, {SCORES: bad})
    assert [str(pane.value) for pane in run_batch(undeclared, {SCORES: bad}).panes] == ["none"]


def test_a_result_type_must_be_an_element_type() -> None:
    """``result=`` is rejected when the combiner is made, unless it is the type of an element."""
    with pytest.raises(
        RecordTypeError, match="the result of half has type object, which is not an element type"
    ):
        spread_of(cast("type[float]", object))


@pytest.mark.spark
def test_a_declared_result_runs_on_spark(spark: SparkSession) -> None:
    """Spark needs the type of a lambda's result, and ``result=`` declares it."""
    timeline = Timeline.batch([Score("a", 5, NOON)], time=NOON)
    run = SparkBatch(spark).run(POINTS.combine_per_key(spread_of(float)), {SCORES: timeline})
    assert [pane.value for pane in run.panes] == [2.5]
    with pytest.raises(UnsupportedError, match=r"the type of the combiner's result is unknown; pass result="):
        SparkBatch(spark).run(POINTS.combine_per_key(spread_of(None)), {SCORES: timeline})


def test_an_error_of_a_combiner_names_the_step() -> None:
    """The message begins with the step and its transform, then the combiner and its function."""
    values = POINTS.apply(
        lambda points: points.combine_per_key(Sum.of(lambda value: 10 // value)), label="inverse"
    )
    with pytest.raises(UserFunctionError) as caught:
        run_batch(values, {SCORES: [Score("a", 0, NOON)]})
    assert str(caught.value).startswith("inverse/combine_per_key(Sum): Sum.of(<lambda> at ")
