"""Transforms as values: built once, then applied, composed, compared and tested by themselves.

The laws of composition are in ``flowalg_laws``. The tests here cover scopes, names, errors, and what notebooks and
``explain`` show.
"""

from __future__ import annotations

import pickle
from datetime import timedelta
from typing import Final

import flowalg_reference
import pytest

from flowalg import (
    KV,
    Count,
    FixedWindows,
    PCollection,
    PTransform,
    Sum,
    Timeline,
    explain,
    flatten,
    from_json,
    hazards,
    ptransform,
    to_json,
)
from flowalg.errors import ArgumentError, UnsupportedError
from flowalg.pipeline import Hole
from tests.support.scores import NOON, POINTS, SCORES, Score, minute


def is_positive(score: Score) -> bool:
    """Returns whether the points are positive."""
    return score.points > 0


def team_of(score: Score) -> str:
    """Returns the team."""
    return score.team


def points_of(score: Score) -> int:
    """Returns the points."""
    return score.points


BY_TEAM: Final = PTransform.of(
    Score, lambda scores: scores.filter(is_positive).key_by(team_of), name="by team"
)


@ptransform
def totals(scores: PCollection[KV[str, Score]]) -> PCollection[KV[str, int]]:
    """Returns the sum of the points of each key in two minutes."""
    return scores.window(FixedWindows(timedelta(minutes=2))).combine_per_key(Sum.of(points_of))


@ptransform(name="count per key")
def count(pairs: PCollection[KV[str, int]]) -> PCollection[KV[str, int]]:
    """Returns the number of values of each key."""
    return pairs.combine_per_key(Count())


def test_a_transform_applies_the_pipeline_that_its_function_builds() -> None:
    """An applied transform equals the pipeline that its function would have built on the collection."""
    by_hand = (
        SCORES.filter(is_positive)
        .key_by(team_of)
        .window(FixedWindows(timedelta(minutes=2)))
        .combine_per_key(Sum.of(points_of))
    )
    assert SCORES.apply(BY_TEAM >> totals) == by_hand
    assert totals(BY_TEAM(SCORES)) == by_hand
    assert hash(totals(BY_TEAM(SCORES))) == hash(by_hand)


def test_element_wise_steps_fuse_across_transforms() -> None:
    """The steps of a transform are fused with the steps before it."""
    composed = SCORES.map(lambda s: s).apply(BY_TEAM)
    assert len(composed.node.inputs[0].inputs) == 0


def test_a_transform_can_be_tested_by_itself() -> None:
    """A transform can be applied to any source of its input type and run on the reference."""
    timeline = Timeline[Score]().at(minute(1), Score("red", 5, NOON), Score("red", -1, NOON)).end(minute(5))
    (pane,) = flowalg_reference.run(SCORES.apply(BY_TEAM >> totals), {SCORES: timeline}).panes
    assert (pane.key, pane.value) == ("red", 5)


def test_transforms_with_equal_steps_are_equal() -> None:
    """Transforms with equal steps are equal, whatever their names, and can be hashed, pickled and serialized."""
    same = PTransform.of(Score, lambda scores: scores.filter(is_positive).key_by(team_of))
    assert same == BY_TEAM
    assert hash(same) == hash(BY_TEAM)
    assert same != PTransform.of(Score, lambda scores: scores.key_by(team_of))
    loaded = pickle.loads(pickle.dumps(BY_TEAM))
    assert loaded == BY_TEAM
    assert SCORES.apply(loaded) == SCORES.apply(BY_TEAM)
    read = from_json(to_json(BY_TEAM), PTransform[PCollection[Score], PCollection[KV[str, Score]]])
    assert (read, read.name) == (BY_TEAM, "by team")
    assert SCORES.apply(read) == SCORES.apply(BY_TEAM)


