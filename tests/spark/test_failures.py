"""The errors that are read from the texts of Spark's exceptions: whole, and with their class."""

from __future__ import annotations

import os
from collections.abc import Generator

import pyarrow as pa
import pytest
from flowalg_spark import SparkBatch
from flowalg_spark.frames.failures import cause_of
from flowalg_spark.lowering.worker_errors import SentBatches, send_errors
from pyspark.sql import SparkSession

from flowalg import Timeline
from flowalg.errors import ElementError, FlowalgError, NotWritableError, UserFunctionError
from tests.support.scores import NOON, SCORES, Score

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
CHAINED = (
    'Traceback (most recent call last):\n  File "a.py", line 1, in f\n    g()\n'
    "flowalg.data.errors.ElementError: the result must be a Transition; got 1 (int)\n\n"
    "The above exception was the direct cause of the following exception:\n\n"
    'Traceback (most recent call last):\n  File "b.py", line 2, in h\n    f()\n'
    "flowalg.data.errors.ElementError: process(count): the result must be a Transition\n SQLSTATE: 38000"
)
CRASH = (
    "Job aborted: org.apache.spark.SparkException: Python worker exited unexpectedly (crashed). Consider ..."
)
CRASHED = (
    "a Python process of Spark has ended without an error: a function ended it, a library crashed in it, or it had no "
    "memory; the log of Spark has its last output"
)


@pytest.mark.parametrize(
    "end",
    ["", f" SQLSTATE: XXKST{QUERY}", "\n\tat org.apache.spark", "\n\nJVM stacktrace:\norg.apache.spark"],
    ids=["a batch", "a stream", "a stack", "over Connect"],
)
@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        (RAISED, ElementError, LINES),
        (TRACEBACK, NotWritableError, NO_MODULE),
        (CHAINED, ElementError, "process(count): the result must be a Transition"),
        (CRASH, UserFunctionError, CRASHED),
    ],
    ids=["a value of several lines", "a missing module", "an error with a cause", "a worker that ended"],
)
def test_the_cause_of_a_failure_is_whole(text: str, kind: type[FlowalgError], message: str, end: str) -> None:
    """The message of a column has all lines of a value, and a module that a worker lacks is named."""
    cause = cause_of(f"Query [id = 1] terminated with exception: {text}{end}")
    assert (type(cause), str(cause)) == (kind, message)


class Cancelled(BaseException):
    """An error that ends a task, as asyncio's does."""


@pytest.mark.parametrize(
    "error", [SystemExit(3), KeyboardInterrupt("now"), MemoryError("all"), Cancelled("task")]
)
def test_an_error_that_ends_a_process_is_that_of_a_function(error: BaseException) -> None:
    """Also one of a class of its own, whose name Spark's exception would not tell from an error of Spark."""
    message = f"a function raised {type(error).__name__}: .* in a worker"
    with pytest.raises(UserFunctionError, match=message), send_errors():
        raise error


def test_batches_that_nobody_asks_for_are_no_error() -> None:
    """A reader that stops early, as a limit does, closes a function of batches."""
    sent = SentBatches(iter)([pa.record_batch({"a": [1]}), pa.record_batch({"a": [2]})])
    assert isinstance(sent, Generator)
    next(sent)
    sent.close()


@pytest.mark.spark
def test_a_function_that_ends_its_process_fails_the_query_with_a_reason(spark: SparkSession) -> None:
    """It is an error of flowalg, not one of the JVM with a hundred lines."""
    pipeline = SCORES.map(lambda score: os._exit(3) if score.points else score.points, result=int)
    with pytest.raises(UserFunctionError, match="a Python process of Spark has ended without an error"):
        SparkBatch(spark).run(pipeline, {SCORES: Timeline.batch([Score("a", 1, NOON)], time=NOON)})
