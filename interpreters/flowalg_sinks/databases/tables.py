"""Tables, columns and cells as values, independent of any database."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime, timedelta
from decimal import Decimal
from enum import Enum, unique
from typing import TypeAlias

from attrs import field, frozen

from flowalg.data.errors import RecordTypeError, SchemaMismatchError

Cell: TypeAlias = bool | int | float | str | bytes | datetime | date | timedelta | Decimal | None
"""The value of a column in a row: a Python value of the column's kind, or ``None`` in a nullable column."""

Row: TypeAlias = tuple[Cell, ...]
"""One cell for each column, in order."""


@unique
class CellKind(Enum):
    """The type of a column's cells."""

    BOOLEAN = "bool"
    INTEGER = "int, of 64 bits"
    FLOAT = "float, NaN and infinities included"
    TEXT = "str"
    BINARY = "bytes"
    TIMESTAMP = "datetime, aware and in UTC"
    DAY = "date"
    DURATION = "timedelta"
    DECIMAL = "Decimal, without trailing zeros, of at most 20 digits before the point and 18 after it"
    JSON = "str of canonical JSON: equal values have equal texts"


@frozen
class Column:
    """A column: its name, the kind of its cells, and whether a cell may be ``None``."""

    name: str
    kind: CellKind
    nullable: bool = False


@frozen
class Table:
    """A table: its columns, and the names of those in its primary key, which are not nullable."""

    name: str
    columns: tuple[Column, ...] = field()
    key: tuple[str, ...] = field()

    def __attrs_post_init__(self) -> None:
        names: dict[str, str] = {}
        for column in self.columns:
            # Column names are case-sensitive in some databases only.
            folded = column.name.lower()
            if folded in names:
                raise RecordTypeError(
                    f"the columns of the table {self.name!r} must have distinct names; got {names[folded]!r} and "
                    f"{column.name!r}: a column is named by the path of its field, joined by underscores; rename a "
                    "field of the element"
                )
            names[folded] = column.name

    @property
    def key_columns(self) -> tuple[Column, ...]:
        """The columns of the primary key, in its order."""
        by_name = {column.name: column for column in self.columns}
        return tuple(by_name[name] for name in self.key)


def require_same_columns(table: str, expected: Mapping[str, object], existing: Mapping[str, object]) -> None:
    """Raises ``SchemaMismatchError``, which lists every difference, unless a table has the columns of a sink.

    The columns are by name, with values that describe them.
    """
    lines = [
        f"  {name} must be {column}; got {existing.get(name, 'no such column')}"
        for name, column in expected.items()
        if existing.get(name) != column
    ]
    lines += [
        f"  {name} must not exist; got {column}" for name, column in existing.items() if name not in expected
    ]
    if lines:
        raise SchemaMismatchError(
            f"the table {table} must have the columns of the sink:\n" + "\n".join(lines)
        )
