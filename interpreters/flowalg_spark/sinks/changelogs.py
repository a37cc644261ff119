"""The changelog sink: a table of all panes, in order."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Final

from attrs import frozen
from flowalg_sinks.exactly_once import write_once
from flowalg_sinks.pane_columns import (
    BATCH_COLUMNS,
    PANE_COLUMNS,
    WINDOW_COLUMNS,
    pane_cells,
    require_element_shape,
    window_cells,
)
from flowalg_sinks.tables import Column, Kind, Row, Table
from flowalg_sinks.target import Target, Transaction, WrittenBatch
from pyspark.sql import DataFrame

from flowalg.pipeline.pcollection import PCollection
from flowalg.runs.panes import Pane
from flowalg_spark.sinks.batches import SinkBatch, read_batch
from flowalg_spark.sinks.cells import element_columns, to_cells
from flowalg_spark.sinks.drops import drop_rows, write_drops
from flowalg_spark.sinks.options import require_options
from flowalg_spark.sinks.query import query_id

_CHANGE: Final = Column("change", Kind.TEXT)


@frozen
class Changelog:
    """A function for ``writeStream.foreachBatch`` that appends panes to a table; ``changelog`` makes one."""

    pipeline: PCollection[object]
    target: Target
    name: str
    query: str | None
    since: int

    def __call__(self, frame: DataFrame, batch: int) -> None:
        """Appends a micro-batch if the table does not have it. Raises ``SinkError`` if rows would be lost."""
        written = WrittenBatch(query_id(frame, self.query), batch)
        # A repeated batch is read too, since the action commits the state of the query.
        self.write(read_batch(self.pipeline, frame), written)

    def write(self, output: SinkBatch[object], batch: WrittenBatch) -> bool:
        """Appends a micro-batch if the table does not have it, and returns whether it did so."""
        rows = self.rows(batch.batch, output.panes)

        def write(transaction: Transaction) -> None:
            transaction.prepare(self.table)
            transaction.put(self.table, rows)
            if output.drops is not None:
                write_drops(transaction, self.name, drop_rows(self.pipeline, batch.batch, output.drops))

        return write_once(self.target, self.name, batch, write, first=self.since)

    @cached_property
    def table(self) -> Table:
        """The table of the panes."""
        element = element_columns(require_element_shape(self.pipeline))
        columns = (*BATCH_COLUMNS, _CHANGE, *element, *WINDOW_COLUMNS, *PANE_COLUMNS)
        return Table(self.name, columns, tuple(column.name for column in BATCH_COLUMNS))

    def rows(self, batch: int, panes: Sequence[Pane[object]]) -> list[Row]:
        """Returns the rows of a micro-batch's panes, in order."""
        shape = require_element_shape(self.pipeline)
        return [
            (
                batch,
                position,
                pane.change.value,
                *to_cells(pane.element, shape),
                *window_cells(pane.window),
                *pane_cells(pane),
            )
            for position, pane in enumerate(panes)
        ]


def changelog(
    pipeline: PCollection[object],
    target: Target,
    *,
    table: str,
    query: str | None = None,
    since: int = 0,
) -> Changelog:
    """Returns a sink that appends every pane to a table: values and retractions, in order, with their micro-batch.

    Pass the result to ``writeStream.foreachBatch`` of a frame that ``streaming.compile`` returned for the same
    pipeline, with or without drops; drops go to the table ``<table>_drops``. ``query`` and ``since`` are as in
    ``upsert``.

    Raises ``ArgumentError``, ``UnsupportedError`` for a pipeline without panes, and ``RecordTypeError`` for elements
    that a table has no columns for.
    """
    require_options(pipeline, target, table, query, since)
    sink = Changelog(pipeline, target, table, query, since)
    # Duplicate column names raise here, not in the first micro-batch.
    _ = sink.table
    return sink


__all__ = ["Changelog", "changelog"]
