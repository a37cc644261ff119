"""What sinks of panes share: a micro-batch is read once, and written with its drops in one transaction."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Generic, TypeVar

from attrs import frozen

from flowalg.pipeline.pcollection import PCollection
from flowalg.runs.output import Output
from flowalg_sinks.drops import drop_rows, write_drops
from flowalg_sinks.exactly_once import write_once
from flowalg_sinks.tables import Row, Table
from flowalg_sinks.target import Target, Transaction, WrittenBatch

A_co = TypeVar("A_co", covariant=True)


@frozen
class SinkBatch(Generic[A_co]):
    """The output of a micro-batch, in order, and its drops; ``None`` if its frame has no column ``drop``."""

    output: Output[A_co]
    drops: tuple[Mapping[str, object], ...] | None


@frozen
class PaneSink:
    """A sink that writes panes or elements to a table."""

    pipeline: PCollection[object]
    target: Target
    name: str
    since: int

    @cached_property
    @abstractmethod
    def table(self) -> Table:
        """The table of the panes or elements."""
        raise NotImplementedError

    @abstractmethod
    def _changes(self, batch: int, output: Output[object]) -> tuple[Sequence[Row], Sequence[Row]]:
        """Returns the keys of the rows that a micro-batch deletes, and the rows that it writes."""

    def write(self, output: SinkBatch[object], batch: WrittenBatch) -> bool:
        """Writes a micro-batch if the table does not have it, and returns whether it did so.

        Raises ``SinkError`` if rows would be lost.
        """
        deleted, rows = self._changes(batch.batch, output.output)

        def write(transaction: Transaction) -> None:
            transaction.prepare(self.table)
            if deleted:
                transaction.delete(self.table, deleted)
            transaction.put(self.table, rows)
            if output.drops is not None:
                write_drops(transaction, self.name, drop_rows(self.pipeline, batch.batch, output.drops))

        return write_once(self.target, self.name, batch, write, first=self.since)


__all__ = ["PaneSink", "SinkBatch"]
