"""Validation of a checkpoint's logs: the files in which Spark records the progress of a query."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from os import PathLike
from typing import Final
from urllib.parse import unquote

from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from flowalg.data.errors import ArgumentError, CheckpointError, path_text
from flowalg_spark.state.changed_files import warn_of_changed_files
from flowalg_spark.state.patterns import exists, name_of, pattern_of


def check_checkpoint(session: SparkSession, checkpoint: str | PathLike[str]) -> None:
    """Validates a checkpoint before a query starts from it. A checkpoint that does not exist yet is valid.

    Spark's own error for a truncated log names no file. This function reads the query's id, the logs of offsets and
    commits, and those of the sources. It requires that each file has a version and then complete lines, and that the
    offsets of the last committed micro-batch exist. It does not read the state, whose checksums are verified when a
    query reads it. The query must not run meanwhile, since Spark removes old files. Raises ``CheckpointError`` with the
    file and its problem. Files of the sources that have changed since they were read are a warning in the log.
    """
    path = path_text("checkpoint", checkpoint)
    require_folder(session, path)
    for file, text in read_logs(session, path, "metadata").items():
        _require_none(file, problem_of_id(text))
    offsets, commits = (read_logs(session, path, part) for part in ("offsets", "commits"))
    for file, text in offsets.items():
        _require_none(file, problem_of_log(text, 2))
    for file, text in commits.items():
        _require_none(file, problem_of_log(text, 1))
    sources = read_logs(session, path, "sources", nested=True)
    for file, text in sources.items():
        _require_none(file, problem_of_source(text))
    # Of an older micro-batch, Spark may have removed one file and not yet the other.
    if commits:
        last = max(commits, key=batch_of)
        if batch_of(last) not in map(batch_of, offsets):
            _require_none(last, f"the offsets of this micro-batch, offsets/{batch_of(last)}, are missing")
    warn_of_changed_files(session, sources.values())


def require_folder(session: SparkSession, checkpoint: str) -> None:
    """Raises ``ArgumentError`` if a checkpoint is a file; one that does not exist is valid."""
    pattern = pattern_of(checkpoint)
    if not exists(session, pattern) or exists(session, f"{pattern}/metadata"):
        return
    # Of a folder these are the files in it, and of a file itself.
    files = session.read.format("binaryFile").load(pattern).inputFiles()
    if [name_of(unquote(file)) for file in files] == [name_of(checkpoint)]:
        raise ArgumentError("checkpoint", checkpoint, "the path of a folder", why="it is a file")


def read_logs(session: SparkSession, checkpoint: str, part: str, *, nested: bool = False) -> dict[str, str]:
    """Returns the text of each log file in a part of a checkpoint, by path; empty if the part does not exist.

    With ``nested`` they are those in its folders too.
    """
    pattern = f"{pattern_of(checkpoint)}/{part}"
    reader = session.read.format("binaryFile").option("recursiveFileLookup", nested)
    try:
        rows = reader.load(pattern).select("path", "content").collect()
    except AnalysisException as missing:
        if missing.getCondition() != "PATH_NOT_FOUND":
            raise
        return {}
    files = {row["path"]: bytes(row["content"]).decode("utf-8", "replace") for row in rows}
    return {path: text for path, text in files.items() if _LOG_FILE.fullmatch(path.rpartition("/")[2])}


_LOG_FILE: Final = re.compile(r"metadata|\d+(\.compact)?")


def batch_of(path: str) -> int:
    """Returns the number of the micro-batch of a log file."""
    return int(path.rpartition("/")[2])


def problem_of_id(text: str) -> str | None:
    """Returns the problem with the file of the query's id; ``None`` if it is valid."""
    return None if _is_json(text) and '"id"' in text else "it does not have the id of a query"


def problem_of_log(text: str, least: int) -> str | None:
    """Returns the problem with a log file, which must have a version and then at least ``least`` lines of JSON."""
    version, *lines = text.split("\n")
    if not _VERSION.fullmatch(version):
        return "it does not begin with a version"
    while lines and not lines[-1]:
        lines.pop()
    # The offset of a source without data is a dash.
    damaged = _first_damaged(lines, lambda line: line == "-" or _is_json(line))
    if damaged is not None or len(lines) >= least:
        return damaged
    return f"it has {len(lines)} lines after its version, and needs {least}"


def problem_of_source(text: str) -> str | None:
    """Returns the problem with a source's file. A file in a format that only its source knows is valid."""
    if not text:
        return "it is empty"
    version, *lines = text.removeprefix("\0").split("\n")
    if not _VERSION.fullmatch(version):
        return None
    return _first_damaged(lines, lambda line: line[:1] != "{" or _is_json(line))


_VERSION: Final = re.compile(r"v\d+")


def _first_damaged(lines: Sequence[str], is_complete: Callable[[str], bool]) -> str | None:
    """Returns a message with the number of the first incomplete line after the version; ``None`` if there is none."""
    numbers = (number for number, line in enumerate(lines, 2) if not is_complete(line))
    first = next(numbers, None)
    return None if first is None else f"line {first} is truncated or was changed"


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def _require_none(file: str, problem: str | None) -> None:
    if problem is not None:
        raise CheckpointError(
            f"the checkpoint is damaged: {file}: {problem}; restore the checkpoint, or start the query with a new one"
        )
