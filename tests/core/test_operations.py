"""The operations of ``PCollection`` as values: each is the method of its name, wherever it is applied."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final, TypeAlias

import pytest
from returns.maybe import Maybe, Nothing, Some
from returns.result import Failure, Result, Success, safe

from flowalg import (
    KV,
    Accumulation,
    AtCount,
    Computation,
    Count,
    FixedWindows,
    Max,
    PCollection,
    PTransform,
    Source,
    Sum,
    explain,
    flatten,
    from_json,
    to_json,
    transforms,
)
from flowalg.combiners import TopN
from flowalg.computations import Transition
from flowalg.errors import ArgumentError, FlowalgError, KeyedCollectionError
from flowalg.pipeline import Hole
from flowalg.transforms import (
    AntiJoin,
    CoGroupByKey,
    Collect,
    CombineGlobally,
    CombinePerKey,
    Copy,
    Deduplicate,
    Distinct,
    Every,
    Except,
    FanOut,
    Filter,
    FilterWith,
    First,
    FlatMap,
    FlatMapWith,
    Flatten,
    FullJoin,
    GroupByKey,
    InnerJoin,
    Input,
    KeyBy,
    LeftJoin,
    Map,
    MapValues,
    MapWith,
    Only,
    Partition,
    Process,
    Second,
    SemiJoin,
    Split,
    Swap,
    Top,
    TryMap,
    WindowInto,
    WithEventTime,
    WithMap,
    WithPane,
    WithSide,
    WithSingleton,
    WithTimestamps,
    WithWindow,
)
from tests.support.scores import POINTS, SCORES, Score, minute

Pairs: TypeAlias = PCollection[KV[str, int]]
Collections: TypeAlias = PCollection[object] | tuple[PCollection[object], ...]

HERE: Final = "tests/core/test_operations.py"
MINUTE: Final = timedelta(minutes=1)
TOTAL: Final = POINTS.combine_globally(Sum.of(lambda pair: pair.value)).as_singleton()
RUNNING: Final[Computation[str, int, int, int]] = Computation(
    initial=0, on_element=lambda total, seen, clocks: Transition(total + seen.value, emit=[total])
)


def team(score: Score) -> str:
    """Returns the team."""
    return score.team


def is_high(score: Score) -> bool:
    """Returns whether there are more than four points."""
    return score.points > 4


def twice(score: Score) -> list[str]:
    """Returns the team twice."""
    return [score.team, score.team]


def missing(score: Score) -> object:
    """Returns a field that there is not."""
    return score.nothing  # type: ignore[attr-defined]


def at(score: Score) -> datetime:
    """Returns the time."""
    return score.at


def parse(score: Score) -> Result[int, str]:
    """Returns the points, or the team if there are none."""
    return Success(score.points) if score.points else Failure(score.team)


@safe
def ratio(score: Score) -> float:
    """Returns the share of a hundred; it fails for no points."""
    return 100 / score.points


def share(score: Score, total: int) -> int:
    """Returns the points of a hundred."""
    return 100 * score.points // total


def shares(score: Score, total: int) -> list[int]:
    """Returns the points of a hundred, as a list."""
    return [100 * score.points // total]


def is_below(score: Score, total: int) -> bool:
    """Returns whether the points are less than the total."""
    return score.points < total


def negative(n: int) -> int:
    """Returns the negative."""
    return -n


def high_team(score: Score) -> Maybe[str]:
    """Returns the team if the points are high."""
    return Some(score.team) if is_high(score) else Nothing


OF_SCORES: Final[dict[str, tuple[Callable[[PCollection[Score]], object], object]]] = {
    "Map": (Map(team), SCORES.map(team)),
    "Map of a type": (Map(Score, team, result=str), SCORES.map(team, result=str)),
    "Filter": (Filter(is_high), SCORES.filter(is_high)),
    "Filter of a type": (Filter(Score, is_high), SCORES.filter(is_high)),
    "Collect": (Collect(high_team), SCORES.collect(high_team)),
    "Collect of a type": (Collect(Score, high_team, result=str), SCORES.collect(high_team, result=str)),
    "FlatMap": (FlatMap(twice), SCORES.flat_map(twice)),
    "FlatMap of a type": (FlatMap(Score, twice, result=str), SCORES.flat_map(twice, result=str)),
    "KeyBy": (KeyBy(team, result=str), SCORES.key_by(team, result=str)),
    "KeyBy of a type": (KeyBy(Score, team), SCORES.key_by(team)),
    "WithTimestamps": (WithTimestamps(at), SCORES.with_timestamps(at)),
    "WithTimestamps of a type": (WithTimestamps(Score, at), SCORES.with_timestamps(at)),
    "Split": (Split(parse), SCORES.split(parse)),
    "Split of a type": (
        Split(Score, parse, result=int, failure=str),
        SCORES.split(parse, result=int, failure=str),
    ),
    "TryMap": (TryMap(ratio), SCORES.try_map(ratio)),
    "TryMap of a type": (TryMap(Score, ratio, result=float), SCORES.try_map(ratio, result=float)),
    "Split of Results": (TryMap(ratio) >> Split(), SCORES.try_map(ratio).split()),
    "CombineGlobally": (CombineGlobally(Count()), SCORES.combine_globally(Count())),
    "Distinct": (Distinct(), SCORES.distinct()),
    "Top": (Top(2), SCORES.top(2)),
    "Deduplicate": (Deduplicate(by=team, within=MINUTE), SCORES.deduplicate(by=team, within=MINUTE)),
    "Deduplicate of a type": (
        Deduplicate(Score, by=team, within=MINUTE, in_order=True),
        SCORES.deduplicate(by=team, within=MINUTE, in_order=True),
    ),
    "WithEventTime": (WithEventTime(), SCORES.with_event_time()),
    "WithSide": (WithSide(TOTAL), SCORES.with_side(TOTAL)),
    "MapWith": (MapWith(TOTAL, share, result=int), SCORES.map_with(TOTAL, share, result=int)),
    "MapWith of a type": (MapWith(Score, TOTAL, share), SCORES.map_with(TOTAL, share)),
    "FlatMapWith": (FlatMapWith(TOTAL, shares), SCORES.flat_map_with(TOTAL, shares)),
    "FlatMapWith of a type": (FlatMapWith(Score, TOTAL, shares), SCORES.flat_map_with(TOTAL, shares)),
    "FilterWith": (FilterWith(TOTAL, is_below), SCORES.filter_with(TOTAL, is_below)),
    "FilterWith of a type": (FilterWith(Score, TOTAL, is_below), SCORES.filter_with(TOTAL, is_below)),
    "Only": (Only(Score), SCORES.only(Score)),
    "FanOut": (FanOut(Map(team), Distinct()), (SCORES.map(team), SCORES.distinct())),
}

SUMS: Final = POINTS.combine_per_key(Sum())

OF_POINTS: Final[dict[str, tuple[Callable[[Pairs], object], object]]] = {
    "Copy": (Copy(), (POINTS, POINTS)),
    "Input": (Input(KV[str, int]), POINTS),
    "MapValues": (MapValues(negative, result=int), POINTS.map_values(negative, result=int)),
    "MapValues of a type": (MapValues(KV[str, int], negative), POINTS.map_values(negative)),
    "CombinePerKey": (CombinePerKey(Max[int]()), POINTS.combine_per_key(Max())),
    "GroupByKey": (GroupByKey(), POINTS.group_by_key()),
    "Every": (Every(2, in_order=True), POINTS.every(2, in_order=True)),
    "Process": (Process(RUNNING, in_order=True), POINTS.process(RUNNING, in_order=True)),
    "WindowInto": (
        WindowInto(FixedWindows(MINUTE), AtCount(2), Accumulation.DISCARDING, allowed_lateness=MINUTE),
        POINTS.window(
            FixedWindows(MINUTE),
            trigger=AtCount(2),
            accumulation=Accumulation.DISCARDING,
            allowed_lateness=MINUTE,
        ),
    ),
}

HIGH: Final = POINTS.filter(lambda pair: pair.value > 4)

OF_PAIRS: Final[dict[str, tuple[Callable[[tuple[Pairs, Pairs]], object], object]]] = {
    "InnerJoin": (InnerJoin(), POINTS.inner_join(HIGH)),
    "LeftJoin": (LeftJoin(), POINTS.left_join(HIGH)),
    "FullJoin": (FullJoin(), POINTS.full_join(HIGH)),
    "SemiJoin": (SemiJoin(), POINTS.semi_join(HIGH)),
    "AntiJoin": (AntiJoin(), POINTS.anti_join(HIGH)),
    "Except": (Except(), POINTS.except_(HIGH)),
    "CoGroupByKey": (CoGroupByKey(), POINTS.co_group_by_key(HIGH)),
    "Flatten": (Flatten(), flatten(POINTS, HIGH)),
    "WithSingleton": (WithSingleton(), POINTS.with_side(HIGH.as_singleton())),
    "WithMap": (WithMap(), POINTS.with_side(HIGH.as_map())),
    "Swap": (Swap(), (HIGH, POINTS)),
    "First": (First(MapValues(KV[str, int], negative)), (POINTS.map_values(negative), HIGH)),
    "Second": (Second(Input(KV[str, int]) >> GroupByKey()), (POINTS, HIGH.group_by_key())),
}


NAMES: Final = {"window": "WindowInto", "except_": "Except"}
"""The operations that do not have the name of their method."""


def test_each_method_that_returns_collections_has_an_operation() -> None:
    """The operations are complete: each method of a collection but ``apply`` has one, and so has ``flatten``."""
    methods = {
        name
        for name, method in vars(PCollection).items()
        if callable(method) and not name.startswith(("_", "as_")) and name not in ("apply", "shape")
    }
    named = {NAMES.get(name, "".join(map(str.title, name.split("_")))) for name in methods}
    structure = {
        "Input",
        "Copy",
        "FanOut",
        "First",
        "Second",
        "Swap",
        "Flatten",
        "PerKey",
        "WithMap",
        "WithSingleton",
        "process_inputs",
        "Inputs",
        "FromInput",
    }
    assert named == set(transforms.__all__) - structure


@pytest.mark.parametrize("name", OF_SCORES)
def test_an_operation_on_a_collection_is_the_method(name: str) -> None:
    """An applied operation is what its method returns: called, by ``>>``, and after a transform of the elements."""
    operation, expected = OF_SCORES[name]
    assert operation(SCORES) == expected
    assert SCORES >> operation == expected
    assert SCORES.apply(operation) == expected
    assert SCORES >> PTransform.of(Score, lambda scores: as_bundle(operation(scores))) == expected


def test_a_partition_on_a_collection_is_the_method() -> None:
    """Its classes are checked against the types of the collection that it is applied to."""
    either = flatten(SCORES, SCORES.map(team))
    operation = Partition(Score, str)
    assert operation(either) == either >> operation == either.partition(Score, str)
    with pytest.raises(ArgumentError, match="class 2 of partition"):
        _ = either >> Partition(Score, int)


@pytest.mark.parametrize("name", OF_POINTS)
def test_an_operation_on_a_keyed_collection_is_the_method(name: str) -> None:
    """An operation on pairs is what its method returns: called, by ``>>``, and after a transform of the pairs."""
    operation, expected = OF_POINTS[name]
    assert operation(POINTS) == POINTS >> operation == expected
    assert POINTS >> PTransform.of(KV[str, int], lambda points: as_bundle(operation(points))) == expected


@pytest.mark.parametrize("name", OF_PAIRS)
def test_an_operation_on_a_pair_is_the_method(name: str) -> None:
    """An operation on two collections is what the method of the first returns for the second."""
    operation, expected = OF_PAIRS[name]
    assert operation((POINTS, HIGH)) == (POINTS, HIGH) >> operation == expected  # type: ignore[operator]
    both = PTransform.of(KV[str, int], KV[str, int], lambda a, b: as_bundle(operation((a, b))))
    assert (POINTS, HIGH) >> both == expected


def as_bundle(value: object) -> Collections:
    """Returns a value as the collections that it is."""
    assert isinstance(value, PCollection | tuple)
    return value


def test_operations_of_windows_and_panes_follow_a_grouping() -> None:
    """``WithWindow`` and ``WithPane`` are the methods, with their errors before a grouping."""
    assert SUMS >> WithWindow() == SUMS.with_window()
    assert SUMS >> WithPane() == SUMS.with_pane()
    assert POINTS >> (Input(KV[str, int]) >> CombinePerKey(Sum()) >> WithPane()) == SUMS.with_pane()
    with pytest.raises(ArgumentError, match=r"the collection of with_window\(\) must be grouped"):
        _ = Input(Score) >> Distinct() >> WindowInto(FixedWindows(MINUTE)) >> WithWindow()


def test_the_newest_complete_value_is_an_option() -> None:
    """``latest_complete`` of an operation is that of the side input."""
    windowed = POINTS.window(FixedWindows(MINUTE))
    totals = windowed.combine_per_key(Sum())
    newest = windowed.combine_globally(Max.of(lambda pair: pair.value))
    assert (POINTS, totals) >> WithMap(latest_complete=True) == POINTS.with_side(
        totals.as_map().latest_complete()
    )
    assert (POINTS, newest) >> WithSingleton(latest_complete=True) == POINTS.with_side(
        newest.as_singleton().latest_complete()
    )


def test_co_groups_have_up_to_four_collections() -> None:
    """``CoGroupByKey`` takes a tuple of two to four collections."""
    negatives = POINTS.map_values(negative)
    assert (POINTS, HIGH, negatives) >> CoGroupByKey() == POINTS.co_group_by_key(HIGH, negatives)
    assert (POINTS, HIGH, HIGH, HIGH) >> CoGroupByKey() == POINTS.co_group_by_key(HIGH, HIGH, HIGH)


@pytest.mark.parametrize(
    ("operation", "method"),
    [
        (lambda c: c >> GroupByKey(), lambda c: c.group_by_key()),
        (lambda c: c >> CombinePerKey(Sum()), lambda c: c.combine_per_key(Sum())),
        (lambda c: c >> MapValues(negative), lambda c: c.map_values(negative)),
        (
            lambda c: c >> (Filter(is_high) >> MapValues(negative)),  # type: ignore[operator]
            lambda c: c.map_values(negative),
        ),
        (lambda c: c >> Map(missing), lambda c: c.map(missing)),
        (
            lambda c: c >> WithTimestamps(team),  # type: ignore[arg-type]
            lambda c: c.with_timestamps(team),
        ),
        (
            lambda c: c >> (Filter(is_high) >> WithTimestamps(team)),  # type: ignore[arg-type]
            lambda c: c.with_timestamps(team),
        ),
        (lambda c: c >> CombineGlobally(Sum()), lambda c: c.combine_globally(Sum())),
        (lambda c: (c, POINTS) >> InnerJoin(), lambda c: c.inner_join(POINTS)),
        (lambda c: (POINTS, c) >> InnerJoin(), lambda c: POINTS.inner_join(c)),
        (lambda c: (POINTS, c.key_by(at)) >> LeftJoin(), lambda c: POINTS.left_join(c.key_by(at))),
        (lambda c: (c, POINTS) >> Except(), lambda c: c.except_(POINTS)),
        (lambda c: (c, c) >> WithMap(), lambda c: c.with_side(c.as_map())),
        (
            lambda c: (c, c.window(FixedWindows(MINUTE))) >> Flatten(),
            lambda c: flatten(c, c.window(FixedWindows(MINUTE))),
        ),
    ],
)
def test_an_operation_has_the_errors_of_its_method(
    operation: Callable[[PCollection[Score]], PCollection[object]],
    method: Callable[[PCollection[Score]], PCollection[object]],
) -> None:
    """A shape that becomes known when an operation is applied is checked then, with the method's error."""
    with pytest.raises(FlowalgError) as expected:
        _ = method(SCORES).shape
    with pytest.raises(type(expected.value)) as error:
        _ = operation(SCORES).shape
    assert str(error.value) == str(expected.value)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Map(3), "the function must be callable"),  # type: ignore[call-overload]
        (lambda: Map(), "the arguments of map must be a function, after the type of the elements if"),  # type: ignore[call-overload]
        (lambda: Map(Score, team, team), "the arguments of map must be a function"),  # type: ignore[call-overload]
        (lambda: Deduplicate(Score, team, by=team, within=MINUTE), "the arguments of deduplicate must be options"),  # type: ignore[call-overload]
        (lambda: Deduplicate(by=team, within=-MINUTE), "within must be"),
        (lambda: MapWith(team), "the arguments of map_with must be a side input and a function, after"),  # type: ignore[call-overload]
        (lambda: Only(3), "kind must be a class"),  # type: ignore[arg-type]
        (lambda: MapValues(3), "the function must be callable"),  # type: ignore[call-overload]
        (lambda: CombinePerKey(3), "combiner 1 must be"),  # type: ignore[arg-type]
        (lambda: CombineGlobally(3), "combiner must be"),  # type: ignore[arg-type]
        (lambda: Top(0), "TopN.n must be"),
        (lambda: Every(0), "n must be"),
        (lambda: Process(3), "computation must be"),  # type: ignore[arg-type]
        (lambda: WindowInto(3), "windows must be a window function"),  # type: ignore[arg-type]
        (lambda: WithSide(3), "WithSide.side must be a side input"),  # type: ignore[arg-type]
        (lambda: WithMap("yes"), "WithMap.latest_complete must be"),  # type: ignore[arg-type]
        (lambda: First(3), "First.f must be a PTransform, or a function of collections"),  # type: ignore[arg-type]
        (lambda: FanOut(GroupByKey(), Copy()), "f must be a PTransform"),  # type: ignore[arg-type]
        (lambda: FanOut(Map(team), 3), "g must be a PTransform, or a function of collections"),  # type: ignore[arg-type]
        (lambda: GroupByKey()(3), "the input of GroupByKey must be a PCollection; got 3"),  # type: ignore[arg-type]
        (lambda: CombinePerKey(Sum())(3), "the input of combine_per_key must be a PCollection; got 3"),  # type: ignore[arg-type]
        (lambda: InnerJoin()(POINTS), r"the input of InnerJoin must be two collections, \(left, right\); got"),  # type: ignore[arg-type]
        (lambda: (POINTS,) >> WithMap(), r"the input of WithMap must be two collections, \(elements, side\)"),  # type: ignore[arg-type]
        (lambda: Input(KV[str, int]) >> InnerJoin(), "the input of InnerJoin must be two collections"),  # type: ignore[operator]
        (lambda: (POINTS,) >> CoGroupByKey(), "the input of CoGroupByKey must be two to four collections"),  # type: ignore[arg-type]
        (lambda: Flatten()(POINTS), "the input of Flatten must be a tuple of collections"),  # type: ignore[call-overload]
        (lambda: Swap()((POINTS,)), "the input of Swap must be a pair of collections"),  # type: ignore[arg-type]
        (lambda: GroupByKey() >> Map(team), "a composition begins with a PTransform"),  # type: ignore[operator]
    ],
)  # fmt: skip
def test_invalid_arguments_and_inputs_are_named_when_an_operation_is_built(
    call: Callable[[], object], message: str
) -> None:
    """Invalid arguments are errors of the constructor, and too few inputs those of the application or composition."""
    with pytest.raises(ArgumentError, match=message):
        call()


