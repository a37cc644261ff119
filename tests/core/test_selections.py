"""``semi_join``, ``anti_join`` and ``except_``: against plain Python, and what each engine and accumulation does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final

import pytest
from flowalg_polars import Cluster, PolarsBatch, PolarsStreaming
from flowalg_reference import Reference, ReferenceBatch
from hypothesis import given, settings
from hypothesis import strategies as st

from flowalg import (
    FOREVER,
    KV,
    Accumulation,
    AtCount,
    AtWatermark,
    Count,
    FixedWindows,
    GlobalWindows,
    Interpreter,
    Mode,
    PCollection,
    Repeat,
    Sessions,
    Source,
    Timeline,
    explain,
    from_json,
    hazards,
    to_json,
)
from flowalg.analysis.features import features_of
from flowalg.analysis.hazards import Danger
from flowalg.errors import ArgumentError, KeyedCollectionError
from flowalg.pipeline.accumulation import resolve_accumulation
from flowalg.pipeline.joins import JoinKind
from flowalg.pipeline.nodes import CoGroupByKey, ElementWise
from flowalg.pipeline.pair_times import assign_pair_times
from flowalg.plan import JoinByKey, plan_batch
from flowalg.runs import WindowedValue
from flowalg.triggers import AtElement
from flowalg.windows import TimestampCombiner, WindowFn
from tests.support.scores import SCORES, Score, minute

MINUTE = timedelta(minutes=1)
OTHERS = Source("others", Score, event_time=lambda s: s.at)
EACH = Repeat(AtCount(1))
Points = PCollection[KV[str | None, int]]

ENGINES: Final[tuple[Interpreter, ...]] = (
    Reference(Mode.MICRO_BATCH),
    PolarsStreaming(Cluster(2, 2, restarts=True)),
    ReferenceBatch(),
    PolarsBatch(),
)
STREAMS: Final = ENGINES[:2]
WINDOWS: Final[tuple[WindowFn, ...]] = (FixedWindows(2 * MINUTE), GlobalWindows(), Sessions(MINUTE))

ARRIVALS = st.lists(
    st.builds(
        lambda team, points, at, seen, side: (side, seen, Score(team, points, minute(at))),
        st.sampled_from(["a", "b", "none"]),
        st.integers(0, 1),
        st.integers(0, 4),
        st.integers(0, 2),
        st.booleans(),
    ),
    max_size=7,
)
"""Scores, each with whether it is on the left, and the number of the instant in which it arrives."""

Arrivals = list[tuple[bool, int, Score]]


def team_of(score: Score) -> str | None:
    """Returns the team, if it has one."""
    return None if score.team == "none" else score.team


def points(source: Source[Score]) -> Points:
    """Returns points by team."""
    return source.key_by(team_of).map_values(lambda s: s.points)


def windowed(
    values: Points,
    windows: WindowFn,
    mode: Accumulation | None = None,
    times: TimestampCombiner = TimestampCombiner.END_OF_WINDOW,
) -> Points:
    """Returns points in windows that emit a pane at each change."""
    return values.window(
        windows, trigger=EACH, accumulation=mode, allowed_lateness=FOREVER, timestamp_combiner=times
    )


def timelines(arrivals: Arrivals) -> dict[Source[object], Timeline[object]]:
    """Returns the timelines of both sides, of three instants and an end."""
    both: dict[Source[object], Timeline[object]] = {}
    for source, is_left in ((SCORES, True), (OTHERS, False)):
        timeline = Timeline[Score]()
        for instant in range(3):
            scores = [score for side, seen, score in arrivals if side is is_left and seen == instant]
            timeline = timeline.at(minute(instant), *scores)
        both[source] = timeline.end(minute(9))
    return both


def of_side(arrivals: Arrivals, *, left: bool) -> list[Score]:
    """Returns the scores of one side, by event time."""
    scores = [score for is_left, _, score in arrivals if is_left is left]
    return sorted(scores, key=lambda score: score.at)


def pane_of(score: Score) -> int:
    """Returns the number of the window of two minutes."""
    return (score.at - minute(0)) // (2 * MINUTE)


def selected(arrivals: Arrivals, *, matched: bool) -> Counter[object]:
    """Returns the left pairs that have a match in their window of two minutes, or none, with their event times."""
    places = {(team_of(other), pane_of(other)) for other in of_side(arrivals, left=False)}
    return Counter(
        (team_of(score), score.points, score.at)
        for score in of_side(arrivals, left=True)
        if (team_of(score) is not None and (team_of(score), pane_of(score)) in places) is matched
    )


def remaining(arrivals: Arrivals) -> Counter[object]:
    """Returns the left pairs that are left over in each window of two minutes, the latest of equal ones."""
    left = of_side(arrivals, left=True)
    for other in of_side(arrivals, left=False):
        for number, score in enumerate(left):
            if (score.team, score.points, pane_of(score)) == (other.team, other.points, pane_of(other)):
                del left[number]
                break
    return Counter((team_of(score), score.points, score.at) for score in left)


KINDS: Final[dict[str, Callable[[Arrivals], Counter[object]]]] = {
    "semi_join": lambda arrivals: selected(arrivals, matched=True),
    "anti_join": lambda arrivals: selected(arrivals, matched=False),
    "except_": remaining,
}


def finals(
    engine: Interpreter, kind: str, pipeline: Points, arrivals: Arrivals
) -> list[WindowedValue[object]]:
    """Returns the final values of a selection; an element of a difference is identified by itself."""
    run = engine.run(pipeline, timelines(arrivals))
    return list(run.final_values(by=(lambda element: element) if kind == "except_" else None))


def joined(
    kind: str,
    windows: WindowFn,
    mode: Accumulation | None = None,
    times: TimestampCombiner = TimestampCombiner.END_OF_WINDOW,
) -> Points:
    """Returns the selection of a kind of the scores by the others."""
    result: Points = getattr(windowed(points(SCORES), windows, mode, times), kind)(
        windowed(points(OTHERS), windows, mode, times)
    )
    return result


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=6)
@given(arrivals=ARRIVALS)
def test_selections_equal_plain_python(kind: str, arrivals: Arrivals) -> None:
    """The final values are those of plain Python, with their own event times, on every engine and as they change."""
    pipeline = joined(kind, FixedWindows(2 * MINUTE), times=TimestampCombiner.EARLIEST)
    for engine in ENGINES:
        values = Counter(
            (final.element.key, final.element.value, final.event_time.datetime)
            for final in finals(engine, kind, pipeline, arrivals)
            if isinstance(final.element, KV)
        )
        assert values == KINDS[kind](arrivals)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("windows", WINDOWS, ids=str)
@settings(max_examples=4)
@given(arrivals=ARRIVALS)
def test_selections_are_those_of_the_reference_in_all_windows(
    kind: str, windows: WindowFn, arrivals: Arrivals
) -> None:
    """A stream has the reference's panes, and ends with the values of the batch."""
    pipeline = joined(kind, windows)
    inputs = timelines(arrivals)
    runs = [engine.run(pipeline, inputs).panes for engine in ENGINES]
    assert runs[0] == runs[1]
    assert runs[2] == runs[3]
    assert finals(ENGINES[0], kind, pipeline, arrivals) == finals(ENGINES[2], kind, pipeline, arrivals)


