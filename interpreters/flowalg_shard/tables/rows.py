"""Results of functions in Python for the rows of a table, whose errors have their row."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

import polars as pl

from flowalg.data.errors import FlowalgError

T = TypeVar("T")


class RowError(FlowalgError):
    """``error`` was raised for a row of a table, which is ``row``."""

    error: FlowalgError
    row: pl.DataFrame


def for_rows(table: pl.DataFrame, results: Iterable[T]) -> list[T]:
    """Returns a result for each row of a table; raises ``RowError`` for the error of one."""
    computed: list[T] = []
    try:
        for result in results:
            computed.append(result)
    except FlowalgError as error:
        failed = RowError(str(error))
        failed.error = error
        failed.row = table[len(computed)]
        raise failed from error.__cause__
    return computed
