"""The logs of a checkpoint: whether what Spark has written down of a query's progress is all there."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from os import PathLike, fspath
from typing import Final

from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from flowalg.data.errors import CheckpointError


def check_checkpoint(session: SparkSession, checkpoint: str | PathLike[str]) -> None:
    """Look at a checkpoint before a query starts from it; one that is not there yet is in order.

    Spark's own error for a log that was cut off names no file. This looks at the query's id, at the logs of offsets and
    commits, and at those of its sources: that each file has its version and whole lines after it, and that the offsets
    of the last commit are there. State tells by itself when it is damaged. The query must not run meanwhile, as Spark
    removes old files. Raises ``CheckpointError``, with the file and what is wrong with it.
    """
    place = fspath(checkpoint)
    for path, text in _files(session, place, "metadata").items():
        _check(path, problem_of_id(text))
    offsets, commits = (_files(session, place, part) for part in ("offsets", "commits"))
    for path, text in offsets.items():
        _check(path, problem_of_log(text, 2))
    for path, text in commits.items():
        _check(path, problem_of_log(text, 1))
    for path, text in _files(session, place, "sources/*").items():
        _check(path, problem_of_source(text))
    # Of older ones Spark may have removed one and not the other yet.
    if commits:
        last = max(commits, key=_number)
        if _number(last) not in map(_number, offsets):
            _check(last, f"the offsets of this batch, offsets/{_number(last)}, are gone")


def _files(session: SparkSession, checkpoint: str, part: str) -> dict[str, str]:
    """The files of a part of a checkpoint, with what is in them; none if there is no such part."""
    place = f"{_GLOB.sub(_escaped, checkpoint)}/{part}"
    try:
        rows = session.read.format("binaryFile").load(place).select("path", "content").collect()
    except AnalysisException as missing:
        if missing.getCondition() != "PATH_NOT_FOUND":
            raise
        return {}
    files = {row["path"]: bytes(row["content"]).decode("utf-8", "replace") for row in rows}
    return {path: text for path, text in files.items() if _LOGGED.fullmatch(path.rpartition("/")[2])}


_LOGGED: Final = re.compile(r"metadata|\d+(\.compact)?")
_GLOB: Final = re.compile(r"[\\*?\[\]{}]")


def _escaped(found: re.Match[str]) -> str:
    return f"\\{found.group()}"


def _number(path: str) -> int:
    """The batch that a file of a log is of."""
    return int(path.rpartition("/")[2])


def problem_of_id(text: str) -> str | None:
    """What is wrong with the file that has the id of the query."""
    return None if _is_json(text) and '"id"' in text else "it does not have the id of a query"


def problem_of_log(text: str, least: int) -> str | None:
    """What is wrong with a file of a log: its version, and then lines of JSON, so many at least."""
    version, *lines = text.split("\n")
    if not _VERSION.fullmatch(version):
        return "it does not begin with a version"
    while lines and not lines[-1]:
        lines.pop()
    # Of a source that has not brought anything yet an offset is a dash.
    cut = _cut(lines, lambda line: line == "-" or _is_json(line))
    if cut is not None or len(lines) >= least:
        return cut
    return f"it has {len(lines)} lines after its version, and needs {least}"


def problem_of_source(text: str) -> str | None:
    """What is wrong with a file that a source has written; some have a form of their own, of which nothing is said."""
    if not text:
        return "it is empty"
    version, *lines = text.removeprefix("\0").split("\n")
    return (
        _cut(lines, lambda line: line[:1] != "{" or _is_json(line)) if _VERSION.fullmatch(version) else None
    )


_VERSION: Final = re.compile(r"v\d+")


def _cut(lines: Sequence[str], whole: Callable[[str], bool]) -> str | None:
    """Which line after the version is the first that is not whole."""
    numbers = (number for number, line in enumerate(lines, 2) if not whole(line))
    first = next(numbers, None)
    return None if first is None else f"line {first} is cut off, or was changed"


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def _check(path: str, problem: str | None) -> None:
    if problem is not None:
        raise CheckpointError(
            f"the checkpoint is damaged: {path}: {problem}; restore the checkpoint, or start the query from a new one"
        )


__all__ = ["check_checkpoint", "problem_of_id", "problem_of_log", "problem_of_source"]
