"""The reference interpreter against plain Python, and against the examples that the semantics give.

Everything else is held to the reference, so what it is held to must be simpler still.
"""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from itertools import pairwise

import flowalg_reference as reference
import pytest
from attrs import evolve
from flowalg_laws.strategies import (
    Reading,
    fixed_windows,
    free_timelines,
    put_into,
    sliding_windows,
    timelines,
    triggers,
    windowing_strategies,
)
from hypothesis import given
from hypothesis import strategies as st

from flowalg import (
    FOREVER,
    KV,
    MAX_TIME,
    Accumulation,
    AtWatermark,
    BoundedDisorder,
    Change,
    Count,
    DropReason,
    ElementError,
    FixedWindows,
    GlobalWindows,
    Instant,
    KeyedCollectionError,
    Pane,
    PCollection,
    Repeat,
    Sessions,
    Source,
    Sum,
    Timeline,
    Timing,
    UnboundSourceError,
    UnsupportedError,
    UserFunctionError,
    ValueRangeError,
    WindowingStrategy,
)
from flowalg.assignment import merging
from flowalg.time import event_time
from tests.scores import POINTS, SCORES, Score, minute

READINGS = Source("readings", Reading, event_time=lambda r: r.at)
VALUES = READINGS.key_by(lambda r: r.key).map_values(lambda r: r.value)
TWO_MINUTES = FixedWindows(timedelta(minutes=2))


def shown(run: reference.Run[KV[str, int]]) -> list[tuple[str, int, Timing, int, bool]]:
    """What most examples look at: key, value, timing, index, is_last."""
    return [(one.key, one.value, one.timing, one.index, one.is_last) for one in run.panes]


def test_a_window_comes_out_when_the_watermark_passes_and_again_for_what_is_late() -> None:
    """The default trigger, accumulating: an on-time pane, a late one with all contents, then a drop."""
    timeline = (
        Timeline[Score]()
        .at(minute(1), Score("a", 3, minute(0)), Score("b", 4, minute(1)), watermark=minute(1))
        .at(minute(2), watermark=minute(2))
        .at(minute(3), Score("a", 9, minute(1)), watermark=minute(3))
        .at(minute(4), watermark=minute(4))
        .at(minute(5), Score("a", 7, minute(0)), watermark=minute(4))
    )
    totals = POINTS.window(TWO_MINUTES, allowed_lateness=timedelta(minutes=2)).combine_per_key(Sum())
    run = reference.run(totals, {SCORES: timeline})
    assert shown(run) == [
        ("a", 3, Timing.ON_TIME, 0, False),
        ("b", 4, Timing.ON_TIME, 0, False),
        ("a", 12, Timing.LATE, 1, False),
    ]
    (drop,) = run.dropped
    assert (drop.element, drop.reason) == (KV("a", 7), DropReason.EXPIRED)


def test_the_watermark_that_reaches_the_end_completes_the_window() -> None:
    """A window ``[s, e)`` is complete when ``W >= e``, not a microsecond before (SEMANTICS section 4)."""
    totals = POINTS.window(TWO_MINUTES, allowed_lateness=FOREVER).combine_per_key(Sum())
    almost = Timeline[Score]().at(
        minute(1), Score("a", 1, minute(0)), watermark=minute(2) - timedelta(microseconds=1)
    )
    assert reference.run(totals, {SCORES: almost}).panes == ()
    exactly = Timeline[Score]().at(minute(1), Score("a", 1, minute(0)), watermark=minute(2))
    assert [one.timing for one in reference.run(totals, {SCORES: exactly}).panes] == [Timing.ON_TIME]


def test_an_element_is_late_by_the_watermark_before_its_instant() -> None:
    """An instant's elements are observed before its clocks read (SEMANTICS section 4)."""
    totals = POINTS.window(TWO_MINUTES, allowed_lateness=timedelta(0)).combine_per_key(Sum())
    together = Timeline[Score]().at(minute(9), Score("a", 1, minute(0)), watermark=minute(9))
    run = reference.run(totals, {SCORES: together})
    assert (shown(run), run.dropped) == ([("a", 1, Timing.ON_TIME, 0, True)], ())


def test_a_trigger_that_does_not_repeat_closes_its_window() -> None:
    """Later elements of a closed window are dropped as such, and its pane says that it was the last."""
    totals = POINTS.window(TWO_MINUTES, trigger=AtWatermark(), allowed_lateness=FOREVER).combine_per_key(
        Sum()
    )
    timeline = (
        Timeline[Score]()
        .at(minute(3), Score("a", 1, minute(0)), watermark=minute(3))
        .at(minute(4), Score("a", 1, minute(0)), watermark=minute(3))
    )
    run = reference.run(totals, {SCORES: timeline})
    assert shown(run) == [("a", 1, Timing.ON_TIME, 0, True)]
    assert [one.reason for one in run.dropped] == [DropReason.CLOSED]


