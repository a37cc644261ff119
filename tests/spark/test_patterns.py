"""A regular expression that is lifted means in Spark what it means in Python."""

from __future__ import annotations

import re

from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from flowalg.lifting.tree.expressions import first_opaque
from tests.spark.test_lifted_columns import differences
from tests.support.lifting.edge_functions import lift_edge_function
from tests.support.lifting.patterns import flags, functions_of, patterns, texts
from tests.support.lifting.rows import rows

[ROW] = rows(1)


@settings(max_examples=2)
@given(
    drawn=st.lists(st.tuples(patterns, flags), min_size=20, max_size=20),
    searched=st.lists(texts, min_size=20, max_size=20),
)
def test_generated_patterns_have_the_results_of_python(
    spark: SparkSession, drawn: list[tuple[str, int]], searched: list[str]
) -> None:
    """Whatever is lifted of a pattern finds and replaces as in Python."""
    functions = [f for text, flag in drawn for f in functions_of(re.compile(text, flag))]
    lifted = [f for f in functions if first_opaque(lift_edge_function(f)) is None]
    assert differences(spark, lifted, [evolve(ROW, s=of) for of in searched]) == []


def test_long_texts_do_not_exhaust_the_stack(spark: SparkSession) -> None:
    """Java's regular expressions recur for some loops; those that are lifted do not."""
    pattern = re.compile(r"(\w+)-(?:a-){0,100}[ab-]*?y$")
    long = [evolve(ROW, s=text) for text in ("a" * 100_000 + "-y", "a" * 100_000, "a-" * 50_000 + "y")]
    assert differences(spark, [lambda e: pattern.match(e.s) is not None], long) == []
