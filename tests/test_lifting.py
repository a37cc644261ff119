"""Lifting: what is taken, what is left to Python and why, and that a lifted function means what Python means."""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Callable
from pathlib import Path

import attrs
import pyarrow as pa
import pytest
from attrs import field, frozen
from flowalg_spark.columns import evaluate
from flowalg_spark.layout import layout_of, spread, visible_element
from flowalg_spark.schema import arrow_type, parts_of
from flowalg_spark.values import encode, read
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from flowalg.functions import Call
from flowalg.lifting import Expr, opaque_part
from flowalg.lifting.expressions import Param
from flowalg.lifting.lift import lift
from flowalg.shapes import BOOLEAN, FLOAT, INTEGER, TEXT, Shape, shape_of
from flowalg.values import canonical
from tests.edge_rows import LIFTED, Edge, rows

EDGE = shape_of(Edge)


def lifted(f: Callable[[Edge], object]) -> Expr:
    """What lifting makes of a function of an edge row."""
    return lift(Call(f), (Param(EDGE),))


@frozen
class Checked:
    """A record whose construction does more than store."""

    n: int = field(validator=attrs.validators.gt(0))


@frozen
class Shy:
    """A record one of whose attributes is computed."""

    n: int

    @property
    def twice(self) -> int:
        """Code of its own."""
        return self.n * 2