def test_the_end_of_the_input_flushes_every_window() -> None:
    """Nothing observed in time is lost because a trigger did not fire (SEMANTICS section 5)."""
    timeline = Timeline[Score]().at(minute(1), Score("a", 1, minute(0))).end(minute(2))
    run = reference.run(POINTS.combine_per_key(Sum()), {SCORES: timeline})
    assert shown(run) == [("a", 1, Timing.ON_TIME, 0, False)]
    assert run.watermarks[-1].output == MAX_TIME


def test_a_second_grouping_takes_the_panes_of_the_first() -> None:
    """Windows are carried on, and the watermark downstream waits for what is buffered upstream."""
    totals = POINTS.window(TWO_MINUTES, allowed_lateness=FOREVER).combine_per_key(Sum())
    best = totals.map(lambda pane: KV("all", pane.value)).combine_per_key(Count())
    timeline = (
        Timeline[Score]()
        .at(minute(1), Score("a", 1, minute(0)), Score("b", 2, minute(1)), watermark=minute(1))
        .at(minute(2), watermark=minute(2))
    )
    run = reference.run(best, {SCORES: timeline})
    assert shown(run) == [("all", 2, Timing.ON_TIME, 0, False)]
    assert [one.output for one in run.watermarks] == [one.input for one in run.watermarks]


def drawn(
    data: st.DataObject, mode: Accumulation | None = None, *, repeated: bool = False
) -> WindowingStrategy:
    """A windowing strategy, under a drawn trigger, which never finishes if it is repeated."""
    chosen = data.draw(triggers(), label="trigger")
    modes = None if mode is None else st.just(mode)
    trigger = st.just(Repeat(chosen) if repeated else chosen)
    return data.draw(windowing_strategies(modes=modes, trigger=trigger), label="windowing")


@given(st.data())
def test_conservation(data: st.DataObject) -> None:
    """Each element-window pair is emitted, buffered, or dropped with a reason, exactly once (section 5).

    Under DISCARDING each pair is in exactly one pane, so that the counts add up, for merging windows too.
    """
    strategy = drawn(data, Accumulation.DISCARDING)
    collection = put_into(VALUES, strategy)
    timeline = data.draw(free_timelines())
    run = reference.run(collection.combine_per_key(Count()), {READINGS: timeline})
    assign = strategy.windows.assign
    pairs = sum(len(assign(event_time(one.at), one.key)) for instant in timeline for one in instant.elements)
    accounted = sum(pane.value for pane in run.panes) + len(run.dropped)
    assert accounted <= pairs
    if timeline.watermark == MAX_TIME:
        assert accounted == pairs


@given(st.data())
def test_however_it_runs_the_result_is_that_of_the_batch(data: st.DataObject) -> None:
    """The theorem of section 11, for every mode, where nothing was dropped and no merging window closed or expired.

    Per window of the batch result, the last accumulating pane, the sum of the discarding panes (those of windows that
    merged into it included), and the one pane that stands under retraction each equal the batch pane.
    """
    mode: Accumulation = data.draw(st.sampled_from(Accumulation))
    strategy = drawn(data, mode, repeated=True)
    if merging(strategy.windows):
        strategy = evolve(strategy, allowed_lateness=FOREVER)
    collection = put_into(VALUES, strategy)
    timeline = data.draw(free_timelines(ends=True))
    engine = data.draw(st.sampled_from(reference.Mode))
    run = reference.run(collection.combine_per_key(Sum()), {READINGS: timeline}, mode=engine)
    if run.dropped:
        return
    elements = [one for instant in timeline for one in instant.elements]
    batch = reference.run_batch(collection.combine_per_key(Sum()), {READINGS: elements})
    expected = {(one.key, one.window): one.value for one in batch.panes}
    assert len(expected) == len(batch.panes)
    assert all(one.timing is Timing.ON_TIME and one.is_first and one.is_last for one in batch.panes)
    match mode:
        case Accumulation.ACCUMULATING:
            last = {(one.key, one.window): one.value for one in run.panes}
            assert {place: last[place] for place in expected} == expected
        case Accumulation.DISCARDING:
            for (key, window), value in expected.items():
                parts = [
                    one.value
                    for one in run.panes
                    if one.key == key
                    and window.start <= one.window.start
                    and one.window.end <= window.end
                    and (one.window == window or merging(strategy.windows))
                ]
                assert sum(parts) == value
        case Accumulation.RETRACTING:
            standing: Counter[tuple[object, ...]] = Counter()
            for one in run.panes:
                weight = 1 if one.change is Change.VALUE else -1
                standing[(one.key, one.window, one.value)] += weight
            assert {place for place, count in standing.items() if count} == {
                (*place, value) for place, value in expected.items()
            }
            assert all(count in (0, 1) for count in standing.values())


