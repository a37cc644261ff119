"""What SQLite and DuckDB have in common, whose databases are files: paths, names that ignore case, and errors."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import Any

from flowalg.data.errors import ArgumentError, local_path
from flowalg_sinks.databases.statements import written_batch
from flowalg_sinks.databases.target import SinkError, WrittenBatch


def file_path(argument: str, path: str | PathLike[str]) -> str:
    """Returns the path of a database file; raises ``ArgumentError`` for anything else."""
    if path == ":memory:":
        why = "a database in memory does not outlive a transaction"
        raise ArgumentError(argument, path, "the path of a file", why=why)
    return local_path(argument, path)


def last_batch_in(rows: Sequence[Sequence[Any]], table: str, database: str) -> WrittenBatch | None:
    """Returns the last batch of a table from its rows of ``PROGRESS``, in a database whose names ignore case.

    Raises ``SinkError`` if it was written under a name that differs in case, which is the same table.
    """
    if not rows:
        return None
    ((name, *cells),) = rows
    last = written_batch(cells)
    if name != table:
        raise SinkError(
            f"the table {table!r} is the table {name!r}, since names in {database} ignore case, and it has batch "
            f"{last.batch} of streaming query {last.query}; write to another table, or use the name {name!r}"
        )
    return last


def unusable(path: str, action: str, error: Exception) -> SinkError:
    """Returns the error for a database file that cannot be ``read`` or ``written``."""
    message = f"the database {path} cannot be {action}: {error}"
    if action == "written":
        message += "; nothing of this batch was written: when the cause is removed, start the query again"
    return SinkError(message)
