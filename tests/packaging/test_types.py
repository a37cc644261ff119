"""What type checkers make of the public surface: the second half of the product's promise.

``typing/*.py`` are tables of inferred types. ``make check`` holds both checkers to them, in pyright's strict mode,
where nothing may be unknown, so they are not checked again here. ``typing/must_fail/*.txt`` have the mistakes that
must be errors at the desk. ``typed_surface`` says what the tables must speak of.
"""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, TypeAlias

import pytest
from attrs import frozen

from tests.packaging.typed_surface import members, spoken_of, surface

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
TABLES = sorted(set((HERE / "typing").glob("*.py")) - {HERE / "typing" / "records.py"})
MUST_FAIL = sorted((HERE / "typing" / "must_fail").glob("*.txt"))

Place: TypeAlias = tuple[str, int]
"""A file's name, and a line of it."""

NO_TYPE_TO_ASSERT: Final = {
    "flowalg_laws.checks.check.check_combiner": "returns None; a call of each form is in the table",
    "flowalg_laws.checks.check.check_law": "returns None; a call of each form is in the table",
    "flowalg_laws.checks.check.check_watermark_policy": "returns None; a call of each form is in the table",
    "flowalg_laws.checks.check.check_window_fn": "returns None; a call of each form is in the table",
    "flowalg_spark.state.checkpoints.check_checkpoint": "returns None; a call is in the table",
    "flowalg_spark.frames.pane_frame.PaneFrame.explain": "returns None; a call of each form is in the table",
    "flowalg_sinks.target.Transaction.delete": "returns None; a call is in the table",
    "flowalg_sinks.target.Transaction.note": "returns None; a call is in the table",
    "flowalg_sinks.target.Transaction.prepare": "returns None; a call is in the table",
    "flowalg_sinks.target.Transaction.put": "returns None; a call is in the table",
    "flowalg_spark.streaming.compilation.drain": "returns None; a call of each form is in the table",
}


@frozen
class Finding:
    """An error that a checker reports: where, and of which kind."""

    place: Place
    code: str


def run(*arguments: str) -> str:
    """What a checker prints."""
    done = subprocess.run(
        [sys.executable, "-m", *arguments], capture_output=True, text=True, check=False, cwd=ROOT
    )
    return done.stdout


def mypy(paths: Sequence[Path]) -> list[Finding]:
    """The errors of mypy."""
    printed = run("mypy", "--strict", "--show-absolute-path", *map(str, paths))
    found = re.findall(r"^(.*?):(\d+): error: .*?(?:\[([\w-]+)\])?$", printed, re.MULTILINE)
    return [Finding((Path(path).name, int(line)), code) for path, line, code in found]


def pyright(paths: Sequence[Path]) -> list[Finding]:
    """The errors of pyright."""
    found = json.loads(run("pyright", "--outputjson", *map(str, paths)))
    return [
        Finding((Path(one["file"]).name, one["range"]["start"]["line"] + 1), one.get("rule", "syntax"))
        for one in found["generalDiagnostics"]
        if one["severity"] == "error"
    ]


# Errors that say nothing about how a value was used, but that the line itself is no such use.
NOT_ABOUT_TYPES: Final = {
    "import-not-found",
    "name-defined",
    "reportMissingImports",
    "reportUndefinedVariable",
    "syntax",
    "used-before-def",
}


@pytest.mark.long
@pytest.mark.parametrize("checker", [mypy, pyright])
def test_mistakes_are_errors_at_the_desk(
    checker: Callable[[Sequence[Path]], list[Finding]], tmp_path: Path
) -> None:
    """Each checker refuses the marked lines and no others.

    A mark may name one checker: the other one accepts the line, which is then a limit that is known.
    """
    marked: set[Place] = set()
    modules = []
    for path in MUST_FAIL:
        module = tmp_path / f"must_fail_{path.stem}.py"
        module.write_text(path.read_text())
        modules.append(module)
        for number, line in enumerate(path.read_text().splitlines(), start=1):
            if line.endswith(("# refused", f"# refused by {checker.__name__}")):
                marked.add((module.name, number))
    found = checker(modules)
    assert {one.place for one in found} == marked
    assert [one for one in found if one.code in NOT_ABOUT_TYPES] == []
    assert len(marked) > 500


