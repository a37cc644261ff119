"""The failure of a query as the error that caused it, with Spark's own exception as its cause."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from pyspark.errors import PySparkException

from flowalg.data.errors import ElementError, FlowalgError, NotWritableError, UserFunctionError, with_message

_IN_COLUMNS: Final = re.compile(
    r"\[USER_RAISED_EXCEPTION\] (?:(flowalg\.data\.errors\.\w+): )?(.*?)"
    r"(?: SQLSTATE: P0001|\n(?:=== |\tat |\s*JVM stacktrace:)|;?\s*\Z)",
    re.DOTALL,
)
"""The message of a column that fails a query, after the class of its error unless the column is a user's own."""

_IN_PYTHON: Final = (
    r"(?:Traceback \(most recent call last\):\n(?: [^\n]*\n)+|Python worker[^\n]*\n)(CLASSES): (.*?)"
    r"(?=\n+(?: SQLSTATE: |JVM stacktrace:|Driver stacktrace:|\tat |The above exception was |During handling of )"
    r"|\s*\Z)"
)
"""The error at the end of a traceback; its message may have several lines, some of which may look like an error.

A traceback may follow that of its cause.
"""

_MISSING: Final = re.compile(r"^ModuleNotFoundError: (No module named .*)$", re.MULTILINE)
"""What a Python process says that lacks a module of the pipeline. (A function of a step that lacks one is named.)"""

_CRASHED: Final = "Python worker exited unexpectedly"

_DIVIDED: Final = re.compile(
    r"\[CONFLICTING_PARTITION_COLUMN_NAMES\] (.*?)(?: SQLSTATE: |\n\tat |\s*\Z)", re.DOTALL
)
"""What Spark says of folders of partitions with several names beside each other."""

_UNREAD: Final = re.compile(r"\[FAILED_READ_FILE[^\]]*\] (.*?)(?: +SQLSTATE: \w+)?$", re.MULTILINE)
_REASON: Final = re.compile(r"^Caused by: (.*)$", re.MULTILINE)
"""What Spark says of a file that it cannot read, such as one that is not there any more, and the reason."""

_MALFORMED: Final = re.compile(r"^Caused by: .*?\[MALFORMED_RECORD[^\]]*\] (.*)$", re.MULTILINE)
"""What Spark says of a row of a text that it cannot parse, below more general reasons."""


@contextmanager
def raise_causes() -> Iterator[None]:
    """Replaces an exception of Spark by the error of flowalg, or of a user-defined function, that failed the query."""
    try:
        yield
    except Exception as failure:
        # Spark lets some exceptions of the JVM through, by a class that clients of Spark Connect lack.
        is_of_spark = isinstance(failure, PySparkException) or type(failure).__name__ == "Py4JJavaError"
        cause = cause_of(str(failure)) if is_of_spark else None
        if cause is None:
            raise
        raise cause from failure


def cause_of(failure: str) -> FlowalgError | None:
    """Returns the error that an exception of Spark reports, or ``None`` if it reports another failure."""
    classes = {_name(kind): kind for kind in _subclasses(FlowalgError)}
    in_python = _IN_PYTHON.replace("CLASSES", "|".join(map(re.escape, classes)))
    raised = re.findall(in_python, failure, re.DOTALL)
    if raised:
        name, message = raised[-1]
        return with_message(classes[name], message)
    in_columns = _IN_COLUMNS.search(failure)
    if in_columns is not None:
        name, message = in_columns.groups()
        return with_message(classes.get(name, UserFunctionError), message)
    missing = _MISSING.search(failure)
    if missing is not None:
        return NotWritableError(
            f"the functions of the pipeline cannot be loaded in Python processes of Spark: {missing[1]}; install the "
            "module there, or pass it by --py-files and on the PYTHONPATH of the driver"
        )
    if _CRASHED in failure:
        return UserFunctionError(
            "a Python process of Spark has ended without an error: a function ended it, a library crashed in it, or it "
            "had no memory; the log of Spark has its last output"
        )
    divided = _DIVIDED.search(failure)
    if divided is not None:
        return ElementError(
            "the folders NAME=VALUE of a partition must have the same names at each level; read those of each name as "
            f"a source of its own: {' '.join(divided[1].split())}"
        )
    unread = _UNREAD.search(failure)
    if unread is None:
        return None
    reasons = _MALFORMED.findall(failure) or _REASON.findall(failure)
    return ElementError(f"{unread[1]} {reasons[-1]}" if reasons else unread[1])


def _subclasses(kind: type[FlowalgError]) -> Iterator[type[FlowalgError]]:
    """Yields a class and those that extend it, also those of users."""
    yield kind
    for subclass in kind.__subclasses__():
        yield from _subclasses(subclass)


def _name(kind: type[FlowalgError]) -> str:
    """Returns the name of a class as tracebacks have it."""
    return kind.__qualname__ if kind.__module__ == "__main__" else f"{kind.__module__}.{kind.__qualname__}"
