"""The types that checkers infer for the public surface.

``typing/*.py`` are tables of inferred types. ``make check`` checks them with mypy and with pyright's strict mode, where
no type may be unknown, so they are not checked again here. ``typing/must_fail/*.txt`` have mistakes that the checkers
must report. ``typed_surface`` defines what the tables must cover.
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

from tests.packaging.typed_surface import covered_by, members, surface

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
TABLES = sorted(set((HERE / "typing").glob("*.py")) - {HERE / "typing" / "records.py"})
MUST_FAIL = sorted((HERE / "typing" / "must_fail").glob("*.txt"))

Place: TypeAlias = tuple[str, int]
"""A file's name, and a line number in it."""

NO_TYPE_TO_ASSERT: Final = {
    "flowalg_laws.checks.check.check_combiner": "returns None; a call of each form is in the table",
    "flowalg_laws.checks.check.check_computation": "returns None; a call is in the table",
    "flowalg_laws.checks.check.check_law": "returns None; a call of each form is in the table",
    "flowalg_laws.checks.check.check_trigger": "returns None; a call of each form is in the table",
    "flowalg_laws.checks.check.check_watermark_policy": "returns None; a call of each form is in the table",
    "flowalg_laws.checks.check.check_window_fn": "returns None; a call of each form is in the table",
    "flowalg_spark.state.checkpoints.check_checkpoint": "returns None; a call is in the table",
    "flowalg_spark.changes.resharding.reshard": "returns None; a call is in the table",
    "flowalg_spark.frames.pane_frame.PaneFrame.explain": "returns None; a call of each form is in the table",
    "flowalg.triggers.syntax._AnyTrigger.__and__": "always raises; checkers reject every call",
    "flowalg.triggers.syntax._AnyTrigger.__or__": "always raises; checkers reject every call",
    "flowalg_sinks.target.Transaction.delete": "returns None; a call is in the table",
    "flowalg_sinks.target.Transaction.put": "returns None; a call is in the table",
    "flowalg_sinks.target.Transaction.record_batch": "returns None; a call is in the table",
    "flowalg_polars.streaming.checkpoint.drain": "returns None; a call is in the table",
    "flowalg_polars.streaming.inspection.reshard": "returns None; a call is in the table",
    "flowalg_shard.state.plans.Plan.require_accepted": "returns None; a call is in the table",
    "flowalg_spark.streaming.compilation.drain": "returns None; a call of each form is in the table",
}


@frozen
class Finding:
    """An error that a checker reports: its place and its code."""

    place: Place
    code: str


def run(*arguments: str) -> str:
    """Returns the output of a checker."""
    process = subprocess.run(
        [sys.executable, "-m", *arguments], capture_output=True, text=True, check=False, cwd=ROOT
    )
    return process.stdout


def mypy(paths: Sequence[Path]) -> list[Finding]:
    """Returns the errors of mypy."""
    printed = run("mypy", "--strict", "--show-absolute-path", *map(str, paths))
    found = re.findall(r"^(.*?):(\d+): error: .*?(?:\[([\w-]+)\])?$", printed, re.MULTILINE)
    return [Finding((Path(path).name, int(line)), code) for path, line, code in found]


def pyright(paths: Sequence[Path]) -> list[Finding]:
    """Returns the errors of pyright."""
    found = json.loads(run("pyright", "--outputjson", *map(str, paths)))
    return [
        Finding(
            (Path(diagnostic["file"]).name, diagnostic["range"]["start"]["line"] + 1),
            diagnostic.get("rule", "syntax"),
        )
        for diagnostic in found["generalDiagnostics"]
        if diagnostic["severity"] == "error"
    ]


# Errors of the line itself instead of the types of its values, such as an undefined name.
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
def test_type_checkers_report_every_marked_mistake(
    checker: Callable[[Sequence[Path]], list[Finding]], tmp_path: Path
) -> None:
    """Each checker reports an error on the marked lines and on no others.

    A mark may name one checker; the other one accepts the line, which is a known limit.
    """
    marked: set[Place] = set()
    modules = []
    for path in MUST_FAIL:
        module = tmp_path / f"must_fail_{path.stem}.py"
        module.write_text(path.read_text())
        modules.append(module)
        for number, line in enumerate(path.read_text().splitlines(), start=1):
            if line.endswith(("# error", f"# error in {checker.__name__}")):
                marked.add((module.name, number))
    found = checker(modules)
    assert {finding.place for finding in found} == marked
    assert [finding for finding in found if finding.code in NOT_ABOUT_TYPES] == []
    assert len(marked) > 500


def test_the_tables_cover_the_whole_public_surface() -> None:
    """Every public name and member has a row, except those without a type to assert, each with a reason."""
    rows = frozenset[str]().union(*(covered_by(path.read_text()) for path in TABLES))
    assert sorted(surface() - rows - NO_TYPE_TO_ASSERT.keys()) == []
    assert sorted(NO_TYPE_TO_ASSERT.keys() - (surface() - rows)) == []


@pytest.mark.parametrize("path", TABLES, ids=lambda path: path.stem)
def test_no_row_of_a_table_asserts_any(path: Path) -> None:
    """Each table is checked by strict pyright, so no type is unknown, and no row asserts the type ``Any``."""
    text = path.read_text()
    assert "\n# pyright: strict\n" in text
    assert "Any" not in {name.id for name in ast.walk(ast.parse(text)) if isinstance(name, ast.Name)}


HEAD = "from typing import assert_type\nfrom flowalg import AtCount, OnceTrigger, Window, PCollection as C\n"


@pytest.mark.parametrize(
    ("signature", "expression", "covered"),
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
def test_a_row_covers_the_names_and_members_in_it(signature: str, expression: str, covered: set[str]) -> None:
    """The syntax of a table is read as ``typed_surface`` describes."""
    row = f"def rows({signature}):\n    assert_type({expression}, object)\n"
    assert covered_by(HEAD + row) == covered


def test_the_surface_has_the_public_members_of_this_project() -> None:
    """The surface has public members of this project's classes, without private members and those of other projects."""

    class Parent(Exception):
        shown: int = 3

        def total(self) -> int:
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
    expected = {f"{here}.shown", f"{here}.total", f"{here}.__or__"}
    assert members(Parent) == expected
    assert members(Child) == expected | {f"flowalg.pretended.{Child.__qualname__}.own"}


def test_the_surface_is_computed_from_the_packages() -> None:
    """The surface of a package has no names of the packages that are left out."""
    left_out = surface() - surface(["flowalg"])
    assert {name.split(".")[0] for name in left_out} == {
        "flowalg_columns",
        "flowalg_kafka",
        "flowalg_laws",
        "flowalg_polars",
        "flowalg_reference",
        "flowalg_shard",
        "flowalg_sinks",
        "flowalg_snapshots",
        "flowalg_spark",
    }
