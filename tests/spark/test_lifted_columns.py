"""That a lifted function means in Spark what it means in Python, operation by operation, over edge values.

This family catches faults of the compiler to columns, and of what lifting holds to be exact. All functions share a few
queries, so that a new one costs next to nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from flowalg.elementwise.functions import describe_function
from flowalg.lifting.tree.expressions import first_opaque
from tests.support.lifting.cases import LIFTED
from tests.support.lifting.engine import (
    Raised,
    column_of,
    frame_of,
    lift_edge_function,
    python_result,
    spark_results,
)
from tests.support.lifting.family import EdgeFunction
from tests.support.lifting.generated import compile_functions, expressions
from tests.support.lifting.rows import Edge, rows

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
"""Expressions compiled by Spark, and expressions interpreted by it, which are two pieces of code there."""


@pytest.fixture(params=SESSIONS, ids=["ANSI in UTC, compiled", "not ANSI in New York, interpreted"])
def session(spark: SparkSession, request: pytest.FixtureRequest) -> Iterator[SparkSession]:
    """The session with other settings."""
    before = [str(spark.conf.get(one)) for one in SETTINGS]
    for name, value in zip(SETTINGS, request.param, strict=True):
        spark.conf.set(name, value)
    yield spark
    for name, value in zip(SETTINGS, before, strict=True):
        spark.conf.set(name, value)


def differences(
    spark: SparkSession, functions: Sequence[EdgeFunction], elements: Sequence[Edge]
) -> list[str]:
    """Where Spark gives something else than Python, among the rows for which Python gives something."""
    wanted = [[python_result(f, row) for row in elements] for f in functions]
    bad = [frozenset(i for i, one in enumerate(results) if isinstance(one, Raised)) for results in wanted]
    found = spark_results(frame_of(spark, elements), [lift_edge_function(f) for f in functions], bad)
    return [
        f"{describe_function(f)}: {row}: {want!r}, not {got!r}"
        for f, wants, gots, skipped in zip(functions, wanted, found, bad, strict=True)
        for number, (row, want, got) in enumerate(zip(elements, wants, gots, strict=True))
        if number not in skipped and repr(want) != repr(got)
    ]


@pytest.mark.parametrize("first", range(0, len(LIFTED), PER_QUERY))
def test_lifted_columns_mean_what_python_means(session: SparkSession, first: int) -> None:
    """The same value, to the bit, wherever Python gives one, whatever the session's settings."""
    assert differences(session, LIFTED[first : first + PER_QUERY], ROWS) == []


def test_what_python_raises_fails_the_query(session: SparkSession) -> None:
    """With a message that names the function's place in the code."""
    quiet = []
    for f in LIFTED:
        row = next((row for row in ROWS if isinstance(python_result(f, row), Raised)), None)
        if row is not None:
            try:
                frame_of(session, [row]).select(column_of(lift_edge_function(f)).alias("c")).toArrow()
            except PySparkException as error:
                if " at tests/support/lifting/" not in str(error):
                    quiet.append(f"{describe_function(f)}: {error}")
            else:
                quiet.append(f"{describe_function(f)} does not fail for {row}")
    assert quiet == []


@settings(max_examples=3)
@given(data=st.data())
def test_expressions_that_nobody_wrote_mean_the_same(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """Generated ones, several operations deep; those that are left to Python are few enough."""
    sources = data.draw(st.lists(expressions(2), min_size=20, max_size=20))
    functions = compile_functions(sources, tmp_path_factory.mktemp("generated"))
    inside = [f for f in functions if first_opaque(lift_edge_function(f)) is None]
    assert len(inside) >= len(functions) // 2
    assert differences(spark, inside, ROWS[:100]) == []


def test_every_case_is_lifted() -> None:
    """No opaque part is left, and the type of the result is known."""
    left = [
        (describe_function(f), first_opaque(lift_edge_function(f)))
        for f in LIFTED
        if first_opaque(lift_edge_function(f)) is not None
    ]
    assert left == []
    assert all(lift_edge_function(f).shape is not None for f in LIFTED)
