"""The case of letters in Polars is that of the running Python, for each character and its neighbours."""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl
import pytest
from flowalg_columns.layout import Leaf
from flowalg_polars.expressions import compile_scalar
from hypothesis import given
from hypothesis import strategies as st

from flowalg.data.shapes import TEXT
from flowalg.lifting.tree.expressions import Apply, Param
from flowalg.lifting.tree.primitives import CASES, Op
from tests.support.depth import a_few
from tests.support.lifting.letters import CHARACTERS, LETTERS, cased_texts, texts_of_characters


def changed(op: Op, texts: list[str | None]) -> list[str | None]:
    """Returns what Polars makes of texts."""
    column, failure = compile_scalar(Apply(op, (Param(TEXT),), TEXT, "here"), Leaf(TEXT, pl.col("text")))
    assert failure is None
    frame = pl.LazyFrame({"text": texts}, schema={"text": pl.String()})
    return frame.select(column.alias("changed")).collect()["changed"].to_list()


@pytest.mark.parametrize("numbers", a_few([(LETTERS,), (CHARACTERS,)], 1), ids=["letters", "all"])
@pytest.mark.parametrize("op", CASES, ids=lambda op: op.name)
def test_each_character_has_the_case_of_python(op: Op, numbers: Iterable[range]) -> None:
    """All characters, alone and around capital sigmas, become those of Python."""
    texts = list(texts_of_characters(numbers))
    assert changed(op, [*texts]) == list(map(CASES[op], texts))


@pytest.mark.parametrize("op", CASES, ids=lambda op: op.name)
@given(texts=st.lists(cased_texts | st.none(), min_size=10, max_size=10))
def test_texts_have_the_case_of_python(op: Op, texts: list[str | None]) -> None:
    """Words that end with a sigma, marks and letters that become several have Python's case, and null stays null."""
    assert changed(op, texts) == [None if text is None else CASES[op](text) for text in texts]
