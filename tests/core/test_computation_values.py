"""Computations as values: validated, explained, with hazards, and the refusals of pipelines that cannot be right."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

import pytest
from flowalg_laws import VALUES
from flowalg_laws.strategies.computations import ECHO, RUNNING_TOTAL, SILENCE, TOTAL

from flowalg import (
    KV,
    Accumulation,
    AtCount,
    Computation,
    FixedWindows,
    PCollection,
    Sum,
    explain,
    flatten,
    from_json,
    hazards,
    to_json,
)
from flowalg.analysis import Danger
from flowalg.analysis.features import features_of
from flowalg.computations import Clocks, EventTimer, Late, Observed, ProcessingTimer, Timer, Transition
from flowalg.data.shapes import INTEGER, ListOf, RecordOf, Shape
from flowalg.errors import ArgumentError, KeyedCollectionError, UnsupportedError
from flowalg.notebook.html import pipeline_html
from flowalg.pipeline.nodes import Process
from flowalg.pipeline.outputs import emits_panes
from tests.support.scores import POINTS, SCORES, minute

MINUTE = timedelta(minutes=1)

EARLY = POINTS.window(FixedWindows(MINUTE), trigger=AtCount(1).repeat()).combine_per_key(Sum())


def test_corrected_input_needs_a_computation_that_takes_it() -> None:
    """A computation of values that may be retracted has ``on_retraction``, or is in order."""
    for process, name in ((lambda: EARLY.process(ECHO), "echo"), (lambda: EARLY.every(2), "every 2")):
        message = rf"the computation of process\({name}\) must be a computation with on_retraction, or in_order=True"
        with pytest.raises(ArgumentError, match=message):
            process()


def test_an_unkeyed_collection_is_rejected() -> None:
    """A computation needs keys that are hashable."""
    with pytest.raises(KeyedCollectionError, match=r"process\(echo\) needs elements that are KV"):
        SCORES.process(ECHO)  # type: ignore[misc]  # the mistake
    with pytest.raises(KeyedCollectionError, match=r"process\(echo\) needs keys that are hashable"):
        POINTS.map(lambda pair: KV([pair.key], pair.value)).process(ECHO)  # type: ignore[arg-type]  # the mistake


@pytest.mark.parametrize(
    "collection",
    [
        EARLY.process(TOTAL),
        EARLY.process(ECHO, in_order=True),
        POINTS.window(FixedWindows(MINUTE), allowed_lateness=timedelta(0))
        .combine_per_key(Sum())
        .process(ECHO),
        POINTS.window(FixedWindows(MINUTE), accumulation=Accumulation.DISCARDING)
        .combine_per_key(Sum())
        .process(ECHO),
    ],
)
def test_input_that_is_not_retracted_or_can_be_needs_nothing(collection: PCollection[KV[str, int]]) -> None:
    """A computation accepts input that can be retracted if it has on_retraction or an order."""
    assert collection.node.shape is not None


def shape_of_value(collection: PCollection[object]) -> Shape | None:
    """Returns the shape of the values of a keyed collection."""
    assert isinstance(collection.shape, RecordOf | None)
    return collection.shape and collection.shape.fields[1].shape


def test_the_type_of_outputs_is_declared_or_annotated() -> None:
    """The shape of outputs is that of ``result``, or of an annotated function; deduplication keeps that of elements."""
    plain = POINTS.process(
        Computation(initial=0, on_element=lambda n, seen, clocks: Transition(n, emit=[n + seen.value]))
    )
    declared = POINTS.process(
        Computation(initial=0, on_element=lambda n, seen, clocks: Transition(n, emit=[n]), result=int)
    )
    assert shape_of_value(plain) is None
    assert shape_of_value(declared) == INTEGER
    assert shape_of_value(POINTS.process(RUNNING_TOTAL)) == INTEGER
    assert shape_of_value(POINTS.every(2)) == ListOf(INTEGER)
    assert POINTS.deduplicate(by=lambda pair: pair.value, within=MINUTE).shape == POINTS.shape
    assert SCORES.deduplicate(by=lambda score: score.team, within=MINUTE).shape == SCORES.shape


def test_outputs_are_new_elements() -> None:
    """The outputs of a computation are in no window, and are grouped again in the windows in force."""
    windowed = POINTS.window(FixedWindows(MINUTE), allowed_lateness=timedelta(0))
    node = windowed.combine_per_key(Sum()).process(ECHO).node
    assert node.windowing == windowed.node.windowing
    assert not node.is_grouped
    assert not emits_panes(node)
    with pytest.raises(ArgumentError, match=r"the collection of with_window\(\)"):
        windowed.combine_per_key(Sum()).process(ECHO).with_window()
    sums = windowed.process(ECHO).combine_per_key(Sum()).window(FixedWindows(MINUTE))
    echoes = windowed.process(ECHO).window(FixedWindows(MINUTE))
    mixed = flatten(sums, echoes)
    with pytest.raises(UnsupportedError, match=r"mixes panes of .*Sum.* with elements of process\(echo\)"):
        emits_panes(mixed.node)


def test_an_explanation_shows_order_and_state() -> None:
    """``explain`` and notebooks show how a computation observes elements, and with which state a key begins."""
    text = explain(POINTS.process(SILENCE, in_order=True))
    assert "> process(silence): KV[str, int]" in text
    assert "    observes the elements of each key in order of event time; late elements are dropped" in text
    assert "    the state of a key begins with 0 (int)" in text
    assert "as they arrive; late elements are observed" in explain(POINTS.process(ECHO))
    firsts = SCORES.deduplicate(by=lambda score: score.team, within=MINUTE)
    assert "late elements are dropped from a minute behind the watermark on" in explain(firsts)
    assert "process(silence)" in pipeline_html(POINTS.process(SILENCE, in_order=True))


def dangers(collection: PCollection[object]) -> set[Danger]:
    """Returns the kinds of hazards of a pipeline."""
    return {hazard.danger for hazard in hazards(collection)}


def _keep(state: int, seen: Observed[str, int], clocks: Clocks) -> Transition[int, int]:
    return Transition(state + seen.value)


def _end(state: int, timer: Timer, clocks: Clocks) -> Transition[int, int]:
    return Transition(None, emit=() if clocks.input_ended else [state])


def test_timers_that_fire_at_the_end_are_a_hazard_unless_the_end_is_observed() -> None:
    """When the input ends, every timer that is set fires before its time; ``on_timer`` can tell."""
    ending = Computation(initial=0, on_element=_keep, on_timer=_end)
    assert dangers(POINTS.process(ending)) == set()
    (hazard,) = hazards(POINTS.process(Computation(initial=0, on_element=_keep, on_timer=_free)))
    assert "clocks.input_ended" in str(hazard)


def _free(state: int, timer: Timer, clocks: Clocks) -> Transition[int, int]:
    return Transition(state=None if state > 0 else 1)


def test_a_computation_that_frees_no_key_is_a_hazard() -> None:
    """State is bounded only if a function is seen to free a key; a computation that drops late elements drops."""
    early = Danger.EARLY_TIMERS
    assert dangers(POINTS.process(Computation(initial=0, on_element=_keep))) == {Danger.UNBOUNDED_STATE}
    assert dangers(POINTS.process(Computation(initial=0, on_element=_keep, on_timer=_free))) == {early}
    assert dangers(POINTS.process(SILENCE)) == {early}
    assert dangers(POINTS.process(SILENCE, in_order=True)) == {Danger.DROPS, early}
    assert dangers(POINTS.process(SILENCE, late=Late.DROP)) == {Danger.DROPS, early}
    assert dangers(POINTS.every(2)) == {Danger.UNBOUNDED_STATE}
    assert dangers(SCORES.deduplicate(by=lambda score: score.team, within=MINUTE)) == {Danger.DROPS}


def test_accumulating_panes_before_a_computation_are_a_hazard() -> None:
    """A computation that receives every ACCUMULATING pane counts corrections again."""
    windowed = POINTS.window(
        FixedWindows(MINUTE), accumulation=Accumulation.ACCUMULATING, allowed_lateness=timedelta(hours=1)
    )
    assert Danger.DOUBLE_COUNTING in dangers(windowed.combine_per_key(Sum()).process(SILENCE))


def test_an_unset_accumulation_before_a_computation_retracts() -> None:
    """A grouping that a computation reads is RETRACTING if it can emit several panes: corrections count once."""
    assert "after retracting the last pane" in explain(EARLY.process(TOTAL))
    assert Accumulation.RETRACTING in features_of(EARLY.process(TOTAL))
    assert Process in features_of(EARLY.process(TOTAL))


def test_equal_computations_are_equal_pipelines() -> None:
    """Pipelines are equal if their computations have equal parts; deduplication and tuples are values too."""
    assert POINTS.process(SILENCE) == POINTS.process(SILENCE)
    assert POINTS.process(SILENCE) != POINTS.process(SILENCE, in_order=True)
    assert POINTS.every(2) == POINTS.every(2) != POINTS.every(3)
    assert POINTS.deduplicate(by=hash, within=MINUTE) == POINTS.deduplicate(by=hash, within=MINUTE)
    assert hash(POINTS.every(2)) == hash(POINTS.every(2))


@pytest.mark.parametrize("made", [lambda c: c.process(SILENCE, in_order=True), lambda c: c.every(2)])
def test_a_computation_of_named_functions_is_serializable(
    made: Callable[[PCollection[KV[str, int]]], PCollection[object]],
) -> None:
    """A computation is written with the names of its functions."""
    written = to_json(made(VALUES))
    assert from_json(written, PCollection[object]) == made(VALUES)


def test_a_timer_after_the_end_of_time_fires_at_the_end() -> None:
    """A timer that is set beyond the end of time fires when the input ends, as windows are cut off there."""
    far = datetime(9999, 12, 31, tzinfo=minute(0).tzinfo)
    assert str(EventTimer("a", far).point) == str(ProcessingTimer("a", far).point) == "end of time"


def test_a_computation_in_a_transform_has_its_scope() -> None:
    """A label names the transforms around a computation."""
    labelled = POINTS.apply(lambda values: values.process(ECHO), label="numbers")
    assert isinstance(labelled.node, Process)
    assert labelled.node.label == "numbers/process(echo)"
