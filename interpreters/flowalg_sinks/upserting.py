"""The upsert sink: a table of current values, with a row for each key and window."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Final

from attrs import frozen
from flowalg_columns.layout import fields_in

from flowalg.data.errors import ArgumentError, ElementError, format_value
from flowalg.data.json_text import dump_json, json_value
from flowalg.data.kv import KV
from flowalg.data.shapes import RecordOf, Shape, contains_float
from flowalg.pipeline.pcollection import PCollection
from flowalg.runs.current import current_by
from flowalg.runs.panes import Pane
from flowalg_sinks.cells import element_columns, field_columns, field_of, to_cells
from flowalg_sinks.databases.tables import CellKind, Column, Row, Table
from flowalg_sinks.databases.target import Target
from flowalg_sinks.options import require_options, require_target
from flowalg_sinks.pane_columns import (
    PANE_COLUMNS,
    WINDOW_COLUMNS,
    pane_cells,
    require_element_shape,
    window_cells,
)
from flowalg_sinks.pane_sink import PaneSink, SinkBatch
from flowalg_sinks.upsertable import preserves_keys, require_upsertable

KEY_TEXT: Final = Column("key_json", CellKind.TEXT)
"""The key as JSON, if it can be or contain ``None``: a primary key cannot be null."""


@frozen
class Upsert(PaneSink):
    """A sink that maintains a table of current values; ``upsert`` makes one."""

    by: tuple[str, ...]

    @cached_property
    def table(self) -> Table:
        """The table of current values."""
        window = [column.name for column in WINDOW_COLUMNS]
        element = element_columns(self._shape)
        if self._has_key_text:
            columns = (KEY_TEXT, *element, *WINDOW_COLUMNS, *PANE_COLUMNS)
            return Table(self.name, columns, (KEY_TEXT.name, *window))
        by = [column.name for name, shape in self._by for column in field_columns(name, shape)]
        return Table(self.name, (*element, *WINDOW_COLUMNS, *PANE_COLUMNS), (*by, *window))

    def changes(self, panes: Sequence[Pane[object]]) -> tuple[list[Row], list[Row]]:
        """Returns the changes that panes make to the table: the keys of rows to delete, and rows to write.

        Raises ``ElementError`` if two elements of one pane have the same key of a row.
        """
        deleted: list[Row] = []
        rows: list[Row] = []
        for key, current in current_by(panes, self._row_key).items():
            if not current.panes:
                deleted.append(key)
                continue
            pane, *others = current.panes
            if others:
                raise ElementError(
                    f"{format_value(pane.element)} and {format_value(others[0].element)} are in one pane "
                    f"and are equal by {', '.join(self.by) or 'no fields'}, so they have the same row; pass by=... "
                    "with fields that distinguish them, or use changelog(...)"
                )
            rows.append(self._row(pane))
        return deleted, rows

    def _changes(self, batch: int, output: SinkBatch[object]) -> tuple[Sequence[Row], Sequence[Row]]:
        return self.changes(output.output.panes)

    @cached_property
    def _shape(self) -> Shape:
        return require_element_shape(self.pipeline)

    @cached_property
    def _by(self) -> tuple[tuple[str, Shape], ...]:
        fields = dict(fields_in(self._shape))
        return tuple((name, fields[name]) for name in self.by)

    @cached_property
    def _has_key_text(self) -> bool:
        return any(column.nullable for name, shape in self._by for column in field_columns(name, shape))

    def _row_key(self, pane: Pane[object]) -> Row:
        """Returns the key of a pane's row."""
        fields = [(field_of(pane.element, name, self._shape), shape) for name, shape in self._by]
        window = window_cells(pane.window)
        if self._has_key_text:
            return (dump_json([json_value(value, shape) for value, shape in fields]), *window)
        return (*(cell for value, shape in fields for cell in to_cells(value, shape)), *window)

    def _row(self, pane: Pane[object]) -> Row:
        """Returns the row of a current pane."""
        row = (*to_cells(pane.element, self._shape), *window_cells(pane.window), *pane_cells(pane))
        return (self._row_key(pane)[0], *row) if self._has_key_text else row


def upsert(
    pipeline: PCollection[object],
    target: Target,
    *,
    table: str,
    by: Sequence[str] | None = None,
    since: int = 0,
) -> Upsert:
    """Returns a sink that maintains a table of current values: the latest of each key and window that is not retracted.

    It is for the output of the same pipeline; drops go to the table ``<table>_drops``. After each micro-batch, the
    table has the ``final_values`` of all panes so far.

    Pairs are identified by their ``key``. For other elements, and if a step after the last grouping makes new keys,
    ``by`` names the fields that identify an element within its window; it is empty if each window has one value.
    ``since`` is the first micro-batch that a new table contains.

    Raises ``UnsupportedError`` for a pipeline whose latest values are not its final values, ``ArgumentError``, and
    ``RecordTypeError`` for elements that a table has no columns for.
    """
    require_options(pipeline, table, since)
    require_target(target)
    require_upsertable(pipeline.node)
    sink = Upsert(pipeline, target, table, since, key_fields(pipeline, by))
    # Duplicate column names raise here, not in the first micro-batch.
    _ = sink.table
    return sink


def key_fields(pipeline: PCollection[object], by: Sequence[str] | None) -> tuple[str, ...]:
    """Returns the fields that identify an element within its window."""
    shape = require_element_shape(pipeline)
    fields = dict(fields_in(shape))
    if by is None:
        pairs = isinstance(shape, RecordOf) and shape.cls is KV
        if not (pairs and preserves_keys(pipeline.node)):
            why = "a step after the last grouping makes new keys" if pairs else "the elements are not pairs"
            valid = f"the fields that identify an element within its window, from {', '.join(fields)}"
            raise ArgumentError("by", by, valid, why=why)
        by = ("key",)
    if isinstance(by, str) or not isinstance(by, Sequence) or any(name not in fields for name in by):
        raise ArgumentError("by", by, f"names of fields of the element: {', '.join(fields)}")
    for name in by:
        if contains_float(fields[name]):
            valid = "fields without floats, which cannot be compared exactly"
            raise ArgumentError("by", by, valid, why=f"the type of {name} is {fields[name]}")
    return tuple(dict.fromkeys(by))
