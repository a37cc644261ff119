"""Reading of many texts at once, and one by one where that fails: the rows of good texts, the reasons of bad ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

import numpy as np
import pyarrow as pa
from attrs import frozen

Row: TypeAlias = "dict[str, object]"
"""The values of a record, by the names of its fields, as Arrow stores them; times and durations are integers."""

Numbers: TypeAlias = "np.ndarray[tuple[int], np.dtype[np.int64]]"
"""The numbers of texts among all of an input."""

_FEW: Final = 64
"""The number of texts that are read one by one rather than divided."""


class BadTextError(Exception):
    """Text is not a record: the argument is the reason, which follows the name of the text unless ``of_field``."""

    def __init__(self, message: str, *, of_field: bool = False) -> None:
        super().__init__(message)
        self.message, self.of_field = message, of_field

    def describe(self, subject: str) -> str:
        """Returns the error of a text with a name, such as ``row 3``."""
        return f"{subject}: {self.message}" if self.of_field else f"{subject} {self.message}"


@frozen
class ReadTexts:
    """The rows of the texts that are records, in order, with their numbers, and why the others are none."""

    rows: pa.Table
    numbers: Numbers
    bad: dict[int, BadTextError]


def read_divided(
    numbers: Numbers,
    at_once: Callable[[Numbers], pa.Table | None],
    one: Callable[[int], Row],
    schema: pa.Schema,
) -> ReadTexts:
    """Reads texts, which have numbers.

    ``at_once`` returns the rows of some texts, or ``None`` if one of them is perhaps no record; ``one`` returns the row
    of a text, or raises ``BadTextError``. Ranges of texts are divided until they are read at once, or are few.
    """
    good: list[Numbers] = []
    parts: list[pa.Table] = []
    bad: dict[int, BadTextError] = {}
    ranges = [numbers] if len(numbers) else []
    while ranges:
        chunk = ranges.pop()
        rows = at_once(chunk)
        if rows is not None:
            parts.append(rows)
            good.append(chunk)
        elif len(chunk) > _FEW:
            ranges += [chunk[len(chunk) // 2 :], chunk[: len(chunk) // 2]]
        else:
            by_number: dict[int, Row] = {}
            for number in chunk.tolist():
                try:
                    by_number[number] = one(number)
                except BadTextError as error:
                    bad[number] = error
            parts.append(table_of(list(by_number.values()), schema))
            good.append(np.array(list(by_number), np.int64))
    rows = pa.concat_tables(parts) if parts else schema.empty_table()
    return ReadTexts(rows, np.concatenate([numbers[:0], *good]), bad)


def table_of(rows: list[Row], schema: pa.Schema) -> pa.Table:
    """Returns rows as a table."""
    return pa.Table.from_arrays(
        [pa.array([row[field.name] for row in rows], field.type) for field in schema], schema=schema
    )
