"""Failures of rows: conditions with Python's error message and the location in the user's code.

A failure is found where it is computed and guarded by the choices around it, so a branch that is not chosen does not
fail. A condition may be null in a row that has failed before, or in a branch that is not chosen; null counts as false.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from itertools import groupby
from operator import or_
from typing import TypeAlias

import polars as pl
from attrs import evolve, field, frozen


@frozen
class Failure:
    """The rows that fail in one operation, and their message."""

    condition: pl.Expr = field(eq=False)
    message: str


Failures: TypeAlias = tuple[Failure, ...]
"""Failures in order of evaluation. A row has the message of the first one whose condition is true."""


def fail_where(condition: pl.Expr, location: str, message: str) -> Failures:
    """Returns the failure of an operation at a location."""
    return (Failure(condition, f"{location}: {message}"),)


def guard(failures: Failures, condition: pl.Expr) -> Failures:
    """Limits failures to the rows in which a condition is true."""
    return tuple(evolve(failure, condition=condition & failure.condition) for failure in failures)


def any_failure(failures: Failures) -> pl.Expr | None:
    """Returns whether a row fails, which may be null where it does not; ``None`` if no row can fail."""
    return _any(failure.condition for failure in failures) if failures else None


def first_message(failures: Failures) -> pl.Expr | None:
    """Returns the message of the first failure of each row, null where there is none; ``None`` if no row can fail."""
    if not failures:
        return None
    groups = groupby(failures, lambda failure: failure.message)
    return pl.coalesce(
        pl.when(_any(failure.condition for failure in group)).then(pl.lit(message))
        for message, group in groups
    )


def _any(conditions: Iterable[pl.Expr]) -> pl.Expr:
    return reduce(or_, conditions)
