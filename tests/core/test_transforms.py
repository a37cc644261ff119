"""Transforms beyond the element-wise ones, on the reference, compared with plain Python.

The tests catch faults of the transforms; ``test_reference.py`` catches faults of grouping itself.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from datetime import timedelta

import flowalg_reference as reference
import pytest
from attrs import frozen
from flowalg_laws import READINGS, VALUES, Reading, apply_windowing, check_combiner, windowing_strategies
from flowalg_laws.strategies import free_timelines
from flowalg_polars import PolarsStreaming
from hypothesis import given
from hypothesis import strategies as st
from returns.result import Failure, Result, Success

from flowalg import (
    FOREVER,
    KV,
    Accumulation,
    Aggregate,
    AtCount,
    AtWatermark,
    Count,
    EventTime,
    FixedWindows,
    GlobalWindows,
    Interpreter,
    Max,
    Mean,
    Mode,
    PCollection,
    Repeat,
    Sessions,
    Source,
    Sum,
    Timeline,
    ToList,
    Window,
    flatten,
)
from flowalg.combiners import AllOf, AnyOf, Variance, together
from flowalg.combiners.core import require_combiner
from flowalg.data.time import ProcessingTime, event_time, processing_time
from flowalg.errors import ElementError
from flowalg.runs import Change
from flowalg.triggers import AfterDelay, Always, AtSignal, Trigger
from flowalg.windows import WindowFn
from tests.support.scores import POINTS, SCORES, Score, minute

MINUTES = FixedWindows(timedelta(minutes=5))


def corrected(points: PCollection[KV[str, int]], windows: WindowFn = MINUTES) -> PCollection[KV[str, int]]:
    """Returns points in windows, of which each element fires a correction."""
    return points.window(
        windows,
        trigger=Repeat(AtCount(1)),
        accumulation=Accumulation.RETRACTING,
        allowed_lateness=FOREVER,
    )


SUMS = corrected(POINTS).combine_per_key(Sum())
SCORE = st.builds(Score, st.sampled_from("abc"), st.integers(-5, 5), st.integers(0, 20).map(minute))
SCORES_LIST = st.lists(SCORE, max_size=12)

OTHERS = Source("others", Score, event_time=lambda s: s.at)
OTHER_POINTS: PCollection[KV[str, int]] = OTHERS.key_by(lambda s: s.team).map_values(lambda s: s.points)


def values(
    collection: PCollection[object], scores: list[Score], others: list[Score] | None = None
) -> list[object]:
    """Returns the elements of a collection's batch, in order of their panes."""
    inputs: dict[Source[object], list[Score]] = {SCORES: scores}
    if others is not None:
        inputs[OTHERS] = others
    return [pane.element for pane in reference.run_batch(collection, inputs).panes]


@given(SCORES_LIST)
def test_group_by_key_orders_values_by_event_time(scores: list[Score]) -> None:
    """``group_by_key`` orders the values of a key by event time, then by value."""
    grouped: dict[str, list[int]] = defaultdict(list)
    for score in sorted(scores, key=lambda s: (s.at, s.points)):
        grouped[score.team].append(score.points)
    expected = [KV(team, grouped[team]) for team in sorted(grouped)]
    assert values(POINTS.group_by_key(), scores) == expected


@given(SCORES_LIST, SCORES_LIST)
def test_flatten_is_the_union_of_bags(scores: list[Score], others: list[Score]) -> None:
    """Law: ``flatten`` is commutative and keeps multiplicities."""
    both = flatten(POINTS, OTHER_POINTS).combine_per_key(Count())
    turned = flatten(OTHER_POINTS, POINTS).combine_per_key(Count())
    expected = Counter(s.team for s in [*scores, *others])
    assert values(both, scores, others) == [KV(team, expected[team]) for team in sorted(expected)]
    assert values(both, scores, others) == values(turned, scores, others)


@given(SCORES_LIST, SCORES_LIST)
def test_joins_equal_nested_loops(scores: list[Score], others: list[Score]) -> None:
    """Inner, left and full joins equal nested loops."""
    pairs = Counter((a.team, a.points, b.points) for a in scores for b in others if a.team == b.team)
    inner = values(POINTS.inner_join(OTHER_POINTS), scores, others)
    assert Counter((joined.key, *joined.value) for joined in inner if isinstance(joined, KV)) == pairs
    unmatched = Counter((a.team, a.points, None) for a in scores if all(a.team != b.team for b in others))
    left = values(POINTS.left_join(OTHER_POINTS), scores, others)
    assert (
        Counter((joined.key, *joined.value) for joined in left if isinstance(joined, KV)) == pairs + unmatched
    )
    alone = Counter((b.team, None, b.points) for b in others if all(a.team != b.team for a in scores))
    full = values(POINTS.full_join(OTHER_POINTS), scores, others)
    assert (
        Counter((joined.key, *joined.value) for joined in full if isinstance(joined, KV))
        == pairs + unmatched + alone
    )


