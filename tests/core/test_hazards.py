"""Static warnings: no run contradicts what a pipeline says about itself."""

from __future__ import annotations

from datetime import timedelta

import flowalg_reference as reference
import games
import pytest
from flowalg_reference import Cause, explain_when
from flowalg_reference.operators import Operators
from flowalg_reference.run import execute, spec_of
from hypothesis import given, settings

from flowalg import (
    FOREVER,
    MAX_TIME,
    Accumulation,
    AfterDelay,
    ArgumentError,
    AtCount,
    AtWatermark,
    Change,
    Count,
    Danger,
    FixedWindows,
    GlobalWindows,
    Max,
    Never,
    PCollection,
    Repeat,
    SequenceOf,
    Sum,
    Trigger,
    WindowFn,
    explain,
    flatten,
    hazards,
)
from flowalg.analysis.hazards import can_fire
from flowalg.elementwise.functions import describe_function
from flowalg.pipeline.structure import last_groupings
from flowalg.windows.strategy import AllowedLateness
from tests.support.generated_runs import runs, sums
from tests.support.scores import POINTS

MINUTE = timedelta(minutes=1)


def dangers(pipeline: PCollection[object]) -> set[Danger]:
    """The kinds of hazards of a pipeline."""
    return {one.danger for one in hazards(pipeline)}


@pytest.mark.long
@settings(max_examples=6 * settings().max_examples)
@given(runs() | sums() | sums())
def test_a_pipeline_without_a_hazard_is_safe_from_it(run: reference.ReferenceRun[object]) -> None:
    """Without the hazard a run drops nothing before the end, retracts nothing, and frees expired state."""
    origin = spec_of(run)
    found = dangers(origin.pipeline)
    if Danger.DROPS not in found:
        assert not [one for one in run.dropped if one.watermark < MAX_TIME]
    if Danger.RETRACTIONS not in found:
        assert all(pane.change is Change.VALUE for pane in run.panes)
    if Danger.UNBOUNDED_STATE not in found:
        operators = Operators()
        execute(origin, operators)
        for grouping in operators.groupings.values():
            lateness = grouping.spec.strategy.lateness_micros
            assert lateness is not None
            left = [window for windows in grouping.windows.values() for window in windows]
            assert all(window.end + lateness > grouping.clocks.watermark for window in left)


@settings(max_examples=6 * settings().max_examples)
@given(sums())
def test_a_trigger_that_cannot_fire_does_not(run: reference.ReferenceRun[object]) -> None:
    """A trigger that is reported as silent does not fire before the end of the input; its windows emit at expiry."""
    nodes = tuple(last_groupings(spec_of(run).pipeline.node))
    strategies = [node.windowed_by.strategy for node in nodes]
    if any(can_fire(one.trigger, unbounded=isinstance(one.windows, GlobalWindows)) for one in strategies):
        return
    assert Danger.NO_OUTPUT in dangers(spec_of(run).pipeline)
    for pane in run.panes:
        assert explain_when(run, pane).cause is not Cause.FIRED or pane.watermark == MAX_TIME


def summed(
    windows: WindowFn, trigger: Trigger, lateness: AllowedLateness | None = MINUTE
) -> PCollection[object]:
    """Sums in windows."""
    return POINTS.window(windows, trigger=trigger, allowed_lateness=lateness).combine_per_key(Sum())


ALWAYS = Repeat(AtCount(1))
FIXED = FixedWindows(2 * MINUTE)


