"""Static warnings, compared with runs: a pipeline without a hazard never shows its effect."""

from __future__ import annotations

from datetime import datetime, timedelta

import flowalg_reference as reference
import games
import pytest
from flowalg_reference import Cause, explain_when
from flowalg_reference.operators import Operators
from flowalg_reference.run import execute, spec_of
from hypothesis import given, settings

from flowalg import (
    FOREVER,
    KV,
    Accumulation,
    AtCount,
    AtPeriod,
    AtWatermark,
    BoundedOutOfOrderness,
    Count,
    FixedWindows,
    GlobalWindows,
    Max,
    PCollection,
    Repeat,
    SequenceOf,
    Sessions,
    SlidingWindows,
    Source,
    Sum,
    Timeline,
    event_time,
    explain,
    flatten,
    hazards,
)
from flowalg.analysis import Danger
from flowalg.analysis.hazards import can_fire
from flowalg.combiners import ToSet
from flowalg.data import MAX_TIME
from flowalg.data.errors import describe_function
from flowalg.errors import ArgumentError
from flowalg.pipeline import SideInput
from flowalg.pipeline.structure import last_groupings
from flowalg.runs import Change
from flowalg.triggers import AfterDelay, Never, Trigger
from flowalg.watermarks import LagQuantile, ProcessingTimeLag, WatermarkPolicy
from flowalg.windows import TimestampCombiner, WindowFn
from flowalg.windows.strategy import AllowedLateness
from tests.support.generated_runs import runs, sums
from tests.support.scores import NOON, POINTS, SCORES, Score, minute

MINUTE = timedelta(minutes=1)


def danger_kinds(pipeline: PCollection[object]) -> set[Danger]:
    """Returns the kinds of hazards of a pipeline."""
    return {hazard.danger for hazard in hazards(pipeline)}


@pytest.mark.long
@settings(max_examples=6 * settings().max_examples)
@given(runs() | sums() | sums())
def test_a_run_without_hazards_shows_none_of_their_effects(run: reference.ReferenceRun[object]) -> None:
    """Without the hazard a run drops nothing before the end, retracts nothing, and frees expired state."""
    origin = spec_of(run)
    danger_kinds_found = danger_kinds(origin.pipeline)
    if Danger.DROPS not in danger_kinds_found:
        assert not [drop for drop in run.dropped if drop.watermark < MAX_TIME]
    if Danger.RETRACTIONS not in danger_kinds_found:
        assert all(pane.change is Change.VALUE for pane in run.panes)
    if Danger.UNBOUNDED_STATE not in danger_kinds_found:
        operators = Operators()
        execute({"": origin.pipeline}, origin.timelines, origin.mode, operators)
        for grouping in operators.groupings.values():
            lateness = grouping.spec.strategy.lateness_micros
            assert lateness is not None
            left = [window for windows in grouping.windows.values() for window in windows]
            assert all(window.end + lateness > grouping.clocks.watermark for window in left)


def test_sliding_windows_with_gaps_are_reported() -> None:
    """An element between two windows is in none, so a period longer than the size is a hazard."""
    sliding = POINTS.window(SlidingWindows(MINUTE, 5 * MINUTE), allowed_lateness=MINUTE).combine_per_key(
        Sum()
    )
    (gap,) = (hazard for hazard in hazards(sliding) if hazard.danger is Danger.GAPS)
    assert str(gap) == (
        "combine_per_key(Sum): elements can be in no window, because windows of a minute start every 5 minutes; "
        "choose a period of at most the size"
    )
    overlapping = POINTS.window(SlidingWindows(5 * MINUTE, MINUTE), allowed_lateness=MINUTE)
    assert Danger.GAPS not in danger_kinds(overlapping.combine_per_key(Sum()))


@pytest.mark.long
@settings(max_examples=6 * settings().max_examples)
@given(sums())
def test_a_trigger_that_is_reported_as_silent_never_fires(run: reference.ReferenceRun[object]) -> None:
    """A trigger that is reported as silent does not fire before the end of the input; its windows emit at expiry."""
    nodes = tuple(last_groupings(spec_of(run).pipeline.node))
    strategies = [node.windowed_by.strategy for node in nodes]
    if any(
        can_fire(strategy.trigger, unbounded=isinstance(strategy.windows, GlobalWindows))
        for strategy in strategies
    ):
        return
    assert Danger.NO_OUTPUT in danger_kinds(spec_of(run).pipeline)
    for pane in run.panes:
        assert explain_when(run, pane).cause is not Cause.FIRED or pane.watermark == MAX_TIME


