"""The protocol of sink targets: a target provides transactions, and a transaction has five methods."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Protocol, runtime_checkable

from attrs import frozen

from flowalg.data.errors import FlowalgError
from flowalg_sinks.databases.tables import Row, Table


class SinkError(FlowalgError, RuntimeError):
    """A table cannot take a batch: another query or batch was written to it, or its database cannot be used."""


@frozen
class WrittenBatch:
    """The last batch that was written to a table: the id of the streaming query, and the id of the batch.

    ``generation`` is the number of the start of the query that wrote it, from 1, and ``input`` a fingerprint of what
    the batch has read, such as the positions of its sources. Both are ``None`` where an engine has none. ``has_drops``
    says whether this batch or an earlier one has written the table of drops. A target stores all of them.
    """

    query: str
    batch: int
    generation: int | None = None
    input: str | None = None
    has_drops: bool = False


class Transaction(Protocol):
    """One atomic transaction of a target."""

    def last_batch(self, table: str) -> WrittenBatch | None:
        """Returns the last batch that ``record_batch`` recorded for a table, or ``None`` for a new table.

        Excludes all other writers of the table until the transaction ends, also for a new table.
        """
        ...

    def record_batch(self, table: str, batch: WrittenBatch) -> None:
        """Records a batch as the last one of a table."""
        ...

    def prepare(self, table: Table) -> bool:
        """Creates the table with its primary key, if it does not exist, and returns whether it did so.

        Raises ``SchemaMismatchError``, which lists every difference, for a table with other columns or another key.
        """
        ...

    def delete(self, table: Table, keys: Sequence[Row]) -> None:
        """Deletes the rows with these keys. Keys that do not exist are ignored."""
        ...

    def put(self, table: Table, rows: Sequence[Row]) -> None:
        """Inserts rows with distinct keys; each replaces the row with its key, if there is one."""
        ...


@runtime_checkable
class Target(Protocol):
    """A database that panes are written to."""

    def transaction(self) -> AbstractContextManager[Transaction]:
        """Returns a transaction, committed durably when the context ends, and rolled back if it ends with an error."""
        ...
