"""The README is executed: its code runs and prints the output in the text."""

from __future__ import annotations

import io
import linecache
import re
import sys
from contextlib import redirect_stdout
from pathlib import Path

import pytest

from tests.support.ordinary_session import ordinary_environment
from tests.support.programs import run_program

README = Path(__file__).parents[2] / "README.md"


def blocks(language: str) -> list[str]:
    """Returns the code blocks of a language."""
    return re.findall(rf"```{language}\n(.*?)```", README.read_text(), flags=re.DOTALL)


def execute(code: str, name: str, namespace: dict[str, object]) -> str:
    """Runs a block as a file of that name, whose source can be found; returns the printed text."""
    linecache.cache[name] = (len(code), None, code.splitlines(keepends=True), name)
    printed = io.StringIO()
    with redirect_stdout(printed):
        exec(compile(code, name, "exec", dont_inherit=True), namespace)
    return printed.getvalue()


def test_the_pipeline_prints_the_output_of_the_readme() -> None:
    """The first block, on the reference interpreter, prints the text below it."""
    assert execute(blocks("python")[0], "readme_1.py", {"__name__": "readme_1"}) == blocks("text")[0]


@pytest.mark.spark
def test_the_readme_runs_as_it_stands_on_an_ordinary_session(tmp_path: Path) -> None:
    """All blocks are one program, which prints the texts on a default session, with every function lifted."""
    requirement = "assert all(note.reason is None for note in (*panes.lifting, *live.lifting))\n"
    (tmp_path / "readme.py").write_text("\n\n".join([*blocks("python"), requirement]))
    done = run_program(
        [sys.executable, "readme.py"],
        cwd=tmp_path,
        env=ordinary_environment(tmp_path),
    )
    assert done.returncode == 0, done.stderr[-6000:]
    assert done.stdout == "".join(blocks("text"))


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md"])
def test_every_command_of_a_page_exists(name: str) -> None:
    """Each ``make`` target on the page is a target of the Makefile."""
    makefile = (README.parent / "Makefile").read_text()
    for target in re.findall(r"(?:`|    )make ([a-z-]+)", (README.parent / name).read_text()):
        assert re.search(rf"^{target}:", makefile, flags=re.MULTILINE), target


def test_no_page_installs_flowalg_from_a_package_index() -> None:
    """Until flowalg is published, pages install a checkout, and add extras by name; other pages show messages."""
    named = re.compile(r"pip install '?flowalg")
    for page in README.parent.joinpath("docs").glob("*.md"):
        assert page.stem in {"command-line", "mistakes"} or not named.search(page.read_text()), page.name
    readme = README.read_text()
    (match,) = named.finditer(readme)
    assert readme.index("pip install '.[spark]'") < match.start()