def sum_in_windows(
    windows: WindowFn, trigger: Trigger, lateness: AllowedLateness | None = MINUTE
) -> PCollection[object]:
    """Returns the sums of the points in windows."""
    return POINTS.window(windows, trigger=trigger, allowed_lateness=lateness).combine_per_key(Sum())


ALWAYS = Repeat(AtCount(1))
FIXED = FixedWindows(2 * MINUTE)


@pytest.mark.parametrize(
    ("pipeline", "expected"),
    [
        (sum_in_windows(FIXED, ALWAYS), {Danger.DROPS}),
        (sum_in_windows(FIXED, ALWAYS, None), {Danger.UNBOUNDED_STATE}),
        (
            POINTS.window(FIXED, trigger=ALWAYS, allowed_lateness=FOREVER).combine_per_key(Sum()),
            {Danger.UNBOUNDED_STATE},
        ),
        (sum_in_windows(FIXED, AtCount(3), None), {Danger.UNBOUNDED_STATE, Danger.DROPS}),
        (sum_in_windows(GlobalWindows(), ALWAYS), {Danger.UNBOUNDED_STATE}),
        (sum_in_windows(GlobalWindows(), Repeat(AtWatermark())), {Danger.UNBOUNDED_STATE, Danger.NO_OUTPUT}),
        (sum_in_windows(GlobalWindows(), Repeat(AtWatermark(percentile=0.9))), {Danger.UNBOUNDED_STATE}),
        (sum_in_windows(FIXED, Repeat(Never())), {Danger.DROPS, Danger.NO_OUTPUT}),
        (sum_in_windows(FIXED, Repeat(Never() & AtCount(1))), {Danger.DROPS, Danger.NO_OUTPUT}),
        (sum_in_windows(FIXED, Repeat(Never() | AtCount(1))), {Danger.DROPS}),
        (sum_in_windows(FIXED, SequenceOf(Never(), ALWAYS)), {Danger.DROPS, Danger.NO_OUTPUT}),
        (sum_in_windows(FIXED, Repeat(Never()).until(AfterDelay(MINUTE))), {Danger.DROPS}),
    ],
)
def test_each_hazard_is_reported(pipeline: PCollection[object], expected: set[Danger]) -> None:
    """Each hazard of windows, lateness and triggers is reported."""
    assert danger_kinds(pipeline) == expected


def test_the_hazard_of_an_unlimited_lateness_names_it_as_it_is_written() -> None:
    """The cause is an allowed lateness that is unset, or ``FOREVER``."""
    for lateness, name in ((None, "unset"), (FOREVER, "FOREVER")):
        windows = POINTS.window(FIXED, trigger=ALWAYS, allowed_lateness=lateness)
        (hazard,) = hazards(windows.combine_per_key(Sum()))
        assert f"lateness of its windows is {name};" in str(hazard)


def test_retractions_are_reported_where_they_are_emitted() -> None:
    """A last grouping that retracts is reported; one that receives retractions retracts too, unless set otherwise."""
    first = POINTS.window(
        FIXED, trigger=ALWAYS, accumulation=Accumulation.RETRACTING, allowed_lateness=MINUTE
    ).combine_per_key(Sum())
    unset = first.window(FIXED, trigger=ALWAYS, allowed_lateness=MINUTE).combine_per_key(Max())
    assert Danger.RETRACTIONS in danger_kinds(first)
    assert Danger.RETRACTIONS in danger_kinds(unset)
    assert Danger.STALE_PANES not in danger_kinds(unset)
    second = first.window(
        FIXED, trigger=ALWAYS, accumulation=Accumulation.ACCUMULATING, allowed_lateness=MINUTE
    ).combine_per_key(Max())
    assert Danger.RETRACTIONS not in danger_kinds(second)
    (stale,) = (hazard for hazard in hazards(second) if hazard.danger is Danger.STALE_PANES)
    assert str(stale) == (
        "combine_per_key(Max): the last pane of a window can remain when the window has gone, because all its values "
        "can be retracted, and it is ACCUMULATING; make it RETRACTING"
    )
    merging = sum_in_windows(Sessions(MINUTE), ALWAYS)
    assert Danger.STALE_PANES not in danger_kinds(merging)
    assert Danger.RETRACTIONS in danger_kinds(merging)
    accumulating = POINTS.window(
        Sessions(MINUTE), trigger=ALWAYS, accumulation=Accumulation.ACCUMULATING, allowed_lateness=MINUTE
    ).combine_per_key(Sum())
    assert Danger.STALE_PANES in danger_kinds(accumulating)
    assert Danger.STALE_PANES not in danger_kinds(first)
    assert Danger.RETRACTIONS not in danger_kinds(sum_in_windows(FIXED, ALWAYS))


