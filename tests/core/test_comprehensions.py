"""Comprehensions as the result of a ``flat_map``: equal to the reference, and columns of a batch.

These tests catch an item beside the wrong element or position, and an item that a filter should have removed.
"""

from __future__ import annotations

from typing import Final

import polars as pl
import pytest
from flowalg_polars import PolarsBatch, PolarsStreaming, batch
from flowalg_reference import ReferenceBatch
from hypothesis import given
from hypothesis import strategies as st

from flowalg import Count, Interpreter, PCollection, ToList
from flowalg.errors import UserFunctionError
from tests.support.comprehensions import IN_PYTHON, LIFTED, LINES, Line, line
from tests.support.elements import bounded, elements_of_all

TEXTS: Final = st.text(st.sampled_from("ab,. é"), max_size=8)
SOME: Final = st.lists(st.builds(line, TEXTS, st.lists(st.integers(-9, 9), max_size=4)), max_size=4)


@pytest.mark.parametrize(
    "engine", [PolarsBatch(), PolarsStreaming()], ids=lambda engine: type(engine).__name__
)
@given(lines=SOME)
def test_a_comprehension_has_the_items_of_the_reference(engine: Interpreter, lines: list[Line]) -> None:
    """Each form of a comprehension has the items of the reference, also of empty lists."""
    pipelines, inputs = {**LIFTED, **IN_PYTHON}, {LINES: bounded(*lines)}
    expected = elements_of_all(ReferenceBatch(), pipelines, inputs)
    assert elements_of_all(engine, pipelines, inputs) == expected


def notes(pipeline: PCollection[object]) -> str:
    """Returns how the functions of a pipeline run."""
    word = pl.Struct({"text": pl.String(), "length": pl.Int64()})
    schema = {"text": pl.String(), "words": pl.List(word), "numbers": pl.List(pl.Int64())}
    frame = pl.DataFrame(schema={**schema, "at": pl.Datetime("us", "UTC")})
    return "\n".join(map(str, batch.compile(pipeline.combine_globally(Count()), {LINES: frame}).lifting))


@pytest.mark.parametrize("form", LIFTED)
def test_a_comprehension_is_columns(form: str) -> None:
    """No function of these pipelines runs in Python."""
    assert "in Python" not in notes(LIFTED[form])


@pytest.mark.parametrize("form", IN_PYTHON)
def test_another_comprehension_runs_in_python(form: str) -> None:
    """Python runs comprehensions that are not over one list, or not the whole result of a ``flat_map``."""
    assert "in Python" in notes(IN_PYTHON[form])


@pytest.mark.parametrize(
    "engine", [ReferenceBatch(), PolarsBatch()], ids=lambda engine: type(engine).__name__
)
def test_an_item_that_fails_raises_an_error(engine: Interpreter) -> None:
    """A failure of one item fails the run with the function, and one that the filter removes does not."""
    quotients = LINES.flat_map(lambda line: [6 // n for n in line.numbers])
    with pytest.raises(UserFunctionError, match=r"flat_map\(<lambda> at .*ZeroDivisionError"):
        engine.run(quotients, {LINES: bounded(line("a", [1, 0]))})
    kept = LINES.flat_map(lambda line: [6 // n for n in line.numbers if n]).combine_globally(ToList())
    assert [pane.element for pane in engine.run(kept, {LINES: bounded(line("a", [3, 0]))}).panes] == [[2]]
