"""Each mutant of ``make mutants`` finds its place in the code, and changes it to another valid program.

``make mutants`` itself, which runs the tests on the mutants, takes minutes.
"""

from __future__ import annotations

import ast
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from tests.mutations import Area, areas
from tests.mutations.mutant import Replacement, Sources, StaleMutantError, sources_under
from tests.mutations.operators import EQUIVALENT, operator_changes
from tests.support.depth import a_few

ROOT = Path(__file__).parents[2]
SOURCES = sources_under(ROOT)
AREAS = areas(SOURCES, 60)
MUTANTS = [mutant for area in AREAS for mutant in area.mutants]


@pytest.mark.long
@pytest.mark.parametrize("area", a_few(AREAS, 1), ids=lambda area: area.name)
def test_a_mutant_is_another_program(area: Area) -> None:
    """The syntax that a mutant changes occurs exactly once, and the result is valid Python with another syntax tree."""
    for mutant in area.mutants:
        mutation = mutant.apply(SOURCES)
        compile(mutation.text, mutation.file, "exec")
        assert mutation.text != text_of(mutation.file), mutant.fault


@cache
def text_of(file: str) -> str:
    """Returns the text of an unchanged module, formatted like that of a mutated module."""
    return ast.unparse(SOURCES[file])


def module(text: str) -> Sources:
    """Returns a package of one module."""
    return {"flowalg/windows.py": ast.parse(text)}


INSIDE = """
def inside(window, point):
    # its start counts
    return (window.start <= point
            < window.end)
"""
CLOSED = Replacement("the end is inside", "inside", "a.start <= b < a.end", "a.start <= b <= a.end")


def test_a_mutant_finds_its_place_under_other_names_of_local_variables() -> None:
    """The module, the format and the local names may differ; the mutated code has the names of its place."""
    mutation = CLOSED.apply(module(INSIDE))
    assert mutation.file == "flowalg/windows.py"
    assert "return window.start <= point <= window.end" in mutation.text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "def outside(a, b):\n    return a.start <= b < a.end",
        "def inside(a, b):\n    return a.start < b < a.end",
        "def inside(a, b, c):\n    return a.start <= b < c.end",
        "a = 3\ndef inside(b):\n    return c.start <= b < c.end",
        "def inside(a, b):\n    return a.start <= b < a.end and a.start <= b < a.end",
        INSIDE + INSIDE,
    ],
)
def test_a_mutant_whose_syntax_has_changed_is_rejected(text: str) -> None:
    """A mutant whose syntax occurs nowhere, or several times, raises an error."""
    with pytest.raises(StaleMutantError, match="the end is inside: inside contains [02] times:"):
        CLOSED.apply(module(text))


def test_syntax_with_equal_names_has_precedence() -> None:
    """Syntax with the same names is the place, even if other syntax differs only in names."""
    text = "def inside(a, b, c):\n    return c.start <= b < c.end or a.start <= b < a.end"
    assert "c.start <= b < c.end or a.start <= b <= a.end" in CLOSED.apply(module(text)).text


def test_a_mutant_with_an_undefined_name_is_rejected() -> None:
    """A mutant with a name that is not in scope raises an error, since every test would fail on it."""
    unknown = Replacement("a fault", "inside", "window.start <= point < window.end", "limit < point")
    with pytest.raises(StaleMutantError):
        unknown.apply(module(INSIDE))


def test_a_compound_statement_can_be_replaced_without_its_body() -> None:
    """The body ``...`` stands for the original body, and ``pass`` removes a statement."""
    text = "def f(a, b):\n    if a:\n        b.append(a)\n    return b"
    swapped = Replacement("a fault", "f", "if a:\n    ...", "if not a:\n    ...").apply(module(text))
    assert "if not a:\n        b.append(a)" in swapped.text
    removed = Replacement("a fault", "f", "b.append(a)", "pass").apply(module(text))
    assert "if a:\n        pass" in removed.text


def test_a_package_or_a_class_selects_among_functions_of_one_name() -> None:
    """A function is identified by its package and name, and a method by its class and name."""
    text = "def inside(a, b):\n    return a.start <= b < a.end"
    both = {"flowalg/windows.py": ast.parse(text), "interpreters/flowalg_shard/windows.py": ast.parse(text)}
    with pytest.raises(StaleMutantError):
        CLOSED.apply(both)
    chosen = Replacement(CLOSED.fault, "flowalg_shard:inside", CLOSED.old, CLOSED.new)
    assert chosen.apply(both).file == "interpreters/flowalg_shard/windows.py"
    method = Replacement(CLOSED.fault, "Window.inside", CLOSED.old, CLOSED.new)
    assert (
        "<= b <="
        in method.apply(module(f"class Window:\n    {text.replace(chr(10), chr(10) + '    ')}")).text
    )


def test_every_area_has_mutants_with_distinct_names() -> None:
    """There are at least 45 hand-written mutants, at least five in each area, and each fault text is unique."""
    written = [area for area in AREAS if area.name != "operators"]
    assert sum(len(area.mutants) for area in written) >= 45
    assert all(len(area.mutants) >= 5 for area in written)
    names = Counter((area.name, mutant.fault) for area in AREAS for mutant in area.mutants)
    assert max(names.values()) == 1


def test_tests_of_an_area_exist() -> None:
    """Each test name of an area is that of exactly one file."""
    for area in AREAS:
        assert all(len(list((ROOT / "tests").rglob(f"test_{name}.py"))) == 1 for name in area.tests)


def test_explained_operators_are_in_the_sample() -> None:
    """Every explanation of a surviving operator change belongs to a mutant of the sample."""
    (sampled,) = [area.mutants for area in AREAS if area.name == "operators"]
    assert {mutant.why_it_survives for mutant in sampled} == {
        "",
        *(known.why_it_survives for known in EQUIVALENT),
    }


def test_each_plausible_mistake_in_an_expression_is_a_mutant() -> None:
    """A comparison, a conjunction and a negation yield five mutants, in a fixed order."""
    text = "def inside(a: int, b: int) -> bool:\n    return a <= b and not b\n"
    mutated = [
        change.apply({}).text.splitlines()[1].strip() for change in operator_changes("m.py", ast.parse(text))
    ]
    assert mutated == [
        "return a <= b or not b",
        "return not b",
        "return a <= b",
        "return a < b and (not b)",
        "return a <= b and b",
    ]


def test_the_sample_is_the_same_under_other_names_of_variables() -> None:
    """A rename of local variables does not change the keys of operator changes."""
    text = "def inside(a: int, b: int) -> bool:\n    return a <= b and not b\n"
    keys, others = (
        [change.key for change in operator_changes("m.py", ast.parse(each))]
        for each in (text, text.replace("a", "first").replace("firstnd", "and"))
    )
    assert keys == others
    assert len(set(keys)) == 5