def of_side_input(values: PCollection[KV[str, int]], side: SideInput[object]) -> list[Danger]:
    """Returns the dangers of a side input."""
    all_hazards = hazards(values.map_with(side, lambda pair, n: pair))
    return [hazard.danger for hazard in all_hazards if hazard.where == "a side input"]


def test_a_side_input_is_reported_if_its_windows_are_kept() -> None:
    """A side input in finite windows keeps their values, unless the elements that read it have a bounded lateness."""
    finite = POINTS.window(FIXED, allowed_lateness=timedelta(0)).combine_globally(Count())
    side = finite.as_singleton(default=0)
    assert of_side_input(POINTS, side) == [Danger.UNBOUNDED_STATE, Danger.DROPS]
    assert of_side_input(POINTS, POINTS.combine_globally(Count()).as_singleton()) == [Danger.DROPS]
    forever = POINTS.window(FIXED, allowed_lateness=FOREVER)
    sessions = POINTS.window(Sessions(MINUTE), allowed_lateness=MINUTE)
    for values in (forever, sessions, sessions.combine_per_key(Sum())):
        assert of_side_input(values, side) == [Danger.UNBOUNDED_STATE, Danger.DROPS]
    bounded = POINTS.window(FIXED, allowed_lateness=MINUTE)
    assert of_side_input(bounded, side) == [Danger.DROPS, Danger.DROPS]
    assert of_side_input(bounded.combine_per_key(Sum()), side) == [Danger.DROPS]
    assert of_side_input(bounded, side.latest_complete()) == [Danger.DROPS, Danger.DROPS]


def test_a_slowly_changing_mapping_is_reported_for_its_keys() -> None:
    """The newest value of each key is kept, so the keys of a mapping that changes slowly must be few."""
    keyed = POINTS.window(FIXED, allowed_lateness=timedelta(0)).combine_per_key(Sum()).as_map()
    bounded = POINTS.window(FIXED, allowed_lateness=MINUTE).combine_per_key(Sum())
    assert of_side_input(bounded, keyed) == [Danger.DROPS]
    assert of_side_input(bounded, keyed.latest_complete()) == [Danger.UNBOUNDED_STATE, Danger.DROPS]


def test_a_side_input_is_reported_for_late_elements() -> None:
    """A side input is reported for drops, because it is read once, when its window is complete."""
    side = POINTS.window(FIXED, allowed_lateness=FOREVER).combine_globally(Count()).as_singleton(default=0)
    with_side = POINTS.window(FIXED, trigger=ALWAYS, allowed_lateness=FOREVER).map_with(
        side, lambda pair, n: pair
    )
    (drop,) = (
        hazard for hazard in hazards(with_side.combine_per_key(Sum())) if hazard.danger is Danger.DROPS
    )
    assert drop.where == "a side input"


def hazards_of(pipeline: PCollection[object], danger: Danger) -> list[str]:
    """Returns the hazards of a kind as text."""
    return [str(hazard) for hazard in hazards(pipeline) if hazard.danger is danger]


EARLY_AND_LATE = AtWatermark().with_early_firings(AtPeriod(MINUTE)).with_late_firings(AtCount(1))


def test_a_usual_pipeline_has_one_hazard() -> None:
    """Sums in windows with early and late panes and a bounded lateness have the hazard of that lateness only."""
    assert danger_kinds(sum_in_windows(FIXED, EARLY_AND_LATE)) == {Danger.DROPS}
    grouped = POINTS.window(FIXED, allowed_lateness=MINUTE).group_by_key()
    assert danger_kinds(grouped) == {Danger.DROPS}