def test_every_public_name_and_member_has_a_row() -> None:
    """The tables speak of the whole public surface, but for what has no type to assert, of which each has a reason."""
    rows = frozenset[str]().union(*(spoken_of(path.read_text()) for path in TABLES))
    assert sorted(surface() - rows - NO_TYPE_TO_ASSERT.keys()) == []
    assert sorted(NO_TYPE_TO_ASSERT.keys() - (surface() - rows)) == []


@pytest.mark.parametrize("path", TABLES, ids=lambda path: path.stem)
def test_nothing_in_a_table_is_of_any_type(path: Path) -> None:
    """Pyright reads each table strictly, so that no type is unknown, and no row asserts that a type is ``Any``."""
    text = path.read_text()
    assert "\n# pyright: strict\n" in text
    assert "Any" not in {one.id for one in ast.walk(ast.parse(text)) if isinstance(one, ast.Name)}


HEAD = "from typing import assert_type\nfrom flowalg import AtCount, OnceTrigger, Window, PCollection as C\n"


@pytest.mark.parametrize(
    ("signature", "expression", "spoken"),
    [
        ("", "AtCount(3)", {"flowalg.triggers.syntax.AtCount"}),
        (
            "n: AtCount",
            "n.repeat()",
            {"flowalg.triggers.syntax.AtCount", "flowalg.triggers.syntax._AnyTrigger.repeat"},
        ),
        ("n: OnceTrigger", "n & n", {"flowalg.OnceTrigger", "flowalg.triggers.syntax._Once.__and__"}),
        (
            "",
            "AtCount(3) >> n",
            {"flowalg.triggers.syntax.AtCount", "flowalg.triggers.syntax._AnyTrigger.__rshift__"},
        ),
        (
            "c: C[int]",
            "c.map(f).filter(g)",
            {"flowalg.pipeline.pcollection.PCollection", "flowalg.pipeline.pcollection.PCollection.map"},
        ),
        (
            "w: Window",
            "3 in w",
            {"flowalg.windows.window.Window", "flowalg.windows.window.Window.__contains__"},
        ),
        ("w: object", "w.end", set()),
    ],
)
def test_a_row_speaks_of_what_stands_in_it(signature: str, expression: str, spoken: set[str]) -> None:
    """A table's syntax is read as ``typed_surface`` says, and of nothing more."""
    row = f"def rows({signature}):\n    assert_type({expression}, object)\n"
    assert spoken_of(HEAD + row) == spoken


def test_a_member_without_a_row_is_noticed() -> None:
    """The surface has what is public and this project's, not what is private or inherited from others."""

    class Parent(Exception):
        shown: int = 3

        def told(self) -> int:
            return self._hidden()

        def _hidden(self) -> int:
            return 4

        def __or__(self, other: Parent) -> Parent:
            return other

    class Child(Parent):
        @property
        def own(self) -> int:
            return 5

    Parent.__module__ = Child.__module__ = "flowalg.pretended"
    here = f"flowalg.pretended.{Parent.__qualname__}"
    expected = {f"{here}.shown", f"{here}.told", f"{here}.__or__"}
    assert members(Parent) == expected
    assert members(Child) == expected | {f"flowalg.pretended.{Child.__qualname__}.own"}


def test_the_surface_is_that_of_the_packages() -> None:
    """A package that is left out takes its names with it: the surface is computed, not listed."""
    left_out = surface() - surface(["flowalg"])
    assert {one.split(".")[0] for one in left_out} == {
        "flowalg_laws",
        "flowalg_reference",
        "flowalg_shard",
        "flowalg_sinks",
        "flowalg_spark",
    }
