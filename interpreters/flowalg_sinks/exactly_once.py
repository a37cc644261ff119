"""Exactly-once writing: the rows of a micro-batch and its id are one transaction of the target."""

from __future__ import annotations

from collections.abc import Callable

from flowalg_sinks.target import SinkError, Target, Transaction, WrittenBatch


def write_once(
    target: Target, table: str, batch: WrittenBatch, write: Callable[[Transaction], None], *, first: int
) -> bool:
    """Writes a batch unless the table already has it; returns whether it was written.

    ``first`` is the id of the first batch of a new table. Raises ``SinkError`` if rows would be lost or repeated, as
    ``require_next_batch`` does.
    """
    with target.transaction() as transaction:
        last = transaction.last_batch(table)
        if last == batch:
            return False
        require_next_batch(table, last, batch, first=first)
        write(transaction)
        transaction.record_batch(table, batch)
        return True


def require_next_batch(table: str, last: WrittenBatch | None, batch: WrittenBatch, *, first: int) -> None:
    """Raises ``SinkError`` unless a batch directly follows the last batch of the table."""
    given = f"batch {batch.batch} of streaming query {batch.query}"
    if last is None:
        if batch.batch != first:
            raise SinkError(
                f"the first batch of the new table {table!r} must be {first}; got {given}: the table would lack the "
                f"earlier batches; start the query from a new checkpoint, or pass since={batch.batch} to start the "
                "table with this batch"
            )
        return
    expected = (
        f"the next batch of the table {table!r} must be {last.batch + 1} of streaming query {last.query}"
    )
    if last.query != batch.query:
        raise SinkError(
            f"{expected}; got {given}: a new checkpoint restarts the batch ids, so duplicates cannot be detected; "
            "start the query from its old checkpoint, or write to another table"
        )
    if batch.batch <= last.batch:
        raise SinkError(
            f"{expected}; got {given}: the checkpoint is older than the table, and may divide the input into other "
            "batches; restore a copy of the table of the same age, or write to another table"
        )
    if batch.batch > last.batch + 1:
        raise SinkError(
            f"{expected}; got {given}: the table is older than the checkpoint, and lacks the batches between; restore "
            "a copy of the checkpoint of the same age, or write to another table"
        )


__all__ = ["require_next_batch", "write_once"]
