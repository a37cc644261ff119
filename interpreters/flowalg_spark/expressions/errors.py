"""Columns that fail the query, with the message that Python would give and the place in the user's code."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

from flowalg.lifting.tree.expressions import Apply


def fail(place: str, message: str) -> Column:
    """A column that fails when it is evaluated."""
    return F.raise_error(F.lit(f"{place}: {message}"))


def fail_with_overflow(place: str) -> Column:
    """The failure of an integer that is stored in too few bits."""
    return fail(place, "the result overflows 64 bits: integers must lie in [-2**63, 2**63)")


def fail_where(wrong: Column, node: Apply, message: str, value: Column) -> Column:
    """A value, or a failure where something is wrong; null where it is unknown whether it is."""
    return F.when(wrong, fail(node.location, message)).otherwise(value)


__all__ = ["fail", "fail_where", "fail_with_overflow"]
