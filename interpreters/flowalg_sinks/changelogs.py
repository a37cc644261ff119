"""The sinks that only append: a table of all panes or elements, in order, and one of late data."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import ClassVar, Final

from attrs import frozen

from flowalg.data.errors import ArgumentError
from flowalg.pipeline.outputs import emits_panes
from flowalg.pipeline.pcollection import PCollection
from flowalg.runs.output import Output
from flowalg_sinks.cells import element_columns, to_cells
from flowalg_sinks.databases.tables import CellKind, Column, Row, Table
from flowalg_sinks.databases.target import Target
from flowalg_sinks.drops import late_rows
from flowalg_sinks.options import require_options, require_target
from flowalg_sinks.pane_columns import (
    BATCH_COLUMNS,
    PANE_COLUMNS,
    TIME_COLUMNS,
    WINDOW_COLUMNS,
    pane_cells,
    require_element_shape,
    window_cells,
)
from flowalg_sinks.pane_sink import PaneSink, SinkBatch

_CHANGE: Final = Column("change", CellKind.TEXT)
_LATE_COLUMNS: Final = (
    *BATCH_COLUMNS,
    Column("stage", CellKind.TEXT),
    Column("input", CellKind.INTEGER),
    Column("reason", CellKind.TEXT),
    _CHANGE,
    Column("key", CellKind.TEXT),
    Column("element", CellKind.TEXT),
    *WINDOW_COLUMNS,
    *TIME_COLUMNS,
    Column("watermark", CellKind.TIMESTAMP),
)
"""The columns of a dropped element. The stage has its name in the pipeline, as in a table of drops."""


@frozen
class Changelog(PaneSink):
    """A sink that appends panes or elements to a table; ``changelog`` makes one."""

    @cached_property
    def table(self) -> Table:
        """The table of the panes or elements."""
        return changelog_table(self.pipeline, self.name)

    def rows(self, batch: int, output: Output[object]) -> list[Row]:
        """Returns the rows of a micro-batch's panes or elements, in order."""
        shape = require_element_shape(self.pipeline)
        panes = [
            (pane.change.value, *to_cells(pane.element, shape), *window_cells(pane.window), *pane_cells(pane))
            for pane in output.panes
        ]
        elements = [
            (*to_cells(emitted.element, shape), emitted.event_time.datetime, emitted.processing_time.datetime)
            for emitted in output.elements
        ]
        return [(batch, position, *row) for position, row in enumerate([*panes, *elements])]

    def _changes(self, batch: int, output: SinkBatch[object]) -> tuple[Sequence[Row], Sequence[Row]]:
        return [], self.rows(batch, output.output)


@frozen
class LateData(PaneSink):
    """A sink that appends the dropped elements to a table; ``late_data`` makes one."""

    has_drops: ClassVar[bool] = False

    @cached_property
    def table(self) -> Table:
        """The table of the dropped elements."""
        return Table(self.name, _LATE_COLUMNS, tuple(column.name for column in BATCH_COLUMNS))

    def _changes(self, batch: int, output: SinkBatch[object]) -> tuple[Sequence[Row], Sequence[Row]]:
        if not output.late_data:
            why = f"late_data(...) writes each dropped element to the table {self.name!r}"
            raise ArgumentError("late_data", False, "True in the options of the query", why=why)
        return [], late_rows(batch, output.drops or ())


def changelog_table(pipeline: PCollection[object], name: str) -> Table:
    """Returns the table of the panes or elements of a pipeline."""
    element = element_columns(require_element_shape(pipeline))
    if emits_panes(pipeline.node):
        columns = (*BATCH_COLUMNS, _CHANGE, *element, *WINDOW_COLUMNS, *PANE_COLUMNS)
    else:
        columns = (*BATCH_COLUMNS, *element, *TIME_COLUMNS)
    return Table(name, columns, tuple(column.name for column in BATCH_COLUMNS))


def late_data(pipeline: PCollection[object], target: Target, *, table: str, since: int = 0) -> LateData:
    """Returns a sink that appends each element that the stages of a pipeline drop to a table, with its micro-batch.

    It needs a query with ``late_data=True``; the first micro-batch of any other raises ``ArgumentError``. The key and
    the element are JSON, since those of different stages share a column. ``since`` is as in ``upsert``.

    Raises what ``changelog`` raises.
    """
    require_options(pipeline, table, since)
    require_target(target)
    return LateData(pipeline, target, table, since)


def changelog(
    pipeline: PCollection[object],
    target: Target,
    *,
    table: str,
    since: int = 0,
) -> Changelog:
    """Returns a sink that appends every pane to a table: values and retractions, in order, with their micro-batch.

    If the pipeline groups nothing, it appends every element, with both times. It is for the output of the same
    pipeline; drops go to the table ``<table>_drops``. ``since`` is as in ``upsert``.

    Raises ``ArgumentError``, and ``RecordTypeError`` for elements that a table has no columns for.
    """
    require_options(pipeline, table, since)
    require_target(target)
    sink = Changelog(pipeline, target, table, since)
    # Duplicate column names raise here, not in the first micro-batch.
    _ = sink.table
    return sink
