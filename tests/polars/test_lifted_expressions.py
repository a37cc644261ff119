"""A lifted function has the same result in Polars as in Python, for each operation, over edge values.

These tests catch faults of the compiler to Polars expressions. They share the functions and rows of Spark's tests.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Final

import polars as pl
import pytest
from flowalg_columns.layout import Branch, Leaf
from flowalg_polars.columns import polars_type
from flowalg_polars.expressions import compile_expression, compile_scalar
from hypothesis import given, settings
from hypothesis import strategies as st

from flowalg.data.errors import describe_function
from flowalg.data.shapes import BOOLEAN, DAY, FLOAT, INTEGER, Scalar, TupleOf
from flowalg.lifting.tree.expressions import Apply, Constant, Expr, Param, Part, first_opaque
from flowalg.lifting.tree.failures import can_raise_in_engine
from flowalg.lifting.tree.primitives import Op
from tests.support.lifting.cases import LIFTED
from tests.support.lifting.edge_functions import Raised, lift_edge_function, python_result
from tests.support.lifting.family import EdgeFunction
from tests.support.lifting.generated import draw_lifted
from tests.support.lifting.polars_engine import ENGINES, Engine, Failed, frame_of, polars_results
from tests.support.lifting.rows import FLOATS, INTEGERS, Edge, rows

ROWS: Final = rows(300)
FRAME: Final = frame_of(ROWS)
PER_QUERY: Final = 50


def differ(python: object, in_polars: object) -> bool:
    """Whether results are not equal to the bit, or only one of them is a failure."""
    if isinstance(python, Raised) or isinstance(in_polars, Failed):
        return not (isinstance(python, Raised) and isinstance(in_polars, Failed))
    return repr(python) != repr(in_polars)


def names_error(failure: Failed, python: Raised) -> bool:
    """Whether a message has the file of the function and the name of Python's error, or describes 64 bits."""
    described = (python.error.partition("(")[0], "64 bits", "[-2**63, 2**63)")
    return " at tests/support/lifting/" in failure.message and any(
        part in failure.message for part in described
    )


def differences(functions: Sequence[EdgeFunction], elements: Sequence[Edge], engine: Engine) -> list[str]:
    """Returns the differences between the results of Polars and Python."""
    columns = polars_results(frame_of(elements), [lift_edge_function(f) for f in functions], engine)
    return [
        f"{describe_function(f)}: {row}: {python!r}, not {in_polars!r}"
        for f, column in zip(functions, columns, strict=True)
        for row, in_polars in zip(elements, column, strict=True)
        for python in (python_result(f, row),)
        if differ(python, in_polars)
    ]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("first", range(0, len(LIFTED), PER_QUERY))
def test_lifted_expressions_have_the_results_of_python(first: int, engine: Engine) -> None:
    """Polars has the same value to the bit where Python has a value, and fails where Python raises."""
    assert differences(LIFTED[first : first + PER_QUERY], ROWS, engine) == []


@pytest.mark.parametrize("row", range(0, 300, 75))
def test_the_results_of_a_single_row_are_those_of_python(row: int) -> None:
    """Polars computes columns of one row by other code, which has the same results."""
    assert differences(LIFTED, ROWS[row : row + 1], "in-memory") == []


def test_a_failure_has_the_location_and_the_error_of_python() -> None:
    """The message of a failure has the file of the function, and the name of Python's error if Python raises one."""
    wrong = []
    for f in (f for f in LIFTED if can_raise_in_engine(lift_edge_function(f))):
        for row, in_polars in zip(ROWS, polars_results(FRAME, [lift_edge_function(f)])[0], strict=True):
            if isinstance(in_polars, Failed):
                python = python_result(f, row)
                if not isinstance(python, Raised) or not names_error(in_polars, python):
                    wrong.append(f"{describe_function(f)}: {in_polars.message}, not {python!r}")
    assert wrong == []