@pytest.mark.parametrize("windows", WINDOWS, ids=str)
@settings(max_examples=10)
@given(arrivals=ARRIVALS)
def test_discarding_panes_of_a_semi_join_have_each_value_once(windows: WindowFn, arrivals: Arrivals) -> None:
    """A pane has the left values with a match that were in no pane; all panes together are the batch."""
    pipeline = joined("semi_join", windows, Accumulation.DISCARDING)
    inputs = timelines(arrivals)
    runs = [engine.run(pipeline, inputs) for engine in STREAMS]
    assert runs[0].panes == runs[1].panes
    batch = ReferenceBatch().run(pipeline, inputs)
    assert Counter(pane.element for pane in runs[0].panes) == Counter(pane.element for pane in batch.panes)


@settings(max_examples=6)
@given(ARRIVALS)
def test_selections_are_parts_of_joins(arrivals: Arrivals) -> None:
    """An anti join is the part of a left join without a match; a semi join is an inner join with distinct keys."""
    left, right = points(SCORES), points(OTHERS)
    inputs = timelines(arrivals)

    def batch(pipeline: PCollection[object]) -> Counter[object]:
        return Counter(pane.element for pane in ReferenceBatch().run(pipeline, inputs).panes)

    alone = left.left_join(right).filter(lambda pair: pair.value[1] is None)
    assert batch(left.anti_join(right)) == batch(alone.map_values(lambda both: both[0]))
    keys = right.combine_per_key(Count())
    regrouped = (
        left.window(GlobalWindows())
        .group_by_key()
        .flat_map(lambda group: [KV(group.key, value) for value in group.value])
    )
    assert batch(left.semi_join(right)) == batch(regrouped.inner_join(keys).map_values(lambda both: both[0]))


