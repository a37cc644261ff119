"""The accumulation mode of a grouping for which the pipeline leaves it unset."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import flowalg_reference as reference
import pytest
from flowalg_laws.conformance.jobs.feeds import readings
from flowalg_laws.conformance.jobs.refinements import OFTEN
from flowalg_laws.kit.readings import READINGS, VALUES
from flowalg_laws.strategies.times import point

from flowalg import (
    FOREVER,
    KV,
    Accumulation,
    AtCount,
    AtWatermark,
    Count,
    FixedWindows,
    MonotonicTimestamps,
    PCollection,
    Sessions,
    Sum,
    Timeline,
    event_time,
    explain,
    flatten,
    from_json,
    hazards,
    to_json,
)
from flowalg.analysis import Danger
from flowalg.pipeline.accumulation import resolve_accumulation
from flowalg.pipeline.graph import nodes_of
from flowalg.pipeline.nodes import GroupingNode
from flowalg.runs import Change
from flowalg.triggers.syntax import Trigger
from flowalg.windows.strategy import AllowedLateness

MINUTE = timedelta(minutes=1)
Sums = PCollection[KV[str, int]]


def sums(
    mode: Accumulation | None = None, lateness: AllowedLateness = FOREVER, trigger: Trigger = OFTEN
) -> Sums:
    """Returns the sums of five minutes."""
    windowed = VALUES.window(
        FixedWindows(5 * MINUTE), trigger=trigger, accumulation=mode, allowed_lateness=lateness
    )
    return windowed.combine_per_key(Sum())


def count(values: Sums) -> PCollection[KV[str, int]]:
    """Returns the number of values."""
    return values.map(lambda pair: KV("all", pair.value)).combine_per_key(Count())


def modes(pipeline: PCollection[object]) -> list[Accumulation]:
    """Returns the resolved modes of the groupings of a pipeline."""
    nodes = nodes_of(resolve_accumulation(pipeline.node))
    return [node.windowed_by.strategy.mode for node in nodes if isinstance(node, GroupingNode)]


def double_counting(pipeline: PCollection[object]) -> list[str]:
    """Returns the hazards of double counting."""
    return [str(hazard) for hazard in hazards(pipeline) if hazard.danger is Danger.DOUBLE_COUNTING]


READERS: dict[str, Callable[[Sums], PCollection[object]]] = {
    "a grouping": count,
    "a grouping in other windows": lambda sums: count(sums.window(FixedWindows(9 * MINUTE))),
    "a grouping of a union": lambda sums: count(flatten(sums, sums.map_values(lambda value: value + 1))),
    "a join": lambda sums: sums.inner_join(sums),
    "a side input": lambda sums: (
        VALUES.window(FixedWindows(5 * MINUTE), allowed_lateness=FOREVER)
        .with_side(sums.as_map())
        .map(lambda pair: pair[0])
        .combine_per_key(Sum())
    ),
}


@pytest.mark.parametrize("reader", READERS)
def test_panes_that_are_read_again_retract(reader: str) -> None:
    """An unset mode is RETRACTING if a grouping or a side input reads the panes, or if its elements are corrected."""
    pipeline = READERS[reader](sums())
    corrected = reader != "a side input"
    last = Accumulation.RETRACTING if corrected else Accumulation.ACCUMULATING
    assert modes(pipeline) == [Accumulation.RETRACTING, last]
    assert not double_counting(pipeline)


def test_panes_of_the_output_accumulate() -> None:
    """An unset mode is ACCUMULATING if the panes are the output of the pipeline, and no element is corrected."""
    assert modes(sums()) == [Accumulation.ACCUMULATING]
    assert modes(flatten(sums(), sums().map_values(abs))) == [Accumulation.ACCUMULATING] * 2


def test_panes_that_only_a_retraction_can_take_back_retract() -> None:
    """An unset mode is RETRACTING if the windows of an output merge, or a step drops the pane that replaces another."""
    sessions = VALUES.window(Sessions(MINUTE), trigger=OFTEN, allowed_lateness=FOREVER).combine_per_key(Sum())
    dropping: tuple[PCollection[object], ...] = (
        sessions,
        sums().filter(lambda pair: pair.value < 5),
        sums().flat_map(lambda pair: [pair] if pair.value < 5 else []),
    )
    for pipeline in dropping:
        assert modes(pipeline) == [Accumulation.RETRACTING]
        assert Danger.STALE_PANES not in {hazard.danger for hazard in hazards(pipeline)}
    kept = (sums(lateness=timedelta(0), trigger=AtWatermark()).filter(bool), sums().map_values(abs))
    for pipeline in kept:
        assert modes(pipeline) == [Accumulation.ACCUMULATING]


def test_the_pairs_of_a_join_accumulate_and_are_not_outdated() -> None:
    """A later pane of a join has pairs wherever an earlier one had: its own step drops nothing, and has no hazard."""
    values = VALUES.window(FixedWindows(5 * MINUTE), trigger=OFTEN, allowed_lateness=FOREVER)
    for join in (values.inner_join(values), values.full_join(values)):
        assert modes(join) == [Accumulation.ACCUMULATING]
        assert Danger.STALE_PANES not in {hazard.danger for hazard in hazards(join)}
    unmatched = values.left_join(values.filter(lambda pair: pair.value > 2)).filter(
        lambda pair: pair.value[1] is None
    )
    assert modes(unmatched) == [Accumulation.RETRACTING]


def test_panes_that_are_shown_accumulate() -> None:
    """A pane that ``with_pane`` shows cannot be retracted, so an unset mode stays ACCUMULATING, with its hazard."""
    sessions = VALUES.window(Sessions(MINUTE), trigger=OFTEN, allowed_lateness=FOREVER).combine_per_key(Sum())
    assert modes(sessions.with_pane()) == [Accumulation.ACCUMULATING]
    assert Danger.STALE_PANES in {hazard.danger for hazard in hazards(sessions.with_pane())}


@pytest.mark.parametrize("trigger", [AtWatermark(), AtWatermark().repeat()], ids=str)
def test_a_single_pane_needs_no_retraction(trigger: Trigger) -> None:
    """An unset mode stays ACCUMULATING if a window emits one pane only, so no pane is stored."""
    assert set(modes(count(sums(lateness=timedelta(0), trigger=trigger)))) == {Accumulation.ACCUMULATING}


@pytest.mark.parametrize("mode", Accumulation)
def test_an_explicit_mode_is_kept(mode: Accumulation) -> None:
    """A mode that is set is the mode of the grouping, whatever reads its panes."""
    assert modes(count(sums(mode)))[0] is mode


def test_explicit_modes_that_count_twice_are_reported() -> None:
    """ACCUMULATING before a grouping is a hazard; DISCARDING is one unless the panes are added up."""
    (accumulating,) = double_counting(count(sums(Accumulation.ACCUMULATING)))
    assert accumulating == (
        "combine_per_key(Sum): corrections can be counted twice, because it is ACCUMULATING, and "
        "combine_per_key(Count) receives each pane in addition to the one that it replaces; leave accumulation unset, "
        "or make it RETRACTING"
    )
    (discarding,) = double_counting(count(sums(Accumulation.DISCARDING)))
    assert discarding == (
        "combine_per_key(Sum): corrections can be counted twice, because it is DISCARDING, and combine_per_key(Count) "
        "is not a sum of the values of its panes; leave accumulation unset, or use Sum()"
    )
    assert double_counting(sums(Accumulation.DISCARDING).inner_join(sums(Accumulation.DISCARDING)))
    added = sums(Accumulation.DISCARDING)
    assert not double_counting(added.combine_per_key(Sum()))
    assert not double_counting(added.combine_per_key(Sum.of(lambda value: 2 * value)))
    assert double_counting(added.combine_per_key(Sum(), Count()))
    assert not double_counting(count(sums(Accumulation.ACCUMULATING, timedelta(0), AtWatermark().repeat())))


def test_an_explanation_shows_the_resolved_mode_of_each_grouping() -> None:
    """``explain`` shows the mode in force under each grouping."""
    lines = explain(count(sums())).splitlines()
    first, second = (index for index, line in enumerate(lines) if line.startswith("> combine_per_key"))
    assert (
        lines[first + 1]
        == "    each pane is all elements so far, after retracting the last pane (retracting)"
    )
    assert (
        lines[second + 1]
        == "    each pane is all elements so far, after retracting the last pane (retracting)"
    )
    (last,) = (line for line in explain(sums()).splitlines() if "each pane" in line)
    assert last == "    each pane is all elements so far, replacing the last pane (accumulating)"


def test_a_correction_counts_once_after_distinct() -> None:
    """The number of distinct names does not grow when a late duplicate arrives (SEMANTICS section 7)."""
    names = (
        VALUES.map(lambda pair: pair.key)
        .window(FixedWindows(5 * MINUTE), trigger=OFTEN, allowed_lateness=FOREVER)
        .distinct()
    )
    lines = ("10: a=1@0, b=2@1", "11: a=3@9", "12: b=4@2")
    timeline = Timeline.from_records(
        READINGS,
        [reading for line in lines for reading in readings(line)],
        processing_time=lambda reading: reading.seen,
        watermark=MonotonicTimestamps(),
    )
    counts = reference.run(names.key_by(lambda name: "names").combine_per_key(Count()), {READINGS: timeline})
    assert [(pane.window.start, pane.change, pane.element.value) for pane in counts.panes] == [
        (event_time(point(0)), Change.VALUE, 2),
        (event_time(point(5)), Change.VALUE, 1),
        (event_time(point(0)), Change.RETRACTION, 2),
        (event_time(point(0)), Change.VALUE, 2),
    ]


def test_a_resolved_pipeline_can_be_written() -> None:
    """The document of a pipeline has a resolved mode as well as an unset one."""
    pipeline = sums().combine_per_key(Count())
    resolved: PCollection[object] = PCollection(resolve_accumulation(pipeline.node))
    assert from_json(to_json(pipeline), PCollection[object]) == pipeline != resolved
    assert from_json(to_json(resolved), PCollection[object]) == resolved


def test_a_late_correction_moves_a_group_that_becomes_empty() -> None:
    """A late value that moves a sum from one group to another empties the first, which retracts its last pane."""
    late = AtWatermark().with_early_firings(AtCount(9)).with_late_firings(AtCount(1))
    corrected = sums(trigger=late).key_by(lambda pair: pair.value > 3).combine_per_key(Count())
    timeline = Timeline.from_records(
        READINGS,
        [reading for line in ("10: a=1@0", "11: b=9@9", "12: a=7@1") for reading in readings(line)],
        processing_time=lambda reading: reading.seen,
        watermark=MonotonicTimestamps(),
    )
    panes = reference.run(corrected, {READINGS: timeline}).panes
    first = [pane for pane in panes if pane.window.start == event_time(point(0))]
    assert [(pane.change, pane.key, pane.value) for pane in first] == [
        (Change.VALUE, False, 1),
        (Change.RETRACTION, False, 1),
        (Change.VALUE, True, 1),
    ]
