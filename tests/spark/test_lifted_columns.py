"""A lifted function has the same result in Spark as in Python, for each operation, over edge values.

These tests catch faults of the compiler to columns, and operations that lifting wrongly treats as exact. All functions
share a few queries, so another function costs little.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import pytest
from flowalg_spark.encoding.columns import frame_columns, select
from flowalg_spark.expressions import compile_fallible, may_fail
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from flowalg.data.errors import describe_function
from flowalg.lifting.tree.expressions import first_opaque
from tests.support.depth import a_few
from tests.support.lifting.cases import LIFTED
from tests.support.lifting.edge_functions import EDGE, Raised, lift_edge_function, python_result
from tests.support.lifting.family import EdgeFunction
from tests.support.lifting.generated import draw_lifted
from tests.support.lifting.rows import Edge, rows
from tests.support.lifting.spark_engine import column_of, fallible_results, frame_of, spark_results

ROWS: Final = rows(300)
PER_QUERY: Final = 50
SETTINGS: Final = (
    "spark.sql.ansi.enabled",
    "spark.sql.session.timeZone",
    "spark.sql.codegen.wholeStage",
    "spark.sql.codegen.factoryMode",
)
SESSIONS: Final = (
    ("true", "UTC", "true", "FALLBACK"),
    ("false", "America/New_York", "false", "NO_CODEGEN"),
)
"""Spark compiles or interprets expressions, by different code."""


@pytest.fixture(params=SESSIONS, ids=["ANSI in UTC, compiled", "not ANSI in New York, interpreted"])
def session(spark: SparkSession, request: pytest.FixtureRequest) -> Iterator[SparkSession]:
    """The session with different settings."""
    before = [str(spark.conf.get(name)) for name in SETTINGS]
    for name, value in zip(SETTINGS, request.param, strict=True):
        spark.conf.set(name, value)
    yield spark
    for name, value in zip(SETTINGS, before, strict=True):
        spark.conf.set(name, value)


def differences(
    spark: SparkSession, functions: Sequence[EdgeFunction], elements: Sequence[Edge]
) -> list[str]:
    """Returns the differences between Spark's and Python's results, for rows on which Python does not raise."""
    expected = [[python_result(f, row) for row in elements] for f in functions]
    raised = [frozenset(i for i, result in enumerate(row) if isinstance(result, Raised)) for row in expected]
    columns = spark_results(frame_of(spark, elements), [lift_edge_function(f) for f in functions], raised)
    return [
        f"{describe_function(f)}: {row}: {python!r}, not {spark_result!r}"
        for f, in_python, in_spark, skipped in zip(functions, expected, columns, raised, strict=True)
        for number, (row, python, spark_result) in enumerate(zip(elements, in_python, in_spark, strict=True))
        if number not in skipped and repr(python) != repr(spark_result)
    ]


@pytest.mark.parametrize("first", range(0, len(LIFTED), PER_QUERY))
def test_lifted_columns_have_the_results_of_python(session: SparkSession, first: int) -> None:
    """Where Python does not raise, Spark has the same value to the bit, with any settings of the session."""
    assert differences(session, LIFTED[first : first + PER_QUERY], ROWS) == []


@pytest.mark.parametrize("functions", a_few([(LIFTED[::5],), (LIFTED,)], 1), ids=["each fifth", "all"])
@pytest.mark.parametrize("session", SESSIONS[:1], indirect=True)
def test_an_error_of_a_lifted_function_fails_the_query(
    session: SparkSession, functions: Sequence[EdgeFunction]
) -> None:
    """Where Python raises, the query fails, and the message has the file of the function."""
    missing = []
    for f in functions:
        row = next((row for row in ROWS if isinstance(python_result(f, row), Raised)), None)
        if row is not None:
            try:
                select(frame_of(session, [row]), column_of(lift_edge_function(f)).alias("c")).toArrow()
            except PySparkException as error:
                if " at tests/support/lifting/" not in str(error):
                    missing.append(f"{describe_function(f)}: {error}")
            else:
                missing.append(f"{describe_function(f)} does not fail for {row}")
    assert missing == []


def failures_told_wrongly(
    spark: SparkSession, functions: Sequence[EdgeFunction], elements: Sequence[Edge]
) -> list[str]:
    """Returns where Spark says that a function fails, or has its result, and Python says otherwise."""
    compiled = []
    for f in functions:
        expression = lift_edge_function(f)
        fallible = compile_fallible(expression, frame_columns(EDGE))
        if fallible is not None and expression.shape is not None:
            compiled.append((f, (fallible, expression.shape)))
    results = fallible_results(frame_of(spark, elements), [parts for _, parts in compiled])
    return [
        f"{describe_function(f)}: {row}: {expected!r}, not {result!r}, {fails}"
        for (f, _), pairs in zip(compiled, results, strict=True)
        for row, (fails, result) in zip(elements, pairs, strict=True)
        if fails != isinstance(expected := python_result(f, row), Raised)
        or (not fails and repr(expected) != repr(result))
    ]


def test_a_column_says_where_a_lifted_function_fails(spark: SparkSession) -> None:
    """No row fails the query: a column is true where Python raises, and elsewhere the value is Python's."""
    fallible = [f for f in LIFTED if may_fail(lift_edge_function(f))]
    for first in range(0, len(fallible), PER_QUERY):
        assert failures_told_wrongly(spark, fallible[first : first + PER_QUERY], ROWS) == []


def test_most_functions_that_can_fail_have_a_column_that_says_where() -> None:
    """A tenth at most has none, for its length or since a null may be its result."""
    fallible = [lifted for lifted in map(lift_edge_function, LIFTED) if may_fail(lifted)]
    told = sum(compile_fallible(lifted, frame_columns(EDGE)) is not None for lifted in fallible)
    assert told > 0.9 * len(fallible) > 50


@settings(max_examples=3)
@given(data=st.data())
def test_generated_expressions_have_the_results_of_python(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """Nested generated expressions agree with Python, and at least half of them are lifted."""
    lifted = draw_lifted(data, tmp_path_factory.mktemp("generated"))
    assert differences(spark, lifted, ROWS[:100]) == []


@settings(max_examples=3)
@given(data=st.data())
def test_columns_say_where_generated_expressions_fail(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """Nested generated expressions fail where Python does, and nothing fails the query."""
    lifted = draw_lifted(data, tmp_path_factory.mktemp("generated"))
    assert failures_told_wrongly(spark, lifted, ROWS[:100]) == []


def test_every_case_is_lifted() -> None:
    """Each case has no opaque part, and the type of its result is known."""
    opaque = [
        (describe_function(f), first_opaque(lift_edge_function(f)))
        for f in LIFTED
        if first_opaque(lift_edge_function(f)) is not None
    ]
    assert opaque == []
    assert all(lift_edge_function(f).shape is not None for f in LIFTED)
