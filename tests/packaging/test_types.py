"""The types that checkers infer for the public surface.

``typing/*.py`` are tables of inferred types. ``make check`` checks them with mypy and with pyright's strict mode, where
no type may be unknown, so they are not checked again here. ``typing/must_fail/*.txt`` have mistakes that the checkers
must report. ``typed_surface`` defines what the tables must cover.
"""

from __future__ import annotations

import ast
import json
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, TypeAlias

import pytest
from attrs import frozen

from tests.packaging.typed_surface import covered_by, restated_by, surface
from tests.support.programs import run_program
from tests.support.public import ROOMS

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
TABLES = sorted(set((HERE / "typing").glob("*.py")) - {HERE / "typing" / "records.py"})
MUST_FAIL = sorted((HERE / "typing" / "must_fail").glob("*.txt"))

Place: TypeAlias = tuple[str, int]
"""A file's name, and a line number in it."""


@frozen
class Finding:
    """An error that a checker reports: its place and its code."""

    place: Place
    code: str


def run(*arguments: str) -> str:
    """Returns the output of a checker."""
    process = run_program([sys.executable, "-m", *arguments], cwd=ROOT)
    return process.stdout


def mypy(paths: Sequence[Path]) -> list[Finding]:
    """Returns the errors of mypy."""
    printed = run("mypy", "--strict", "--show-absolute-path", *map(str, paths))
    matches = re.findall(r"^(.*?):(\d+): error: .*?(?:\[([\w-]+)\])?$", printed, re.MULTILINE)
    return [Finding((Path(path).name, int(line)), code) for path, line, code in matches]


