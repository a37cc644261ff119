"""Whole pipelines through the shard step, without Spark, compared with the reference and by the conformance suite.

The tests catch faults of the vectorized semantics in all parts of a pipeline: every window, trigger, mode and
combiner, several groupings, several partitions and shards, in-band clocks. ``make step-thorough`` runs far more. They
cannot catch faults of an engine; ``tests/spark`` does.
"""

from __future__ import annotations

from datetime import timedelta

import pytest
from flowalg_laws.conformance import JOBS, check_interpreter
from flowalg_laws.kit.interpreters import apply_windowing
from flowalg_laws.kit.readings import READINGS, VALUES, Reading
from flowalg_laws.strategies.times import point
from flowalg_polars import Cluster, PolarsStreaming
from flowalg_reference import Reference
from flowalg_shard.contents import columns
from flowalg_shard.step import bundle
from hypothesis import given, settings

from flowalg import Accumulation, AtCount, Count, FixedWindows, Perfect, Repeat, Sessions, Timeline
from flowalg.computations.calls import LAST_TIME
from flowalg.data.time import processing_time
from flowalg.windows import WindowingStrategy
from tests.support.step_pairs import Pair, pairs


@given(pairs())
def test_the_step_equals_the_reference_on_pipelines(pair: Pair) -> None:
    """The step has the panes of the reference, in order, and its drops."""
    assert pair.difference() == ""


@pytest.mark.thorough
@settings(max_examples=500)
@given(pairs())
def test_the_step_equals_the_reference_on_many_pipelines(pair: Pair) -> None:
    """The step has the panes and drops of the reference on many more pipelines."""
    assert pair.difference() == ""


@given(pairs())
def test_large_bundles_are_combined_alike(pair: Pair) -> None:
    """The way of large bundles and tables, which Polars' streaming engine groups, has the same panes and drops."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bundle, "LARGE", 1)
        patch.setattr(columns, "LARGE", 1)
        assert pair.difference() == ""


def session_panes(*instants: tuple[int, ...]) -> list[tuple[int, int]]:
    """Returns the instant and the value of each pane of a session with gaps of two minutes and ``AtCount(3)``."""
    timeline = Timeline[Reading]()
    for number, happened in enumerate(instants):
        records = [Reading("a", 1, point(minute), point(0)) for minute in happened]
        timeline = timeline.at(point(number), *records)
    strategy = WindowingStrategy(
        Sessions(timedelta(minutes=2)), Repeat(AtCount(3)), Accumulation.ACCUMULATING
    )
    counted = apply_windowing(VALUES, strategy).combine_per_key(Count())
    panes = PolarsStreaming().run(counted, {READINGS: timeline}).panes
    return [((pane.processing_time - processing_time(point(0))) // 60_000_000, pane.value) for pane in panes]


def test_a_merged_window_counts_pending_elements() -> None:
    """A merged window counts the pending elements of its members, and no elements that a pane has emitted."""
    assert session_panes((0,), (4,), (2,)) == [(2, 3)]
    assert session_panes((0, 0, 0), (4,), (2,)) == [(0, 3)]
    assert session_panes((0, 0, 0), (4,), (2, 2)) == [(0, 3), (2, 6)]


def test_windows_that_end_together_are_ordered_by_their_starts() -> None:
    """At the end of time windows are cut off, so that those with an offset by key end together."""
    minute = timedelta(minutes=1)
    windows = FixedWindows(2 * minute, offset_by_key=lambda key: minute if key == "a" else timedelta(0))
    last = LAST_TIME.datetime
    timeline = Timeline.batch([Reading("a", 1, last, last), Reading("b", 1, last, last)], time=point(0))
    counted = VALUES.window(windows).combine_per_key(Count())
    expected = Reference().run(counted, {READINGS: timeline}).panes
    assert len({pane.window.end for pane in expected}) == 1 < len({pane.window.start for pane in expected})
    assert expected[0].window.start < expected[1].window.start
    assert PolarsStreaming(Cluster(shards=3)).run(counted, {READINGS: timeline}).panes == expected


@pytest.mark.parametrize(
    "cluster",
    [
        pytest.param(Cluster(), marks=pytest.mark.thorough),
        pytest.param(Cluster(partitions=2, shards=3), marks=pytest.mark.long),
    ],
    ids=str,
)
def test_the_step_conforms(cluster: Cluster) -> None:
    """Every job of the suite passes by oracle, transcript and reference, with watermarks generated in band."""
    report = check_interpreter(PolarsStreaming(cluster, generate_watermarks=True), ordered=True)
    assert {*report.ran, *report.rejected} == {job.name for job in JOBS}
    assert set(report.rejected) == {job.name for job in JOBS if Perfect in job.features}
