"""Joins on the reference: their pairs, the laws of what their panes add up to, and the joins that are refused.

The tests catch pairs that are lost or repeated between panes; ``test_transforms.py`` compares batches with loops.
"""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from functools import reduce

import flowalg_reference as reference
import pytest
from flowalg_polars import Cluster, PolarsBatch, PolarsStreaming
from flowalg_reference import Reference, ReferenceBatch
from hypothesis import given
from hypothesis import strategies as st

from flowalg import (
    FOREVER,
    KV,
    Accumulation,
    AtCount,
    AtWatermark,
    Count,
    EventTime,
    FixedWindows,
    GlobalWindows,
    Interpreter,
    Mode,
    Pane,
    PCollection,
    PTransform,
    Repeat,
    Sessions,
    Source,
    Timeline,
    Window,
    event_time,
    explain,
    hazards,
)
from flowalg.analysis.hazards import Danger
from flowalg.errors import ArgumentError
from flowalg.pipeline.accumulation import resolve_accumulation
from flowalg.pipeline.co_group import Join, Matches, Tagged
from flowalg.pipeline.joins import JoinKind, has_none
from flowalg.runs import DropReason, Signal
from flowalg.triggers import Always, AtSignal, Trigger
from flowalg.windows import CustomWindows, OnTimeBehavior, TimestampCombiner, WindowFn
from tests.support.scores import POINTS, SCORES, Score, minute

MINUTE = timedelta(minutes=1)
OTHERS = Source("others", Score, event_time=lambda s: s.at)
OTHER_POINTS: PCollection[KV[str, int]] = OTHERS.key_by(lambda s: s.team).map_values(lambda s: s.points)
EACH = Repeat(AtCount(1))
JOIN = Join(JoinKind.INNER)

Points = PCollection[KV[str, int]]

TAGGED = st.lists(st.builds(Tagged, st.integers(0, 1), st.integers(0, 9)), max_size=5)
MATCHES = st.recursive(
    TAGGED.map(lambda values: reduce(JOIN.add, values, JOIN.zero())),
    lambda inner: st.one_of(
        inner.map(JOIN.discard), st.tuples(inner, inner).map(lambda pair: JOIN.merge(*pair))
    ),
    max_leaves=4,
)
"""Accumulators of joins: of new values, and after panes and merges."""


def in_windows(
    points: Points,
    windows: WindowFn,
    trigger: Trigger = EACH,
    mode: Accumulation | None = Accumulation.DISCARDING,
    lateness: timedelta | None = None,
) -> Points:
    """Returns points in windows."""
    return points.window(
        windows,
        trigger=trigger,
        accumulation=mode,
        allowed_lateness=FOREVER if lateness is None else lateness,
    )


def pairs(
    joined: PCollection[KV[str, tuple[int, int]]], *minutes: tuple[str, int, float]
) -> list[tuple[object, ...]]:
    """Returns the pairs of each pane, with its index; each of the points (side, points, minute) is an instant."""
    left, right = Timeline[Score](), Timeline[Score]()
    for number, (side, value, at) in enumerate(minutes):
        score = Score("a", value, minute(at))
        left = left.at(minute(number), *([score] if side == "left" else []))
        right = right.at(minute(number), *([score] if side == "right" else []))
    run = reference.run(joined, {SCORES: left, OTHERS: right})
    panes: list[Pane[KV[str, tuple[int, int]]]] = [*run.panes]
    return [(pane.index, *pane.value) for pane in panes]


@given(MATCHES, MATCHES)
def test_each_pair_is_shown_once(a: Matches, b: Matches) -> None:
    """Law: ``extract(merge(a, b)) = extract(a) + extract(merge(discard(a), b))``, as bags."""
    whole = Counter(JOIN.extract(JOIN.merge(a, b)))
    assert whole == Counter(JOIN.extract(a)) + Counter(JOIN.extract(JOIN.merge(JOIN.discard(a), b)))


@given(MATCHES)
def test_discarding_a_join_twice_is_discarding_it_once(a: Matches) -> None:
    """Law: ``discard(discard(a)) = discard(a)``, and nothing of it is shown again."""
    once = JOIN.discard(a)
    assert (JOIN.discard(once), JOIN.extract(once)) == (once, [])


