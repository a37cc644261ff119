"""Maps that build their result from columns and from calls in Python: equal to the reference, and called for parts.

These tests catch a result beside the wrong element, and a call that is made where Python would not make it.
"""

from __future__ import annotations

from typing import Final

import pytest
from flowalg_columns.python.functions import partial_calls
from flowalg_polars import PolarsBatch, PolarsStreaming
from flowalg_reference import ReferenceBatch
from hypothesis import given
from hypothesis import strategies as st

from flowalg import KV, Interpreter, PCollection
from flowalg.data.shapes import shape_of
from flowalg.errors import UserFunctionError
from flowalg.lifting.analysis import analyse
from flowalg.pipeline.nodes import ElementWise
from tests.support.elements import bounded, elements_of_all
from tests.support.partial_calls import PARTIAL, WHOLE
from tests.support.scores import NOON, SCORES, Score

LISTS: Final = st.lists(
    st.builds(Score, st.text(st.sampled_from("xaéio"), max_size=3), st.integers(-8, 9), st.just(NOON)),
    max_size=5,
)


@pytest.mark.parametrize(
    "engine", [PolarsBatch(), PolarsStreaming()], ids=lambda engine: type(engine).__name__
)
@given(scores=LISTS)
def test_a_map_with_calls_has_the_results_of_the_reference(engine: Interpreter, scores: list[Score]) -> None:
    """Each form has the results of the reference."""
    pipelines, inputs = {**PARTIAL, **WHOLE}, {SCORES: bounded(*scores)}
    expected = elements_of_all(ReferenceBatch(), pipelines, inputs)
    assert elements_of_all(engine, pipelines, inputs) == expected


def is_partial(pipeline: PCollection[object]) -> bool:
    """Whether Python computes only parts of the result of the last step."""
    node = pipeline.node
    assert isinstance(node, ElementWise)
    last = analyse(node.steps, shape_of(Score))[-1]
    return last.before is not None and partial_calls(last.expression, last.before) is not None


@pytest.mark.parametrize("form", [*PARTIAL, *WHOLE])
def test_python_computes_only_the_calls(form: str) -> None:
    """Python is called for parts of a result if they are always computed, by calls whose arguments are columns."""
    assert is_partial({**PARTIAL, **WHOLE}[form]) == (form in PARTIAL)


def test_the_error_of_a_call_names_it() -> None:
    """The error of a call names the step, the function that raised and its argument."""
    broken = SCORES.key_by(lambda score: score.points).map_values(
        lambda score: KV(score.team, refuse(score.team))
    )
    with pytest.raises(
        UserFunctionError, match=r"^map_values\(<lambda> .*: refuse at .* raised LookupError: no"
    ):
        PolarsBatch().run(broken, {SCORES: bounded(Score("a", 1, NOON))})


def refuse(text: str) -> int:
    """Fails."""
    raise LookupError("no")
