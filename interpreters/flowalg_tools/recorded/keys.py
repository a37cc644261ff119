"""The keys of rows, as a column or as a list."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import polars as pl
from attrs import frozen
from numpy.typing import NDArray

Rows = NDArray[np.int64]
"""Numbers of rows."""


class Keys(Protocol):
    """The key of each row."""

    def rows_of(self, keys: frozenset[object], rows: Rows) -> Rows:
        """Returns those of some rows that have one of some keys."""
        ...

    def of(self, rows: Rows) -> Sequence[object]:
        """Returns the keys of some rows."""
        ...


@frozen(eq=False)
class KeyColumn:
    """Keys as a column of texts or integers."""

    column: pl.Series

    def rows_of(self, keys: frozenset[object], rows: Rows) -> Rows:
        """Returns those of some rows that have one of some keys."""
        wanted = pl.Series([*keys], dtype=self.column.dtype)
        column = self.column if len(rows) == len(self.column) else self.column.gather(rows)
        chosen: NDArray[np.bool_] = column.is_in(wanted.implode(), nulls_equal=True).to_numpy()
        return rows[chosen]

    def of(self, rows: Rows) -> Sequence[object]:
        """Returns the keys of some rows."""
        return self.column.gather(rows).to_list()


@frozen(eq=False)
class KeyList:
    """Keys as Python values."""

    keys: Sequence[object]

    def rows_of(self, keys: frozenset[object], rows: Rows) -> Rows:
        """Returns those of some rows that have one of some keys."""
        chosen = np.fromiter((self.keys[row] in keys for row in rows.tolist()), np.bool_, len(rows))
        return rows[chosen]

    def of(self, rows: Rows) -> Sequence[object]:
        """Returns the keys of some rows."""
        return [self.keys[row] for row in rows.tolist()]
