"""Paths for Spark's readers, which take every path for a pattern."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import unquote

from flowalg_columns.text.listing import is_data_file
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from flowalg.data.errors import ArgumentError

_GLOB: Final = re.compile(r"[\\*?\[\]{}]")


def pattern_of(path: str) -> str:
    """Returns the pattern that matches a path, and nothing else."""
    return _GLOB.sub(lambda match: f"\\{match.group()}", path)


def exists(session: SparkSession, pattern: str) -> bool:
    """Whether a pattern matches any file or folder."""
    try:
        session.read.format("binaryFile").load(pattern)
    except AnalysisException as missing:
        if missing.getCondition() != "PATH_NOT_FOUND":
            raise
        return False
    return True


def require_no_pattern(session: SparkSession, argument: str, path: str) -> None:
    """Raises ``ArgumentError`` for a folder of a stream whose own name is a pattern.

    Spark reads nothing of ``in[1]``, and a micro-batch of two files of ``in*`` has the rows of both twice.
    """
    pattern = pattern_of(path)
    if pattern != path and exists(session, pattern):
        why = "Spark takes the name of this folder for a pattern, and does not read its files once"
        raise ArgumentError(argument, path, "the path of a folder without *, ?, [, ], {, } and \\", why=why)


def require_data(session: SparkSession, path: str) -> None:
    """Raises ``ArgumentError`` for the path of a file that is passed over because of its name."""
    if is_data_file(_name(path)) or not _name(path).strip("."):
        return
    files = session.read.format("binaryFile").load(path).inputFiles()
    if not any(is_data_file(_name(unquote(file))) for file in files):
        why = "files that begin with _ or ., or end in .tmp, .crc or ._COPYING_, are not read; give it another name"
        raise ArgumentError("path", path, "the path of files with records", why=why)


def _name(path: str) -> str:
    return path.rstrip("/").rpartition("/")[2]


def pattern_to_read(session: SparkSession, path: str) -> str:
    """Returns the pattern of a file or folder that has exactly this name; any other path is itself a pattern."""
    pattern = pattern_of(path)
    return pattern if pattern != path and exists(session, pattern) else path
