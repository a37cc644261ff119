"""Lifting: which functions stay in Python and why; only the source of the function that runs is read.

``test_lifted_columns.py`` compares lifted columns with Python.
"""

from __future__ import annotations

import importlib.util
import linecache
import marshal
from collections.abc import Callable
from pathlib import Path
from types import FunctionType, ModuleType

import pytest
from returns.result import Failure, Success

from flowalg.data.errors import describe_function
from flowalg.data.shapes import INTEGER, shape_of
from flowalg.elementwise.functions import Call
from flowalg.lifting.lift import lift
from flowalg.lifting.python.source import KNOWN, RUNNING, syntax_of
from flowalg.lifting.tree.expressions import Expr, Param, first_opaque
from tests.support.lifting.cases import FAMILIES
from tests.support.lifting.family import EdgeFunction, Family, NotLifted
from tests.support.lifting.not_lifted import NOT_LIFTED
from tests.support.lifting.rows import Edge

EDGE = shape_of(Edge)


def lift_edge_function(f: EdgeFunction) -> Expr:
    """Returns the lifted expression of a function of an ``Edge``."""
    return lift(Call(f), (Param(EDGE),))


@pytest.mark.parametrize("case", NOT_LIFTED, ids=[describe_function(case.function) for case in NOT_LIFTED])
def test_a_function_that_is_not_provably_equal_stays_in_python(case: NotLifted) -> None:
    """A function that is not provably equal stays in Python, with a reason, and its result type if syntax gives it."""
    expression = lift_edge_function(case.function)
    opaque = first_opaque(expression)
    assert opaque is not None
    assert case.reason in opaque.reason
    assert expression.shape == case.shape


@pytest.mark.parametrize("family", FAMILIES, ids=[family.title for family in FAMILIES])
def test_a_provably_equal_function_is_lifted(family: Family) -> None:
    """A function that is provably equal is lifted without opaque parts, and its result type is known."""
    for f in family.functions:
        expression = lift_edge_function(f)
        assert first_opaque(expression) is None, describe_function(f)
        assert expression.shape is not None, describe_function(f)


def test_each_lambda_of_a_line_is_found_by_its_bytecode() -> None:
    """Each of several lambdas on one line is lifted from its own source, which is found by bytecode."""
    first, second = (lambda e: e.x + 1), (lambda e: e.y + 2)
    assert repr(lift_edge_function(first)) != repr(lift_edge_function(second))
    assert "index=0" in repr(lift_edge_function(first))
    assert "index=1" in repr(lift_edge_function(second))


def test_a_captured_scalar_is_lifted_with_its_value() -> None:
    """Captured immutable scalars are lifted with their value; other captured values keep a function in Python."""

    def add(n: object) -> Callable[[Edge], object]:
        return lambda e: e.x + n  # type: ignore[operator]

    assert first_opaque(lift_edge_function(add(3))) is None
    assert first_opaque(lift_edge_function(add([3]))) is not None


