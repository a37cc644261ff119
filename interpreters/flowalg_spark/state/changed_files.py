"""Files that have changed since a query read them, by the logs of its file sources: Spark does not read them again."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable
from typing import Final
from urllib.parse import unquote

from flowalg_columns.text.listing import describe_changed
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from flowalg_spark.state.patterns import pattern_of

_LOG: Final = logging.getLogger("flowalg.files")


def warn_of_changed_files(session: SparkSession, logs: Iterable[str]) -> None:
    """Warns in the log of files whose time of modification is not the one in some source's logs, by their texts."""
    logged = files_in_logs(logs)
    changed = sorted(path for path, time in _times(session, logged).items() if logged.get(path, time) != time)
    if changed:
        _LOG.warning("%s", describe_changed(changed))


def files_in_logs(logs: Iterable[str]) -> dict[str, int]:
    """Returns the files that sources have read, with the times of their modification then, in milliseconds."""
    times: dict[str, int] = {}
    for text in logs:
        for line in text.splitlines():
            entry = json.loads(line) if line.startswith("{") else None
            if isinstance(entry, dict) and isinstance(entry.get("path"), str) and "timestamp" in entry:
                times[_plain(entry["path"])] = int(entry["timestamp"])
    return times


def _times(session: SparkSession, paths: Iterable[str]) -> dict[str, int]:
    """Returns the times of modification of the files in the folders of some files."""
    times: dict[str, int] = {}
    for folder in sorted({path.rpartition("/")[0] for path in paths}):
        try:
            files = session.read.format("binaryFile").load(pattern_of(folder))
            rows = files.select("path", F.unix_micros("modificationTime").alias("micros")).collect()
        except AnalysisException as missing:
            if (
                missing.getCondition() != "PATH_NOT_FOUND"
            ):  # all files were moved away once they had been read
                raise
            continue
        times.update((_plain(row["path"]), row["micros"] // 1000) for row in rows)
    return times


def _plain(path: str) -> str:
    """Returns a path without the forms of a URI: logs have it encoded, and listings with one slash or three."""
    scheme, mark, rest = unquote(path).partition(":/")
    return f"{scheme}:/{rest.lstrip('/')}" if mark and scheme == "file" else unquote(path)
