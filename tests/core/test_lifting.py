"""Lifting: which functions stay in Python and why, and that lifting only reads the source of the function that runs.

``test_lifted_columns.py`` compares lifted columns with Python.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path

import pytest
from returns.result import Failure, Success

from flowalg.data.shapes import shape_of
from flowalg.elementwise.functions import Call, describe_function
from flowalg.lifting.lift import lift
from flowalg.lifting.python.source import KNOWN, RUNNING, syntax_of
from flowalg.lifting.tree.expressions import Expr, Param, first_opaque
from tests.support.lifting.cases import FAMILIES
from tests.support.lifting.family import EdgeFunction, Family, Left
from tests.support.lifting.left import LEFT
from tests.support.lifting.rows import Edge

EDGE = shape_of(Edge)


def lifted(f: EdgeFunction) -> Expr:
    """The lifted expression of a function of an edge row."""
    return lift(Call(f), (Param(EDGE),))


@pytest.mark.parametrize("left", LEFT, ids=[describe_function(left.function) for left in LEFT])
def test_what_is_not_proved_is_left_to_python(left: Left) -> None:
    """A function that is not provably equal stays in Python, with a reason, and its result type if syntax gives it."""
    expression = lifted(left.function)
    opaque = first_opaque(expression)
    assert opaque is not None
    assert left.reason in opaque.reason
    assert expression.shape == left.shape


@pytest.mark.parametrize("family", FAMILIES, ids=[family.title for family in FAMILIES])
def test_what_is_proved_is_lifted(family: Family) -> None:
    """A function that is provably equal is lifted without opaque parts, and its result type is known."""
    for f in family.functions:
        expression = lifted(f)
        assert first_opaque(expression) is None, describe_function(f)
        assert expression.shape is not None, describe_function(f)


def test_the_right_lambda_of_a_line_is_found() -> None:
    """Of several lambdas on one line the right one is found, by its bytecode."""
    one, other = (lambda e: e.x + 1), (lambda e: e.y + 2)
    assert repr(lifted(one)) != repr(lifted(other))
    assert "index=0" in repr(lifted(one))
    assert "index=1" in repr(lifted(other))


def test_a_captured_variable_has_its_value_at_lifting() -> None:
    """Captured immutable scalars are lifted with their value; other captured values keep a function in Python."""

    def plus(n: object) -> Callable[[Edge], object]:
        return lambda e: e.x + n  # type: ignore[operator]

    assert first_opaque(lifted(plus(3))) is None
    assert first_opaque(lifted(plus([3]))) is not None


def test_source_that_has_changed_since_is_not_believed(tmp_path: Path) -> None:
    """A function whose source file has changed since its import stays in Python."""
    path = tmp_path / "edited.py"
    path.write_text("f = lambda e: e.x + 1\n")
    spec = importlib.util.spec_from_file_location("edited", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    path.write_text("f = lambda e: e.x - 1\n")
    opaque = first_opaque(lifted(module.f))
    assert opaque is not None
    assert opaque.reason == "a source file that differs from the code that is loaded"


def test_code_without_source_runs_in_python() -> None:
    """A function from ``eval`` or from a prompt has no source file and stays in Python."""
    opaque = first_opaque(lifted(eval("lambda e: e.x")))
    assert opaque is not None
    assert opaque.reason == "source that is not available"


@pytest.mark.parametrize("version", [("cpython", 3, 10), ("cpython", 4, 0), ("pypy", 3, 11)])
def test_an_unknown_interpreter_falls_back_to_Python(version: tuple[str, int, int]) -> None:
    """Lifting is off on interpreter versions on which it is not tested."""
    f: EdgeFunction = lambda e: e.x  # noqa: E731
    assert isinstance(syntax_of(f, RUNNING), Success)
    match syntax_of(f, version):
        case Failure(reason):
            assert "lifting does not support" in str(reason)
        case found:
            pytest.fail(f"{found} of an unknown version")


def test_the_running_interpreter_is_known() -> None:
    """Lifting is on for the interpreter that runs these tests; otherwise they would show nothing."""
    assert RUNNING in KNOWN


def test_a_variable_that_changes_keeps_the_value_that_it_had() -> None:
    """A captured variable has its value of the time when the pipeline is compiled."""
    rate = 2

    def scaled(e: Edge) -> int:
        return e.x * rate

    before = lifted(scaled)
    rate = 3
    assert "value=2" in repr(before)
    assert "value=3" in repr(lifted(scaled))


def helper(n: int) -> str:
    """A function that cannot be lifted."""
    return str(n).upper()


def test_the_place_inside_a_helper_is_named() -> None:
    """The reason names the line inside a called helper that keeps a function in Python."""
    opaque = first_opaque(lifted(lambda e: helper(e.x) + "!"))
    assert opaque is not None
    line = helper.__code__.co_firstlineno + 2
    assert opaque.location == f"helper at tests/core/test_lifting.py:{line}"


def test_an_expression_that_grows_too_large_is_left_to_python() -> None:
    """Helpers that double their argument stay in Python when the expression grows too large."""

    def twice(n: int) -> int:
        return n % 1000 + n % 999

    def often(n: int) -> int:
        return twice(twice(twice(twice(twice(twice(twice(twice(twice(twice(twice(n)))))))))))

    opaque = first_opaque(lifted(lambda e: often(e.x)))
    assert opaque is not None
    assert opaque.reason == "an expression of more than 2000 nodes"


def test_a_local_variable_is_not_a_global_one() -> None:
    """A name that a function assigns later is local from its start, as in Python."""

    def early(e: Edge) -> object:
        if e.b:
            return later  # type: ignore[has-type, used-before-def]  # noqa: F821
        later = e.x
        return later + 1

    opaque = first_opaque(lifted(early))
    assert opaque is not None
    assert opaque.reason == "the name later, which is not defined"