def test_windows_that_close_before_they_merge_are_reported() -> None:
    """Sessions under a trigger that finishes can touch although nothing is dropped: a closed one does not merge."""
    sessions = sum_in_windows(Sessions(2 * MINUTE), AtCount(1), FOREVER)
    (overlap,) = hazards_of(sessions, Danger.OVERLAPS)
    assert "a window is closed once its trigger has finished" in overlap
    assert Danger.OVERLAPS not in danger_kinds(sum_in_windows(Sessions(MINUTE), Repeat(AtCount(1)), FOREVER))
    assert Danger.OVERLAPS not in danger_kinds(sum_in_windows(FIXED, AtCount(1), FOREVER))
    later = NOON + 2 * MINUTE
    timeline = Timeline[Score]().at(NOON, Score("a", 1, later)).at(later, Score("a", 2, NOON)).end(later)
    run = reference.run(sessions, {SCORES: timeline})
    assert [(pane.element, pane.window.start) for pane in run.panes] == [
        (KV("a", 1), event_time(later)),
        (KV("a", 2), event_time(NOON)),
    ]
    assert not run.dropped


@pytest.mark.parametrize("lateness", [timedelta(0), MINUTE])
def test_windows_that_expire_before_they_merge_are_reported(lateness: timedelta) -> None:
    """Sessions with a bounded lateness can overlap, as the run shows: an expired one does not merge any more."""
    sessions = sum_in_windows(Sessions(2 * MINUTE), Repeat(AtWatermark()), lateness)
    (overlap,) = hazards_of(sessions, Danger.OVERLAPS)
    assert overlap.startswith("combine_per_key(Sum): windows that would have merged can overlap, because ")
    assert Danger.OVERLAPS not in danger_kinds(
        sum_in_windows(Sessions(MINUTE), Repeat(AtWatermark()), FOREVER)
    )
    assert Danger.OVERLAPS not in danger_kinds(sum_in_windows(FIXED, Repeat(AtWatermark()), lateness))
    passed = NOON + 2 * MINUTE + lateness
    timeline = (
        Timeline[Score]()
        .at(NOON, Score("a", 1, NOON), watermark=NOON)
        .at(NOON + MINUTE, watermark=passed)
        .at(NOON + 2 * MINUTE, Score("a", 2, NOON + MINUTE), watermark=passed)
        .end(NOON + 3 * MINUTE)
    )
    run = reference.run(sessions, {SCORES: timeline})
    first, second = (value.window for value in run.final_values())
    assert not run.dropped
    assert first.end > second.start


def test_panes_of_the_global_window_that_are_windowed_again_are_reported() -> None:
    """They are all in the last window of time, unless they have other event times, as the run shows."""

    def counted(combiner: TimestampCombiner = TimestampCombiner.END_OF_WINDOW) -> PCollection[KV[str, int]]:
        windows = POINTS.window(GlobalWindows(), trigger=ALWAYS, timestamp_combiner=combiner)
        return windows.combine_per_key(Count())

    def hourly(counts: PCollection[KV[str, int]]) -> PCollection[KV[str, int]]:
        return counts.window(FixedWindows(60 * MINUTE), allowed_lateness=MINUTE).combine_per_key(Max())

    (last,) = hazards_of(hourly(counted()), Danger.LAST_WINDOW)
    assert last == (
        "combine_per_key(Count): all panes fall into the last window of time, because combine_per_key(Max) has fixed "
        "windows of an hour, and the event time of the panes is the end of the global window; put "
        "with_timestamps(...) after it, or set timestamp_combiner to TimestampCombiner.LATEST"
    )
    (pane,) = reference.run_batch(hourly(counted()), {SCORES: [Score("a", 1, NOON)]}).panes
    assert pane.window.end == MAX_TIME
    side = POINTS.window(FIXED, allowed_lateness=MINUTE).combine_globally(Count()).as_singleton(default=0)
    for pipeline in (
        counted().filter(lambda pair: pair.value > 1).map_with(side, lambda pair, n: pair),
        flatten(counted(), counted()).window(FIXED).combine_per_key(Max()),
        POINTS.map_with(counted().window(FIXED).as_map(), lambda pair, counts: pair),
        counted().window(FIXED).inner_join(POINTS.window(FIXED)),
    ):
        assert hazards_of(pipeline, Danger.LAST_WINDOW)
    for pipeline in (
        hourly(counted(TimestampCombiner.LATEST)),
        hourly(counted(TimestampCombiner.EARLIEST)),
        hourly(counted().with_timestamps(lambda pair: NOON)),
        counted().combine_per_key(Max()),
        hourly(POINTS.window(FIXED, trigger=ALWAYS).combine_per_key(Count())),
    ):
        assert not hazards_of(pipeline, Danger.LAST_WINDOW)