def test_an_expired_session_is_not_joined_again() -> None:
    """Why the theorem excludes expired merging windows: the smallest case, in which nothing is dropped.

    ``[0, 2)`` comes out and is freed in the instant at which it expires. The event at 1 would have joined it; its own
    window ``[1, 3)`` has not expired, so it starts another session, where the batch has one, ``[0, 3)``.
    """
    sessions = POINTS.window(Sessions(timedelta(minutes=2)), allowed_lateness=timedelta(minutes=15))
    first, second = Score("a", 1, minute(0)), Score("a", 1, minute(1))
    timeline = (
        Timeline[Score]().at(minute(20), first, watermark=minute(17)).at(minute(21), second).end(minute(22))
    )
    run = reference.run(sessions.combine_per_key(Sum()), {SCORES: timeline})
    spans = [(one.window.end - one.window.start) // 60_000_000 for one in run.panes]
    assert (spans, run.dropped) == ([2, 2], ())
    batch = reference.run_batch(sessions.combine_per_key(Sum()), {SCORES: [first, second]})
    assert [one.value for one in batch.panes] == [2]


@given(st.data())
def test_panes_are_numbered_and_timed_in_order(data: st.DataObject) -> None:
    """Indices are consecutive, only the first is first, and timing is EARLY* ON_TIME? LATE* (section 13).

    For windows that do not merge; one that grows by merging starts again.
    """
    aligned = st.one_of(fixed_windows(), sliding_windows(), st.builds(GlobalWindows))
    collection = put_into(VALUES, data.draw(windowing_strategies(windows=aligned)))
    run = reference.run(collection.combine_per_key(Sum()), {READINGS: data.draw(free_timelines())})
    by_window: dict[object, list[Pane[KV[str, int]]]] = {}
    for one in run.panes:
        if one.change is Change.VALUE:
            by_window.setdefault((one.key, one.window), []).append(one)
    for panes in by_window.values():
        assert [one.index for one in panes] == list(range(len(panes)))
        assert [one.is_first for one in panes] == [True] + [False] * (len(panes) - 1)
        assert not any(one.is_last for one in panes[:-1])
        order = [list(Timing).index(one.timing) for one in panes]
        assert order == sorted(order)
        assert Counter(one.timing for one in panes)[Timing.ON_TIME] <= 1


@given(st.data())
def test_at_most_one_pane_stands(data: st.DataObject) -> None:
    """Under RETRACTING a retraction takes back a pane that stands, and no two stand for overlapping sessions."""
    collection = put_into(VALUES, drawn(data, Accumulation.RETRACTING, repeated=True))
    run = reference.run(collection.combine_per_key(Sum()), {READINGS: data.draw(free_timelines())})
    standing: dict[tuple[object, ...], Pane[KV[str, int]]] = {}
    for one in run.panes:
        place = (one.key, one.window)
        if one.change is Change.RETRACTION:
            taken = standing.pop(place)
            assert (taken.element, taken.event_time, taken.index) == (one.element, one.event_time, one.index)
        else:
            assert place not in standing
            standing[place] = one


@given(st.data())
def test_continuous_is_micro_batch_over_the_refined_timeline(data: st.DataObject) -> None:
    """A continuous engine is a micro-batch engine that is also woken at deadlines (section 4)."""
    collection = put_into(VALUES, drawn(data)).combine_per_key(Sum())
    timeline = data.draw(free_timelines())
    continuous = reference.run(collection, {READINGS: timeline})
    instants: list[Instant[Reading]] = []
    queue = list(timeline)
    for reading in continuous.watermarks:
        if queue and queue[0].processing_time == reading.processing_time:
            instants.append(queue.pop(0))
        else:
            last = instants[-1]
            instants.append(
                evolve(last, processing_time=reading.processing_time, elements=(), signals=frozenset())
            )
    refined = Timeline(tuple(instants))
    assert (
        reference.run(collection, {READINGS: refined}, mode=reference.Mode.MICRO_BATCH).panes
        == continuous.panes
    )


@given(st.data())
def test_arrival_order_inside_an_instant_does_not_matter(data: st.DataObject) -> None:
    """An instant is atomic: its elements are a bag."""
    summed = put_into(VALUES, data.draw(windowing_strategies())).combine_per_key(Sum(), Count())
    timeline = data.draw(free_timelines())
    turned = Timeline(tuple(evolve(one, elements=one.elements[::-1]) for one in timeline))
    assert (
        reference.run(summed, {READINGS: timeline}).panes == reference.run(summed, {READINGS: turned}).panes
    )


@given(st.data())
def test_watermarks_are_monotone(data: st.DataObject) -> None:
    """Neither the input's nor the output's watermark moves back, and the output's never leads."""
    summed = put_into(VALUES, data.draw(windowing_strategies())).combine_per_key(Sum())
    readings = reference.run(summed, {READINGS: data.draw(timelines(READINGS))}).watermarks
    for before, after in pairwise(readings):
        assert before.input <= after.input
        assert before.output <= after.output
    assert all(one.output <= one.input for one in readings)


def run_points(pipeline: PCollection[KV[str, int]], *scores: Score) -> object:
    """The run of a pipeline over some scores at once."""
    return reference.run_batch(pipeline, {SCORES: scores})


def test_an_unbound_source_is_named() -> None:
    """A source without a timeline, and a timeline without a source, are both errors."""
    with pytest.raises(
        UnboundSourceError, match="source 'scores' is not bound: pass inputs={scores: timeline}"
    ):
        reference.run(POINTS.combine_per_key(Sum()), {})
    with pytest.raises(UnboundSourceError, match="which the pipeline does not read; it reads scores"):
        reference.run(
            POINTS.combine_per_key(Sum()), {SCORES: Timeline[Score](), READINGS: Timeline[Reading]()}
        )


def test_a_pipeline_without_a_grouping_has_no_panes() -> None:
    """That is said, instead of an empty result."""
    with pytest.raises(UnsupportedError, match="groups nothing"):
        reference.run(POINTS, {SCORES: Timeline[Score]()})


def test_a_function_that_raises_is_named_with_its_record() -> None:
    """The message has the transform, the function's file and line, and the record."""
    broken = SCORES.key_by(lambda s: s.team).map_values(lambda s: 1 // s.points)
    with pytest.raises(UserFunctionError) as caught:
        run_points(broken.combine_per_key(Sum()), Score("a", 0, minute(0)))
    message = str(caught.value)
    assert "map_values(<lambda> at tests/test_reference.py:" in message
    assert "raised ZeroDivisionError" in message
    assert "on the record Score(team='a', points=0" in message


def test_overflow_is_an_error_wherever_it_happens() -> None:
    """In a user's function, and in a sum."""
    huge = Score("a", 2**62, minute(0))
    with pytest.raises(ValueRangeError, match=r"the result of map_values.*overflows 64 bits"):
        run_points(POINTS.map_values(lambda n: n * 2).combine_per_key(Sum()), huge)
    with pytest.raises(ValueRangeError, match=r"Sum is 9223372036854775808, which overflows 64 bits"):
        run_points(POINTS.combine_per_key(Sum()), huge, huge)


def test_an_unkeyed_element_is_refused_at_run_time() -> None:
    """Where the type could not be known when the pipeline was built."""
    unknown: PCollection[KV[str, int]] = SCORES.map(lambda s: eval("s.points"))
    with pytest.raises(
        KeyedCollectionError, match=r"needs elements that are KV\(key, value\) pairs, and got 1"
    ):
        run_points(unknown.combine_per_key(Sum()), Score("a", 1, minute(0)))


def test_float_keys_are_refused() -> None:
    """NaN equals nothing, itself included, so a float is no key."""
    with pytest.raises(ElementError, match="floats cannot be compared exactly"):
        reference.run_batch(
            SCORES.key_by(lambda s: s.points / 2).combine_per_key(Count()),
            {SCORES: [Score("a", 1, minute(0))]},
        )


def test_a_filter_gives_a_bool_and_a_flat_map_an_iterable() -> None:
    """Truthiness is a guess; both are refused with the value."""
    odd = SCORES.filter(lambda s: s.points).key_by(lambda s: s.team)  # type: ignore[arg-type,return-value]
    with pytest.raises(ElementError, match=r"is 3 \(a int\); it must be a bool"):
        reference.run_batch(odd.combine_per_key(Count()), {SCORES: [Score("a", 3, minute(0))]})
    letters = SCORES.flat_map(lambda s: s.team).key_by(lambda c: c)
    with pytest.raises(ElementError, match="it must be an iterable of elements"):
        reference.run_batch(letters.combine_per_key(Count()), {SCORES: [Score("a", 3, minute(0))]})


@given(st.integers(0, 30), st.lists(st.integers(0, 40)))
def test_bounded_disorder_is_the_greatest_less_the_delay(delay: int, seen: list[int]) -> None:
    """The watermark of a timeline made from records, against a one-line model."""
    scores = [Score("a", 1, minute(one)) for one in seen]
    timeline = Timeline.micro_batches(
        SCORES,
        [[one] for one in scores],
        processing_time=lambda s: minute(100),
        watermark=BoundedDisorder(timedelta(minutes=delay)),
        ends=False,
    )
    for position, instant in enumerate(timeline):
        latest = max(seen[: position + 1])
        assert instant.watermark == event_time(minute(latest - delay))