def pyright(paths: Sequence[Path]) -> list[Finding]:
    """Returns the errors of pyright."""
    report = json.loads(run("pyright", "--outputjson", *map(str, paths)))
    return [
        Finding(
            (Path(diagnostic["file"]).name, diagnostic["range"]["start"]["line"] + 1),
            diagnostic.get("rule", "syntax"),
        )
        for diagnostic in report["generalDiagnostics"]
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
    findings = checker(modules)
    assert {finding.place for finding in findings} == marked
    assert [finding for finding in findings if finding.code in NOT_ABOUT_TYPES] == []
    assert len(marked) > 500


def test_the_tables_cover_the_solved_types_of_the_public_surface() -> None:
    """Every public name and member whose type a checker solves has a row."""
    rows = frozenset[str]().union(*(covered_by(path.read_text()) for path in TABLES))
    without = sorted(name for name, is_solved in surface().items() if is_solved and name not in rows)
    assert without == [], "these have type variables or overloads; add a row to tests/packaging/typing"


@pytest.mark.parametrize("path", TABLES, ids=lambda path: path.stem)
def test_no_row_of_a_table_restates_an_annotation(path: Path) -> None:
    """Each row has an inferred type: a plain annotation is checked where it stands."""
    assert restated_by(path.read_text()) == ()


@pytest.mark.parametrize("path", TABLES, ids=lambda path: path.stem)
def test_no_row_of_a_table_asserts_any(path: Path) -> None:
    """Each table is checked by strict pyright, so no type is unknown, and no row asserts the type ``Any``."""
    text = path.read_text()
    assert "\n# pyright: strict\n" in text
    assert "Any" not in {name.id for name in ast.walk(ast.parse(text)) if isinstance(name, ast.Name)}


HEAD = (
    "from typing import assert_type\n"
    "from flowalg import AtCount, Outputs, PTransform, Window, PCollection as C\n"
    "from flowalg.triggers import OnceTrigger\n"
)


@pytest.mark.parametrize(
    ("signature", "expression", "covered"),
    [
        ("", "AtCount(3)", "triggers.syntax.AtCount"),
        ("n: AtCount", "n.repeat()", "triggers.syntax.AtCount triggers.syntax._AnyTrigger.repeat"),
        ("n: OnceTrigger", "n & n", "triggers.OnceTrigger triggers.syntax._Once.__and__"),
        ("", "AtCount(3) >> n", "triggers.syntax.AtCount triggers.syntax._AnyTrigger.__rshift__"),
        (
            "c: C[int]",
            "c.map(f).filter(g)",
            "pipeline.pcollection.PCollection pipeline.pcollection.PCollection.map",
        ),
        ("w: Window", "3 in w", "windows.window.Window windows.window.Window.__contains__"),
        ("o: Outputs", "o[c]", "runs.run.Outputs runs.run.Outputs.__getitem__"),
        (
            "t: PTransform[int, int]",
            "t(c)",
            "pipeline.ptransform.PTransform pipeline.ptransform.PTransform.__call__",
        ),
        ("w: object", "w.end", ""),
    ],
)
def test_a_row_covers_the_names_and_members_in_it(signature: str, expression: str, covered: str) -> None:
    """The syntax of a table is read as ``typed_surface`` describes."""
    names = {f"flowalg.{name}" for name in covered.split()}
    for row in (f"assert_type({expression}, object)", f"len(str({expression}))"):
        assert covered_by(f"{HEAD}def rows({signature}):\n    {row}\n") == names


@pytest.mark.parametrize(
    ("signature", "expression", "inferred"),
    [
        ("c: C[int]", "c.map(f)", True),
        ("c: C[int]", "c.node", False),
        ("c: C[int]", "c.distinct()", False),
        ("o: Outputs, c: C[int]", "o[c]", True),
        ("w: Window", "max(w.start, 3)", False),
        ("n: OnceTrigger", "n & n", True),
        ("n: AtCount", "n.repeat()", False),
        ("", "AtCount(made)", False),
        ("", "made.count", True),
        ("", "[made(n) for n in range(3)]", True),
        ("", "Window(lambda w: w.end)", True),
    ],
)
def test_a_row_restates_an_annotation_or_has_an_inferred_type(
    signature: str, expression: str, inferred: bool
) -> None:
    """Solved members, lambdas, operators and assigned variables are inferred; members with plain types are not."""
    row = f"assert_type({expression}, object)"
    table = f"{HEAD}made = AtCount(3)\ndef rows({signature}):\n    {row}\n"
    assert restated_by(table) == (() if inferred else (row,))


DECLARATIONS = """
from __future__ import annotations
from typing import TYPE_CHECKING, ClassVar, Generic, Self, TypeVar, overload
from attrs import frozen
__all__ = ["Box", "Child", "Fixed", "count", "Made", "Pairs", "Plain", "first", "size", "stored"]
A = TypeVar("A")
B = TypeVar("B")
Pairs = list[tuple[A, A]]
Plain = list[tuple[int, int]]
@frozen
class Box(Generic[A]):
    item: A
    size: int
    def again(self) -> Self: ...
    def zip(self, other: B) -> tuple[A, B]: ...
    def name(self, of: int) -> str: ...
    @property
    def items(self) -> tuple[A, ...]: ...
class _Of:
    def __call__(self, value: A) -> Box[A]: ...
class _Stored:
    def __call__(self, value: int) -> Box[int]: ...
class Fixed(Box[int]):
    of: ClassVar[_Of] = _Of()
    stored: ClassVar[_Stored] = _Stored()
    def longest(self, *others: Box[A]) -> int: ...
class Made:
    if TYPE_CHECKING:
        @overload
        def __init__(self, value: int) -> None: ...
        @overload
        def __init__(self, value: str) -> None: ...
    def __init__(self, value): ...
class Parent(Exception):
    shown: int = 3
    def total(self) -> int: ...
    def _hidden(self) -> int: ...
    def __or__(self, other: Parent) -> Parent: ...
class Child(Parent):
    @property
    def own(self) -> int: ...
def first(of: Box[A]) -> int: ...
@overload
def size(of: int) -> int: ...
@overload
def size(of: str) -> str: ...
def size(of): ...
def count(of: list[int]) -> int: ...
stored: Box[int] = Box(3, 1)
"""


def test_the_surface_has_the_public_members_of_this_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The surface has public members of this project's classes, without private members and those of other projects.

    Solved are generic classes, functions and aliases, overloads, and members with type variables that their class does
    not have; other annotations are not.
    """
    (tmp_path / "flowalg_pretended.py").write_text(DECLARATIONS)
    monkeypatch.syspath_prepend(tmp_path)
    names = surface(["flowalg_pretended"])
    solved = "Box Box.again Box.zip Fixed.longest Fixed.of Made Pairs first size"
    plain = (
        "Box.item Box.items Box.name Box.size Child Child.own Fixed Fixed.stored Parent.__or__ Parent.shown "
        "Parent.total Plain"
    )
    assert sorted(name for name in names if names[name]) == [f"flowalg_pretended.{n}" for n in solved.split()]
    assert sorted(name for name in names if not names[name]) == [
        f"flowalg_pretended.{n}" for n in (*plain.split(), "count", "stored")
    ]


def test_the_surface_is_computed_from_the_packages() -> None:
    """The surface of a package has no names of the packages that are left out."""
    left_out = surface().keys() - surface(ROOMS).keys()
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
