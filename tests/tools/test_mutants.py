"""The mutants of ``make mutants`` fit the code: each still applies, and makes another program that is valid Python.

Whether the tests notice them takes minutes, and is ``make mutants`` to say.
"""

from __future__ import annotations

import ast
from collections import Counter
from functools import cache
from pathlib import Path

import pytest
from flowalg_development.mutations import Area, Mutant, areas
from flowalg_development.mutations.mutant import StaleMutantError
from flowalg_development.mutations.operators import EQUIVALENT, SAMPLED, operator_mutants

ROOT = Path(__file__).parents[2]
TEXTS = {file: (ROOT / file).read_text() for file in SAMPLED}
AREAS = areas(TEXTS, 60)
MUTANTS = [mutant for area in AREAS for mutant in area.mutants]


@pytest.mark.parametrize("area", AREAS, ids=lambda one: one.name)
def test_a_mutant_is_another_program(area: Area) -> None:
    """Its text is there exactly once, and what it becomes is valid Python with another syntax tree."""
    for mutant in area.mutants:
        text = (ROOT / mutant.file).read_text()
        changed = mutant.apply(text)
        compile(changed, mutant.file, "exec")
        assert ast.dump(ast.parse(changed)) != tree_of(mutant.file), mutant.fault


@cache
def tree_of(file: str) -> str:
    """The syntax tree of a file as it is."""
    return ast.dump(ast.parse((ROOT / file).read_text()))


def test_a_mutant_whose_text_has_changed_is_refused() -> None:
    """It would silently test nothing."""
    for text in ("", "a < b and a < b"):
        with pytest.raises(StaleMutantError, match="the end is inside: window.py has [02] times"):
            Mutant("the end is inside", "window.py", "a < b", "a <= b").apply(text)


def test_faults_are_many_and_told_apart() -> None:
    """At least 45 that somebody thought of, over every area, each with a name of its own; and a sample of others."""
    written = [area for area in AREAS if area.name != "operators"]
    assert sum(len(area.mutants) for area in written) >= 45
    assert all(len(area.mutants) >= 5 for area in written)
    names = Counter((mutant.file, mutant.fault) for mutant in MUTANTS)
    assert max(names.values()) == 1


def test_tests_of_an_area_exist() -> None:
    """A misspelt one would be no test."""
    for area in AREAS:
        assert all(len(list((ROOT / "tests").rglob(f"test_{name}.py"))) == 1 for name in area.tests)


def test_explained_operators_are_in_the_sample() -> None:
    """An explanation of a mutant that is not tried any more has to go."""
    sampled = {mutant.fault for area in AREAS if area.name == "operators" for mutant in area.mutants}
    assert set(EQUIVALENT) <= sampled


def test_an_operator_is_changed_where_it_stands() -> None:
    """One mutant for each way in which an expression could have been another one."""
    text = "def inside(a: int, b: int) -> bool:\n    return a <= b and not b\n"
    found = [mutant.new.splitlines()[1].strip() for mutant in operator_mutants("m.py", text)]
    assert found == [
        "return (a <= b or not b)",
        "return (not b)",
        "return (a <= b)",
        "return (a < b) and not b",
        "return a <= b and (b)",
    ]
