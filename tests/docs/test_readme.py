"""The README is executed: its code runs and prints the output in the text."""

from __future__ import annotations

import io
import linecache
import re
from contextlib import redirect_stdout
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

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
    pipeline, *_ = blocks("python")
    (expected,) = blocks("text")
    assert execute(pipeline, "readme_1.py", {"__name__": "readme_1"}) == expected


def test_the_pipeline_of_the_readme_runs_on_spark(spark: SparkSession, tmp_path: Path) -> None:
    """The second block compiles the first one's pipeline for batch and streaming, with every function lifted."""
    pipeline, on_spark = blocks("python")
    namespace: dict[str, object] = {"__name__": "readme_2"}
    execute(pipeline, "readme_2.py", namespace)
    path = str(tmp_path / "scores")
    frame = spark.sql("select 'red' as team, 3L as points, timestamp'2024-01-01 12:00:00Z' as at")
    frame.write.parquet(path)
    namespace |= {"spark": spark, "path": path, "schema": frame.schema}
    printed = execute(on_spark, "readme_3.py", namespace)
    assert "runs in Python" not in printed
    panes = namespace["panes"]
    live = namespace["live"]
    assert getattr(panes, "count")() == 1  # noqa: B009  # typed as object here
    assert getattr(live, "isStreaming")  # noqa: B009


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
    (found,) = named.finditer(readme)
    assert readme.index("pip install '.[spark]'") < found.start()