def test_a_join_without_windows_is_symmetric() -> None:
    """In the global window, with a discarding pane at each element, a pair is emitted when its second value arrives."""
    windows = GlobalWindows()
    joined = in_windows(POINTS, windows).inner_join(in_windows(OTHER_POINTS, windows))
    emitted = pairs(joined, ("left", 1, 0), ("right", 2, 9), ("left", 3, 5), ("right", 4, 0))
    assert emitted == [(1, 1, 2), (2, 3, 2), (3, 1, 4), (3, 3, 4)]


def test_sessions_that_merge_emit_the_pairs_between_them() -> None:
    """When sessions merge, the pairs of values from different sessions are new, and those inside of each are not."""
    windows = Sessions(3 * MINUTE)
    joined = in_windows(POINTS, windows).inner_join(in_windows(OTHER_POINTS, windows))
    apart = (("left", 1, 0), ("right", 2, 1), ("right", 3, 6), ("left", 4, 6))
    assert pairs(joined, *apart) == [(0, 1, 2), (1, 4, 3)]
    bridged = pairs(joined, *apart, ("right", 5, 3))
    assert Counter(bridged[2:]) == Counter([(0, 1, 3), (0, 4, 2), (0, 1, 5), (0, 4, 5)])


def test_an_unchanged_join_has_no_pairs_on_time() -> None:
    """``OnTimeBehavior.ALWAYS`` repeats no pair: the on-time pane of an unchanged window is empty."""
    options = POINTS.window(
        FixedWindows(5 * MINUTE),
        trigger=AtWatermark().with_early_firings(AtCount(1)),
        accumulation=Accumulation.DISCARDING,
        allowed_lateness=MINUTE,
        on_time_behavior=OnTimeBehavior.ALWAYS,
    )
    timeline = Timeline[Score]().at(minute(1), Score("a", 1, minute(1))).at(minute(6), watermark=minute(5))
    panes = reference.run(options.inner_join(options), {SCORES: timeline}).panes
    assert [(pane.value, pane.index) for pane in panes] == [((1, 1), 0)]


def test_joins_that_cannot_be_corrected_are_refused() -> None:
    """A discarding join is refused if its pairs may turn out wrong: an outer join, or a join of corrected values."""
    windows = FixedWindows(5 * MINUTE)
    outer = r"the accumulation of (left|full)_join must be RETRACTING, or unset: a value without a match can be matched"
    for make in (Points.left_join, Points.full_join):
        with pytest.raises(ArgumentError, match=outer):
            make(in_windows(POINTS, windows), in_windows(OTHER_POINTS, windows))
    corrected = "the accumulation of inner_join must be RETRACTING, or unset: the values that it joins can be"
    for mode in (Accumulation.RETRACTING, None):
        sums = in_windows(POINTS, windows, mode=mode).combine_per_key(Count())
        with pytest.raises(ArgumentError, match=corrected):
            in_windows(sums, windows).inner_join(in_windows(OTHER_POINTS, windows))


def test_a_transform_is_refused_where_its_join_cannot_be_corrected() -> None:
    """A join in a transform is checked again with the windows of the collection that the transform is applied to."""
    with_itself = PTransform.of(KV[str, int], lambda points: points.full_join(points), name="with itself")
    with_itself(POINTS)
    with pytest.raises(ArgumentError, match="the accumulation of with itself/full_join must be RETRACTING"):
        with_itself(in_windows(POINTS, FixedWindows(MINUTE)))


def test_discarding_joins_of_one_pane_are_allowed() -> None:
    """An outer join may discard if a window emits one pane, and values may come from groupings that emit one."""
    windows = FixedWindows(5 * MINUTE)
    once = in_windows(POINTS, windows, Repeat(AtWatermark()), lateness=timedelta(0))
    once.full_join(once)
    counts = in_windows(POINTS, windows, Repeat(AtWatermark()), None, timedelta(0)).combine_per_key(Count())
    in_windows(counts, windows).inner_join(in_windows(counts, windows))