def load(path: Path) -> ModuleType:
    """Returns the module of a file."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_set_of_constants_is_lifted_from_a_compiled_file(tmp_path: Path) -> None:
    """A ``.pyc`` has the items of a set in another order than the compiler: 0 before 8, which have one hash bucket."""
    path = tmp_path / "stored.py"
    path.write_text("f = lambda e: e.x in {8, 0}\n")
    written = load(path).f
    stored = FunctionType(marshal.loads(marshal.dumps(written.__code__)), written.__globals__)
    (kept,) = (constant for constant in stored.__code__.co_consts if isinstance(constant, frozenset))
    assert [*kept] == [0, 8]
    for function in (written, stored):
        assert first_opaque(lift_edge_function(function)) is None
    path.write_text("f = lambda e: e.x in {8, 1}\n")
    linecache.checkcache(str(path))
    assert first_opaque(lift_edge_function(stored)) is not None


def test_a_function_whose_source_file_has_changed_stays_in_python(tmp_path: Path) -> None:
    """A function whose source file has changed since its import stays in Python."""
    path = tmp_path / "edited.py"
    path.write_text("f = lambda e: e.x + 1\n")
    module = load(path)
    path.write_text("f = lambda e: e.x - 1\n")
    opaque = first_opaque(lift_edge_function(module.f))
    assert opaque is not None
    assert opaque.reason == "a source file that differs from the code that is loaded"


def test_a_function_without_source_stays_in_python() -> None:
    """A function from ``eval`` or from a prompt has no source file and stays in Python."""
    opaque = first_opaque(lift_edge_function(eval("lambda e: e.x")))
    assert opaque is not None
    assert opaque.reason == "source that is not available"


@pytest.mark.parametrize("version", [("cpython", 3, 10), ("cpython", 4, 0), ("pypy", 3, 11)])
def test_lifting_is_off_on_untested_interpreters(version: tuple[str, int, int]) -> None:
    """Lifting is off on interpreter versions on which it is not tested."""
    f: EdgeFunction = lambda e: e.x  # noqa: E731
    assert isinstance(syntax_of(f, RUNNING), Success)
    match syntax_of(f, version):
        case Failure(reason):
            assert "lifting does not support" in str(reason)
        case success:
            pytest.fail(f"{success} of an unknown version")


def test_lifting_is_on_for_the_running_interpreter() -> None:
    """Lifting is on for the interpreter that runs these tests; otherwise the tests would check nothing."""
    assert RUNNING in KNOWN


def test_a_captured_variable_has_its_value_when_the_pipeline_is_compiled() -> None:
    """A later assignment to a captured variable does not change a function that is already lifted."""
    rate = 2

    def scale(e: Edge) -> int:
        return e.x * rate

    before = lift_edge_function(scale)
    rate = 3
    assert "value=2" in repr(before)
    assert "value=3" in repr(lift_edge_function(scale))


def shout(n: int) -> str:
    """Returns a number as text with its cases swapped; ``swapcase`` is not lifted."""
    return str(n).swapcase()


def test_the_reason_names_the_line_inside_a_called_helper() -> None:
    """The reason names the line inside a called helper that keeps a function in Python."""
    opaque = first_opaque(lift_edge_function(lambda e: shout(e.x) + "!"))
    assert opaque is not None
    line = shout.__code__.co_firstlineno + 2
    assert opaque.location == f"shout at tests/core/test_lifting.py:{line}"


def test_a_function_whose_expression_is_too_large_stays_in_python() -> None:
    """A function stays in Python when inlining its helpers makes an expression of more than 2000 nodes."""

    def twice(n: int) -> int:
        return n % 1000 + n % 999

    def nested(n: int) -> int:
        return twice(twice(twice(twice(twice(twice(twice(twice(twice(twice(twice(n)))))))))))

    opaque = first_opaque(lift_edge_function(lambda e: nested(e.x)))
    assert opaque is not None
    assert opaque.reason == "an expression of more than 2000 nodes"


@pytest.mark.parametrize(
    ("operations", "result", "reason"),
    [
        (70, "add(e.x)", None),
        (80, "add(add(e.x))", "operations nested more than 150 deep"),
        (2000, "add(e.x)", "operations nested too deep to be read"),
    ],
)
def test_a_function_whose_operations_are_nested_too_deep_stays_in_python(
    tmp_path: Path, operations: int, result: str, reason: str | None
) -> None:
    """A function that recursion over its expression could not compile stays in Python, with its result type."""
    helper = ["def add(x):", *["    x = x + 1"] * operations, "    return x"]
    lines = [*helper, "def deep(e) -> int:", f"    return {result}"]
    path = tmp_path / f"deep_{operations}.py"
    path.write_text("\n".join(lines))
    expression = lift_edge_function(load(path).deep)
    opaque = first_opaque(expression)
    assert (opaque.reason if opaque else None) == reason
    assert expression.shape == INTEGER


def test_a_name_that_is_assigned_later_is_local() -> None:
    """A name that a function assigns later is local from the start of the function, as in Python."""

    def early(e: Edge) -> object:
        if e.b:
            return later  # type: ignore[has-type, used-before-def]  # noqa: F821
        later = e.x
        return later + 1

    opaque = first_opaque(lift_edge_function(early))
    assert opaque is not None
    assert opaque.reason == "the name later, which is not defined"


def test_text_with_a_lone_surrogate_stays_in_python() -> None:
    """No engine can hold it, so that what a function makes of it is Python's, also as a part of an f-string."""
    functions: tuple[EdgeFunction, ...] = (
        lambda e: f"{e.x}\udcff",
        lambda e: e.s + "\udcff",
        lambda e: e.s == "\udcff",
    )
    assert all(first_opaque(lift_edge_function(function)) is not None for function in functions)