def test_too_many_inputs_are_an_error() -> None:
    """An operation on one collection does not take a pair."""
    with pytest.raises(ArgumentError, match="the input of Distinct must be a PCollection; got"):
        (Input(Score) & Input(Score)) >> Distinct()  # type: ignore[operator]


def test_transforms_of_unknown_elements_compose() -> None:
    """Operations of functions need no type: they compose, and the elements are known when they are applied."""
    scoring = Filter(is_high) >> KeyBy(team) >> GroupByKey()
    assert str(scoring) == (
        f"transform: (…) > filter(is_high at {HERE}:{is_high.__code__.co_firstlineno}) > "
        f"key_by(team at {HERE}:{team.__code__.co_firstlineno}) > group_by_key"
    )
    assert explain(scoring).startswith("input: of unknown type\n> filter(is_high")
    assert SCORES >> scoring == SCORES.filter(is_high).key_by(team).group_by_key()
    assert Input(Score) >> scoring == Filter(Score, is_high) >> KeyBy(team) >> GroupByKey()
    assert scoring == Filter(is_high) >> (KeyBy(team) >> GroupByKey())
    assert SCORES >> scoring.named("scoring") == SCORES >> scoring
    lines = explain(SCORES >> (scoring.named("scoring") >> MapValues(len))).splitlines()
    assert lines[1:3] == [
        "> scoring: KV[str, list[Score]]",
        f"    > filter(is_high at {HERE}:{is_high.__code__.co_firstlineno}): Score",
    ]


