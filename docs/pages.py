"""Runs the pages of the guide: their code, their commands, and the pictures that they draw.

The blocks of a page are one program, in order. A ``python`` block is executed, and the ``text`` block after it shows
its output. A ``csv`` block is the file ``scores.csv``. In a ``console`` block each line ``$ flowalg ...`` is executed,
and the lines after it show its output. Pictures are written to the folder ``pictures`` of the working directory.
``python -m docs.pages`` updates the output and the pictures of all pages, or of those that are named.
"""

from __future__ import annotations

import io
import linecache
import re
import shlex
import sys
from collections.abc import Iterator
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from shutil import copytree
from tempfile import TemporaryDirectory
from typing import Final

from attrs import define, field

DOCS: Final = Path(__file__).resolve().parent
PAGES: Final = (
    "index",
    "debugging",
    "law-testing",
    "own-engine",
    "coming-from",
    "command-line",
    "tour",
    "transforms",
    "joins",
    "side-inputs",
    "computations",
    "zeitgeist",
    "outputs",
    "bad-records",
    "what",
    "where",
    "when",
    "how",
    "triggers",
    "watermarks",
    "retractions",
    "papers",
    "testing",
    "what-if",
    "replay",
    "operating",
)
"""The pages that run without Spark."""

SPARK_PAGES: Final = ("interpreters", "sinks", "monitoring")
"""The pages whose code uses a Spark session, with the name ``spark``."""

_BLOCK: Final = re.compile(r"^```(python|text|console|csv)\n(.*?)^```$", flags=re.DOTALL | re.MULTILINE)
_COMMAND: Final = re.compile(r"^\$ (.*?)\n(.*?)(?=^\$|\Z)", flags=re.DOTALL | re.MULTILINE)


@define
class Program:
    """The program of a page, block by block; ``printed`` is the output since the last text block."""

    name: str
    namespace: dict[str, object]
    printed: str = ""
    number: int = field(default=-1, init=False)

    def run(self, language: str, block: str) -> str:
        """Executes a block and returns its updated text: code is unchanged, output is replaced."""
        self.number += 1
        match language:
            case "python":
                if self.printed:
                    raise AssertionError(
                        f"{self.name}.md does not show the output before this block:\n{block}"
                    )
                self.printed = self._execute(block)
                return block
            case "text":
                output, self.printed = self.printed, ""
                return output
            case "csv":
                Path("scores.csv").write_text(block, encoding="utf-8")
                return block
            case _:
                return "".join(
                    f"$ {command}\n{_run_command(command)}" for command, _ in _COMMAND.findall(block)
                )

    def _execute(self, code: str) -> str:
        name = f"{self.name}_{self.number}.py"
        linecache.cache[name] = (len(code), None, code.splitlines(keepends=True), name)
        output = io.StringIO()
        with redirect_stdout(output):
            exec(compile(code, name, "exec", dont_inherit=True), self.namespace)
        return output.getvalue()


def run_page(page: Path, **names: object) -> str:
    """Runs a page, whose code may use the given names, and returns its text with the current output."""
    program = Program(page.stem, {"__name__": page.stem.replace("-", "_"), **names})

    def update(block: re.Match[str]) -> str:
        language, text = block.groups()
        return f"```{language}\n{program.run(language, text)}```"

    text = _BLOCK.sub(update, page.read_text(encoding="utf-8"))
    if program.printed:
        raise AssertionError(f"{page.name} does not show its last output: {program.printed}")
    # Closes the files and connections of the page now rather than at the end of Python.
    program.namespace.clear()
    return text


@contextmanager
def working_in(folder: Path) -> Iterator[None]:
    """Changes to a working directory that has a folder for pictures."""
    (folder / "pictures").mkdir(exist_ok=True)
    with chdir(folder):
        yield


def _run_command(command: str) -> str:
    """The output of ``flowalg ...``; raises ``AssertionError`` for another command, and for a failure."""
    from flowalg_tools.cli import main

    name, *arguments = shlex.split(command)
    output, errors = io.StringIO(), io.StringIO()
    with redirect_stdout(output), redirect_stderr(errors):
        code = main(arguments)
    if name != "flowalg" or code not in (0, 1):
        raise AssertionError(f"{command} exits with {code}: {errors.getvalue()}")
    # Shows the place of a function without the folder of its file.
    return re.sub(r"\bat \S*/(\w+\.py:\d+)", r"at \1", output.getvalue())


def main() -> None:
    """Updates the pages that are named, or all that need no Spark, and their pictures."""
    sys.path.insert(0, str(DOCS / "examples"))
    for name in sys.argv[1:] or PAGES:
        path = DOCS / f"{name}.md"
        with TemporaryDirectory() as scratch:
            with working_in(Path(scratch)):
                text = _run_on_spark(path) if name in SPARK_PAGES else run_page(path)
            path.write_text(text, encoding="utf-8")
            copytree(Path(scratch, "pictures"), DOCS / "pictures", dirs_exist_ok=True)
        print(f"ran {path.name}", file=sys.stderr)


def _run_on_spark(page: Path) -> str:
    from flowalg_spark import local_session

    spark = local_session("flowalg guide", log=Path("spark.log"))
    try:
        return run_page(page, spark=spark)
    finally:
        spark.stop()


if __name__ == "__main__":
    main()