@settings(max_examples=3)
@given(data=st.data())
def test_generated_expressions_have_the_results_of_python(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """Nested generated expressions agree with Python, and at least half of them are lifted."""
    lifted = draw_lifted(data, tmp_path_factory.mktemp("generated"))
    assert differences(lifted, ROWS[:100], data.draw(st.sampled_from(ENGINES))) == []


NUMBERS: Final[dict[Scalar, st.SearchStrategy[float]]] = {
    INTEGER: st.sampled_from(INTEGERS) | st.integers(-(2**63), 2**63 - 1) | st.integers(-100, 100),
    FLOAT: st.sampled_from(FLOATS) | st.floats(allow_subnormal=True) | st.floats(-1000, 1000),
}
OPERATIONS: Final[tuple[tuple[Op, Scalar, Scalar, Callable[[float, float], float]], ...]] = (
    (Op.ADD, INTEGER, INTEGER, operator.add),
    (Op.SUBTRACT, INTEGER, INTEGER, operator.sub),
    (Op.MULTIPLY, INTEGER, INTEGER, operator.mul),
    (Op.FLOOR_DIVIDE, INTEGER, INTEGER, operator.floordiv),
    (Op.MODULO, INTEGER, INTEGER, operator.mod),
    (Op.DIVIDE, INTEGER, FLOAT, operator.truediv),
    (Op.FLOAT_ADD, FLOAT, FLOAT, operator.add),
    (Op.FLOAT_SUBTRACT, FLOAT, FLOAT, operator.sub),
    (Op.FLOAT_MULTIPLY, FLOAT, FLOAT, operator.mul),
    (Op.FLOAT_DIVIDE, FLOAT, FLOAT, operator.truediv),
    (Op.FLOAT_FLOOR_DIVIDE, FLOAT, FLOAT, operator.floordiv),
    (Op.FLOAT_MODULO, FLOAT, FLOAT, operator.mod),
)


def compute_in_python(compute: Callable[[float, float], float], a: float, b: float) -> object:
    """Returns the result of an operation on two numbers, or ``Raised``."""
    try:
        result = compute(a, b)
    except ArithmeticError as error:
        return Raised(repr(error))
    return result if isinstance(result, float) or -(2**63) <= result < 2**63 else Raised("an overflow")


@pytest.mark.parametrize(
    ("op", "of", "result", "compute"), OPERATIONS, ids=[case[0].name for case in OPERATIONS]
)
@given(data=st.data())
def test_arithmetic_is_exact_with_columns_and_constants(
    op: Op, of: Scalar, result: Scalar, compute: Callable[[float, float], float], data: st.DataObject
) -> None:
    """Arithmetic has Python's results for two columns, a constant, and a column with one value in all rows."""
    tops = data.draw(st.lists(NUMBERS[of], min_size=1, max_size=20))
    bottom = data.draw(NUMBERS[of])
    pair = TupleOf((of, of))
    a, b = (Part(Param(pair), index, f"[{index}]", of) for index in range(2))
    dtype = polars_type(of)
    column, other = pl.Series("a", tops, dtype), pl.Series("b", tops[::-1], dtype)
    constant = Constant(bottom, of)
    cases: tuple[tuple[Expr, Expr, pl.Series | pl.Expr, Sequence[float], Sequence[float]], ...] = (
        (a, b, other, tops, tops[::-1]),
        (a, constant, other, tops, [bottom] * len(tops)),
        (constant, b, other, [bottom] * len(tops), tops[::-1]),
        (a, b, pl.lit(bottom, dtype=dtype).alias("b"), tops, [bottom] * len(tops)),
    )
    for left, right, column_b, lefts, rights in cases:
        element = Branch(pair, (Leaf(of, pl.col("a")), Leaf(of, pl.col("b"))))
        value, failure = compile_scalar(Apply(op, (left, right), result, "here"), element)
        frame = pl.LazyFrame([column]).with_columns(column_b)
        message = pl.lit(None) if failure is None else failure
        computed = frame.select("a", value.alias("value"), message.alias("message")).collect()
        assert computed["value"].dtype == polars_type(result)
        for top, divisor, in_polars, failed in zip(
            lefts, rights, computed["value"], computed["message"], strict=True
        ):
            expected = compute_in_python(compute, top, divisor)
            assert not differ(expected, in_polars if failed is None else Failed(failed)), (top, divisor)


FLOAT_OPERATIONS: Final = tuple(case for case in OPERATIONS if case[1] == FLOAT)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("case", FLOAT_OPERATIONS, ids=[case[0].name for case in FLOAT_OPERATIONS])
def test_each_pair_of_edge_floats_has_the_result_of_python(
    case: tuple[Op, Scalar, Scalar, Callable[[float, float], float]], engine: Engine
) -> None:
    """Zeros have the right sign, and results the right last bit, also with one value in all rows."""
    op, of, result, compute = case
    pair = TupleOf((of, of))
    a, b = (Part(Param(pair), index, f"[{index}]", of) for index in range(2))
    element = Branch(pair, (Leaf(of, pl.col("a")), Leaf(of, pl.col("b"))))
    frame = pl.LazyFrame({"a": FLOATS})
    columns: dict[str, pl.Expr] = {}
    expected: dict[str, list[object]] = {}
    for number, fixed in enumerate((*FLOATS, 3.0, 7.0, 49.0)):
        frame = frame.with_columns(pl.lit(fixed).alias(f"b{number}"))
        same = Branch(pair, (Leaf(of, pl.col("a")), Leaf(of, pl.col(f"b{number}"))))
        swapped = Branch(pair, (Leaf(of, pl.col(f"b{number}")), Leaf(of, pl.col("a"))))
        for name, expr, of_pair, turned in (
            ("constant", Apply(op, (a, Constant(fixed, of)), result, "here"), element, False),
            ("constant first", Apply(op, (Constant(fixed, of), a), result, "here"), element, True),
            ("one value", Apply(op, (a, b), result, "here"), same, False),
            ("one value first", Apply(op, (a, b), result, "here"), swapped, True),
        ):
            columns[f"{name} {fixed} {number}"] = compile_scalar(expr, of_pair)[0]
            expected[f"{name} {fixed} {number}"] = [
                compute_in_python(compute, *((fixed, x) if turned else (x, fixed))) for x in FLOATS
            ]
    computed = frame.select("a", **columns).collect(engine=engine)
    wrong = [
        (name, top, python, in_polars)
        for name, results in expected.items()
        for top, python, in_polars in zip(FLOATS, results, computed[name], strict=True)
        if not isinstance(python, Raised) and differ(python, in_polars)
    ]
    assert wrong == []


CONSTANT_RECEIVERS: Final[tuple[EdgeFunction, ...]] = (
    lambda e: "a日ab".replace("a", e.t),
    lambda e: "a日ab".replace("a", e.t) in e.s,
    lambda e: "a日ab".find(e.t),
    lambda e: "a日ab".count("a") + len(e.t),
    lambda e: "a日ab".startswith(e.t),
    lambda e: "a日ab".endswith(e.t),
    lambda e: e.t in "a日ab",
    lambda e: 0.0 // 0.5 + e.f,
    lambda e: e.f - -0.0 * 2.0,
    lambda e: e.s[-1:-3],
    lambda e: e.s[-3:-1] + e.s[-30:2] + e.s[3:-1],
)
"""Operations of constants, which Polars does not always repeat for each row, and slices that are empty."""
OUT_OF_RANGE: Final[tuple[EdgeFunction, ...]] = (
    lambda e: (e.at + e.d).date().isoformat(),
    lambda e: (e.at - e.d).date().year,
    lambda e: (e.day + e.d).isoformat() if e.b else "none",
    lambda e: e.day.isoformat() if e.x * e.y > 3 else (e.day + e.p).isoformat(),
    lambda e: e.d * 100 < e.p,
    lambda e: (e.d * 100) // e.p,
    lambda e: (e.d * 1000).days if e.b else 0,
)
"""Times that are out of range inside an expression, for which Polars has no text."""
NOT_WIDE_AFTER_ALL: Final[tuple[EdgeFunction, ...]] = (
    lambda e: e.x * 3 - e.x * 2,
    lambda e: e.x * -3 + 7,
    lambda e: -(e.x - 9) * 5,
    lambda e: e.x - e.x,
    lambda e: (e.x + e.y) - (e.x + e.y) + e.x,
    lambda e: e.x * 4 + 1 > e.y,
    lambda e: e.y >= 1 - e.x * 3,
    lambda e: e.x * -1 == e.y,
    lambda e: e.x * 2 < e.y * 3,
    lambda e: -e.x if e.b else e.x + 2**40,
    lambda e: e.x + 2**63,
    lambda e: (2**63 - e.x) // 2,
    lambda e: e.x * 2**62,
    lambda e: e.x * -(2**63),
)
"""Integers that may exceed 64 bits, for which Polars wraps."""


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "functions",
    [CONSTANT_RECEIVERS, OUT_OF_RANGE, NOT_WIDE_AFTER_ALL],
    ids=["constants", "times", "integers"],
)
def test_what_polars_does_unlike_python_has_the_results_of_python(
    functions: tuple[EdgeFunction, ...], engine: Engine
) -> None:
    """Constant receivers, times out of range and integers that wrap agree with Python."""
    assert [
        first_opaque(lift_edge_function(f)) for f in functions if first_opaque(lift_edge_function(f))
    ] == []
    assert differences(functions, ROWS, engine) == []


