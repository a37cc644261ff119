"""Writing a batch exactly once: its rows and its number are one transaction of the target."""

from __future__ import annotations

from collections.abc import Callable

from flowalg_sinks.target import SinkError, Target, Transaction, Written


def write_once(
    target: Target, table: str, batch: Written, write: Callable[[Transaction], None], *, first: int
) -> bool:
    """Write a batch if the table does not have it yet, and say whether that was so.

    ``first`` is the number of the batch that a table without any may begin with. Raises ``SinkError`` where writing
    would lose or repeat rows: see ``require_next``.
    """
    with target.transaction() as transaction:
        last = transaction.last(table)
        if last == batch:
            return False
        require_next(table, last, batch, first=first)
        write(transaction)
        transaction.note(table, batch)
        return True


def require_next(table: str, last: Written | None, batch: Written, *, first: int) -> None:
    """Raises ``SinkError`` unless a batch is the one that follows the last one in the table."""
    given = f"batch {batch.batch} of the streaming query {batch.query}"
    if last is None:
        if batch.batch != first:
            raise SinkError(
                f"the table {table!r} is new and {given} is not its first, {first}: what came before would be "
                f"missing from it; start the query from a new checkpoint, or say since={batch.batch} if that is meant"
            )
        return
    has = f"the table {table!r} has the batches of the streaming query {last.query} up to {last.batch}"
    if last.query != batch.query:
        raise SinkError(
            f"{has}, and this is {given}: a new checkpoint numbers its batches anew, so what they add to the "
            "table cannot be told; start the query from its old checkpoint, or write to another table"
        )
    if batch.batch <= last.batch:
        raise SinkError(
            f"{has}, and this is {given} again: its checkpoint is older than the table, and may divide its input "
            "into other batches; go back to a copy of the table that is as old, or write to another table"
        )
    if batch.batch > last.batch + 1:
        raise SinkError(
            f"{has}, and this is {given}: the batches between them are missing, so the table is older than the "
            "checkpoint; go back to a copy of the checkpoint that is as old, or write to another table"
        )


__all__ = ["require_next", "write_once"]