def test_sliding_windows_of_which_an_element_is_in_many_are_reported() -> None:
    """A day every ten seconds puts each element into 8,640 windows; an hour every minute is usual."""
    day = 24 * 60 * MINUTE
    (many,) = hazards_of(sum_in_windows(SlidingWindows(day, MINUTE / 6), ALWAYS), Danger.MANY_WINDOWS)
    assert many == (
        "combine_per_key(Sum): each element is in many windows, because windows of a day start every 10 seconds, so an "
        "element is in 8,640 of them, and each has its own state and panes; choose a longer period"
    )
    assert not hazards_of(sum_in_windows(SlidingWindows(60 * MINUTE, MINUTE), ALWAYS), Danger.MANY_WINDOWS)


def test_lists_that_grow_are_reported() -> None:
    """Lists that early panes repeat are reported, and lists in the global window as state that keeps all values."""
    early = POINTS.window(FIXED, trigger=EARLY_AND_LATE, allowed_lateness=MINUTE)
    for lists in (early.group_by_key(), early.combine_per_key(ToSet(), Sum()), early.co_group_by_key(early)):
        (grows,) = hazards_of(lists, Danger.GROWING_PANES)
        assert grows.endswith("make it DISCARDING, fire less often, or combine the values")
    discarding = POINTS.window(FIXED, trigger=EARLY_AND_LATE, accumulation=Accumulation.DISCARDING)
    late = POINTS.window(FIXED, trigger=AtWatermark().with_late_firings(AtCount(1)))
    for others in (discarding.group_by_key(), late.group_by_key(), early.combine_per_key(Sum())):
        assert not hazards_of(others, Danger.GROWING_PANES)
    endless = POINTS.window(GlobalWindows(), trigger=ALWAYS)
    (keeps,) = hazards_of(endless.group_by_key(), Danger.UNBOUNDED_STATE)
    assert keeps.endswith("which keeps all of its values; put window(...) before it, or make it DISCARDING")
    (joined,) = hazards_of(endless.inner_join(endless), Danger.UNBOUNDED_STATE)
    assert joined.endswith("which keeps all of its values; put window(...) before it")


def test_panes_that_a_later_filter_can_drop_are_reported() -> None:
    """The pane before one that is filtered out remains the last one, as the run shows, unless panes are retracted."""

    def small(accumulation: Accumulation | None) -> PCollection[KV[str, int]]:
        windows = POINTS.window(FIXED, trigger=ALWAYS, allowed_lateness=MINUTE, accumulation=accumulation)
        return windows.combine_per_key(Sum()).filter(lambda pair: pair.value < 5)

    timeline = (
        Timeline[Score]().at(NOON, Score("a", 3, NOON)).at(NOON, Score("a", 4, NOON)).end(NOON + MINUTE)
    )
    for accumulation, left in ((Accumulation.ACCUMULATING, 1), (Accumulation.RETRACTING, 0), (None, 0)):
        assert len(hazards_of(small(accumulation), Danger.STALE_PANES)) == left
        assert len(reference.run(small(accumulation), {SCORES: timeline}).final_values()) == left


def test_functions_that_run_in_python_are_reported() -> None:
    """A step that engines do not compute as columns is reported with its reason, and explained at its step only."""
    opaque = POINTS.map(lambda pair: KV(pair.key, len(vars(pair))))
    (slow,) = hazards_of(opaque, Danger.PYTHON)
    assert "a function runs in Python for each element, because " in slow
    assert "test_hazards.py" in slow
    assert not hazards_of(POINTS.map(lambda pair: KV(pair.key, pair.value + 1)), Danger.PYTHON)
    assert "!" not in explain(opaque)