OPAQUE: dict[str, tuple[Callable[[Edge], object], Shape | None, str]] = {
    "an f-string": (lambda e: f"{e.x}", TEXT, "an f-string"),
    "a method": (lambda e: e.s.upper(), TEXT, "the method upper"),
    "a call": (lambda e: len(e.s), INTEGER, "a call of len"),
    "an unknown call": (lambda e: math.floor(e.f), None, "a call of math.floor"),
    "integer division": (lambda e: e.x / e.y, FLOAT, "the division of two integers"),
    "floor division": (lambda e: e.x // e.y, INTEGER, "FloorDiv of int and int"),
    "power": (lambda e: e.x**2, None, "Pow of int and int"),
    "float comparison": (lambda e: e.f < e.g, BOOLEAN, "float < float"),
    "float equality": (lambda e: e.f == e.g, BOOLEAN, "float == float"),
    "truthiness": (lambda e: e.x and e.y, None, "`and` of non-bools"),
    "not of a number": (lambda e: not e.x, BOOLEAN, "`not` of a non-bool"),
    "is": (lambda e: e.s is e.t, BOOLEAN, "`is`"),
    "== None": (lambda e: e.m == None, BOOLEAN, "a comparison with None"),  # noqa: E711
    "optional arithmetic": (lambda e: e.m + 1, None, "Add of int | None and int"),  # type: ignore[operator]
    "too many digits": (lambda e: e.x * e.x * e.x, INTEGER, "more than 38 digits"),
    "a big integer as a float": (lambda e: (e.x + e.y) * 0.5, FLOAT, "may exceed 64 bits"),
    "a constructor that checks": (lambda e: Checked(e.x), shape_of(Checked), "validator of its own"),
    "a property": (lambda e: Shy(e.x).twice, None, "no plain field twice"),
    "a default": (lambda e, k=1: e.x + k, None, "default, keyword-only or variable"),  # type: ignore[misc]
    "a comprehension": (lambda e: [c for c in e.s], None, "ListComp"),  # noqa: C416
    "a builtin": (str, TEXT, "the construction of str"),
}


@pytest.mark.parametrize("name", OPAQUE)
def test_what_is_not_proved_is_left_to_python(name: str) -> None:
    """The reason says what was met, and the type of the result is known where syntax tells it."""
    f, shape, reason = OPAQUE[name]
    expression = lifted(f)
    opaque = opaque_part(expression)
    assert opaque is not None
    assert reason in opaque.reason
    assert expression.shape == shape


@pytest.mark.parametrize("name", LIFTED)
def test_what_is_proved_is_lifted(name: str) -> None:
    """No opaque part is left, and the type of the result is known."""
    expression = lifted(LIFTED[name])
    assert opaque_part(expression) is None
    assert expression.shape is not None


def test_the_right_lambda_of_a_line_is_found() -> None:
    """Several lambdas may stand on one line; each is known by the code that it compiles to."""
    one, other = (lambda e: e.x + 1), (lambda e: e.y + 2)
    assert repr(lifted(one)) != repr(lifted(other))
    assert "index=0" in repr(lifted(one))
    assert "index=1" in repr(lifted(other))


def test_a_captured_variable_has_its_value_at_lifting() -> None:
    """Closures capture immutable scalars; anything else is left to Python."""

    def plus(n: object) -> Callable[[Edge], object]:
        return lambda e: e.x + n  # type: ignore[operator]

    assert opaque_part(lifted(plus(3))) is None
    assert opaque_part(lifted(plus([3]))) is not None


def test_source_that_has_changed_since_is_not_believed(tmp_path: Path) -> None:
    """A file edited after its import would tell another function than the one that runs."""
    path = tmp_path / "edited.py"
    path.write_text("f = lambda e: e.x + 1\n")
    spec = importlib.util.spec_from_file_location("edited", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    path.write_text("f = lambda e: e.x - 1\n")
    opaque = opaque_part(lifted(module.f))
    assert opaque is not None
    assert opaque.reason == "its source on disk is not the code that is loaded"


def test_code_without_source_runs_in_python() -> None:
    """What was made by ``eval`` or typed at a prompt has no file to read."""
    opaque = opaque_part(lifted(eval("lambda e: e.x")))
    assert opaque is not None
    assert opaque.reason == "its source is not available"


def python_result(f: Callable[[Edge], object], row: Edge) -> tuple[object] | None:
    """What Python gives, if that is a value that an element may have."""
    try:
        return (canonical(f(row), "the result"),)
    except ArithmeticError:
        return None


def same(one: object, other: object) -> bool:
    """Equality to the bit: NaN equals NaN, and 0.0 is not -0.0."""
    return repr(one) == repr(other)


@pytest.mark.parametrize("name", LIFTED)
def test_lifted_columns_mean_what_python_means(spark: SparkSession, name: str) -> None:
    """Over rows of edge values: the same value where Python gives one, an error where it gives none."""
    f = LIFTED[name]
    expression = lifted(f)
    assert expression.shape is not None
    fine = [row for row in rows(400) if python_result(f, row) is not None]
    bad = [row for row in rows(400) if python_result(f, row) is None][:2]
    expected = [python_result(f, row) for row in fine]
    found = spark_results(spark, expression, fine)
    wrong = [
        (row, want, got)
        for row, want, got in zip(fine, expected, found, strict=True)
        if not same(want, (got,))
    ]
    assert wrong == []
    for row in bad:
        with pytest.raises(Exception, match=r"overflows 64 bits|division by zero"):
            spark_results(spark, expression, [row])


def spark_results(spark: SparkSession, expression: Expr, elements: list[Edge]) -> list[object]:
    """What Spark gives for a lifted expression, in order."""
    schema = pa.schema([(name, arrow_type(one)) for name, one in parts_of(EDGE)])  # type: ignore[arg-type]
    table = pa.Table.from_pylist([encode(row, EDGE) for row in elements], schema=schema)  # type: ignore[misc]
    frame = spark.createDataFrame(table.append_column("at_row", pa.array(range(len(elements)), pa.int64())))
    assert expression.shape is not None
    columns = spread(evaluate(expression, visible_element(EDGE)), expression.shape)
    ordered = frame.select(*columns, F.col("at_row")).orderBy("at_row")
    return read(layout_of(expression.shape), ordered.toArrow())


def test_ansi_mode_does_not_matter(spark: SparkSession) -> None:
    """A session that lets integers wrap still gets an error, not a wrong number."""
    was = spark.conf.get("spark.sql.ansi.enabled")
    spark.conf.set("spark.sql.ansi.enabled", "false")
    try:
        for name in ("add", "multiply", "negative", "float divide", "an intermediate beyond 64 bits"):
            test_lifted_columns_mean_what_python_means(spark, name)
    finally:
        spark.conf.set("spark.sql.ansi.enabled", str(was))
