"""Paths for Spark's readers, which take every path for a pattern."""

from __future__ import annotations

import re
from typing import Final

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


def pattern_to_read(session: SparkSession, path: str) -> str:
    """Returns the pattern of a file or folder that has exactly this name; any other path is itself a pattern."""
    pattern = pattern_of(path)
    return pattern if pattern != path and exists(session, pattern) else path
