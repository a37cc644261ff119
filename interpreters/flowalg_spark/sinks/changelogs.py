"""The changelog sink: a table of all that was ever said, in order."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Final

from attrs import frozen
from flowalg_sinks.once import write_once
from flowalg_sinks.pane_columns import (
    BATCH_COLUMNS,
    PANE_COLUMNS,
    WINDOW_COLUMNS,
    pane_cells,
    shape_of_elements,
    window_cells,
)
from flowalg_sinks.tables import Column, Kind, Row, Table
from flowalg_sinks.target import Target, Transaction, Written
from pyspark.sql import DataFrame

from flowalg.pipeline.pcollection import PCollection
from flowalg.runs.panes import Pane
from flowalg_spark.sinks.arriving import Arrived, arrived
from flowalg_spark.sinks.cells import cells_of, columns_of
from flowalg_spark.sinks.drops import drop_rows, put_drops
from flowalg_spark.sinks.options import require_options
from flowalg_spark.sinks.query import query_of

_CHANGE: Final = Column("change", Kind.TEXT)


@frozen
class Changelog:
    """What ``changelog`` gives: appends batches of panes, for ``writeStream.foreachBatch``."""

    pipeline: PCollection[object]
    target: Target
    name: str
    query: str | None
    since: int

    def __call__(self, frame: DataFrame, batch: int) -> None:
        """Append a batch, if the table does not have it yet. Raises ``SinkError`` where that would lose rows."""
        written = Written(query_of(frame, self.query), batch)
        # Even for a batch that is there already: the query's own state is made by it.
        self.write(arrived(self.pipeline, frame), written)

    def write(self, arrived: Arrived[object], batch: Written) -> bool:
        """Append what a batch brings, if the table does not have it yet, and say whether that was so."""
        rows = self.rows(batch.batch, arrived.panes)

        def write(transaction: Transaction) -> None:
            transaction.prepare(self.table)
            transaction.put(self.table, rows)
            if arrived.drops is not None:
                put_drops(transaction, self.name, drop_rows(self.pipeline, batch.batch, arrived.drops))

        return write_once(self.target, self.name, batch, write, first=self.since)

    @cached_property
    def table(self) -> Table:
        """The table that is written to."""
        element = columns_of(shape_of_elements(self.pipeline))
        columns = (*BATCH_COLUMNS, _CHANGE, *element, *WINDOW_COLUMNS, *PANE_COLUMNS)
        return Table(self.name, columns, tuple(one.name for one in BATCH_COLUMNS))

    def rows(self, batch: int, panes: Sequence[Pane[object]]) -> list[Row]:
        """The rows of a batch's panes, in order."""
        shape = shape_of_elements(self.pipeline)
        return [
            (
                batch,
                position,
                pane.change.value,
                *cells_of(pane.element, shape),
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
    """Append every pane to a table: values and retractions, in order, with the batch that brought them.

    Give what this gives to ``writeStream.foreachBatch``, of a frame that ``streaming.compile`` has made of the same
    pipeline, with its drops or without; drops go to the table ``<table>_drops``. ``query`` and ``since`` are as in
    ``upsert``.

    Raises ``ArgumentError``, ``UnsupportedError`` for a pipeline that has no panes, and ``RecordTypeError`` for
    elements that a table has no columns for.
    """
    require_options(pipeline, target, table, query, since)
    made = Changelog(pipeline, target, table, query, since)
    # Names that clash are refused here, and not in the first batch.
    _ = made.table
    return made


__all__ = ["Changelog", "changelog"]