def test_a_join_of_unknown_keys_is_that_of_the_keys_that_it_is_applied_to() -> None:
    """The graph of a join depends on whether keys can be ``None``, which the application decides."""
    join = (KeyBy(team) & KeyBy(team)) >> InnerJoin()
    assert (SCORES, SCORES) >> join == SCORES.key_by(team).inner_join(SCORES.key_by(team))
    assert (SCORES, SCORES) >> join.named("join") == (SCORES, SCORES) >> join
    fan = FanOut(KeyBy(team), KeyBy(team)) >> InnerJoin()
    assert SCORES >> fan == (SCORES, SCORES) >> join
    half = (KeyBy(Score, team) & KeyBy(team)) >> InnerJoin()
    assert (SCORES, SCORES) >> half == (SCORES, SCORES) >> join


def test_operations_are_values() -> None:
    """Operations are equal if their arguments are, and can be hashed, pickled, and parts of documents."""
    for operation in (*OF_SCORES.values(), *OF_POINTS.values(), *OF_PAIRS.values()):
        assert operation[0] == operation[0]
        hash(operation[0])
    assert {Top(2), Top(2), Top(3)} == {Top(2), Top(3)}
    assert CombinePerKey(Sum()) == CombinePerKey(Sum()) != CombinePerKey(Count())
    assert Map(team) == Map(team)
    assert len({Map(team), Map(twice)}) == 2
    for value in (
        Top(2),
        CombinePerKey(Sum()),
        CombineGlobally(Sum()),
        Map(team) >> Distinct(),
        FanOut(Map(team), Distinct()),
    ):
        assert pickle.loads(pickle.dumps(value)) == value
    scoring = pickle.loads(pickle.dumps((Filter(is_high) & Filter(is_high)) >> Second(KeyBy(team))))
    assert (SCORES, SCORES) >> scoring == (SCORES.filter(is_high), SCORES.filter(is_high).key_by(team))
    totals = Input(KV[str, int]) >> WindowInto(FixedWindows(MINUTE)) >> CombinePerKey(Sum())
    assert from_json(to_json(totals), PTransform[Pairs, Pairs]) == totals


def test_top_by_a_key_is_a_combiner() -> None:
    """The docstring of ``Top`` says what ``top(n, by=...)`` is."""
    assert SCORES >> CombineGlobally(TopN(2, at)) == SCORES.top(2, by=at)


def test_a_transform_of_unknown_elements_runs_no_function() -> None:
    """Composition and application call no function of elements."""
    calls: list[object] = []

    def noted(score: Score) -> str:
        calls.append(score)
        return score.team

    assert isinstance(SCORES >> (Map(noted) >> Distinct()), PCollection)
    assert calls == []


def test_a_hole_has_no_elements_to_check() -> None:
    """An operation applied to a collection of unknown elements is checked when these are known."""
    unknown: PCollection[KV[str, int]] = PCollection(Hole(None))
    assert (unknown >> GroupByKey()).shape is None
    source = Source("times", datetime, event_time=lambda time: time)
    with pytest.raises(KeyedCollectionError):
        source >> (Map(minute_of) >> GroupByKey())  # type: ignore[operator]


def minute_of(time: datetime) -> int:
    """Returns the minute."""
    return (time - minute(0)) // MINUTE
