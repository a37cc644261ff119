"""Runs and interpreters: one pipeline on all engines in memory, and which panes are current at the end.

The tests catch a rule of current panes that differs between two users of it, and an engine that reads a timeline
otherwise than the reference does. ``test_interpreters`` has Spark.
"""

from __future__ import annotations

from datetime import timedelta

import pytest
from attrs import evolve
from flowalg_polars import Cluster, PolarsStreaming
from flowalg_reference import Reference, ReferenceBatch

from flowalg import (
    KV,
    Accumulation,
    AtCount,
    AtWatermark,
    BoundedOutOfOrderness,
    FixedWindows,
    Interpreter,
    Mode,
    Pane,
    Sessions,
    Sum,
    Timeline,
    final_values,
)
from flowalg.errors import ArgumentError, UnboundSourceError
from flowalg.runs import Change, Drop, DropReason
from flowalg.runs.timeline import as_batch
from tests.support.scores import POINTS, SCORES, Score, minute

MINUTE = timedelta(minutes=1)
TOTALS = POINTS.window(
    FixedWindows(2 * MINUTE),
    trigger=AtWatermark().with_early_firings(AtCount(1)).with_late_firings(AtCount(1)),
    allowed_lateness=2 * MINUTE,
).combine_per_key(Sum())
TIMELINE = (
    Timeline[Score]()
    .at(minute(1), Score("a", 5, minute(0.5)), Score("b", 7, minute(1)))
    .at(minute(2), Score("a", 3, minute(3)), watermark=minute(2))
    .at(minute(3), Score("a", 1, minute(1.5)))
    .end(minute(4))
)
"""A timeline with early, on-time and late panes, and without dropped elements."""

ENGINES: list[Interpreter] = [
    Reference(),
    Reference(Mode.MICRO_BATCH),
    ReferenceBatch(),
    PolarsStreaming(),
    PolarsStreaming(Cluster(partitions=2, shards=3), mode=Mode.CONTINUOUS),
]


@pytest.mark.parametrize("engine", ENGINES, ids=str)
def test_final_values_do_not_depend_on_the_interpreter(engine: Interpreter) -> None:
    """After the end of a stream without drops, every engine has the final values of the batch."""
    finals = engine.run(TOTALS, {SCORES: TIMELINE}).final_values()
    assert [(value.key, value.value) for value in finals] == [("a", 6), ("b", 7), ("a", 3)]
    assert finals == Reference().run(TOTALS, {SCORES: TIMELINE}).final_values()


@pytest.mark.parametrize("engine", [engine for engine in ENGINES if engine.capabilities.streams], ids=str)
def test_engines_emit_the_same_panes_of_a_timeline(engine: Interpreter) -> None:
    """Every engine emits the same panes of one timeline, in order, in the mode that the engine declares."""
    expected = Reference(engine.capabilities.mode).run(TOTALS, {SCORES: TIMELINE})
    assert engine.run(TOTALS, {SCORES: TIMELINE}).panes == expected.panes


def test_a_drop_has_the_element_or_the_number_of_elements() -> None:
    """The reference reports each dropped element; the shard step reports how many were dropped."""
    late = (
        Timeline[Score]()
        .at(minute(9), watermark=minute(9))
        .at(minute(10), Score("a", 5, minute(1)), Score("a", 6, minute(1)))
    )
    on_reference, on_shards = (
        Reference().run(TOTALS, {SCORES: late}),
        PolarsStreaming().run(TOTALS, {SCORES: late}),
    )
    assert [drop.element for drop in on_reference.dropped] == [KV("a", 5), KV("a", 6)]
    (drop,) = on_shards.dropped
    assert isinstance(drop, Drop)
    assert (drop.key, drop.reason, drop.count) == ("a", DropReason.EXPIRED, 2)


def pane_of(element: object, index: int, change: Change = Change.VALUE) -> Pane[object]:
    """Returns a pane of the first window."""
    pane = Reference().run(TOTALS, {SCORES: TIMELINE}).panes[0]
    info = evolve(pane.info, index=index, change=change)
    return Pane(element, pane.window, pane.event_time, info)


def test_a_retracted_pane_is_not_current() -> None:
    """A retracted value is final only if a pane of a later index replaces it."""
    first, retraction, second = (
        pane_of(KV("a", 1), 0),
        pane_of(KV("a", 1), 0, Change.RETRACTION),
        pane_of(KV("a", 2), 1),
    )
    assert [value.element for value in final_values([first, retraction, second])] == [KV("a", 2)]
    assert final_values([first, retraction]) == ()