@pytest.mark.parametrize("trigger", [AtCount(1), Always(), AtCount(2) | AtCount(1)], ids=str)
def test_a_join_that_closes_before_any_match_is_reported(trigger: Trigger) -> None:
    """A join whose trigger finishes at the first element never has a pair, and ``hazards`` reports that."""
    windows = FixedWindows(5 * MINUTE)
    joined = in_windows(POINTS, windows, trigger).inner_join(in_windows(OTHER_POINTS, windows, trigger))
    assert pairs(joined, ("left", 1, 0), ("right", 2, 1)) == []
    (hazard,) = (hazard for hazard in hazards(joined) if hazard.danger is Danger.NO_OUTPUT)
    assert str(hazard) == (
        "inner_join: nothing is emitted while the input continues, because its trigger finishes at the first element "
        "of a window, which has no match yet; repeat the trigger"
    )


def test_a_join_without_windows_and_trigger_is_reported() -> None:
    """Without windows and a trigger a join waits for the end of the input, and ``hazards`` reports that."""
    assert Danger.NO_OUTPUT in {hazard.danger for hazard in hazards(POINTS.inner_join(OTHER_POINTS))}
    joined = in_windows(POINTS, GlobalWindows()).inner_join(in_windows(OTHER_POINTS, GlobalWindows()))
    assert Danger.NO_OUTPUT not in {hazard.danger for hazard in hazards(joined)}


def test_new_pairs_can_be_grouped_again() -> None:
    """The pairs of a discarding join are each emitted once, so any grouping may read them without a warning."""
    windows = FixedWindows(5 * MINUTE)
    joined = in_windows(POINTS, windows).inner_join(in_windows(OTHER_POINTS, windows))
    assert Danger.DOUBLE_COUNTING not in {
        hazard.danger for hazard in hazards(joined.combine_per_key(Count()))
    }


def test_an_explanation_names_the_join() -> None:
    """``explain`` shows a join by the method that made it, with the type of its pairs."""
    text = explain(POINTS.full_join(OTHER_POINTS))
    assert "full_join: KV[str, list[tuple[int | None, int | None]]]" in text
    assert "\n> full_join: KV[str, tuple[int | None, int | None]]\n" in text
    assert "each_pair" not in text
    assert resolve_accumulation(POINTS.full_join(OTHER_POINTS).node) == POINTS.full_join(OTHER_POINTS).node


def teams(source: Source[Score]) -> PCollection[KV[str | None, int]]:
    """Returns points by team, with no team for ``none``, in windows of two minutes."""
    named = source.key_by(lambda s: None if s.team == "none" else s.team).map_values(lambda s: s.points)
    return named.window(FixedWindows(2 * MINUTE), allowed_lateness=timedelta(0))


@pytest.mark.parametrize(
    ("kind", "pairs"),
    [
        ("inner_join", [("a", (1, 3))]),
        ("left_join", [(None, (2, None)), ("a", (1, 3))]),
        ("full_join", [(None, (2, None)), (None, (None, 4)), ("a", (1, 3))]),
    ],
)
def test_a_key_that_is_none_matches_nothing(
    kind: str, pairs: list[tuple[str | None, tuple[int | None, int | None]]]
) -> None:
    """An inner join has no pair of a key that is ``None``, and an outer join has its values without a match."""
    joined = getattr(teams(SCORES), kind)(teams(OTHERS))
    scores = [Score("a", 1, minute(0)), Score("none", 2, minute(0))]
    others = [Score("a", 3, minute(0)), Score("none", 4, minute(0))]
    now = minute(1)
    timelines = {SCORES: Timeline.batch(scores, time=now), OTHERS: Timeline.batch(others, time=now)}
    for engine in (Reference(Mode.MICRO_BATCH), ReferenceBatch(), PolarsBatch(), PolarsStreaming()):
        assert {(pane.key, pane.value) for pane in engine.run(joined, timelines).panes} == set(pairs)