def chain(length: int, step: Callable[[Expr], Expr]) -> Expr:
    """Returns a number of nested steps."""
    expr: Expr = Param(FLOAT)
    for _ in range(length):
        expr = step(expr)
    return expr


NESTED: Final[dict[str, Callable[[Expr], Expr]]] = {
    "FLOAT_ADD": lambda of: Apply(Op.FLOAT_ADD, (of, Param(FLOAT)), FLOAT, "here"),
    "FLOAT_SUBTRACT": lambda of: Apply(Op.FLOAT_SUBTRACT, (Param(FLOAT), of), FLOAT, "here"),
    "FLOAT_DIVIDE": lambda of: Apply(Op.FLOAT_DIVIDE, (of, Constant(3.0, FLOAT)), FLOAT, "here"),
    "FLOAT_MODULO": lambda of: Apply(Op.FLOAT_MODULO, (of, Constant(3.0, FLOAT)), FLOAT, "here"),
    "DIVIDE": lambda of: Apply(
        Op.DIVIDE, (Apply(Op.FLOOR, (of,), INTEGER, "here"), Constant(3, INTEGER)), FLOAT, "here"
    ),
    "DAY": lambda of: Apply(
        Op.TO_FLOAT,
        (
            Apply(
                Op.DAYS,
                (Apply(Op.DAY, (Apply(Op.FLOOR, (of,), INTEGER, "here"),), DAY, "here"),),
                INTEGER,
                "here",
            ),
        ),
        FLOAT,
        "here",
    ),
}


