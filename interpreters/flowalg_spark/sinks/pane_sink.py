"""What sinks of panes share: a micro-batch is read once, and written with its drops in one transaction."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from functools import cached_property

from attrs import frozen
from flowalg_sinks.exactly_once import write_once
from flowalg_sinks.tables import Row, Table
from flowalg_sinks.target import Target, Transaction, WrittenBatch
from pyspark.sql import DataFrame

from flowalg.pipeline.pcollection import PCollection
from flowalg.runs.panes import Pane
from flowalg_spark.sinks.batches import SinkBatch, read_batch
from flowalg_spark.sinks.drops import drop_rows, write_drops
from flowalg_spark.sinks.query import query_id


@frozen
class PaneSink:
    """A function for ``writeStream.foreachBatch`` that writes panes to a table."""

    pipeline: PCollection[object]
    target: Target
    name: str
    query: str | None
    since: int

    @cached_property
    @abstractmethod
    def table(self) -> Table:
        """The table of the panes."""
        raise NotImplementedError

    @abstractmethod
    def _changes(self, batch: int, panes: Sequence[Pane[object]]) -> tuple[Sequence[Row], Sequence[Row]]:
        """Returns the keys of the rows that a micro-batch deletes, and the rows that it writes."""

    def __call__(self, frame: DataFrame, batch: int) -> None:
        """Writes a micro-batch if the table does not have it. Raises ``SinkError`` if rows would be lost."""
        written = WrittenBatch(query_id(frame, self.query), batch)
        # A repeated batch is read too, since the action commits the state of the query.
        self.write(read_batch(self.pipeline, frame), written)

    def write(self, output: SinkBatch[object], batch: WrittenBatch) -> bool:
        """Writes a micro-batch if the table does not have it, and returns whether it did so."""
        deleted, rows = self._changes(batch.batch, output.panes)

        def write(transaction: Transaction) -> None:
            transaction.prepare(self.table)
            if deleted:
                transaction.delete(self.table, deleted)
            transaction.put(self.table, rows)
            if output.drops is not None:
                write_drops(transaction, self.name, drop_rows(self.pipeline, batch.batch, output.drops))

        return write_once(self.target, self.name, batch, write, first=self.since)


__all__ = ["PaneSink"]
