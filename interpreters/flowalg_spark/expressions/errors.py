"""Columns that fail the query with an error of a class of flowalg, which ``frames.failures`` raises."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from flowalg.data.errors import ElementError, FlowalgError, UserFunctionError, ValueRangeError
from flowalg.lifting.tree.expressions import Apply
from flowalg.lifting.tree.failures import DURATION_OVERFLOW, OVERFLOW
from flowalg_spark.encoding import sql
from flowalg_spark.encoding.sql import NULL, Sql

_QUIET: Final[ContextVar[bool]] = ContextVar("failures are null", default=False)


@contextmanager
def null_failures() -> Iterator[None]:
    """Columns that would fail the query are null, if they are built within the ``with`` block."""
    token = _QUIET.set(True)
    try:
        yield
    finally:
        _QUIET.reset(token)


def fail_with(kind: type[FlowalgError], message: Sql | str) -> Sql:
    """Returns a column that fails the query, when it is evaluated, with an error of a class of ``flowalg.data.errors``.

    The class is a part of Spark's message, as in the last line of a traceback of Python.
    """
    if _QUIET.get():
        return NULL
    return sql.raise_error(sql.concat(f"{kind.__module__}.{kind.__qualname__}: ", message))


def fail_for_element(message: Sql | str) -> Sql:
    """Returns a column that fails the query because of an element of a source or of a side input."""
    return fail_with(ElementError, message)


def fail(location: str, message: str) -> Sql:
    """Returns a column that fails the query with Python's message and the location in the user's code."""
    is_overflow = message in (OVERFLOW, DURATION_OVERFLOW)
    return fail_with(ValueRangeError if is_overflow else UserFunctionError, f"{location}: {message}")


def fail_with_overflow(location: str) -> Sql:
    """Returns a column that fails the query with an overflow of 64 bits."""
    return fail(location, OVERFLOW)


def fail_where(condition: Sql, node: Apply, message: str, value: Sql) -> Sql:
    """Returns a value that fails the query where the condition is true. It is not evaluated there."""
    return sql.when(condition, fail(node.location, message)).otherwise(value)
