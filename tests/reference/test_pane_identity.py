"""The identity of panes where merged windows come apart: each has an index of its own, and retractions come first.

These tests catch indices that begin again although consumers know the bounds, and a new value that is emitted before
the retraction of the old one, which a table that is updated by key and window then removes.
"""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from flowalg_laws.conformance.drawing import full_line
from flowalg_laws.kit.interpreters import apply_windowing
from flowalg_laws.kit.readings import READINGS, VALUES
from flowalg_laws.strategies.pipelines import count_values, keep_positive, use_one_key
from flowalg_reference import Reference
from hypothesis import given, settings

from flowalg import KV, Accumulation, AtCount, Pane, Repeat, Window
from flowalg.data.errors import FlowalgError
from flowalg.runs import Change
from flowalg.windows import WindowingStrategy
from tests.reference.test_corrections import CORRECTED, Example, minutes, panes_of, sessions, timeline_of
from tests.support.step_pairs import ROUNDED, Pair, expiring_pairs

RETRACTING = Accumulation.RETRACTING

EXAMPLES = (
    Example(
        "a part whose bounds have expired continues their indices",
        count_values(
            apply_windowing(
                keep_positive(CORRECTED),
                WindowingStrategy(sessions(2), Repeat(AtCount(1)), RETRACTING, minutes(0)),
            )
        ),
        timeline_of((None, "a5@0"), (None, "a5@2"), (None, "a5@4"), (4, ""), (None, "a-5@2")),
        (
            "0: +a=1 [1, 3) early 0 (first, watermark -)",
            "1: -a=1 [1, 3) early 0 (first, watermark -)",
            "1: +a=2 [1, 5) early 0 (first, watermark -)",
            "2: -a=2 [1, 5) early 0 (first, watermark -)",
            "2: +a=3 [1, 7) early 0 (first, watermark -)",
            "4: +a=1 [1, 3) late 1 last (watermark 4)",
            "4: -a=3 [1, 7) early 0 (first, watermark 4)",
            "4: +a=1 [5, 7) early 0 (first, watermark 4)",
        ),
    ),
    Example(
        "a part that keeps the old bounds is emitted after the retraction of the pane that they still have",
        count_values(
            apply_windowing(
                use_one_key(keep_positive(CORRECTED)),
                WindowingStrategy(sessions(2), Repeat(AtCount(2)), RETRACTING),
            )
        ),
        timeline_of((None, "a5@0 b5@0"), (None, "a5@2"), (None, "a-5@2")),
        (
            "0: +all=2 [1, 3) early 0 (first, watermark -)",
            "2: -all=2 [1, 3) early 0 (first, watermark -)",
            "2: +all=2 [1, 3) early 1 (watermark -)",
        ),
    ),
    Example(
        "a window that comes apart is retracted at once, even if a part with its bounds is not ready yet",
        count_values(
            apply_windowing(
                keep_positive(CORRECTED), WindowingStrategy(ROUNDED, Repeat(AtCount(2)), RETRACTING)
            )
        ),
        timeline_of((None, "a5@0 a5@1 a5@2"), (None, "a-5@1")),
        (
            "0: +a=3 [1, 4) early 0 (first, watermark -)",
            "1: -a=3 [1, 4) early 0 (first, watermark -)",
        ),
    ),
    Example(
        "a complete window that grows keeps its trigger while it stays complete, and starts it again when it is open",
        count_values(
            apply_windowing(
                VALUES,
                WindowingStrategy(
                    sessions(2), AtCount(1) >> Repeat(AtCount(9)), Accumulation.DISCARDING, minutes(20)
                ),
            )
        ),
        timeline_of((8, ""), (None, "a1@0"), (None, "a1@1"), (None, "a1@3 a1@5 a1@7")),
        (
            "1: +a=1 [0, 2) late 0 (first, watermark 8)",
            "3: +a=4 [0, 9) early 0 (first, watermark 8)",
        ),
    ),
)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.claim)
def test_the_claim_of_each_example_holds(example: Example) -> None:
    """The claim of each example holds in the reference and in the step."""
    assert panes_of(example.pipeline, example.timeline) == list(example.panes)


@settings(max_examples=2 * settings().max_examples)
@given(expiring_pairs())
def test_sessions_of_which_parts_have_expired_have_the_panes_of_the_reference(pair: Pair) -> None:
    """The step has the panes of the reference, in order, for sessions that come apart into expired parts."""
    assert pair.difference() == ""


@settings(max_examples=5 * settings().max_examples)
@given(expiring_pairs())
def test_panes_of_a_key_and_window_have_different_indices_and_are_retracted_first(pair: Pair) -> None:
    """No index of a key and window comes twice, and under RETRACTING a value comes after the retraction of the last."""
    try:
        run = Reference(pair.mode).run(pair.pipeline, {READINGS: pair.inputs.timelines[READINGS]})
    except FlowalgError:
        return
    retracting = pair.pipeline.node.windowing.strategy.accumulation is RETRACTING
    assert problems(run.panes, retracting=retracting) == []


def element_key(element: object) -> object:
    """Returns the key of a pane's element."""
    assert isinstance(element, KV)
    return element.key


def problems(panes: Iterable[Pane[object]], *, retracting: bool) -> list[str]:
    """Returns the panes whose index is not new, and values that come before the retraction of the last one."""
    emitted: set[tuple[object, Window, int]] = set()
    current: dict[tuple[object, Window], int] = {}
    lines = []
    for pane in panes:
        place = (element_key(pane.element), pane.window)
        if pane.change is Change.RETRACTION:
            if current.pop(place, None) != pane.index:
                lines.append(full_line(pane))
            continue
        if (*place, pane.index) in emitted or (retracting and place in current):
            lines.append(full_line(pane))
        emitted.add((*place, pane.index))
        current[place] = pane.index
    return lines
