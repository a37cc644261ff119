"""What type checkers make of the public surface: the second half of the product's promise.

``typing/revealed.py`` is a table of inferred types, which ``make check`` holds both checkers to as well;
``typing/must_fail.txt`` has the mistakes that must be errors at the desk.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parent
MUST_FAIL = HERE / "typing" / "must_fail.txt"
REVEALED = HERE / "typing" / "revealed.py"


def run(*arguments: str) -> str:
    """What a checker prints."""
    done = subprocess.run(
        [sys.executable, "-m", *arguments], capture_output=True, text=True, check=False, cwd=ROOT
    )
    return done.stdout


def mypy_errors(path: Path) -> set[int]:
    """The lines of a file that mypy refuses."""
    printed = run("mypy", "--strict", str(path))
    return {int(line) for line in re.findall(rf"{path.name}:(\d+): error:", printed)}


def pyright_errors(path: Path) -> set[int]:
    """The lines of a file that pyright refuses."""
    found = json.loads(run("pyright", "--outputjson", str(path)))
    return {
        one["range"]["start"]["line"] + 1 for one in found["generalDiagnostics"] if one["severity"] == "error"
    }


@pytest.mark.parametrize("errors", [mypy_errors, pyright_errors])
def test_mistakes_are_errors_at_the_desk(errors: Callable[[Path], set[int]], tmp_path: Path) -> None:
    """Each marked line is refused by each checker, and no other line is."""
    text = MUST_FAIL.read_text()
    module = tmp_path / "must_fail.py"
    module.write_text(text)
    marked = {number for number, line in enumerate(text.splitlines(), start=1) if line.endswith("# refused")}
    assert errors(module) == marked
    assert len(marked) > 20


@pytest.mark.parametrize("errors", [mypy_errors, pyright_errors])
def test_lambdas_are_inferred_without_annotations(errors: Callable[[Path], set[int]]) -> None:
    """Every entry of the table has the type that it says, in each checker."""
    assert errors(REVEALED) == set()
