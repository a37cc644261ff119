"""Exactly-once writing: the rows of a micro-batch and its id are one transaction of the target."""

from __future__ import annotations

from collections.abc import Callable

from attrs import evolve

from flowalg_sinks.databases.target import SinkError, Target, Transaction, WrittenBatch


def write_once(
    target: Target,
    table: str,
    batch: WrittenBatch,
    prepare: Callable[[Transaction, WrittenBatch | None], None],
    write: Callable[[Transaction], None],
    *,
    first: int,
    after: str | None = None,
    own: WrittenBatch | None = None,
) -> bool:
    """Writes a batch unless the table already has it; returns whether it was written.

    ``prepare`` creates or checks the tables, and gets the last batch of the table. ``first`` is the id of the first
    batch of a new table, ``after`` the fingerprint of what the batch before has read, and ``own`` the last batch that
    this sink has written. Raises ``SinkError`` if rows would be lost or repeated, as ``is_repetition`` does.
    """
    with target.transaction() as transaction:
        last = transaction.last_batch(table)
        repeated = is_repetition(table, last, batch, first=first, after=after, own=own)
        prepare(transaction, last)
        if not repeated:
            write(transaction)
        written = batch if last is None else evolve(batch, has_drops=batch.has_drops or last.has_drops)
        if written != last:
            # Also of a repeated batch, so that the start of the query that wrote it first cannot write any more.
            transaction.record_batch(table, written)
        return not repeated


def is_repetition(
    table: str,
    last: WrittenBatch | None,
    batch: WrittenBatch,
    *,
    first: int,
    after: str | None = None,
    own: WrittenBatch | None = None,
) -> bool:
    """Returns whether a batch is the last one of the table, written again after a restart.

    A number alone does not identify a batch: it is the same one if the query and what it has read are the same. Raises
    ``SinkError`` if it is neither this one nor the next.
    """
    if last is None or last.query != batch.query or last.batch != batch.batch:
        require_next_batch(table, last, batch, first=first, after=after)
        return False
    _require_generation(table, last, batch)
    if _differ(last.input, batch.input):
        raise SinkError(
            f"{_has(table, last)}, which has read {last.input}; got batch {batch.batch} of the same query, which has "
            f"read {batch.input}: the checkpoint was copied or restored, and its query reads other data under the same "
            "number; use the checkpoint that the table was written from, or write to another table"
        )
    if last.generation is not None and last.generation == batch.generation and not _is_same(own, last):
        raise SinkError(
            f"{_has(table, last)}, written by another sink of the same query in the same run; the output of this sink "
            "would be lost: give each sink a table of its own"
        )
    return True


def require_next_batch(
    table: str, last: WrittenBatch | None, batch: WrittenBatch, *, first: int, after: str | None = None
) -> None:
    """Raises ``SinkError`` unless a batch directly follows the last batch of the table.

    ``after`` is the fingerprint of what the batch before it has read.
    """
    actual = f"batch {batch.batch} of streaming query {batch.query}"
    if last is None:
        if batch.batch != first:
            raise SinkError(
                f"the first batch of the new table {table!r} must be {first}; got {actual}: the table would lack the "
                f"earlier batches; start the query from a new checkpoint, or pass since={batch.batch} to start the "
                "table with this batch"
            )
        return
    expected = (
        f"the next batch of the table {table!r} must be {last.batch + 1} of streaming query {last.query}"
    )
    if last.query != batch.query:
        raise SinkError(
            f"{expected}; got {actual}: a new checkpoint restarts the batch ids, so duplicates cannot be detected; "
            "start the query from its old checkpoint, or write to another table"
        )
    if batch.batch <= last.batch:
        raise SinkError(
            f"{expected}; got {actual}: the checkpoint is older than the table, and may divide the input into other "
            "batches; restore a copy of the table of the same age, or write to another table"
        )
    if batch.batch > last.batch + 1:
        raise SinkError(
            f"{expected}; got {actual}: the table is older than the checkpoint, and lacks the batches between; restore "
            "a copy of the checkpoint of the same age, or write to another table"
        )
    _require_generation(table, last, batch)
    if _differ(last.input, after):
        raise SinkError(
            f"{_has(table, last)}, which has read {last.input}; got {actual}, which follows a batch {last.batch} that "
            f"has read {after}: the checkpoint was copied or restored, and its query has read other data since; use "
            "the checkpoint that the table was written from, or write to another table"
        )


def require_written(table: str, last: WrittenBatch | None, *, created: bool, of: str | None = None) -> None:
    """Raises ``SinkError`` if a table that has earlier batches had to be created: its rows are lost."""
    if created and last is not None:
        raise SinkError(
            f"the table {table!r} must exist, since {_has(of or table, last)}; it was dropped, and a new one would "
            "lack the earlier rows; restore it, or write to another table, from a new checkpoint"
        )


def _require_generation(table: str, last: WrittenBatch, batch: WrittenBatch) -> None:
    if None not in (last.generation, batch.generation) and (batch.generation or 0) < (last.generation or 0):
        raise SinkError(
            f"{_has(table, last)}, written by start {last.generation} of the query; got batch {batch.batch} of its "
            f"start {batch.generation}: the query was started again since, or its checkpoint is an older copy; stop "
            "this one, and use the checkpoint that the table was written from"
        )


def _has(table: str, last: WrittenBatch) -> str:
    return f"the table {table!r} has batch {last.batch} of streaming query {last.query}"


def _is_same(own: WrittenBatch | None, last: WrittenBatch) -> bool:
    """Returns whether a sink has written the last batch of a table itself."""
    return own is not None and evolve(own, has_drops=last.has_drops) == last


def _differ(one: str | None, other: str | None) -> bool:
    """Returns whether two fingerprints are known and not equal."""
    return None not in (one, other) and one != other