def test_an_explanation_has_steps_windows_and_hazards() -> None:
    """The explanation of a pipeline has each step with its type, each window with its trigger, and the hazards."""
    assert explain(games.STANDINGS).splitlines() == [
        "scores: Score",
        f"> key_by({describe_function(games.team_of)}): KV[str, Score]",
        "> in two minutes: KV[str, Score]",
        "    > window(fixed windows of 2 minutes)",
        "        fires every minute until the watermark passes, then at every late element",
        "        accepts late elements for 5 minutes of event time",
        "> standings: KV[str, Standing]",
        "    > combine_per_key(Sum, Count): KV[str, tuple[int, int]]",
        "        each pane is all elements so far, replacing the last pane (accumulating)",
        "    > combine_per_key(into=…)(games.Standing): KV[str, Standing]",
        "! standings/combine_per_key(Sum, Count): elements can be dropped, because late elements are accepted for 5 "
        "minutes only; allow more lateness, or let the watermark wait longer",
    ]


def test_an_explanation_has_branches_and_functions_in_python() -> None:
    """The explanation has each branch of a flatten, side inputs, and why a function runs in Python."""
    sums = POINTS.window(FIXED, allowed_lateness=timedelta(0)).combine_per_key(Sum())
    side = sums.map_values(str).as_map()
    text = explain(flatten(sums, sums).map_with(side, lambda pair, mapping: len(mapping)))
    lines = text.splitlines()
    assert lines[0] == "flatten"
    assert [line for line in lines if line.startswith("  + ")] == ["  + scores: Score", "  + (1)"]
    assert "> with the mapping of a side input: tuple[KV[str, int], Mapping[str, str]]" in lines
    latest = explain(sums.with_side(sums.window(FIXED).combine_per_key(Sum()).as_map().latest_complete()))
    assert "> with the latest complete mapping of a side input" in latest
    assert "        accepts no late elements" in lines
    unknown = explain(POINTS.map(lambda pair: vars(pair)))
    assert "of unknown type (in Python: " in unknown


def test_only_pipelines_can_be_explained() -> None:
    """``explain`` and ``hazards`` raise an error for a value that is not a pipeline."""
    for function in (explain, hazards):
        with pytest.raises(ArgumentError, match=r"pipeline must be a PCollection; got 3 \(int\)"):
            function(3)  # type: ignore[arg-type]


def test_policies_that_follow_the_clock_are_hazards() -> None:
    """A delay by the clock drops what an outage has held up; what follows the clock needs instants without data."""
    sums = POINTS.window(FixedWindows(MINUTE), allowed_lateness=MINUTE).combine_per_key(Sum())
    without = hazards(sums)
    assert hazards(sums, {SCORES: BoundedOutOfOrderness(MINUTE)}) == without
    dangers = {
        policy: [hazard.danger for hazard in hazards(sums, {SCORES: policy}) if hazard not in without]
        for policy in (
            ProcessingTimeLag(2 * MINUTE),
            LagQuantile(0.99),
            BoundedOutOfOrderness(MINUTE, idle_after=MINUTE),
        )
    }
    assert list(dangers.values()) == [[Danger.DROPS, Danger.SILENCE], [Danger.SILENCE], [Danger.SILENCE]]
    with pytest.raises(ArgumentError, match="a source of the pipeline: scores"):
        hazards(sums, {Source("others", Score, event_time=lambda score: score.at): LagQuantile(0.9)})


def test_an_outage_is_what_the_hazard_says() -> None:
    """After an outage, a delay by the clock drops what has waited, and neither a learned one nor event time does."""
    sums = POINTS.window(FixedWindows(MINUTE), allowed_lateness=5 * MINUTE).combine_per_key(Count())
    records = [Score("a", 1, minute(number / 6)) for number in range(6 * 123)]

    def seen(score: Score) -> datetime:
        elapsed = (score.at - minute(0)) / MINUTE
        return score.at if elapsed < 3 else minute(123) + int((elapsed - 3) // 10) * timedelta(seconds=1)

    def drops(policy: WatermarkPolicy) -> int:
        timeline = Timeline.from_records(SCORES, records, processing_time=seen, watermark=policy)
        return sum(drop.count for drop in reference.run(sums, {SCORES: timeline}).dropped)

    policies = (ProcessingTimeLag(2 * MINUTE), LagQuantile(0.99), BoundedOutOfOrderness(MINUTE))
    assert list(map(drops, policies)) == [618, 0, 0]