@pytest.mark.parametrize(
    ("pipeline", "expected"),
    [
        (summed(FIXED, ALWAYS), {Danger.DROPS}),
        (summed(FIXED, ALWAYS, None), {Danger.UNBOUNDED_STATE}),
        (
            POINTS.window(FIXED, trigger=ALWAYS, allowed_lateness=FOREVER).combine_per_key(Sum()),
            {Danger.UNBOUNDED_STATE},
        ),
        (summed(FIXED, AtCount(3), None), {Danger.UNBOUNDED_STATE, Danger.DROPS}),
        (summed(GlobalWindows(), ALWAYS), {Danger.UNBOUNDED_STATE}),
        (summed(GlobalWindows(), Repeat(AtWatermark())), {Danger.UNBOUNDED_STATE, Danger.NO_OUTPUT}),
        (summed(GlobalWindows(), Repeat(AtWatermark(percentile=0.9))), {Danger.UNBOUNDED_STATE}),
        (summed(FIXED, Repeat(Never())), {Danger.DROPS, Danger.NO_OUTPUT}),
        (summed(FIXED, Repeat(Never() & AtCount(1))), {Danger.DROPS, Danger.NO_OUTPUT}),
        (summed(FIXED, Repeat(Never() | AtCount(1))), {Danger.DROPS}),
        (summed(FIXED, SequenceOf(Never(), ALWAYS)), {Danger.DROPS, Danger.NO_OUTPUT}),
        (summed(FIXED, Repeat(Never()).until(AfterDelay(MINUTE))), {Danger.DROPS}),
    ],
)
def test_each_danger_is_told(pipeline: PCollection[object], expected: set[Danger]) -> None:
    """Each hazard of windows, lateness and triggers is reported."""
    assert dangers(pipeline) == expected


def test_retractions_are_told_of_all_that_follows_them() -> None:
    """A grouping that retracts is reported at every grouping after it that retracts because of it."""
    first = POINTS.window(
        FIXED, trigger=ALWAYS, accumulation=Accumulation.RETRACTING, allowed_lateness=MINUTE
    ).combine_per_key(Sum())
    second = first.window(FIXED, trigger=ALWAYS, allowed_lateness=MINUTE).combine_per_key(Max())
    assert Danger.RETRACTIONS in dangers(first)
    assert Danger.RETRACTIONS in dangers(second)
    assert Danger.RETRACTIONS not in dangers(summed(FIXED, ALWAYS))


def test_a_side_input_can_drop_what_comes_late_for_it() -> None:
    """A side input is reported for drops, since it is read once when its window is complete."""
    side = POINTS.window(FIXED, allowed_lateness=FOREVER).combine_globally(Count()).as_singleton(default=0)
    beside = POINTS.window(FIXED, trigger=ALWAYS, allowed_lateness=FOREVER).map_with(
        side, lambda pair, n: pair
    )
    (drop,) = (one for one in hazards(beside.combine_per_key(Sum())) if one.danger is Danger.DROPS)
    assert drop.where == "a side input"


def test_a_pipeline_reads_as_a_person_would_tell_it() -> None:
    """The explanation of a pipeline has each step with its type, each window with its trigger, and the hazards."""
    assert explain(games.STANDINGS).splitlines() == [
        "scores: Score",
        f"> key_by({describe_function(games.team_of)}): KV[str, Score]",
        "> in two minutes: KV[str, Score]",
        "    > window(fixed windows of 0:02:00)",
        "        fires every minute until the watermark passes, then at every late element",
        "        each pane is all elements so far, replacing the last pane (accumulating)",
        "        accepts late elements for 5 minutes of event time",
        "> standings: KV[str, Standing]",
        "    > combine_per_key(Sum, Count): KV[str, tuple[int, int]]",
        "    > combine_per_key(into=…)(games.Standing): KV[str, Standing]",
        "! standings/combine_per_key(Sum, Count): elements can be dropped, because late elements are accepted for 5 "
        "minutes only; allow more lateness, or let the watermark wait longer",
    ]


def test_branches_and_functions_in_python_are_told() -> None:
    """The explanation has each branch of a flatten, side inputs, and why a function runs in Python."""
    sums = POINTS.window(FIXED, allowed_lateness=timedelta(0)).combine_per_key(Sum())
    side = sums.map_values(str).as_map()
    text = explain(flatten(sums, sums).map_with(side, lambda pair, known: len(known)))
    lines = text.splitlines()
    assert lines[0] == "flatten"
    assert [line for line in lines if line.startswith("  + ")] == ["  + scores: Score", "  + (1)"]
    assert "> with the mapping of a side input: tuple[KV[str, int], Mapping[str, str]]" in lines
    assert "        accepts no late elements" in lines
    unknown = explain(POINTS.map(lambda pair: vars(pair)))
    assert "of unknown type (in Python: " in unknown


def test_what_is_no_pipeline_is_refused() -> None:
    """``explain`` and ``hazards`` refuse values that are not pipelines."""
    for function in (explain, hazards):
        with pytest.raises(ArgumentError, match=r"pipeline must be a PCollection; got 3 \(int\)"):
            function(3)  # type: ignore[arg-type]