@pytest.mark.parametrize("kind", ["inner_join", "left_join", "full_join"])
def test_the_steps_of_a_join_are_no_hazard_and_are_shown_as_the_join(kind: str) -> None:
    """A user cannot write the functions of a join otherwise, so no hazard reports them, and ``explain`` hides them."""
    keyed = [
        source.key_by(lambda s: (None if s.team == "none" else s.team, 1)) for source in (SCORES, OTHERS)
    ]
    joined = getattr(keyed[0], kind)(keyed[1])
    assert Danger.PYTHON not in {hazard.danger for hazard in hazards(joined)}
    assert "pipeline/joins.py" not in explain(joined)


def by_team(windows: WindowFn, trigger: Trigger, combiner: TimestampCombiner) -> PCollection[object]:
    """Returns the full join of points by team, with no team for ``none``."""
    left, right = (
        source.key_by(lambda s: None if s.team == "none" else s.team)
        .map_values(lambda s: s.points)
        .window(windows, trigger=trigger, allowed_lateness=FOREVER, timestamp_combiner=combiner)
        for source in (SCORES, OTHERS)
    )
    return left.full_join(right)


@pytest.mark.parametrize("combiner", TimestampCombiner)
@pytest.mark.parametrize(
    "windows", [FixedWindows(2 * MINUTE), GlobalWindows(), Sessions(2 * MINUTE)], ids=str
)
def test_a_full_join_without_keys_has_the_final_values_of_its_batch(
    windows: WindowFn, combiner: TimestampCombiner
) -> None:
    """Values without a key of both sides are in the panes of one window, so later panes replace no others."""
    joined = by_team(windows, Repeat(AtCount(1)), combiner)
    left = (
        Timeline[Score]()
        .at(minute(1), Score("none", 1, minute(0)), Score("a", 1, minute(0)))
        .at(minute(2), Score("none", 2, minute(1)))
        .end(minute(9))
    )
    right = Timeline[Score]().at(minute(1)).at(minute(3), Score("none", 3, minute(0))).end(minute(9))
    inputs: dict[Source[object], Timeline[object]] = {SCORES: left, OTHERS: right}
    batch = ReferenceBatch().run(joined, inputs)
    expected = {(str(final.element), final.window, final.event_time) for final in batch.final_values()}
    assert len(expected) == 4
    for engine in (Reference(Mode.MICRO_BATCH), PolarsStreaming(Cluster(2, 2, restarts=True)), PolarsBatch()):
        finals = engine.run(joined, inputs).final_values()
        assert {(str(final.element), final.window, final.event_time) for final in finals} == expected


def unwindowed(source: Source[Score]) -> PCollection[KV[str, int]]:
    """Returns points by team in the global window, which emits a pane for each change."""
    points = source.key_by(lambda s: s.team).map_values(lambda s: s.points)
    return points.window(GlobalWindows(), trigger=EACH, allowed_lateness=FOREVER)


@pytest.mark.parametrize("kind", ["inner_join", "left_join", "full_join"])
def test_equal_pairs_of_a_join_without_windows_are_final_values_in_one_order(kind: str) -> None:
    """Pairs that differ in their event times alone are ordered by these, in a stream as in a batch."""
    left, right = unwindowed(SCORES), unwindowed(OTHERS)
    joined: PCollection[object] = getattr(left, kind)(right)
    first = Timeline[Score]().at(minute(1), Score("a", 1, minute(5))).at(minute(2), Score("a", 1, minute(3)))
    inputs: dict[Source[object], Timeline[object]] = {
        SCORES: first.at(minute(3), Score("a", 1, minute(1))).end(minute(9)),
        OTHERS: Timeline[Score]()
        .at(minute(1), Score("a", 2, minute(4)), Score("a", 2, minute(2)))
        .end(minute(9)),
    }
    expected = ReferenceBatch().run(joined, inputs).final_values()
    assert len({final.event_time for final in expected}) == 4
    for engine in (Reference(Mode.MICRO_BATCH), PolarsStreaming(Cluster(2, 2, restarts=True)), PolarsBatch()):
        assert engine.run(joined, inputs).final_values() == expected


