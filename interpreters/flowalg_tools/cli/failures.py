"""Failures of Spark in one line."""

from __future__ import annotations

import re
from typing import Final

_CONDITION: Final = re.compile(
    r"\[(?:MALFORMED_RECORD_IN_PARSING|CANNOT_PARSE|FAILED_READ_FILE|CAST_INVALID_INPUT)[^\]]*\] .*?(?= SQLSTATE|$)",
    re.MULTILINE,
)


def describe_failure(error: Exception) -> str | None:
    """Returns the cause of an exception of Spark in one line, or ``None`` for any other exception."""
    try:
        from flowalg_spark.frames.failures import cause_of
        from pyspark.errors import PySparkException
    except ImportError:
        return None
    if not isinstance(error, PySparkException) and type(error).__name__ != "Py4JJavaError":
        return None
    text = str(error)
    cause = cause_of(text)
    if cause is not None:
        return str(cause)
    conditions = dict.fromkeys(_CONDITION.findall(text))
    return " ".join(conditions) if conditions else text.strip().partition("\n")[0]
