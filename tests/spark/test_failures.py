"""The errors that are read from the texts of Spark's exceptions: whole, and with their class."""

from __future__ import annotations

import pytest
from flowalg_spark.frames.failures import cause_of

from flowalg.errors import ElementError, FlowalgError, NotWritableError

QUERY = "\n=== Streaming Query ===\nIdentifier: [id = 1]\n"
LINES = "source 'rows': colour must be a member of Colour (RED, BLUE); got GREEN\n\nor SQLSTATE: not"
RAISED = f"[USER_RAISED_EXCEPTION] flowalg.data.errors.ElementError: {LINES} SQLSTATE: P0001"
TRACEBACK = (
    "[PYTHON_EXCEPTION] An exception was thrown from the Python worker: Traceback (most recent call last):\n"
    '  File "worker.py", line 4207, in invoke_udf\n    return pickle.loads(data)\n'
    "ModuleNotFoundError: No module named 'shop'\n SQLSTATE: 38000"
)
NO_MODULE = (
    "the functions of the pipeline cannot be loaded in Python processes of Spark: No module named 'shop'; install the "
    "module there, or pass it by --py-files and on the PYTHONPATH of the driver"
)


@pytest.mark.parametrize(
    "end",
    ["", f" SQLSTATE: XXKST{QUERY}", "\n\tat org.apache.spark", "\n\nJVM stacktrace:\norg.apache.spark"],
    ids=["a batch", "a stream", "a stack", "over Connect"],
)
@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [(RAISED, ElementError, LINES), (TRACEBACK, NotWritableError, NO_MODULE)],
    ids=["a value of several lines", "a module that a worker lacks"],
)
def test_the_cause_of_a_failure_is_whole(text: str, kind: type[FlowalgError], message: str, end: str) -> None:
    """The message of a column has all lines of a value, and a module that a worker lacks is named."""
    cause = cause_of(f"Query [id = 1] terminated with exception: {text}{end}")
    assert (type(cause), str(cause)) == (kind, message)
