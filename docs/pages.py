"""Runs the pages of the guide: their code, their commands, and the pictures that they draw.

The blocks of a page are one program, in order. A ``python`` block is run, and the ``text`` block after it is what it
prints; in a ``console`` block each line ``$ flowalg ...`` is run, and what follows is what it prints. A picture goes to
the folder ``pictures`` of the working directory. ``python -m docs.pages`` writes pictures and printed text anew.
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
from tempfile import TemporaryDirectory
from typing import Final

from attrs import define, field

DOCS: Final = Path(__file__).resolve().parent
PAGES: Final = (
    "debugging",
    "law-testing",
    "coming-from",
    "tour",
    "what",
    "where",
    "when",
    "how",
    "triggers",
    "watermarks",
    "retractions",
    "testing",
    "what-if",
)
"""The pages that need no Spark."""

SPARK_PAGES: Final = ("interpreters", "sinks", "monitoring")
"""Those that are given a session, as ``spark``."""

_BLOCK: Final = re.compile(r"^```(python|text|console)\n(.*?)^```$", flags=re.DOTALL | re.MULTILINE)
_COMMAND: Final = re.compile(r"^\$ (.*?)\n(.*?)(?=^\$|\Z)", flags=re.DOTALL | re.MULTILINE)


@define
class Program:
    """The program of a page, block by block; ``printed`` is what no text block has shown yet."""

    name: str
    namespace: dict[str, object]
    printed: str = ""
    number: int = field(default=-1, init=False)

    def text_of(self, language: str, block: str) -> str:
        """A block as it has to be: code as it is, and what is shown of its output as it came."""
        self.number += 1
        match language:
            case "python":
                if self.printed:
                    raise AssertionError(f"{self.name} does not show what it prints before:\n{block}")
                self.printed = self._executed(block)
                return block
            case "text":
                shown, self.printed = self.printed, ""
                return shown
            case _:
                return "".join(f"$ {command}\n{_said(command)}" for command, _ in _COMMAND.findall(block))

    def _executed(self, code: str) -> str:
        name = f"{self.name}_{self.number}.py"
        linecache.cache[name] = (len(code), None, code.splitlines(keepends=True), name)
        output = io.StringIO()
        with redirect_stdout(output):
            exec(compile(code, name, "exec", dont_inherit=True), self.namespace)
        return output.getvalue()


def run_again(page: Path, **given: object) -> str:
    """The text of a page with what it prints now, once everything in it has been run; ``given`` are its names."""
    program = Program(page.stem, {"__name__": page.stem.replace("-", "_"), **given})

    def again(block: re.Match[str]) -> str:
        language, text = block.groups()
        return f"```{language}\n{program.text_of(language, text)}```"

    text = _BLOCK.sub(again, page.read_text(encoding="utf-8"))
    if program.printed:
        raise AssertionError(f"{page.stem} does not show what it prints at its end: {program.printed}")
    # What a page has open is closed now, and not when Python ends.
    program.namespace.clear()
    return text


@contextmanager
def working_in(folder: Path) -> Iterator[None]:
    """A working directory with a folder for pictures."""
    (folder / "pictures").mkdir(exist_ok=True)
    with chdir(folder):
        yield


def _said(command: str) -> str:
    """What ``flowalg ...`` prints; raises ``AssertionError`` for another command, or where it cannot be done."""
    from flowalg_tools.cli import main

    name, *arguments = shlex.split(command)
    output, errors = io.StringIO(), io.StringIO()
    with redirect_stdout(output), redirect_stderr(errors):
        code = main(arguments)
    if name != "flowalg" or code not in (0, 1):
        raise AssertionError(f"{command} exits with {code}: {errors.getvalue()}")
    # Where a function stands is said from the working directory.
    return re.sub(r"\bat \S*/(\w+\.py:\d+)", r"at \1", output.getvalue())


def main() -> None:
    """Write each page and its pictures anew, or those that are named."""
    sys.path.insert(0, str(DOCS / "examples"))
    with working_in(DOCS):
        for name in sys.argv[1:] or PAGES:
            path = DOCS / f"{name}.md"
            path.write_text(_on_spark(path) if name in SPARK_PAGES else run_again(path), encoding="utf-8")
            print(f"ran {path.name}", file=sys.stderr)


def _on_spark(page: Path) -> str:
    """The text of a page that needs a session; what it writes is not kept."""
    from flowalg_spark import local_session

    with TemporaryDirectory() as scratch:
        spark = local_session("flowalg guide", log=Path(scratch) / "spark.log")
        try:
            with working_in(Path(scratch)):
                return run_again(page, spark=spark)
        finally:
            spark.stop()


__all__ = ["DOCS", "PAGES", "SPARK_PAGES", "Program", "main", "run_again", "working_in"]

if __name__ == "__main__":
    main()
