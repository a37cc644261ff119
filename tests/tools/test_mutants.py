"""The mutants of ``make mutants`` fit the code: each finds its place, and makes another program that is valid Python.

Whether the tests notice them takes minutes, and is ``make mutants`` to say.
"""

from __future__ import annotations

import ast
from collections import Counter
from functools import cache
from pathlib import Path

import pytest
from flowalg_development.mutations import Area, areas
from flowalg_development.mutations.mutant import Replacement, Sources, StaleMutantError, sources_under
from flowalg_development.mutations.operators import EQUIVALENT, operator_changes

ROOT = Path(__file__).parents[2]
SOURCES = sources_under(ROOT)
AREAS = areas(SOURCES, 60)
MUTANTS = [mutant for area in AREAS for mutant in area.mutants]


@pytest.mark.parametrize("area", AREAS, ids=lambda area: area.name)
def test_a_mutant_is_another_program(area: Area) -> None:
    """The syntax that a mutant changes is there exactly once, and it becomes valid Python with another syntax tree."""
    for mutant in area.mutants:
        mutation = mutant.apply(SOURCES)
        compile(mutation.text, mutation.file, "exec")
        assert mutation.text != text_of(mutation.file), mutant.fault


@cache
def text_of(file: str) -> str:
    """The text of a module as it is, in the form of mutated ones."""
    return ast.unparse(SOURCES[file])


def module(text: str) -> Sources:
    """A package of one module."""
    return {"flowalg/windows.py": ast.parse(text)}


INSIDE = """
def inside(window, point):
    # its start counts
    return (window.start <= point
            < window.end)
"""
CLOSED = Replacement("the end is inside", "inside", "a.start <= b < a.end", "a.start <= b <= a.end")


def test_a_mutant_finds_its_place_whatever_the_local_variables_are_called() -> None:
    """In another module, another format and with other names of variables; what it makes has the names of the place."""
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
def test_a_mutant_whose_syntax_has_changed_is_refused(text: str) -> None:
    """A mutant that finds no place, or several, would test nothing or something else."""
    with pytest.raises(StaleMutantError, match="the end is inside: inside has [02] times"):
        CLOSED.apply(module(text))


def test_the_same_names_come_before_others() -> None:
    """Syntax that is the same in all is the place, though other syntax differs in names alone."""
    text = "def inside(a, b, c):\n    return c.start <= b < c.end or a.start <= b < a.end"
    assert "c.start <= b < c.end or a.start <= b <= a.end" in CLOSED.apply(module(text)).text


def test_a_mutant_with_a_name_that_is_not_there_is_refused() -> None:
    """It would fail for that reason alone."""
    unknown = Replacement("a fault", "inside", "window.start <= point < window.end", "limit < point")
    with pytest.raises(StaleMutantError):
        unknown.apply(module(INSIDE))


def test_a_statement_can_be_replaced_with_its_body_kept() -> None:
    """The body ``...`` is the body that is there, and ``pass`` takes a statement out."""
    text = "def f(a, b):\n    if a:\n        b.append(a)\n    return b"
    swapped = Replacement("a fault", "f", "if a:\n    ...", "if not a:\n    ...").apply(module(text))
    assert "if not a:\n        b.append(a)" in swapped.text
    left_out = Replacement("a fault", "f", "b.append(a)", "pass").apply(module(text))
    assert "if a:\n        pass" in left_out.text


def test_a_package_tells_functions_of_one_name_apart() -> None:
    """The function of one package, or the method of one class."""
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


def test_faults_are_many_and_told_apart() -> None:
    """At least 45 that somebody thought of, over every area, each with a name of its own; and a sample of others."""
    written = [area for area in AREAS if area.name != "operators"]
    assert sum(len(area.mutants) for area in written) >= 45
    assert all(len(area.mutants) >= 5 for area in written)
    names = Counter((area.name, mutant.fault) for area in AREAS for mutant in area.mutants)
    assert max(names.values()) == 1


def test_tests_of_an_area_exist() -> None:
    """A misspelt one would be no test."""
    for area in AREAS:
        assert all(len(list((ROOT / "tests").rglob(f"test_{name}.py"))) == 1 for name in area.tests)


def test_explained_operators_are_in_the_sample() -> None:
    """An explanation of a mutant that is not tried any more has to go."""
    (sampled,) = [area.mutants for area in AREAS if area.name == "operators"]
    assert {mutant.why_it_survives for mutant in sampled} == {
        "",
        *(known.why_it_survives for known in EQUIVALENT),
    }


def test_an_operator_is_changed_where_it_stands() -> None:
    """One mutant for each way in which an expression could have been another one."""
    text = "def inside(a: int, b: int) -> bool:\n    return a <= b and not b\n"
    found = [
        change.apply({}).text.splitlines()[1].strip() for change in operator_changes("m.py", ast.parse(text))
    ]
    assert found == [
        "return a <= b or not b",
        "return not b",
        "return a <= b",
        "return a < b and (not b)",
        "return a <= b and b",
    ]


def test_the_sample_is_the_same_under_other_names_of_variables() -> None:
    """So that a rename of local variables does not change what is tried."""
    text = "def inside(a: int, b: int) -> bool:\n    return a <= b and not b\n"
    keys, others = (
        [change.key for change in operator_changes("m.py", ast.parse(each))]
        for each in (text, text.replace("a", "first").replace("firstnd", "and"))
    )
    assert keys == others
    assert len(set(keys)) == 5
