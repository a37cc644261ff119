"""Tables as values: what a sink asks of a target, in words that no database has of its own."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from decimal import Decimal
from enum import Enum, unique
from typing import TypeAlias

from attrs import field, frozen

from flowalg.data.errors import RecordTypeError

Cell: TypeAlias = bool | int | float | str | bytes | datetime | date | timedelta | Decimal | None
"""What a column holds: the Python value of its kind, or ``None`` where the column is nullable."""

Row: TypeAlias = tuple[Cell, ...]
"""A cell for each column, in order."""


@unique
class Kind(Enum):
    """What the cells of a column are."""

    BOOLEAN = "bool"
    INTEGER = "int, of 64 bits"
    FLOAT = "float, which may be NaN or infinite"
    TEXT = "str"
    BINARY = "bytes"
    TIMESTAMP = "datetime, aware and in UTC"
    DAY = "date"
    DURATION = "timedelta"
    DECIMAL = "Decimal, without trailing zeros, of at most 20 digits before the point and 18 after it"
    JSON = "str, of JSON in one form: equal values are equal texts"


@frozen
class Column:
    """A column: its name, what its cells are, and whether a cell may be ``None``."""

    name: str
    kind: Kind
    nullable: bool = False


@frozen
class Table:
    """A table: its columns, and the names of those by which any two rows differ, of which none is nullable."""

    name: str
    columns: tuple[Column, ...] = field()
    key: tuple[str, ...] = field()

    def __attrs_post_init__(self) -> None:
        known: dict[str, str] = {}
        for name in (one.name for one in self.columns):
            # Some databases tell names apart by their letters' case, and some do not.
            if name.lower() in known:
                raise RecordTypeError(
                    f"two columns of the table {self.name!r} would be called {known[name.lower()]!r} and {name!r}; "
                    "rename a field of the element, whose columns are called by their path, joined by underscores"
                )
            known[name.lower()] = name

    @property
    def key_columns(self) -> tuple[Column, ...]:
        """The columns of the key, in its order."""
        named = {one.name: one for one in self.columns}
        return tuple(named[name] for name in self.key)


__all__ = ["Cell", "Column", "Kind", "Row", "Table"]
