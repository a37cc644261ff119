"""Expressions as SQL text: Spark reads what Python means, whatever the settings of the session.

These tests catch a literal that is not exact, a bracket that is missing, and a name that Spark takes for another.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Final

import pytest
from flowalg_spark import batch
from flowalg_spark.encoding import sql
from flowalg_spark.encoding.columns import col, frame_columns, select, where
from flowalg_spark.encoding.schema import spark_type
from flowalg_spark.encoding.sql import NULL, Sql
from flowalg_spark.expressions import compile_scalar
from flowalg_spark.session import replace_settings
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark import SparkContext
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from flowalg import Sum
from flowalg.data.errors import UnsupportedError
from flowalg.data.shapes import shape_of
from flowalg.lifting.functions import DEEPEST
from flowalg.lifting.tree.expressions import Constant, first_opaque
from tests.support.lifting.edge_functions import EDGE, lift_edge_function
from tests.support.lifting.generated import compile_functions
from tests.support.lifting.rows import rows
from tests.support.lifting.spark_engine import frame_of
from tests.support.scores import POINTS, SCORES

READS: Final = {
    "spark.sql.parser.escapedStringLiterals": ("false", "true"),
    "spark.sql.ansi.doubleQuotedIdentifiers": ("false", "true"),
    "spark.sql.ansi.enforceReservedKeywords": ("false", "true"),
    "spark.sql.legacy.interval.enabled": ("false", "true"),
    "spark.sql.session.timeZone": ("UTC", "America/New_York"),
}
"""The settings that change what Spark reads in a text; the ANSI mode is on."""

TEXTS: Final = st.text(st.characters(codec="utf-8") | st.sampled_from("'\"\\`${}%_\n\0"), max_size=12)
LONGS: Final = st.integers(-(2**63), 2**63 - 1) | st.sampled_from([-(2**63), 2**63 - 1, -(2**31), 2**31, -1])
VALUES: Final = st.lists(
    TEXTS | LONGS | st.floats() | st.booleans() | st.binary(max_size=5), min_size=1, max_size=60
)
TIMES: Final = st.datetimes().map(lambda point: point.replace(tzinfo=UTC))
CONSTANTS: Final = st.lists(
    TIMES
    | st.dates()
    | st.integers(-(2**63), 2**63 - 1).map(lambda micros: timedelta(microseconds=micros))
    | st.sampled_from([timedelta(microseconds=-(2**63)), timedelta(microseconds=2**63 - 1)])
    | st.decimals(-(10**19), 10**19, places=9).map(lambda number: number + Decimal(0)),
    min_size=1,
    max_size=60,
)


@pytest.fixture(params=[0, 1], ids=["the usual settings", "the other settings"])
def session(spark: SparkSession, request: pytest.FixtureRequest) -> Iterator[SparkSession]:
    """The session with settings of the parser."""
    before = {name: str(spark.conf.get(name)) for name in READS}
    for name, values in READS.items():
        spark.conf.set(name, values[request.param])
    yield spark
    for name, value in before.items():
        spark.conf.set(name, value)


def values_of(spark: SparkSession, *columns: Sql | str) -> list[object]:
    """Returns the values of expressions over a frame with one row: integers, booleans, and a list."""
    frame = spark.sql("SELECT 7L AS a, -3L AS b, 2L AS c, true AS p, false AS q, array(1L, 2L) AS xs")
    (row,) = select(frame, *columns).toArrow().to_pylist()
    return [*row.values()]


@settings(max_examples=5, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(values=VALUES)
def test_a_literal_has_the_value_and_the_type_of_pyspark(session: SparkSession, values: list[object]) -> None:
    """Texts, bytes, integers and floats are exact, to the sign of a zero, and no text is a setting or a name."""
    mine = [sql.lit(value).alias(f"c{n}") for n, value in enumerate(values)]  # type: ignore[arg-type]
    theirs = [F.lit(value).alias(f"c{n}") for n, value in enumerate(values)]
    ours, expected = select(session.range(1), *mine), session.range(1).select(*theirs)
    assert ours.schema == expected.schema
    assert repr(ours.toArrow().to_pylist()) == repr(expected.toArrow().to_pylist())


@settings(max_examples=5, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(values=CONSTANTS)
def test_a_constant_is_exact_in_any_time_zone(
    session: SparkSession, values: list[datetime | date | timedelta | Decimal]
) -> None:
    """Times are those of UTC to the microsecond, and durations and decimals keep all digits."""
    shapes = [shape_of(type(value)) for value in values]
    constants = [Constant(value, shape) for value, shape in zip(values, shapes, strict=True)]
    columns = [compile_scalar(constant, frame_columns(EDGE)) for constant in constants]
    frame = select(session.range(1), *(column.alias(f"c{n}") for n, column in enumerate(columns)))
    assert [field.dataType for field in frame.schema] == [spark_type(shape) for shape in shapes]
    (row,) = frame.toArrow().to_pylist()
    assert [*row.values()] == values


@settings(max_examples=5, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(names=st.lists(TEXTS.filter(bool), min_size=1, max_size=10, unique_by=str.casefold))
def test_a_name_is_that_of_the_column(session: SparkSession, names: list[str]) -> None:
    """Dots, backquotes and dollars in a name are parts of it, in a projection and in an alias."""
    frame = (
        session.range(1).toDF("x").select(*(F.lit(n).alias(f"c{n}") for n in range(len(names)))).toDF(*names)
    )
    (row,) = select(frame, *(col(name).alias(f"c{n}") for n, name in enumerate(names))).collect()
    assert [*row] == [*range(len(names))]
    assert select(frame, *map(col, names)).columns == names


def test_a_word_of_sql_is_a_name(session: SparkSession) -> None:
    """A column may have the name of any word that Spark knows."""
    words = [row[0].lower() for row in session.sql("SELECT * FROM sql_keywords()").collect()]
    numbers = [F.lit(number).alias(word) for number, word in enumerate(words)]
    frame = session.range(1).select(*numbers)
    case = {"case", "when", "then", "else", "end"}
    uses = (
        (sql.when(col(word) == 1, -1).otherwise(-col(word)) if word in case else -col(word)).alias(word)
        for word in words
    )
    (row,) = where(select(frame, *uses), col("true") < 0).collect()
    assert [*row] == [-number for number in range(len(words))]


def _no(condition: bool | Sql) -> bool | Sql:
    return ~condition if isinstance(condition, Sql) else not condition


def _is_one_of(number: int | Sql, *numbers: int) -> bool | Sql:
    return number.is_in(*numbers) if isinstance(number, Sql) else number in numbers


def _is_null(value: object) -> bool | Sql:
    return value.is_null() if isinstance(value, Sql) else value is None


def _whole(condition: bool | Sql) -> int | Sql:
    return condition.cast("bigint") if isinstance(condition, Sql) else int(condition)


FUNCTIONS: Final = {"no": _no, "is_one_of": _is_one_of, "is_null": _is_null, "whole": _whole}
NUMBERS: Final = {"a": 7, "b": -3, "c": 2, "one": 1, "minus_two": -2}
CONDITIONS: Final = {"p": True, "q": False}


def _formulas(of: Callable[[str], st.SearchStrategy[str]]) -> dict[str, st.SearchStrategy[str]]:
    """Returns the sources of numbers and of conditions, with all operations in brackets, given those of operands."""
    number, condition = of("number"), of("condition")
    sums = st.builds("({} {} {})".format, number, st.sampled_from("+-*"), number)
    compared = st.builds(
        "({} {} {})".format, number, st.sampled_from(["<", "<=", ">", ">=", "==", "!="]), number
    )
    both = st.builds("({} {} {})".format, condition, st.sampled_from("&|"), condition)
    same = st.builds("({} {} {})".format, condition, st.sampled_from(["==", "!="]), condition)
    return {
        "number": sums | st.builds("(-{})".format, number) | st.builds("whole({})".format, condition),
        "condition": compared
        | both
        | same
        | st.builds("no({})".format, condition)
        | st.builds("is_null({})".format, number | condition)
        | st.builds("is_one_of({}, 4, -3)".format, number),
    }


def formulas(kind: str, depth: int) -> st.SearchStrategy[str]:
    """Returns sources of expressions of some operators of Python."""
    leaf = st.sampled_from([*NUMBERS] if kind == "number" else [*CONDITIONS])
    return leaf if not depth else leaf | _formulas(lambda inner: formulas(inner, depth - 1))[kind]


@settings(max_examples=5)
@given(sources=st.lists(formulas("number", 4) | formulas("condition", 4), min_size=40, max_size=60))
def test_an_operand_is_in_brackets_where_it_must_be(spark: SparkSession, sources: list[str]) -> None:
    """The text of nested operators has the value that the same operators have in Python."""
    names = {name: col(name) for name in ("a", "b", "c", *CONDITIONS)} | {
        "one": sql.long(1),
        "minus_two": sql.long(-2),
    }
    texts = [sql.lit(eval(source, {**FUNCTIONS, **names})) for source in sources]
    expected = [eval(source, {**FUNCTIONS, **NUMBERS, **CONDITIONS}) for source in sources]
    assert values_of(spark, *(text.alias(f"c{n}") for n, text in enumerate(texts))) == expected


A, B, C = map(col, "abc")


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ((A + B) * 2 - C, "(a + b) * 2 - c"),
        (A - (B - C), "a - (b - c)"),
        (-(A - B), "-(a - b)"),
        (A - -B, "a - -b"),
        (A - -1, "a - -1"),
        ((A < B) & ((B < C) & ~(A == 1)), "a < b AND b < c AND NOT a = 1"),
        (((A < B) | (B < C)).is_null(), "(a < b OR b < c) IS NULL"),
        (A.bit_and(B).bit_or(C + 1), "a & b | c + 1"),
        (sql.when(A > 0, "x").otherwise(NULL), "CASE WHEN a > 0 THEN 'x' ELSE NULL END"),
        (sql.when(A > 0, 1).when(A < 0, col("b c")), "CASE WHEN a > 0 THEN 1 WHEN a < 0 THEN `b c` END"),
        (sql.raise_error("it's"), """raise_error(replace('it"s', '"', char(39)))"""),
        (col("place")["city"].alias("city"), "place['city'] AS city"),
        (A.alias("a"), "a"),
        (sql.long(1) + 1.5, "1L + 1.5D"),
        (A.try_cast("bigint"), "TRY_CAST(a AS BIGINT)"),
        (sql.max(A).over(by=[B, C], order=A), "max(a) OVER (PARTITION BY b, c ORDER BY a)"),
        (
            sql.transform(A, lambda item: sql.transform(B, lambda item: item + 1)),
            "transform(a, item -> transform(b, item1 -> item1 + 1))",
        ),
    ],
    ids=str,
)
def test_a_person_can_read_it(expression: Sql, text: str) -> None:
    """There are few brackets, and names are in backquotes only where they must be."""
    assert str(expression) == text


def test_a_function_of_items_within_another_reads_both(spark: SparkSession) -> None:
    """The variable of an inner function hides that of the outer one only if the inner one is meant."""

    def beside(outer: Sql) -> Sql:
        return sql.transform(col("xs"), lambda item: item * 10 + outer)

    of_both = sql.transform(col("xs"), lambda item: beside(item))
    assert values_of(spark, of_both.alias("r")) == [[[11, 21], [12, 22]]]


def test_an_expression_has_no_truth_value() -> None:
    """A condition of SQL in an ``if`` of Python is an error."""
    with pytest.raises(TypeError, match="no truth value"):
        bool(A == B)


def test_the_deepest_expression_is_read(spark: SparkSession, tmp_path: Path) -> None:
    """Spark parses an expression with as many levels as are lifted, whose brackets and calls are nested as deep."""
    most = DEEPEST - 2
    sources = [
        "abs(" * most + "e.f" + ")" * most,
        "(1 - " * most + "e.y" + ")" * most,
        "(0 if e.b else " * most + "e.x" + ")" * most,
    ]
    for f in compile_functions(sources, tmp_path):
        expression = lift_edge_function(f)
        assert first_opaque(expression) is None
        frame = frame_of(spark, rows(3))
        columns = select(frame, compile_scalar(expression, frame_columns(EDGE)).alias("r"))
        assert [row[0] for row in columns.collect()] == [f(row) for row in rows(3)]


def test_a_session_with_patterns_for_names_is_refused(spark: SparkSession) -> None:
    """A quoted name could be several columns, as in Hive; the error names the setting."""
    frame = spark.createDataFrame([], "team string, points long, at timestamp")
    setting = "spark.sql.parser.quotedRegexColumnNames"
    with (
        replace_settings(spark, {setting: "true"}),
        pytest.raises(UnsupportedError, match=re.escape(setting)),
    ):
        batch.compile(POINTS.combine_per_key(Sum()), {SCORES: frame})


def test_a_small_pipeline_takes_few_calls(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compilation takes few calls of the JVM, which would be most of its time and do not depend on the machine."""
    frame = spark.createDataFrame([], "team string, points long, at timestamp")
    calls: list[str] = []
    assert SparkContext._gateway is not None
    client = type(SparkContext._gateway._gateway_client)
    send_command: Callable[..., object] = client.send_command

    def count(self: object, command: str, *rest: object) -> object:
        if not command.startswith("m"):  # which releases an object
            calls.append(command)
        return send_command(self, command, *rest)

    monkeypatch.setattr(client, "send_command", count)
    batch.compile(POINTS.combine_per_key(Sum()), {SCORES: frame})
    assert len(calls) < 250
