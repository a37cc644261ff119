"""Runs ``docs/mistakes.md``: the mistakes that new users make, and the messages that they get.

Each ``python`` or ``console`` block after the first heading is a mistake, or what to write instead of the one before.
The list after it has the message of each place that reports it: the constructor, the interpreters, Spark, the local
engine, the command line, a static warning, and the type checkers; or what the block prints. A block that defines
``pipeline`` is run by all interpreters over ``timeline``. ``python -m docs.mistakes`` updates the lists.
"""

from __future__ import annotations

import io
import json
import linecache
import logging
import re
import shlex
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory
from textwrap import indent
from typing import Final

from attrs import field, frozen
from flowalg_reference import Reference
from pyspark.sql import SparkSession

from flowalg import FlowalgError, Interpreter, PCollection, Source, Timeline

PATH: Final = Path(__file__).with_name("mistakes.md")
BUILT, EVERY, SILENT = "when it is built", "every interpreter", "no error"
CHECKERS: Final = ("mypy", "pyright")
_BLOCK: Final = re.compile(r"```(python|console|csv)\n(.*?)```\n(?:\n((?:- [^\n]*\n)+))?", re.DOTALL)
_ON_SPARK: Final = re.compile(r"\b(spark|batch|streaming|sinks)\b")
_QUERY: Final = re.compile(r"(?<=Query )\[id = .*?\] |(?<=query )[0-9a-f-]{32,36}, ")
"""The ids of a query, which differ between runs."""
_LINE: Final = re.compile(r"- ([^:]+): `` ?(.*?) ?``$", re.MULTILINE)


@frozen
class Mistake:
    """A block of the page, and the messages that the page shows for it, by the place that reports it."""

    number: int
    language: str
    code: str
    shown: Mapping[str, str] = field(hash=False)

    @property
    def name(self) -> str:
        """The name of the block in messages, as if it were a file."""
        return f"mistake_{self.number}.py"


def blocks(text: str) -> Iterator[tuple[re.Match[str], Mistake]]:
    """Yields the blocks of the page; the first one has the definitions that the others use."""
    for number, match in enumerate(_BLOCK.finditer(text)):
        language, code, lines = match.groups()
        yield match, Mistake(number, language, code, dict(_LINE.findall(lines or "")))


def update(text: str, messages: Mapping[int, Mapping[str, str]]) -> str:
    """Returns the text of the page with the messages of its mistakes, by their number."""
    parts, end = [], 0
    for match, mistake in blocks(text):
        parts.append(text[end : match.start()])
        lines = "".join(
            f"- {place}: {_quote(line)}\n" for place, line in messages.get(mistake.number, {}).items()
        )
        parts.append(f"```{mistake.language}\n{mistake.code}```\n" + (f"\n{lines}" if lines else ""))
        end = match.end()
    return "".join((*parts, text[end:]))


def _quote(message: str) -> str:
    return f"`` {message} ``"


def run_mistakes(
    mistakes: Iterable[Mistake], engines: Mapping[str, Interpreter], spark: SparkSession
) -> dict[int, dict[str, str]]:
    """Returns the messages of mistakes, without those of the type checkers, by their number and place.

    ``engines`` are the interpreters by name. The working directory changes to a folder for files.
    """
    first, *others = mistakes
    messages = {}
    with TemporaryDirectory() as folder, chdir(folder):
        for mistake in others:
            if mistake.language == "csv":
                Path("scores.csv").write_text(mistake.code, encoding="utf-8")
            elif mistake.language == "console":
                messages[mistake.number] = {"command line": _run_command(mistake.code)}
            else:
                messages[mistake.number] = _run_code(first, mistake, engines, spark)
    return messages


def _run_command(line: str) -> str:
    """Returns what a command prints on its error output; it must exit with 2."""
    from flowalg_tools.cli import main

    errors = io.StringIO()
    with redirect_stdout(io.StringIO()), redirect_stderr(errors):
        code = main(shlex.split(line)[2:])
    return errors.getvalue().rstrip("\n") if code == 2 else SILENT


def _run_code(
    first: Mistake, mistake: Mistake, engines: Mapping[str, Interpreter], spark: SparkSession
) -> dict[str, str]:
    namespace: dict[str, object] = {"__name__": "mistakes", "spark": spark}
    _execute(first, namespace)
    namespace.pop("pipeline", None)
    printed = io.StringIO()
    with _warnings() as warned, redirect_stdout(printed):
        try:
            _execute(mistake, namespace)
        except Exception as error:  # any exception is what the page shows
            return {_place(mistake.code): _format(error)}
    if warned:
        return {"log": " ".join(warned)}
    if printed.getvalue():
        place = "hazard" if "hazards(" in mistake.code else "printed"
        return {place: printed.getvalue().rstrip("\n")}
    pipeline, timeline, source = namespace.get("pipeline"), namespace["timeline"], namespace["scores"]
    if not isinstance(pipeline, PCollection):
        return {}
    assert isinstance(timeline, Timeline)
    assert isinstance(source, Source)
    inputs: dict[Source[object], Timeline[object]] = {source: timeline}
    outcomes = {name: _run(engine, pipeline, inputs) for name, engine in engines.items()}
    return {EVERY: outcomes.popitem()[1]} if len(set(outcomes.values())) == 1 else outcomes