@pytest.mark.parametrize("name", NESTED)
def test_the_value_of_nested_operations_is_linear_in_their_number(name: str) -> None:
    """Each more operation makes the expression of the value longer by the same amount, so plans stay small."""
    first, second, third = (
        len(compile_scalar(chain(length, NESTED[name]), Leaf(FLOAT, pl.col("a")))[0].meta.serialize())
        for length in (4, 8, 12)
    )
    assert third - second < 1.5 * (second - first)


@pytest.mark.long
def test_a_sum_of_many_floats_is_that_of_python() -> None:
    """A long sum is computed in order, and is not too deep to compile."""
    values = [0.1, -0.0, 1e308, -2.5]
    column, failure = compile_scalar(chain(200, NESTED["FLOAT_ADD"]), Leaf(FLOAT, pl.col("a")))
    assert failure is None
    assert pl.DataFrame({"a": values}).select(r=column)["r"].to_list() == [
        reduce(operator.add, [value] * 201) for value in values
    ]


def test_a_constant_that_exceeds_64_bits_fails() -> None:
    """A constant result that cannot be stored fails in each row."""
    compiled = compile_expression(Constant(2**63, INTEGER), Leaf(INTEGER, pl.col("a")))
    assert compiled.failure is not None
    assert pl.DataFrame({"a": [1, 2]}).select("a", m=compiled.failure)["m"].is_not_null().all()


def test_an_expression_that_cannot_fail_has_no_failure() -> None:
    """No column of messages is computed where none is needed."""
    positive = Apply(Op.LESS, (Constant(0, INTEGER), Param(INTEGER)), BOOLEAN, "here")
    compiled = compile_expression(positive, Leaf(INTEGER, pl.col("a")))
    assert compiled.failure is None
    assert compiled.fails is None