@pytest.mark.parametrize("kind", KINDS)
def test_corrected_values_are_selected_again(kind: str) -> None:
    """Values of either side that are retracted leave no trace in the final values."""
    left, right = (
        windowed(points(source), FixedWindows(2 * MINUTE)).combine_per_key(Count())
        for source in (SCORES, OTHERS)
    )
    pipeline: Points = getattr(left, kind)(right.filter(lambda pair: pair.value == 1))
    arrivals: Arrivals = [
        (True, 0, Score("a", 1, minute(0))),
        (False, 0, Score("a", 1, minute(0))),
        (False, 1, Score("a", 1, minute(1))),
        (True, 1, Score("b", 1, minute(0))),
        (True, 2, Score("b", 1, minute(1))),
        (False, 2, Score("b", 1, minute(1))),
    ]
    expected = {"semi_join": [KV("b", 2)], "anti_join": [KV("a", 1)], "except_": [KV("a", 1), KV("b", 2)]}
    for engine in ENGINES:
        values = finals(engine, kind, pipeline, arrivals)
        assert [final.element for final in values] == expected[kind]


@pytest.mark.parametrize("kind", ["anti_join", "except_"])
def test_selections_that_cannot_be_corrected_are_refused(kind: str) -> None:
    """A discarding anti join or difference is refused, unless a window emits one pane; an unset mode is RETRACTING."""
    refused = f"the accumulation of {kind} must be RETRACTING, or unset: a value without a match can be matched later"
    with pytest.raises(ArgumentError, match=refused):
        joined(kind, FixedWindows(MINUTE), Accumulation.DISCARDING)
    once = points(SCORES).window(
        FixedWindows(MINUTE),
        trigger=AtWatermark(),
        accumulation=Accumulation.DISCARDING,
        allowed_lateness=timedelta(0),
    )
    getattr(once, kind)(once)
    assert mode_of(joined(kind, FixedWindows(MINUTE))) is Accumulation.RETRACTING


def test_a_semi_join_is_corrected_only_if_its_values_are() -> None:
    """A later pane of a semi join has all that an earlier one had, so its unset mode is ACCUMULATING, as of a join."""
    assert mode_of(joined("semi_join", FixedWindows(MINUTE))) is Accumulation.ACCUMULATING
    counts = windowed(points(SCORES), FixedWindows(MINUTE)).combine_per_key(Count())
    assert mode_of(counts.semi_join(counts)) is Accumulation.RETRACTING
    refused = "the accumulation of semi_join must be RETRACTING, or unset: the values that it joins can be retracted"
    again = windowed(counts, FixedWindows(MINUTE), Accumulation.DISCARDING)
    with pytest.raises(ArgumentError, match=refused):
        again.semi_join(again)


def mode_of(pipeline: PCollection[object]) -> Accumulation:
    """Returns the resolved mode of the last grouping."""
    node = resolve_accumulation(pipeline.node)
    assert isinstance(node, ElementWise)
    assert isinstance(node.input, CoGroupByKey)
    return node.input.windowed_by.strategy.mode


def test_collections_that_cannot_be_compared_are_refused() -> None:
    """The errors name the transform and what differs: keys, their types, types of elements, or windows."""
    by_number = SCORES.key_by(lambda s: s.points)
    for kind in ("semi_join", "anti_join"):
        with pytest.raises(KeyedCollectionError, match=f"{kind} needs elements that are KV"):
            getattr(points(SCORES), kind)(OTHERS)
        with pytest.raises(
            KeyedCollectionError, match=f"{kind} needs keys of one type: those of collection 1 are"
        ):
            getattr(points(SCORES), kind)(by_number)
    other = "the elements of collection 2 of except_ must be str, as those of collection 1 are; got 'int'"
    teams, numbers = SCORES.map(lambda s: s.team), OTHERS.map(lambda s: s.points)
    with pytest.raises(ArgumentError, match=other):
        teams.except_(numbers)  # type: ignore[arg-type]  # the error
    with pytest.raises(ArgumentError, match="collection 2 of except_ must be a PCollection; got 3"):
        SCORES.except_(3)  # type: ignore[arg-type]  # the error
    for kind in KINDS:
        with pytest.raises(
            ArgumentError, match="the windows of collection 2 must be the same as in collection 1"
        ):
            getattr(points(SCORES), kind)(points(OTHERS).window(FixedWindows(MINUTE)))