def test_a_merged_session_is_retracted() -> None:
    """Under RETRACTING only the merged session has a final value."""
    sessions = POINTS.window(
        Sessions(2 * MINUTE), trigger=AtCount(1).repeat(), accumulation=Accumulation.RETRACTING
    ).combine_per_key(Sum())
    timeline = (
        Timeline[Score]()
        .at(minute(1), Score("a", 1, minute(0)))
        .at(minute(2), Score("a", 2, minute(1)))
        .end(minute(3))
    )
    (value,) = PolarsStreaming().run(sessions, {SCORES: timeline}).final_values()
    assert value.value == 3


def test_all_elements_of_one_pane_are_final() -> None:
    """All elements that a step makes of one pane are final, in order."""
    panes = [pane_of(KV("a", 2), 0), pane_of(KV("a", 1), 0)]
    assert [value.element for value in final_values(panes)] == [KV("a", 1), KV("a", 2)]


def test_final_values_of_unkeyed_elements_need_a_key_function() -> None:
    """The function gives the key that distinguishes the elements of a window."""
    panes = [pane_of(1, 0), pane_of(2, 1)]
    assert [value.element for value in final_values(panes, by=lambda element: None)] == [2]
    with pytest.raises(
        ArgumentError, match=r"by must be a function .*; got None .*: 1 \(int\) is not a pair"
    ):
        final_values(panes)


def test_final_values_of_other_values_are_errors() -> None:
    """Only panes have final values, and ``by`` is a function: names of columns belong to ``flowalg_spark``."""
    with pytest.raises(
        ArgumentError, match="panes must be the panes of a run; flowalg_spark.final_values takes"
    ):
        final_values([3])  # type: ignore[arg-type]
    with pytest.raises(
        ArgumentError, match=r"by must be a function of an element, such as .*; got \['key'\]"
    ):
        final_values([pane_of(1, 0)], by=["key"])  # type: ignore[arg-type]


def test_a_batch_runs_at_the_last_processing_time() -> None:
    """A batch runs at the greatest processing time of its timelines; a timeline without instants adds no elements."""
    batches = as_batch({"scores": TIMELINE, "none": Timeline[Score]()})
    assert [len(timeline) for timeline in batches.values()] == [1, 1]
    assert {timeline.instants[0].processing_time for timeline in batches.values()} == {
        TIMELINE.instants[-1].processing_time
    }
    assert batches["scores"].elements == TIMELINE.elements


def test_generated_watermarks_equal_those_of_the_timeline() -> None:
    """The policy of a timeline makes the same watermarks again, in band; a timeline made by hand has no policy."""
    timeline = Timeline.from_records(
        SCORES,
        [Score("a", 5, minute(0.5)), Score("b", 7, minute(3)), Score("a", 1, minute(1))],
        processing_time=lambda score: score.at + score.points * MINUTE,
        watermark=BoundedOutOfOrderness(MINUTE),
    )
    engine = PolarsStreaming(Cluster(partitions=2), generate_watermarks=True)
    expected = Reference(Mode.MICRO_BATCH).run(TOTALS, {SCORES: timeline})
    assert engine.run(TOTALS, {SCORES: timeline}).panes == expected.panes
    with pytest.raises(
        ArgumentError, match="the input of source 'scores' must be a timeline that a watermark"
    ):
        engine.run(TOTALS, {SCORES: TIMELINE})


@pytest.mark.parametrize("engine", ENGINES, ids=str)
def test_each_source_must_have_one_timeline(engine: Interpreter) -> None:
    """Missing, unknown and invalid timelines of sources are errors."""
    with pytest.raises(UnboundSourceError, match="source 'scores' is not bound"):
        engine.run(TOTALS, {})
    with pytest.raises(ArgumentError, match="the input of source 'scores' must be a Timeline"):
        engine.run(TOTALS, {SCORES: [1]})  # type: ignore[dict-item]  # pyright: ignore[reportArgumentType]


def test_a_mode_must_be_batch_or_stream() -> None:
    """Every interpreter checks its mode."""
    with pytest.raises(
        ArgumentError, match=r"Reference.mode must be Mode.CONTINUOUS or .*; got 'batch' \(str\)"
    ):
        Reference("batch")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    with pytest.raises(
        ArgumentError, match="PolarsStreaming.mode must be Mode.CONTINUOUS or Mode.MICRO_BATCH"
    ):
        PolarsStreaming(mode=3)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