def test_the_percentile_watermark_of_a_flatten_is_the_least() -> None:
    """The percentile watermark of a flatten is the least of its inputs' percentile watermarks."""
    both = flatten(POINTS, OTHER_POINTS).window(MINUTES, trigger=Repeat(AtWatermark(percentile=0.5)))
    percentile = (
        Timeline[Score]()
        .at(minute(1), Score("a", 1, minute(1)), percentiles={0.5: minute(9)})
        .at(minute(2), percentiles={0.5: minute(9)})
    )
    slow = Timeline[Score]().at(minute(1)).at(minute(2), percentiles={0.5: minute(6)})
    panes = reference.run(both.combine_per_key(Sum()), {SCORES: percentile, OTHERS: slow}).panes
    assert [pane.processing_time for pane in panes] == [processing_time(minute(2))]


@pytest.mark.parametrize("engine", [reference.Reference(Mode.MICRO_BATCH), PolarsStreaming()])
def test_a_signal_reaches_the_stages_behind_its_source(engine: Interpreter) -> None:
    """A grouping that does not read the source of a signal does not receive it, in any engine."""
    trigger = AtSignal("x").repeat()
    both = flatten(
        *(
            points.window(MINUTES, trigger=trigger, allowed_lateness=FOREVER).combine_per_key(Sum())
            for points in (POINTS, OTHER_POINTS)
        )
    )
    first = Timeline[Score]().at(minute(1), Score("a", 1, minute(1)), signals=["x"])
    second = Timeline[Score]().at(minute(1), Score("b", 2, minute(1)))
    assert [pane.value for pane in engine.run(both, {SCORES: first, OTHERS: second}).panes] == [1]


@frozen
class Bad:
    """An element that could not be parsed."""

    text: str


def parse_points(score: Score) -> Result[int, Bad]:
    """Returns the points, or a failure as a value."""
    return Success(score.points) if score.points >= 0 else Failure(Bad(score.team))


def test_split_separates_successes_and_failures() -> None:
    """``split`` gives successes and failures as two typed collections."""
    good, bad = SCORES.split(parse_points)
    scores = [Score("a", 3, minute(0)), Score("b", -1, minute(0)), Score("c", 4, minute(0))]
    assert values(good.combine_globally(Sum()), scores) == [7]
    assert values(bad.map(lambda b: b.text).distinct(), scores) == ["b"]


def test_only_keeps_the_elements_of_a_type() -> None:
    """A function that tags by type has an output for each type."""
    tagged = SCORES.map(lambda s: s.points if s.points > 1 else Bad(s.team))
    scores = [Score("a", 3, minute(0)), Score("b", -1, minute(0))]
    assert values(tagged.only(int).combine_globally(Sum()), scores) == [3]
    assert values(tagged.only(Bad).map(lambda b: b.text).distinct(), scores) == ["b"]


def test_combiners_of_bools_satisfy_the_laws() -> None:
    """``AnyOf`` and ``AllOf`` satisfy the laws of combiners."""
    check_combiner(AnyOf(), st.booleans())
    check_combiner(AllOf(), st.booleans())


@given(st.lists(st.floats(-1e6, 1e6), min_size=1))
def test_variance_is_the_mean_squared_distance(numbers: list[float]) -> None:
    """``Variance`` agrees with the textbook formula up to rounding."""
    whole = require_combiner("it", Variance())
    accumulator = whole.zero()
    for number in numbers:
        accumulator = whole.add(accumulator, number)
    mean = sum(numbers) / len(numbers)
    assert whole.extract(accumulator) == pytest.approx(
        sum((x - mean) ** 2 for x in numbers) / len(numbers), abs=1e-3
    )


def test_a_list_combined_with_other_aggregates_is_in_order() -> None:
    """A list that is combined with other aggregates is in order of event time, as a list alone is."""
    timeline = Timeline[Score]().at(
        minute(9), Score("a", 1, minute(3)), Score("a", 2, minute(1)), Score("a", 3, minute(2))
    )
    both: Aggregate[int, tuple[list[int], int]] = together(ToList[int](), Sum[int]())
    collections = [
        POINTS.combine_per_key(ToList(), Count()).map_values(lambda pair: pair[0]),
        POINTS.combine_per_key(together(Count(), both)).map_values(lambda pair: pair[1][0]),
    ]
    for lists in collections:
        assert [pane.value for pane in reference.run(lists, {SCORES: timeline.end(minute(9))}).panes] == [
            [2, 3, 1]
        ]


