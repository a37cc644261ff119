"""The case of letters in Spark is that of the running Python, for each character and its neighbours."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pyarrow as pa
import pytest
from flowalg_columns.layout import Leaf
from flowalg_spark.encoding.columns import col, select
from flowalg_spark.expressions import compile_scalar
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from flowalg.data.shapes import TEXT
from flowalg.lifting.tree.expressions import Apply, Param
from flowalg.lifting.tree.primitives import CASES, Op
from tests.support.depth import a_few
from tests.support.lifting.letters import CHARACTERS, LETTERS, cased_texts, texts_of_characters


def differences(spark: SparkSession, op: Op, texts: Sequence[str]) -> list[tuple[str, str, str]]:
    """Returns the texts that Spark and Python change to others, with both results."""
    column = compile_scalar(Apply(op, (Param(TEXT),), TEXT, "here"), Leaf(TEXT, col("text")))
    frame = spark.createDataFrame(pa.table({"text": list(texts), "expected": list(map(CASES[op], texts))}))
    changed = select(frame, "text", "expected", column.alias("changed"))
    return [tuple(row) for row in changed.filter("NOT expected <=> changed").limit(20).collect()]


@pytest.mark.parametrize("numbers", a_few([(LETTERS,), (CHARACTERS,)], 1), ids=["letters", "all"])
@pytest.mark.parametrize("op", CASES, ids=lambda op: op.name)
def test_each_character_has_the_case_of_python(spark: SparkSession, op: Op, numbers: Iterable[range]) -> None:
    """All characters, alone and around capital sigmas, become those of Python.

    Of the letters, ``title`` and ``capitalize`` change a seventh; they use the tables of the other operations.
    """
    step = 7 if op in (Op.TITLE, Op.CAPITALIZE) and numbers is LETTERS else 1
    assert differences(spark, op, list(texts_of_characters(numbers))[::step]) == []


@settings(max_examples=3)
@given(texts=st.lists(cased_texts, min_size=200, max_size=200))
def test_texts_have_the_case_of_python(spark: SparkSession, texts: list[str]) -> None:
    """Words that end with a sigma, marks and letters that become several have Python's case."""
    assert [found for op in CASES for found in differences(spark, op, texts)] == []