def test_a_right_value_may_be_none() -> None:
    """Only whether there is a value on the right counts, so it may be ``None``, unlike that of an outer join."""
    nothing = points(OTHERS).map_values(lambda value: None if value else value)
    inputs = timelines([(True, 0, Score("a", 1, minute(0))), (False, 0, Score("a", 1, minute(0)))])
    for engine in ENGINES:
        run = engine.run(points(SCORES).semi_join(nothing), inputs)
        assert [pane.element for pane in run.panes] == [KV("a", 1)]
        assert not engine.run(points(SCORES).anti_join(nothing), inputs).panes


def test_none_is_an_element_like_any_other() -> None:
    """``None`` takes away ``None``, as in SQL."""
    inputs = timelines([(True, 0, Score("none", 1, minute(0))), (False, 0, Score("none", 1, minute(0)))])
    for engine in ENGINES:
        assert not engine.run(SCORES.map(team_of).except_(OTHERS.map(team_of)), inputs).panes


def is_large(score: Score) -> bool:
    """Returns whether a score has many points."""
    return score.points > 4


def test_the_trigger_of_a_difference_observes_its_elements() -> None:
    """They are the values of the co-group as well as its keys."""
    left, right = (
        source.window(GlobalWindows(), trigger=Repeat(AtElement(is_large))) for source in (SCORES, OTHERS)
    )
    large = Score("a", 5, minute(0))
    inputs = timelines([(True, 0, Score("a", 1, minute(0))), (True, 1, large)])
    for engine in STREAMS:
        first, *_ = engine.run(left.except_(right), inputs).panes
        assert (first.element, first.processing_time.datetime) == (large, minute(1))


@pytest.mark.parametrize("kind", JoinKind)
def test_every_kind_is_a_feature_and_is_shown_as_itself(kind: JoinKind) -> None:
    """``explain`` hides the steps that a join has added, which are columns, and a document has the same join."""
    pipeline: PCollection[object] = getattr(points(SCORES), kind.value)(points(OTHERS))
    assert {JoinKind, kind}.intersection(features_of(pipeline)) == (
        {JoinKind, kind} if kind.selects else {JoinKind}
    )
    text = explain(pipeline)
    assert f"> {kind.value}: " in text
    assert "pipeline/joins.py" not in text
    assert Danger.PYTHON not in {hazard.danger for hazard in hazards(pipeline)}
    if kind.selects:
        (timed,) = assign_pair_times([pipeline.node])
        assert isinstance(timed, ElementWise)
        assert [analysis.opaque for analysis in timed.analyses] == [None] * 3


def points_of(score: Score) -> int:
    """Returns the points."""
    return score.points


def at(score: Score) -> datetime:
    """Returns the event time."""
    return score.at


@pytest.mark.parametrize("kind", KINDS)
def test_a_document_of_a_selection_is_the_selection(kind: str) -> None:
    """Serialization keeps the kind."""
    scores = Source("scores", Score, event_time=at).key_by(team_of).map_values(points_of)
    pipeline: PCollection[object] = getattr(scores, kind)(scores)
    assert from_json(to_json(pipeline), PCollection[object]) == pipeline


@pytest.mark.parametrize("kind", KINDS)
def test_a_batch_selects_by_itself(kind: str) -> None:
    """The step that emits what is selected is left out."""
    plan = plan_batch({"output": joined(kind, FixedWindows(MINUTE))})
    assert [node.kind.value for node in plan.nodes if isinstance(node, JoinByKey)] == [kind]


@pytest.mark.parametrize("kind", ["anti_join", "except_"])
def test_a_selection_whose_trigger_finishes_is_no_join_without_output(kind: str) -> None:
    """A left value without a match is emitted at once, so only joins of matches emit nothing."""
    for name, expected in ((kind, False), ("semi_join", True)):
        left, right = (
            points(source).window(FixedWindows(MINUTE), trigger=AtCount(1)) for source in (SCORES, OTHERS)
        )
        dangers = {hazard.danger for hazard in hazards(getattr(left, name)(right))}
        assert (Danger.NO_OUTPUT in dangers) is expected
