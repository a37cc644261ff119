"""Columns that fail the query, with Python's error message and the location in the user's code."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

from flowalg.lifting.tree.expressions import Apply
from flowalg.lifting.tree.failures import OVERFLOW


def fail(location: str, message: str) -> Column:
    """Returns a column that fails the query when it is evaluated."""
    return F.raise_error(F.lit(f"{location}: {message}"))


def fail_with_overflow(location: str) -> Column:
    """Returns a column that fails the query with an overflow of 64 bits."""
    return fail(location, OVERFLOW)


def fail_where(condition: Column, node: Apply, message: str, value: Column) -> Column:
    """Returns a value that fails the query where the condition is true. It is not evaluated there."""
    return F.when(condition, fail(node.location, message)).otherwise(value)
