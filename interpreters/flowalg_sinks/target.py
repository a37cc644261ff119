"""What a database must be able to do to be written to: six methods, all of them plain."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Protocol, runtime_checkable

from attrs import frozen

from flowalg.data.errors import FlowalgError
from flowalg_sinks.tables import Row, Table


class SinkError(FlowalgError, RuntimeError):
    """A table cannot take this batch, because another query or a later batch has written to it."""


@frozen
class Written:
    """Who has written to a table last: a streaming query, and which of its batches."""

    query: str
    batch: int


class Transaction(Protocol):
    """One transaction of a target: all of it happens, or nothing does."""

    def last(self, table: str) -> Written | None:
        """What ``note`` has said of a table last; ``None`` if it has said nothing.

        It keeps every other writer of that table waiting until the transaction ends, even if nothing was said yet.
        """
        ...

    def note(self, table: str, written: Written) -> None:
        """Say who writes to a table, in place of what was said before."""
        ...

    def prepare(self, table: Table) -> None:
        """Make the table, with its key, if it is not there.

        Raises ``SchemaMismatchError`` for one that has other columns or another key, with every difference.
        """
        ...

    def delete(self, table: Table, keys: Sequence[Row]) -> None:
        """Take away the rows that have these cells in the columns of the key; what is not there is no error."""
        ...

    def put(self, table: Table, rows: Sequence[Row]) -> None:
        """Write rows, of which no two have the same key, each in place of the one that has its key, if there is one."""
        ...


@runtime_checkable
class Target(Protocol):
    """A database that panes are written to."""

    def transaction(self) -> AbstractContextManager[Transaction]:
        """A transaction, which is committed, durably, when the context ends, and undone when it ends with an error."""
        ...


__all__ = ["SinkError", "Target", "Transaction", "Written"]