def test_any_and_all_take_bools_only() -> None:
    """``AnyOf`` and ``AllOf`` raise an error for values that are not bools; truthiness does not count."""
    with pytest.raises(ElementError, match="must be a bool"):
        AnyOf().add(AnyOf().zero(), 1)  # type: ignore[arg-type]


@given(st.data())
def test_retractions_correct_any_second_grouping(data: st.DataObject) -> None:
    """The current panes downstream are those of the current panes upstream, whether or not the combiner subtracts."""
    retracting = windowing_strategies(modes=st.just(Accumulation.RETRACTING), plain=True)
    upstream = apply_windowing(VALUES, data.draw(retracting)).combine_per_key(Sum())
    once = upstream.map(lambda pair: KV("all", pair.value))
    second = once.window(
        FixedWindows(timedelta(minutes=20)),
        trigger=data.draw(st.sampled_from([Repeat(AtWatermark()), Repeat(AtCount(1))])),
        accumulation=Accumulation.RETRACTING,
        allowed_lateness=FOREVER,
    )
    combiner = data.draw(st.sampled_from([Sum[int](), Count(), Max[int](), ToList[int]()]))
    timeline = data.draw(free_timelines(ends=True))
    once_run = reference.run(once, {READINGS: timeline})
    current: dict[Window, list[tuple[EventTime, int]]] = defaultdict(list)
    for upstream_pane in once_run.panes:
        (window,) = FixedWindows(timedelta(minutes=20)).assign(upstream_pane.event_time, None)
        entry = (upstream_pane.event_time, upstream_pane.value)
        if upstream_pane.change is Change.VALUE:
            current[window].append(entry)
        else:
            current[window].remove(entry)
    final: dict[Window, object] = {}
    grouped: PCollection[KV[str, object]] = second.combine_per_key(combiner)  # type: ignore[call-overload]
    for pane in reference.run(grouped, {READINGS: timeline}).panes:
        if pane.change is Change.VALUE:
            assert pane.window not in final
            final[pane.window] = pane.value
        else:
            assert final.pop(pane.window) == pane.value
    assert final == {
        window: combine_in_python(combiner, values) for window, values in current.items() if values
    }


@pytest.mark.parametrize("accumulation", [Accumulation.ACCUMULATING, Accumulation.RETRACTING])
def test_a_window_without_current_values_emits_no_pane(accumulation: Accumulation) -> None:
    """A window whose values were all retracted before its first pane is empty; its sum is not zero."""
    upstream = POINTS.window(
        Sessions(timedelta(minutes=13)), accumulation=Accumulation.RETRACTING
    ).combine_per_key(Sum())
    whole = (
        upstream.map(lambda pair: KV("all", pair.value))
        .window(FixedWindows(timedelta(minutes=20)), accumulation=accumulation, allowed_lateness=FOREVER)
        .combine_per_key(Sum())
    )
    timeline = (
        Timeline[Score]()
        .at(minute(0), Score("a", 0, minute(0)), watermark=minute(13))
        .at(minute(0), Score("a", 0, minute(8)))
        .end(minute(0))
    )
    panes = reference.run(whole, {SCORES: timeline}).panes
    assert [(pane.change, pane.window.start) for pane in panes] == [
        (Change.VALUE, event_time(minute(20), argument="window"))
    ]


def combine_in_python(combiner: object, current: list[tuple[EventTime, int]]) -> object:
    """Returns the result of plain Python for the current values of a window."""
    numbers = [value for _, value in sorted(current)]  # by event time, then by value
    match combiner:
        case Sum():
            return sum(numbers)
        case Count():
            return len(numbers)
        case Max():
            return max(numbers)
        case _:
            return numbers


@given(free_timelines(ends=False), st.integers(1, 5))
def test_at_count_counts_retractions(timeline: Timeline[Reading], count: int) -> None:
    """``AtCount`` counts changes: values and retractions, each as one."""
    sums = corrected(VALUES, GlobalWindows()).combine_per_key(Sum())
    counted = sums.map(lambda pair: KV("all", pair.value)).window(
        GlobalWindows(), trigger=AtCount(count), allowed_lateness=FOREVER
    )
    timelines: dict[Source[object], Timeline[object]] = {READINGS: timeline}
    arrivals = [pane.processing_time for pane in reference.run(sums, timelines).panes]
    counted_panes = reference.run(counted.combine_per_key(Count()), timelines).panes
    assert [pane.processing_time for pane in counted_panes] == arrivals[count - 1 : count]


