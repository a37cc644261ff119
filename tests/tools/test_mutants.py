"""Each mutant of ``make mutants`` finds its place in the code, and changes it to another valid program.

``make mutants`` itself, which runs the tests on the mutants, takes minutes.
"""

from __future__ import annotations

import ast
import re
import shlex
import tomllib
from collections import Counter
from functools import cache
from pathlib import Path

import pytest
from flowalg_laws import CATALOGUE

from tests.mutations import AREAS
from tests.mutations.mutant import Mutant, StaleMutantError, sources_under

ROOT = Path(__file__).parents[2]
MUTANTS = [mutant for area in AREAS for mutant in area.mutants]


@pytest.mark.long
def test_a_mutant_is_another_program() -> None:
    """The syntax that a mutant changes occurs exactly once, and the result is valid Python with another syntax tree."""
    sources = sources_under(ROOT)
    dump = cache(lambda text: ast.dump(ast.parse(text)))
    for mutant in MUTANTS:
        mutation = mutant.apply(sources)
        assert dump(mutation.text) != dump(sources[mutation.file]), mutant.fault


def test_there_are_at_most_eighty_mutants_with_distinct_faults() -> None:
    """A mutant is a plausible mistake, one for each idea: there are 60 to 80, each with a text of its own."""
    assert 60 <= len(MUTANTS) <= 80
    assert max(Counter(mutant.fault for mutant in MUTANTS).values()) == 1


def test_each_mutant_breaks_a_law_or_a_claim() -> None:
    """Each mutant says what it breaks, and what it has in backticks are laws of ``flowalg_laws``."""
    laws = {law.name for laws in CATALOGUE.values() for law in laws}
    assert all(mutant.breaks for mutant in MUTANTS)
    assert {name for mutant in MUTANTS for name in re.findall("`(.*?)`", mutant.breaks)} <= laws


def test_tests_of_an_area_exist() -> None:
    """Each test name of an area is that of exactly one file."""
    for area in AREAS:
        assert all(len(list((ROOT / "tests").rglob(f"test_{name}.py"))) == 1 for name in area.tests)


def test_modules_of_generated_mutants_exist() -> None:
    """The modules and the tests that ``make mutants-thorough`` names exist."""
    settings = tomllib.loads((ROOT / "tests/mutations/cosmic-ray.toml").read_text())["cosmic-ray"]
    tests = [word for word in shlex.split(settings["test-command"]) if word.startswith("tests/")]
    assert tests
    assert all((ROOT / path).exists() for path in (*settings["module-path"], *tests))


INSIDE = """
def inside(window, point):
    # its start counts
    return (window.start <= point
            < window.end)
"""
CLOSED = Mutant(
    "the end is inside",
    "windows are half-open",
    "inside",
    "window.start <= point < window.end",
    "window.start <= point <= window.end",
)


def module(text: str) -> dict[str, str]:
    """Returns a package of one module."""
    return {"flowalg/windows.py": text}


def test_a_mutant_finds_its_place_in_any_format() -> None:
    """The module and the format may differ; all other text stays."""
    mutation = CLOSED.apply(module(INSIDE))
    assert mutation.file == "flowalg/windows.py"
    assert mutation.text.splitlines()[2:] == [
        "    # its start counts",
        "    return ((window.start <= point <= window.end))",
    ]


@pytest.mark.parametrize(
    "text", ["", INSIDE.replace("<=", "<"), INSIDE.replace("inside", "outside"), INSIDE * 2]
)
def test_a_mutant_whose_syntax_has_changed_is_rejected(text: str) -> None:
    """A mutant whose syntax occurs nowhere, or several times, raises an error."""
    with pytest.raises(StaleMutantError, match="the end is inside: inside contains [02] times:"):
        CLOSED.apply(module(text))


def test_a_mutant_with_an_undefined_name_is_rejected() -> None:
    """A mutant with a name that is not in scope raises an error, since every test would fail on it."""
    unknown = Mutant("a fault", "a claim", "inside", CLOSED.old, "limit < point")
    with pytest.raises(StaleMutantError, match="a fault: inside has no limit"):
        unknown.apply(module(INSIDE))


def test_a_statement_can_be_replaced_by_several() -> None:
    """Several statements in place of one have its indentation."""
    text = "def f(a, b):\n    if a:\n        b.append(a)\n    return b\n"
    twice = Mutant("a fault", "a claim", "f", "b.append(a)", "if b:\n    b.append(a)\nb.append(a)").apply(
        module(text)
    )
    assert (
        "    if a:\n        if b:\n            b.append(a)\n        b.append(a)\n    return b\n" in twice.text
    )


def test_a_package_or_a_class_selects_among_functions_of_one_name() -> None:
    """A function is identified by its package and name, and a method by its class and name."""
    both = {"flowalg/windows.py": INSIDE, "interpreters/flowalg_shard/windows.py": INSIDE}
    with pytest.raises(StaleMutantError):
        CLOSED.apply(both)
    chosen = Mutant(CLOSED.fault, CLOSED.breaks, "flowalg_shard:inside", CLOSED.old, CLOSED.new)
    assert chosen.apply(both).file == "interpreters/flowalg_shard/windows.py"
    method = Mutant(CLOSED.fault, CLOSED.breaks, "Window.inside", CLOSED.old, CLOSED.new)
    indented = "class Window:" + INSIDE.replace("\n", "\n    ")
    assert "point <= window.end" in method.apply(module(indented + INSIDE)).text
