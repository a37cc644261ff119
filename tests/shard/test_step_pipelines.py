"""Whole pipelines through the shard step, without Spark, against the reference and by the conformance suite.

This family catches faults of the vectorised semantics in everything that a pipeline can be made of: every window,
trigger, mode and combiner, several groupings, several partitions and shards, clocks in band. ``make step-thorough``
tries far more. It cannot catch faults of an engine; ``test_spark.py`` does.
"""

from __future__ import annotations

from datetime import timedelta

import flowalg_reference
import pytest
from flowalg_laws.conformance import JOBS, check_interpreter
from flowalg_laws.kit.interpreters import apply_windowing
from flowalg_laws.kit.readings import READINGS, VALUES, Reading
from flowalg_laws.strategies.times import point
from flowalg_shard.local import Cluster, Waking, run
from hypothesis import given, settings

from flowalg import AtCount, Count, Mode, Repeat, Sessions, Timeline, WindowingStrategy
from flowalg.data.time import processing_time
from tests.support.shard_runs import stepping
from tests.support.step_pairs import Pair, pairs


@given(pairs())
def test_the_step_is_the_reference(pair: Pair) -> None:
    """Pane by pane, in order, and drop by drop."""
    assert pair.difference() == ""


@pytest.mark.long
@settings(max_examples=500)
@given(pairs())
def test_the_step_is_the_reference_again_and_again(pair: Pair) -> None:
    """The same on many more pipelines."""
    assert pair.difference() == ""


def fired(*instants: tuple[int, ...]) -> list[tuple[int, int]]:
    """In which instant a session with gaps of two minutes fires, of how many, that fires at every three elements."""
    timeline = Timeline[Reading]()
    for number, happened in enumerate(instants):
        records = [Reading("a", 1, point(minute), point(0)) for minute in happened]
        timeline = timeline.at(point(number), *records)
    strategy = WindowingStrategy(Sessions(timedelta(minutes=2)), Repeat(AtCount(3)))
    panes = run(apply_windowing(VALUES, strategy).combine_per_key(Count()), {READINGS: timeline}).panes
    return [((one.processing_time - processing_time(point(0))) // 60_000_000, one.value) for one in panes]


def test_what_no_pane_has_shown_counts_when_windows_merge() -> None:
    """And what one has shown does not."""
    assert fired((0,), (4,), (2,)) == [(2, 3)]
    assert fired((0, 0, 0), (4,), (2,)) == [(0, 3)]
    assert fired((0, 0, 0), (4,), (2, 2)) == [(0, 3), (2, 6)]


@pytest.mark.parametrize(
    "cluster", [pytest.param(Cluster(), marks=pytest.mark.long), Cluster(partitions=2, shards=3)], ids=str
)
def test_the_step_conforms(cluster: Cluster) -> None:
    """Every job of the suite: oracle, transcript and reference. Nothing is missing."""
    report = check_interpreter(stepping(cluster), flowalg_reference.CAPABILITIES, ordered=True)
    assert set(report.ran) == {job.name for job in JOBS}


@pytest.mark.long
def test_the_step_conforms_when_it_wakes_at_deadlines() -> None:
    """As a continuous engine does."""
    woken = stepping(Cluster(), Waking.AT_DEADLINES)
    check_interpreter(woken, flowalg_reference.CAPABILITIES, mode=Mode.CONTINUOUS, ordered=True)