def test_a_named_transform_is_shown_as_a_box() -> None:
    """``explain`` shows the name and the type of a transform above its steps; a notebook shows them as a box."""
    lines = explain(SCORES.apply(BY_TEAM >> totals)).splitlines()
    assert lines[:3] == [
        "scores: Score",
        "> by team: KV[str, Score]",
        "    > filter(is_positive at tests/core/test_ptransform.py:36): Score",
    ]
    assert "> totals: KV[str, int]" in lines
    assert (
        SCORES.apply(BY_TEAM)._repr_html_().count("<details><summary>&gt; by team: KV[str, Score]</summary>")
        == 1
    )
    assert "(…)" in str(BY_TEAM)
    assert explain(BY_TEAM).startswith("input: Score\n> filter(")


def test_nested_transforms_are_shown_as_nested_boxes() -> None:
    """A named transform of named transforms is a box of boxes, and labels have the whole path."""
    whole = (BY_TEAM >> totals).named("scoring")
    assert [line for line in explain(SCORES.apply(whole)).splitlines() if line.strip().startswith("> ")][
        :3
    ] == [
        "> scoring: KV[str, int]",
        "    > by team: KV[str, Score]",
        "        > filter(is_positive at tests/core/test_ptransform.py:36): Score",
    ]
    assert {hazard.where for hazard in hazards(SCORES.apply(whole))} == {
        "scoring/totals/combine_per_key(Sum)"
    }


def test_a_function_can_be_applied_under_a_label() -> None:
    """The steps of a labelled function are a box; it can read the windows of its input and return several outputs."""
    windowed = POINTS.window(FixedWindows(timedelta(minutes=2)))

    def halves(
        pairs: PCollection[KV[str, int]],
    ) -> tuple[PCollection[KV[str, int]], PCollection[KV[str, int]]]:
        return pairs.filter(lambda pair: pair.value > 1), flatten(pairs, windowed)

    large, both = windowed.apply(halves, label="halves")
    assert both == flatten(windowed, windowed)
    assert "> halves: KV[str, int]" in explain(large.combine_per_key(Sum()))
    with pytest.raises(
        ArgumentError, match=r"the result of 'count' must be a PCollection, or a tuple of them; got 3 \(int\)"
    ):
        windowed.apply(lambda pairs: 3, label="count")


def test_a_transform_can_capture_a_side_input() -> None:
    """A captured collection, which does not depend on the input, keeps its own scope and is shared."""
    limits = POINTS.combine_globally(Sum.of(lambda pair: pair.value)).as_singleton(default=0)
    below = PTransform.of(
        KV[str, int],
        lambda pairs: pairs.filter_with(limits, lambda pair, limit: pair.value < limit),
        name="below",
    )
    timeline = Timeline[Score]().at(minute(1), Score("red", 5, NOON), Score("red", 3, NOON)).end(minute(5))
    panes = flowalg_reference.run(POINTS.apply(below >> count), {SCORES: timeline}).panes
    assert [pane.value for pane in panes] == [2]


def test_a_mismatch_of_shapes_names_both_transforms() -> None:
    """The error of a mismatch has the names and the shapes of what was composed or applied."""
    with pytest.raises(
        ArgumentError,
        match=r"the input of transform 'totals' must be a collection of KV\[str, Score\]; "
        r"got PTransform\('count per key: .*its elements are KV\[str, int\]",
    ):
        count >> totals  # type: ignore[operator]
    with pytest.raises(
        ArgumentError,
        match=r"the input of transform 'totals' must be a collection of KV\[str, Score\]; "
        r"got Source\(node=scores\) \(Source\): its elements are Score",
    ):
        SCORES.apply(totals)  # type: ignore[arg-type]


def test_a_transform_without_a_type_or_an_input_is_an_error() -> None:
    """A function without an annotation is an error, and so is a run of the body of a transform."""
    with pytest.raises(ArgumentError, match="parameters are annotated as PCollection"):
        ptransform(lambda scores: scores)
    with pytest.raises(UnsupportedError, match="the body of a transform, which has no input yet"):
        flowalg_reference.run(totals(PCollection(Hole(None))), {})