def even_sums(trigger: Trigger) -> list[tuple[ProcessingTime, Change, int, bool]]:
    """Returns the panes of a retracting sum of even sums: an even sum may be retracted without a new value."""
    even = SUMS.filter(lambda pair: pair.value % 2 == 0).window(
        MINUTES, trigger=trigger, accumulation=Accumulation.RETRACTING, allowed_lateness=FOREVER
    )
    timeline = (
        Timeline[Score]()
        .at(minute(1), Score("a", 2, minute(1)))
        .at(minute(3), Score("a", 1, minute(1)))
        .at(minute(9), Score("a", 1, minute(1)))
        .at(minute(20))
    )
    panes = reference.run(even.combine_per_key(Sum()), {SCORES: timeline}).panes
    return [(pane.processing_time, pane.change, pane.value, pane.is_last) for pane in panes]


def test_a_retraction_starts_the_delay_of_a_trigger() -> None:
    """A retraction without a new value starts the delay of ``AfterDelay``, and the pane is retracted when it ends."""
    assert even_sums(Repeat(AfterDelay(timedelta(minutes=1)))) == [
        (processing_time(minute(2)), Change.VALUE, 2, False),
        (processing_time(minute(4)), Change.RETRACTION, 2, False),
        (processing_time(minute(10)), Change.VALUE, 4, False),
    ]


def test_a_retraction_may_be_the_last_pane() -> None:
    """When the trigger finishes and no value is left, the retraction is the last pane."""
    minutes_after = AfterDelay(timedelta(minutes=1))
    assert even_sums(minutes_after >> minutes_after) == [
        (processing_time(minute(2)), Change.VALUE, 2, False),
        (processing_time(minute(4)), Change.RETRACTION, 2, True),
    ]


def test_a_mean_of_more_retractions_than_values_is_not_emitted() -> None:
    """Under DISCARDING a mean of more retractions than values is not emitted until it has a value."""
    means = (
        SUMS.filter(lambda pair: pair.value != 3)
        .window(
            MINUTES,
            trigger=Repeat(Always()),
            accumulation=Accumulation.DISCARDING,
            allowed_lateness=FOREVER,
        )
        .combine_per_key(Mean())
    )
    timeline = Timeline[Score]()
    for number, (at, points) in enumerate([(1, 2), (1, 1), (1, 1), (2, 1)]):
        timeline = timeline.at(minute(number), Score("a", points, minute(at)))
    panes = reference.run(means, {SCORES: timeline.at(minute(5), Score("a", 9, minute(2)))}).panes
    assert [(pane.processing_time, pane.value) for pane in panes] == [(processing_time(minute(0)), 2.0)]


def test_a_drop_has_its_kind_of_change() -> None:
    """A correction that is too late for the second grouping is dropped as a retraction and as a value."""
    corrected = POINTS.window(
        MINUTES, accumulation=Accumulation.RETRACTING, allowed_lateness=FOREVER
    ).combine_per_key(Sum())
    second = corrected.window(MINUTES, allowed_lateness=timedelta(0)).combine_per_key(Sum())
    timeline = (
        Timeline[Score]()
        .at(minute(1), Score("a", 1, minute(1)), watermark=minute(9))
        .at(minute(2), Score("a", 2, minute(2)))
    )
    dropped = reference.run(second, {SCORES: timeline}).dropped
    assert [(drop.element, drop.change) for drop in dropped] == [
        (KV("a", 1), Change.RETRACTION),
        (KV("a", 3), Change.VALUE),
    ]


def test_a_pending_retraction_holds_the_watermark() -> None:
    """A session that grows holds the watermark until the retraction of its former pane."""
    sessions = POINTS.window(
        Sessions(timedelta(minutes=2)),
        trigger=AtCount(1) >> Repeat(AtWatermark()),
        accumulation=Accumulation.RETRACTING,
        allowed_lateness=FOREVER,
    ).combine_per_key(Sum())
    timeline = (
        Timeline[Score]()
        .at(minute(1), Score("a", 1, minute(1)))
        .at(minute(2), Score("a", 2, minute(2)))
        .at(minute(3), watermark=minute(3))
        .at(minute(4), watermark=minute(4))
    )
    run = reference.run(sessions, {SCORES: timeline})
    outputs = [evaluation.output for evaluation in run.watermarks]
    assert outputs[2:] == [run.panes[0].event_time, event_time(minute(4))]
