"""Lookups in a mapping that a function reads as a side input: equal to the reference, and columns of a batch.

These tests catch a join that finds the value of another window or key, and one that hides an error.
"""

from __future__ import annotations

from datetime import timedelta
from itertools import product
from typing import Final

import polars as pl
import pytest
from flowalg_polars import PolarsBatch, batch
from flowalg_reference import ReferenceBatch
from hypothesis import given
from hypothesis import strategies as st

from flowalg import Count, Interpreter, Max, PCollection, ToList
from flowalg.errors import ElementError, UserFunctionError
from tests.support.elements import bounded, elements_of_all
from tests.support.lookups import IN_PYTHON, LIFTED, RIVALS, TWICE, most
from tests.support.scores import NOON, SCORES, Score

TEAMS: Final = st.sampled_from("abcd")
LISTS: Final = st.lists(
    st.builds(
        Score, TEAMS, st.integers(-3, 30), st.integers(0, 14).map(lambda n: NOON + timedelta(minutes=n))
    ),
    max_size=8,
)


@given(scores=LISTS, rivals=LISTS)
def test_a_lookup_has_the_value_of_the_reference(scores: list[Score], rivals: list[Score]) -> None:
    """Each form of a lookup has the values of the reference, also of keys that are missing."""
    pipelines = {**LIFTED, **IN_PYTHON}
    inputs = {SCORES: bounded(*scores), RIVALS: bounded(*rivals)}
    expected = elements_of_all(ReferenceBatch(), pipelines, inputs)
    assert elements_of_all(PolarsBatch(), pipelines, inputs) == expected


def notes(pipeline: PCollection[object]) -> str:
    """Returns how the functions of a pipeline run."""
    frame = pl.DataFrame(schema={"team": pl.String(), "points": pl.Int64(), "at": pl.Datetime("us", "UTC")})
    compiled = batch.compile(pipeline.combine_globally(Count()), {SCORES: frame, RIVALS: frame})
    return "\n".join(map(str, compiled.lifting))


@pytest.mark.parametrize("form", LIFTED)
def test_a_lookup_is_a_column(form: str) -> None:
    """No function of these pipelines runs in Python."""
    assert "in Python" not in notes(LIFTED[form])


@pytest.mark.parametrize("form", IN_PYTHON)
def test_another_use_of_a_mapping_runs_in_python(form: str) -> None:
    """Python runs what reads a mapping in another way, or by a key that a join compares differently."""
    assert "in Python" in notes(IN_PYTHON[form])


@pytest.mark.parametrize(
    "engine", [ReferenceBatch(), PolarsBatch()], ids=lambda engine: type(engine).__name__
)
def test_a_missing_key_raises_an_error(engine: Interpreter) -> None:
    """An index that the mapping lacks fails the run, with the function and ``KeyError``."""
    read = SCORES.map_with(most.combine_per_key(Max()).as_map(), lambda score, maxima: maxima[score.team])
    with pytest.raises(UserFunctionError, match=r"map_with\(<lambda> at .*KeyError"):
        engine.run(read, {SCORES: bounded(Score("a", 1, NOON)), RIVALS: bounded(Score("b", 1, NOON))})


@pytest.mark.parametrize(
    "engine", [ReferenceBatch(), PolarsBatch()], ids=lambda engine: type(engine).__name__
)
def test_two_values_of_a_key_raise_an_error(engine: Interpreter) -> None:
    """A key with two values fails the run if an element reads its window, also if it looks up another key."""
    lookups = SCORES.map_with(TWICE, lambda score, mapping: (score.team, mapping.get(score.team, 0)))
    read = lookups.combine_globally(ToList())
    rivals = bounded(Score("b", 1, NOON), Score("b", 2, NOON))
    # That no step reads the value must not hide the error, or elements would be counted twice.
    unread = lookups.map(lambda pair: pair[0]).combine_globally(Count())
    for failing, team in product((read, unread), "ab"):
        with pytest.raises(
            ElementError, match=r"as_map\(\) has .* under .*b.* in .*; each key must have one value"
        ):
            engine.run(failing, {SCORES: bounded(Score(team, 1, NOON)), RIVALS: rivals})
    later = Score("a", 1, NOON + timedelta(minutes=7))
    assert [pane.element for pane in engine.run(read, {SCORES: bounded(later), RIVALS: rivals}).panes] == [
        [("a", 0)]
    ]
