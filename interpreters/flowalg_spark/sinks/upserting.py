"""The upsert sink: a table of what stands, one row for each key and window."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Final

from attrs import frozen
from flowalg_sinks.once import write_once
from flowalg_sinks.pane_columns import (
    PANE_COLUMNS,
    WINDOW_COLUMNS,
    pane_cells,
    shape_of_elements,
    window_cells,
)
from flowalg_sinks.tables import Column, Kind, Row, Table
from flowalg_sinks.target import Target, Transaction, Written
from flowalg_sinks.upsertable import keeps_keys, require_upsertable
from pyspark.sql import DataFrame

from flowalg.data.errors import ArgumentError, ElementError, format_value
from flowalg.data.kv import KV
from flowalg.data.shapes import RecordOf, Shape, contains_float
from flowalg.pipeline.pcollection import PCollection
from flowalg.runs.current import current_by
from flowalg.runs.panes import Pane
from flowalg_spark.encoding.json_text import dump_json, json_value
from flowalg_spark.encoding.schema import fields_in
from flowalg_spark.sinks.arriving import Arrived, arrived
from flowalg_spark.sinks.cells import cells_of, columns_of, columns_of_field, field_of
from flowalg_spark.sinks.drops import drop_rows, put_drops
from flowalg_spark.sinks.options import require_options
from flowalg_spark.sinks.query import query_of

KEY_TEXT: Final = Column("key_json", Kind.TEXT)
"""The key as JSON, where it may be or hold ``None``: no database takes a null in a primary key."""


@frozen
class Upsert:
    """What ``upsert`` gives: writes batches of panes, for ``writeStream.foreachBatch``."""

    pipeline: PCollection[object]
    target: Target
    name: str
    by: tuple[str, ...]
    query: str | None
    since: int

    def __call__(self, frame: DataFrame, batch: int) -> None:
        """Write a batch, if the table does not have it yet. Raises ``SinkError`` where that would lose rows."""
        written = Written(query_of(frame, self.query), batch)
        # Even for a batch that is there already: the query's own state is made by it.
        self.write(arrived(self.pipeline, frame), written)

    def write(self, arrived: Arrived[object], batch: Written) -> bool:
        """Write what a batch brings, if the table does not have it yet, and say whether that was so."""
        gone, rows = self.changes(arrived.panes)

        def write(transaction: Transaction) -> None:
            transaction.prepare(self.table)
            transaction.delete(self.table, gone)
            transaction.put(self.table, rows)
            if arrived.drops is not None:
                put_drops(transaction, self.name, drop_rows(self.pipeline, batch.batch, arrived.drops))

        return write_once(self.target, self.name, batch, write, first=self.since)

    @cached_property
    def table(self) -> Table:
        """The table that is written to."""
        window = [one.name for one in WINDOW_COLUMNS]
        element = columns_of(self._shape)
        if self._has_key_text:
            columns = (KEY_TEXT, *element, *WINDOW_COLUMNS, *PANE_COLUMNS)
            return Table(self.name, columns, (KEY_TEXT.name, *window))
        by = [one.name for name, shape in self._by for one in columns_of_field(name, shape)]
        return Table(self.name, (*element, *WINDOW_COLUMNS, *PANE_COLUMNS), (*by, *window))

    def changes(self, panes: Sequence[Pane[object]]) -> tuple[list[Row], list[Row]]:
        """What panes do to the table: the keys of rows to delete, and rows to put in it.

        Raises ``ElementError`` where two elements of one pane would be one row.
        """
        gone: list[Row] = []
        rows: list[Row] = []
        for key, current in current_by(panes, self._place).items():
            if not current.panes:
                gone.append(key)
                continue
            pane, *others = current.panes
            if others:
                raise ElementError(
                    f"{format_value(pane.element)} and {format_value(others[0].element)} are of one pane of one window "
                    f"and the same by {', '.join(self.by) or 'nothing else'}, so one row cannot hold both; say by=... "
                    "fields that tell them apart, or use changelog(...)"
                )
            rows.append(self._row(pane))
        return gone, rows

    @cached_property
    def _shape(self) -> Shape:
        return shape_of_elements(self.pipeline)

    @cached_property
    def _by(self) -> tuple[tuple[str, Shape], ...]:
        fields = dict(fields_in(self._shape))
        return tuple((name, fields[name]) for name in self.by)

    @cached_property
    def _has_key_text(self) -> bool:
        return any(one.nullable for name, shape in self._by for one in columns_of_field(name, shape))

    def _place(self, pane: Pane[object]) -> Row:
        """The cells of the key of a pane's row."""
        fields = [(field_of(pane.element, name, self._shape), shape) for name, shape in self._by]
        window = window_cells(pane.window)
        if self._has_key_text:
            return (dump_json([json_value(value, shape) for value, shape in fields]), *window)
        return (*(cell for value, shape in fields for cell in cells_of(value, shape)), *window)

    def _row(self, pane: Pane[object]) -> Row:
        """The row of a pane that stands."""
        said = (*cells_of(pane.element, self._shape), *window_cells(pane.window), *pane_cells(pane))
        return (self._place(pane)[0], *said) if self._has_key_text else said


def upsert(
    pipeline: PCollection[object],
    target: Target,
    *,
    table: str,
    by: Sequence[str] | None = None,
    query: str | None = None,
    since: int = 0,
) -> Upsert:
    """Keep a table of what stands: the latest value of each key and window that is not taken back.

    Give what this gives to ``writeStream.foreachBatch``, of a frame that ``streaming.compile`` has made of the same
    pipeline, with its drops or without; drops go to the table ``<table>_drops``. After each batch the table is what
    ``final_values`` would give of all panes so far.

    Pairs are told apart by their ``key``; for other elements, and where a step after the last grouping makes new keys,
    ``by`` names the fields that tell those of one window apart, none of them where each window has one value. ``query``
    is what the batches are numbered by, if Spark cannot say (over Connect): a name that is the checkpoint's alone.
    ``since`` is the first batch that a new table is to have.

    Raises ``UnsupportedError`` for a pipeline whose latest values are not what holds, ``ArgumentError``, and
    ``RecordTypeError`` for elements that a table has no columns for.
    """
    require_options(pipeline, target, table, query, since)
    require_upsertable(pipeline.node)
    made = Upsert(pipeline, target, table, _apart(pipeline, by), query, since)
    # Names that clash are refused here, and not in the first batch.
    _ = made.table
    return made


def _apart(pipeline: PCollection[object], by: Sequence[str] | None) -> tuple[str, ...]:
    """The fields of an element that tell those of one window apart."""
    shape = shape_of_elements(pipeline)
    fields = dict(fields_in(shape))
    if by is None:
        pairs = isinstance(shape, RecordOf) and shape.cls is KV
        if not (pairs and keeps_keys(pipeline.node)):
            why = "a step after the last grouping makes new keys" if pairs else "the elements are no pairs"
            valid = f"the fields that tell the values of one window apart, of {', '.join(fields)}"
            raise ArgumentError("by", by, valid, why=why)
        by = ("key",)
    if isinstance(by, str) or not isinstance(by, Sequence) or any(name not in fields for name in by):
        raise ArgumentError(
            "by", by, f"names of fields of the element, of which there are {', '.join(fields)}"
        )
    for name in by:
        if contains_float(fields[name]):
            valid = "fields without floats, which cannot be compared exactly"
            raise ArgumentError("by", by, valid, why=f"{name} is a {fields[name]}")
    return tuple(dict.fromkeys(by))


__all__ = ["KEY_TEXT", "Upsert", "upsert"]