def _place(code: str) -> str:
    if "batches(" in code or "Frames(" in code:
        return "local engine"
    return "Spark" if _ON_SPARK.search(code) else BUILT


def _execute(mistake: Mistake, namespace: dict[str, object]) -> None:
    lines = mistake.code.splitlines(keepends=True)
    linecache.cache[mistake.name] = (len(mistake.code), None, lines, mistake.name)
    exec(compile(mistake.code, mistake.name, "exec", dont_inherit=True), namespace)


def _run(
    engine: Interpreter, pipeline: PCollection[object], inputs: Mapping[Source[object], Timeline[object]]
) -> str:
    try:
        engine.run(pipeline, inputs)
    except Exception as error:  # any exception is what the page shows
        return _format(error)
    return SILENT


def _format(error: Exception) -> str:
    """Returns an error in one line; of an error that is not flowalg's, only the first line is shown."""
    lines = str(error).splitlines() or [""]
    text = " ".join(line.strip() for line in lines) if isinstance(error, FlowalgError) else lines[0]
    return f"{type(error).__name__}: {_QUERY.sub('', text)}"


class _Messages(logging.Handler):
    """Collects what is logged."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keeps the message of a record."""
        self.lines.append(record.getMessage())


@contextmanager
def _warnings() -> Iterator[list[str]]:
    """Collects the warnings that flowalg logs."""
    handler = _Messages()
    loggers = [logging.getLogger(name) for name in ("flowalg_spark", "flowalg.watermarks")]
    for logger in loggers:
        logger.addHandler(handler)
    try:
        yield handler.lines
    finally:
        for logger in loggers:
            logger.removeHandler(handler)


def check_types(mistakes: Iterable[Mistake], checker: str) -> dict[int, str]:
    """Returns the first error of a type checker in each mistake, by number, for those in which it reports one."""
    first, *others = (mistake for mistake in mistakes if mistake.language == "python")
    lines = ["from pyspark.sql import SparkSession", *first.code.splitlines()]
    owners: dict[int, int] = {}
    for mistake in others:
        lines.append(f"def mistake_{mistake.number}(spark: SparkSession) -> None:")
        for text in mistake.code.splitlines():
            lines.append(indent(text, "    "))
            owners[len(lines)] = mistake.number
    messages: dict[int, str] = {}
    with TemporaryDirectory() as folder:
        module = Path(folder, "mistakes.py")
        module.write_text("\n".join((*lines, "")), encoding="utf-8")
        for line, message in _CHECKERS[checker](module):
            if line in owners:
                messages.setdefault(owners[line], message)
            else:
                raise AssertionError(f"{checker} reports {message} in the definitions of the page")
    return messages


def _run_checker(*arguments: str) -> str:
    command = [sys.executable, "-m", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=PATH.parents[1]).stdout


def _run_mypy(module: Path) -> Iterator[tuple[int, str]]:
    printed = _run_checker("mypy", "--strict", "--hide-error-context", str(module))
    for line, message in re.findall(r"^[^:]*mistakes\.py:(\d+): error: (.*)$", printed, re.MULTILINE):
        yield int(line), re.sub(r" {2,}\[", " [", message)


def _run_pyright(module: Path) -> Iterator[tuple[int, str]]:
    report = json.loads(_run_checker("pyright", "--outputjson", str(module)))
    for diagnostic in report["generalDiagnostics"]:
        if diagnostic["severity"] == "error":
            text = diagnostic["message"].splitlines()[0]
            yield diagnostic["range"]["start"]["line"] + 1, f"{text} [{diagnostic.get('rule', 'syntax')}]"


_CHECKERS: Final = {"mypy": _run_mypy, "pyright": _run_pyright}


def main() -> None:
    """Updates the page."""
    from flowalg_spark import SparkBatch, SparkStreaming, local_session

    text = PATH.read_text(encoding="utf-8")
    mistakes = [mistake for _, mistake in blocks(text)]
    with TemporaryDirectory() as folder:
        spark = local_session("flowalg mistakes", log=Path(folder, "spark.log"))
        try:
            engines: dict[str, Interpreter] = {
                "reference": Reference(),
                "batch": SparkBatch(spark),
                "stream": SparkStreaming(spark),
            }
            messages = run_mistakes(mistakes, engines, spark)
        finally:
            spark.stop()
    for checker in CHECKERS:
        for number, message in check_types(mistakes, checker).items():
            messages[number][checker] = message
    PATH.write_text(update(text, messages), encoding="utf-8")


if __name__ == "__main__":
    main()
