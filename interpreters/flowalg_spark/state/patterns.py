"""Paths for Spark's readers, which take every path for a pattern."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import unquote

from flowalg_columns.text.listing import is_data_file
from pyspark.errors import AnalysisException, IllegalArgumentException
from pyspark.sql import DataFrame, SparkSession

from flowalg.data.errors import ArgumentError
from flowalg_spark.encoding import sql
from flowalg_spark.encoding.columns import where
from flowalg_spark.encoding.sql import Sql
from flowalg_spark.expressions.errors import fail_for_element

_GLOB: Final = re.compile(r"[\\*?\[\]{}]")
_OF_PATTERNS: Final = r"*[\\\*\?\[\]\{\}]*"
"""A pattern of names that are patterns."""

_PLAIN: Final = "without *, ?, [, ], {, } and \\"

READ_TWICE: Final = (
    " has the name of a pattern, so Spark reads the files beside it several times; give it a name without *, ?, [, ], "
    "{, } and \\, or stream with per_batch=1"
)
"""The error of a file in a stream, after its path."""


def pattern_of(path: str) -> str:
    """Returns the pattern that matches a path, and nothing else."""
    return _GLOB.sub(lambda match: f"\\{match.group()}", path)


def exists(session: SparkSession, pattern: str) -> bool:
    """Returns whether a pattern matches any file or folder."""
    try:
        session.read.format("binaryFile").load(pattern)
    except AnalysisException as missing:
        if missing.getCondition() != "PATH_NOT_FOUND":
            raise
        return False
    except IllegalArgumentException as invalid:
        if "Relative path in absolute URI" not in str(invalid):
            raise
        valid = "one without a colon, or without *, ?, [, ], {, } and \\, since Hadoop reads none with both"
        raise ArgumentError("a path", pattern, valid) from invalid
    return True


def require_no_pattern(session: SparkSession, argument: str, path: str) -> None:
    """Raises ``ArgumentError`` for a folder of a stream whose own name is a pattern, or that of a file in it.

    Spark reads nothing of ``in[1]``, and a micro-batch of two files of ``in*`` has the rows of both twice. Each file
    with the name of a pattern doubles the rows of the others, even if it has none itself.
    """
    pattern = pattern_of(path)
    if pattern != path and exists(session, pattern):
        why = "Spark takes the name of this folder for a pattern, and does not read its files once"
        raise ArgumentError(argument, path, f"the path of a folder {_PLAIN}", why=why)
    if exists(session, f"{path.rstrip('/')}/{_OF_PATTERNS}"):
        why = "Spark reads the files beside one with such a name several times"
        raise ArgumentError(argument, path, f"a folder of files whose names are {_PLAIN}", why=why)


def file_to_stream(path: str) -> str:
    """Returns the path of a file as a stream reads it: a pattern whose last letter is of a set of one.

    A stream reads a folder, or a pattern.
    """
    return f"{pattern_of(path[:-1])}[{path[-1]}]"


def of_plain_files(frame: DataFrame, source: str) -> DataFrame:
    """Returns a frame of files of a stream; rows of one that has the name of a pattern fail the query."""
    file = Sql("_metadata.file_path")
    decoded = sql.url_decode(sql.replace(file, "+", "%2B"))
    refused = fail_for_element(sql.concat(f"source {source!r}: ", decoded, READ_TWICE))
    is_pattern = sql.rlike(decoded, _GLOB.pattern)
    return where(frame, sql.when(is_pattern, refused.cast("boolean")).otherwise(True))


def require_data(session: SparkSession, path: str) -> None:
    """Raises ``ArgumentError`` for the path of a file that is passed over because of its name."""
    if is_data_file(name_of(path)) or not name_of(path).strip("."):
        return
    files = session.read.format("binaryFile").load(path).inputFiles()
    if not any(is_data_file(name_of(unquote(file))) for file in files):
        why = "files that begin with _ or ., or end in .tmp, .crc or ._COPYING_, are not read; give it another name"
        raise ArgumentError("path", path, "the path of files with records", why=why)


def name_of(path: str) -> str:
    """Returns the name of a file or folder."""
    return path.rstrip("/").rpartition("/")[2]


def pattern_to_read(session: SparkSession, path: str) -> str:
    """Returns the pattern of a file or folder that has exactly this name; any other path is itself a pattern."""
    pattern = pattern_of(path)
    return pattern if pattern != path and exists(session, pattern) else path