def test_windows_and_signals_and_drops_of_a_full_join_have_its_keys() -> None:
    """Where a key may be ``None``, user-defined windows, signals and drops see the keys of the user all the same."""

    def minutes(point: EventTime, key: object) -> list[Window]:
        assert key in (None, "a")
        return [Window(point, event_time(point.datetime + (2 if key is None else 1) * MINUTE))]

    joined = by_team(CustomWindows("by key", minutes), AtSignal("go"), TimestampCombiner.END_OF_WINDOW)
    left = (
        Timeline[Score]()
        .at(minute(1), Score("none", 1, minute(0)), Score("a", 1, minute(0)))
        .at(minute(2), signals=[Signal("go", None)])
        .at(minute(3), Score("none", 2, minute(0)))
    )
    inputs: dict[Source[object], Timeline[object]] = {SCORES: left, OTHERS: Timeline[Score]().at(minute(1))}
    for engine in (Reference(Mode.MICRO_BATCH), PolarsStreaming()):
        run = engine.run(joined, inputs)
        assert [pane.element for pane in run.panes] == [KV(None, (1, None))]
        assert [(drop.key, drop.reason) for drop in run.dropped] == [(None, DropReason.CLOSED)]


@pytest.mark.parametrize(
    ("key", "missing"),
    [((None, 1), True), (("a", 1), False), (frozenset((None,)), True), (KV("a", None), True)],
)
def test_a_key_with_a_none_in_it_is_like_none(key: object, missing: bool) -> None:
    """A ``None`` anywhere in a key makes it match nothing."""
    assert has_none(key) is missing


def test_no_match_and_a_match_with_none_are_told_apart() -> None:
    """An outer join is refused if a value of an optional side may be ``None``; the other side may."""
    optional = teams(OTHERS).map(lambda pair: KV(pair.key, None if pair.value < 0 else pair.value))
    assert teams(SCORES).inner_join(optional).shape is not None
    assert optional.left_join(teams(SCORES)).shape is not None
    for join, side in ((teams(SCORES).left_join, "right"), (teams(SCORES).full_join, "right")):
        with pytest.raises(
            ArgumentError, match=f"the {side} collection of .*_join must be values that are not None"
        ):
            join(optional)
    with pytest.raises(ArgumentError, match="the left collection of full_join"):
        optional.full_join(teams(SCORES))


@pytest.mark.parametrize("engine", [Reference(Mode.MICRO_BATCH), PolarsStreaming()], ids=str)
def test_the_pairs_of_a_discarding_pane_are_ordered(engine: Interpreter) -> None:
    """Pairs are by left event time, then left value, also where some left values have been in an earlier pane."""
    windowed = [in_windows(points, GlobalWindows()) for points in (POINTS, OTHER_POINTS)]
    joined = windowed[0].inner_join(windowed[1])
    left = (
        Timeline[Score]()
        .at(minute(1), Score("a", 5, minute(3)), Score("a", 2, minute(1)))
        .at(minute(2), Score("a", 1, minute(2)))
    )
    right = (
        Timeline[Score]().at(minute(1), Score("a", 10, minute(1))).at(minute(2), Score("a", 11, minute(0)))
    )
    panes = engine.run(joined, {SCORES: left, OTHERS: right}).panes
    assert [(pane.value, pane.event_time) for pane in panes] == [
        ((2, 10), event_time(minute(1))),
        ((5, 10), event_time(minute(3))),
        ((2, 11), event_time(minute(1))),
        ((1, 11), event_time(minute(2))),
        ((1, 10), event_time(minute(2))),
        ((5, 11), event_time(minute(3))),
    ]


def test_a_drop_of_a_join_has_the_value() -> None:
    """A dropped element of a join is the pair that arrived."""
    joined = in_windows(POINTS, FixedWindows(MINUTE), lateness=timedelta(0)).inner_join(
        in_windows(OTHER_POINTS, FixedWindows(MINUTE), lateness=timedelta(0))
    )
    late = Timeline[Score]().at(minute(1), watermark=minute(9)).at(minute(2), Score("a", 5, minute(3)))
    (drop,) = reference.run(
        joined, {SCORES: late, OTHERS: Timeline[Score]().at(minute(1), watermark=minute(9))}
    ).dropped
    assert drop.element == KV("a", 5)
