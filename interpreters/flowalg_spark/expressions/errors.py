"""Columns that fail the query with an error of a class of flowalg, which ``frames.failures`` raises."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

from flowalg.data.errors import ElementError, FlowalgError, UserFunctionError, ValueRangeError
from flowalg.lifting.tree.expressions import Apply
from flowalg.lifting.tree.failures import DURATION_OVERFLOW, OVERFLOW


def fail_with(kind: type[FlowalgError], message: Column | str) -> Column:
    """Returns a column that fails the query, when it is evaluated, with an error of a class of ``flowalg.data.errors``.

    The class is a part of Spark's message, as in the last line of a traceback of Python.
    """
    text = F.lit(message) if isinstance(message, str) else message
    return F.raise_error(F.concat(F.lit(f"{kind.__module__}.{kind.__qualname__}: "), text))


def fail_for_element(message: Column | str) -> Column:
    """Returns a column that fails the query because of an element of a source or of a side input."""
    return fail_with(ElementError, message)


def fail(location: str, message: str) -> Column:
    """Returns a column that fails the query with Python's message and the location in the user's code."""
    is_overflow = message in (OVERFLOW, DURATION_OVERFLOW)
    return fail_with(ValueRangeError if is_overflow else UserFunctionError, f"{location}: {message}")


def fail_with_overflow(location: str) -> Column:
    """Returns a column that fails the query with an overflow of 64 bits."""
    return fail(location, OVERFLOW)


def fail_where(condition: Column, node: Apply, message: str, value: Column) -> Column:
    """Returns a value that fails the query where the condition is true. It is not evaluated there."""
    return F.when(condition, fail(node.location, message)).otherwise(value)
